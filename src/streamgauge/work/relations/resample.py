"""Resample: a stream brought to a regular grid of event time, key by key."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.engine.store import Store
from streamgauge.operators.codes import row_codes
from streamgauge.plan.nodes import Resampled
from streamgauge.streams.stream import Stream

Ints = npt.NDArray[np.int64]


def resampled(part: Store, stream: Stream, node: Resampled, now: int) -> Store:
    """Grid points between the first row of each key and `now`, each made from one row.

    The value at a grid point is that of the newest row at or before it (last), or lies on the line
    to the next row (linear), which is known when that row has taken effect. `row` of a grid point
    is that of the row it was made from.
    """
    part = part.take(part.used & (part.eff <= now) & _valued(part, node))
    keys = _keys(part, node)
    order = np.lexsort((part.ts, keys))
    follows = np.full(len(order), -1, np.int64)
    same = keys[order][1:] == keys[order][:-1]
    follows[:-1][same] = order[1:][same]
    begin = -(-part.ts[order] // node.period)
    end = np.where(follows >= 0, -(-part.ts[follows] // node.period), now // node.period + 1)
    if node.method == "linear":
        # Nothing lies between a row and one that has not come.
        end = np.where(follows >= 0, end, begin)
    counts = np.maximum(end - begin, 0)
    which = np.repeat(np.arange(len(order)), counts)
    step = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
    grid = (begin[which] + step) * node.period
    place = order[which]
    value = part.rows[node.column].take(pa.array(place))
    known = part.eff[place]
    if node.method == "linear":
        after = follows[which]
        value = _between(part, node.column, place, after, grid)
        known = part.eff[after]
    rows = part.rows.take(pa.array(place))
    rows = rows.set_column(rows.column_names.index(node.column), node.column, value)
    if stream.time in rows.column_names:
        times = pa.array(grid).cast(rows.schema.field(stream.time).type)
        rows = rows.set_column(rows.column_names.index(stream.time), stream.time, times)
    wanted = [name for name in rows.column_names if name in (*node.by, stream.time, node.column)]
    eff = -(-np.maximum(grid, known) // stream.tick) * stream.tick
    turn = np.argsort(eff, kind="stable")
    ones = np.ones(len(turn), np.int64)
    zeros = np.zeros(len(turn), np.int64)
    return Store(
        rows.select(wanted).take(pa.array(turn)),
        grid[turn],
        eff[turn],
        np.ones(len(turn), np.bool_),
        ones,
        zeros,
        zeros,
        part.row[place][turn],
    )


def in_force(part: Store, node: Resampled, now: int) -> Ints:
    """Places of the newest row of each key: grid points to come are made from them."""
    there = np.flatnonzero(part.used & (part.eff <= now) & _valued(part, node))
    keys = _keys(part, node)[there]
    order = np.lexsort((part.ts[there], keys))
    last = np.ones(len(order), np.bool_)
    last[:-1] = keys[order][1:] != keys[order][:-1]
    return there[order[last]]


def followers(part: Store, node: Resampled, kept: npt.NDArray[np.bool_]) -> Ints:
    """Places of the rows behind those that are kept: a line needs both its ends."""
    if node.method != "linear":
        return np.empty(0, np.int64)
    there = np.flatnonzero(part.used & _valued(part, node))
    order = there[np.lexsort((part.ts[there], _keys(part, node)[there]))]
    keys = _keys(part, node)[order]
    found: Ints = order[1:][kept[order[:-1]] & (keys[1:] == keys[:-1])]
    return found


def _valued(part: Store, node: Resampled) -> npt.NDArray[np.bool_]:
    """Rows that have a value: a null is none and leaves the one before it in force."""
    valued: npt.NDArray[np.bool_] = pc.is_valid(part.rows[node.column]).to_numpy()
    return valued


def _keys(part: Store, node: Resampled) -> Ints:
    if not node.by:
        return np.zeros(len(part), np.int64)
    return row_codes([part.rows.select(list(node.by))])[0]


def _between(part: Store, column: str, place: Ints, after: Ints, grid: Ints) -> pa.Array:
    """Values on the lines between neighbours."""
    floats = pc.fill_null(part.rows[column].cast(pa.float64()), np.nan).to_numpy()
    t0, t1 = part.ts[place], part.ts[after]
    share = np.where(t1 > t0, (grid - t0) / np.maximum(t1 - t0, 1), 0.0)
    line = floats[place] + (floats[after] - floats[place]) * share
    return pa.array(line, mask=np.isnan(line))
