"""Judging: which alerts turn at the answers of an epoch, by their bars.

Answers come as columns and are judged as columns. Only what turns is looked at one by one, so
that thousands of queries with alerts cost an epoch no more than a few passes over its answers.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.contracts.answer import EMPTY
from streamgauge.plan.alert import LEVELS, Alert

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Signs = npt.NDArray[np.int8]
ABOVE = (LEVELS.index("certainly above"), LEVELS.index("possibly above"))
SURE_ABOVE, MAYBE_ABOVE, SURE_BELOW, MAYBE_BELOW, BROKEN, INTERRUPTED = range(6)
_KINDS = {
    **{when: number for number, when in enumerate(LEVELS)},
    "contract broken": BROKEN,
    "interrupted": INTERRUPTED,
}


class Turn(NamedTuple):
    """An alert that is raised or cleared: which one, for which group, by which row."""

    alert: str
    group: str
    row: int
    raised: bool


class Panel:
    """Alerts on queries, as columns.

    Parameters
    ----------
    alerts
        Those on queries; alarms of the auditor have no answers to be judged by.

    Examples
    --------
    >>> from streamgauge.plan.alert import Target
    >>> there = (Target("mail", "out", "ops@example.org"),)
    >>> hot = Panel([Alert("hot", "heat", "certainly above", 100.0, targets=there)])
    >>> low, high = np.array([98.0, 99.5, 100.5]), np.array([100.0, 101.0, 102.0])
    >>> hot.signs(np.zeros(3, np.int64), (low, high), np.ones(3, bool), np.zeros(3, bool))
    array([-1,  0,  1], dtype=int8)
    """

    def __init__(self, alerts: Iterable[Alert]) -> None:
        self.alerts = sorted(alerts, key=lambda alert: (alert.query, alert.name))
        watched = [alert.query for alert in self.alerts]
        names = list(dict.fromkeys(watched))
        self.queries = pa.array(names, pa.string())
        of = {name: number for number, name in enumerate(names)}
        self.count = np.bincount([of[name] for name in watched], minlength=len(names))
        self.first = np.concatenate(([0], np.cumsum(self.count)))[:-1]
        self.number = {alert.name: number for number, alert in enumerate(self.alerts)}
        self.kind = np.array([_KINDS[alert.when] for alert in self.alerts], np.int64)
        levels = [(a.level, a.end) if a.level is not None else (0.0, 0.0) for a in self.alerts]
        self.level = np.array([level for level, _ in levels], np.float64)
        self.end = np.array([end for _, end in levels], np.float64)
        texts = [group_text(alert.group) for alert in self.alerts]
        self.groups = pa.array(list(dict.fromkeys(text for text in texts if text)), pa.string())
        code = {text: number for number, text in enumerate(self.groups.to_pylist())}
        self.group = np.array([code.get(text, -1) for text in texts], np.int64)

    def signs(
        self,
        alert: Ints,
        bars: tuple[Floats, Floats],
        met: npt.NDArray[np.bool_],
        interrupted: npt.NDArray[np.bool_],
        empty: npt.NDArray[np.bool_] | None = None,
    ) -> Signs:
        """1 where an answer raises its alert, -1 where it clears it, 0 where it does neither."""
        low, high = bars
        empty = np.zeros(len(low), bool) if empty is None else empty
        kind, level, end = self.kind[alert], self.level[alert], self.end[alert]
        above = np.isin(kind, ABOVE)
        # Comparisons with a bar that is not there are false: such an answer changes nothing.
        up = np.select(
            [kind == SURE_ABOVE, kind == MAYBE_ABOVE, kind == SURE_BELOW, kind == MAYBE_BELOW],
            [low > level, high > level, high < level, low < level],
            np.where(kind == BROKEN, ~met & ~empty, interrupted),
        )
        down = np.where(kind >= BROKEN, ~up, np.where(above, high <= end, low >= end))
        # Of a window that has emptied nothing is above or below any more.
        down |= empty & np.isnan(low)
        return up.astype(np.int8) - down.astype(np.int8)


def group_text(group: Sequence[Any]) -> str:
    """A group as answers name it.

    >>> group_text(("oven", 3)), group_text(())
    ('["oven", 3]', '')
    """
    return json.dumps(list(group), default=str) if group else ""


def turns(
    panel: Panel, table: pa.Table, raised: Mapping[str, Collection[str]]
) -> tuple[pa.Table, list[Turn]]:
    """What turns at some answers, in their order, and the answers that rows are counted in.

    Parameters
    ----------
    panel
        The alerts.
    table
        Answers by event time.
    raised
        Groups that are raised before, by the name of their alert.
    """
    code = pc.index_in(table["query"].combine_chunks(), value_set=panel.queries)
    rows = np.flatnonzero(pc.is_valid(code).to_numpy(zero_copy_only=False))
    table = table.take(pa.array(rows))
    if not table.num_rows:
        return table, []
    asked = np.asarray(code.take(pa.array(rows)).to_numpy(), np.int64)
    row = np.repeat(np.arange(len(asked)), panel.count[asked])
    begin = np.cumsum(panel.count[asked]) - panel.count[asked]
    alert = panel.first[asked[row]] + np.arange(len(row)) - begin[row]
    groups = table["group"].combine_chunks().dictionary_encode()
    group = np.asarray(groups.indices.to_numpy(), np.int64)
    wanted = panel.group[alert]
    own = _codes(groups.dictionary, panel.groups)[group][row]
    sign = panel.signs(alert, _bars(table, row), *_states(table, row))
    told = np.flatnonzero((sign != 0) & ((wanted < 0) | (wanted == own)))
    row, alert, sign = row[told], alert[told], sign[told]
    key = alert * len(groups.dictionary) + group[row]
    before = _standing(panel, groups.dictionary, raised)
    found = _changed(key, sign, before)
    order = found[np.lexsort((alert[found], row[found]))]
    texts = groups.dictionary
    return table, [
        Turn(
            panel.alerts[alert[i]].name,
            texts[int(group[row[i]])].as_py(),
            int(row[i]),
            bool(sign[i] > 0),
        )
        for i in order
    ]


def _bars(table: pa.Table, row: Ints) -> tuple[Floats, Floats]:
    missing = pc.is_null(table["value"]).to_numpy()
    ends = []
    for name in ("low", "high"):
        end = pc.fill_null(table[name], np.nan).to_numpy()
        ends.append(np.where(missing, np.nan, end)[row])
    return ends[0], ends[1]


def _states(table: pa.Table, row: Ints) -> tuple[npt.NDArray[np.bool_], ...]:
    met = table["contract_met"].to_numpy()
    interrupted = pc.equal(table["basis"], "interrupted").to_numpy()
    empty = pc.equal(table["basis"], EMPTY).to_numpy()
    return tuple(np.asarray(flags, bool)[row] for flags in (met, interrupted, empty))


def _codes(texts: pa.Array, known: pa.Array) -> Ints:
    """Numbers of texts among those known, -2 for others."""
    found = pc.fill_null(pc.index_in(texts, value_set=known), -2)
    return np.asarray(found.to_numpy(zero_copy_only=False), np.int64)


def _standing(panel: Panel, texts: pa.Array, raised: Mapping[str, Collection[str]]) -> Ints:
    """Keys of alert and group that are raised before."""
    held = [(panel.number[name], text) for name in raised if name in panel.number
            for text in raised[name]]  # fmt: skip
    if not held:
        return np.empty(0, np.int64)
    group = _codes(pa.array([text for _, text in held], pa.string()), texts)
    alert = np.array([number for number, _ in held], np.int64)
    return (alert * len(texts) + group)[group >= 0]


def _changed(key: Ints, sign: Signs, before: Ints) -> Ints:
    """Places where the sign is another than at the last place of the same key."""
    order = np.argsort(key, kind="stable")
    keys, signs = key[order], sign[order]
    first = np.concatenate((np.ones(1, bool), keys[1:] != keys[:-1]))[: len(keys)]
    last = np.concatenate((np.full(1, -1, np.int8), signs[:-1]))[: len(keys)]
    start = np.where(np.isin(keys, before), 1, -1)
    changed: Ints = order[np.where(first, start, last) != signs]
    return changed
