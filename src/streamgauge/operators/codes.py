"""Codes: rows as whole numbers that are equal when the rows are, and ordered as they are.

Rows are compared column by column, from the first; null equals null and comes last. Numbers are
taken as they are where their range allows it, texts and floats by their rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Ints = npt.NDArray[np.int64]
_WIDEST = 2**62


@dataclass(frozen=True, slots=True)
class Codes:
    """Whole numbers from 0 to `width` - 1, one for each row.

    Examples
    --------
    >>> codes_of(pa.array(["b", None, "a"])).codes
    array([1, 2, 0])
    >>> codes_of(pa.array([7, 5, 7])).then(codes_of(pa.array([0.5, 0.5, 0.25]))).dense().codes
    array([2, 0, 1])
    """

    codes: Ints
    width: int

    def then(self, other: Codes) -> Codes:
        """Codes of pairs: by this one first, then by the other."""
        one, two = self, other
        if one.width * two.width > _WIDEST:
            one, two = one.dense(), two.dense()
        if one.width * two.width > _WIDEST:
            raise OverflowError("more rows than codes")
        if two.width == 1:
            return one
        return Codes(one.codes * two.width + two.codes, one.width * two.width)

    def dense(self) -> Codes:
        """The same order with no number left out."""
        if self.width <= 1:
            return self
        found = pa.array(self.codes).dictionary_encode()
        words = found.dictionary.to_numpy()
        order = np.argsort(words)
        ranks = np.empty(len(words), np.int64)
        ranks[order] = np.arange(len(words))
        return Codes(ranks[found.indices.to_numpy()], len(words))

    def examples(self) -> Ints:
        """Number of a row with each code, of dense ones."""
        rows = np.zeros(self.width if len(self.codes) else 0, np.int64)
        rows[self.codes] = np.arange(len(self.codes))
        return rows

    def reversed(self) -> Codes:
        """The opposite order."""
        return Codes(self.width - 1 - self.codes, self.width)


def codes_of(column: pa.Array | pa.ChunkedArray, *, descending: bool = False) -> Codes:
    """Codes of one column, null last in either direction."""
    column = plain(column)
    n, missing = len(column), column.null_count
    if not n or missing == n:
        return Codes(np.zeros(n, np.int64), 1)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        codes = _text_codes(column)
    else:
        codes = _number_codes(column)
    if descending:
        codes = codes.reversed()
    if not missing:
        return codes
    there = np.asarray(column.is_valid().to_numpy(zero_copy_only=False), np.bool_)
    return Codes(np.where(there, codes.codes, codes.width), codes.width + 1)


def row_codes(tables: Sequence[pa.Table]) -> list[Ints]:
    """Codes of the rows of some tables with the same columns, by position.

    Examples
    --------
    >>> one = pa.table({"k": ["b", None], "x": [1, 2]})
    >>> two = pa.table({"k": [None, "b", "b"], "x": [2, 2, 1]})
    >>> [codes.tolist() for codes in row_codes([one, two])]
    [[0, 3], [3, 1, 0]]
    """
    ends = np.cumsum([table.num_rows for table in tables])[:-1]
    columns = [
        concatenated([table.column(i) for table in tables]) for i in range(tables[0].num_columns)
    ]
    codes = table_codes(columns, sum(table.num_rows for table in tables))
    return [part.astype(np.int64, copy=False) for part in np.split(codes.codes, ends)]


def table_codes(columns: Sequence[pa.Array | pa.ChunkedArray], n: int) -> Codes:
    """Codes of `n` rows given by their columns."""
    codes = Codes(np.zeros(n, np.int64), 1)
    for column in columns:
        codes = codes.then(codes_of(column))
    return codes


def unchanged(columns: Sequence[pa.Array], n: int) -> npt.NDArray[np.bool_]:
    """Which of `n` rows equal the one before them, cell by cell; never the first.

    >>> unchanged([pa.array([1, 1, None, None]), pa.array(["a", "a", "a", "b"])], 4)
    array([False,  True, False, False])
    """
    same = np.ones(n, np.bool_)
    same[:1] = False
    for column in columns:
        texts = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        cells = codes_of(column).codes if texts else ordinals(column)
        alike = cells[1:] == cells[:-1]
        if column.null_count and not texts:
            there = np.asarray(column.is_valid().to_numpy(zero_copy_only=False), np.bool_)
            alike = np.where(there[1:] & there[:-1], alike, there[1:] == there[:-1])
        same[1:] &= alike
    return same


def concatenated(columns: Sequence[pa.Array | pa.ChunkedArray]) -> pa.Array:
    """Columns one after the other, in a type that holds all of their values."""
    parts = [plain(column) for column in columns]
    kind = common_type([part.type for part in parts])
    # Large whole numbers are rounded, as they are when they are compared with a float.
    same = [part if part.type == kind else part.cast(kind, safe=False) for part in parts]
    return pa.concat_arrays(same)


def common_type(kinds: Sequence[pa.DataType]) -> pa.DataType:
    """The type that two columns have when they are compared: float for int and float."""
    known = [kind for kind in kinds if not pa.types.is_null(kind)]
    if not known:
        return kinds[0]
    if all(kind == known[0] for kind in known):
        return known[0]
    if all(pa.types.is_integer(kind) for kind in known):
        return pa.int64()
    if all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in known):
        return pa.float64()
    raise TypeError(f"no common type of {', '.join(map(str, known))}")


def plain(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """One piece of a type with values of its own: no dictionary, no duration."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
        if isinstance(column, pa.ChunkedArray):
            column = pa.concat_arrays(column.chunks) if column.num_chunks else _none(column.type)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_duration(column.type):
        column = column.cast(pa.int64())
    return column


def _none(kind: pa.DataType) -> pa.Array:
    return pa.array([], kind)


def _text_codes(column: pa.Array) -> Codes:
    found = column.dictionary_encode()
    order = pc.array_sort_indices(found.dictionary).to_numpy()
    ranks = np.empty(len(order) + 1, np.int64)
    ranks[order] = np.arange(len(order))
    places = pc.fill_null(found.indices, 0).to_numpy()
    return Codes(ranks[places], len(order))


def _number_codes(column: pa.Array) -> Codes:
    numbers = ordinals(column)
    low, high = int(numbers.min()), int(numbers.max())
    if high - low < _WIDEST:
        return Codes(numbers - low, high - low + 1)
    # The range is too wide for differences, so that only ranks are left.
    words, ranks = np.unique(numbers, return_inverse=True)
    return Codes(ranks.astype(np.int64, copy=False), len(words))


def ordinals(column: pa.Array) -> Ints:
    """Numbers, times and truths as whole numbers of the same order; any number for null."""
    kind = column.type
    if column.null_count == len(column):
        return np.zeros(len(column), np.int64)
    if pa.types.is_boolean(kind):
        truths: Ints = column.cast(pa.int8()).fill_null(0).to_numpy().astype(np.int64)
        return truths
    if pa.types.is_floating(kind):
        floats = column.cast(pa.float64()).fill_null(0.0).to_numpy() + 0.0  # -0.0 becomes 0.0
        bits: Ints = floats.view(np.int64)
        return bits ^ ((bits >> 63) & np.int64(2**63 - 1))
    whole = column if pa.types.is_int64(kind) else column.cast(pa.int64())
    # A null is given a value that is there, so that it does not widen the range.
    filled = whole.fill_null(pc.min(whole)) if whole.null_count else whole
    numbers: Ints = filled.to_numpy()
    return numbers
