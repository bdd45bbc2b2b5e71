"""Set sizes: COUNT(*) of UNION, INTERSECT and EXCEPT over streams, from a sketch a stream."""

from __future__ import annotations

from streamgauge.contracts.contract import Contract
from streamgauge.operators.aggregate import Aggregate
from streamgauge.operators.expression import Expr
from streamgauge.plan.nodes import Combined, Distinct, Grouped, Node, Project
from streamgauge.plan.query import Cadence, Query
from streamgauge.plan.rewrites.one_stream import OneStream, aligned, counts_rows, one_stream

_SIGNS = {"union": "|", "intersect": "&", "except": "-"}


def set_size(name: str, node: Node, contract: Contract, answer: Cadence) -> list[Query] | None:
    """How many different rows a combination of streams has."""
    if isinstance(node, Project) and all(expr.op == "column" for _, expr in node.items):
        node = node.input
    counted = isinstance(node, Grouped) and not node.by and len(node.aggregates) == 1
    if contract.tolerance == "exact" or not counted or not isinstance(node, Grouped):
        return None
    below = _plain(node.input)
    if not counts_rows(node.aggregates[0][1]) or not isinstance(below, Combined):
        return None
    found: list[tuple[OneStream, tuple[Expr, ...]]] = []
    text = _expression(below, found)
    parts = aligned(found) if text is not None else None
    if text is None or parts is None:
        return None
    return [
        Query(
            name,
            parts[0].stream,
            Aggregate("set_size", argument=text.removeprefix("(").removesuffix(")")),
            window=parts[0].window,
            answer=answer,
            contract=contract,
            parts=tuple(parts),
        )
    ]


def _expression(node: Node, found: list[tuple[OneStream, tuple[Expr, ...]]]) -> str | None:
    """The combination as text over p0, p1, ...; the streams are added to `found`."""
    node = _plain(node)
    if isinstance(node, Combined):
        if node.all:
            return None
        left, right = _expression(node.left, found), _expression(node.right, found)
        if left is None or right is None:
            return None
        return f"({left} {_SIGNS[node.kind]} {right})"
    source = one_stream(node)
    if source is None:
        return None
    # Without a projection the rows are those of the stream, in the order of its columns.
    names = source.scan.schema.names
    columns = source.columns or {name: Expr("column", value=name) for name in names}
    found.append((source, tuple(columns.values())))
    return f"p{len(found) - 1}"


def _plain(node: Node) -> Node:
    """A node without DISTINCT, which sets do by themselves."""
    while isinstance(node, Distinct):
        node = node.input
    return node
