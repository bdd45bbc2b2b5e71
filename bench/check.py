"""Are the answers right? Sampled queries evaluated again, plainly, with NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import streamgauge as sg
from bench.data import Card, Part, parts, ticks_of
from bench.queries import portfolio_name, slide, windowed
from streamgauge.kernel.time import HOUR
from streamgauge.log.home import Home
from streamgauge.results.change_log import epoch_answers, epochs_after

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
TOLERANCE = 1e-9
Given = dict[str, tuple[Ints, Floats]]


@dataclass(frozen=True, slots=True)
class Checked:
    """What the comparison found."""

    queries: int
    answers: int
    wrong: tuple[str, ...]
    changes: int
    checks: int

    @property
    def share(self) -> float:
        """Share of the checks of averages that gave an answer."""
        return self.changes / max(1, self.checks)


def check(
    card: Card, home: Path, *, n_queries: int, n_averages: int = 15, n_windows: int = 5
) -> Checked:
    """Compare the answers in a home with an evaluation of its own."""
    rows = whole(card)
    rng = np.random.default_rng(3)
    averages = np.sort(rng.choice(n_queries, min(n_averages, n_queries), replace=False))
    asked = windowed(card)
    windows = [asked[number] for number in np.sort(rng.choice(len(asked), n_windows, False))]
    names = [portfolio_name(int(number)) for number in averages] + [q.name for q in windows]
    found, changes = given_answers(home, names)
    expected: Given = {}
    members = card.members()
    for number in averages:
        expected[portfolio_name(int(number))] = average_answers(card, rows, members[number])
    zones = zone_of_series(card)
    for query in windows:
        expected.update(window_answers(card, rows, zones, query))
    keys = [key for key in expected.keys() | found.keys() if not agree(expected, found, key)]
    wrong = tuple(sorted({key.partition(" ")[0] for key in keys}))
    closed = closed_tick(rows, card.tick)
    ticks = np.unique(ticks_of(rows.ts, card.tick))
    checks = int((ticks <= closed).sum()) * n_queries
    answers = sum(len(times) for times, _ in expected.values())
    return Checked(len(names), answers, wrong, changes, checks)


def whole(card: Card) -> Part:
    """All prepared rows at once."""
    pieces = list(parts(card))
    return Part(
        np.concatenate([piece.ts for piece in pieces]),
        np.concatenate([piece.sid for piece in pieces]),
        np.concatenate([piece.value for piece in pieces]),
    )


def closed_tick(rows: Part, tick: int) -> int:
    """The last tick that can be answered: before the newest instant."""
    return -((-int(rows.ts[-1])) // tick) - 1


def given_answers(home: Path, names: list[str]) -> tuple[Given, int]:
    """Times and values per name and group of the sampled queries; answers of all averages."""
    opened = Home.open(home, shards=0)
    wanted, changes, tables = pa.array(names), 0, []
    for epoch in epochs_after(opened, 0):
        table = epoch_answers(opened, epoch).select(["query", "group", "as_of", "value"])
        changes += pc.sum(pc.starts_with(table["query"], "avg-")).as_py() or 0
        tables.append(table.filter(pc.is_in(table["query"], wanted)))
    if not tables:
        return {}, 0
    table = pa.concat_tables(tables)
    keys = pc.binary_join_element_wise(table["query"], pc.fill_null(table["group"], ""), " ")
    times = table["as_of"].cast(pa.int64()).to_numpy()
    values = table["value"].to_numpy()
    coded = keys.combine_chunks().dictionary_encode()
    codes = coded.indices.to_numpy()
    return {
        key.strip(): (times[codes == code], values[codes == code])
        for code, key in enumerate(coded.dictionary.to_pylist())
    }, changes


def average_answers(card: Card, rows: Part, members: npt.NDArray[np.int32]) -> tuple[Ints, Floats]:
    """On-change answers of one average, members added in their listed order."""
    ticks = ticks_of(rows.ts, card.tick)
    checks = np.unique(ticks)
    checks = checks[checks <= closed_tick(rows, card.tick)]
    total, count = np.zeros(len(checks)), np.zeros(len(checks), np.int64)
    for sid in members:
        own = np.flatnonzero(rows.sid == sid)
        seen = np.searchsorted(ticks[own], checks, side="right")
        total += np.where(seen > 0, np.append(rows.value[own], 0.0)[seen - 1], 0.0)
        count += seen > 0
    times, values = [], []
    last, covered = np.nan, 0
    averages = (total / np.maximum(count, 1)).tolist()
    for tick, value, n in zip(checks.tolist(), averages, count.tolist(), strict=True):
        if n and (n != covered or abs(value - last) > card.epsilon):
            times.append(tick * card.tick)
            values.append(value)
            last, covered = value, n
    return np.array(times, np.int64), np.array(values)


def zone_of_series(card: Card) -> dict[str, tuple[str, str]]:
    """Zone and kind of each series, as the prepared files have them."""
    table = pa.concat_tables(
        pq.read_table(path, columns=["series", "zone", "kind"]).group_by(
            ["series", "zone", "kind"]
        ).aggregate([])
        for path in sorted(card.path("rows").iterdir())
    )  # fmt: skip
    return {row["series"]: (row["zone"], row["kind"]) for row in table.to_pylist()}


def window_answers(
    card: Card, rows: Part, words: dict[str, tuple[str, str]], query: sg.Query
) -> Given:
    """Answers of one windowed query for each zone, every window cut out and aggregated whole."""
    assert isinstance(query.window, sg.Window)
    unknown = ("", "")
    zone = np.array([words.get(name, unknown)[0] for name in card.series])
    kind = np.array([words.get(name, unknown)[1] for name in card.series])
    passed = _passes(query, rows, zone, kind)
    edges = window_edges(card, rows)
    found: Given = {}
    for name in card.zones:
        inside = passed & (zone == name)[rows.sid]
        ts, value = rows.ts[inside], rows.value[inside]
        start = np.searchsorted(ts, edges - query.window.length, side="right")
        stop = np.searchsorted(ts, edges, side="right")
        answers = [
            _aggregate(query.select.name, value[a:b]) for a, b in zip(start, stop, strict=True)
        ]
        full = stop > start
        if full.any():
            found[f'{query.name} ["{name}"]'] = (edges[full], np.array(answers)[full])
    return found


def _passes(
    query: sg.Query, rows: Part, zone: npt.NDArray[np.str_], kind: npt.NDArray[np.str_]
) -> npt.NDArray[np.bool_]:
    where = query.where
    if where is None:
        return np.ones(len(rows.ts), np.bool_)
    if where.column == "value":
        return rows.value > float(where.values[0])
    words = zone if where.column == "zone" else kind
    return np.isin(words, [str(value) for value in where.values])[rows.sid]


def window_edges(card: Card, rows: Part) -> Ints:
    """Instants at which windows answer: whole slides while the stream is awake."""
    step = slide(card) // card.tick
    ticks = np.unique(ticks_of(rows.ts, card.tick))
    closed = closed_tick(rows, card.tick)
    edges = np.arange(-(-int(ticks[0]) // step), closed // step + 1) * step
    before = np.searchsorted(ticks, edges, side="right")
    rest = HOUR // card.tick
    awake = edges <= ticks[np.maximum(before, 1) - 1] + rest
    return np.asarray(edges[awake & (before > 0)] * card.tick, np.int64)


def _aggregate(name: str, values: Floats) -> float:
    if len(values) == 0 or (name == "stddev" and len(values) < 2):
        return float("nan")
    if name == "stddev":
        return float(np.std(values, ddof=1))
    plain: dict[str, Any] = {"avg": np.mean, "min": np.min, "max": np.max, "sum": np.sum}
    return float(plain[name](values))


def agree(expected: Given, found: Given, key: str) -> bool:
    """Whether a key has the same instants, and values equal to one part in 10**9."""
    none = np.empty(0, np.int64), np.empty(0)
    times, values = expected.get(key, none)
    other_times, others = found.get(key, none)
    if len(times) != len(other_times) or not (times == other_times).all():
        return False
    room = TOLERANCE * np.maximum(1.0, np.abs(values))
    same = (np.abs(values - others) <= room) | (np.isnan(values) & np.isnan(others))
    return bool(same.all())
