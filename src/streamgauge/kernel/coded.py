"""Coded columns: each value once, and for each row the number of its value."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

Codes = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class CodedColumn:
    """Codes of rows, -1 for null, and the distinct values that they stand for.

    Whole numbers are of 64 bits, floats have one zero and one NaN.

    Examples
    --------
    >>> column = CodedColumn.of(pa.chunked_array([["b", None], ["a", "b"]]))
    >>> column.codes.tolist(), column.values.to_pylist()
    ([0, -1, 1, 0], ['b', 'a'])
    """

    codes: Codes
    values: pa.Array

    @classmethod
    def of(cls, column: pa.ChunkedArray | pa.Array) -> CodedColumn:
        """Code a column."""
        array = _encoded(column)
        codes = array.indices.cast(pa.int32()).fill_null(-1).to_numpy(zero_copy_only=False)
        values = _plain(array.dictionary)
        if pt.is_dictionary(column.type) or pt.is_floating(values.type):
            # A dictionary may hold a value twice, or null.
            again = values.dictionary_encode()
            if len(again.dictionary) < len(values):
                places = again.indices.cast(pa.int32()).fill_null(-1).to_numpy(zero_copy_only=False)
                return cls(np.append(places, np.int32(-1))[codes], again.dictionary)
        return cls(codes, values)

    def __len__(self) -> int:
        return len(self.codes)

    @cached_property
    def names(self) -> list[Any]:
        """The values as a list."""
        found: list[Any] = self.values.to_pylist()
        return found

    def take(self, which: Ints | slice) -> CodedColumn:
        """Some of the rows, with all values."""
        return CodedColumn(self.codes[which], self.values)

    def to_pylist(self) -> list[Any]:
        """The value of each row."""
        names = [*self.names, None]
        return [names[code] for code in self.codes.tolist()]


def first_rows(codes: npt.NDArray[Any], size: int) -> Ints:
    """The first row of each number below a size, -1 where no row has it.

    >>> first_rows(np.array([2, 0, 2]), 4).tolist()
    [1, -1, 0, -1]
    """
    first = np.full(size, -1, np.int64)
    # Of several writes to one place the last one stays.
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return first


def _encoded(column: pa.ChunkedArray | pa.Array) -> pa.DictionaryArray:
    """A column as one dictionary array."""
    if isinstance(column, pa.ChunkedArray):
        if pt.is_dictionary(column.type) and column.num_chunks > 1:
            if any(chunk.dictionary.null_count for chunk in column.chunks):
                column = column.cast(column.type.value_type)
            else:
                column = column.unify_dictionaries()
        column = column.combine_chunks()
        if isinstance(column, pa.ChunkedArray):
            column = pa.concat_arrays(column.chunks)
    if pt.is_string_view(column.type) or pt.is_null(column.type):
        column = column.cast(pa.string())
    return column if pt.is_dictionary(column.type) else column.dictionary_encode()


def _plain(values: pa.Array) -> pa.Array:
    """Values in the one type that stands for all of their kind."""
    kind = values.type
    if pt.is_floating(kind) or pt.is_decimal(kind):
        # Both zeros are one value, and so are all NaN.
        floats = pc.add(values.cast(pa.float64(), safe=False), 0.0)
        return pc.if_else(pc.is_nan(floats), math.nan, floats)
    if pt.is_integer(kind) and not pt.is_uint64(kind):
        return values.cast(pa.int64())
    return values.cast(pa.string()) if pt.is_string_view(kind) else values
