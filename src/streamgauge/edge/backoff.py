"""How long to wait before the next attempt to reach the coordinator."""

from __future__ import annotations

from streamgauge.edge.dice import Dice

FIRST = 0.2
LONGEST = 5.0


class Backoff:
    """Waits that double up to a longest one, each shortened by chance by up to a half.

    Without chance, all agents would come back in the same instant after the coordinator did.

    Examples
    --------
    >>> backoff = Backoff("pump", first=1.0, longest=4.0)
    >>> waits = [backoff.wait() for _ in range(4)]
    >>> all(low / 2 <= wait <= low for low, wait in zip([1, 2, 4, 4], waits))
    True
    """

    def __init__(self, seed: str, *, first: float = FIRST, longest: float = LONGEST) -> None:
        self._dice = Dice(seed)
        self._first = first
        self._longest = longest
        self._next = first

    def wait(self, told: float | None = None) -> float:
        """Seconds to wait now; at least what the other side told."""
        bound, self._next = self._next, min(self._next * 2.0, self._longest)
        return max(told or 0.0, bound * (1.0 - self._dice.uniform() / 2.0))

    def reset(self) -> None:
        """Begin anew: an attempt went well."""
        self._next = self._first
