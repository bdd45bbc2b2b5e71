"""Schedule: which cells are evaluated when there is not enough capacity for all that are due.

Capacity is what evaluations may read of their members at a tick. While it suffices, every cell is
evaluated at its deadline. When it does not, cells are taken in the order of what their lateness
costs for what their evaluation takes; the others stay due, and their lateness is written down.
"""

from __future__ import annotations

import math

import numpy as np

from streamgauge.drift.cells import TIMER
from streamgauge.drift.evaluate import reading
from streamgauge.drift.peaks import answer_peak, over_window
from streamgauge.drift.walk import answer_timed, answer_watched
from streamgauge.kernel.jit import compiled
from streamgauge.operators.accumulate import AVG
from streamgauge.operators.emission import ALWAYS


@compiled
def price(c, links):  # type: ignore[no-untyped-def]
    """Members that an evaluation reads."""
    return max(1, links.pointer[c + 1] - links.pointer[c])


@compiled
def model(c, scene):  # type: ignore[no-untyped-def]
    """Drift and deviation per tick of a cell, by its members."""
    paths, links = scene.paths, scene.links
    mu, var, mass = 0.0, 0.0, 0.0
    weighted = len(links.weight) > 0
    for i in range(links.pointer[c], links.pointer[c + 1]):
        w = links.weight[i] if weighted else 1.0
        s = links.member[i]
        mu += w * paths[s].mu
        var += w * w * paths[s].var
        mass += w
    if scene.cells[c].op == AVG and mass != 0.0:
        mu, var = mu / mass, var / (mass * mass)
    return abs(mu), math.sqrt(var)


@compiled
def penalty(mu, sigma, late):  # type: ignore[no-untyped-def]
    """Error that lateness is expected to add."""
    return mu * late + sigma * math.sqrt(late)


@compiled
def urgency(c, tick, scene):  # type: ignore[no-untyped-def]
    """How fast the penalty of a cell grows, for what its evaluation takes."""
    mu, sigma = model(c, scene)
    due = scene.memory.due[c]
    slack = 1.0 if due == ALWAYS else float(max(1, tick - due + 1))
    return (mu + sigma / math.sqrt(slack)) / price(c, scene.links)


@compiled
def _due(tick, scene, due):  # type: ignore[no-untyped-def]
    """Write the cells that are due at a tick; say how many."""
    memory, cells, n = scene.memory, scene.cells, 0
    for c in range(len(cells)):
        if tick < cells[c].opened or cells[c].paused:
            continue
        if memory.cell[c].regime != TIMER or memory.due[c] <= tick:
            due[n] = c
            n += 1
    return n


@compiled
def _chosen(tick, before, due, capacity, scene):  # type: ignore[no-untyped-def]
    """The due cells that fit, in the order of their numbers; the others are late from now on."""
    memory, links, total = scene.memory, scene.links, 0
    for c in due:
        total += price(c, links)
    if total <= capacity:
        return due
    rank = np.empty(len(due))
    for k in range(len(due)):
        rank[k] = -urgency(due[k], tick, scene)
    taken = np.zeros(len(due), np.bool_)
    left = capacity
    for k in np.argsort(rank, kind="mergesort"):
        cost = price(due[k], links)
        taken[k] = cost <= left
        left -= cost if taken[k] else 0
    for k in range(len(due)):
        c = due[k]
        if not taken[k] and memory.cell[c].regime == TIMER and memory.due[c] > before:
            memory.cell[c].missed += 1
    return due[taken]


@compiled
def walk_within(scene, before, capacity, extremes, out):  # type: ignore[no-untyped-def]
    """Bring all cells over a block of ticks within a capacity; `before` is the tick ahead of it."""
    cells, memory, block = scene.cells, scene.memory, scene.block
    n, n_out = len(block.ticks), np.int64(0)
    scratch, peaks = np.empty(n), np.empty(n)
    # How far the deque of each extreme has come: it must not know of ticks after an evaluation.
    done = np.zeros(len(extremes.length), np.int64)
    due = np.empty(len(cells), np.int64)
    for j in range(n):
        tick = block.ticks[j]
        waiting = due[: _due(tick, scene, due)]
        for c in _chosen(tick, before, waiting, capacity, scene):
            timer = memory.cell[c].regime == TIMER
            if timer and ALWAYS < memory.due[c] <= before:
                mu, sigma = model(c, scene)
                memory.cell[c].penalty += penalty(mu, sigma, float(tick - memory.due[c]))
            found = reading(c, j, block, scene.paths, cells, scene.links)
            if found.known == 0:
                memory.due[c] = tick + 1
            elif cells[c].window > 0:
                deque = cells[c].deque
                extremes = over_window(c, done[deque], j + 1, scratch, peaks, scene, extremes)
                done[deque] = j + 1
                out, n_out = answer_peak(c, tick, peaks[j], found, scene, extremes, out, n_out)
            elif timer:
                out, n_out = answer_timed(c, tick, found, scene, out, n_out)
            else:
                out, n_out = answer_watched(c, tick, found, scene, out, n_out)
        before = tick
    for c in range(len(cells)):
        if cells[c].window > 0:
            first = done[cells[c].deque]
            extremes = over_window(c, first, n, scratch, peaks, scene, extremes)
    return out[:n_out], extremes
