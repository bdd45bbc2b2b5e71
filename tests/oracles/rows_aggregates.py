"""Aggregates of a bag of rows, by definition, in exact fractions.

Nothing here is shared with the operators that the engines run. A result is rounded once, at the
end; what a double cannot hold is null.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from streamgauge.kernel.time import Instant
from streamgauge.operators.expression import Expr
from streamgauge.operators.functions import Functions
from tests.oracles.expressions import loaded, value_of

Cells: TypeAlias = dict[str, Any]

LARGEST = 2**63 - 1
SMALLEST = -(2**63)


@dataclass(frozen=True, slots=True)
class Member:
    """One copy of a row in a group, and the instant at which it came."""

    cells: Cells
    came: Instant


def aggregate_of(expr: Expr, members: Sequence[Member], own: Functions) -> Any:
    """Value of an aggregate expression over the rows of a group; `own` are a user's functions.

    Examples
    --------
    >>> from streamgauge.operators.expression import column
    >>> rows = [Member({"x": x}, 0) for x in (1.0, None, 4.0)]
    >>> aggregate_of(Expr("aggregate", (column("x"),), "avg"), rows, {})
    2.5
    >>> aggregate_of(Expr("aggregate", (Expr("star"),), "count"), rows, {})
    3
    """
    if expr.op == "filter":
        inner, condition = expr.args
        kept = [member for member in members if value_of(condition, member.cells, own) is True]
        return aggregate_of(inner, kept, own)
    name, args = str(expr.value), expr.args
    if name in own:
        values = [value_of(args[0], member.cells, own) for member in members]
        ordered = sorted(value for value in values if value is not None)
        # A user's aggregate is made for an array: that much NumPy is part of what is promised.
        return finite(loaded(own[name])(np.array(ordered))) if ordered else None
    if name == "count" and (not args or args[0].op == "star"):
        return len(members)
    if name in ("first", "last"):
        return _extreme(name, args, members, own)
    if name in ("covar", "corr"):
        return _paired(name, args, members, own)
    return _single(name, args, members, own)


def needs_coming(expr: Expr) -> bool:
    """Whether an aggregate asks when rows came."""
    parts = [part for part in expr.walk() if part.op == "aggregate"]
    return any(part.value in ("first", "last") and len(part.args) == 1 for part in parts)


def finite(value: Any) -> Any:
    """A value as a cell: no value for what is not finite, null for whole numbers out of range."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, int) and not SMALLEST <= value <= LARGEST:
        return None
    return value


def rounded(exact: Fraction) -> float | None:
    """The double nearest to an exact number; null beyond the largest."""
    try:
        return float(exact)
    except OverflowError:
        return None


def _single(name: str, args: tuple[Expr, ...], members: Sequence[Member], own: Functions) -> Any:
    """An aggregate of one column, perhaps of its different values, perhaps weighted."""
    weight = next((arg.args[0] for arg in args if arg.op == "weight"), None)
    inner = args[0].args[0] if args[0].op == "distinct" else args[0]
    pairs = [
        (
            value_of(inner, member.cells, own),
            1 if weight is None else value_of(weight, member.cells, own),
        )
        for member in members
    ]
    pairs = [(x, w) for x, w in pairs if x is not None and w is not None]
    if args[0].op == "distinct":
        pairs = [(x, 1) for x in {x for x, _ in pairs}]
    if name == "count":
        return len(pairs)
    if not pairs:
        return None
    values = [x for x, _ in pairs]
    if name in ("min", "max"):
        return min(values) if name == "min" else max(values)
    if name in ("median", "quantile"):
        share = Fraction(1, 2) if name == "median" else Fraction(str(args[1].value))
        rank = max(1, math.ceil(share * len(values)))
        return float(sorted(values)[rank - 1])
    return _moments(name, pairs)


def _moments(name: str, pairs: list[tuple[Any, Any]]) -> Any:
    """sum, avg, var or stddev of pairs (x, weight)."""
    if name == "sum" and all(isinstance(x, int) and isinstance(w, int) for x, w in pairs):
        return finite(sum(x * w for x, w in pairs))
    exact = [(Fraction(x), Fraction(w)) for x, w in pairs]
    whole = sum((w for _, w in exact), Fraction(0))
    total = sum((w * x for x, w in exact), Fraction(0))
    if name == "sum":
        return rounded(total)
    if whole == 0:
        return None
    mean, n = total / whole, len(exact)
    if name == "avg":
        return rounded(mean)
    assert name in ("var", "stddev"), f"no aggregate {name!r}"
    if n < 2:
        return None
    spread = sum((w * (x - mean) ** 2 for x, w in exact), Fraction(0))
    variance = spread / whole * n / (n - 1)
    if name == "var":
        return rounded(variance)
    return root(variance) if variance >= 0 else None


def _paired(
    name: str, args: tuple[Expr, ...], members: Sequence[Member], own: Functions
) -> float | None:
    """Covariance or correlation of the rows that have both values."""
    cells = [(value_of(args[0], m.cells, own), value_of(args[1], m.cells, own)) for m in members]
    pairs = [(Fraction(x), Fraction(y)) for x, y in cells if x is not None and y is not None]
    n = len(pairs)
    if n < 2:
        return None
    x_mean = sum((x for x, _ in pairs), Fraction(0)) / n
    y_mean = sum((y for _, y in pairs), Fraction(0)) / n
    joint = sum(((x - x_mean) * (y - y_mean) for x, y in pairs), Fraction(0))
    if name == "covar":
        return rounded(joint / (n - 1))
    x_spread = sum(((x - x_mean) ** 2 for x, _ in pairs), Fraction(0))
    y_spread = sum(((y - y_mean) ** 2 for _, y in pairs), Fraction(0))
    if x_spread == 0 or y_spread == 0:
        return None
    squared = root(joint * joint / (x_spread * y_spread))
    assert squared is not None
    return math.copysign(squared, joint)


def _extreme(name: str, args: tuple[Expr, ...], members: Sequence[Member], own: Functions) -> Any:
    """The first or last: by a column when one is named, else by its coming; then by value.

    Rows without a value, or without a place in the order, are passed over.
    """
    found = []
    for member in members:
        place = member.came if len(args) == 1 else value_of(args[1], member.cells, own)
        value = value_of(args[0], member.cells, own)
        if value is not None and place is not None:
            found.append((place, value))
    if not found:
        return None
    return (min(found) if name == "first" else max(found))[1]


def root(exact: Fraction) -> float | None:
    """Square root, to the last digit or the one beside it, without overflow on the way.

    >>> root(Fraction(9, 4)), root(Fraction(10) ** 400)
    (1.5, 1e+200)
    """
    scale = 1 << 600
    return rounded(
        Fraction(math.isqrt(exact.numerator * scale * scale // exact.denominator), scale)
    )
