"""Schedule: which cells are evaluated when there is not enough capacity for all that are due.

Capacity is what evaluations may read of their members at a tick; each pool of cells has its share.
While it suffices, every cell is evaluated at its deadline. When it does not, cells are taken in the
order of what their lateness costs for what their evaluation takes, as long as the pool has reads
left; the others stay due, and their lateness is written down. What the last cell takes too much is
missing at the next tick, so that a cell with more members than the share has its turn too.
"""

from __future__ import annotations

import math

import numpy as np

from streamgauge.drift.answer import leave
from streamgauge.drift.cells import TIMER
from streamgauge.drift.evaluate import deserted, find_ends, has_ended, reading, wake
from streamgauge.drift.peaks import answer_peak, outlast, over_window
from streamgauge.drift.walk import answer_timed, answer_watched
from streamgauge.kernel.jit import compiled
from streamgauge.operators.accumulate import AVG
from streamgauge.operators.emission import ALWAYS


@compiled
def price(c, j, scene):  # type: ignore[no-untyped-def]
    """Members with a value, which an evaluation reads."""
    links, value, n = scene.links, scene.block.value, 0
    for i in range(links.pointer[c], links.pointer[c + 1]):
        n += not np.isnan(value[links.member[i], j])
    return n


@compiled
def model(c, j, scene):  # type: ignore[no-untyped-def]
    """Drift and deviation per tick of a cell, by its members with a value."""
    paths, links, value = scene.paths, scene.links, scene.block.value
    mu, var, mass = 0.0, 0.0, 0.0
    weighted = len(links.weight) > 0
    for i in range(links.pointer[c], links.pointer[c + 1]):
        s = links.member[i]
        if np.isnan(value[s, j]):
            continue
        w = links.weight[i] if weighted else 1.0
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
def urgency(c, j, cost, scene):  # type: ignore[no-untyped-def]
    """How fast the penalty of a cell grows, for what its evaluation takes."""
    mu, sigma = model(c, j, scene)
    due = scene.memory.due[c]
    slack = 1.0 if due == ALWAYS else float(max(1, scene.block.ticks[j] - due + 1))
    return (mu + sigma / math.sqrt(slack)) / cost


@compiled
def _due(j, scene, due, costs):  # type: ignore[no-untyped-def]
    """Write the cells that are due at a tick and what they cost; say how many."""
    memory, cells, n, tick = scene.memory, scene.cells, 0, scene.block.ticks[j]
    for c in range(len(cells)):
        if tick < cells[c].opened or cells[c].paused:
            continue
        timer = memory.cell[c].regime == TIMER
        if timer and memory.due[c] > tick:
            continue
        cost = price(c, j, scene)
        if has_ended(cells[c], tick) and deserted(c, j, scene.block, scene.paths, scene.links):
            cost = 0
        if cost > 0:
            due[n], costs[n] = c, cost
            n += 1
        elif timer:
            memory.due[c] = tick + 1
    return n


@compiled
def _chosen(j, before, due, costs, pools, scene):  # type: ignore[no-untyped-def]
    """The due cells that fit, in the order of their numbers; the others are late from now on."""
    memory = scene.memory
    left = pools.share - pools.owed
    needed = np.zeros(len(left), np.int64)
    for k in range(len(due)):
        needed[pools.of[due[k]]] += costs[k]
    short = needed > left
    pools.owed[:] = 0
    if not short.any():
        return due
    rank = np.zeros(len(due))
    for k in range(len(due)):
        if short[pools.of[due[k]]]:
            rank[k] = -urgency(due[k], j, costs[k], scene)
    taken = np.zeros(len(due), np.bool_)
    for k in np.argsort(rank, kind="mergesort"):
        pool = pools.of[due[k]]
        taken[k] = left[pool] > 0
        left[pool] -= costs[k] if taken[k] else 0
    for p in range(len(left)):
        pools.owed[p] = max(0, -left[p])
    for k in range(len(due)):
        c = due[k]
        if not taken[k] and memory.cell[c].regime == TIMER and memory.due[c] > before:
            memory.cell[c].missed += 1
    return due[taken]


@compiled
def _end_groups(j, done, scratch, peaks, scene, extremes, out, n_out):  # type: ignore[no-untyped-def]
    """Let groups without series end at a tick: that reads no member, so capacity is no matter."""
    block, cells, tick = scene.block, scene.cells, scene.block.ticks[j]
    for c in scene.groups:
        if scene.memory.cell[c].evaluations == 0 or cells[c].paused or tick < cells[c].opened:
            continue
        if not has_ended(cells[c], tick) or not deserted(c, j, block, scene.paths, scene.links):
            continue
        found = reading(c, j, block, scene.paths, cells, scene.links)
        if cells[c].window > 0:
            deque = cells[c].deque
            extremes = over_window(c, done[deque], j + 1, scratch, peaks, scene, extremes)
            done[deque] = j + 1
            out, n_out = outlast(c, tick, peaks[j], found, scene, out, n_out)
        else:
            out, n_out = leave(c, tick, found, scene, out, n_out)
    return out, n_out, extremes


@compiled
def walk_within(scene, before, pools, extremes, out):  # type: ignore[no-untyped-def]
    """Bring all cells over a block of ticks within a capacity; `before` is the tick ahead of it."""
    cells, memory, block = scene.cells, scene.memory, scene.block
    n, n_out = len(block.ticks), np.int64(0)
    scratch, peaks = np.empty(n), np.empty(n)
    # How far the deque of each extreme has come: it must not know of ticks after an evaluation.
    done = np.zeros(len(extremes.length), np.int64)
    due, costs = np.empty(len(cells), np.int64), np.empty(len(cells), np.int64)
    find_ends(scene)
    wake(scene)
    for j in range(n):
        tick = block.ticks[j]
        out, n_out, extremes = _end_groups(j, done, scratch, peaks, scene, extremes, out, n_out)
        n_due = _due(j, scene, due, costs)
        for c in _chosen(j, before, due[:n_due], costs[:n_due], pools, scene):
            timer = memory.cell[c].regime == TIMER
            if timer and ALWAYS < memory.due[c] <= before:
                mu, sigma = model(c, j, scene)
                memory.cell[c].penalty += penalty(mu, sigma, float(tick - memory.due[c]))
            found = reading(c, j, block, scene.paths, cells, scene.links)
            if found.known == 0:
                # The deadline of a cell that is not on a timer is never looked at but for its rank.
                memory.due[c] = tick + 1 if timer else memory.due[c]
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
