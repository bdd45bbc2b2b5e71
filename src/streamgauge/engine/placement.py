"""Placement: which shard owns a group.

A group lies in one of a fixed number of buckets, by a hash of its values; a shard owns a range of
buckets. Values that are equal have one hash whatever their type: 1, 1.0 and True, and both zeros.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt

from streamgauge.kernel.coded import CodedColumn
from streamgauge.kernel.hashing import Hashes, mix64, stable_hash
from streamgauge.kernel.keys import items, keys
from streamgauge.log.home import BY_TEXT

Shards = npt.NDArray[np.int32]
BUCKETS = 4096
_SEED = 22
_NULL = np.uint64(mix64(np.uint64(_SEED)))


def shard_of_bucket(buckets: npt.NDArray[Any], shards: int) -> Shards:
    """The shard that owns each bucket.

    >>> shard_of_bucket(np.array([0, 1365, 1366, 4095]), 3).tolist()
    [0, 0, 1, 2]
    """
    return (buckets.astype(np.int64) * shards // BUCKETS).astype(np.int32)


def buckets_of(columns: Sequence[CodedColumn]) -> npt.NDArray[np.int32]:
    """The bucket of each row of some columns.

    >>> both = CodedColumn.of(pa.array([1.0, -0.0, None])), CodedColumn.of(pa.array([1, 0, None]))
    >>> (buckets_of(both[:1]) == buckets_of(both[1:])).tolist()
    [True, True, True]
    """
    found = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        hashes = np.append(value_hashes(column.values), _NULL)
        found = _mixed(found ^ hashes[column.codes])
    return (found % np.uint64(BUCKETS)).astype(np.int32)


def owners(columns: Sequence[CodedColumn], shards: int, form: int) -> Shards:
    """The shard that owns each group, given the values of its columns.

    In homes of the first `form` the hash was that of the values as text.
    """
    if form == BY_TEXT:
        names = zip(*(column.to_pylist() for column in columns), strict=True)
        return np.array([group_hash(values) % shards for values in names], np.int32)
    return shard_of_bucket(buckets_of(columns), shards)


def group_hash(values: Sequence[object]) -> int:
    """The hash of a group as text.

    >>> group_hash([0.0]) == group_hash([-0.0]), group_hash([1]) == group_hash([True])
    (True, False)
    """
    # Both zeros are one group.
    plain = [value + 0.0 if isinstance(value, float) else value for value in values]
    return stable_hash(json.dumps(plain, default=str))


def value_hashes(values: pa.Array) -> Hashes:
    """Hashes of values, none of which is null."""
    kind = values.type
    if pt.is_boolean(kind):
        values = values.cast(pa.int64())
    elif pt.is_floating(kind):
        floats = values.to_numpy(zero_copy_only=False)
        with np.errstate(invalid="ignore"):
            whole = floats.astype(np.int64)
        same = (np.abs(floats) < 2.0**63) & (whole == floats)
        bits = np.where(np.isnan(floats), np.nan, floats).view(np.int64)
        values = pa.array(np.where(same, whole, bits))
    return keys(items(values), seed=_SEED)


def coded_values(values: Sequence[object]) -> CodedColumn:
    """Values of one column, a row each; None is null. Numbers and truths may be mixed."""
    kinds = {type(value) for value in values} - {type(None)}
    if len(kinds) > 1:
        mixed: type = str if str in kinds else float
        values = [None if value is None else mixed(value) for value in values]
    return CodedColumn.of(pa.array(values, None if kinds else pa.string()))


def _mixed(hashes: Hashes) -> Hashes:
    """The finisher of SplitMix64 over a column."""
    x = hashes + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
