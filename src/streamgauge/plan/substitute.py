"""Expressions seen through a projection, and conditions split and joined."""

from __future__ import annotations

from collections.abc import Mapping

from streamgauge.operators.expression import Expr, conjunction, conjuncts
from streamgauge.plan.nodes import Filter, Named, Node


def through(expr: Expr, items: Mapping[str, Expr]) -> Expr:
    """The expression with each column replaced by what a projection computes it from.

    >>> from streamgauge.operators.expression import column, literal
    >>> print(through(Expr(">", (column("x"), literal(1))), {"x": column("price")}))
    price > 1
    """
    return expr.replaced(lambda part: items.get(part.value) if part.op == "column" else None)


def through_named(named: Named, items: Mapping[str, Expr]) -> Named:
    """The same for named expressions."""
    return tuple((name, through(expr, items)) for name, expr in named)


def filtered(node: Node, conditions: tuple[Expr, ...]) -> Node:
    """The node under a filter, or itself when there is no condition."""
    parts = tuple(dict.fromkeys(part for where in conditions for part in conjuncts(where)))
    where = conjunction(parts)
    return node if where is None else Filter(node, where)
