"""Evaluate: the value of a cell at a tick, how it drifts, and what is unsure about it."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from streamgauge.drift.block import MU, SPAN, VAR, age, is_gone
from streamgauge.drift.cells import TIMER
from streamgauge.kernel.jit import compiled
from streamgauge.operators.accumulate import AVG, COUNT, MAX, MIN, SUM
from streamgauge.operators.emission import ALWAYS, NEVER


class Reading(NamedTuple):
    """A value with its model.

    `mu` and `var` are drift and variance per tick, `span` the ticks they rest on (0: not enough is
    known). `known` members have a value, `silent` of them have none of late; their estimates vary
    by `unsure`. `other` is the value had no row been late, `held` the one that rows show: the value
    of a silent member is its last one there.
    """

    value: float
    mu: float
    var: float
    span: float
    known: int
    silent: int
    unsure: float
    other: float
    held: float


@compiled
def _since(block, s, j, born):  # type: ignore[no-untyped-def]
    """Whether a series has had a row since a cell was born."""
    return block.ticks[j] - age(block, s, j) > born


@compiled
def _bridged(block, path, s, j, v):  # type: ignore[no-untyped-def]
    """Estimate of a series, whether it is silent, and the variance of the estimate's error."""
    quiet = float(age(block, s, j))
    if quiet <= path.gap:
        return v, False, 0.0
    if path.span <= 0.0:
        return v, True, np.inf
    unsure = path.var * (quiet + quiet * quiet / path.span)
    return v + path.mu * quiet, True, unsure


@compiled
def linear(c, j, block, paths, cells, links):  # type: ignore[no-untyped-def]
    """Reading of a sum or an average."""
    column, steady, model = block.value, block.steady, block.model
    born = cells[c].born
    weighted, late = len(links.weight) > 0, len(block.other) > 0
    total, other, mass, mu, var, span, unsure = 0.0, 0.0, 0.0, 0.0, 0.0, np.inf, 0.0
    known, silent, held = 0, 0, 0.0
    for i in range(links.pointer[c], links.pointer[c + 1]):
        s = links.member[i]
        v = column[s, j]
        if np.isnan(v) or (born != ALWAYS and not _since(block, s, j, born)):
            continue
        late_by = block.other[s, j] - v if late else 0.0
        w = links.weight[i] if weighted else 1.0
        held += w * v
        if not steady[s]:
            v, quiet, doubt = _bridged(block, paths[s], s, j, v)
            silent += quiet
            # Deviations add up: who falls silent together may move together.
            unsure += abs(w) * math.sqrt(doubt)
        known += 1
        total += w * v
        other += w * (v + late_by)
        mass += w
        mu += w * model[s, MU]
        var += w * w * model[s, VAR]
        span = min(span, model[s, SPAN])
    if known == 0 or (cells[c].op == AVG and mass == 0.0):
        return Reading(np.nan, 0.0, 0.0, 0.0, known, silent, 0.0, np.nan, np.nan)
    if cells[c].op == AVG:
        total, other, mu, held = total / mass, other / mass, mu / mass, held / mass
        var, unsure = var / (mass * mass), unsure / abs(mass)
    other = other if late else total
    return Reading(total, mu, var, span, known, silent, unsure * unsure, other, held)


@compiled
def foremost(c, j, block, paths, cells, links):  # type: ignore[no-untyped-def]
    """Reading of the largest or smallest member; it drifts no faster than the wildest of them."""
    column, steady, model = block.value, block.steady, block.model
    born = cells[c].born
    late = len(block.other) > 0
    sign = 1.0 if cells[c].op == MAX else -1.0
    best, other, held, var, span, unsure = -np.inf, -np.inf, -np.inf, 0.0, np.inf, 0.0
    known, silent = 0, 0
    for i in range(links.pointer[c], links.pointer[c + 1]):
        s = links.member[i]
        v = column[s, j]
        if np.isnan(v) or (born != ALWAYS and not _since(block, s, j, born)):
            continue
        late_by = block.other[s, j] - v if late else 0.0
        held = max(held, sign * v)
        if not steady[s]:
            v, quiet, doubt = _bridged(block, paths[s], s, j, v)
            silent += quiet
            unsure = max(unsure, doubt)
        known += 1
        best = max(best, sign * v)
        other = max(other, sign * (v + late_by))
        var = max(var, model[s, VAR])
        span = min(span, model[s, SPAN])
    if known == 0:
        return Reading(np.nan, 0.0, 0.0, 0.0, 0, 0, 0.0, np.nan, np.nan)
    best, other, held = sign * best, sign * other, sign * held
    return Reading(best, 0.0, var, span, known, silent, unsure, other, held)


@compiled
def deserted(c, j, block, paths, links):  # type: ignore[no-untyped-def]
    """Whether all series of a group have left it at a tick of the block, or are gone."""
    for i in range(links.pointer[c], links.pointer[c + 1]):
        s = links.member[i]
        if np.isnan(block.value[s, j]):
            continue
        if block.lasting[s] or not is_gone(age(block, s, j), paths[s].gap, block.limit):
            return False
    return True


@compiled
def has_ended(asked, tick):  # type: ignore[no-untyped-def]
    """Whether a group was without series at a tick of the block; it may have some again."""
    return asked.grouped and asked.ends <= tick


