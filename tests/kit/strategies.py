"""Random small workloads for hypothesis: a stream, its rows, standing queries and their changes.

Values are multiples of 1/8 in a small range, so sums are exact in any order. Thresholds of
aggregates that round are irrational, so no rounding decides whether an answer is owed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, TypeAlias

import pyarrow as pa
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from streamgauge.kernel.time import DAY, HOUR, MINUTE, SECOND, Instant, instant
from streamgauge.operators.aggregate import (
    PAIRS,
    Aggregate,
    corr,
    count,
    count_when,
    covar,
    distinct,
    frequency,
    quantile,
    self_join,
    sum_when,
)
from streamgauge.operators.expression import Expr, call, column, literal
from streamgauge.operators.predicate import Predicate, col
from streamgauge.plan.query import Cadence, Query, every, on_change, on_close
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Late, Stream
from streamgauge.windows.window import Landmark, Now, Partition, Range, Rows, Window
from tests.oracles.reference import Arrival, Row

Draw: TypeAlias = Callable[[SearchStrategy[Any]], Any]

START: Instant = instant("2026-01-01T00:00:00Z")
SCHEMA = Schema.of(series="string", ts="time", x="float", y="float", w="float", g="string")
SERIES = ("s0", "s1", "s2", "s3", "s4")
SHARED = "shared"
ROUNDING = ("var", "stddev", *PAIRS)

_EIGHTHS = tuple(sorted((i / 8 for i in range(-32, 33)), key=abs))
_IRRATIONAL = (1 / math.pi, 1 / math.e)
_WHOLES = st.sampled_from(("avg", "min", "max"))
_FACTORS = st.sampled_from((1.0, 0.5, 1.5))
_STEPS = (SECOND, 0, SECOND // 4, SECOND // 2 + 1, SECOND, 2 * SECOND, 3 * SECOND, 7 * SECOND)
_BACK = (0, 0, 0, 0, 0, 0, 1, SECOND, 7 * SECOND // 2, 9 * SECOND, 40 * SECOND)


_X, _Y, _G = column("x"), column("y"), column("g")
_ABOVE = Expr(">", (_X, _Y))
# Results are multiples of 1/64, so that sums of them are exact too.
_NUMBERS = (
    Expr("*", (_X, _Y)),
    Expr("-", (_X, literal(2))),
    call("abs", _X),
    call("coalesce", _X, _Y),
    Expr("case", (_ABOVE, _X, literal(None))),
)
_NAMES = (Expr("||", (_G, literal("!"))), call("if", _ABOVE, literal("up"), _G))
_TRUTHS = (_ABOVE, Expr("or", (Expr("is null", (_Y,)), Expr("=", (_G, literal("a"))))))
DERIVED = {str(expr): expr for expr in (*_NUMBERS, *_NAMES, *_TRUTHS)}
_COMPUTED = (
    tuple(map(str, _NUMBERS)),
    tuple(map(str, _NAMES)),
    (None, *map(str, _TRUTHS)),
)


@dataclass(frozen=True)
class Workload:
    """One stream and the pages of its history: changes and rows."""

    stream: Stream
    pages: tuple[Arrival, ...]

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows in order of arrival."""
        return tuple(row for page in self.pages for row in page.rows.get(self.stream.name, ()))


def as_arrow(rows: Iterable[Row], schema: Schema, *, time: str = "ts") -> pa.Table:
    """Rows as an Arrow table with the columns of a schema.

    Examples
    --------
    >>> rows = [Row(1_500_000, {"series": "s1", "x": 0.125}), Row(2_000_000, {"series": "s2"})]
    >>> as_arrow(rows, Schema.of(series="string", ts="time", x="float")).column("x").to_pylist()
    [0.125, None]
    """
    cells = [{**row.values, time: row.ts} for row in rows]
    arrow = schema.to_arrow()
    columns = [pa.array([cell.get(f.name) for cell in cells], f.type) for f in arrow]
    return pa.Table.from_arrays(columns, schema=arrow)


