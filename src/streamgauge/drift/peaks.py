"""Peaks: the largest or smallest value of a cell over a window, by a look or by a deadline.

The deadline is the sooner of two: when the window lets go of the extreme so far that what is left
is a width away, and when the value itself is likely to have passed beyond the extreme by a width.
"""

from __future__ import annotations

import math

import numpy as np

from streamgauge.drift.answer import outside, publish, tolerance, watched
from streamgauge.drift.cells import TIMER
from streamgauge.drift.deadline import ABOVE, wait
from streamgauge.drift.evaluate import plain, reading, values
from streamgauge.drift.extremes import phi1, push, run, top
from streamgauge.drift.timer import judge
from streamgauge.kernel.jit import compiled


@compiled
def over_window(c, scratch, peaks, scene, extremes):  # type: ignore[no-untyped-def]
    """Write the extreme of a cell over its window at each tick of the block."""
    block, cells = scene.block, scene.cells
    ticks, n = block.ticks, len(block.ticks)
    sign, window, deque, opened = cells.sign[c], cells.window[c], cells.deque[c], cells.opened[c]
    if ticks[0] >= opened and plain(c, block, cells, scene.links):
        values(c, block, cells, scene.links, scratch)
        for k in range(n):
            scratch[k] *= sign
        extremes = run(extremes, deque, ticks, scratch[:n], window, peaks[:n])
    else:
        for k in range(n):
            value = sign * reading(c, k, block, scene.paths, cells, scene.links).value
            if not np.isnan(value) and ticks[k] >= opened:
                extremes = push(extremes, deque, ticks[k], value, window)
            peaks[k] = top(extremes, deque, ticks[k], window)
    for k in range(n):
        peaks[k] *= sign
    return extremes


@compiled
def set_peak_due(c, tick, peak, found, scene, extremes):  # type: ignore[no-untyped-def]
    """Set the deadline of an extreme that was just published."""
    cells, memory = scene.cells, scene.memory
    sign, eps = cells.sign[c], tolerance(c, scene)
    leaves = float(phi1(extremes, cells.deque[c], tick, cells.window[c], eps))
    rise = eps + sign * (peak - found.value)
    table, sure = scene.tables[cells.law[c]], cells.confidence[c]
    passes = wait(table, sign * found.mu, found.var, rise, found.span, 1.0, sure, ABOVE)
    longest = min(leaves, passes, 1e15)
    if np.isnan(longest) or found.span <= 0.0:
        longest = 1.0
    # Every wait of an extreme is judged at its end, and never lengthened by that.
    longest *= math.exp(min(0.0, memory.trust[c]))
    memory.wait[c] = -max(1.0, longest)
    if found.silent > 0:
        longest = min(longest, float(scene.again))
    memory.due[c] = tick + max(1, int(longest))


@compiled
def answer_peak(c, tick, peak, found, scene, extremes, out, n_out):  # type: ignore[no-untyped-def]
    """Bring an extreme up to date at a tick."""
    memory = scene.memory
    if memory.regime[c] != TIMER:
        if watched(c, tick, peak, found, scene):
            out, n_out = publish(c, tick, peak, 0.0, found, scene, out, n_out)
        return out, n_out
    if memory.evaluations[c] > 0 and found.silent == 0:
        gone = outside(c, tick, peak, scene)
        judge(c, memory, gone, scene.cells.confidence[c], False)
    out, n_out = publish(c, tick, peak, 0.0, found, scene, out, n_out)
    set_peak_due(c, tick, peak, found, scene, extremes)
    return out, n_out


@compiled
def walk_peak(c, scratch, peaks, scene, extremes, out, n_out):  # type: ignore[no-untyped-def]
    """Bring a cell with an extreme over the block."""
    extremes = over_window(c, scratch, peaks, scene, extremes)
    block, cells, memory = scene.block, scene.cells, scene.memory
    if cells.paused[c]:
        return out, n_out, extremes
    for j in range(len(block.ticks)):
        tick = block.ticks[j]
        if tick < cells.opened[c] or (memory.regime[c] == TIMER and memory.due[c] > tick):
            continue
        found = reading(c, j, block, scene.paths, cells, scene.links)
        if found.known > 0:
            out, n_out = answer_peak(c, tick, peaks[j], found, scene, extremes, out, n_out)
    return out, n_out, extremes


@compiled
def fill_peaks(which, scene, extremes):  # type: ignore[no-untyped-def]
    """Let cells with an extreme see a block of the past."""
    n = len(scene.block.ticks)
    scratch, peaks = np.empty(n), np.empty(n)
    for c in which:
        extremes = over_window(c, scratch, peaks, scene, extremes)
    return extremes
