"""Pools: fixed parts of the cells of a stream, in which cells share a capacity.

A cell is in a pool by a hash of what it is. A pool lies whole on one shard, so that what is decided
in it is the same however many shards there are. Pools are a power of two: each is a union of the
hash buckets of any larger power of two.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from streamgauge.operators.emission import Codes, Ints

MOST = 64
# A pool has so many reads a tick or more, unless the capacity is less: with fewer, chance would
# leave one pool short of what another has left over.
READS = 8192


class Pools(NamedTuple):
    """The pool of each cell; what evaluations of a pool may read at a tick; what it owes.

    `owed` are reads beyond the share that a pool has taken and has not yet made up for.
    """

    of: Codes
    share: Ints
    owed: Ints


def pools_of(capacity: int | None) -> int:
    """How many pools the cells of a stream are in.

    >>> pools_of(None), pools_of(1_000), pools_of(100_000), pools_of(10**9)
    (64, 1, 8, 64)
    """
    if capacity is None:
        return MOST
    return 1 << (min(MOST, max(1, capacity // READS)).bit_length() - 1)


def shares_of(capacity: int) -> Ints:
    """Reads a tick of each pool; together they are the capacity.

    >>> shares_of(20_001).tolist()
    [10001, 10000]
    """
    n = pools_of(capacity)
    shares: Ints = capacity // n + (np.arange(n) < capacity % n).astype(np.int64)
    return shares
