"""Shares: rows and names sorted by the shard that gets them, so that each part is a slice."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamgauge.engine.batch import RowBatch
from streamgauge.engine.placement import Shards
from streamgauge.kernel.coded import CodedColumn

Ints = npt.NDArray[np.int64]
# Names that shards need are marked in a table up to so many places for a row, else sorted.
PLACES = 4


def ends_of(owner: Shards, shards: int) -> Ints:
    """Where the part of each shard begins, and where the last ends, in an ascending column."""
    return np.searchsorted(owner, np.arange(shards + 1))


def shares(batch: RowBatch, owner: Shards, shards: int) -> list[RowBatch]:
    """The rows of a batch by the shard that owns them; in each, names that it has no row of go."""
    if shards == 1:
        return [batch]
    # A stable sort of 16 bits takes time in proportion to the rows.
    small = owner.astype(np.uint16) if shards <= 1 << 16 else owner
    order = np.argsort(small, kind="stable")
    whole = batch.take(order)
    ends = ends_of(owner[order], shards)
    words = {name: parted(column, ends) for name, column in whole.words.items()}
    return [
        RowBatch(
            whole.ts[part],
            whole.eff[part],
            whole.late[part],
            {name: column[part] for name, column in whole.numbers.items()},
            {name: columns[shard] for name, columns in words.items()},
        )
        for shard, part in enumerate(_parts(ends))
    ]


def parted(column: CodedColumn, ends: Ints) -> list[CodedColumn]:
    """A column cut at some rows, each part with those values alone that it has."""
    n_values, n_parts = len(column.values), len(ends) - 1
    part = np.repeat(np.arange(n_parts), np.diff(ends))
    there = column.codes >= 0
    place = part * n_values + column.codes
    used, rank = _ranked(place[there], n_values * n_parts, len(place))
    starts = np.searchsorted(used, np.arange(n_parts + 1) * n_values)
    codes = np.full(len(place), -1, np.int32)
    codes[there] = rank - starts[part[there]]
    values = column.values.take(pa.array(used % max(n_values, 1)))
    return [
        CodedColumn(codes[rows], values.slice(names.start, names.stop - names.start))
        for rows, names in zip(_parts(ends), _parts(starts), strict=True)
    ]


def _ranked(places: Ints, size: int, n_rows: int) -> tuple[Ints, Ints]:
    """The distinct places in order, and the rank of each."""
    if size > PLACES * n_rows + 65536:
        return np.unique(places, return_inverse=True)
    marks = np.zeros(size, np.bool_)
    marks[places] = True
    used = np.flatnonzero(marks)
    ranks = np.empty(size, np.int64)
    ranks[used] = np.arange(len(used))
    return used, ranks[places]


def _parts(ends: Ints) -> Iterator[slice]:
    return (slice(start, stop) for start, stop in pairwise(ends.tolist()))
