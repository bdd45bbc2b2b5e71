"""Counted tree: how many of each rank are there, and which is the k-th, in logarithmic time.

A Fenwick tree in an array. Ranks count from 0; the array holds one cell more than there are ranks.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.jit import compiled

Ints = npt.NDArray[np.int64]


@compiled
def add(tree: Ints, rank: int, amount: int) -> None:
    """Add copies of a rank."""
    place = rank + 1
    while place < len(tree):
        tree[place] += amount
        place += place & -place


@compiled
def up_to(tree: Ints, rank: int) -> int:
    """How many copies there are of this rank and those before it."""
    total = 0
    place = rank + 1
    while place > 0:
        total += tree[place]
        place -= place & -place
    return total


@compiled
def find(tree: Ints, k: int) -> int:
    """Rank of the k-th copy, from 1; the number of ranks if there are fewer copies."""
    step = 1
    while step * 2 < len(tree):
        step *= 2
    place = 0
    while step > 0:
        after = place + step
        if after < len(tree) and tree[after] < k:
            k -= tree[after]
            place = after
        step //= 2
    return place
