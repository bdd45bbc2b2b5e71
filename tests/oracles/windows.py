"""What a query sees at one check, by definition: content, filter, groups, aggregate, bar.

Everything is recomputed from the whole history with plain Python, sums by `math.fsum`. Slow, and
meant to be read beside `docs/reference/semantics.md`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from streamgauge.contracts.answer import EMPTY, Charge
from streamgauge.kernel.time import Instant, instant
from streamgauge.operators.aggregate import Aggregate
from streamgauge.operators.predicate import Predicate
from streamgauge.plan.query import Query
from streamgauge.streams.stream import Stream
from streamgauge.windows.window import Window

ON_TIME = "on time"
FOLDED = "folded"  # late, within the reach of `revise`
DROPPED = "dropped"  # late under `drop` or `allow`: left out, charged to the bar
USED = (ON_TIME, FOLDED)
TIMED = ("now", "range", "landmark", "decay")
REVISED = ("now", "range")

Group: TypeAlias = tuple[Any, ...]
Sample: TypeAlias = tuple[float, float, float]
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True, slots=True)
class Landed:
    """A row as it arrived: its number in the order of arrival, its tick of effect, its fate.

    A cell that is no value (null, NaN, infinite) is None.
    """

    ts: Instant
    values: dict[str, Any]
    arrival: int
    tick: int
    fate: str


@dataclass(frozen=True, slots=True)
class Reading:
    """What a check finds for one group."""

    value: float | None
    low: float
    high: float
    coverage: float
    basis: str = "exact"
    charges: tuple[Charge, ...] = ()
    empty: bool = False


@dataclass(frozen=True, slots=True)
class View:
    """What one query may look at: the rows in effect at tick `seen`, newer than `cut`.

    Parameters
    ----------
    stream, rows
        The stream and all that ever arrived in it.
    at
        Tick the answer is for.
    seen
        Tick up to which rows have taken effect; later than `at` when an answer is revised.
    cut
        Only rows after this instant count; None: all.
    """

    stream: Stream
    rows: Sequence[Landed]
    at: int
    seen: int
    cut: Instant | None

    @property
    def instant(self) -> Instant:
        """Instant the answer is for."""
        return self.at * self.stream.tick

    def of_fate(self, *fates: str) -> list[Landed]:
        """Rows in effect that met one of these fates."""
        return [
            row
            for row in self.rows
            if row.tick <= self.seen
            and row.fate in fates
            and (self.cut is None or row.ts > self.cut)
        ]


def read_latest(query: Query, view: View) -> dict[Group, Reading]:
    """Aggregate over the latest values of series; nothing when no member has a value."""
    used, dropped = view.of_fate(*USED), view.of_fate(DROPPED)
    latest = _latest(query.select, used, view.stream)
    members = _members(query, latest)
    if not members:
        return {}
    # A dropped row that is older than the value in use loses to it here as well.
    with_late = _members(query, _latest(query.select, used + dropped, view.stream))
    gap = view.stream.expected_gap
    silent = gap is not None and any(oldest < view.instant - gap for _, oldest in members)
    coverage = 1.0 if query.series is None else len(members) / len(query.series)
    value = aggregate(query.select, [sample for sample, _ in members])
    late_value = aggregate(query.select, [sample for sample, _ in with_late])
    return {(): _reading(value, late_value, coverage, silent=silent)}


def _latest(
    select: Aggregate, rows: Iterable[Landed], stream: Stream
) -> dict[str, tuple[Landed, ...]]:
    """Per series, the newest row with a value for each column; series without one are absent."""
    columns = (select.x, select.y) if select.paired else (select.x,)
    newest: dict[str, dict[str | None, Landed]] = {}
    for row in sorted(rows, key=lambda row: (row.ts, row.arrival)):
        name = "|".join(str(row.values[column]) for column in stream.key)
        for column in columns:
            if column is None or row.values.get(column) is not None:
                newest.setdefault(name, {})[column] = row
    return {
        name: tuple(found[column] for column in columns)
        for name, found in newest.items()
        if all(column in found for column in columns)
    }


def _members(query: Query, latest: dict[str, tuple[Landed, ...]]) -> list[tuple[Sample, Instant]]:
    """Sample and oldest time of each member that has a value."""
    names = tuple(latest) if query.series is None else query.series
    weights = query.weights or (1.0,) * len(names)
    members = []
    for name, weight in zip(names, weights, strict=True):
        if name in latest:
            rows = latest[name]
            x = _number(rows[0].values, query.select, query.select.x)
            y = _number(rows[-1].values, query.select, query.select.y)
            members.append(((x, y, weight), min(row.ts for row in rows)))
    return members


def read_window(
    query: Query, window: Window, view: View, known: Iterable[Group] = ()
) -> dict[Group, Reading]:
    """Aggregate per group of the rows in a window; `known` groups are read even when empty."""
    present = _grouped(query, content(query, window, view, view.of_fate(*USED)))
    dropped = view.of_fate(DROPPED) if window.kind in TIMED else []
    late = _grouped(query, content(query, window, view, dropped))
    covered = coverage(query, window, view)
    readings = {}
    for group in dict.fromkeys((*present, *known)):
        rows = present.get(group, [])
        samples = _samples(query.select, rows)
        late_samples = _samples(query.select, late.get(group, []))
        if window.kind == "decay":
            samples = _faded(query.select, rows, window, view)
            late_samples = _faded(query.select, late.get(group, []), window, view)
        if not samples and group not in known:
            continue
        reduce = summarise if query.select.summary else aggregate
        if window.kind == "decay":
            reduce = fading
        reading = _reading(
            reduce(query.select, samples),
            reduce(query.select, samples + late_samples),
            covered,
        )
        empty = not samples
        told = empty and (bool(query.group_by) or reading.value is None)
        basis = EMPTY if told else reading.basis
        readings[group] = replace(reading, empty=empty, basis=basis)
    return readings


def content(query: Query, window: Window, view: View, rows: list[Landed]) -> list[Landed]:
    """The rows that a window holds, before filter and groups."""
    t, tick = view.instant, view.stream.tick
    if window.kind == "now":
        return [row for row in rows if t - tick < row.ts <= t]
    if window.kind == "range":
        end = _end(query, window, view)
        return [row for row in rows if end - window.length < row.ts <= end]
    if window.kind == "decay":
        return rows
    if window.kind == "landmark":
        return [row for row in rows if window.start <= row.ts <= t]
    newest_first = sorted(rows, key=lambda row: (row.ts, row.arrival), reverse=True)
    if window.kind == "rows":
        return newest_first[: window.rows]
    taken: dict[Group, list[Landed]] = {}
    for row in newest_first:
        taken.setdefault(_key(row, window.by), []).append(row)
    return [row for rows_of_key in taken.values() for row in rows_of_key[: window.rows]]


def coverage(query: Query, window: Window, view: View) -> float:
    """Share of a range that lies after the first instant vouched for; 1 for other windows."""
    if window.kind != "range":
        return 1.0
    end = _end(query, window, view)
    first = (min(row.tick for row in view.rows) - 1) * view.stream.tick
    vouched = first if view.cut is None else max(first, view.cut)
    return max(0, end - max(vouched, end - window.length)) / window.length


def slide(query: Query, window: Window, stream: Stream) -> int:
    """Step of a range: its own, else the period of the query, else a tick."""
    return window.slide or query.answer.period or stream.tick


def _end(query: Query, window: Window, view: View) -> Instant:
    step = slide(query, window, view.stream)
    return view.instant // step * step


def _key(row: Landed, columns: Iterable[str]) -> Group:
    return tuple(row.values.get(column) for column in columns)


def _grouped(query: Query, rows: list[Landed]) -> dict[Group, list[Landed]]:
    groups: dict[Group, list[Landed]] = {}
    for row in rows:
        if query.where is None or passes(query.where, row.values) is True:
            groups.setdefault(_key(row, query.group_by), []).append(row)
    return groups


def passes(where: Predicate, values: dict[str, Any]) -> bool | None:
    """Three-valued truth of a condition on one row; None is unknown."""
    if where.op in ("and", "or"):
        decisive = where.op == "or"
        truths = [passes(part, values) for part in where.parts]
        if decisive in truths:
            return decisive
        return None if None in truths else not decisive
    if where.op == "not":
        truth = passes(where.parts[0], values)
        return None if truth is None else not truth
    cell = values.get(where.column)
    if where.op == "is null":
        return cell is None
    if cell is None:
        return None
    if where.op == "in":
        return cell in where.values
    return _COMPARE[where.op](cell, _literal(where.values[0], cell))


def _literal(literal: Any, cell: Any) -> Any:
    """An instant may be written as text; the cell of a time column is a number."""
    return instant(literal) if isinstance(literal, str) and isinstance(cell, int) else literal


def _number(values: dict[str, Any], select: Aggregate, column: str | None) -> Any:
    """The cell as a number; counts read no number, and summaries take any cell as it is."""
    if select.summary and column is not None:
        return values[column]
    return 0.0 if column is None or select.name == "count" else float(values[column])


def _samples(select: Aggregate, rows: list[Landed]) -> list[Sample]:
    """(x, y, weight) of the rows that have all the columns the aggregate reads."""
    if select.correlated:
        return _compared_samples(select, rows)
    return [
        (
            _number(row.values, select, select.x),
            _number(row.values, select, select.y),
            1.0 if select.weight is None else float(row.values[select.weight]),
        )
        for row in rows
        if all(row.values.get(column) is not None for column in select.columns())
    ]


def _faded(select: Aggregate, rows: list[Landed], window: Window, view: View) -> list[Sample]:
    """Samples whose weight has halved once for each half-life of their age."""
    samples: list[Sample] = []
    for row in rows:
        share = 2.0 ** (-(view.instant - row.ts) / window.length)
        samples += [(x, y, w * share) for x, y, w in _samples(select, [row])]
    return samples


def fading(select: Aggregate, samples: list[Sample]) -> float | None:
    """The aggregate of faded samples; a count is the sum of their weights."""
    if select.name == "count":
        return math.fsum(w for _, _, w in samples)
    return aggregate(select, samples)


def _compared_samples(select: Aggregate, rows: list[Landed]) -> list[Sample]:
    """(x, y, weight) of the rows with an x; a row without a y adds nothing to a sum."""
    return [
        (
            float(row.values[select.x]),
            0.0 if select.y is None else float(row.values.get(select.y) or 0.0),
            1.0,
        )
        for row in rows
        if select.x is not None and row.values.get(select.x) is not None
    ]


def compared(select: Aggregate, samples: list[Sample]) -> float:
    """Count or sum over the samples whose x stands so to an aggregate of all x."""
    if not samples:
        return 0.0
    sign, factor, name, offset = str(select.argument).split()
    xs = [x for x, _, _ in samples]
    whole = {"avg": math.fsum(xs) / len(xs), "min": min(xs), "max": max(xs)}[name]
    cut = float(factor) * whole + float(offset)
    chosen = [y for x, y, _ in samples if _COMPARE[sign](x, cut)]
    return float(len(chosen)) if select.name == "count_when" else math.fsum(chosen)


def aggregate(select: Aggregate, samples: list[Sample]) -> float | None:
    """The aggregate of samples (x, y, weight); None where it is undefined."""
    n, xs = len(samples), [x for x, _, _ in samples]
    if select.name == "count":
        return float(n)
    if n == 0:
        return None
    if select.name in ("min", "max"):
        return min(xs) if select.name == "min" else max(xs)
    if select.paired:
        return _paired(select.name, xs, [y for _, y, _ in samples])
    weight = math.fsum(w for _, _, w in samples)
    weighted = math.fsum(w * x for x, _, w in samples)
    if select.name == "sum":
        return weighted
    if weight == 0.0:
        return None
    mean = weighted / weight
    if select.name == "avg":
        return mean
    if n < 2:
        return None
    spread = math.fsum(w * (x - mean) ** 2 for x, _, w in samples)
    variance = spread / weight * n / (n - 1)
    if select.name == "var":
        return variance
    return math.sqrt(variance) if variance >= 0.0 else None


def summarise(select: Aggregate, samples: list[Sample]) -> float | None:
    """What a synopsis without error would say of samples."""
    if select.correlated:
        return compared(select, samples)
    cells: list[Any] = [x for x, _, _ in samples]
    if select.name == "quantile":
        assert isinstance(select.argument, float)
        rank = max(1, math.ceil(select.argument * len(cells) - 1e-9))
        return float(sorted(cells)[rank - 1]) if cells else None
    if select.name == "distinct":
        return float(len(set(cells)))
    if select.name == "frequency":
        return float(cells.count(select.argument))
    return float(sum(cells.count(cell) ** 2 for cell in set(cells)))


def _paired(name: str, xs: list[float], ys: list[float]) -> float | None:
    n = len(xs)
    if n < 2:
        return None
    x_mean, y_mean = math.fsum(xs) / n, math.fsum(ys) / n
    joint = math.fsum((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys, strict=True))
    if name == "covar":
        return joint / (n - 1)
    if min(xs) == max(xs) or min(ys) == max(ys):
        return None
    x_spread = math.fsum((x - x_mean) ** 2 for x in xs)
    y_spread = math.fsum((y - y_mean) ** 2 for y in ys)
    return joint / math.sqrt(x_spread * y_spread)


def _reading(
    value: float | None,
    late_value: float | None,
    covered: float,
    *,
    silent: bool = False,
) -> Reading:
    """A value with its bar: from the value without late rows to the value with them."""
    low = high = math.nan if value is None else value
    charges: tuple[Charge, ...] = ()
    if value is not None and late_value is not None and late_value != value:
        low, high = min(value, late_value), max(value, late_value)
        charges = (Charge("late rows", value - low, high - value),)
    if silent:
        if value is not None:
            low, high = -math.inf, math.inf
        charges = (*charges, Charge("interruption", math.inf, math.inf))
    basis = "interrupted" if silent else "exact"
    return Reading(value, low, high, covered, basis, charges)
