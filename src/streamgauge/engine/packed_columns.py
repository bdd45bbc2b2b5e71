"""Packed columns: columns of a packet as few plain arrays, in no more bytes than they need."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt

from streamgauge.kernel.coded import CodedColumn, Codes
from streamgauge.kernel.wire import Array

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Arrays = dict[str, Array]
_WIDTHS = ((1 << 8, np.uint8), (1 << 16, np.uint16), (1 << 32, np.uint32))
# So many values are looked at before a column of floats is tried as whole numbers.
_PEEK = 64


def pack_ints(name: str, column: Ints, arrays: Arrays) -> int:
    """Add whole numbers, less the number that is returned."""
    if not len(column):
        arrays[name] = column
        return 0
    low, high = int(column.min()), int(column.max())
    for size, width in _WIDTHS:
        if high - low < size:
            arrays[name] = (column - low).astype(width)
            return low
    arrays[name] = column
    return 0


def read_ints(name: str, low: int, arrays: Arrays) -> Ints:
    """Whole numbers."""
    column = arrays[name]
    return column if column.dtype == np.int64 else column.astype(np.int64) + low


def pack_floats(name: str, column: Floats, arrays: Arrays) -> int | None:
    """Add numbers: as whole numbers less what is returned, where all are whole."""
    whole = _as_whole(column)
    if whole is not None:
        return pack_ints(name, whole, arrays)
    arrays[name] = column
    return None


def read_floats(name: str, low: int | None, arrays: Arrays) -> Floats:
    """Numbers."""
    return arrays[name] if low is None else read_ints(name, low, arrays).astype(np.float64)


def _as_whole(column: Floats) -> Ints | None:
    """The same numbers of 64 bits; None where one is not whole, not small, or a negative zero."""
    peek = column[:_PEEK]
    if not (np.floor(peek) == peek).all():
        return None
    with np.errstate(invalid="ignore"):
        whole = column.astype(np.int32)
    same = whole == column
    if not same.all() or np.signbit(column[whole == 0]).any():
        return None
    return whole.astype(np.int64)


def pack_coded(name: str, column: CodedColumn, arrays: Arrays) -> str:
    """Add a column of names; returned is the type of its values."""
    values = column.values
    width = next(width for size, width in _WIDTHS if len(values) < size)
    arrays[name] = (column.codes + 1).astype(width)
    kind = values.type
    if pt.is_string(kind) or pt.is_large_string(kind):
        _pack_texts(name, values, arrays)
        return "text"
    if pt.is_boolean(kind):
        values = values.cast(pa.uint8())
    arrays[f"{name}/values"] = np.asarray(values.to_numpy(zero_copy_only=False))
    return "bool" if pt.is_boolean(kind) else "number"


def read_coded(name: str, kind: str, arrays: Arrays) -> CodedColumn:
    """A column of names."""
    codes: Codes = arrays[name].astype(np.int32) - np.int32(1)
    if kind == "text":
        return CodedColumn(codes, _texts(name, arrays))
    values = pa.array(arrays[f"{name}/values"])
    return CodedColumn(codes, values.cast(pa.bool_()) if kind == "bool" else values)


def _pack_texts(name: str, values: pa.Array, arrays: Arrays) -> None:
    kind: Any = np.int64 if pt.is_large_string(values.type) else np.int32
    _, offsets, data = values.buffers()
    ends = np.zeros(1, kind)
    if len(values):
        ends = np.frombuffer(offsets, kind)[values.offset :][: len(values) + 1]
    pack_ints(f"{name}/lengths", np.concatenate((ends[:1] * 0, np.diff(ends))), arrays)
    whole = np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    arrays[f"{name}/text"] = whole[int(ends[0]) : int(ends[-1])]


def _texts(name: str, arrays: Arrays) -> pa.Array:
    ends = np.cumsum(arrays[f"{name}/lengths"], dtype=np.int64)
    large = int(ends[-1]) > np.iinfo(np.int32).max
    kind: Any = np.int64 if large else np.int32
    buffers = [None, pa.py_buffer(ends.astype(kind)), pa.py_buffer(arrays[f"{name}/text"])]
    text = pa.large_string() if large else pa.string()
    return pa.Array.from_buffers(text, len(ends) - 1, buffers)
