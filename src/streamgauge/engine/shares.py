"""Shares: rows and names sorted by the shard that gets them, so that each part is a slice."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamgauge.engine.batch import RowBatch
from streamgauge.engine.placement import Shards
from streamgauge.kernel.coded import CodedColumn, Codes

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
# Names that shards need are marked in a table up to so many places for a row, else sorted.
PLACES = 4


def ends_of(owner: Shards, shards: int) -> Ints:
    """Where the part of each shard begins, and where the last ends, in an ascending column."""
    return np.searchsorted(owner, np.arange(shards + 1, dtype=owner.dtype))


def shares(batch: RowBatch, owner: Shards, shards: int) -> list[RowBatch]:
    """The rows of a batch by the shard that owns them; in each, names that it has no row of go."""
    if shards == 1:
        return [batch]
    order, ends = by_shard(owner, shards)
    return cut_at(batch.take(order), ends)


def by_shard(owner: Shards, shards: int, shared: Flags | None = None) -> tuple[Ints, Ints]:
    """Rows by the shard that owns them, each part in order; where the part of each begins.

    Rows that are `shared` are in the parts of all shards.
    """
    rows = np.arange(len(owner))
    if shared is not None and shared.any():
        common = np.flatnonzero(shared)
        rows = np.concatenate((rows[~shared], np.tile(common, shards)))
        owner = np.concatenate((owner[~shared], np.repeat(np.arange(shards), len(common))))
        first = np.argsort(rows, kind="stable")
        rows, owner = rows[first], owner[first]
    # A stable sort of 16 bits takes time in proportion to the rows.
    small = owner.astype(np.uint16) if shards <= 1 << 16 else owner
    order = np.argsort(small, kind="stable")
    return rows[order], ends_of(owner[order], shards)


def cut_at(whole: RowBatch, ends: Ints) -> list[RowBatch]:
    """Rows cut at some places, each part with those names alone that it has."""
    words = {name: parted(column, ends) for name, column in whole.words.items()}
    eff = None if whole.eff is whole.ts else whole.eff
    return [
        RowBatch(
            ts := whole.ts[part],
            ts if eff is None else eff[part],
            whole.late[part],
            {name: column[part] for name, column in whole.numbers.items()},
            {name: columns[shard] for name, columns in words.items()},
        )
        for shard, part in enumerate(_parts(ends))
    ]


def parted(column: CodedColumn, ends: Ints) -> list[CodedColumn]:
    """A column cut at some rows, each part with those values alone that it has."""
    # The first place of each part is that of null.
    width, n_parts = len(column.values) + 1, len(ends) - 1
    kind = np.int32 if width * n_parts <= np.iinfo(np.int32).max else np.int64
    firsts = np.arange(n_parts + 1, dtype=kind) * width
    sizes = np.diff(ends)
    place = column.codes + np.repeat(firsts[:-1] + 1, sizes)
    used, codes = _ranked(place, width, n_parts)
    starts = np.searchsorted(used, firsts)
    codes -= np.repeat(starts[:-1].astype(np.int32), sizes)
    values = column.values.take(pa.array(used % width - 1))
    return [
        CodedColumn(codes[rows], values.slice(names.start, names.stop - names.start))
        for rows, names in zip(_parts(ends), _parts(starts), strict=True)
    ]


def _ranked(places: npt.NDArray[Any], width: int, n_parts: int) -> tuple[Ints, Codes]:
    """The distinct places of names in order, and the rank of each row's; null ranks before all."""
    size = width * n_parts
    marks = np.zeros(size if size <= PLACES * len(places) + 65536 else 0, np.bool_)
    if len(marks):
        marks[places] = True
        used = np.flatnonzero(marks)
    else:
        used, inverse = np.unique(places, return_inverse=True)
    named = used % width != 0
    ranks = np.cumsum(named, dtype=np.int32) - np.int32(1)
    if not len(marks):
        return used[named], ranks[inverse]
    table = np.empty(size, np.int32)
    table[used] = ranks
    return used[named], table[places]


def _parts(ends: Ints) -> Iterator[slice]:
    return (slice(start, stop) for start, stop in pairwise(ends.tolist()))
