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
import pyarrow.compute as pc

from streamgauge.operators.codes import Codes, table_codes

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


def consolidated(delta: Delta) -> Delta:
    """The same changes with those of equal rows at equal instants added up.

    They come by instant, then by row, column by column ascending with nulls last; so equal bags of
    changes give equal results, down to the last byte.

    Examples
    --------
    >>> rows = pa.table({"k": ["b", "a", "b", "a"]})
    >>> delta = Delta(rows, np.array([3, 3, 3, 1]), np.array([1, 2, -1, 1]))
    >>> once = consolidated(delta)
    >>> once.rows["k"].to_pylist(), once.at, once.count
    (['a', 'a'], array([1, 3]), array([1, 2]))
    """
    n = len(delta)
    if not n:
        return Delta.none(delta.rows.schema)
    low = int(delta.at.min())
    instants = Codes(delta.at - low, int(delta.at.max()) - low + 1)
    codes = instants.then(table_codes(delta.rows.columns, n)).codes
    order = np.argsort(codes)
    fresh = np.ones(n, np.bool_)
    fresh[1:] = codes[order[1:]] != codes[order[:-1]]
    starts = np.flatnonzero(fresh)
    totals = np.add.reduceat(delta.count[order], starts)
    kept = totals != 0
    places = order[starts[kept]]
    rows = _without_signed_zeros(delta.rows.take(pa.array(places)))
    return Delta(rows, delta.at[places], totals[kept])


def _without_signed_zeros(rows: pa.Table) -> pa.Table:
    for i, field in enumerate(rows.schema):
        if pa.types.is_floating(field.type):
            rows = rows.set_column(i, field, pc.add(rows.column(i), 0.0))
    return rows
