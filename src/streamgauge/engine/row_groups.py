"""Row groups: which group each row of a batch is in, and which shard owns it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from streamgauge.engine.placement import Shards, owners
from streamgauge.kernel.coded import CodedColumn, first_rows

Ints = npt.NDArray[np.int64]
# Combinations are counted in a table up to so many places for a row, else by sorting.
PLACES = 4


@dataclass(frozen=True, slots=True)
class RowGroups:
    """The number of the group of each row; for each group its owner and its values.

    Groups are numbered by owner, those of one owner in the order of their first rows.
    """

    of_row: Ints
    owner: Shards
    words: dict[str, CodedColumn]

    @classmethod
    def of(cls, columns: Mapping[str, CodedColumn], shards: int, form: int) -> RowGroups:
        """The groups of some columns, placed as a home of some format places them."""
        number, first = _numbered(list(columns.values()))
        words = {name: column.take(first) for name, column in columns.items()}
        if shards == 1:
            owner = np.zeros(len(first), np.int32)
        else:
            owner = owners(list(words.values()), shards, form)
        order = np.argsort(owner, kind="stable")
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        sorted_words = {name: column.take(order) for name, column in words.items()}
        return cls(rank[number], owner[order], sorted_words)

    @classmethod
    def single(cls, n_rows: int, owner: int) -> RowGroups:
        """All rows in one group that a shard owns."""
        return cls(np.zeros(n_rows, np.int64), np.full(1, owner, np.int32), {})

    def take(self, which: Ints) -> RowGroups:
        """The groups of some of the rows."""
        return replace(self, of_row=self.of_row[which])


def _numbered(columns: list[CodedColumn]) -> tuple[Ints, Ints]:
    """Groups of rows by first appearance, and the first row of each."""
    flat = columns[0].codes.astype(np.int64) + 1
    size = len(columns[0].values) + 1
    for column in columns[1:]:
        flat = flat * (len(column.values) + 1) + (column.codes + 1)
        size *= len(column.values) + 1
    if size > PLACES * len(flat) + 1024:
        distinct, flat = np.unique(flat, return_inverse=True)
        size = len(distinct)
    first = first_rows(flat, size)
    found = np.flatnonzero(first >= 0)
    found = found[np.argsort(first[found])]
    number = np.empty(size, np.int64)
    number[found] = np.arange(len(found))
    return number[flat], first[found]
