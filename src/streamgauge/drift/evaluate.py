"""Evaluate: the value of a cell at a tick, how it drifts, and what is unsure about it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from streamgauge.drift.block import MU, SPAN, VAR, age
from streamgauge.kernel.jit import compiled
from streamgauge.operators.accumulate import AVG, COUNT, MAX, MIN, SUM
from streamgauge.operators.emission import ALWAYS


class Reading(NamedTuple):
    """A value with its model.

    `mu` and `var` are drift and variance per tick, `span` the ticks they rest on (0: not enough is
    known). `known` members have a value, `silent` of them have none of late; their estimates vary
    by `unsure`. `other` is the value had no row been late.
    """

    value: float
    mu: float
    var: float
    span: float
    known: int
    silent: int
    unsure: float
    other: float


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
    known, silent = 0, 0
    for i in range(links.pointer[c], links.pointer[c + 1]):
        s = links.member[i]
        v = column[s, j]
        if np.isnan(v) or (born != ALWAYS and not _since(block, s, j, born)):
            continue
        late_by = block.other[s, j] - v if late else 0.0
        w = links.weight[i] if weighted else 1.0
        if not steady[s]:
            v, quiet, doubt = _bridged(block, paths[s], s, j, v)
            silent += quiet
            unsure += w * w * doubt
        known += 1
        total += w * v
        other += w * (v + late_by)
        mass += w
        mu += w * model[s, MU]
        var += w * w * model[s, VAR]
        span = min(span, model[s, SPAN])
    if known == 0 or (cells[c].op == AVG and mass == 0.0):
        return Reading(np.nan, 0.0, 0.0, 0.0, known, silent, 0.0, np.nan)
    if cells[c].op == AVG:
        total, other, mu = total / mass, other / mass, mu / mass
        var, unsure = var / (mass * mass), unsure / (mass * mass)
    return Reading(total, mu, var, span, known, silent, unsure, other if late else total)


@compiled
def foremost(c, j, block, paths, cells, links):  # type: ignore[no-untyped-def]
    """Reading of the largest or smallest member; it drifts no faster than the wildest of them."""
    column, steady, model = block.value, block.steady, block.model
    born = cells[c].born
    late = len(block.other) > 0
    sign = 1.0 if cells[c].op == MAX else -1.0
    best, other, var, span, unsure = -np.inf, -np.inf, 0.0, np.inf, 0.0
    known, silent = 0, 0
    for i in range(links.pointer[c], links.pointer[c + 1]):
        s = links.member[i]
        v = column[s, j]
        if np.isnan(v) or (born != ALWAYS and not _since(block, s, j, born)):
            continue
        late_by = block.other[s, j] - v if late else 0.0
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
        return Reading(np.nan, 0.0, 0.0, 0.0, 0, 0, 0.0, np.nan)
    return Reading(sign * best, 0.0, var, span, known, silent, unsure, sign * other)


@compiled
def reading(c, j, block, paths, cells, links):  # type: ignore[no-untyped-def]
    """The reading of a cell at a tick of the block."""
    op = cells[c].op
    if op in (MAX, MIN):
        return foremost(c, j, block, paths, cells, links)
    found = linear(c, j, block, paths, cells, links)
    if op == COUNT:
        n = float(found.known)
        return Reading(n, 0.0, 0.0, found.span, found.known, 0, 0.0, n)
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
    return Reading(value, 0.0, 0.0, np.inf, known, 0, 0.0, value)
