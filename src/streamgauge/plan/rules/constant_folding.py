"""Constants are computed once, and conditions that are always true go.

Law: an expression without columns has one value, so that value may stand for it; p and TRUE = p,
p or FALSE = p, p and FALSE = FALSE, p or TRUE = TRUE, also when p is unknown; filter(R, TRUE) = R.
Condition: a value that is null stays as it is written, for a bare null has lost its type; so do
calls of one's own functions.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa

from streamgauge.operators.evaluate import evaluate, type_of
from streamgauge.operators.expression import ARITHMETIC, COMPARISONS, Expr, literal
from streamgauge.operators.functions import Functions
from streamgauge.plan.nodes import Filter, Grouped, Join, Named, Node, Ordered, Project
from streamgauge.streams.schema import Schema

_CONSTANT = ("literal", "instant", "duration")
_FOLDED = (*ARITHMETIC, *COMPARISONS, "neg", "||", "in", "between", "like", "cast")
_ONE = pa.table({"one": pa.array([1], pa.int64())})
_NOTHING = Schema(())

# A plan that lacks one of these is left as it is.
ABOUT: tuple[type[Node], ...] = ()


def apply(node: Node, functions: Functions) -> Node:
    """Fold constants everywhere in a plan."""

    def change(part: Node) -> Node:
        if isinstance(part, Filter):
            where = folded(part.where, functions)
            if where is part.where:
                return part
            return part.input if where == literal(True) else replace(part, where=where)
        if isinstance(part, Project):
            items = _named(part.items, functions)
            return part if items == part.items else replace(part, items=items)
        if isinstance(part, Grouped):
            by = _named(part.by, functions)
            return replace(part, by=by, aggregates=_named(part.aggregates, functions))
        if isinstance(part, Ordered):
            return replace(part, by=tuple((folded(e, functions), d) for e, d in part.by))
        if isinstance(part, Join) and part.on is not None:
            on = folded(part.on, functions)
            return replace(part, on=None if on == literal(True) else on)
        return part

    return node.rebuilt(change)


def _named(items: Named, functions: Functions) -> Named:
    return tuple((name, folded(expr, functions)) for name, expr in items)


def folded(expr: Expr, functions: Functions) -> Expr:
    """The expression with what is constant in it computed.

    >>> from streamgauge.operators.expression import column
    >>> more = Expr("*", (literal(60), literal(2)))
    >>> print(folded(Expr(">", (column("x"), more)), {}))
    x > 120
    """
    args = tuple(folded(arg, functions) for arg in expr.args)
    whole = expr if args == expr.args else replace(expr, args=args)
    if whole.op in ("and", "or", "not"):
        return _logical(whole)
    constant = bool(whole.args) and all(arg.op in _CONSTANT for arg in whole.args)
    if constant and (whole.op in _FOLDED or _built_in(whole, functions)):
        return _value(whole, functions)
    return whole


def _built_in(expr: Expr, functions: Functions) -> bool:
    return expr.op == "call" and str(expr.value).lower() not in functions


def _logical(expr: Expr) -> Expr:
    if expr.op == "not":
        known = expr.args[0]
        return literal(not known.value) if _truth(known) else expr
    decides = expr.op == "or"
    for one, other in (expr.args, expr.args[::-1]):
        if _truth(one):
            return literal(decides) if one.value is decides else other
    return expr


def _truth(expr: Expr) -> bool:
    return expr.op == "literal" and isinstance(expr.value, bool)


def _value(expr: Expr, functions: Functions) -> Expr:
    kind = type_of(expr, _NOTHING, functions)
    value: Any = evaluate(expr, _ONE, functions)[0].as_py()
    if value is None or kind == "null":
        return expr
    if kind == "time":
        return expr
    return Expr("duration", value=value) if kind == "duration" else literal(value)
