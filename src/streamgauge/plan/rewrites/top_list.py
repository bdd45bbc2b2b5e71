"""Top lists: GROUP BY with ORDER BY COUNT(*) DESC LIMIT k, from a summary of frequent items."""

from __future__ import annotations

from streamgauge.contracts.contract import Contract
from streamgauge.operators.aggregate import BETWEEN, Aggregate
from streamgauge.operators.expression import Expr, literal
from streamgauge.plan.conditions import Derived, predicate_of
from streamgauge.plan.nodes import Grouped, Node, Ordered, Project
from streamgauge.plan.query import Cadence, Query
from streamgauge.plan.rewrites.one_stream import OneStream, counts_rows, one_stream


def top_list(name: str, node: Node, contract: Contract, answer: Cadence) -> list[Query] | None:
    """The k heaviest groups as a query over top items."""
    if contract.tolerance == "exact":
        return None
    if isinstance(node, Project) and isinstance(node.input, Ordered):
        node = node.input
    if not isinstance(node, Ordered) or node.limit is None or len(node.by) != 1:
        return None
    groups = _grouped(node)
    source = None if groups is None else one_stream(groups.input)
    if groups is None or source is None:
        return None
    derived = Derived(source.scan.schema, {})
    keys = tuple(source.read(expr) for _, expr in groups.by)
    item = derived.column(keys[0])
    if len(keys) > 1:
        item = ", ".join(map(str, keys))
        derived.columns = {item: _together(keys, source)}
    return [
        Query(
            name,
            source.scan.stream,
            Aggregate("top_k", item, argument=node.limit),
            window=source.window,
            where=predicate_of(source.where, derived),
            answer=answer,
            contract=contract,
            **derived.given(),
        )
    ]


def _grouped(node: Ordered) -> Grouped | None:
    """The groups below, when they are ordered by how many rows they have, the most first."""
    (by, descending), below = node.by[0], node.input
    if isinstance(below, Project):
        items = dict(below.items)
        plain = all(expr.op == "column" for expr in items.values())
        by, below = (items.get(by.value, by) if plain else by), below.input
    if not isinstance(below, Grouped) or not below.by or len(below.aggregates) != 1:
        return None
    (called, aggregate) = below.aggregates[0]
    fits = descending and by == Expr("column", value=called) and counts_rows(aggregate)
    return below if fits else None


def _together(keys: tuple[Expr, ...], source: OneStream) -> Expr:
    """Several keys as one text that tells all of them apart."""
    whole = _as_text(keys[0], source)
    for key in keys[1:]:
        whole = Expr("||", (Expr("||", (whole, literal(BETWEEN))), _as_text(key, source)))
    return whole


def _as_text(key: Expr, source: OneStream) -> Expr:
    return key if source.kind(key) == "string" else Expr("cast", (key,), "string")
