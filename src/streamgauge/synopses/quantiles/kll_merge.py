"""Merging of KLL sketches, group by group, as kernels.

Both parts' levels are laid together on a bench and compacted there until they fit, by the same rule
as rows are; the order of the two parts does not matter.
"""

from __future__ import annotations

import numpy as np

from streamgauge.kernel.hashing import mix64
from streamgauge.kernel.jit import compiled
from streamgauge.synopses.quantiles.kll_levels import (
    COMPACTIONS,
    END,
    HEIGHT,
    HIGH,
    LEVELS,
    LOW,
    NOISE,
    ORIGIN,
    ROOM,
    Compactors,
    compact,
    fresh,
    fullest,
    put,
    repacked,
    sort,
    sync,
)


def scratch_for(state: Compactors, other: Compactors) -> Compactors:
    """One empty group that can hold any group of one bank and any of the other at once."""
    most = int(_most(state) + _most(other) + state.totals[-1])
    bench = fresh(int(state.caps[0]), 1, int(state.seed[0]))
    bench = bench._replace(items=np.empty(most), bench=np.empty(most))
    bench.heads[0, END] = bench.heads[0, ROOM] = most
    return bench


@compiled
def _most(state):  # type: ignore[no-untyped-def]
    most = 0
    for group in range(len(state.heads)):
        most = max(most, state.heads[group, END] - 1 - state.spots[group, 0])
    return most


def merged(state: Compactors, other: Compactors) -> Compactors:
    """Fold another bank, group by group."""
    bench = scratch_for(state, other)
    group = 0
    while True:
        group = _merge_groups(state, other, bench, group)
        if group == len(other.heads):
            return state
        state = repacked(state, int(state.totals[-1]))


@compiled
def _merge_groups(state, other, bench, start):  # type: ignore[no-untyped-def]
    for group in range(start, len(other.heads)):
        if other.heads[group, END] - 1 - other.spots[group, 0] == 0:
            continue
        _join(state, other, bench, group)
        if not put(state, bench, group):
            return group
    return len(other.heads)


@compiled
def _join(state, other, bench, group):  # type: ignore[no-untyped-def]
    """Both groups' levels, merged on the bench and compacted until they fit."""
    sync(state, group)
    sync(other, group)
    height = max(state.heads[group, HEIGHT], other.heads[group, HEIGHT])
    end = bench.heads[0, END]
    at = end
    for level in range(LEVELS + 1):
        bench.above[0, level] = 0
    for level in range(height - 1, -1, -1):
        middle = at - _lay(state, group, level, bench.items, at)
        begin = middle - _lay(other, group, level, bench.items, middle)
        # Sorted also at level 0, so that the order of the parts does not matter.
        if begin < middle < at:
            sort(bench.items, begin, at - begin, bench.bench)
        at = begin
        bench.above[0, level] = end - at
    bench.spots[0, 0] = at - 1
    bench.heads[0, HEIGHT] = height
    _join_heads(state, other, bench, group)
    while bench.above[0, 0] > bench.totals[bench.heads[0, HEIGHT]]:
        level = fullest(bench, 0)
        if level == bench.heads[0, HEIGHT] - 1:
            bench.heads[0, HEIGHT] += 1
        compact(bench, 0, level)


@compiled
def _lay(part, group, level, items, stop):  # type: ignore[no-untyped-def]
    """Copy a level to end at `stop`; return how many items it holds."""
    held = part.above[group, level] - part.above[group, level + 1]
    start = part.heads[group, END] - part.above[group, level]
    for i in range(held):
        items[stop - held + i] = part.items[start + i]
    return held


@compiled
def _join_heads(state, other, bench, group):  # type: ignore[no-untyped-def]
    count, their_count = state.heads[group, COMPACTIONS], other.heads[group, COMPACTIONS]
    origin, their_origin = state.heads[group, ORIGIN], other.heads[group, ORIGIN]
    bench.reals[0, LOW] = min(state.reals[group, LOW], other.reals[group, LOW])
    bench.reals[0, HIGH] = max(state.reals[group, HIGH], other.reals[group, HIGH])
    noise, their_noise = state.reals[group, NOISE], other.reals[group, NOISE]
    bench.heads[0, COMPACTIONS] = count + their_count
    bench.reals[0, NOISE] = noise + their_noise
    if count == 0 or their_count == 0:
        bench.heads[0, ORIGIN] = origin + their_origin
    elif origin == their_origin:
        # The same coins: the errors may point the same way, so they add and not their squares.
        bench.heads[0, ORIGIN] = origin
        bench.reals[0, NOISE] = (np.sqrt(noise) + np.sqrt(their_noise)) ** 2
    else:
        both = np.uint64(origin) + np.uint64(their_origin)
        bench.heads[0, ORIGIN] = np.int64(mix64(both))
