"""Evaluate: the value of a cell at a tick, how it drifts, and what is unsure about it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from streamgauge.drift.block import age
from streamgauge.kernel.jit import compiled
from streamgauge.operators.accumulate import AVG, COUNT, MAX, MIN, SUM
from streamgauge.operators.emission import ALWAYS

# Fewest increments of a series before its drift is believed.
ENOUGH = 2.0


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
def _seen(block, s, j, born):  # type: ignore[no-untyped-def]
    """Whether a cell may see a series: it has had a row since the cell's birth."""
    if born == ALWAYS:
        return not np.isnan(block.value[s, j])
    return not np.isnan(block.value[s, j]) and block.ticks[j] - age(block, s, j) > born


@compiled
def _bridged(block, paths, s, j, v):  # type: ignore[no-untyped-def]
    """Estimate of a series, whether it is silent, and the variance of the estimate's error."""
    if block.steady[s]:
        return v, False, 0.0
    quiet = float(age(block, s, j))
    if quiet <= paths.gap[s]:
        return v, False, 0.0
    if paths.span[s] <= 0.0:
        return v, True, np.inf
    unsure = paths.var[s] * (quiet + quiet * quiet / paths.span[s])
    return v + paths.mu[s] * quiet, True, unsure


@compiled
def linear(c, j, block, paths, cells, links):  # type: ignore[no-untyped-def]
    """Reading of a sum or an average."""
    start, stop = links.pointer[c], links.pointer[c + 1]
    weighted, late = len(links.weight) > 0, len(block.other) > 0
    total, other, mass, mu, var, span, unsure = 0.0, 0.0, 0.0, 0.0, 0.0, np.inf, 0.0
    known, silent = 0, 0
    for i in range(start, stop):
        s = links.member[i]
        if not _seen(block, s, j, cells.born[c]):
            continue
        known += 1
        w = links.weight[i] if weighted else 1.0
        v, quiet, doubt = _bridged(block, paths, s, j, block.value[s, j])
        silent += quiet
        unsure += w * w * doubt
        total += w * v
        mass += w
        mu += w * paths.mu[s]
        var += w * w * paths.var[s]
        span = min(span, paths.span[s] if paths.items[s] >= ENOUGH else 0.0)
        if late:
            other += w * (v + block.other[s, j] - block.value[s, j])
    if known == 0:
        return Reading(np.nan, 0.0, 0.0, 0.0, 0, 0, 0.0, np.nan)
    if cells.op[c] == AVG:
        if mass == 0.0:
            return Reading(np.nan, 0.0, 0.0, 0.0, known, silent, 0.0, np.nan)
        total, other, mu, var = total / mass, other / mass, mu / mass, var / (mass * mass)
        unsure = unsure / (mass * mass)
    return Reading(total, mu, var, span, known, silent, unsure, other if late else total)


@compiled
def foremost(c, j, block, paths, cells, links):  # type: ignore[no-untyped-def]
    """Reading of the largest or smallest member; it drifts no faster than the wildest of them."""
    start, stop = links.pointer[c], links.pointer[c + 1]
    late = len(block.other) > 0
    sign = 1.0 if cells.op[c] == MAX else -1.0
    best, other, var, span, unsure = -np.inf, -np.inf, 0.0, np.inf, 0.0
    known, silent = 0, 0
    for i in range(start, stop):
        s = links.member[i]
        if not _seen(block, s, j, cells.born[c]):
            continue
        known += 1
        v, quiet, doubt = _bridged(block, paths, s, j, block.value[s, j])
        silent += quiet
        unsure = max(unsure, doubt)
        best = max(best, sign * v)
        var = max(var, paths.var[s])
        span = min(span, paths.span[s] if paths.items[s] >= ENOUGH else 0.0)
        if late:
            other = max(other, sign * (v + block.other[s, j] - block.value[s, j]))
    if known == 0:
        return Reading(np.nan, 0.0, 0.0, 0.0, 0, 0, 0.0, np.nan)
    value = sign * best
    return Reading(value, 0.0, var, span, known, silent, unsure, sign * other if late else value)


@compiled
def reading(c, j, block, paths, cells, links):  # type: ignore[no-untyped-def]
    """The reading of a cell at a tick of the block."""
    op = cells.op[c]
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
    if cells.op[c] == AVG:
        for k in range(first, last):
            out[k] /= mass


@compiled
def plain(c, block, cells, links):  # type: ignore[no-untyped-def]
    """Whether `values` may be used for a cell over the whole block."""
    if not is_linear(cells.op[c]) or cells.born[c] != ALWAYS or len(block.other) > 0:
        return False
    weighted, mass = len(links.weight) > 0, 0.0
    for i in range(links.pointer[c], links.pointer[c + 1]):
        s = links.member[i]
        if not block.steady[s] or np.isnan(block.value[s, 0]):
            return False
        mass += links.weight[i] if weighted else 1.0
    return mass != 0.0 or (cells.op[c] == SUM and links.pointer[c + 1] > links.pointer[c])


@compiled
def calm(c, value, links):  # type: ignore[no-untyped-def]
    """The reading of a cell whose members are all there; nothing is said of its drift."""
    known = links.pointer[c + 1] - links.pointer[c]
    return Reading(value, 0.0, 0.0, np.inf, known, 0, 0.0, value)
