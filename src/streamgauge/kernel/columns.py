"""Columns: numbers as floats with NaN for null, names as small whole numbers.

An `Interner` gives each distinct value a number in the order of its first appearance, so that the
numbering depends on the rows and not on how files or batches cut them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Codes = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]


@dataclass(slots=True)
class Interner:
    """Numbers for distinct values.

    Examples
    --------
    >>> names = Interner()
    >>> names.encode(pa.array(["b", "a", None, "b"]))
    array([ 0,  1, -1,  0], dtype=int32)
    >>> names.values
    ['b', 'a']
    """

    values: list[Any] = field(default_factory=list)
    index: dict[Any, int] = field(default_factory=dict)

    @classmethod
    def of(cls, values: Iterable[Any]) -> Interner:
        """An interner that knows these values, in this order."""
        interner = cls()
        for value in values:
            interner.add(value)
        return interner

    def __len__(self) -> int:
        return len(self.values)

    def listed(self) -> list[Any]:
        """The values as a list, each at its number."""
        return self.values

    def add(self, value: Any) -> int:
        """Number of a value, given now if it is new."""
        code = self.index.get(value)
        if code is None:
            code = self.index[value] = len(self.values)
            self.values.append(value)
        return code

    def encode(self, column: pa.ChunkedArray | pa.Array) -> Codes:
        """Numbers of a column's values; -1 for null."""
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        parts = [self._encode_chunk(chunk) for chunk in chunks]
        return np.concatenate(parts) if parts else np.empty(0, np.int32)

    def _encode_chunk(self, chunk: pa.Array) -> Codes:
        if not pa.types.is_dictionary(chunk.type):
            chunk = pc.dictionary_encode(chunk)
        words = chunk.dictionary.to_pylist()
        indices = pc.fill_null(chunk.indices.cast(pa.int32()), len(words)).to_numpy()
        codes = np.array([self.index.get(word, -2) for word in words] + [-1], dtype=np.int32)
        if (codes == -2).any():
            fresh = indices[codes[indices] == -2]
            first = np.unique(fresh, return_index=True)
            for position in first[0][np.argsort(first[1], kind="stable")]:
                codes[position] = self.add(words[position])
        encoded: Codes = codes[indices]
        return encoded


@dataclass(slots=True)
class Combiner:
    """Numbers for combinations of codes: several key columns become one."""

    interner: Interner = field(default_factory=Interner)

    def encode(self, columns: list[Codes]) -> Codes:
        """Number of each row's combination, by first appearance."""
        if len(columns) == 1:
            table = self._table(columns[0])
            return table[columns[0]]
        width = [int(column.max(initial=-1)) + 2 for column in columns]
        flat = np.zeros(len(columns[0]), np.int64)
        for column, size in zip(columns, width, strict=True):
            flat = flat * size + (column + 1)
        distinct, first, inverse = np.unique(flat, return_index=True, return_inverse=True)
        codes = np.empty(len(distinct), np.int32)
        for position in np.argsort(first, kind="stable"):
            row = first[position]
            codes[position] = self.interner.add(tuple(int(c[row]) for c in columns))
        return codes[inverse]

    def _table(self, column: Codes) -> Codes:
        size = int(column.max()) + 2 if len(column) else 1
        known = np.array(
            [self.interner.index.get((code,), -2) for code in range(size - 1)]
            + [self.interner.index.get((-1,), -2)],
            dtype=np.int32,
        )
        if (known == -2).any():
            fresh = column[known[column] == -2]
            distinct, first = np.unique(fresh, return_index=True)
            for position in np.argsort(first, kind="stable"):
                code = int(distinct[position])
                known[code] = self.interner.add((code,))
        return known


def as_floats(column: pa.ChunkedArray | pa.Array) -> Floats:
    """A numeric column as floats, NaN for null and for values that are not finite."""
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    floats = np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)
    if np.isinf(floats).any():
        floats = np.where(np.isinf(floats), np.nan, floats)
    return floats


def as_instants(column: pa.ChunkedArray | pa.Array) -> npt.NDArray[np.int64]:
    """A time column as microseconds since 1970; naive times are UTC."""
    if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
        zone = getattr(column.type, "tz", None)
        column = column.cast(pa.timestamp("us", tz=zone), safe=False)
    return np.asarray(column.cast(pa.int64()).to_numpy(), dtype=np.int64)
