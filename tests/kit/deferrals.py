"""Random deferred queries for hypothesis, over random walks with all that happens to real ones.

Values and weights are multiples of 1/8, so that sums are exact in any order. Series fall silent,
come twice in a tick, have no value, come late and change their group.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from streamgauge.contracts.contract import Contract
from streamgauge.kernel.time import HOUR, SECOND, Instant
from streamgauge.operators.aggregate import Aggregate, count
from streamgauge.operators.predicate import col
from streamgauge.plan.latest import LINEAR
from streamgauge.plan.members import Members
from streamgauge.plan.over import Over
from streamgauge.plan.query import Query
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Stream
from streamgauge.streams.table import Table
from streamgauge.windows.window import Landmark, Range
from tests.kit.strategies import SERIES, START, Workload, streams
from tests.oracles.reference import Arrival, Row

TABLE = "holdings"
HOLDINGS = Schema.of(symbol="string", book="string", desk="int", shares="float")
REGIMES = ("timer", "watch")
_WIDTHS = (2.0, 0.5, 1 / math.pi, 10.0, 0.125)
_SHARES = (0.9, 0.5, 0.99, 0.75)
_STALLS = (0, 0, 4, 15, 70)

TableRows = tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class Shape:
    """How a random walk goes wrong: chances of a row, per series and tick, and its silences."""

    n_series: int
    n_ticks: int
    seed: int
    there: float
    twice: float
    nothing: float
    late: float
    moving: float
    lull: int
    drift: float

    def rows(self) -> tuple[Row, ...]:
        """The rows in order of arrival."""
        rng = np.random.default_rng(self.seed)
        at = rng.integers(-16, 17, self.n_series) / 8
        groups = [str(g) for g in rng.choice(["a", "b", "c"], self.n_series)]
        # Each series is silent for a while, some for good, some until late.
        silent = [sorted(rng.integers(0, 2 * self.n_ticks, 2)) for _ in range(self.n_series)]
        wait = int(rng.integers(0, self.n_ticks))
        rows, clock = [], START + SECOND
        for tick in range(self.n_ticks):
            clock += SECOND + (self.lull * SECOND if tick == wait else 0)
            here = clock - SECOND
            for s in range(self.n_series):
                if rng.random() > self.there or silent[s][0] <= tick < silent[s][1]:
                    continue
                for _ in range(1 + int(rng.random() < self.twice)):
                    at[s] += rng.integers(-8, 9) / 8 + self.drift
                    if rng.random() < self.moving:
                        groups[s] = str(rng.choice(["a", "b", "c"]))
                    x = None if rng.random() < self.nothing else float(at[s])
                    here += int(rng.integers(0, 3)) * SECOND // 16
                    back = int(rng.integers(1, 30)) * SECOND // 2 if rng.random() < self.late else 0
                    rows.append(Row(here - back, {"series": SERIES[s], "x": x, "g": groups[s]}))
        return tuple(rows)


@st.composite
def shapes(draw: DrawFn, *, max_ticks: int = 90, late: bool = True) -> Shape:
    """A walk of some series."""
    rare = st.sampled_from((0.0, 0.0, 0.02, 0.2))
    return Shape(
        n_series=draw(st.integers(1, len(SERIES))),
        n_ticks=draw(st.integers(2, max_ticks)),
        seed=draw(st.integers(0, 2**32 - 1)),
        there=draw(st.sampled_from((1.0, 0.7, 0.3))),
        twice=draw(rare),
        nothing=draw(rare),
        late=draw(rare) if late else 0.0,
        moving=draw(rare),
        lull=draw(st.sampled_from((*_STALLS, 2 * HOUR // SECOND))),
        drift=draw(st.sampled_from((0.0, 0.5, -1.0))),
    )


def contracts(*, certain: bool) -> SearchStrategy[Contract]:
    """What a deferred query may be owed; where `certain`, also what cannot fail."""
    shares = st.sampled_from((*_SHARES, 1.0) if certain else _SHARES)
    absolute = st.builds(
        lambda w, p, t: Contract.absolute(w, confidence=p, throughout=t),
        st.sampled_from(_WIDTHS), shares, st.booleans(),
    )  # fmt: skip
    relative = st.builds(
        lambda w, p: Contract.relative(w, confidence=p),
        st.sampled_from((0.25, 0.01, 1 / math.pi)), shares,
    )  # fmt: skip
    owed = [absolute, absolute, relative]
    return st.one_of(*owed, st.just(Contract.exact())) if certain else st.one_of(*owed)


@st.composite
def deferred_queries(
    draw: DrawFn,
    stream: Stream,
    name: str,
    *,
    regimes: Sequence[str] = REGIMES,
    tables: bool = True,
) -> Query:
    """A deferred query of any kind."""
    select = draw(
        st.one_of(
            st.sampled_from(("sum", "avg")).map(lambda op: Aggregate(op, "x")),
            st.sampled_from((Aggregate("min", "x"), Aggregate("max", "x"), count("x"), count())),
        )
    )
    kinds = ("all", "listed", "groups", *(("table",) if tables else ()))
    kind = draw(st.sampled_from(kinds))
    over = draw(_extremes()) if select.name in LINEAR and draw(st.booleans()) else None
    cells = over is not None or kind in ("groups", "table")
    contract = draw(contracts(certain=cells))
    unsure = contract.tolerance != "exact" and contract.confidence < 1.0
    asked = Query(
        name,
        stream.name,
        select,
        contract=contract,
        over=over,
        group_by=draw(st.sampled_from((("g",), ("g", "series")))) if kind == "groups" else (),
        history=draw(st.sampled_from((True, True, False))),
        regime=draw(st.sampled_from([r for r in regimes if unsure or r != "timer"])),
        trend=select.name in LINEAR and over is None and draw(st.booleans()),
    )
    if kind == "table":
        return replace(asked, members=draw(_members(select)))
    return draw(_listed(asked)) if kind == "listed" else asked


@st.composite
def _listed(draw: DrawFn, query: Query) -> Query:
    """The same query of some series, with weights where it may have them."""
    names = st.lists(st.sampled_from((*SERIES, "absent")), min_size=1, max_size=4, unique=True)
    series = tuple(draw(names))
    weights = None
    if query.select.name in LINEAR and draw(st.booleans()):
        weight = st.sampled_from((1.0, 0.5, 2.0, -1.0, 0.125))
        weights = tuple(draw(weight) for _ in series)
    return replace(query, series=series, weights=weights)


def _extremes() -> SearchStrategy[Over]:
    """The largest or smallest over a window."""
    lengths = st.sampled_from((10, 1, 3, 30, 300))
    starts = st.sampled_from((0, -60, 5, 20)).map(lambda s: Landmark(START + s * SECOND))
    return st.builds(Over, st.sampled_from(("max", "min")), st.one_of(lengths.map(Range), starts))


@st.composite
def _members(draw: DrawFn, select: Aggregate) -> Members:
    weight = draw(st.sampled_from((None, "shares"))) if select.name in LINEAR else None
    by = draw(st.sampled_from((("book",), (), ("book", "desk"))))
    where = draw(st.sampled_from((None, None, col("desk") > 1, col("book").is_null())))
    return Members(TABLE, "symbol", by, weight, where)


def table_rows() -> SearchStrategy[TableRows]:
    """Rows of the table of members."""
    row = st.fixed_dictionaries(
        {
            "symbol": st.sampled_from((*SERIES, "absent", None)),
            "book": st.sampled_from(("a", "b", None)),
            "desk": st.sampled_from((1, 2, 3)),
            "shares": st.sampled_from((1.0, 0.5, -2.0, 3.0, None)),
        }
    )
    return st.lists(row, min_size=1, max_size=8).map(tuple)


@dataclass(frozen=True)
class DeferredLife:
    """A stream, the pages of its history, and the versions of its table in order."""

    stream: Stream
    pages: tuple[Arrival, ...]
    tables: tuple[TableRows, ...]

    def placed(self, directory: Path) -> Workload:
        """The same with the tables stored in a directory."""
        for number, rows in enumerate(self.tables):
            columns = {n: [row[n] for row in rows] for n in HOLDINGS.names}
            pq.write_table(
                pa.table(columns, schema=HOLDINGS.to_arrow()), directory / f"{number}.parquet"
            )
        pages = [
            replace(page, changes=tuple(_stored(record, directory) for record in page.changes))
            for page in self.pages
        ]
        return Workload(self.stream, tuple(pages))


def _stored(record: dict[str, Any], directory: Path) -> dict[str, Any]:
    if record["do"] != "table":
        return record
    path = str(directory / record["table"]["path"])
    return {**record, "table": {**record["table"], "path": path}}


@dataclass
class _Author:
    """Writes control records that mostly fit what was written before."""

    draw: DrawFn
    stream: Stream
    regimes: Sequence[str]
    names: list[str] = field(default_factory=list)
    tables: list[TableRows] = field(default_factory=list)

    def begin(self) -> tuple[dict[str, Any], ...]:
        n = self.draw(st.sampled_from((1, 2, 4)))
        return ({"do": "stream", "stream": self.stream.as_dict()}, self.table(), self.register(n))

    def table(self) -> dict[str, Any]:
        self.tables.append(self.draw(table_rows()))
        name = f"{len(self.tables) - 1}.parquet"
        return {"do": "table", "table": Table(TABLE, HOLDINGS, name, name).as_dict()}

    def query(self, name: str) -> dict[str, Any]:
        asked = self.draw(deferred_queries(self.stream, name, regimes=self.regimes))
        return asked.as_dict()

    def register(self, n: int) -> dict[str, Any]:
        fresh = [f"q{len(self.names) + i}" for i in range(n)]
        self.names += fresh
        return {"do": "register", "queries": [self.query(name) for name in fresh]}

    def advance(self, to: Instant) -> dict[str, Any]:
        return {"do": "advance", "stream": self.stream.name, "instant": to}

    def change(self, now: Instant) -> dict[str, Any]:
        """One record; a name dropped before is refused when it is met again."""
        kinds = ("register", "pause", "resume", "drop", "alter", "table", "advance", "drop all")
        do = self.draw(st.sampled_from(kinds))
        if do in ("register", "table"):
            return self.register(1) if do == "register" else self.table()
        if do == "advance":
            ahead = self.draw(st.sampled_from((SECOND, 0, 5 * SECOND + 1, 30 * SECOND)))
            return self.advance(now + ahead)
        if do == "drop all":
            return {"do": "drop", "names": list(self.names)}
        name = self.draw(st.sampled_from(self.names))
        if do == "alter":
            return {"do": do, "queries": [self.query(name)]}
        return {"do": do, "names": list(self.names) if do == "resume" else [name]}


@st.composite
def deferred_lives(
    draw: DrawFn,
    *,
    declared: SearchStrategy[Stream] | None = None,
    regimes: Sequence[str] = REGIMES,
    changing: bool = True,
    max_ticks: int = 90,
) -> DeferredLife:
    """A stream with deferred queries, some of them changed on the way.

    Parameters
    ----------
    declared
        The stream, with the columns of `SCHEMA`; any by default.
    regimes
        What queries ask; the empty one leaves the choice to the engine.
    changing
        Whether queries, the table and the watermark change between the rows.
    max_ticks
        Most ticks of the walk, without its silences.
    """
    stream = draw(streams() if declared is None else declared)
    rows = draw(shapes(max_ticks=max_ticks)).rows()
    author = _Author(draw, stream, regimes)
    changes: dict[int, list[tuple[dict[str, Any], ...]]] = {0: [author.begin()]}
    n_changes = draw(st.integers(0, 4)) if changing else 0
    for place in sorted(draw(st.integers(0, len(rows))) for _ in range(n_changes)):
        peak = max((row.ts for row in rows[:place]), default=START)
        changes.setdefault(place, []).append((author.change(peak),))
    if draw(st.booleans()):
        end = max((row.ts for row in rows), default=START) + 90 * SECOND
        changes.setdefault(len(rows), []).append((author.advance(end),))
    pages = []
    places = sorted(changes)
    for place, following in zip(places, [*places[1:], len(rows)], strict=True):
        pages += [Arrival(changes=group) for group in changes[place][:-1]]
        part = rows[place:following]
        pages.append(Arrival(changes[place][-1], {stream.name: part} if part else {}))
    return DeferredLife(stream, tuple(pages), tuple(author.tables))
