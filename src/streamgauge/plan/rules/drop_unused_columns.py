"""Columns that nobody reads are not read from the streams.

Law: project(R, f) = project(R', f) where R' lacks columns that f does not read. Columns may go
below anything that treats rows one by one or by some columns; where whole rows are compared
(DISTINCT, set operations, LIMIT, the second input of an ASOF join) all of them stay. Condition: a
stream that says itself which rows go keeps all columns, for its rows are found by all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from streamgauge.operators.functions import Functions
from streamgauge.plan.join_columns import sides_of
from streamgauge.plan.nodes import (
    AS_OF,
    Filter,
    Grouped,
    Join,
    Node,
    Ordered,
    Project,
    Resampled,
    Scan,
    Streamed,
    Windowed,
)
from streamgauge.plan.schema_of import schema_of
from streamgauge.streams.schema import Schema


def apply(node: Node, functions: Functions, changing: frozenset[str] = frozenset()) -> Node:
    """Narrow the scans of a plan to the columns it uses."""
    leaves = sum(not part.inputs_of for part in node.walk())
    # No two parts of a chain are equal, and to hash them takes longer than to narrow them.
    key: Callable[[Node], object] = id if leaves == 1 else lambda part: part
    wanted: dict[object, set[str]] = {}
    _want(node, set(schema_of(node, functions).names), functions, wanted, key)
    done: dict[object, Node] = {}

    def narrowed(part: Node) -> Node:
        if key(part) not in done:
            if isinstance(part, Resampled) or _kept(part, changing):
                done[key(part)] = part
            else:
                inputs = tuple(narrowed(below) for below in part.inputs())
                done[key(part)] = _own(part, wanted[key(part)]).over(inputs)
        return done[key(part)]

    return narrowed(node)


def _kept(node: Node, changing: frozenset[str]) -> bool:
    return isinstance(node, Scan) and node.stream in changing


def _want(
    node: Node,
    needed: set[str],
    functions: Functions,
    wanted: dict[object, set[str]],
    key: Callable[[Node], object],
) -> None:
    """Note what is wanted of each node; equal parts are wanted for all their uses at once."""
    known = wanted.get(key(node))
    if known is not None and needed <= known:
        return
    everything = wanted[key(node)] = needed | (known or set())
    below = _below(_own(node, everything), everything, functions)
    for part, names in zip(node.inputs(), below, strict=True):
        _want(part, names, functions, wanted, key)


def _own(node: Node, needed: set[str]) -> Node:
    """The node without the columns that it makes itself and nobody wants."""
    if isinstance(node, Scan):
        # A table without columns would forget how many rows it has.
        columns = tuple(c for c in node.schema.columns if c[0] in needed)
        return replace(node, schema=Schema(columns or node.schema.columns[:1]))
    if isinstance(node, Project):
        items = tuple(item for item in node.items if item[0] in needed)
        return replace(node, items=items or node.items[:1])
    if isinstance(node, Grouped):
        kept = tuple(item for item in node.aggregates if item[0] in needed)
        return replace(node, aggregates=kept if kept or node.by else node.aggregates)
    return node


def _below(node: Node, needed: set[str], functions: Functions) -> list[set[str]]:
    """Columns that a node reads of each of its inputs."""
    match node:
        case Project(items=items):
            return [{name for _, expr in items for name in expr.columns()}]
        case Filter(where=where):
            return [needed | set(where.columns())]
        case Windowed(window=window):
            return [needed | set(window.by)]
        case Grouped(by=by, aggregates=aggregates):
            return [{name for _, expr in by + aggregates for name in expr.columns()}]
        case Streamed():
            return [needed]
        case Ordered(by=order, limit=None):
            return [needed | {name for expr, _ in order for name in expr.columns()}]
        case Join():
            read = needed | set(node.on.columns() if node.on is not None else ())
            sides = sides_of(node, functions)
            if node.kind in AS_OF:
                # Which of equally near partners counts is decided by all of their columns.
                read |= set(sides[1])
            return [
                {str(own.value) for name, own in side.items() if name in read} for side in sides
            ]
        case _:
            return [set(schema_of(part, functions).names) for part in node.inputs()]