def streams(name: str = "plant") -> SearchStrategy[Stream]:
    """A stream with a tick of 1 s, any late policy, sometimes an expected gap."""
    late = st.one_of(
        st.just(Late.drop()),
        st.sampled_from((2, 1, 5, 10)).map(Late.allow),
        st.sampled_from((20, 5, 2, 60)).map(Late.revise),
    )
    gap = st.sampled_from((None, None, 3 * SECOND, 10 * SECOND))
    return st.builds(
        lambda late, gap: Stream(
            name,
            SCHEMA,
            "ts",
            ("series",),
            (),
            expected_gap=gap,
            late=late,
            keep=365 * DAY,
            future=None,
        ),
        late,
        gap,
    )


@st.composite
def row_lists(draw: DrawFn, *, max_rows: int = 40, lulls: bool = True) -> tuple[Row, ...]:
    """Rows in order of arrival: mostly forward in time, with duplicates, late rows and lulls."""
    n_series = draw(st.integers(2, len(SERIES)))
    cells = st.tuples(
        st.sampled_from(_STEPS),
        st.sampled_from(_BACK),
        st.sampled_from(SERIES[:n_series]),
        st.sampled_from((*_EIGHTHS, None, None, None, math.nan, math.inf)),
        st.sampled_from((*_EIGHTHS, None)),
        st.sampled_from((1.0, 0.0, 0.125, 0.5, 2.0, 3.25, None)),
        st.sampled_from(("a", "b", "c", None)),
    )
    n = draw(st.integers(1, max_rows))
    drawn = draw(st.lists(cells, min_size=n, max_size=n))
    lull = draw(st.integers(0, 5 * max_rows)) if lulls else len(drawn)
    clock, rows = START + draw(st.sampled_from((0, 1, SECOND // 2))), []
    for position, (step, back, series, x, y, w, g) in enumerate(drawn):
        clock += step + (2 * HOUR + 17 * MINUTE if position == lull else 0)
        rows.append(Row(clock - back, {"series": series, "x": x, "y": y, "w": w, "g": g}))
    return tuple(rows)


def predicates() -> SearchStrategy[Predicate]:
    """A condition on the columns, sometimes combined."""
    number = st.sampled_from((0.0, -1.5, 0.125, 2.0))
    value = st.sampled_from(("x", "y", "w")).map(col)
    leaf = st.one_of(
        st.builds(lambda column, limit: column > limit, value, number),
        st.builds(lambda column, limit: column <= limit, value, number),
        st.sampled_from(
            (
                col("g") == "a",
                col("g") != "b",
                col("g").isin("a", "c"),
                col("g").is_null(),
                col("series").isin(*SERIES[:2]),
                col("x").is_null(),
                col("y").between(-1.0, 1.0),
            )
        ),
    )
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            inner.map(lambda part: ~part),
            st.builds(lambda one, other: one & other, inner, inner),
            st.builds(lambda one, other: one | other, inner, inner),
        ),
        max_leaves=3,
    )


def windows(stream: Stream) -> SearchStrategy[Window]:
    """A window of any kind that the stream can keep."""
    lengths = st.sampled_from((10, 1, 2, 5, 30, 60, 3600))
    slides = st.sampled_from((None, None, 1, 2, 5, 7, 30))
    timed = (
        st.just(Now()),
        st.builds(Range, lengths, slides),
        st.sampled_from((0, -60, 5, 20)).map(lambda s: Landmark(START + s * SECOND)),
    )
    if stream.late.policy == "revise":
        return st.one_of(*timed)
    keys = st.sampled_from((("series",), ("g",), ("g", "series")))
    counts = st.sampled_from((3, 1, 2, 10))
    return st.one_of(*timed, st.builds(Rows, counts), st.builds(Partition, keys, counts))


def aggregates(*, weight: str | None = None) -> SearchStrategy[Aggregate]:
    """Any aggregate; with a weight column half of those that take one are weighted."""
    x, w = st.sampled_from(("x", "y")), st.sampled_from((None, weight))
    return st.one_of(
        st.sampled_from((count(), count("x"), count("g"), covar("x", "y"), corr("x", "y"))),
        st.builds(Aggregate, st.sampled_from(("min", "max")), x),
        st.builds(Aggregate, st.sampled_from(("sum", "avg", "var", "stddev")), x, weight=w),
    )


def summaries() -> SearchStrategy[Aggregate]:
    """An aggregate that a synopsis answers."""
    shares = st.sampled_from((0.5, 0.0, 0.1, 0.95, 1.0))
    return st.one_of(
        st.builds(quantile, st.sampled_from(("x", "y")), shares),
        st.sampled_from((distinct("x"), distinct("g"), self_join("g"), self_join("x"))),
        st.sampled_from((frequency("g", "a"), frequency("x", 0.125), frequency("g", "absent"))),
        st.builds(count_when, st.just("x"), st.sampled_from((">", "<=")), _WHOLES, factor=_FACTORS),
        st.builds(
            sum_when,
            st.just("y"),
            st.just("x"),
            st.sampled_from(("<", ">=")),
            _WHOLES,
            factor=_FACTORS,
            offset=st.sampled_from((0.0, -0.5)),
        ),
    )


@st.composite
def cadences(draw: DrawFn, select: Aggregate, *, windowed: bool) -> Cadence:
    """A cadence that fits the query."""
    kind = draw(st.sampled_from(("change", "every", "close") if windowed else ("change", "every")))
    if kind == "every":
        return every(draw(st.sampled_from((5, 1, 2, 10, 60))))
    if kind == "close":
        return on_close()
    if select.name in ROUNDING:
        return on_change(draw(st.sampled_from(_IRRATIONAL)))
    limits = (0.0, *_IRRATIONAL) if select.name == "avg" else (0.0, 0.5, 2.0)
    return on_change(draw(st.sampled_from(limits)))


def queries(stream: Stream, name: str) -> SearchStrategy[Query]:
    """A query of any kind, sometimes of columns that it computes itself."""
    plain = _queries(stream, name)
    return st.one_of(plain, plain, st.builds(_computed, plain, *map(st.sampled_from, _COMPUTED)))


def _computed(query: Query, x: str, g: str, where: str | None) -> Query:
    """The same query with computed columns in place of x, of g, and as a condition."""
    names = {"x": x, "g": g}
    select = replace(query.select, x=names.get(query.select.x or "", query.select.x))
    filtered = query.window is not None and query.where is None and where is not None
    query = replace(
        query,
        select=select,
        group_by=tuple(names.get(name, name) for name in query.group_by),
        where=col(where) == True if where and filtered else query.where,  # noqa: E712
    )
    read = {select.x, *query.group_by, *(() if query.where is None else query.where.columns())}
    return replace(query, derived=tuple((n, e) for n, e in DERIVED.items() if n in read))


@st.composite
def _queries(draw: DrawFn, stream: Stream, name: str) -> Query:
    history = draw(st.sampled_from((True, True, True, False)))
    if draw(st.integers(0, 2)) == 0:
        return draw(_latest(stream, name, history=history))
    select = draw(st.one_of(aggregates(weight="w"), aggregates(weight="w"), summaries()))
    groups: tuple[tuple[str, ...], ...] = ((), (), ("g",), ("series",), ("g", "series"))
    return Query(
        name,
        stream.name,
        select,
        window=draw(st.one_of(windows(stream), st.just(SHARED))),
        where=draw(st.one_of(st.none(), st.none(), st.none(), predicates())),
        group_by=draw(st.sampled_from(groups)),
        answer=draw(cadences(select, windowed=True)),
        history=history,
    )


@st.composite
def _latest(draw: DrawFn, stream: Stream, name: str, *, history: bool) -> Query:
    select = draw(aggregates())
    members = st.lists(st.sampled_from((*SERIES, "absent")), min_size=1, max_size=4, unique=True)
    series = draw(st.one_of(st.none(), members.map(tuple)))
    weights = None
    if series is not None and select.name in ("sum", "avg") and draw(st.booleans()):
        weight = st.sampled_from((1.0, 0.5, 2.0, 0.125))
        weights = tuple(draw(weight) for _ in series)
    return Query(
        name,
        stream.name,
        select,
        series=series,
        weights=weights,
        answer=draw(cadences(select, windowed=False)),
        history=history,
    )


@dataclass
class _Author:
    """Writes control records that mostly fit what was written before."""

    draw: DrawFn
    stream: Stream
    written: int = 0
    names: list[str] = field(default_factory=list)

    def begin(self) -> tuple[dict[str, Any], ...]:
        return (
            {"do": "stream", "stream": self.stream.as_dict()},
            self.window(),
            self.register(self.draw(st.sampled_from((1, 3, 5, 8)))),
        )

    def window(self) -> dict[str, Any]:
        window = self.draw(windows(self.stream))
        return {"do": "window", "name": SHARED, "window": window.as_dict()}

    def register(self, n: int) -> dict[str, Any]:
        fresh = [f"q{self.written + i}" for i in range(n)]
        self.written += n
        self.names += fresh
        asked = [self.draw(queries(self.stream, name)) for name in fresh]
        return {"do": "register", "queries": [query.as_dict() for query in asked]}

    def advance(self, to: Instant) -> dict[str, Any]:
        return {"do": "advance", "stream": self.stream.name, "instant": to}

    def change(self, now: Instant) -> dict[str, Any]:
        """One record; a name dropped before is refused when it is met again."""
        kinds = ("register", "pause", "resume", "drop", "alter", "window", "advance", "pause all")
        do = self.draw(st.sampled_from(kinds))
        if do == "register":
            return self.register(1)
        if do == "window":
            return self.window()
        if do == "advance":
            ahead = self.draw(st.sampled_from((SECOND, 0, 5 * SECOND + 1, 30 * SECOND)))
            return self.advance(now + ahead)
        if do == "pause all":
            return {"do": "pause", "names": list(self.names)}
        name = self.draw(st.sampled_from(self.names))
        if do == "alter":
            return {"do": do, "queries": [self.draw(queries(self.stream, name)).as_dict()]}
        return {"do": do, "names": list(self.names) if do == "resume" else [name]}


@st.composite
def workloads(
    draw: DrawFn,
    *,
    declared: SearchStrategy[Stream] | None = None,
    changing: bool = True,
    max_rows: int = 40,
    lulls: bool = True,
) -> Workload:
    """A stream, its rows in pages, queries registered at the start and changed on the way.

    Parameters
    ----------
    declared
        The stream, with the columns of `SCHEMA`; any by default.
    changing
        Whether queries, windows and the watermark change between the rows.
    max_rows
        Most rows in all pages together.
    lulls
        Whether there may be a silence of more than two hours.
    """
    stream = draw(streams() if declared is None else declared)
    rows = draw(row_lists(max_rows=max_rows, lulls=lulls))
    author = _Author(draw, stream)
    changes: dict[int, list[tuple[dict[str, Any], ...]]] = {0: [author.begin()]}
    n_changes = draw(st.integers(0, 4)) if changing else 0
    for place in sorted(draw(st.integers(0, len(rows))) for _ in range(n_changes)):
        peak = max((row.ts for row in rows[:place]), default=START)
        changes.setdefault(place, []).append((author.change(peak),))
    if draw(st.booleans()):
        end = max(row.ts for row in rows) + 90 * SECOND
        changes.setdefault(len(rows), []).append((author.advance(end),))
    pages: list[Arrival] = []
    for place, following in _spans((*changes, len(rows))):
        pages += (Arrival(changes=group) for group in changes[place][:-1])
        part = rows[place:following]
        pages += _cut(draw, stream.name, changes[place][-1], part)
    return Workload(stream, tuple(pages))


def resplit(draw: Draw, workload: Workload) -> Workload:
    """The same rows and changes in the same order, with the rows cut into other pages.

    Changes stay where they are between rows. Inside a test, pass `data.draw` of `st.data()`.
    """
    name, pages = workload.stream.name, list(workload.pages)
    starts = [i for i, page in enumerate(pages) if page.changes or i == 0]
    out: list[Arrival] = []
    for start, following in _spans((*starts, len(pages))):
        rows = tuple(row for page in pages[start:following] for row in page.rows.get(name, ()))
        out += _cut(draw, name, pages[start].changes, rows)
    return Workload(workload.stream, tuple(out))


def _spans(places: Sequence[int]) -> list[tuple[int, int]]:
    return list(pairwise(places))


def _cut(
    draw: Draw, name: str, changes: tuple[dict[str, Any], ...], rows: tuple[Row, ...]
) -> list[Arrival]:
    """Pages for rows that follow a change; some pages may be empty."""
    inside = draw(st.lists(st.integers(0, len(rows)), max_size=4)) if rows else []
    parts = [rows[i:j] for i, j in _spans((0, *sorted(inside), len(rows)))]
    return [
        Arrival(changes if number == 0 else (), {name: part} if part else {})
        for number, part in enumerate(parts)
    ]
