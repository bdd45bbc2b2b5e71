"""Peaks: the largest or smallest value of a cell over a window, by a look or by a deadline.

The deadline is the sooner of two: when the window lets go of the extreme so far that what is left
is a width away, and when the value itself is likely to have passed beyond the extreme by a width.
"""

from __future__ import annotations

import math

import numpy as np

from streamgauge.drift.answer import leave, note_wait, outside, owed, publish, tolerance, watched
from streamgauge.drift.cells import TIMER
from streamgauge.drift.deadline import ABOVE, wait
from streamgauge.drift.evaluate import Reading, find_ends, next_turn, plain, reading, values
from streamgauge.drift.extremes import phi1, push, run, top
from streamgauge.drift.timer import judge, stirred
from streamgauge.kernel.jit import compiled

# Values of a window hang together: they are taken for as many times more whose order says nothing.
WINDOWS = 4.0


@compiled
def over_window(c, first, last, scratch, peaks, scene, extremes):  # type: ignore[no-untyped-def]
    """Write the extreme of a cell over its window, from one tick of the block up to another."""
    block, cells = scene.block, scene.cells
    sign, window, deque, opened = cells[c].sign, cells[c].window, cells[c].deque, cells[c].opened
    ticks = block.ticks[first:last]
    if first < last and ticks[0] >= opened and plain(c, block, cells, scene.links):
        values(c, first, last, block, cells, scene.links, scratch)
        for k in range(first, last):
            scratch[k] *= sign
        extremes = run(extremes, deque, ticks, scratch[first:last], window, peaks[first:last])
    else:
        for k in range(first, last):
            found = reading(c, k, block, scene.paths, cells, scene.links)
            # What is carried on over a silence is the answer while it lasts, and is never kept.
            shown = block.fresh[k] and not np.isnan(found.held)
            if shown and block.ticks[k] >= opened:
                extremes = push(extremes, deque, block.ticks[k], sign * found.held, window)
            peaks[k] = top(extremes, deque, block.ticks[k], window)
            if found.silent > 0:
                peaks[k] = np.fmax(peaks[k], sign * found.value)
    for k in range(first, last):
        peaks[k] *= sign
    return extremes


@compiled
def surely(confidence):  # type: ignore[no-untyped-def]
    """Confidence that a value must be below a bound at the end of a wait never to have passed it.

    An extreme that was passed stays wrong. Of the paths that pass, half are back (reflection).
    """
    return 0.5 + 0.5 * confidence


@compiled
def vouched(confidence, known, span, spacing):  # type: ignore[no-untyped-def]
    """Longest wait of an extreme, in ticks, whatever its model says.

    What did not come in `known` ticks comes within a wait w with a chance of about w / known, where
    the order of the values says nothing, and leaves the answer wrong for half of the wait. The
    model is looked at again before as much time has passed as it rests on.
    """
    return max(spacing, min(2.0 * (1.0 - confidence) * known, span))


@compiled
def peak_due(mine, asked, tick, peak, found, scene, extremes):  # type: ignore[no-untyped-def]
    """Deadline of an extreme that was just published."""
    sign, eps = asked.sign, tolerance(mine, asked)
    leaves = float(phi1(extremes, asked.deque, tick, asked.window, eps))
    rise = eps + sign * (peak - found.value)
    table, sure = scene.tables[asked.law], surely(asked.confidence)
    var = found.var
    if var == 0.0 and found.span > 0.0:
        var = stirred(eps, found.span)
    passes = wait(table, sign * found.mu, var, rise, found.span, 1.0, sure, ABOVE)
    known = min(float(tick - max(mine.begun, asked.opened)), WINDOWS * float(asked.window))
    longest = min(leaves, passes, vouched(asked.confidence, known, found.span, scene.spacing))
    if np.isnan(longest) or found.span <= 0.0:
        longest = 1.0
    # Every wait of an extreme is judged at its end. Luck is not saved up: it may be a calm's.
    mine.trust = min(mine.trust, 0.0)
    longest *= math.exp(mine.trust)
    mine.wait = -max(1.0, longest)
    if found.silent > 0:
        longest = min(longest, float(scene.again))
    return tick + max(1, int(longest))


