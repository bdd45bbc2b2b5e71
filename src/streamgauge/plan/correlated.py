"""Correlated aggregates: COUNT(*) WHEN x > 1.5 * AVG(x), read into a query's aggregate."""

from __future__ import annotations

from streamgauge.kernel.errors import BindError
from streamgauge.operators.aggregate import Aggregate, count_when, sum_when
from streamgauge.operators.expression import FLIPPED, Expr, literal
from streamgauge.plan.conditions import Derived

_SIGNS = ("<", "<=", ">", ">=")
_INNER = ("avg", "min", "max")


def correlated_of(expr: Expr, derived: Derived) -> Aggregate:
    """The aggregate of a query that an aggregate with WHEN stands for.

    >>> from streamgauge.operators.expression import column, literal
    >>> from streamgauge.streams.schema import Schema
    >>> mean = Expr("aggregate", (column("x"),), "avg")
    >>> high = Expr(">", (column("x"), Expr("*", (literal(1.5), mean))))
    >>> count = Expr("aggregate", value="count")
    >>> print(correlated_of(Expr("when", (count, high)), Derived(Schema.of(x="float"), {})))
    count(*) when x > 1.5 * avg(x)
    """
    (asked, cond), only = expr.args, None
    if asked.op == "filter":
        asked, only = asked.args
    if cond.op not in _SIGNS:
        raise _unfit(expr)
    sign, (one, other) = cond.op, cond.args
    if one.has("aggregate"):
        sign, one, other = FLIPPED[sign], other, one
    line = _line(other)
    if one.has("aggregate") or line is None or line[1].args != (one,):
        raise _unfit(expr)
    factor, inner, offset = line
    x = derived.column(one)
    counts = asked.value == "count" and not asked.args
    if counts and only is None:
        return count_when(x, sign, inner.value, factor=factor, offset=offset)
    if counts or (asked.value == "sum" and len(asked.args) == 1):
        y = derived.column(_filtered(literal(1) if counts else asked.args[0], only))
        return sum_when(y, x, sign, inner.value, factor=factor, offset=offset)
    raise _unfit(expr)


def _filtered(value: Expr, only: Expr | None) -> Expr:
    """A value where a condition holds, nothing elsewhere: a sum of it is one with FILTER."""
    return value if only is None else Expr("case", (only, value, literal(None)))


def _line(expr: Expr) -> tuple[float, Expr, float] | None:
    """Factor, aggregate and offset of an expression that is linear in one aggregate."""
    if expr.op == "aggregate":
        return (1.0, expr, 0.0) if expr.value in _INNER else None
    if expr.op == "neg":
        inside = _line(expr.args[0])
        return None if inside is None else (-inside[0], inside[1], -inside[2])
    if expr.op not in ("+", "-", "*", "/"):
        return None
    left, right = _line(expr.args[0]), _line(expr.args[1])
    one, two = _number(expr.args[0]), _number(expr.args[1])
    if left is not None and two is not None:
        return _with_constant(expr.op, left, two)
    if right is None or one is None or expr.op == "/":
        return None
    if expr.op == "-":
        return -right[0], right[1], one - right[2]
    return _with_constant(expr.op, right, one)


def _with_constant(
    op: str, line: tuple[float, Expr, float], number: float
) -> tuple[float, Expr, float] | None:
    factor, inner, offset = line
    if op in ("+", "-"):
        return factor, inner, offset + number if op == "+" else offset - number
    if op == "/" and number == 0.0:
        return None
    scale = number if op == "*" else 1.0 / number
    return factor * scale, inner, offset * scale


def _number(expr: Expr) -> float | None:
    if expr.op == "neg":
        inside = _number(expr.args[0])
        return None if inside is None else -inside
    plain = isinstance(expr.value, int | float) and not isinstance(expr.value, bool)
    return float(expr.value) if expr.op == "literal" and plain else None


def _unfit(expr: Expr) -> BindError:
    return BindError(
        "WHEN compares a value with an aggregate of the same value",
        f"got {expr.args[0]} WHEN {expr.args[1]}",
        "write COUNT(*) WHEN x > 1.5 * AVG(x), or SUM(y) WHEN x <= 2 * MIN(x)",
    )
