"""Sets of coupons of many groups in one arena, and the registers of the groups that hold too many.

A group starts without any memory. Its set has as many slots as its items need, in steps of two, and
once it would have more than a quarter of the bytes of its registers it gives them up for those.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.jit import compiled
from streamgauge.synopses.distinct.coupons import (
    LEVEL_BIT,
    Codes,
    Hashes,
    Ints,
    Registers,
    most_held,
)

FEWEST = 4
"""Slots of the smallest set."""
_BLOCK = 1024
# A row with nothing to raise, and one whose coupon is not in the set of its group.
_NOWHERE, _NEW = -1, -2
# Columns of `heads`: where the set of a group begins, its slots, its items; -1 items: registers.
START, SLOTS, HELD = 0, 1, 2
# Places of `used`: slots of the arena and rows of registers that are taken; slots that the set for
# which there is no room needs, 0 where it needs a row.
ARENA, ROWS, LACKING = 0, 1, 2


class CouponSets(NamedTuple):
    """State of many sketches; `place` is the row of registers of a group, -1 for none."""

    registers: Registers
    place: Codes
    arena: Hashes
    heads: Ints
    used: Ints


def no_sets(k: int) -> CouponSets:
    """Sketches of no group, of `k` registers each."""
    return CouponSets(
        np.zeros((0, k), np.uint8),
        np.zeros(0, np.int32),
        np.zeros(0, np.uint64),
        np.zeros((0, 3), np.int64),
        np.zeros(3, np.int64),
    )


def widened(sets: CouponSets, n_groups: int) -> CouponSets:
    """The same with room for more groups, which are empty."""
    more = n_groups - len(sets.place)
    if more <= 0:
        return sets
    return sets._replace(
        place=np.concatenate([sets.place, np.full(more, -1, np.int32)]),
        heads=np.concatenate([sets.heads, np.zeros((more, 3), np.int64)]),
    )


def slots_for(held: Ints) -> Ints:
    """Slots of sets of so many items.

    >>> slots_for(np.array([-1, 0, 1, 3, 4, 6, 7])).tolist()
    [0, 0, 4, 4, 8, 8, 16]
    """
    least = np.maximum(-(-4 * held // 3), FEWEST)
    slots = 2 ** np.ceil(np.log2(least)).astype(np.int64)
    return np.where(held > 0, slots, 0)


def repacked(sets: CouponSets, spare: int) -> CouponSets:
    """The same in an arena with `spare` free slots or more, without the sets that groups left."""
    live = int(sets.heads[:, SLOTS].sum())
    arena = np.zeros(live + live // 2 + spare, np.uint64)
    heads = sets.heads.copy()
    _repack(sets.arena, heads, arena)
    return sets._replace(arena=arena, heads=heads, used=np.array([live, sets.used[ROWS], 0]))


@compiled
def _repack(old, heads, arena):  # type: ignore[no-untyped-def]
    at = 0
    for group in range(len(heads)):
        start = heads[group, START]
        for slot in range(heads[group, SLOTS]):
            arena[at + slot] = old[start + slot]
        heads[group, START] = at
        at += heads[group, SLOTS]


def with_rows(sets: CouponSets, rows: int) -> CouponSets:
    """The same with so many rows of registers."""
    registers = np.zeros((rows, sets.registers.shape[1]), np.uint8)
    registers[: len(sets.registers)] = sets.registers
    return sets._replace(registers=registers)


@compiled
def take(sets, most, codes, coupons, row):  # type: ignore[no-untyped-def]
    """Fold coupons from a row on, each into its group; stop at a row for which there is no room.

    Places are found apart from what is done there, in loops so short that many misses of the cache
    are on their way at once. Most coupons of a set are found in it at their first slot.
    """
    place, heads, arena = sets.place, sets.heads, sets.arena
    width = sets.registers.shape[1]
    mask = np.uint64(width - 1)
    flat = sets.registers.reshape(-1)
    spots = np.empty(_BLOCK, np.int64)
    while row < len(coupons):
        n = min(_BLOCK, len(coupons) - row)
        done = n
        # No call here: handing arrays over costs more than looking.
        for i in range(n):
            group, coupon = np.int64(codes[row + i]), coupons[row + i]
            spots[i] = _NOWHERE
            if group >= 0 and place[group] >= 0:
                spots[i] = np.int64(place[group]) * width + np.int64(coupon & mask)
            elif group >= 0:
                slots = heads[group, SLOTS]
                first = heads[group, START] + (np.int64(coupon >> np.uint64(32)) & (slots - 1))
                if slots == 0 or arena[first] != coupon:
                    spots[i] = _NEW
        for i in range(n):
            if spots[i] == _NEW:
                group, coupon = np.int64(codes[row + i]), coupons[row + i]
                spots[i] = _NOWHERE
                if place[group] < 0 and not _put(sets, most, group, coupon):
                    done = i
                    break
                if place[group] >= 0:
                    spots[i] = np.int64(place[group]) * width + np.int64(coupon & mask)
        for i in range(done):
            level = np.uint8(coupons[row + i] >> np.uint64(LEVEL_BIT))
            if spots[i] >= 0 and flat[spots[i]] < level:
                flat[spots[i]] = level
        row += done
        if done < n:
            break
    return row


@compiled
def _put(sets, most, group, coupon):  # type: ignore[no-untyped-def]
    """Put a coupon into the set of a group, or give the set up; False where room is lacking."""
    start, slots = sets.heads[group, START], sets.heads[group, SLOTS]
    if slots and _found(sets.arena, start, slots, coupon):
        return True
    if sets.heads[group, HELD] + 1 > most_held(slots):
        if slots >= most:
            return fill_registers(sets, group)
        grown = min(max(FEWEST, 2 * slots), most)
        if sets.used[ARENA] + grown > len(sets.arena):
            sets.used[LACKING] = grown
            return False
        _grow(sets, group, grown)
    _insert(sets.arena, sets.heads[group, START], sets.heads[group, SLOTS], coupon)
    sets.heads[group, HELD] += 1
    return True


@compiled
def _grow(sets, group, slots):  # type: ignore[no-untyped-def]
    start, old = sets.heads[group, START], sets.heads[group, SLOTS]
    fresh = sets.used[ARENA]
    sets.used[ARENA] += slots
    for slot in range(old):
        if sets.arena[start + slot] != 0:
            _insert(sets.arena, fresh, slots, sets.arena[start + slot])
    sets.heads[group, START], sets.heads[group, SLOTS] = fresh, slots


@compiled
def _found(arena, start, slots, coupon):  # type: ignore[no-untyped-def]
    slot = np.int64(coupon >> np.uint64(32)) & (slots - 1)
    while arena[start + slot] != 0:
        if arena[start + slot] == coupon:
            return True
        slot = (slot + 1) & (slots - 1)
    return False


@compiled
def _insert(arena, start, slots, coupon):  # type: ignore[no-untyped-def]
    """Put a coupon that is not there; smaller ones go first, so that only the set decides."""
    slot = np.int64(coupon >> np.uint64(32)) & (slots - 1)
    while arena[start + slot] != 0:
        other = arena[start + slot]
        if other > coupon:
            arena[start + slot] = coupon
            coupon = other
        slot = (slot + 1) & (slots - 1)
    arena[start + slot] = coupon


@compiled
def fill_registers(sets, group):  # type: ignore[no-untyped-def]
    """Give up the set of a group for registers; False where there is no row for them."""
    row = sets.used[ROWS]
    if row >= len(sets.registers):
        sets.used[LACKING] = 0
        return False
    sets.used[ROWS] += 1
    mask = np.uint64(sets.registers.shape[1] - 1)
    start = sets.heads[group, START]
    for slot in range(sets.heads[group, SLOTS]):
        coupon = sets.arena[start + slot]
        place = np.int64(coupon & mask)
        level = np.uint8(coupon >> np.uint64(LEVEL_BIT))
        if sets.registers[row, place] < level:
            sets.registers[row, place] = level
    sets.place[group] = row
    sets.heads[group, START], sets.heads[group, SLOTS], sets.heads[group, HELD] = 0, 0, -1
    return True


@compiled
def raise_rows(sets, others, place):  # type: ignore[no-untyped-def]
    """The larger of two registers, for the groups of `place` that have a row of `others`."""
    for group in range(len(place)):
        if place[group] >= 0:
            mine, theirs = sets.registers[sets.place[group]], others[place[group]]
            for at in range(len(theirs)):
                if mine[at] < theirs[at]:
                    mine[at] = theirs[at]


@compiled
def listed(arena, heads, codes, coupons):  # type: ignore[no-untyped-def]
    """Write the coupons of all sets, group by group, with their groups."""
    at = 0
    for group in range(len(heads)):
        start = heads[group, START]
        for slot in range(heads[group, SLOTS]):
            if arena[start + slot] != 0:
                codes[at], coupons[at] = group, arena[start + slot]
                at += 1


def coupons_held(sets: CouponSets) -> tuple[npt.NDArray[np.int32], Hashes]:
    """The coupons of all sets, group by group, and the group of each."""
    n = int(np.maximum(sets.heads[:, HELD], 0).sum())
    codes, coupons = np.empty(n, np.int32), np.empty(n, np.uint64)
    listed(sets.arena, sets.heads, codes, coupons)
    return codes, coupons
