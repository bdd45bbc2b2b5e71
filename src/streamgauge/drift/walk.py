"""Walk: all cells of a shard over one block of ticks, each by its regime."""

from __future__ import annotations

import numpy as np

from streamgauge.drift.answer import (
    ONE,
    PATIENCE,
    leave,
    note_wait,
    outside,
    owed,
    publish,
    tolerance,
    watched,
)
from streamgauge.drift.cells import TIMER
from streamgauge.drift.evaluate import calm, find_ends, next_turn, plain, reading, values, wake
from streamgauge.drift.peaks import walk_peak
from streamgauge.drift.timer import compare, judge, learn, next_due, plan, slope_of
from streamgauge.kernel.jit import compiled


@compiled
def answer_timed(c, tick, found, scene, out, n_out):  # type: ignore[no-untyped-def]
    """Evaluate a cell whose deadline has come; set the next."""
    mine, asked, value = scene.memory.cell[c], scene.cells[c], found.value
    whole = asked.listed == 0 or found.known == asked.listed
    if np.isnan(value) or not whole or found.span <= 0.0:
        # Nothing to go by: a look at every tick.
        moved = outside(mine, asked, tick, value)
        if moved or owed(mine, asked, tick, value, found, scene.again):
            out, n_out = publish(c, mine, asked, tick, value, 0.0, found, scene.epoch, out, n_out)
        scene.memory.due[c] = tick + 1
        return out, n_out
    if mine.evaluations > 0 and mine.silent == 0 and found.silent == 0:
        missed, owes = outside(mine, asked, tick, value), tolerance(mine, asked)
        judge(mine, missed, asked.confidence, asked.throughout)
        if not asked.throughout:
            compare(mine, tick, missed, found, owes)
        learn(mine, tick, value, found.var, owes)
    slope = slope_of(mine, found) if asked.trend else 0.0
    out, n_out = publish(c, mine, asked, tick, value, slope, found, scene.epoch, out, n_out)
    table, eps = scene.tables[asked.law], tolerance(mine, asked)
    longest = plan(mine, asked, found, eps, scene.spacing, table)
    if found.silent > 0:
        due = tick + max(1, int(min(longest, scene.again)))
    else:
        due = next_due(mine, asked, tick, longest, scene.spacing)
    scene.memory.due[c] = min(due, next_turn(c, tick, scene))
    return out, n_out


@compiled
def answer_watched(c, tick, found, scene, out, n_out):  # type: ignore[no-untyped-def]
    """Give the answer of a watched cell where it owes one."""
    mine, asked, value = scene.memory.cell[c], scene.cells[c], found.value
    if watched(mine, asked, tick, value, found, scene.again):
        slope = 0.0
        if asked.trend:
            learn(mine, tick, value, found.var, tolerance(mine, asked))
            slope = slope_of(mine, found)
        note_wait(mine, tick)
        out, n_out = publish(c, mine, asked, tick, value, slope, found, scene.epoch, out, n_out)
    return out, n_out


@compiled
def _settled(mine):  # type: ignore[no-untyped-def]
    """Whether only a move can ask for another answer of a cell whose members are all there."""
    whole = mine.evaluations > 0 and mine.silent == 0 and mine.coverage == 1.0
    return whole and mine.below == 0.0 and mine.above == 0.0


@compiled
def _watch_moves(c, first, scratch, scene, out, n_out):  # type: ignore[no-untyped-def]
    """Compare a settled cell at the ticks of the block, as `watched` does, and nothing else."""
    mine, asked, ticks = scene.memory.cell[c], scene.cells[c], scene.block.ticks
    share = np.int64((1.0 - asked.confidence) * ONE)
    most, credit = PATIENCE * share, mine.credit
    held, eps = mine.value, tolerance(mine, asked)
    for k in range(first, len(ticks)):
        credit = min(credit + share, most)
        if abs(scratch[k] - held) <= eps:
            continue
        if credit >= ONE and not asked.throughout:
            credit -= ONE
            continue
        found = calm(c, scratch[k], scene.links)
        note_wait(mine, ticks[k])
        out, n_out = publish(
            c, mine, asked, ticks[k], found.value, 0.0, found, scene.epoch, out, n_out
        )
        held, eps = mine.value, tolerance(mine, asked)
    mine.credit = credit
    return out, n_out


@compiled
def _walk_watched(c, scratch, scene, out, n_out):  # type: ignore[no-untyped-def]
    """Compare a watched cell at each tick of the block."""
    block, cells, links = scene.block, scene.cells, scene.links
    mine, asked, n = scene.memory.cell[c], cells[c], len(block.ticks)
    simple = plain(c, block, cells, links) and not asked.trend
    if simple:
        values(c, 0, n, block, cells, links, scratch)
    for j in range(n):
        if simple:
            if _settled(mine):
                return _watch_moves(c, j, scratch, scene, out, n_out)
            found = calm(c, scratch[j], links)
        else:
            found = reading(c, j, block, scene.paths, cells, links)
        if found.known > 0:
            out, n_out = answer_watched(c, block.ticks[j], found, scene, out, n_out)
        else:
            out, n_out = leave(c, block.ticks[j], found, scene, out, n_out)
    return out, n_out


@compiled
def walk(scene, extremes, out):  # type: ignore[no-untyped-def]
    """Bring all cells over a block of ticks; return the answers and the deques to go on with."""
    block, paths, links = scene.block, scene.paths, scene.links
    cells, memory, ticks = scene.cells, scene.memory, scene.block.ticks
    due, n = memory.due, len(ticks)
    scratch, peaks = np.empty(n), np.empty(n)
    # A literal would have all that is called compiled twice.
    last, n_out = ticks[-1], np.int64(0)
    no_peaks = len(extremes.length) == 0
    find_ends(scene)
    wake(scene)
    for c in range(len(due)):
        if due[c] > last and (no_peaks or cells[c].window == 0):
            continue
        if cells[c].window > 0:
            out, n_out, extremes = walk_peak(c, scratch, peaks, scene, extremes, out, n_out)
            continue
        if cells[c].paused:
            continue
        if memory.cell[c].regime != TIMER:
            out, n_out = _walk_watched(c, scratch, scene, out, n_out)
            continue
        while due[c] <= last:
            j = np.searchsorted(ticks, due[c])
            found = reading(c, j, block, paths, cells, links)
            if found.known == 0:
                out, n_out = leave(c, ticks[j], found, scene, out, n_out)
                due[c] = ticks[j] + 1
            else:
                out, n_out = answer_timed(c, ticks[j], found, scene, out, n_out)
    return out[:n_out], extremes
