"""Factors: conditions of the form `column op constant`, which an index can hold.

A condition that has not this form, such as one over two columns or with a function, is left whole.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TypeAlias

from streamgauge.operators.expression import FLIPPED, Expr

Constant: TypeAlias = float | int | str | bool

_PLAIN, _LARGE = 2**53, 2**63
_OPPOSITE = {"=": "!=", "!=": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


@dataclass(frozen=True, slots=True)
class Factor:
    """A condition on one column.

    Parameters
    ----------
    column
        Name of the column.
    op
        A comparison, in, not in, between, is null, is not null; `in or null` for a list with NULL
        in it; never for one that cannot be true, such as a comparison with NULL.
    values
        The constants.
    kind
        What the constants are: number, text, bool or time; empty without constants.

    Examples
    --------
    >>> from streamgauge.operators.expression import column, literal
    >>> factor_of(Expr("<", (literal(3), column("price"))))
    Factor(column='price', op='>', values=(3,), kind='number')
    >>> factor_of(Expr("<", (column("low"), column("high")))) is None
    True
    """

    column: str
    op: str
    values: tuple[Constant, ...] = ()
    kind: str = ""


def factor_of(condition: Expr) -> Factor | None:
    """The condition as a factor, or None when it has not that form."""
    op, args = condition.op, condition.args
    if op == "not":
        return _negated(factor_of(args[0]))
    if op == "column":
        return Factor(condition.value, "=", (True,), "bool")
    if op == "is null" and args[0].op == "column":
        return Factor(args[0].value, "is null")
    if op in FLIPPED and args[0].op != "column":
        op, args = FLIPPED[op], (args[1], args[0])
    if not (op in FLIPPED or op in ("in", "between")) or args[0].op != "column":
        return None
    found = [_constant(arg) for arg in args[1:]]
    if any(pair is None for pair in found):
        return None
    return _checked(args[0].value, op, [pair for pair in found if pair is not None])


def fitted(factor: Factor, column_type: str | None) -> Factor | None:
    """The factor with numbers as they are compared with a column, or None when that is not plain.

    Numbers are compared as floats unless both are whole. From 2**53 on that makes a difference, so
    such a number is let in only when the type of the column is known.

    >>> fitted(Factor("id", "=", (2**60 + 1,), "number"), "float").values
    (1.152921504606847e+18,)
    >>> fitted(Factor("id", "=", (2**60 + 1,), "number"), None) is None
    True
    """
    if factor.kind == "text":
        return factor if column_type in ("string", None) else None
    if factor.kind == "number" and column_type == "float":
        return replace(factor, values=tuple(float(value) for value in factor.values))
    whole = _LARGE if factor.kind == "time" or column_type == "int" else _PLAIN
    good = all(
        abs(value) < (whole if isinstance(value, int) else _PLAIN)  # type: ignore[arg-type]
        for value in factor.values
    )
    return factor if good else None


def truth_of(condition: Expr) -> bool | None:
    """Whether a TRUE, FALSE or NULL as a condition holds; None for any other condition."""
    if condition.op != "literal" or not isinstance(condition.value, bool | None):
        return None
    return condition.value is True


def _checked(column: str, op: str, found: list[tuple[Constant | None, str]]) -> Factor | None:
    """A factor of constants of one kind; NULL among them is true of nothing."""
    kinds = {kind for value, kind in found if value is not None}
    if len(kinds) > 1 or (kinds == {"bool"} and op not in ("=", "!=", "in")):
        return None
    values = tuple(value for value, _ in found if value is not None)
    whole = len(values) == len(found)
    if not values or not (whole or op == "in"):
        return Factor(column, "never")
    # A list with NULL in it is remembered as such: its negation is true of nothing.
    return Factor(column, op if whole else "in or null", values, kinds.pop())


def _negated(factor: Factor | None) -> Factor | None:
    if factor is None:
        return None
    opposite = {
        **_OPPOSITE, "in": "not in", "in or null": "never", "never": None, "not in": "in",
        "is null": "is not null", "is not null": "is null", "between": None,
    }[factor.op]  # fmt: skip
    if opposite is None:
        return None
    return Factor(factor.column, opposite, factor.values, factor.kind)


def _constant(expr: Expr) -> tuple[Constant | None, str] | None:
    """Value and kind of a constant; the value None for NULL."""
    if expr.op == "neg":
        inner = _constant(expr.args[0])
        if inner is None or inner[1] != "number" or inner[0] is None:
            return None
        return -inner[0], "number"  # type: ignore[operator]
    if expr.op == "instant":
        return expr.value, "time"
    if expr.op == "duration":
        return expr.value, "number"
    if expr.op != "literal":
        return None
    value = expr.value
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return None, ""
    if isinstance(value, bool):
        return value, "bool"
    return value, "text" if isinstance(value, str) else "number"
