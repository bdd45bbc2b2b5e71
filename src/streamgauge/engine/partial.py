"""Partial sums: the rows of a slice added up where they are read, cell by cell, before they travel.

A cell is a group, a pane and the tick that first sees its rows. What a cell holds (a count, an
exact sum, extremes) can be merged in any order, so answers do not depend on who added what.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from streamgauge.engine.batch import Column, RowBatch
from streamgauge.engine.distribution import columns_of, owners
from streamgauge.engine.rows import Flags, Floats, Ints, ticks_of
from streamgauge.kernel.columns import Interner
from streamgauge.kernel.jit import compiled
from streamgauge.operators.limbs import add_limbs, limbs_for
from streamgauge.plan.table_key import TableKey

# Rows are sent as they are where adding them up would make less than so many times fewer.
LEAST_GAIN = 4


@dataclass(frozen=True, slots=True)
class Partial:
    """Cells of a table, a row each: their tick, pane and group, and what they hold.

    `limbs` are exact sums from limb `low` of the grid on; `words` name the groups.
    """

    tick: Ints
    pane: Ints
    late: Flags
    n: Ints
    least: Floats
    most: Floats
    limbs: Ints
    low: int
    words: dict[str, Column]

    def take(self, which: Ints) -> Partial:
        """Some of the cells."""
        names = {name: column.take(pa.array(which)) for name, column in self.words.items()}
        columns = ("tick", "pane", "late", "n", "least", "most", "limbs")
        return replace(self, words=names, **{name: getattr(self, name)[which] for name in columns})


def partial_of(key: TableKey, batch: RowBatch, tick: int, kinds: dict[str, str]) -> Partial | None:
    """The cells of a table over a batch; None where there would be nearly as many as rows.

    `kinds` has the types of columns.
    """
    used = _used(key, batch, kinds)
    group, some = _groups([batch.words[name] for name in key.group_by])
    slot, tick_of, pane_of, late_of = _slots(key, batch, used, tick)
    size = len(tick_of) * len(some)
    if size * LEAST_GAIN > len(batch):
        return None
    cell = slot * len(some) + group[used]
    count = np.bincount(cell, minlength=size)
    least, most = np.full(size, np.inf), np.full(size, -np.inf)
    x, low, n_limbs = np.ones(len(used)), 0, 0
    if key.x is not None:
        x = batch.numbers[key.x][used]
        low, n_limbs = limbs_for(x, np.zeros(len(x), np.int32))
    limbs = np.zeros((size, n_limbs), np.int64)
    _add(cell, x, least, most, limbs, low)
    there = np.flatnonzero(count)
    at, held = np.divmod(there, max(1, len(some)))
    named = pa.array(some[held])
    return Partial(
        tick_of[at],
        pane_of[at],
        late_of[at],
        count[there],
        least[there],
        most[there],
        limbs[there],
        low,
        {name: batch.words[name].take(named) for name in key.group_by},
    )


def _groups(columns: Sequence[Column]) -> tuple[Ints, Ints]:
    """The number of the group of each row, and one row of each group."""
    flat = np.zeros(len(columns[0]), np.int64)
    size = 1
    for column in columns:
        names = Interner()
        codes = names.encode(column)
        flat = flat * (len(names) + 1) + (codes + 1)
        size *= len(names) + 1
    if len(columns) > 1:
        distinct, flat = np.unique(flat, return_inverse=True)
        size = len(distinct)
    some = np.full(size, -1, np.int64)
    some[flat] = np.arange(len(flat))
    # No row has the number of null where nothing is null.
    numbers = np.cumsum(some >= 0) - 1
    return numbers[flat], some[some >= 0]


def split(partial: Partial, name: str, shards: int) -> list[Partial]:
    """The cells by the shard that owns their group."""
    if shards == 1:
        return [partial]
    owner = owners([partial.words[column] for column in columns_of(name)], shards)
    return [partial.take(np.flatnonzero(owner == shard)) for shard in range(shards)]


def _used(key: TableKey, batch: RowBatch, kinds: dict[str, str]) -> Ints:
    """Rows that count for a table."""
    used = np.ones(len(batch), np.bool_)
    where = key.predicate()
    if where is not None:
        words = {}
        for name in where.columns():
            if kinds[name] in ("string", "bool"):
                names = Interner()
                words[name] = names.encode(batch.words[name]), names.values
        used &= where.mask(batch.numbers, words)
    if key.x is not None:
        used &= ~np.isnan(batch.numbers[key.x])
    if key.width == 0:
        used &= batch.ts >= key.start
    return np.flatnonzero(used)


def _slots(key: TableKey, batch: RowBatch, used: Ints, tick: int) -> tuple[Ints, Ints, Ints, Flags]:
    """For each row the number of its tick, pane and lateness, and what those are."""
    ticks = ticks_of(batch.eff[used], tick)
    panes = -((-batch.ts[used]) // key.width) if key.width else np.zeros(len(used), np.int64)
    late = batch.late[used]
    if not len(used):
        return used, ticks, panes, late
    new = (ticks[1:] != ticks[:-1]) | (panes[1:] != panes[:-1]) | (late[1:] != late[:-1])
    starts = np.concatenate(([0], np.flatnonzero(new) + 1))
    runs = np.stack((ticks[starts], panes[starts], late[starts].astype(np.int64)), axis=1)
    distinct, places = np.unique(runs, axis=0, return_inverse=True)
    slot = np.repeat(places.reshape(-1), np.diff(starts, append=len(ticks)))
    return slot, distinct[:, 0], distinct[:, 1], distinct[:, 2].astype(np.bool_)


@compiled
def _add(cell, x, least, most, limbs, low):  # type: ignore[no-untyped-def]
    summed = limbs.shape[1] > 0
    for i in range(len(cell)):
        c, value = cell[i], x[i] + 0.0
        least[c] = min(least[c], value)
        most[c] = max(most[c], value)
        if summed:
            add_limbs(limbs[c], low, value)
