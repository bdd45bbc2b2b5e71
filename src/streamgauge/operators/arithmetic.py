"""Arithmetic on columns: null where a result does not exist.

Whole numbers that leave 64 bits give null, so does a division by zero. `/` is a division of floats;
`%` has the sign of its left side.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.operators.datum import (
    FLOAT,
    INT,
    INT_MIN,
    Datum,
    Flags,
    Ints,
    finite,
    nothing,
    split,
    to_float,
    truly,
    unite,
)

_FLOATS: dict[str, Callable[[Datum, Datum], Datum]] = {
    "+": pc.add,
    "-": pc.subtract,
    "*": pc.multiply,
}
_CHECKED: dict[str, Callable[[Datum, Datum], Datum]] = {
    "+": pc.add_checked,
    "-": pc.subtract_checked,
    "*": pc.multiply_checked,
}


def float_arithmetic(op: str, left: Datum, right: Datum, rows: int) -> Datum:
    """Two floats combined."""
    if op in _FLOATS:
        return finite(_FLOATS[op](left, right))
    if op == "/":
        return finite(pc.divide(left, without_zero(right)))
    parts = [
        np.asarray(pc.fill_null(pa.repeat(x, rows) if isinstance(x, pa.Scalar) else x, np.nan))
        for x in (left, without_zero(right))
    ]
    with np.errstate(invalid="ignore"):
        rest = np.fmod(parts[0], parts[1])
    return pa.array(rest, FLOAT, from_pandas=True)


def without_zero(floats: Datum) -> Datum:
    """Floats with null in place of 0."""
    zero = truly(pc.equal(floats, 0.0))
    return pc.if_else(zero, nothing(FLOAT), floats)


def int_arithmetic(op: str, left: Datum, right: Datum, rows: int) -> Datum:
    """Two whole numbers combined by +, -, * or %."""
    if op == "%":
        return _int_remainder(left, right, rows)
    try:
        return _CHECKED[op](left, right)
    except pa.ArrowInvalid:
        # The checked kernel says only that some row overflowed, not which.
        one, other = split(left, rows), split(right, rows)
        result, over = _wrapped(op, one[0], other[0])
        return unite(result, one[1] & other[1] & ~over)


def negative(ints: Datum, rows: int) -> Datum:
    """Whole numbers negated."""
    return int_arithmetic("-", pa.scalar(0, INT), ints, rows)


def scaled(durations: Datum, factors: Datum, rows: int, *, divide: bool) -> Datum:
    """Durations times or divided by floats, to the nearest microsecond, halves to even."""
    floats = float_arithmetic("/" if divide else "*", to_float(durations), factors, rows)
    return whole(pc.round(floats, round_mode="half_to_even"))


def whole(floats: Datum) -> Datum:
    """Floats as whole numbers, towards zero; null beyond 64 bits."""
    inside = pc.and_(pc.greater_equal(floats, -(2.0**63)), pc.less(floats, 2.0**63))
    return pc.cast(pc.if_else(truly(inside), floats, nothing(FLOAT)), INT, safe=False)


def _int_remainder(left: Datum, right: Datum, rows: int) -> Datum:
    (one, known), (other, sure) = split(left, rows), split(right, rows)
    usable = other != 0
    # A remainder by -1 is 0; the machine's division would overflow on the smallest number.
    safe = np.where(usable & (other != -1), other, 1)
    return unite(np.fmod(one, safe), known & sure & usable)


def _wrapped(op: str, one: Ints, other: Ints) -> tuple[Ints, Flags]:
    """The result modulo 2^64, and where that is not the result."""
    with np.errstate(over="ignore"):
        if op == "+":
            total = one + other
            return total, ((one ^ total) & (other ^ total)) < 0
        if op == "-":
            total = one - other
            return total, ((one ^ other) & (one ^ total)) < 0
        total = one * other
        divisor = np.where((one == 0) | (one == -1), 1, one)
        over = (one != 0) & (one != -1) & (total // divisor != other)
        return total, over | ((one == -1) & (other == INT_MIN))
