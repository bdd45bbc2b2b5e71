"""Cell choice: how many rows of each cell of a selection are tested next."""

from __future__ import annotations

import math

import numpy as np

from streamgauge.kernel.jit import compiled
from streamgauge.promise.buckets import EXPECTED, LEFT, chance_of, rate_of

# Matches that must have been expected of the tests of a bucket before it counts as tried.
TRIAL = 4
# Of the tests of a round one in so many, at most, tries buckets of which too little is known.
TRIED = 4
# A cell that is expected to hold less than this many matches promises nothing.
SOMETHING = 0.5


@compiled
def weighed(table, spans, learned, counts, fresh, whole):  # type: ignore[no-untyped-def]
    """Chosen rows, matches that ranges let expect of them, by bucket, and some sums.

    These are the share of the buckets in hand of which something is known, and the matches
    expected of the chosen rows and of the rows that just came.
    """
    zones, buckets, _ = table.shape
    shares, sums = np.zeros(buckets), np.zeros(3)
    rate, held = rate_of(learned), 0.0
    for b in range(buckets):
        left = 0.0
        for z in range(zones):
            new = z == zones - 1 and fresh[b] > 0
            if table[z, b, LEFT] > 0.0 or new:
                left += table[z, b, LEFT]
                share, chance = chance_of(table[z, b], spans, learned[:, b], rate, whole)
                shares[b] += counts[z, b] * share
                sums[1] += counts[z, b] * chance
                if new:
                    sums[2] += fresh[b] * chance
        if left > 0.0:
            held += 1.0
            sums[0] += learned[EXPECTED, b] / (learned[EXPECTED, b] + 1.0)
    sums[0] /= max(1.0, held)
    return shares, sums


@compiled
def chosen_of(table, spans, learned, values, fresh, how):  # type: ignore[no-untyped-def]
    """Rows to test in each cell: the best cells first, of equal ones the newest, evenly by rows."""
    zones, buckets, _ = table.shape
    budget, ascending, whole = how[0], how[1] == 1, how[2] == 1
    rank = np.full(zones * buckets, math.inf)
    most, best = np.zeros(zones * buckets), 0.0
    for i in range(zones * buckets):
        z, b = zones - 1 - i // buckets, i % buckets
        if table[z, b, LEFT] > 0.0:
            share, chance = chance_of(table[z, b], spans, learned[:, b], 0.5, whole)
            value = values[z, b] if len(values) else 1.0
            most[i], best = share * value, max(best, chance * value)
            if not ascending:
                rank[i] = -chance * value
            elif chance * table[z, b, LEFT] >= SOMETHING:
                rank[i] = chance * value
    order = np.argsort(rank, kind="mergesort")
    room = table[:, :, LEFT].astype(np.int64)
    counts = np.zeros((zones, buckets), np.int64)
    if not whole:
        # A cell that could not be the best one even if all went well is not worth a trial.
        worth = order[(most[order] >= best) | (ascending & (most[order] > 0.0))]
        budget -= _tried(counts, room, learned[EXPECTED], worth, budget // TRIED)
    _filled(counts, room, rank, order, budget)
    return counts, *weighed(table, spans, learned, counts, fresh, whole)


@compiled
def _tried(counts, room, expected, order, budget):  # type: ignore[no-untyped-def]
    """Choose rows of buckets of which too little is known, one of each in turn; how many."""
    zones, buckets = room.shape
    known, given, before = expected.copy(), 0, -1
    while given < budget and given > before:
        before = given
        turn = known + 1.0
        for i in order:
            z, b = zones - 1 - i // buckets, i % buckets
            if given < budget and known[b] < TRIAL and turn[b] > known[b] and room[z, b] > 0:
                counts[z, b] += 1
                room[z, b] -= 1
                known[b] += 1.0
                given += 1
    return given


@compiled
def _filled(counts, room, rank, order, budget):  # type: ignore[no-untyped-def]
    """Choose rows in the order of ranks; equal cells of a zone get their share of what is left."""
    zones, buckets = room.shape
    start = 0
    while start < len(order) and budget > 0:
        end, total = start, 0
        head = order[start]
        while end < len(order) and rank[order[end]] == rank[head]:
            if order[end] // buckets != head // buckets:
                break
            total += room[zones - 1 - order[end] // buckets, order[end] % buckets]
            end += 1
        give, passed, given = min(budget, total), 0, 0
        for i in order[start:end]:
            z, b = zones - 1 - i // buckets, i % buckets
            passed += room[z, b]
            more = (give * passed + total // 2) // max(1, total) - given
            more = min(more, room[z, b], give - given)
            counts[z, b] += more
            given += more
        budget -= given
        start = end
