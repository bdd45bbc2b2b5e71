"""Rescale: the record that gives a home another number of shards."""

from __future__ import annotations

from typing import Any

from streamgauge.kernel.errors import BindError

# A shard owns at least one of the buckets that groups lie in.
MOST = 4096


def checked_shards(shards: Any) -> int:
    """A number of shards, or BindError.

    >>> checked_shards(3)
    3
    """
    if isinstance(shards, int) and not isinstance(shards, bool) and 1 <= shards <= MOST:
        return shards
    raise BindError(
        f"a data directory cannot have {shards!r} shards",
        f"a number from 1 to {MOST} is needed",
        "take about as many as there are cores",
    )