@compiled
def answer_peak(c, tick, peak, found, scene, extremes, out, n_out):  # type: ignore[no-untyped-def]
    """Bring an extreme up to date at a tick."""
    mine, asked, timer = scene.memory.cell[c], scene.cells[c], False
    if mine.regime == TIMER:
        timer = True
        if mine.evaluations > 0 and mine.silent == 0 and found.silent == 0:
            judge(mine, outside(mine, asked, tick, peak), asked.confidence, False)
    elif not watched(mine, asked, tick, peak, found, scene.again):
        return out, n_out
    note_wait(mine, tick)
    out, n_out = publish(c, mine, asked, tick, peak, 0.0, found, scene.epoch, out, n_out)
    if timer:
        due = peak_due(mine, asked, tick, peak, found, scene, extremes)
        scene.memory.due[c] = min(due, next_turn(c, tick, scene))
    return out, n_out


@compiled
def outlast(c, tick, peak, found, scene, out, n_out):  # type: ignore[no-untyped-def]
    """Answer for a group without series by what its window still holds, until that is nothing."""
    mine, asked = scene.memory.cell[c], scene.cells[c]
    if np.isnan(peak):
        return leave(c, tick, found, scene, out, n_out)
    if not asked.grouped or mine.evaluations == 0:
        return out, n_out
    kept = Reading(peak, 0.0, 0.0, 0.0, 0, 0, 0.0, peak, peak)
    if outside(mine, asked, tick, peak) or owed(mine, asked, tick, peak, kept, scene.again):
        note_wait(mine, tick)
        out, n_out = publish(c, mine, asked, tick, peak, 0.0, kept, scene.epoch, out, n_out)
    return out, n_out


@compiled
def _watch_peak(c, peaks, scene, extremes, out, n_out):  # type: ignore[no-untyped-def]
    """Compare a watched extreme at each tick of the block."""
    block, cells = scene.block, scene.cells
    for j in range(len(block.ticks)):
        tick = block.ticks[j]
        if tick < cells[c].opened:
            continue
        found = reading(c, j, block, scene.paths, cells, scene.links)
        if found.known > 0:
            out, n_out = answer_peak(c, tick, peaks[j], found, scene, extremes, out, n_out)
        else:
            out, n_out = outlast(c, tick, peaks[j], found, scene, out, n_out)
    return out, n_out


@compiled
def _time_peak(c, scratch, peaks, scene, extremes, out, n_out):  # type: ignore[no-untyped-def]
    """Evaluate an extreme as often as it is due; a deadline knows nothing of later ticks."""
    block, cells, memory = scene.block, scene.cells, scene.memory
    n, done = len(block.ticks), 0
    while done < n:
        due = max(memory.due[c], cells[c].opened)
        j = done + np.searchsorted(block.ticks[done:], due)
        stop = min(n, j + 1)
        extremes = over_window(c, done, stop, scratch, peaks, scene, extremes)
        done = stop
        if j < n:
            found = reading(c, j, block, scene.paths, cells, scene.links)
            tick = block.ticks[j]
            if found.known > 0:
                out, n_out = answer_peak(c, tick, peaks[j], found, scene, extremes, out, n_out)
            else:
                out, n_out = outlast(c, tick, peaks[j], found, scene, out, n_out)
                memory.due[c] = tick + 1
    return out, n_out, extremes


@compiled
def walk_peak(c, scratch, peaks, scene, extremes, out, n_out):  # type: ignore[no-untyped-def]
    """Bring a cell with an extreme over the block."""
    n = len(scene.block.ticks)
    if scene.memory.cell[c].regime == TIMER and not scene.cells[c].paused:
        return _time_peak(c, scratch, peaks, scene, extremes, out, n_out)
    extremes = over_window(c, 0, n, scratch, peaks, scene, extremes)
    if not scene.cells[c].paused:
        out, n_out = _watch_peak(c, peaks, scene, extremes, out, n_out)
    return out, n_out, extremes


@compiled
def fill_peaks(which, scene, extremes):  # type: ignore[no-untyped-def]
    """Let cells with an extreme see a block of the past."""
    n = len(scene.block.ticks)
    scratch, peaks = np.empty(n), np.empty(n)
    find_ends(scene)
    for c in which:
        extremes = over_window(c, 0, n, scratch, peaks, scene, extremes)
    return extremes
