"""Dice for simulated sources and for waits that must not all end at once; a seed gives one row."""

from __future__ import annotations

import hashlib
import math

_MASK = (1 << 64) - 1


class Dice:
    """A row of numbers that looks random and is the same for the same seed.

    Examples
    --------
    >>> Dice("pump").uniform() == Dice("pump").uniform()
    True
    >>> 0.0 <= Dice(7).uniform() < 1.0
    True
    """

    def __init__(self, seed: int | str) -> None:
        digest = hashlib.blake2b(str(seed).encode(), digest_size=8).digest()
        self._state = int.from_bytes(digest, "little")
        self._spare: float | None = None

    def word(self) -> int:
        """64 bits (splitmix64)."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        word = self._state
        word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & _MASK
        return word ^ (word >> 31)

    def uniform(self) -> float:
        """A number from 0 up to 1."""
        return (self.word() >> 11) * 2.0**-53

    def normal(self) -> float:
        """A number of the standard normal law (Box and Muller)."""
        if self._spare is not None:
            spare, self._spare = self._spare, None
            return spare
        radius = math.sqrt(-2.0 * math.log(1.0 - self.uniform()))
        angle = 2.0 * math.pi * self.uniform()
        self._spare = radius * math.sin(angle)
        return radius * math.cos(angle)
