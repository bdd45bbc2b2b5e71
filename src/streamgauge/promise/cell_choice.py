"""Cell choice: how many rows of each cell of a selection are tested next."""

from __future__ import annotations

import math

import numpy as np

from streamgauge.kernel.jit import compiled
from streamgauge.promise.buckets import EXPECTED, LEFT, MATCHED, chance_of, rate_of

# Matches that must have been expected of the tests of a bucket before it counts as tried.
TRIAL = 4
# Of the tests of a round one in so many, at most, tries buckets of which too little is known.
TRIED = 4
# A cell that is expected to hold less than this many matches promises nothing.
SOMETHING = 0.5


@compiled
def noted(learned, shares, buckets, match):  # type: ignore[no-untyped-def]
    """Take note of tests: matches that ranges let expect, by bucket, and those that were found."""
    for b in range(len(shares)):
        learned[EXPECTED, b] += shares[b]
    for k in range(len(buckets)):
        learned[MATCHED, buckets[k]] += match[k]


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
    """Rows to test in each cell: the best cells first, of equal ones the newest, evenly by rows.

    Parameters
    ----------
    table, spans, learned, fresh
        Cells, oldest zone first, the predicate, what is known of buckets, rows that just came.
    values
        What a match in each cell is worth; of no length: the same.
    how
        Tests, whether the worst come first, whether ranges alone decide.
    """
    zones, buckets, _ = table.shape
    budget, ascending, whole = how[0], how[1] == 1, how[2] == 1
    rank, most = np.full((zones, buckets), math.inf), np.zeros((zones, buckets))
    best = 0.0
    room = table[:, :, LEFT].astype(np.int64)
    for z in range(zones):
        for b in range(buckets):
            if room[z, b] > 0:
                share, chance = chance_of(table[z, b], spans, learned[:, b], 0.5, whole)
                value = values[z, b] if len(values) else 1.0
                most[z, b], best = share * value, max(best, chance * value)
                if not ascending:
                    rank[z, b] = -chance * value
                elif chance * table[z, b, LEFT] >= SOMETHING:
                    rank[z, b] = chance * value
    counts = np.zeros((zones, buckets), np.int64)
    if not whole and budget >= TRIED:
        # A cell that could not be the best one even if all went well is not worth a trial.
        least = 0.0 if ascending else best
        budget -= _tried(counts, room, learned[EXPECTED], most >= least, budget // TRIED)
    while budget > 0 and _filled(counts, room, rank, budget) > 0:
        budget = how[0] - counts.sum()
    return counts, *weighed(table, spans, learned, counts, fresh, whole)


@compiled
def _tried(counts, room, expected, worth, budget):  # type: ignore[no-untyped-def]
    """Choose rows of buckets of which too little is known, least first, newest rows; how many."""
    zones, buckets = room.shape
    known, given = expected.copy(), 0
    for level in range(TRIAL):
        for b in range(buckets):
            for z in range(zones - 1, -1, -1):
                if worth[z, b] and room[z, b] > 0 and known[b] <= level and given < budget:
                    counts[z, b] += 1
                    room[z, b] -= 1
                    known[b] += 1.0
                    given += 1
    return given


@compiled
def _filled(counts, room, rank, budget):  # type: ignore[no-untyped-def]
    """Choose rows of the best cells of the newest zone that has one, by what each has; how many."""
    zones, buckets = room.shape
    zone, first, total = -1, math.inf, 0
    for z in range(zones - 1, -1, -1):
        for b in range(buckets):
            if room[z, b] > 0 and (zone < 0 or rank[z, b] < first):
                zone, first = z, rank[z, b]
    for b in range(buckets):
        if zone >= 0 and rank[zone, b] == first:
            total += room[zone, b]
    give, passed, given = min(budget, total), 0, 0
    for b in range(buckets):
        if total > 0 and rank[zone, b] == first:
            passed += room[zone, b]
            # The remainders go where the half of a row is passed.
            more = min((give * passed + total // 2) // total - given, room[zone, b], give - given)
            counts[zone, b] += more
            room[zone, b] -= more
            given += more
    return given
