"""Columns: numbers as floats with NaN for null, names as small whole numbers.

An `Interner` gives each distinct value a number in the order of its first appearance, so that the
numbering depends on the rows and not on how files or batches cut them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from streamgauge.kernel.coded import CodedColumn, first_rows

Codes = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
# Fewer values than these are looked up one by one.
FEW = 512


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
    column: pa.Array | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, values: Iterable[Any]) -> Interner:
        """An interner that knows these values, in this order."""
        interner = cls()
        interner.extend(list(dict.fromkeys(_one_nan(values))))
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

    def extend(self, values: Sequence[Any]) -> None:
        """Give numbers to distinct values that are new."""
        start = len(self.values)
        self.values.extend(values)
        self.index.update(zip(values, range(start, start + len(values)), strict=True))

    def encode(self, column: pa.ChunkedArray | pa.Array | CodedColumn) -> Codes:
        """Numbers of a column's values; -1 for null."""
        coded = column if isinstance(column, CodedColumn) else CodedColumn.of(column)
        table = self._table(coded.values)
        if (table[:-1] < 0).any():
            first = first_rows(coded.codes, len(table))[:-1]
            fresh = np.flatnonzero((table[:-1] < 0) & (first >= 0))
            fresh = fresh[np.argsort(first[fresh], kind="stable")]
            table[fresh] = np.arange(len(self), len(self) + len(fresh), dtype=np.int32)
            self.extend(_listed(coded.values.take(pa.array(fresh))))
        encoded: Codes = table[coded.codes]
        return encoded

    def _table(self, values: pa.Array) -> Codes:
        """Numbers of values, -1 where one is new; the last is that of null."""
        table = np.full(len(values) + 1, -1, np.int32)
        if not len(self):
            return table
        known = self._as_column(values.type) if FEW < len(values) > len(self) // 8 else None
        if known is not None:
            found = pc.index_in(values, value_set=known)
            table[:-1] = found.fill_null(-1).to_numpy(zero_copy_only=False)
        else:
            index = self.index
            table[:-1] = [index.get(value, -1) for value in _listed(values)]
        return table

    def _as_column(self, kind: pa.DataType) -> pa.Array | None:
        """The values as an array that is kept; None where they are not all text."""
        if not pt.is_string(kind):
            return None
        done = 0 if self.column is None else len(self.column)
        if self.column is None or done < len(self):
            try:
                more = pa.array(self.values[done:], pa.string())
            except pa.ArrowTypeError:
                return None
            self.column = more if self.column is None else pa.concat_arrays([self.column, more])
        return self.column


def _listed(values: pa.Array) -> list[Any]:
    """Values as a list."""
    found: list[Any] = values.to_pylist()
    return list(_one_nan(found)) if pt.is_floating(values.type) else found


def _one_nan(values: Iterable[Any]) -> Iterator[Any]:
    """The same values, where each NaN is the one that a dictionary finds again."""
    return (math.nan if value != value else value for value in values)


@dataclass(slots=True)
class Combiner:
    """Numbers for combinations of codes: several key columns become one."""

    interner: Interner = field(default_factory=Interner)
    single: Codes = field(default_factory=lambda: np.empty(0, np.int32), compare=False, repr=False)
    listed: int = field(default=0, compare=False, repr=False)

    def encode(self, columns: list[Codes]) -> Codes:
        """Number of each row's combination, by first appearance."""
        if len(columns) == 1:
            return self._single(columns[0])
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

    def renumber(self, combinations: Iterable[tuple[int, ...]]) -> None:
        """Have other combinations in the place of those that are known, in the same order."""
        self.interner = Interner.of(combinations)
        self.single, self.listed = np.empty(0, np.int32), 0

    def _single(self, column: Codes) -> Codes:
        """Numbers of the codes of a single column."""
        self._list(int(column.max(initial=-1)) + 2)
        codes = self.single[column + 1]
        if (codes < 0).any():
            first = first_rows(column + 1, len(self.single))
            fresh = np.flatnonzero((self.single < 0) & (first >= 0))
            fresh = fresh[np.argsort(first[fresh], kind="stable")]
            self.interner.extend([(code - 1,) for code in fresh.tolist()])
            self._list(0)
            codes = self.single[column + 1]
        return codes

    def _list(self, size: int) -> None:
        """Have the numbers of single codes in a table, that of null first, for so many codes."""
        values = self.interner.values
        fresh = np.array(values[self.listed :], np.int64).reshape(-1)
        size = max(size, int(fresh.max(initial=-1)) + 2)
        if size > len(self.single):
            room = max(size, 2 * len(self.single)) - len(self.single)
            self.single = np.concatenate((self.single, np.full(room, -1, np.int32)))
        self.single[fresh + 1] = np.arange(self.listed, len(values), dtype=np.int32)
        self.listed = len(values)


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