@compiled
def reading(c, j, block, paths, cells, links):  # type: ignore[no-untyped-def]
    """The reading of a cell at a tick of the block."""
    op = cells[c].op
    if has_ended(cells[c], block.ticks[j]) and deserted(c, j, block, paths, links):
        return Reading(np.nan, 0.0, 0.0, 0.0, 0, 0, 0.0, np.nan, np.nan)
    if op in (MAX, MIN):
        return foremost(c, j, block, paths, cells, links)
    found = linear(c, j, block, paths, cells, links)
    if op == COUNT:
        n = float(found.known)
        return Reading(n, 0.0, 0.0, found.span, found.known, 0, 0.0, n, n)
    return found


@compiled
def is_linear(op):  # type: ignore[no-untyped-def]
    """Whether an operator weighs its members."""
    return op in (SUM, AVG)


@compiled
def values(c, first, last, block, cells, links, out):  # type: ignore[no-untyped-def]
    """Values of a linear cell from one tick of a block up to another; see `plain`."""
    start, stop = links.pointer[c], links.pointer[c + 1]
    out[first:last] = 0.0
    weighted = len(links.weight) > 0
    mass = 0.0
    for i in range(start, stop):
        row = block.value[links.member[i]]
        if weighted:
            w = links.weight[i]
            mass += w
            for k in range(first, last):
                out[k] += w * row[k]
        else:
            mass += 1.0
            for k in range(first, last):
                out[k] += row[k]
    if cells[c].op == AVG:
        for k in range(first, last):
            out[k] /= mass


@compiled
def plain(c, block, cells, links):  # type: ignore[no-untyped-def]
    """Whether `values` may be used for a cell over the whole block."""
    if not is_linear(cells[c].op) or cells[c].born != ALWAYS or len(block.other) > 0:
        return False
    if has_ended(cells[c], block.ticks[-1]):
        return False
    weighted, mass = len(links.weight) > 0, 0.0
    for i in range(links.pointer[c], links.pointer[c + 1]):
        s = links.member[i]
        if not block.steady[s] or np.isnan(block.value[s, 0]):
            return False
        mass += links.weight[i] if weighted else 1.0
    return mass != 0.0 or (cells[c].op == SUM and links.pointer[c + 1] > links.pointer[c])


@compiled
def calm(c, value, links):  # type: ignore[no-untyped-def]
    """The reading of a cell whose members are all there; nothing is said of its drift."""
    known = links.pointer[c + 1] - links.pointer[c]
    return Reading(value, 0.0, 0.0, np.inf, known, 0, 0.0, value, value)


@compiled
def turning(block, paths):  # type: ignore[no-untyped-def]
    """Whether some series falls silent in a block, or is back."""
    for s in range(len(paths)):
        if not block.steady[s] and _turn(block, paths[s], s, ALWAYS, NEVER) < NEVER:
            return True
    return False


@compiled
def _turn(block, path, s, after, until):  # type: ignore[no-untyped-def]
    """Tick of a block at which a series falls silent or is back, the first between two ticks."""
    at, ticks = block.before[s], block.ticks
    quiet = at != ALWAYS and float(block.prior - at) > path.gap
    for k in range(len(ticks)):
        if ticks[k] >= until:
            break
        if block.came[s, k]:
            at = ticks[k]
        now = at != ALWAYS and float(ticks[k] - at) > path.gap
        if now != quiet and ticks[k] > after:
            return ticks[k]
        quiet = now
    return until


@compiled
def next_end(c, after, scene):  # type: ignore[no-untyped-def]
    """The first tick of the block after one at which a group has no series any more."""
    block, links = scene.block, scene.links
    for i in range(links.pointer[c], links.pointer[c + 1]):
        s = links.member[i]
        if block.lasting[s] and not np.isnan(block.value[s, 0]):
            return NEVER
    for j in range(len(block.ticks)):
        if block.ticks[j] > after and deserted(c, j, block, scene.paths, links):
            return block.ticks[j]
    return NEVER


@compiled
def find_ends(scene):  # type: ignore[no-untyped-def]
    """Note for each group the first tick of the block at which it has no series."""
    for c in scene.groups:
        scene.cells[c].ends = next_end(c, ALWAYS, scene)


@compiled
def next_turn(c, after, scene):  # type: ignore[no-untyped-def]
    """The first tick of the block after one at which a cell must be looked at by its members.

    One falls silent or is back, or none is left.
    """
    block, links, first = scene.block, scene.links, NEVER
    if scene.cells[c].grouped:
        first = scene.cells[c].ends
        if first <= after:
            first = next_end(c, after, scene)
    if scene.cells[c].op == COUNT:
        return first
    for i in range(links.pointer[c], links.pointer[c + 1]):
        s = links.member[i]
        if not block.steady[s]:
            first = _turn(block, scene.paths[s], s, after, first)
    return first


@compiled
def wake(scene):  # type: ignore[no-untyped-def]
    """Bring deadlines forward to the first tick at which members ask for a look."""
    memory, cells = scene.memory, scene.cells
    for c in scene.groups:
        mine = memory.cell[c]
        if mine.regime == TIMER and mine.evaluations > 0 and not cells[c].paused:
            memory.due[c] = min(memory.due[c], cells[c].ends)
    if not turning(scene.block, scene.paths):
        return
    for c in range(len(cells)):
        if memory.cell[c].regime == TIMER and not cells[c].paused:
            memory.due[c] = min(memory.due[c], next_turn(c, ALWAYS, scene))
