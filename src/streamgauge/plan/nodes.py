"""Nodes of a plan over rows: frozen values, so that equal parts of two plans are one part.

A plan is a tree of them. Streams become relations by a window, relations become relations, and at
the root a relation may become a stream again. A relation is a bag of rows for every instant.

Columns have plain names below a join and names like `a.price` above it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, fields, replace
from functools import cache
from typing import Any, ClassVar, TypeAlias

from streamgauge.operators.expression import Expr
from streamgauge.plan.query import Query
from streamgauge.streams.schema import Schema
from streamgauge.windows.window import Window

Named: TypeAlias = tuple[tuple[str, Expr], ...]


@dataclass(frozen=True, slots=True)
class Node:
    """What all nodes share."""

    inputs_of: ClassVar[tuple[str, ...]] = ("input",)

    def inputs(self) -> tuple[Node, ...]:
        """The nodes below, left to right."""
        found: list[Node] = []
        for name in self.inputs_of:
            given = getattr(self, name)
            found.extend(given if isinstance(given, tuple) else (given,))
        return tuple(found)

    def over(self, inputs: tuple[Node, ...]) -> Node:
        """The same node over other inputs."""
        own = self.inputs()
        if all(one is other for one, other in zip(inputs, own, strict=True)) or inputs == own:
            return self
        rest = list(inputs)
        changed: dict[str, Any] = {}
        for name in self.inputs_of:
            given = getattr(self, name)
            if isinstance(given, tuple):
                changed[name] = tuple(rest[: len(given)])
                rest = rest[len(given) :]
            else:
                changed[name] = rest.pop(0)
        return replace(self, **changed)

    def walk(self) -> Iterator[Node]:
        """The node and all below it, outermost first."""
        yield self
        for node in self.inputs():
            yield from node.walk()

    def rebuilt(self, change: Callable[[Node], Node]) -> Node:
        """The tree with each node changed, innermost first."""
        names = self.inputs_of
        if not names:
            return change(self)
        if names == ("input",):
            # Most nodes have one input; thousands of plans are rebuilt dozens of times each.
            below: Node = getattr(self, "input")  # noqa: B009
            changed = below.rebuilt(change)
            return change(self if changed is below else replace(self, input=changed))  # type: ignore[call-arg]
        return change(self.over(tuple(node.rebuilt(change) for node in self.inputs())))


@dataclass(frozen=True, slots=True)
class Scan(Node):
    """Rows of a stream, each once, at its time; where it `changes`, some take others away."""

    inputs_of: ClassVar[tuple[str, ...]] = ()
    stream: str
    schema: Schema
    changes: bool = False


@dataclass(frozen=True, slots=True)
class Stored(Node):
    """Rows of a stored table: a relation that changes when the table is read again."""

    inputs_of: ClassVar[tuple[str, ...]] = ()
    table: str
    schema: Schema


@dataclass(frozen=True, slots=True)
class Numbers(Node):
    """The newest answers of a query of numbers: its groups, then value, low and high.

    `model` names the synopsis the query is answered from, `confidence` how surely its bars hold,
    `technique` who answers it; plans of earlier releases do not say.
    """

    inputs_of: ClassVar[tuple[str, ...]] = ()
    asked: Query
    model: str
    confidence: float
    schema: Schema
    technique: str = ""

    @property
    def stream(self) -> str:
        """The stream the query reads."""
        return self.asked.stream


@dataclass(frozen=True, slots=True)
class Resampled(Node):
    """A stream on a regular grid: per key, one row each `period` with the column filled in.

    `method` is last (the value in force) or linear (between the neighbours, known with the second).
    """

    input: Node
    column: str
    by: tuple[str, ...]
    period: int
    method: str


@dataclass(frozen=True, slots=True)
class Windowed(Node):
    """A stream as a relation: the rows that are alive."""

    input: Node
    window: Window


@dataclass(frozen=True, slots=True)
class Filter(Node):
    """Rows for which a condition is true."""

    input: Node
    where: Expr


@dataclass(frozen=True, slots=True)
class Project(Node):
    """Columns computed from each row; duplicates stay."""

    input: Node
    items: Named


# Joins that give rows of their first input alone.
ONE_SIDED = ("semi", "anti")
# Joins that give each row of their first input with its nearest partner.
AS_OF = ("asof", "asof left")


@dataclass(frozen=True, slots=True)
class Join(Node):
    """All combinations of rows that meet a condition; column c of input a is a.c above.

    `kind` is inner (any number of inputs), or of two inputs left (rows of the first without a
    partner stay, with nulls), full (those of both), semi (rows of the first that have a partner,
    each once, with their own columns), anti (those that have none), asof (rows of the first, each
    with the partner nearest by the one inequality of `on`) or asof left (with nulls where there is
    none). An input of the name "" has its columns qualified already.
    """

    inputs_of: ClassVar[tuple[str, ...]] = ("parts",)
    parts: tuple[Node, ...]
    names: tuple[str, ...]
    on: Expr | None = None
    kind: str = "inner"


@dataclass(frozen=True, slots=True)
class Grouped(Node):
    """One row for each group, with its keys and its aggregates; without keys always one row.

    An aggregate is an expression of op aggregate, perhaps inside filter.
    """

    input: Node
    by: Named
    aggregates: Named


@dataclass(frozen=True, slots=True)
class Distinct(Node):
    """Each row once."""

    input: Node


@dataclass(frozen=True, slots=True)
class Combined(Node):
    """Bags combined by position of columns: union, except or intersect; `all` counts copies."""

    inputs_of: ClassVar[tuple[str, ...]] = ("left", "right")
    left: Node
    right: Node
    kind: str
    all: bool


@dataclass(frozen=True, slots=True)
class Ordered(Node):
    """The first `limit` rows by some order; ties go by all columns, so the result is one."""

    input: Node
    by: tuple[tuple[Expr, bool], ...]
    limit: int | None


@dataclass(frozen=True, slots=True)
class Streamed(Node):
    """A relation as a stream: istream (what came), dstream (what went), rstream (what is)."""

    input: Node
    kind: str


KINDS: dict[str, type[Node]] = {
    kind.__name__: kind
    for kind in (
        Scan, Stored, Numbers, Resampled, Windowed, Filter, Project, Join, Grouped, Distinct,
        Combined, Ordered, Streamed,
    )
}  # fmt: skip


def to_json(node: Node) -> dict[str, Any]:
    """JSON form of a plan.

    >>> scan = Scan("s", Schema.of(a="int", ts="time"))
    >>> from_json(to_json(Filter(scan, Expr("column", value="a")))).where.value
    'a'
    """
    kind = type(node).__name__
    out: dict[str, Any] = {"node": kind}
    for name, default in _parts(kind):
        value = getattr(node, name)
        if default is MISSING or value != default:
            out[name] = _to_plain(value)
    return out


def from_json(data: dict[str, Any]) -> Node:
    """Read the JSON form."""
    kind = data["node"]
    given = [name for name, _ in _parts(kind) if name in data]
    return KINDS[kind](**{name: _READ[name](data[name]) for name in given})


@cache
def _parts(kind: str) -> tuple[tuple[str, Any], ...]:
    """Names and defaults of what a kind of node is made of."""
    return tuple((item.name, item.default) for item in fields(KINDS[kind]))


def _to_plain(value: Any) -> Any:
    if isinstance(value, Node):
        return to_json(value)
    if isinstance(value, Expr):
        return value.as_json()
    if isinstance(value, (Window, Schema, Query)):
        return value.as_dict()
    return [_to_plain(item) for item in value] if isinstance(value, tuple) else value


def _same(value: Any) -> Any:
    return value


def _expr(value: Any) -> Expr | None:
    return None if value is None else Expr.from_json(value)


def _named(value: Any) -> Any:
    # Keys of a resample are names, keys of a group are named expressions, an order has flags.
    if value and isinstance(value[0], str):
        return tuple(value)
    if value and isinstance(value[0][0], str):
        return tuple((name, Expr.from_json(item)) for name, item in value)
    return tuple((Expr.from_json(item), flag) for item, flag in value)


_READ: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(
        (
            "stream",
            "table",
            "column",
            "period",
            "method",
            "kind",
            "all",
            "limit",
            "model",
            "technique",
            "confidence",
            "changes",
        ),
        _same,
    ),
    **dict.fromkeys(("input", "left", "right"), from_json),
    **dict.fromkeys(("where", "on"), _expr),
    **dict.fromkeys(("items", "by", "aggregates"), _named),
    "asked": Query.from_dict,
    "schema": lambda value: Schema(tuple(value.items())),
    "window": Window.from_dict,
    "parts": lambda value: tuple(from_json(item) for item in value),
    "names": tuple,
}
