"""Partitioning: columns by whose hash the rows of a plan can be split between shards.

Rows that meet in a join, a group or a list of distinct rows must be on one shard. So must rows of
the result that are equal, because what comes and goes of them is counted together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from streamgauge.operators.expression import Expr, conjuncts
from streamgauge.plan.nodes import (
    Combined,
    Distinct,
    Filter,
    Grouped,
    Join,
    Named,
    Node,
    Numbers,
    Ordered,
    Project,
    Resampled,
    Scan,
    Stored,
    Streamed,
    Windowed,
)

# Windows in which the life of a row does not depend on other rows.
_WINDOWS = ("now", "range", "landmark")
_TYPES = ("string", "int", "bool", "float")


@dataclass(frozen=True, slots=True)
class Split:
    """One way to split rows: the column of each stream, its type, and where it is in the result."""

    by: tuple[tuple[str, str], ...]
    type: str
    columns: frozenset[str]


# Ways to split, or why there is none.
Ways: TypeAlias = list[Split] | str


def placed(plan: Node) -> dict[str, tuple[str, ...]] | str:
    """For each stream the columns that its rows are hashed by; why not, where they cannot be split.

    Examples
    --------
    >>> from streamgauge.streams.schema import Schema
    >>> from streamgauge.windows.window import Range
    >>> a, b = (Windowed(Scan(name, Schema.of(k="string", x="float")), Range("1 minute"))
    ...         for name in ("a", "b"))
    >>> equal = Expr("=", (Expr("column", value="a.k"), Expr("column", value="b.k")))
    >>> placed(Join((a, b), ("a", "b"), equal))
    {'a': ('k',), 'b': ('k',)}
    >>> placed(Join((a, b), ("a", "b"), None))
    'not all inputs of the join are equal in one column'
    """
    ways = _ways(plan)
    if isinstance(ways, str):
        return ways
    shown = [way for way in ways if way.columns]
    if not shown:
        return "the result does not have the column that its rows would be hashed by"
    if any(isinstance(node, Join) for node in plan.walk()):
        return {stream: (column,) for stream, column in shown[0].by}
    ((stream, _),) = shown[0].by
    # Of floats nearly every row has another: hashing them takes long, and little is gained.
    few = [way for way in shown if way.type != "float"] or shown[:1]
    return {stream: tuple(column for way in few for _, column in way.by)}


def shown_columns(plan: Node) -> tuple[str, ...]:
    """The columns of the result by whose hash its rows are where those are that they are made of.

    They are in the order in which `placed` has those of the streams.
    """
    ways = _ways(plan)
    assert not isinstance(ways, str), f"rows that cannot be split: {ways}"
    shown = [way for way in ways if way.columns]
    few = [way for way in shown if way.type != "float"] or shown[:1]
    joined = any(isinstance(node, Join) for node in plan.walk())
    return tuple(min(way.columns) for way in (shown[:1] if joined else few))


def _ways(node: Node) -> Ways:
    work = _WORK.get(type(node))
    return _WHOLE.get(type(node), "rows of tables alone are read") if work is None else work(node)


def _scan(node: Scan) -> Ways:
    if node.changes:
        return "rows of the stream take others away"
    kinds = [(name, node.schema.type(name)) for name in node.schema.names]
    return [
        Split(((node.stream, name),), kind, frozenset((name,)))
        for name, kind in kinds
        if kind in _TYPES
    ]


def _windowed(node: Windowed) -> Ways:
    if node.window.kind not in _WINDOWS:
        return f"window {node.window} depends on rows that come after"
    return _ways(node.input)


def _same(node: Filter | Streamed | Distinct) -> Ways:
    if isinstance(node, Streamed) and node.kind == "rstream":
        return "the whole relation is given at each instant"
    return _ways(node.input)


def _project(node: Project) -> Ways:
    return _renamed(_ways(node.input), node.items)


def _grouped(node: Grouped) -> Ways:
    ways = _renamed(_ways(node.input), node.by)
    if isinstance(ways, str):
        return ways
    found = [way for way in ways if way.columns]
    return found or "no group is a column that rows could be hashed by"


def _renamed(ways: Ways, items: Named) -> Ways:
    """The ways after a list of columns, of which only plain ones are the same as before."""
    if isinstance(ways, str):
        return ways
    found = []
    for way in ways:
        kept = (n for n, expr in items if expr.op == "column" and expr.value in way.columns)
        found.append(Split(way.by, way.type, frozenset(kept)))
    return found


def _join(node: Join) -> Ways:
    if node.kind not in ("inner", "left", "semi", "anti"):
        return f"a join of kind {node.kind} keeps rows of both sides"
    sides: list[list[Split]] = []
    tables: set[int] = set()
    for number, (name, part) in enumerate(zip(node.names, node.parts, strict=True)):
        if isinstance(part, Stored) and (number > 0 or node.kind == "inner"):
            tables.add(number)
            sides.append([])
            continue
        ways = _ways(part)
        if isinstance(ways, str):
            return ways
        sides.append([_qualified(way, name) for way in ways])
    streams = [number for number in range(len(sides)) if number not in tables]
    if not streams:
        return "tables alone are joined"
    found = [way for first in sides[streams[0]] for way in _met(first, sides, streams[1:], node)]
    return found or "not all inputs of the join are equal in one column"


def _qualified(way: Split, name: str) -> Split:
    columns = frozenset(f"{name}.{column}" if name else column for column in way.columns)
    return Split(way.by, way.type, columns)


def _met(way: Split, sides: list[list[Split]], rest: list[int], node: Join) -> Iterator[Split]:
    """The first way, if each other input equals it in a column: directly or by way of others."""
    equal = list(_equalities(node.on))
    waiting, found = list(rest), way
    while waiting:
        joined = [
            (number, other)
            for number in waiting
            for other in sides[number]
            if other.type == way.type
            and _agree(found, other)
            and any(_links(pair, found.columns, other.columns) for pair in equal)
        ]
        if not joined:
            return
        number, other = joined[0]
        waiting.remove(number)
        by = dict(found.by) | dict(other.by)
        # Beside a row without a partner the column of the other side is null.
        columns = found.columns | other.columns if node.kind == "inner" else found.columns
        found = Split(tuple(by.items()), way.type, columns)
    yield found


def _agree(one: Split, other: Split) -> bool:
    """Whether a stream that both read is split by the same column."""
    known = dict(one.by)
    return all(known.get(stream, column) == column for stream, column in other.by)


def _equalities(on: Expr | None) -> Iterator[tuple[str, str]]:
    for part in conjuncts(on):
        if part.op == "=" and all(arg.op == "column" for arg in part.args):
            left, right = part.args
            yield str(left.value), str(right.value)


def _links(pair: tuple[str, str], one: frozenset[str], other: frozenset[str]) -> bool:
    left, right = pair
    return (left in one and right in other) or (right in one and left in other)


_WHOLE: dict[type[Node], str] = {
    Combined: "rows of two results are compared",
    Numbers: "answers of a query are read as rows",
    Ordered: "the first rows are those of the whole result",
    Resampled: "a grid is filled in from the rows around it",
}
_WORK: dict[type[Node], Callable[..., Ways]] = {
    Scan: _scan,
    Windowed: _windowed,
    Filter: _same,
    Streamed: _same,
    Distinct: _same,
    Project: _project,
    Grouped: _grouped,
    Join: _join,
}
