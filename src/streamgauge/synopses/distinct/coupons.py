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
from streamgauge.kernel.keys import Items, key_pairs
from streamgauge.synopses.distinct.bits import leading_zeros

Hashes = npt.NDArray[np.uint64]
Registers = npt.NDArray[np.uint8]
Codes = npt.NDArray[np.int32]

DATASKETCHES_SEED = 9001
MAX_LEVEL = 63

_ONE_GROUP = np.empty(0, np.int32)


def fold(registers: Registers, given: Items, groups: Codes | None, seed: int) -> None:
    """Raise the registers of each row's group (row of the table) to the row's level."""
    codes = _ONE_GROUP if groups is None else groups
    words = _words(given.values)
    # The halves of a hash are not independent when its seed equals the length of the item.
    salt = seed if seed == DATASKETCHES_SEED else int(mix64(np.uint64(seed)))
    if words is not None:
        _fold_words(registers, codes, words, np.uint64(salt))
    else:
        _fold_pairs(registers, codes, *key_pairs(given, seed=salt))


def _words(values: Any) -> Hashes | None:
    """Whole numbers and floats as the eight bytes that are hashed; None for other types."""
    if pa.types.is_int64(values.type):
        whole: Hashes = np.asarray(values.to_numpy(), np.int64).view(np.uint64)
        return whole
    return None


@compiled
def _fold_words(registers, groups, words, seed):  # type: ignore[no-untyped-def]
    mask = np.uint64(registers.shape[1] - 1)
    grouped = len(groups) > 0
    for i in range(len(words)):
        group = groups[i] if grouped else 0
        if group >= 0:
            first, second = murmur_word(words[i], seed)
            level = np.uint8(min(leading_zeros(second) + 1, MAX_LEVEL))
            place = first & mask
            if registers[group, place] < level:
                registers[group, place] = level


@compiled
def _fold_pairs(registers, groups, firsts, seconds):  # type: ignore[no-untyped-def]
    mask = np.uint64(registers.shape[1] - 1)
    grouped = len(groups) > 0
    for i in range(len(firsts)):
        group = groups[i] if grouped else 0
        if group >= 0:
            level = np.uint8(min(leading_zeros(seconds[i]) + 1, MAX_LEVEL))
            place = firsts[i] & mask
            if registers[group, place] < level:
                registers[group, place] = level


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
