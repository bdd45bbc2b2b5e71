"""Coupons: where an item falls in a table of registers, by the rule of Apache DataSketches.

The low bits of the first half of the hash name the register; the zeros that begin the second half,
plus one, are the level. HLL keeps the largest level of each register, CPC keeps every coupon.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamgauge.kernel.hashing import mix64, murmur_word
from streamgauge.kernel.jit import compiled
from streamgauge.kernel.keys import DATASKETCHES_SEED, Items, key_pairs
from streamgauge.synopses.distinct.bits import leading_zeros

Hashes = npt.NDArray[np.uint64]
Registers = npt.NDArray[np.uint8]
Codes = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]

MAX_LEVEL = 63

_ONE_GROUP: Codes = np.empty(0, np.int32)
_NO_ROWS: Ints = np.empty(0, np.int64)
_BLOCK = 1024
_NO_COUPONS: Hashes = np.empty((0, 0), np.uint64)
LEVEL_BIT = 58
"""A coupon is the low 58 bits of the first half of the hash, below the 6 bits of the level."""


def fold(
    registers: Registers,
    given: Items,
    seed: int,
    groups: Codes = _ONE_GROUP,
    rows: Ints = _NO_ROWS,
    few: Hashes = _NO_COUPONS,
    held: Ints = _NO_ROWS,
) -> None:
    """Raise the registers of each row's group (row of the table) to the row's level.

    `rows` counts the rows of each group, from place 1 on; place 0 is for those of nobody. `few` are
    the coupons of groups that hold no more than `held` says; -1 is a group that holds too many.
    """
    salt = _salt(seed)
    words = _words(given.values)
    if words is not None:
        _fold_words(registers, groups, rows, words, np.uint64(salt), few, held)
    else:
        _fold_pairs(registers, groups, rows, *key_pairs(given, seed=salt), few, held)


def _words(values: Any) -> Hashes | None:
    """Whole numbers and floats as the eight bytes that are hashed; None for other types."""
    if pa.types.is_int64(values.type):
        whole: Hashes = np.asarray(values.to_numpy(), np.int64).view(np.uint64)
        return whole
    return None


@compiled
def _fold_words(registers, groups, rows, words, seed, few, held):  # type: ignore[no-untyped-def]
    places = np.empty(_BLOCK, np.int64)
    levels = np.empty(_BLOCK, np.uint8)
    lows = np.empty(_BLOCK, np.uint64)
    mask = np.uint64(registers.shape[1] - 1)
    for start in range(0, len(words), _BLOCK):
        n = min(_BLOCK, len(words) - start)
        for i in range(n):
            first, second = murmur_word(words[start + i], seed)
            places[i] = np.int64(first & mask)
            lows[i] = first
            levels[i] = np.uint8(min(leading_zeros(second) + 1, MAX_LEVEL))
        _raise(registers, groups, rows, places, levels, start, n)
        if len(held):
            _remember(few, held, groups, lows, levels, start, n)


@compiled
def _fold_pairs(registers, groups, rows, firsts, seconds, few, held):  # type: ignore[no-untyped-def]
    places = np.empty(_BLOCK, np.int64)
    levels = np.empty(_BLOCK, np.uint8)
    lows = np.empty(_BLOCK, np.uint64)
    mask = np.uint64(registers.shape[1] - 1)
    for start in range(0, len(firsts), _BLOCK):
        n = min(_BLOCK, len(firsts) - start)
        for i in range(n):
            places[i] = np.int64(firsts[start + i] & mask)
            lows[i] = firsts[start + i]
            levels[i] = np.uint8(min(leading_zeros(seconds[start + i]) + 1, MAX_LEVEL))
        _raise(registers, groups, rows, places, levels, start, n)
        if len(held):
            _remember(few, held, groups, lows, levels, start, n)


@compiled
def _raise(registers, groups, rows, places, levels, start, n):  # type: ignore[no-untyped-def]
    """Raise registers of a block of rows whose places and levels are known.

    Apart from hashing, this loop is so short that many misses of the cache are on their way at
    once: a table of a thousand groups is filled more than twice as fast.
    """
    flat = registers.reshape(-1)
    if len(groups):
        width = registers.shape[1]
        for i in range(n):
            group = np.int64(groups[start + i])
            rows[group + 1] += 1
            places[i] += group * width
    for i in range(n):
        place = places[i]
        if place >= 0 and flat[place] < levels[i]:
            flat[place] = levels[i]


@compiled
def _remember(few, held, groups, lows, levels, start, n):  # type: ignore[no-untyped-def]
    """Put the coupons of a block of rows into the sets of groups that hold few."""
    low = (np.uint64(1) << np.uint64(LEVEL_BIT)) - np.uint64(1)
    flat = few.reshape(-1)
    width = few.shape[1]
    many = len(groups) > 0
    for i in range(n):
        group = np.int64(groups[start + i]) if many else np.int64(0)
        if group >= 0:
            coupon = (lows[i] & low) | (np.uint64(levels[i]) << np.uint64(LEVEL_BIT))
            # Nearly all rows of few items are found at once; no call for them.
            first = group * width + (np.int64(coupon >> np.uint64(32)) & (width - 1))
            if flat[first] != coupon and held[group] >= 0:
                _put(few, held, group, coupon)


@compiled
def _put(few, held, group, coupon):  # type: ignore[no-untyped-def]
    """Put a coupon into the set of a group; a set beyond three quarters of its slots is given up.

    Smaller coupons go first on the way from a slot to the next, so that the slots depend on the
    set alone and not on the order in which it was filled.
    """
    last = few.shape[1] - 1
    slot = np.int64(coupon >> np.uint64(32)) & last
    while few[group, slot] != 0:
        other = few[group, slot]
        if other == coupon:
            return
        if other > coupon:
            few[group, slot] = coupon
            coupon = other
        slot = (slot + 1) & last
    few[group, slot] = coupon
    held[group] += 1
    if held[group] > most_held(last + 1):
        held[group] = -1
        few[group, :] = 0


@compiled
def most_held(slots):  # type: ignore[no-untyped-def]
    """Items that a set of so many slots holds."""
    return slots * 3 // 4


def slots_of(registers: int) -> int:
    """Slots of the set of a sketch that holds few: a quarter of the bytes of its registers."""
    return max(8, registers // 32)


@compiled
def unite(few, held, others, theirs):  # type: ignore[no-untyped-def]
    """Put the sets of other groups into those of the first groups; one too large makes no set."""
    for group in range(len(theirs)):
        if theirs[group] < 0 and held[group] >= 0:
            held[group] = -1
            few[group, :] = 0
        for slot in range(others.shape[1]):
            if held[group] >= 0 and others[group, slot] != 0:
                _put(few, held, group, others[group, slot])


def coupons_of(given: Items, seed: int) -> Hashes:
    """The coupon of each item."""
    salt = _salt(seed)
    words = _words(given.values)
    if words is not None:
        return _word_coupons(words, np.uint64(salt))  # type: ignore[no-any-return]
    return _pair_coupons(*key_pairs(given, seed=salt))  # type: ignore[no-any-return]


def _salt(seed: int) -> int:
    """The seed of the hash; its halves are not independent when it equals the item's length."""
    return seed if seed == DATASKETCHES_SEED else int(mix64(np.uint64(seed)))


