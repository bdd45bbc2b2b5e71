"""Slots: counters found by 64-bit word, in open addressing, for compiled loops.

A table is three arrays of one power of two: words, counts and errors. A slot is free when its count
is 0. Counts are upper ends of bars; `floor` bounds the weight of every word that is not held. When
the table is full, `purge` keeps the `keep` largest and raises the floor to the largest it drops.

With C the count above the floor, a purge takes the same amount from more than `keep` counters of at
least that much, so `(keep + 1) * floor + sum of C` never exceeds the weight that came in: the floor
is at most `(weight - sum of C) / (keep + 1)`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.jit import compiled

Words = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]

NO_WEIGHTS: Floats = np.empty(0)
IN_ORDER: npt.NDArray[np.int64] = np.empty(0, np.int64)


def slots_for(limit: int) -> int:
    """Slots for `limit` words at a load of three quarters.

    >>> slots_for(768), slots_for(769)
    (1024, 2048)
    """
    return 1 << max(1, (4 * limit - 1) // 3).bit_length()


@compiled
def home(word, n_slots):  # type: ignore[no-untyped-def]
    """The slot where the search for a word begins."""
    x = (word ^ (word >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64((x ^ (x >> np.uint64(29))) >> np.uint64(20)) & (n_slots - 1)


@compiled
def find(words, counts, word):  # type: ignore[no-untyped-def]
    """The slot of a word, or the free slot where it belongs."""
    mask = len(words) - 1
    slot = home(word, len(words))
    while counts[slot] > 0.0 and words[slot] != word:
        slot = (slot + 1) & mask
    return slot


@compiled
def refill(  # type: ignore[no-untyped-def]
    words, counts, errors, floor, new_words, new_counts, new_errors, n, keep, limit
):
    """Fill an emptied table with `n` words, or with the `keep` largest when over `limit`.

    Ties with the largest that is dropped are dropped too, unless all are ties: then the smallest
    words stay, so that a table which saw rows is never empty.
    """
    cut = 0.0
    last = np.uint64(0)
    level = False
    if n > limit:
        cut = np.partition(new_counts[:n], n - keep - 1)[n - keep - 1]
        level = cut == new_counts[:n].max()
        if level:
            last = np.sort(new_words[:n][new_counts[:n] == cut])[keep - 1]
    kept = 0
    for i in range(n):
        if new_counts[i] > cut or (level and new_counts[i] == cut and new_words[i] <= last):
            slot = find(words, counts, new_words[i])
            words[slot] = new_words[i]
            counts[slot] = new_counts[i]
            errors[slot] = new_errors[i]
            kept += 1
    return max(floor, cut), kept


@compiled
def purge(words, counts, errors, floor, keep):  # type: ignore[no-untyped-def]
    """Drop all but the `keep` largest (ties with the largest dropped go too).

    Return the new floor and the number held.
    """
    size = 0
    for slot in range(len(counts)):
        size += counts[slot] > 0.0
    held_words = np.empty(size, np.uint64)
    held_counts = np.empty(size)
    held_errors = np.empty(size)
    n = 0
    for slot in range(len(counts)):
        if counts[slot] > 0.0:
            held_words[n] = words[slot]
            held_counts[n] = counts[slot]
            held_errors[n] = errors[slot]
            counts[slot] = 0.0
            n += 1
    return refill(words, counts, errors, floor, held_words, held_counts, held_errors, n, keep, keep)


@compiled
def sweep(words, counts, errors, floor):  # type: ignore[no-untyped-def]
    """Drop every word whose count is not above the floor; return the number held."""
    n = len(counts)
    held_words = words.copy()
    held_counts = counts.copy()
    held_errors = errors.copy()
    counts[:] = 0.0
    kept = 0
    for i in range(n):
        if held_counts[i] > floor:
            slot = find(words, counts, held_words[i])
            words[slot] = held_words[i]
            counts[slot] = held_counts[i]
            errors[slot] = held_errors[i]
            kept += 1
    return kept


@compiled
def merge_tables(  # type: ignore[no-untyped-def]
    words, counts, errors, floor, their_words, their_counts, their_errors, their_floor, keep, limit
):
    """Fold another table in; a word that one does not hold weighs at most its floor there.

    Return the new floor and the number held.
    """
    size = 0
    for slot in range(len(counts)):
        size += counts[slot] > 0.0
    for slot in range(len(their_counts)):
        size += their_counts[slot] > 0.0
    new_words = np.empty(size, np.uint64)
    new_counts = np.empty(size)
    new_errors = np.empty(size)
    n = 0
    for slot in range(len(counts)):
        if counts[slot] > 0.0:
            twin = find(their_words, their_counts, words[slot])
            met = their_counts[twin] > 0.0
            new_words[n] = words[slot]
            new_counts[n] = counts[slot] + (their_counts[twin] if met else their_floor)
            new_errors[n] = errors[slot] + (their_errors[twin] if met else their_floor)
            n += 1
    for slot in range(len(their_counts)):
        if their_counts[slot] > 0.0:
            twin = find(words, counts, their_words[slot])
            if not counts[twin] > 0.0:
                new_words[n] = their_words[slot]
                new_counts[n] = their_counts[slot] + floor
                new_errors[n] = their_errors[slot] + floor
                n += 1
    counts[:] = 0.0
    return refill(
        words,
        counts,
        errors,
        floor + their_floor,
        new_words,
        new_counts,
        new_errors,
        n,
        keep,
        limit,
    )


@compiled
def place(words, counts, errors, new_words, new_counts, new_errors):  # type: ignore[no-untyped-def]
    """Put distinct words into a table that has room for them."""
    for i in range(len(new_words)):
        slot = find(words, counts, new_words[i])
        words[slot] = new_words[i]
        counts[slot] = new_counts[i]
        errors[slot] = new_errors[i]


@compiled
def fold(  # type: ignore[no-untyped-def]
    words, counts, errors, floor, held, keep, limit, column, weights, order, start, stop
):
    """Fold rows `start` to `stop` of an order (none: as they come); return floor and held."""
    for row in range(start, stop):
        i = order[row] if len(order) else row
        weight = weights[i] if len(weights) else 1.0
        slot = find(words, counts, column[i])
        if counts[slot] > 0.0:
            counts[slot] += weight
        else:
            if held == limit:
                floor, held = purge(words, counts, errors, floor, keep)
                slot = find(words, counts, column[i])
            words[slot] = column[i]
            counts[slot] = floor + weight
            errors[slot] = floor
            held += 1
    return floor, held


@compiled
def room_of(n_slots):  # type: ignore[no-untyped-def]
    """Words that a table takes before it must grow.

    >>> room_of(1024)
    768
    """
    return 3 * n_slots // 4


def grown(words: Words, counts: Floats, errors: Floats, limit: int) -> tuple[Words, Floats, Floats]:
    """A table of the same words with room for `limit`; the same one where there is room."""
    n_slots = max(slots_for(limit), len(words))
    if n_slots == len(words):
        return words, counts, errors
    new = np.zeros(n_slots, np.uint64), np.zeros(n_slots), np.zeros(n_slots)
    held = counts > 0.0
    place(*new, words[held], counts[held], errors[held])
    return new
