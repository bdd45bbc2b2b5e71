"""Bars through a plan: what is computed from numbers with bars has bars of its own.

A column x with a bar is three columns, x, x.low and x.high. The bar of an expression follows from
the bars of its columns by interval arithmetic, so it holds whenever theirs do. The chances of
failure add up, row by row.
"""

from __future__ import annotations

from collections.abc import Mapping

from streamgauge.kernel.errors import BindError
from streamgauge.operators.expression import Expr, call, literal

Bar = tuple[Expr, Expr]
Bars = Mapping[str, Bar]

# Functions that never fall, so that the ends of a bar stay its ends.
RISING = ("exp", "ln", "log10", "sqrt", "floor", "ceil", "round", "sign", "least", "greatest")
# Aggregates that never fall when one of the values grows.
RISING_AGGREGATES = ("sum", "avg", "min", "max", "median", "quantile")


def bar_of(expr: Expr, bars: Bars) -> Bar | None:
    """Low and high of an expression, or None when nothing in it has a bar.

    >>> from streamgauge.operators.expression import column
    >>> bars = {"heat": (column("heat.low"), column("heat.high"))}
    >>> low, high = bar_of(Expr("-", (literal(100), column("heat"))), bars)
    >>> print(low, "..", high)
    100 - heat.high .. 100 - heat.low
    """
    if not any(name in bars for name in expr.columns()):
        return None
    if expr.op == "column":
        return bars[expr.value]
    sides = [bar_of(arg, bars) or (arg, arg) for arg in expr.args]
    if expr.op == "neg":
        return Expr("neg", (sides[0][1],)), Expr("neg", (sides[0][0],))
    if expr.op == "+":
        return _each(expr, sides[0][0], sides[1][0]), _each(expr, sides[0][1], sides[1][1])
    if expr.op == "-":
        return _each(expr, sides[0][0], sides[1][1]), _each(expr, sides[0][1], sides[1][0])
    if expr.op == "*":
        return _corners(expr, sides)
    if expr.op == "/":
        return _quotient(expr, sides)
    if expr.op == "cast" and expr.value in ("float", "int"):
        return Expr("cast", (sides[0][0],), expr.value), Expr("cast", (sides[0][1],), expr.value)
    if expr.op == "call" and expr.value == "abs":
        return _magnitude(sides[0])
    if expr.op == "call" and expr.value in RISING:
        lows, highs = [low for low, _ in sides], [high for _, high in sides]
        return call(expr.value, *lows), call(expr.value, *highs)
    raise BindError(
        f"no bar is known for {expr}",
        f"it is computed from {', '.join(name for name in expr.columns() if name in bars)}, which "
        "has a bar",
        f"use + - * /, abs, {', '.join(RISING)}, or select the bar's ends by name",
    )


def bar_of_aggregate(aggregate: Expr, bars: Bars) -> Bar | None:
    """Low and high of an aggregate over rows whose columns have bars."""
    inside = aggregate.args[0] if aggregate.op == "filter" else aggregate
    if not any(name in bars for name in aggregate.columns()):
        return None
    condition = aggregate.args[1:] if aggregate.op == "filter" else ()
    weighed = any(arg.op == "weight" for arg in inside.args)
    in_bars = any(name in bars for arg in (*condition, *inside.args[1:]) for name in arg.columns())
    if inside.value not in RISING_AGGREGATES or in_bars or weighed:
        raise BindError(
            f"no bar is known for {aggregate}",
            "its values have bars",
            f"use {', '.join(RISING_AGGREGATES)}, or select the bar's ends by name",
        )
    bar = bar_of(inside.args[0], bars)
    assert bar is not None, "a column with a bar is read"
    ends = [Expr("aggregate", (end, *inside.args[1:]), inside.value) for end in bar]
    if condition:
        ends = [Expr("filter", (end, *condition)) for end in ends]
    return ends[0], ends[1]


def _each(expr: Expr, left: Expr, right: Expr) -> Expr:
    return Expr(expr.op, (left, right))


def _corners(expr: Expr, sides: list[Bar]) -> Bar:
    """Ends of a product: the least and the greatest of the products of ends."""
    products = tuple(
        dict.fromkeys(_each(expr, left, right) for left in sides[0] for right in sides[1])
    )
    return call("least", *products), call("greatest", *products)


def _quotient(expr: Expr, sides: list[Bar]) -> Bar:
    """Ends of a quotient; without ends where the divisor may be 0."""
    low, high = sides[1]
    if low == high:
        return _corners(expr, sides)
    split = Expr("<=", (Expr("*", (low, high)), literal(0)))
    bottom, top = _corners(expr, sides)
    nothing = Expr("cast", (literal(None),), "float")
    return Expr("case", (split, nothing, bottom)), Expr("case", (split, nothing, top))


def _magnitude(side: Bar) -> Bar:
    low, high = side
    sizes = (call("abs", low), call("abs", high))
    split = Expr("<=", (Expr("*", (low, high)), literal(0)))
    return (
        Expr("case", (split, literal(0.0), call("least", *sizes))),
        call("greatest", *sizes),
    )
