"""Datum: a column of values, or one constant for all rows, as the kernels of expressions use it.

Times and durations are whole microseconds here, and every float is finite or null, so that each
type has one form.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Datum: TypeAlias = pa.Array | pa.Scalar
Ints: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]

INT = pa.int64()
FLOAT = pa.float64()
STRING = pa.string()
BOOL = pa.bool_()
FORMS: dict[str, pa.DataType] = {
    "float": FLOAT, "int": INT, "string": STRING, "bool": BOOL, "time": INT, "duration": INT,
    "null": pa.null(),
}  # fmt: skip
INT_MIN = -(2**63)


def nothing(form: pa.DataType) -> pa.Scalar:
    """Null for all rows."""
    return pa.scalar(None, form)


def spread(datum: Datum, rows: int) -> pa.Array:
    """A column of this many rows, of a column or of a constant."""
    return pa.repeat(datum, rows) if isinstance(datum, pa.Scalar) else datum


def finite(floats: Datum) -> Datum:
    """Floats with null in place of what is not finite."""
    good = pc.is_finite(floats)
    if isinstance(good, pa.Scalar):
        return nothing(FLOAT) if good.as_py() is False else floats
    if pc.all(good, min_count=0).as_py():
        return floats
    return pc.if_else(good, floats, nothing(FLOAT))


def truly(condition: Datum) -> Datum:
    """A condition with false in place of null."""
    return pc.fill_null(condition, False)


def to_float(numbers: Datum) -> Datum:
    """Numbers as floats; whole numbers beyond 2^53 lose digits."""
    return pc.cast(numbers, FLOAT, safe=False)


def split(datum: Datum, rows: int) -> tuple[Ints, Flags]:
    """Whole numbers as an array with 0 for null, and which of them are no nulls."""
    column = spread(datum, rows)
    values = pc.fill_null(column, 0).to_numpy(zero_copy_only=False)
    return np.asarray(values, np.int64), np.asarray(column.is_valid())


def unite(values: npt.NDArray[np.generic], valid: Flags, form: pa.DataType = INT) -> pa.Array:
    """A column of the values, null where they are not valid."""
    return pa.array(values, form, mask=~valid)
