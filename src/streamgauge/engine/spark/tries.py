"""Tries: how often in a row a landing failed without getting anywhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

PAUSES = (0.5, 1.0, 2.0, 5.0, 10.0)
# So often in a row may a landing fail, where nothing outside is to blame, before the job is told.
MOST = 5
# One that has run so long did work, even when nothing came that it could have landed.
STEADY_SECONDS = 60.0


class Tries:
    """Counts failures of a landing that is begun again after each.

    Examples
    --------
    >>> tries = Tries()
    >>> for _ in range(MOST):
    ...     tries.begin(place=7)
    ...     count = tries.failed(place=7)
    >>> count, tries.enough
    (5, True)
    >>> tries.begin(place=7)
    >>> tries.failed(place=8), tries.enough
    (1, False)
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, pauses: Sequence[float] = PAUSES
    ) -> None:
        self.count, self.most = 0, MOST
        self._pauses = pauses
        self._clock = clock
        self._place: object = None
        self._begun = clock()

    def begin(self, place: object) -> None:
        """A landing begins; `place` is how far batches have come."""
        self._place, self._begun = place, self._clock()

    def failed(self, place: object) -> int:
        """It failed, at some place; how often in a row that is."""
        steady = self._clock() - self._begun >= STEADY_SECONDS
        self.count = 1 if steady or place != self._place else self.count + 1
        return self.count

    @property
    def enough(self) -> bool:
        """Whether trying again is of no use."""
        return self.count >= self.most

    @property
    def pause(self) -> float:
        """Seconds to wait before the next."""
        return self._pauses[min(self.count, len(self._pauses) - 1)]
