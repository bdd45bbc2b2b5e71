"""Priority: how much regions promise, by the preference of a query."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from streamgauge.operators.expression import Expr

Floats = npt.NDArray[np.float64]
Reading = Callable[[Floats, Floats], Any]

_STEPS: dict[str, Reading] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": lambda a, b: np.divide(a, b, out=np.zeros_like(a), where=b != 0),
}
KNOWN = ("literal", "column", "estimate", "neg", *_STEPS)


def priorities(expr: Expr, given: Mapping[str, Floats], size: int) -> Floats:
    """What each of `size` regions promises; not a number promises nothing.

    Parameters
    ----------
    expr
        Arithmetic over columns and estimates.
    given
        Numbers for each region: columns by name, estimates by text, such as `count(a.item)`.
    size
        How many regions.

    Examples
    --------
    >>> count = Expr("estimate", (Expr("column", value="item"),), "count")
    >>> twice = Expr("*", (count, Expr("literal", value=2)))
    >>> priorities(twice, {"count(item)": np.array([1.0, 5.0])}, 2)
    array([ 2., 10.])
    """
    return np.nan_to_num(_value(expr, given, size), nan=0.0, posinf=0.0, neginf=0.0)


def _value(expr: Expr, given: Mapping[str, Floats], size: int) -> Floats:
    if expr.op == "literal":
        return np.full(size, float(expr.value))
    if expr.op == "column":
        return given[expr.value]
    if expr.op == "estimate":
        return given[name_of(expr)]
    if expr.op == "neg":
        return -_value(expr.args[0], given, size)
    left, right = (_value(arg, given, size) for arg in expr.args)
    found: Floats = _STEPS[expr.op](left, right)
    return found


def name_of(estimate: Expr) -> str:
    """The key of an estimate among what is given: its kind and its column."""
    return f"{estimate.value}({estimate.args[0].value})"
