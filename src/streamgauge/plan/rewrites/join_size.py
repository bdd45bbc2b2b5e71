"""Join sizes: COUNT(*) over two streams that meet in a column, from a sketch a stream."""

from __future__ import annotations

from streamgauge.contracts.contract import Contract
from streamgauge.operators.aggregate import Aggregate
from streamgauge.operators.expression import Expr, conjuncts
from streamgauge.plan.nodes import Filter, Grouped, Join, Node, Project
from streamgauge.plan.part import Part
from streamgauge.plan.query import Cadence, Query
from streamgauge.plan.rewrites.one_stream import OneStream, aligned, counts_rows, one_stream


def join_size(name: str, node: Node, contract: Contract, answer: Cadence) -> list[Query] | None:
    """How many pairs of rows of two streams hold the same item."""
    if isinstance(node, Project) and all(expr.op == "column" for _, expr in node.items):
        node = node.input
    if contract.tolerance == "exact" or not isinstance(node, Grouped) or node.by:
        return None
    if len(node.aggregates) != 1:
        return None
    aggregate, below = node.aggregates[0][1], node.input
    where: tuple[Expr, ...] = ()
    while isinstance(below, Filter):
        where, below = (*where, *conjuncts(below.where)), below.input
    if not isinstance(below, Join) or below.kind != "inner" or len(below.parts) != 2:
        return None
    where = (*where, *conjuncts(below.on))
    if aggregate.op == "aggregate" and aggregate.value == "join_size":
        where = (*where, Expr("=", aggregate.args))
    elif not counts_rows(aggregate):
        return None
    parts = _parts(below, where)
    if parts is None:
        return None
    return [
        Query(
            name,
            parts[0].stream,
            Aggregate("join_size", argument="p0 = p1"),
            window=parts[0].window,
            answer=answer,
            contract=contract,
            parts=tuple(parts),
        )
    ]


def _parts(join: Join, where: tuple[Expr, ...]) -> list[Part] | None:
    """Both sides, with what they meet in; None when they meet in more than equal items."""
    sides = [one_stream(part) for part in join.parts]
    if sides[0] is None or sides[1] is None:
        return None
    met: list[tuple[Expr, Expr]] = []
    own: list[list[Expr]] = [[], []]
    for part in where:
        places = {_side(join, column) for column in part.columns()}
        if places == {0} or places == {1}:
            place = places.pop()
            own[place].append(_read(part, join, sides[place]))  # type: ignore[arg-type]
            continue
        pair = _met(part, join)
        if pair is None:
            return None
        met.append(pair)
    if not met:
        return None
    both = [
        (_with(side, own[place]), [_read(pair[place], join, side) for pair in met])
        for place, side in enumerate(sides)
        if side is not None
    ]
    return aligned(both)


def _met(part: Expr, join: Join) -> tuple[Expr, Expr] | None:
    """The two sides of an equality between the inputs, that of the first input first."""
    if part.op != "=":
        return None
    places = [{_side(join, column) for column in arg.columns()} for arg in part.args]
    if places == [{0}, {1}]:
        return part.args[0], part.args[1]
    return (part.args[1], part.args[0]) if places == [{1}, {0}] else None


def _side(join: Join, name: str) -> int:
    """Which input a column is of; -1 for neither."""
    for place, called in enumerate(join.names):
        if called and name.startswith(f"{called}."):
            return place
    return -1


def _read(expr: Expr, join: Join, source: OneStream) -> Expr:
    """An expression over the join, in terms of one stream."""
    prefixes = tuple(f"{called}." for called in join.names)

    def plain(part: Expr) -> Expr | None:
        if part.op != "column":
            return None
        for prefix in prefixes:
            if part.value.startswith(prefix):
                return Expr("column", value=part.value.removeprefix(prefix))
        return None

    return source.read(expr.replaced(plain))


def _with(source: OneStream, more: list[Expr]) -> OneStream:
    return OneStream(source.scan, source.window, (*source.where, *more), source.columns)
