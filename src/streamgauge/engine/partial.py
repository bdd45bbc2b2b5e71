"""Partial sums: the rows of a slice added up where they are read, cell by cell, before they travel.

A cell is a group, a pane and the tick that first sees its rows. What a cell holds (a count, an
exact sum, extremes) can be merged in any order, so answers do not depend on who added what.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from streamgauge.engine.batch import RowBatch
from streamgauge.engine.placement import Shards
from streamgauge.engine.row_groups import RowGroups
from streamgauge.engine.rows import Flags, Floats, Ints, ticks_of
from streamgauge.engine.shares import ends_of, parted
from streamgauge.kernel.coded import CodedColumn
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
    group: Ints
    n: Ints
    least: Floats
    most: Floats
    limbs: Ints
    low: int
    words: dict[str, CodedColumn]


COLUMNS = ("tick", "pane", "late", "group", "n", "least", "most", "limbs")


def partials_of(
    key: TableKey,
    batch: RowBatch,
    groups: RowGroups,
    tick: int,
    kinds: dict[str, str],
    shards: int,
) -> list[Partial] | None:
    """The cells of a table by shard; None where there would be nearly as many as rows.

    `kinds` has the types of columns.
    """
    used = _used(key, batch, kinds)
    slot, tick_of, pane_of, late_of = _slots(key, batch, used, tick)
    n_slots = len(tick_of)
    size = n_slots * len(groups.owner)
    if size * LEAST_GAIN > len(batch):
        return None
    # Cells of a group lie together, and groups are sorted by their shard.
    cell = groups.of_row[used] * n_slots + slot
    count = np.bincount(cell, minlength=size)
    least, most = np.full(size, np.inf), np.full(size, -np.inf)
    x, low, n_limbs = np.ones(len(used)), 0, 0
    if key.x is not None:
        x = batch.numbers[key.x][used]
        low, n_limbs = limbs_for(x, np.zeros(len(x), np.int32))
    limbs = np.zeros((size, n_limbs), np.int64)
    _add(cell, x, least, most, limbs, low)
    there = np.flatnonzero(count)
    group, at = np.divmod(there, max(1, n_slots))
    columns = (tick_of[at], pane_of[at], late_of[at], group, count[there], least[there])
    whole = Partial(*columns, most[there], limbs[there], low, groups.words)
    return _by_shard(whole, groups.owner, shards)


def _by_shard(whole: Partial, owner: Shards, shards: int) -> list[Partial]:
    """The cells by the shard that owns their group, each with the groups that it has cells of."""
    new = np.diff(whole.group, prepend=-1) != 0
    held = whole.group[new]
    place = np.cumsum(new) - 1
    ends = ends_of(owner[held], shards)
    words = {name: parted(column.take(held), ends) for name, column in whole.words.items()}
    cuts = np.searchsorted(place, ends).tolist()
    found = []
    for shard, (start, stop) in enumerate(pairwise(cuts)):
        cells = {name: getattr(whole, name)[start:stop] for name in COLUMNS}
        cells["group"] = place[start:stop] - ends[shard]
        mine = {name: columns[shard] for name, columns in words.items()}
        found.append(Partial(**cells, low=whole.low, words=mine))
    return found


def _used(key: TableKey, batch: RowBatch, kinds: dict[str, str]) -> Ints:
    """Rows that count for a table."""
    used = np.ones(len(batch), np.bool_)
    where = key.predicate()
    if where is not None:
        words = {}
        for name in where.columns():
            if kinds[name] in ("string", "bool"):
                words[name] = batch.words[name].codes, batch.words[name].names
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
