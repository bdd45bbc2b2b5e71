"""Types of bound expressions, with texts that are compared with times made into instants."""

from __future__ import annotations

from dataclasses import replace

from streamgauge.kernel.errors import BindError
from streamgauge.kernel.time import instant
from streamgauge.operators.evaluate import type_of
from streamgauge.operators.expression import COMPARISONS, Expr, literal
from streamgauge.operators.expression_types import compared_type
from streamgauge.operators.functions import Functions
from streamgauge.streams.schema import Schema

__all__ = ["compared_type", "condition", "timed", "type_of", "value"]


def timed(expr: Expr, schema: Schema, functions: Functions) -> Expr:
    """The expression with texts as instants wherever they are compared with a time.

    >>> from streamgauge.operators.expression import column, literal
    >>> since = Expr(">", (column("ts"), literal("1970-01-01T00:00:01Z")))
    >>> print(timed(since, Schema.of(ts="time"), {}))
    ts > TIMESTAMP '1970-01-01T00:00:01Z'
    """

    def change(part: Expr) -> Expr | None:
        if part.op not in (*COMPARISONS, "in", "between"):
            return None
        texts = [arg for arg in part.args if _text(arg)]
        others = [arg for arg in part.args if not _text(arg)]
        if not texts or not others or type_of(others[0], schema, functions) != "time":
            return None
        return replace(part, args=tuple(_instant(arg) if _text(arg) else arg for arg in part.args))

    return expr.replaced(change)


def condition(expr: Expr, schema: Schema, functions: Functions) -> Expr:
    """A condition, checked to be one."""
    ready = timed(expr, schema, functions)
    kind = type_of(ready, schema, functions)
    if kind not in ("bool", "null"):
        raise BindError(
            "a condition must be true or false", f"{expr} is {kind}", "compare it with something"
        )
    for part in ready.walk():
        _refuse_never(part)
    return ready


def _refuse_never(part: Expr) -> None:
    """Refuse what no row can meet: it is a slip, and would answer nothing without a word."""
    if part.op in COMPARISONS and literal(None) in part.args:
        asked = next((arg for arg in part.args if arg != literal(None)), part.args[0])
        wanted = "IS NOT NULL" if part.op == "!=" else "IS NULL"
        raise BindError(
            "a comparison with NULL is never true", f"got {part}", f"write {asked} {wanted}"
        )
    if part.op == "between" and all(arg.op in ("literal", "instant") for arg in part.args[1:]):
        low, high = (arg.value for arg in part.args[1:])
        if low is not None and high is not None and low > high:
            raise BindError(
                "a condition is never true",
                f"got {part}, and its lower end is above its upper end",
                f"write {part.args[0]} BETWEEN {part.args[2]} AND {part.args[1]}",
            )


def value(expr: Expr, schema: Schema, functions: Functions) -> Expr:
    """An expression, checked to have a type."""
    ready = timed(expr, schema, functions)
    type_of(ready, schema, functions)
    return ready


def _text(expr: Expr) -> bool:
    return expr.op == "literal" and isinstance(expr.value, str)


def _instant(expr: Expr) -> Expr:
    return Expr("instant", value=instant(expr.value))
