"""Delta: rows that come and go, each at an instant, as columns.

A relation over time is a bag of such changes. Adding up the counts of a row up to an instant gives
how often the relation holds it then. Order does not matter, so work on deltas may be cut anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Delta:
    """Changes of a relation.

    Parameters
    ----------
    rows
        The rows, one column of Arrow each.
    at
        Instant of each change, in microseconds.
    count
        How many copies came (positive) or went (negative); never 0 after `consolidated`.
    """

    rows: pa.Table
    at: Ints
    count: Ints

    def __len__(self) -> int:
        return len(self.at)

    def take(self, which: Ints | npt.NDArray[np.bool_]) -> Delta:
        """Some of the changes, by number or by mask."""
        places = np.flatnonzero(which) if which.dtype == np.bool_ else which
        return Delta(self.rows.take(pa.array(places)), self.at[places], self.count[places])

    @classmethod
    def none(cls, schema: pa.Schema) -> Delta:
        """No change."""
        return cls(schema.empty_table(), np.empty(0, np.int64), np.empty(0, np.int64))

    @classmethod
    def of(cls, rows: pa.Table, at: int) -> Delta:
        """Each row once, all at one instant."""
        n = rows.num_rows
        return cls(rows, np.full(n, at, np.int64), np.ones(n, np.int64))


def joined(parts: Sequence[Delta], schema: pa.Schema) -> Delta:
    """Changes one after the other."""
    parts = [part for part in parts if len(part)]
    if not parts:
        return Delta.none(schema)
    if len(parts) == 1:
        return parts[0]
    return Delta(
        pa.concat_tables([part.rows for part in parts]).combine_chunks(),
        np.concatenate([part.at for part in parts]),
        np.concatenate([part.count for part in parts]),
    )
