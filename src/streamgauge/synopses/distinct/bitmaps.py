"""Bitmaps of levels: the register an item falls in, and the level of its hash.

The low bits of a mixed key name the bitmap; the zeros that end the rest of it are the level, so
level b is met by one item in 2^(b+1).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.hashing import mix64
from streamgauge.kernel.jit import compiled
from streamgauge.synopses.distinct.bits import trailing_zeros

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

PHI = 0.77351
"""Flajolet and Martin's factor: 2 to the lowest unset bit is too small by it."""

LEVELS = 44
"""Levels of tables that keep more than a bit for each; enough for 2^40 items."""


@compiled
def place_of(key, lg):  # type: ignore[no-untyped-def]
    """Bitmap and level of a key, for 2^lg bitmaps."""
    # MurmurHash3 gives even keys only when the seed equals the length of the item.
    mixed = mix64(key)
    bitmap = mixed & ((np.uint64(1) << np.uint64(lg)) - np.uint64(1))
    return bitmap, min(trailing_zeros(mixed >> np.uint64(lg)), 63 - lg)


@compiled
def set_levels(bitmaps, column, lg):  # type: ignore[no-untyped-def]
    """Set the bit of each key's level in its bitmap (one word each)."""
    for key in column:
        bitmap, level = place_of(key, lg)
        bitmaps[bitmap] |= np.uint64(1) << np.uint64(level)


@compiled
def raise_levels(registers, column, lg):  # type: ignore[no-untyped-def]
    """Raise each key's register to its level plus one."""
    for key in column:
        bitmap, level = place_of(key, lg)
        if registers[bitmap] < level + 1:
            registers[bitmap] = level + 1


def lowest_unset(table: Mask) -> Ints:
    """Place of the first False of each row; the number of columns where there is none."""
    found: Ints = np.argmin(table, axis=1)
    found[table.all(axis=1)] = table.shape[1]
    return found


def as_table(bitmaps: npt.NDArray[np.uint64]) -> Mask:
    """Words as rows of 64 bits, the lowest first."""
    shifts = np.arange(64, dtype=np.uint64)
    table: Mask = ((bitmaps[:, None] >> shifts) & np.uint64(1)).astype(np.bool_)
    return table