@compiled
def _coupon(first, second):  # type: ignore[no-untyped-def]
    low = (np.uint64(1) << np.uint64(LEVEL_BIT)) - np.uint64(1)
    level = np.uint64(min(leading_zeros(second) + 1, MAX_LEVEL))
    return (first & low) | (level << np.uint64(LEVEL_BIT))


@compiled
def _word_coupons(words, seed):  # type: ignore[no-untyped-def]
    out = np.empty(len(words), np.uint64)
    for i in range(len(words)):
        first, second = murmur_word(words[i], seed)
        out[i] = _coupon(first, second)
    return out


@compiled
def _pair_coupons(firsts, seconds):  # type: ignore[no-untyped-def]
    out = np.empty(len(firsts), np.uint64)
    for i in range(len(firsts)):
        out[i] = _coupon(firsts[i], seconds[i])
    return out


def registers_of(coupons: Hashes, k: int) -> Registers:
    """Registers that a set of coupons fills."""
    out: Registers = np.zeros(k, np.uint8)
    places = (coupons & np.uint64(k - 1)).astype(np.int64)
    np.maximum.at(out, places, (coupons >> np.uint64(LEVEL_BIT)).astype(np.uint8))
    return out


@compiled
def register_sums(registers, powers, occupied, totals):  # type: ignore[no-untyped-def]
    """Registers in use and the sum of `powers` of their levels, for each row of the table."""
    for row in range(len(registers)):
        count = 0
        total = 0.0
        for level in registers[row]:
            count += level > 0
            total += powers[level]
        occupied[row] = count
        totals[row] = total
