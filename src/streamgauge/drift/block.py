"""Block: the values of all series at a few consecutive ticks, a row of columns per series.

Cells are walked one after the other over a block, so what a cell reads lies side by side.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from streamgauge.drift.paths import take_in
from streamgauge.kernel.jit import compiled
from streamgauge.operators.emission import ALWAYS, NEVER, Floats, Ints

# Columns of the model of a series.
MU, VAR, SPAN = range(3)
# Fewest increments of a series before its drift is believed.
ENOUGH = 2.0
# Drift is estimated and regimes are chosen at whole multiples of so many fresh ticks.
LENGTH = 64
# An interrupted answer is given again after so many gaps, where none is declared.
AGAIN = 8.0
# Cells of a block, over all series: more would not stay in the cache.
AREA = 1 << 20


class Block(NamedTuple):
    """`value[s, j]` is the latest value of series s at `ticks[j]`.

    `came` says where a series has a row, `before` the tick of its last row ahead of the block,
    `steady` which series were never silent in it. `model` has the drift, the variance and the span
    of each, side by side as every evaluation reads them. `other` is as `value` had no row been
    late, and empty where no row was. `prior` is the tick walked ahead of the block; `fresh` says
    which ticks have rows of any series. A series is gone after `limit` ticks without a row, and its
    usual gap where that is known; `lasting` says which were never gone in the block.
    """

    ticks: Ints
    value: Floats
    came: npt.NDArray[np.uint8]
    before: Ints
    steady: npt.NDArray[np.uint8]
    model: Floats
    other: Floats
    prior: int
    fresh: npt.NDArray[np.uint8]
    lasting: npt.NDArray[np.uint8]
    limit: int


def room(n_series: int, ticks: Ints, prior: int = int(ALWAYS), limit: int = int(NEVER)) -> Block:
    """A block to be filled."""
    n, t = n_series, len(ticks)
    none = np.empty((0, 0))
    came = np.zeros((n, t), np.uint8)
    before = np.full(n, ALWAYS, np.int64)
    steady, model = np.ones(n, np.uint8), np.empty((n, 3))
    fresh, lasting = np.zeros(t, np.uint8), np.ones(n, np.uint8)
    return Block(
        ticks, np.empty((n, t)), came, before, steady, model, none, prior, fresh, lasting, limit
    )


@compiled
def is_gone(quiet, gap, limit):  # type: ignore[no-untyped-def]
    """Whether a series is gone after so many ticks without a row."""
    return quiet > limit and (np.isinf(gap) or quiet > gap)


@compiled
def fill(block, paths, rows, start, stop, revise, newest):  # type: ignore[no-untyped-def]
    """Take rows in; say whether some value would be another had no row been late.

    `newest` has the times of the newest rows of the series, side by side.
    """
    ticks, value, came = block.ticks, block.value, block.came
    place, times, lates, column, row_ticks = rows.place, rows.ts, rows.late, rows.x, rows.tick
    j, missed = 0, False
    for i in range(start, stop):
        while ticks[j] < row_ticks[i]:
            j += 1
        block.fresh[j] = 1
        s, x, ts = place[i], column[i], times[i]
        if s < 0 or np.isnan(x) or ts < newest[s]:
            continue
        if not lates[i] or revise:
            newest[s] = ts
            value[s, j] = x
            came[s, j] = 1
        else:
            missed = True
    for s in range(len(paths)):
        missed = missed or not np.isnan(paths[s].missed)
        block.before[s] = paths[s].tick
        paths[s].ts = newest[s]
        at, last = paths[s].tick, paths[s].value
        longest = np.int64(0)
        for k in range(len(ticks)):
            if came[s, k]:
                last = value[s, k]
                longest = max(longest, ticks[k] - at) if at != ALWAYS else longest
                take_in(paths, s, ticks[k], last)
                paths[s].value = last
                paths[s].tick = ticks[k]
                at = ticks[k]
            else:
                value[s, k] = last
        if at != ALWAYS and len(ticks) > 0:
            longest = max(longest, ticks[-1] - at)
        block.steady[s] = longest <= paths[s].gap
        block.lasting[s] = not is_gone(longest, paths[s].gap, block.limit)
        block.model[s, MU], block.model[s, VAR] = paths[s].mu, paths[s].var
        block.model[s, SPAN] = paths[s].span if paths[s].items >= ENOUGH else 0.0
    return missed


@compiled
def fill_other(block, paths, rows, start, stop, revise, newest, other):  # type: ignore[no-untyped-def]
    """Write what the values had been without late rows; `newest` is the times before the block."""
    for k in range(len(block.ticks)):
        while start < stop and rows.tick[start] == block.ticks[k]:
            s, x, ts = rows.place[start], rows.x[start], rows.ts[start]
            late = rows.late[start] and not revise
            start += 1
            if s < 0 or np.isnan(x) or ts < newest[s]:
                continue
            if not late:
                newest[s] = ts
                paths[s].missed = np.nan
                paths[s].missed_ts = ALWAYS
            elif ts >= paths[s].missed_ts:
                paths[s].missed = x
                paths[s].missed_ts = ts
        for s in range(len(paths)):
            pending = paths[s].missed
            other[s, k] = block.value[s, k] if np.isnan(pending) else pending


@compiled
def age(block, s, j):  # type: ignore[no-untyped-def]
    """Ticks since the last row of a series, at a tick of the block."""
    for k in range(j, -1, -1):
        if block.came[s, k]:
            return block.ticks[j] - block.ticks[k]
    if block.before[s] == ALWAYS:
        return np.int64(0)
    return block.ticks[j] - block.before[s]
