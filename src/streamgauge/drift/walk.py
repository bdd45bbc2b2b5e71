"""Walk: all cells of a shard over one block of ticks, each by its regime."""

from __future__ import annotations

import numpy as np

from streamgauge.drift.answer import outside, owed, publish, save_up, tolerance, watched
from streamgauge.drift.cells import TIMER
from streamgauge.drift.evaluate import calm, plain, reading, values
from streamgauge.drift.peaks import walk_peak
from streamgauge.drift.timer import judge, learn, plan, set_due, slope_of
from streamgauge.kernel.jit import compiled


@compiled
def answer_timed(c, tick, found, scene, out, n_out):  # type: ignore[no-untyped-def]
    """Evaluate a cell whose deadline has come; set the next."""
    memory, cells, value = scene.memory, scene.cells, found.value
    whole = cells.listed[c] == 0 or found.known == cells.listed[c]
    if np.isnan(value) or not whole or found.span <= 0.0:
        # Nothing to go by: a look at every tick.
        if outside(c, tick, value, scene) or owed(c, tick, value, found, scene):
            out, n_out = publish(c, tick, value, 0.0, found, scene, out, n_out)
        memory.due[c] = tick + 1
        return out, n_out
    if memory.evaluations[c] > 0 and memory.silent[c] == 0 and found.silent == 0:
        missed = outside(c, tick, value, scene)
        judge(c, memory, missed, cells.confidence[c], cells.throughout[c])
        learn(c, memory, tick, value, found.var)
    slope = slope_of(c, memory, found) if cells.trend[c] else 0.0
    out, n_out = publish(c, tick, value, slope, found, scene, out, n_out)
    table = scene.tables[cells.law[c]]
    longest = plan(c, memory, found, tolerance(c, scene), scene.spacing, table, cells)
    if found.silent > 0:
        memory.due[c] = tick + max(1, int(min(longest, scene.again)))
    else:
        set_due(c, memory, tick, longest, scene.spacing, cells)
    return out, n_out


@compiled
def answer_watched(c, tick, found, scene, out, n_out):  # type: ignore[no-untyped-def]
    """Give the answer of a watched cell where it owes one."""
    if watched(c, tick, found.value, found, scene):
        memory = scene.memory
        slope = 0.0
        if scene.cells.trend[c]:
            learn(c, memory, tick, found.value, found.var)
            slope = slope_of(c, memory, found)
        _note_wait(c, tick, memory)
        out, n_out = publish(c, tick, found.value, slope, found, scene, out, n_out)
    return out, n_out


@compiled
def _note_wait(c, tick, memory):  # type: ignore[no-untyped-def]
    """Remember how long the answers of a watched cell last."""
    if memory.evaluations[c] > 0:
        lasted = float(tick - memory.since[c])
        usual = memory.usual[c]
        memory.usual[c] = lasted if usual == 0.0 else usual + (lasted - usual) / 8.0


@compiled
def _quiet(c, scratch, n, scene):  # type: ignore[no-untyped-def]
    """Whether nothing in the block asks for an answer of a plain cell."""
    memory = scene.memory
    if memory.evaluations[c] == 0 or memory.silent[c] != 0 or memory.coverage[c] != 1.0:
        return False
    if memory.slope[c] != 0.0 or memory.below[c] != 0.0 or memory.above[c] != 0.0:
        return False
    held, eps = memory.value[c], tolerance(c, scene)
    gone = 0
    for k in range(n):
        gone += not abs(scratch[k] - held) <= eps
    return gone == 0


@compiled
def _walk_watched(c, scratch, scene, out, n_out):  # type: ignore[no-untyped-def]
    """Compare a watched cell at each tick of the block."""
    block, cells, links = scene.block, scene.cells, scene.links
    n = len(block.ticks)
    simple = plain(c, block, cells, links) and not cells.trend[c]
    if simple:
        values(c, 0, n, block, cells, links, scratch)
        if _quiet(c, scratch, n, scene):
            save_up(c, n, scene)
            return out, n_out
    for j in range(n):
        if simple:
            found = calm(c, scratch[j], links)
        else:
            found = reading(c, j, block, scene.paths, cells, links)
        if found.known > 0:
            out, n_out = answer_watched(c, block.ticks[j], found, scene, out, n_out)
    return out, n_out


@compiled
def _walk_timed(c, scene, out, n_out):  # type: ignore[no-untyped-def]
    """Evaluate a cell by its timer, as often as it is due in the block."""
    block, memory = scene.block, scene.memory
    n, j = len(block.ticks), 0
    while j < n and memory.due[c] <= block.ticks[n - 1]:
        j += np.searchsorted(block.ticks[j:], memory.due[c])
        tick = block.ticks[j]
        found = reading(c, j, block, scene.paths, scene.cells, scene.links)
        if found.known == 0:
            memory.due[c] = tick + 1
        else:
            out, n_out = answer_timed(c, tick, found, scene, out, n_out)
        j += 1
    return out, n_out


@compiled
def walk(scene, extremes, out):  # type: ignore[no-untyped-def]
    """Bring all cells over a block of ticks; return the answers and the deques to go on with."""
    cells, memory, ticks = scene.cells, scene.memory, scene.block.ticks
    scratch, peaks = np.empty(len(ticks)), np.empty(len(ticks))
    last, n_out = ticks[-1], 0
    for c in range(len(cells.query)):
        if cells.window[c] > 0:
            out, n_out, extremes = walk_peak(c, scratch, peaks, scene, extremes, out, n_out)
        elif cells.paused[c]:
            continue
        elif memory.regime[c] != TIMER:
            out, n_out = _walk_watched(c, scratch, scene, out, n_out)
        elif memory.due[c] <= last:
            out, n_out = _walk_timed(c, scene, out, n_out)
    return out[:n_out], extremes
