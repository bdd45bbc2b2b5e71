"""Random bound plans over a feed, for hypothesis.

Aggregates that round are asked for at the top of a plan only: nothing above them can hang on a
last digit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from streamgauge.kernel.time import SECOND
from streamgauge.operators.expression import Expr, call, column, literal
from streamgauge.plan.nodes import (
    AS_OF,
    ONE_SIDED,
    Combined,
    Distinct,
    Filter,
    Grouped,
    Join,
    Named,
    Node,
    Ordered,
    Project,
    Resampled,
    Scan,
    Stored,
    Streamed,
    Windowed,
)
from streamgauge.plan.query import Cadence, every, on_change
from streamgauge.plan.view import View
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Stream
from streamgauge.windows.window import (
    Landmark,
    Now,
    Partition,
    Range,
    Rows,
    Session,
    Unbounded,
    Window,
)
from tests.kit.feeds import ROOMS, START, Feed, Tape, tapes

Columns: TypeAlias = tuple[tuple[str, str], ...]

KINDS = ("filter", "project", "group", "distinct", "order", "join", "join", "combine")
_SEVERAL = ("join", "combine")
_SAMPLES: dict[str, tuple[Any, ...]] = {
    "int": (1, 0, 2, -1),
    "float": (1.0, 0.0, 0.125, -0.375),
    "string": ("a", "b", "x"),
    "bool": (True, False),
}


def _window(tape: Tape, stream: Stream, *, timed: bool = False) -> Window:
    """A window of any kind over a stream; `timed` for those that go by time alone."""
    width = tape.one(10, 6, 4, 2)
    slide = tape.one(None, None, 2, 4)
    by_time = (
        Range(width, slide),
        Range(width),
        Unbounded(),
        Landmark(START + tape.one(0, 3) * SECOND),
        Now(),
    )
    count = tape.one(2, 3, 1)
    by_row = (Rows(count), Partition("k", count), Session(width, tape.one((), ("k",))))
    revised = stream.late.policy == "revise"
    window: Window = tape.one(*by_time, *(() if timed or revised else by_row))
    return window


@dataclass
class _Planner:
    """Makes plans; `sources` is how many streams and tables are left to read."""

    tape: Tape
    feed: Feed
    sources: int
    kinds: tuple[str, ...]
    named: int = 0
    streaming: bool = False

    def one(self, *choices: Any) -> Any:
        return self.tape.one(*choices)

    def some(self, items: Sequence[Any], counts: tuple[int, ...]) -> list[Any]:
        return [self.one(*items) for _ in range(self.one(*counts))]

    def name(self, letter: str) -> str:
        self.named += 1
        return f"{letter}{self.named}"

    def relation(self, depth: int, *, top: bool = False) -> tuple[Node, Columns]:
        """A relation and its columns."""
        if depth == 0:
            return self.source()
        kinds = [kind for kind in self.kinds if self.sources > 1 or kind not in _SEVERAL]
        kind = self.one(*kinds) if kinds else "source"
        if kind == "group":
            return self.group(depth - 1, top=top)
        drawn: tuple[Node, Columns] = getattr(self, kind)(depth - 1)
        return drawn

    def source(self, depth: int = 0) -> tuple[Node, Columns]:
        """A stream through a window, or a stored table."""
        kinds = ["meters", "doors", "meters", "doors", "stock"]
        # Late rows that count would change points of a grid that were given already.
        kinds += ["grid"] if self.feed.stream("meters").late.policy != "revise" else []
        # A plan that reads no stream has no instants; the first source is one.
        kinds += ["rooms"] if self.streaming else []
        kind, self.streaming = self.one(*kinds), True
        if kind == "rooms":
            return Stored("rooms", ROOMS), ROOMS.columns
        if kind == "grid":
            return self.grid()
        stream = self.feed.stream(kind)
        if stream.changes is not None:
            schema = Schema.of(k="string", n="int")
            return Windowed(Scan(kind, schema), Unbounded()), schema.columns
        node: Node = Scan(kind, stream.schema)
        columns = stream.schema.columns
        if self.one(False, False, False, True):
            node = Filter(node, self.condition(columns))
        return Windowed(node, _window(self.tape, stream)), columns

    def grid(self) -> tuple[Node, Columns]:
        """A stream on a grid, through a window of time."""
        schema = Schema.of(k="string", ts="time", x="float")
        period = self.one(SECOND, 2 * SECOND, 3 * SECOND)
        node = Resampled(Scan("meters", schema), "x", ("k",), period, self.one("last", "linear"))
        return Windowed(
            node, _window(self.tape, self.feed.stream("meters"), timed=True)
        ), schema.columns

    def filter(self, depth: int) -> tuple[Node, Columns]:
        node, columns = self.relation(depth)
        return Filter(node, self.condition(columns)), columns

    def project(self, depth: int) -> tuple[Node, Columns]:
        node, columns = self.relation(depth)
        picked = self.some(columns, (2, 1, 3))
        items = [(self.name("p"), *self.scalar(kind, columns)) for _, kind in picked]
        return (
            Project(node, tuple((name, expr) for name, expr, _ in items)),
            tuple((name, kind) for name, _, kind in items),
        )

    def join(self, depth: int) -> tuple[Node, Columns]:
        n_parts = self.one(2, 2, 3) if self.sources > 2 else 2
        self.sources -= n_parts - 1
        parts = [self.relation(depth if i == 0 else 0) for i in range(n_parts)]
        names = tuple(self.name("j") for _ in parts)
        sides = [
            tuple((f"{name}.{c}", kind) for c, kind in columns)
            for name, (_, columns) in zip(names, parts, strict=True)
        ]
        kinds = ("inner", "inner", "left", "full", "semi", "anti", *AS_OF)
        kind = self.one(*kinds) if n_parts == 2 else "inner"
        nodes = tuple(node for node, _ in parts)
        shown = sides[:1] if kind in ONE_SIDED else sides
        on = self.nearest(*sides) if kind in AS_OF else self.on(sides)
        if kind in AS_OF and on is None:
            kind = "inner"
        return Join(nodes, names, on, kind), sum(shown, ())

    def nearest(self, left: Columns, right: Columns) -> Expr | None:
        """One inequality, sometimes with an equality; None where nothing can be compared."""
        pairs = [(one, two) for one, k in left for two, its in right if k == its and k != "bool"]
        if not pairs:
            return None
        one, two = self.one(*pairs)
        found = Expr(self.one("<", "<=", ">", ">="), (column(one), column(two)))
        one, two = self.one(*pairs)
        return _both(found, self.one(None, Expr("=", (column(one), column(two)))))

    def on(self, sides: list[Columns]) -> Expr | None:
        """Equal columns of neighbours, sometimes an inequality or a condition on one side."""
        found: Expr | None = None
        for left, right in pairwise(sides):
            pairs = [
                (one, other)
                for one, kind in left
                for other, its in right
                if kind == its and kind != "bool"
            ]
            op = self.one("=", "=", "=", "<=", "!=")
            same = [pair for pair in pairs if pair[0][-2:] == pair[1][-2:]]
            one, other = self.one(*self.one(same, pairs) or pairs) if pairs else ("", "")
            part = Expr(op, (column(one), column(other))) if pairs else None
            if self.one(False, False, True):
                part = _both(part, self.condition(self.one(left, right)))
            found = _both(found, part)
        return found

    def group(self, depth: int, *, top: bool = False) -> tuple[Node, Columns]:
        node, columns = self.relation(depth)
        keys = list(dict.fromkeys(self.some(columns, (1, 1, 2, 0))))
        by: Named = tuple((self.name("g"), column(name)) for name, _ in keys)
        kinds = tuple(kind for _, kind in keys)
        found = [(self.name("a"), *self.aggregate(columns, top)) for _ in range(self.one(1, 2))]
        return (
            Grouped(node, by, tuple((name, expr) for name, expr, _ in found)),
            tuple((name, kind) for (name, _), kind in zip(by, kinds, strict=True))
            + tuple((name, kind) for name, _, kind in found),
        )

    def aggregate(self, columns: Columns, top: bool) -> tuple[Expr, str]:
        """An aggregate and the type of its value."""
        expr, kind = self.plain_aggregate(columns, top)
        if self.one(False, False, False, True):
            expr = Expr("filter", (expr, self.condition(columns)))
        return expr, kind

    def plain_aggregate(self, columns: Columns, top: bool) -> tuple[Expr, str]:
        numbers = [(name, kind) for name, kind in columns if kind in ("int", "float")]
        name, kind = self.one(*columns)
        choices = ["count", "star", "distinct", "min", "max", "first", "last"]
        if numbers:
            choices += ["sum", "avg", "median", "quantile", "weighted", "spread"]
            choices += ["var", "stddev", "covar", "corr"] if top else []
        pick = self.one(*choices)
        if pick == "star":
            return Expr("aggregate", (Expr("star"),), "count"), "int"
        if pick == "distinct":
            return Expr("aggregate", (Expr("distinct", (column(name),)),), "count"), "int"
        if pick == "count":
            return Expr("aggregate", (column(name),), "count"), "int"
        if pick in ("min", "max"):
            return Expr("aggregate", (column(name),), pick), kind
        if pick in ("first", "last"):
            # By a column: when a row came is not known of what was there before a step.
            return Expr("aggregate", (column(name), column(self.one(*columns)[0])), pick), kind
        return self.number_aggregate(pick, numbers)

    def number_aggregate(self, pick: str, numbers: list[tuple[str, str]]) -> tuple[Expr, str]:
        name, kind = self.one(*numbers)
        other = column(self.one(*numbers)[0])
        if pick == "spread":
            return call("spread", column(name)), "float"
        if pick == "weighted":
            args = (column(name), Expr("weight", (other,)))
            return Expr("aggregate", args, self.one("sum", "avg")), "float"
        if pick == "quantile":
            share = literal(self.one(0.0, 0.25, 0.9, 1.0))
            return Expr("aggregate", (column(name), share), pick), "float"
        if pick in ("covar", "corr"):
            return Expr("aggregate", (column(name), other), pick), "float"
        return Expr("aggregate", (column(name),), pick), kind if pick == "sum" else "float"

    def distinct(self, depth: int) -> tuple[Node, Columns]:
        node, columns = self.relation(depth)
        return Distinct(node), columns

    def combine(self, depth: int) -> tuple[Node, Columns]:
        self.sources -= 1
        left, columns = self.relation(depth)
        narrow = columns[: self.one(1, 2, 3)]
        left = Project(left, tuple((name, column(name)) for name, _ in narrow))
        below, others = self.relation(0)
        items = tuple((self.name("u"), self.alike(kind, others)) for _, kind in narrow)
        kind = self.one("union", "except", "intersect")
        return Combined(left, Project(below, items), kind, self.one(True, False)), narrow

    def alike(self, kind: str, columns: Columns) -> Expr:
        """A column of a type, or a constant where there is none."""
        fitting = [column(name) for name, other in columns if other == kind]
        if fitting and self.one(True, True, False):
            chosen: Expr = self.one(*fitting)
            return chosen
        return self.constant(kind)

    def order(self, depth: int) -> tuple[Node, Columns]:
        node, columns = self.relation(depth)
        picked = self.some(columns, (1, 2, 0))
        by = tuple((column(name), self.one(False, True)) for name, _ in picked)
        return Ordered(node, by, self.one(1, 2, 3, None)), columns

    def constant(self, kind: str) -> Expr:
        if kind == "time":
            return Expr("instant", value=START + self.one(0, 2, 5) * SECOND)
        return literal(self.one(*_SAMPLES[kind]))

    def scalar(self, kind: str, columns: Columns) -> tuple[Expr, str]:
        """An expression of a type, exact for small fractions, and that type."""
        plain = self.alike(kind, columns)
        if kind in ("int", "float") and self.one(False, True):
            return Expr(self.one("+", "-"), (plain, self.alike(kind, columns))), kind
        if self.one(False, False, False, True):
            return Expr("case", (self.condition(columns), plain, self.alike(kind, columns))), kind
        return plain, kind

    def condition(self, columns: Columns, deep: int = 1) -> Expr:
        """A condition, true for some rows."""
        how = self.one("null", "compare", "compare", "both" if deep else "compare")
        if how == "both":
            op = self.one("or", "and", "not")
            parts = [self.condition(columns, 0) for _ in range(1 if op == "not" else 2)]
            return Expr(op, tuple(parts))
        name, kind = self.one(*columns)
        if how == "null":
            return Expr("not", (Expr("is null", (column(name),)),))
        if kind == "bool":
            return column(name)
        op = self.one("<=", "!=", "<", "=", ">", ">=")
        return Expr(op, (column(name), self.constant(kind)))


def _both(one: Expr | None, other: Expr | None) -> Expr | None:
    if one is None or other is None:
        return other if one is None else one
    return Expr("and", (one, other))


@st.composite
def plans(
    draw: DrawFn, feed: Feed, *, depth: int = 4, sources: int = 3, kinds: tuple[str, ...] = KINDS
) -> Node:
    """A bound plan over the streams and tables of a feed, a relation at its root.

    Parameters
    ----------
    feed
        What the plan reads.
    depth, sources
        Most nodes on top of each other above the windows; most streams and tables read.
    kinds
        Nodes it may hold, of `KINDS`.
    """
    return _plan(draw(tapes(150)), feed, depth, sources, kinds)


def _plan(tape: Tape, feed: Feed, depth: int, sources: int, kinds: tuple[str, ...]) -> Node:
    planner = _Planner(tape, feed, sources, kinds)
    node, _ = planner.relation(tape.one(*sorted(range(depth + 1), key=lambda n: n != 1)), top=True)
    return node


@st.composite
def views(draw: DrawFn, feed: Feed, name: str = "v", *, depth: int = 3) -> View:
    """A view: a relation or a stream of rows, on change or every few seconds."""
    return _view(draw(tapes(160)), feed, name, depth)


def _view(tape: Tape, feed: Feed, name: str, depth: int) -> View:
    kind = tape.one("", "", "istream", "dstream", "rstream")
    answer: Cadence = tape.one(on_change(), on_change(), every(2), every(6))
    plan = _plan(tape, feed, depth, 3, KINDS)
    return View(name, Streamed(plan, kind) if kind else plan, answer=answer)
