"""Stable 64-bit hashing: the same in every process, on every machine, for ever."""

from __future__ import annotations

import hashlib


def stable_hash(text: str, *, seed: int = 0) -> int:
    """Hash text to 64 bits.

    >>> stable_hash("sensor-7") == stable_hash("sensor-7")
    True
    >>> stable_hash("sensor-7") == stable_hash("sensor-7", seed=1)
    False
    """
    salt = seed.to_bytes(8, "little")
    return int.from_bytes(
        hashlib.blake2b(text.encode(), digest_size=8, salt=salt).digest(), "little"
    )
