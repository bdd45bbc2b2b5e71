"""Compactors of many KLL sketches in shared arrays, as kernels.

A group owns a piece of one arena. Its items lie at the end of the piece, the highest level last;
new items are written downwards in front of level 0, so a row costs one store. When the piece is
full, the lowest level that holds its share is sorted and every other item of it moves up, worth
twice as much. `above[g, h]` counts the items of group `g` in level `h` and higher, so nothing
changes when a piece moves to a larger place.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.hashing import mix64
from streamgauge.kernel.jit import compiled

LEVELS = 60
SMALLEST = 8
"""Least capacity of a level, as in Apache DataSketches."""
_RUN = 8

# Columns of `heads` and of `reals`.
END, ROOM, HEIGHT, COMPACTIONS, ORIGIN = 0, 1, 2, 3, 4
LOW, HIGH, NOISE = 0, 1, 2

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Compactors(NamedTuple):
    """State of many sketches.

    `spots` holds where the next item of a group goes and the lowest place it may use; `heads` the
    end and size of its piece, its levels, its compactions and the origin of its coins; `reals` its
    smallest and largest item so far compacted and the sum of squared weights of its compactions.
    `caps` is the capacity of a level by its depth below the top, `totals` of so many levels;
    `bench` is where a level is sorted.
    """

    items: Floats
    taken: Ints
    spots: Ints
    heads: Ints
    above: npt.NDArray[np.int32]
    reals: Floats
    caps: Ints
    totals: Ints
    bench: Floats
    seed: npt.NDArray[np.uint64]


@lru_cache(maxsize=64)
def capacities(k: int) -> tuple[Ints, Ints]:
    """Capacity of a level by depth below the top, and of all levels by their number.

    >>> capacities(200)[0][:4], capacities(200)[1][:4]
    (array([200, 133,  89,  59]), array([  0, 200, 333, 422]))
    """
    caps = np.array([max(SMALLEST, _shrunk(k, depth)) for depth in range(LEVELS + 1)], np.int64)
    totals = np.concatenate([[0], np.cumsum(caps)]).astype(np.int64)
    return caps, totals


def _shrunk(k: int, depth: int) -> int:
    # Rounded in the same two steps as DataSketches, so that both agree on what is full.
    if depth > 30:
        half = depth // 2
        return _shrunk(_shrunk(k, half), depth - half)
    return int(((2 * k) << depth) // 3**depth + 1) >> 1


def fresh(k: int, n_groups: int, seed: int) -> Compactors:
    """State of so many empty sketches."""
    caps, totals = capacities(k)
    state = Compactors(
        np.empty(SMALLEST * n_groups),
        np.zeros(1, np.int64),
        np.zeros((0, 2), np.int64),
        np.zeros((0, 5), np.int64),
        np.zeros((0, LEVELS + 1), np.int32),
        np.zeros((0, 3)),
        caps,
        totals,
        np.empty(totals[-1]),
        np.array([seed], np.uint64),
    )
    return widened(state, n_groups)


def widened(state: Compactors, n_groups: int) -> Compactors:
    """The same state with room for more groups, which are empty."""
    more = n_groups - len(state.heads)
    if more <= 0:
        return state
    # Empty groups own nothing: where they write lies below what they may use.
    heads = np.zeros((more, 5), np.int64)
    heads[:, HEIGHT] = 1
    reals = np.zeros((more, 3))
    reals[:, LOW], reals[:, HIGH] = np.inf, -np.inf
    return state._replace(
        spots=np.concatenate([state.spots, np.tile(np.array([[-1, 0]], np.int64), (more, 1))]),
        heads=np.concatenate([state.heads, heads]),
        above=np.concatenate([state.above, np.zeros((more, LEVELS + 1), np.int32)]),
        reals=np.concatenate([state.reals, reals]),
    )


def repacked(state: Compactors, spare: int) -> Compactors:
    """The same state in a larger arena without the pieces that groups have left."""
    live = int(state.heads[:, ROOM].sum())
    items = np.empty(2 * live + spare)
    _repack(state, items)
    return state._replace(items=items)


@compiled
def _copy(source, start, target, at, count):  # type: ignore[no-untyped-def]
    # Loops instead of slices here and below: they compile many times faster.
    for i in range(count):
        target[at + i] = source[start + i]


@compiled
def _repack(state, items):  # type: ignore[no-untyped-def]
    at = 0
    for group in range(len(state.heads)):
        room = state.heads[group, ROOM]
        old = state.heads[group, END] - room
        _copy(state.items, old, items, at, room)
        state.heads[group, END] += at - old
        state.spots[group, 0] += at - old
        state.spots[group, 1] += at - old
        at += room
    state.taken[0] = at


def folded(state: Compactors, groups: npt.NDArray[np.int32], column: Floats) -> Compactors:
    """Fold rows in their order, each into its group."""
    row = 0
    while True:
        row = fold(state, groups, column, row)
        if row == len(column):
            return state
        state = repacked(state, int(state.totals[-1]))


@compiled
def fold(state, groups, column, start):  # type: ignore[no-untyped-def]
    """Fold rows from `start` on; stops early at a row for which the arena has no room."""
    items, spots = state.items, state.spots
    for row in range(start, len(column)):
        group = groups[row]
        if group < 0:
            continue
        spot = spots[group, 0]
        if spot < spots[group, 1]:
            if not _make_room(state, group):
                return row
            spot = spots[group, 0]
        items[spot] = column[row]
        spots[group, 0] = spot - 1
    return len(column)


@compiled
def _make_room(state, group):  # type: ignore[no-untyped-def]
    height = state.heads[group, HEIGHT]
    used = state.heads[group, END] - 1 - state.spots[group, 0]
    if used < state.totals[height]:
        return enlarge(state, group, min(max(SMALLEST, 2 * used), state.totals[height]))
    state.above[group, 0] = used
    level = fullest(state, group)
    if level == height - 1:
        if not enlarge(state, group, state.totals[height + 1]):
            return False
        state.heads[group, HEIGHT] = height + 1
    compact(state, group, level)
    return True


@compiled
def fullest(state, group):  # type: ignore[no-untyped-def]
    """The lowest level that holds its capacity; there is one when all of them hold theirs."""
    height = state.heads[group, HEIGHT]
    for level in range(height):
        held = state.above[group, level] - state.above[group, level + 1]
        if held >= state.caps[height - 1 - level]:
            return level
    return height - 1


@compiled
def enlarge(state, group, needed):  # type: ignore[no-untyped-def]
    """Let a group use `needed` places, in a larger piece where its own is too small."""
    heads, spots, items = state.heads, state.spots, state.items
    end, room = heads[group, END], heads[group, ROOM]
    if needed > room:
        larger = needed
        # A few sizes only, so that pieces are seldom left behind.
        if needed > state.totals[1]:
            larger = state.totals[12] if needed > state.totals[4] else state.totals[4]
            larger = max(larger, state.totals[LEVELS] if needed > larger else 0)
        start = state.taken[0]
        if start + larger > len(items):
            return False
        used = end - 1 - spots[group, 0]
        _copy(items, end - used, items, start + larger - used, used)
        state.taken[0] = start + larger
        heads[group, END] = start + larger
        heads[group, ROOM] = larger
        spots[group, 0] = start + larger - used - 1
        end = start + larger
    spots[group, 1] = end - needed
    return True


@compiled
def compact(state, group, level):  # type: ignore[no-untyped-def]
    """Sort a level, move every other item of it up, close the gap; an odd item stays."""
    items, above = state.items, state.above
    end = state.heads[group, END]
    start = end - above[group, level]
    held = above[group, level] - above[group, level + 1]
    odd = held & 1
    first = start + odd
    half = held // 2
    if level == 0:
        sort(items, first, 2 * half, state.bench)
        reals = state.reals
        reals[group, LOW] = min(reals[group, LOW], items[first])
        reals[group, HIGH] = max(reals[group, HIGH], items[start + held - 1])
    offset = _coin(state, group, first, start + held, level)
    for i in range(half):
        items[first + i] = items[first + offset + 2 * i]
    _merge_in_place(items, first, half, start + held, end - above[group, level + 2])
    for at in range(first - 1, end - above[group, 0] - 1, -1):
        items[at + half] = items[at]
    above[group, level + 1] += half
    for lower in range(level + 1):
        above[group, lower] -= half
    state.spots[group, 0] = end - above[group, 0] - 1
    state.reals[group, NOISE] += 4.0**level


@compiled
def _merge_in_place(items, left, half, right, stop):  # type: ignore[no-untyped-def]
    """Merge `half` sorted items at `left` with `items[right:stop]`, to end at `stop`."""
    at = left + half
    left_stop = at
    while left < left_stop and right < stop:
        a, b = items[left], items[right]
        from_right = np.int64(b < a)
        items[at] = b if from_right else a
        right += from_right
        left += 1 - from_right
        at += 1
    while left < left_stop:
        items[at] = items[left]
        left += 1
        at += 1


@compiled
def sort(items, start, count, bench):  # type: ignore[no-untyped-def]
    """Sort in place without branches that depend on the items; `bench` is as long at least."""
    full = count // _RUN * _RUN
    for run in range(start, start + full, _RUN):
        # The constant lets the compiler unroll what it inlines here.
        _sort_run(items, run, _RUN, bench)
    _sort_run(items, start + full, count - full, bench)
    width = _RUN
    while width < count:
        for left in range(0, count - width, 2 * width):
            middle = left + width
            for i in range(left, middle):
                bench[i] = items[start + i]
            stop = min(middle + width, count)
            _merge_back(items, start + left, start + middle, start + stop, bench, left)
        width *= 2


@compiled
def _sort_run(items, start, count, bench):  # type: ignore[no-untyped-def]
    """Put each item where the number of smaller ones says."""
    for i in range(count):
        item = items[start + i]
        place = 0
        for j in range(count):
            other = items[start + j]
            place += (other < item) | ((other == item) & (j < i))
        bench[place] = item
    for i in range(count):
        items[start + i] = bench[i]


@compiled
def _merge_back(items, at, right, stop, bench, left):  # type: ignore[no-untyped-def]
    """Merge sorted `bench[left:]`, as many as lie between `at` and `right`, with the right run."""
    left_stop = left + right - at
    while left < left_stop and right < stop:
        a, b = bench[left], items[right]
        from_right = np.int64(b < a)
        items[at] = b if from_right else a
        right += from_right
        left += 1 - from_right
        at += 1
    while left < left_stop:
        items[at] = bench[left]
        left += 1
        at += 1


@compiled
def _coin(state, group, first, stop, level):  # type: ignore[no-untyped-def]
    """A coin of the seed, the first items ever compacted here, and the number of the flip.

    Parts that are merged must not flip the same coins, or their errors would add up instead of
    cancelling; what they compacted first tells them apart.
    """
    heads = state.heads
    if heads[group, COMPACTIONS] == 0:
        word = np.uint64(stop - first)
        for at in range(first, stop):
            word = mix64(word ^ np.uint64(np.float64(state.items[at]).view(np.int64)))
        heads[group, ORIGIN] = np.int64(word)
    heads[group, COMPACTIONS] += 1
    stream = mix64(mix64(state.seed[0]) ^ np.uint64(heads[group, ORIGIN]))
    number = np.uint64(heads[group, COMPACTIONS]) * np.uint64(64) + np.uint64(level)
    return np.int64(mix64(stream + number) >> np.uint64(63))


@compiled
def sync(state, group):  # type: ignore[no-untyped-def]
    """Count the items of level 0, of which rows only move the spot."""
    state.above[group, 0] = state.heads[group, END] - 1 - state.spots[group, 0]


@compiled
def put(state, bench, group):  # type: ignore[no-untyped-def]
    """Make a group what lies on the bench; False when the arena has no room."""
    height = bench.heads[0, HEIGHT]
    used = bench.above[0, 0]
    needed = state.totals[height] if height > 1 else max(SMALLEST, used)
    if needed > state.heads[group, ROOM] and not enlarge(state, group, needed):
        return False
    end = state.heads[group, END]
    _copy(bench.items, bench.heads[0, END] - used, state.items, end - used, used)
    state.spots[group, 0] = end - used - 1
    state.spots[group, 1] = end - needed
    for level in range(LEVELS + 1):
        state.above[group, level] = bench.above[0, level]
    for column in range(NOISE + 1):
        state.reals[group, column] = bench.reals[0, column]
    state.heads[group, HEIGHT] = height
    state.heads[group, COMPACTIONS] = bench.heads[0, COMPACTIONS]
    state.heads[group, ORIGIN] = bench.heads[0, ORIGIN]
    return True


def group_of(state: Compactors, group: int) -> dict[str, Any]:
    """Arrays of one group, as they are written to bytes."""
    end = int(state.heads[group, END])
    used = end - 1 - int(state.spots[group, 0])
    height = int(state.heads[group, HEIGHT])
    above = state.above[group, :height].copy()
    above[0] = used
    return {
        "items": state.items[end - used : end].copy(),
        "above": above,
        "reals": state.reals[group].copy(),
        "heads": state.heads[group, COMPACTIONS:].copy(),
    }


def set_group(state: Compactors, group: int, arrays: dict[str, Any]) -> Compactors:
    """Put one group as it was written."""
    above = arrays["above"]
    height, used = len(above), len(arrays["items"])
    bench = fresh(int(state.caps[0]), 1, int(state.seed[0]))
    bench = bench._replace(items=arrays["items"])
    bench.heads[0, END] = used
    bench.heads[0, HEIGHT] = height
    bench.heads[0, COMPACTIONS:] = arrays["heads"]
    bench.above[0, :height] = above
    bench.reals[0] = arrays["reals"]
    if not put(state, bench, group):
        state = repacked(state, int(state.totals[-1]))
        put(state, bench, group)
    return state
