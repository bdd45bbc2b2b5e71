"""Upserts: rows that take the place of those with their key, as changes that take away the old.

A row is of an instant and takes effect at one. A row that takes effect later than the instant it is
of is a correction: it takes the place of a row of the same instant, and of no newer one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamgauge.operators.codes import table_codes
from streamgauge.operators.delta import Delta

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
_BEFORE = -(2**62)


@dataclass(frozen=True, slots=True)
class Upserts:
    """Rows to come.

    Parameters
    ----------
    rows
        The rows; their first columns are the key.
    at
        Instant at which each takes effect.
    of
        Instant that each is of, at most `at`.
    leaves
        Rows that only take away the one with their key.
    """

    rows: pa.Table
    at: Ints
    of: Ints
    leaves: Flags

    def __len__(self) -> int:
        return len(self.at)

    def take(self, which: Ints | Flags) -> Upserts:
        """Some of the rows, by number or by mask."""
        places = np.flatnonzero(which) if which.dtype == np.bool_ else which
        rows = self.rows.take(pa.array(places))
        return Upserts(rows, self.at[places], self.of[places], self.leaves[places])

    @classmethod
    def none(cls, schema: pa.Schema) -> Upserts:
        """No row."""
        none = np.empty(0, np.int64)
        return cls(schema.empty_table(), none, none, np.empty(0, np.bool_))


@dataclass(frozen=True, slots=True)
class Current:
    """The row in force of each key, and the instant that it is of."""

    rows: pa.Table
    of: Ints

    def __len__(self) -> int:
        return len(self.of)

    @classmethod
    def none(cls, schema: pa.Schema) -> Current:
        """No row."""
        return cls(schema.empty_table(), np.empty(0, np.int64))


def stacked(parts: Sequence[Upserts], schema: pa.Schema) -> Upserts:
    """Upserts one after the other."""
    parts = [part for part in parts if len(part)]
    if not parts:
        return Upserts.none(schema)
    if len(parts) == 1:
        return parts[0]
    return Upserts(
        pa.concat_tables([part.rows for part in parts]).combine_chunks(),
        np.concatenate([part.at for part in parts]),
        np.concatenate([part.of for part in parts]),
        np.concatenate([part.leaves for part in parts]),
    )


def upserted(current: Current, fresh: Upserts, by: int) -> tuple[Delta, Current]:
    """Changes that rows make to those in force, and what is in force then.

    Parameters
    ----------
    current
        What is in force before all of the rows.
    fresh
        The rows, in the order in which they were given.
    by
        How many columns are the key.

    Examples
    --------
    >>> rows = pa.table({"k": ["a", "b", "a", "a"], "x": [1, 2, 3, 4]})
    >>> at, of = np.array([10, 10, 20, 30]), np.array([10, 10, 20, 10])
    >>> fresh = Upserts(rows, at, of, np.zeros(4, np.bool_))
    >>> delta, current = upserted(Current.none(rows.schema), fresh, 1)
    >>> current.rows.to_pydict(), current.of  # the last row corrects one that is not in force
    ({'k': ['a', 'b'], 'x': [3, 2]}, array([20, 10]))
    >>> sorted(zip(delta.at.tolist(), delta.count.tolist(), delta.rows["x"].to_pylist()))
    [(10, 1, 1), (10, 1, 2), (20, -1, 1), (20, 1, 3)]
    """
    if not len(fresh):
        return Delta.none(fresh.rows.schema), current
    held, n = len(current), len(current) + len(fresh)
    rows = pa.concat_tables([current.rows, fresh.rows]).combine_chunks()
    at = np.concatenate((np.full(held, _BEFORE, np.int64), fresh.at))
    of = np.concatenate((current.of, fresh.of))
    leaves = np.concatenate((np.zeros(held, np.bool_), fresh.leaves))
    corrects = np.concatenate((np.zeros(held, np.bool_), fresh.of < fresh.at))
    keys = table_codes(rows.columns[:by], n).codes
    order = np.lexsort((corrects, at, keys))
    order = order[_in_force(keys[order], of[order], leaves[order], corrects[order])]
    keys = keys[order]
    follows = np.append(False, keys[1:] == keys[:-1])
    fresh_one = order >= held
    goes = np.flatnonzero(follows & fresh_one)
    goes = goes[~leaves[order[goes - 1]]]
    comes = np.flatnonzero(fresh_one & ~leaves[order])
    places = np.concatenate((order[goes - 1], order[comes]))
    instants = np.concatenate((at[order[goes]], at[order[comes]]))
    count = np.repeat(np.array([-1, 1], np.int64), [len(goes), len(comes)])
    last = order[np.append(~follows[1:], True)] if len(order) else order
    last = last[~leaves[last]]
    return (
        Delta(rows.take(pa.array(places)), instants, count),
        Current(rows.take(pa.array(last)), of[last]),
    )


def _in_force(keys: Ints, of: Ints, leaves: Flags, corrects: Flags) -> Flags:
    """Which rows come into force: all but corrections of rows that are not."""
    begins = np.append(True, keys[1:] != keys[:-1])
    places = np.arange(len(keys))
    base = np.maximum.accumulate(np.where(begins | ~corrects, places, 0))
    corrected = ~corrects[base] & ~leaves[base] & (of[base] == of)
    found: Flags = ~corrects | corrected
    return found
