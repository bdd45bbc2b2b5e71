"""Items of any column: which of them are there, as numbers, as 64-bit keys.

Nulls and NaN are no items: they are left out and counted. Infinities are numbers like others where
only order matters, and are refused by sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.kernel.errors import BindError
from streamgauge.kernel.hashing import Hashes, hash_texts, hash_words, mix64

DATASKETCHES_SEED = 9001

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Column = Any
"""Anything a column can come as: a NumPy array, an Arrow array or chunked array, a list."""


@dataclass(frozen=True, slots=True)
class Items:
    """A column without its nulls.

    Parameters
    ----------
    values
        Arrow array of what is there; text, numbers, times or booleans.
    kept
        Which rows of the given column are there, or None when all are.
    skipped
        How many rows were null or NaN.

    Examples
    --------
    >>> items([1.5, None, float("nan")]).skipped
    2
    >>> len(keys(items(["a", "b", "a"]), seed=3))
    3
    """

    values: pa.Array
    kept: Mask | None
    skipped: int

    def __len__(self) -> int:
        return len(self.values)

    def align(self, column: npt.NDArray[Any] | None) -> npt.NDArray[Any] | None:
        """The rows of another column that belong to the items which are there."""
        return column if column is None or self.kept is None else column[self.kept]


def items(column: Column) -> Items:
    """Take a column as items, leaving out nulls and NaN."""
    array = _as_arrow(column)
    there = pc.is_valid(array)
    if pa.types.is_floating(array.type):
        there = pc.and_(there, pc.invert(pc.fill_null(pc.is_nan(array), False)))
    kept: Mask = np.asarray(there.to_numpy(zero_copy_only=False), dtype=np.bool_)
    if kept.all():
        return Items(array, None, 0)
    return Items(array.filter(there), kept, int((~kept).sum()))


def numbers(given: Items) -> Floats:
    """Items as floats; text is refused."""
    kind = given.values.type
    if pa.types.is_boolean(kind):
        return np.asarray(given.values.cast(pa.int8()).to_numpy(), np.float64)
    if pa.types.is_temporal(kind):
        return np.asarray(_whole(given.values).to_numpy(), np.float64)
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise BindError(
            "this synopsis summarises numbers",
            f"the column has type {kind}",
            "give a numeric column, or one of the synopses of keys",
        )
    return np.asarray(given.values.cast(pa.float64(), safe=False).to_numpy(), np.float64)


def keys(given: Items, *, seed: int) -> Hashes:
    """Items as 64-bit keys (first half of their MurmurHash3)."""
    return key_pairs(given, seed=seed)[0]


def key_pairs(given: Items, *, seed: int) -> tuple[Hashes, Hashes]:
    """Items as two independent columns of 64-bit keys (both halves of their MurmurHash3)."""
    first = np.empty(len(given), np.uint64)
    second = np.empty(len(given), np.uint64)
    start = _start(seed)
    values = given.values
    if pa.types.is_dictionary(values.type):
        words = Items(_plain(values.dictionary), None, 0)
        codes = np.asarray(values.indices.to_numpy(), np.int64)
        one, two = key_pairs(words, seed=seed)
        return one[codes], two[codes]
    if pa.types.is_large_string(values.type) or pa.types.is_large_binary(values.type):
        _, offsets, data = values.buffers()
        starts = np.frombuffer(offsets, np.int64)[values.offset :][: len(values) + 1]
        hash_texts(_bytes(data), starts, start, first, second)
    else:
        hash_words(_words(values), start, first, second)
    return first, second


def _start(seed: int) -> np.uint64:
    """Where the hash starts: the seed of DataSketches as it is, any other one scrambled.

    A start as small as the length of an item cancels it in the last step of MurmurHash3.
    """
    return np.uint64(seed) if seed == DATASKETCHES_SEED else np.uint64(mix64(np.uint64(seed)))


def _as_arrow(column: Column) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        return _plain(column.combine_chunks())
    if isinstance(column, pa.Array):
        return _plain(column)
    if isinstance(column, np.ndarray) and column.dtype.kind in "iufbM":
        return pa.array(column)
    try:
        return _plain(pa.array(column))
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise BindError(
            "the column mixes types",
            str(error).splitlines()[0],
            "give one type per column: numbers, text, times or booleans",
        ) from error


def _plain(array: pa.Array) -> pa.Array:
    kind = array.type
    if pa.types.is_string(kind):
        return array.cast(pa.large_string())
    if pa.types.is_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return array.cast(pa.large_binary())
    if pa.types.is_null(kind):
        return array.cast(pa.float64())
    if pa.types.is_float16(kind) or pa.types.is_float32(kind) or pa.types.is_decimal(kind):
        return array.cast(pa.float64(), safe=False)
    return array


def _whole(array: pa.Array) -> pa.Array:
    if pa.types.is_date32(array.type) or pa.types.is_time32(array.type):
        array = array.cast(pa.int32())
    return array.cast(pa.int64(), safe=False)


def _words(array: pa.Array) -> Hashes:
    if pa.types.is_floating(array.type):
        floats = np.asarray(array.to_numpy(), np.float64) + 0.0  # -0.0 becomes 0.0
        return floats.view(np.uint64)
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.int8())
    elif not (pa.types.is_integer(array.type) or pa.types.is_temporal(array.type)):
        raise BindError(
            f"values of type {array.type} cannot be keys",
            "keys are numbers, text, bytes, times or booleans",
            "cast the column to text first",
        )
    if pa.types.is_uint64(array.type):
        return np.asarray(array.to_numpy(), np.uint64)
    whole = _whole(array) if pa.types.is_temporal(array.type) else array.cast(pa.int64())
    return np.asarray(whole.to_numpy(), np.int64).view(np.uint64)


def _bytes(data: pa.Buffer | None) -> npt.NDArray[np.uint8]:
    return np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
