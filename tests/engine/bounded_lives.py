"""Random queries over bounds, with all that happens to series, rows and queries.

Values, widths and weights are multiples of 1/8, so that sums are exact in any order.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from streamgauge.contracts.contract import Contract
from streamgauge.kernel.time import DAY, HOUR, SECOND, Instant
from streamgauge.operators.aggregate import Aggregate, count
from streamgauge.operators.predicate import Predicate, col
from streamgauge.plan.latest import LINEAR
from streamgauge.plan.members import Members
from streamgauge.plan.query import Query, every, on_change
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Late, Stream
from streamgauge.streams.table import Table
from tests.kit.deferrals import HOLDINGS, TABLE, DeferredLife, TableRows
from tests.kit.strategies import START
from tests.oracles.reference import Arrival, Row

SCHEMA = Schema.of(host="string", site="int", ts="time", value="float", width="float")
HOSTS = ("web-1", "web-2", "db", "mail")
SITES = (1, 2)
ONE_KEY = Stream("hosts", SCHEMA, "ts", ("host",), (), keep=365 * DAY, future=None, width="width")
TWO_KEYS = replace(ONE_KEY, key=("host", "site"))


@dataclass(frozen=True)
class Shape:
    """How bounds come: chances of a row, a narrow one, an interruption, a departure, lateness."""

    n_ticks: int
    seed: int
    there: float
    narrow: float
    cut: float
    gone: float
    late: float
    lull: int

    def rows(self) -> tuple[Row, ...]:
        """The rows in order of arrival."""
        rng = np.random.default_rng(self.seed)
        at = {(host, site): rng.integers(-16, 17) / 8 for host in HOSTS for site in SITES}
        rows, clock = [], START + SECOND
        wait = int(rng.integers(0, self.n_ticks))
        for tick in range(self.n_ticks):
            clock += SECOND + (self.lull * SECOND if tick == wait else 0)
            for key in at:
                if rng.random() > self.there:
                    continue
                at[key] += rng.integers(-8, 9) / 8
                width: float | None = float(rng.integers(0, 9) / 4)
                if rng.random() < self.narrow:
                    width = 0.0
                if rng.random() < self.cut:
                    width = [None, np.inf, -1.0][rng.integers(0, 3)]
                value = None if rng.random() < self.gone else float(at[key])
                here = clock - SECOND + int(rng.integers(0, 16)) * SECOND // 16
                back = int(rng.integers(1, 30)) * SECOND // 2 if rng.random() < self.late else 0
                cells = {"host": key[0], "site": key[1], "value": value, "width": width}
                rows.append(Row(here - back, cells))
        return tuple(rows)


def shapes() -> st.SearchStrategy[Shape]:
    """How some series go."""
    rare = st.sampled_from((0.0, 0.0, 0.05, 0.3))
    return st.builds(
        Shape,
        n_ticks=st.integers(2, 40),
        seed=st.integers(0, 2**32 - 1),
        there=st.sampled_from((0.6, 0.3, 0.1)),
        narrow=st.sampled_from((0.0, 0.5, 1.0)),
        cut=rare,
        gone=rare,
        late=rare,
        lull=st.sampled_from((0, 0, 5, 2 * HOUR // SECOND)),
    )


def streams() -> st.SearchStrategy[Stream]:
    """Streams of bounds that take late rows in different ways."""
    late = st.sampled_from((Late.drop(), Late.allow(2), Late.allow(10)))
    key = st.sampled_from((("host",), ("host", "site")))
    return st.builds(lambda one, two: replace(ONE_KEY, late=one, key=two), late, key)


@st.composite
def bounded_queries(draw: DrawFn, stream: Stream, name: str) -> Query:
    """A query over bounds of any kind."""
    select = draw(
        st.sampled_from(
            [Aggregate(op, "value") for op in ("sum", "avg", "min", "max")]
            + [count("value"), count()]
        )
    )
    kinds = ("all", "listed", "where", "groups", *(("table",) if len(stream.key) == 1 else ()))
    kind = draw(st.sampled_from(kinds))
    sure = draw(st.sampled_from((1.0, 0.9)))
    contract = draw(
        st.sampled_from(
            (
                Contract.exact(),
                Contract.absolute(1.0, confidence=sure),
                Contract.absolute(0.3, confidence=sure),
                Contract.relative(0.5, confidence=sure),
            )
        )
    )
    asked = Query(
        name,
        stream.name,
        select,
        answer=draw(st.sampled_from((on_change(), on_change(0.3), every(1), every(3)))),
        contract=contract,
        history=draw(st.sampled_from((True, True, False))),
    )
    if kind == "table":
        weight = draw(st.sampled_from((None, "shares"))) if select.name in LINEAR else None
        by = draw(st.sampled_from((("book",), (), ("book", "desk"))))
        return replace(asked, members=Members(TABLE, "symbol", by, weight))
    if kind == "listed":
        return draw(_listed(asked, stream))
    wheres: list[Predicate | None] = [None] if kind == "groups" else []
    wheres += [col("host") == "db", col("host").isin("db", "web-1", "x"), col("host") > "f"]
    by = draw(st.sampled_from((stream.key[:1], stream.key))) if kind == "groups" else ()
    if len(stream.key) > 1:
        wheres += [col("site") == 2, (col("site") < 2) & ~(col("host") == "db")]
    where = draw(st.sampled_from(wheres)) if kind in ("where", "groups") else None
    return replace(asked, where=where, group_by=by)


@st.composite
def _listed(draw: DrawFn, query: Query, stream: Stream) -> Query:
    known: tuple[str, ...] = HOSTS
    if len(stream.key) > 1:
        known = tuple(f"{host}|{site}" for host in HOSTS for site in SITES)
    names = st.lists(st.sampled_from((*known, "absent")), min_size=1, max_size=4, unique=True)
    series = tuple(draw(names))
    weights = None
    if query.select.name in LINEAR and draw(st.booleans()):
        weight = st.sampled_from((1.0, 0.5, 2.0, -1.0, 0.125))
        weights = tuple(draw(weight) for _ in series)
    return replace(query, series=series, weights=weights)


def table_rows() -> st.SearchStrategy[TableRows]:
    """Rows of the table of members."""
    row = st.fixed_dictionaries(
        {
            "symbol": st.sampled_from((*HOSTS, "absent", None)),
            "book": st.sampled_from(("a", "b", None)),
            "desk": st.sampled_from((1, 2)),
            "shares": st.sampled_from((1.0, 0.5, -2.0, None)),
        }
    )
    return st.lists(row, min_size=1, max_size=8).map(tuple)


@dataclass
class _Author:
    """Writes control records that mostly fit what was written before."""

    draw: DrawFn
    stream: Stream
    names: list[str] = field(default_factory=list)
    tables: list[TableRows] = field(default_factory=list)

    def begin(self) -> tuple[dict[str, Any], ...]:
        n = self.draw(st.sampled_from((1, 3, 5)))
        return ({"do": "stream", "stream": self.stream.as_dict()}, self.table(), self.register(n))

    def table(self) -> dict[str, Any]:
        self.tables.append(self.draw(table_rows()))
        name = f"{len(self.tables) - 1}.parquet"
        return {"do": "table", "table": Table(TABLE, HOLDINGS, name, name).as_dict()}

    def query(self, name: str) -> dict[str, Any]:
        return self.draw(bounded_queries(self.stream, name)).as_dict()

    def register(self, n: int) -> dict[str, Any]:
        fresh = [f"q{len(self.names) + i}" for i in range(n)]
        self.names += fresh
        return {"do": "register", "queries": [self.query(name) for name in fresh]}

    def change(self, now: Instant) -> dict[str, Any]:
        """One record; a name dropped before is refused when it is met again."""
        kinds = ("register", "pause", "resume", "drop", "alter", "table", "advance")
        do = self.draw(st.sampled_from(kinds))
        if do in ("register", "table"):
            return self.register(1) if do == "register" else self.table()
        if do == "advance":
            return {"do": "advance", "stream": self.stream.name, "instant": now + 5 * SECOND + 1}
        name = self.draw(st.sampled_from(self.names))
        if do == "alter":
            return {"do": do, "queries": [self.query(name)]}
        return {"do": do, "names": list(self.names) if do == "resume" else [name]}


@st.composite
def bounded_lives(draw: DrawFn) -> DeferredLife:
    """A stream of bounds with queries, some of them changed on the way."""
    stream = draw(streams())
    rows = draw(shapes()).rows()
    author = _Author(draw, stream)
    changes: dict[int, list[tuple[dict[str, Any], ...]]] = {0: [author.begin()]}
    for place in sorted(draw(st.integers(0, len(rows))) for _ in range(draw(st.integers(0, 4)))):
        peak = max((row.ts for row in rows[:place]), default=START)
        changes.setdefault(place, []).append((author.change(peak),))
    end = max((row.ts for row in rows), default=START) + 90 * SECOND
    last = {"do": "advance", "stream": stream.name, "instant": end}
    changes.setdefault(len(rows), []).append((last,))
    pages, places = [], sorted(changes)
    for place, following in zip(places, [*places[1:], len(rows)], strict=True):
        pages += [Arrival(changes=group) for group in changes[place][:-1]]
        part = rows[place:following]
        pages.append(Arrival(changes[place][-1], {stream.name: part} if part else {}))
    return DeferredLife(stream, tuple(pages), tuple(author.tables))
