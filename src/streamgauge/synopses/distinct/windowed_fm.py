"""Windowed FM: distinct items of a sliding window, or of any shorter one.

PCSA with a time in place of each bit: that of the last item which set it. A bit is set for a window
when its time lies in it. Parts merge by the later time.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from streamgauge.contracts.estimate import Estimate
from streamgauge.kernel.jit import compiled
from streamgauge.synopses.distinct.bitmaps import LEVELS, lowest_unset, place_of
from streamgauge.synopses.distinct.registers import Registers
from streamgauge.synopses.distinct.sizing import smallest
from streamgauge.synopses.distinct.window import (
    LONG_AGO,
    check_times,
    check_within,
    in_window,
    window_of,
)
from streamgauge.synopses.questions import Distinct
from streamgauge.synopses.synopsis import Expiring, Floats, Ints, Need, Trial


class WindowedFm(Registers, Expiring):
    """Distinct items of the last `window` of time, within about `0.78 / sqrt(k)`.

    Parameters
    ----------
    k
        Bitmaps of times, a power of two; 352 bytes each.
    window
        Longest window asked about, in the unit of the times.
    delta
        Chance that a bar fails.
    seed
        Chooses the hash; parts to be merged need the same.

    Examples
    --------
    >>> counter = WindowedFm(k=256, window=10, seed=7)
    >>> counter.update(["a", "b", "a"], times=[1, 2, 9])
    >>> counter.advance(14)
    >>> print(counter.query(Distinct()))
    1 in [1, 1] at 95% confidence, windowed_fm

    References
    ----------
    DGIM02, FM85: docs/references.md
    """

    name = "windowed_fm"
    law = "pcsa"
    cite = "DGIM02 sec 7"
    powers = range(4, 16)
    fields = ("now", "latest")
    small = (64, 1000)

    def __init__(self, k: int, window: int, delta: float = 0.05, *, seed: int = 0) -> None:
        check_within(self.name, window)
        super().__init__(k, delta, seed=seed)
        self.window = window
        self.now = LONG_AGO
        self.latest: Ints = np.full((k, LEVELS), LONG_AGO, np.int64)

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """The fewest bitmaps whose widest bar is within the contract."""
        window = window_of(need, cls.name)
        sizes = [1 << power for power in cls.powers]
        return smallest(need, cls.name, sizes, lambda k, delta: cls(k, window, delta, seed=seed))

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Twice as many items as the window holds, no item twice."""
        items = np.arange(2000, dtype=np.int64) + 4096 * seed
        return Trial(items, Distinct(), times=np.arange(2000), now=1999)

    def advance(self, now: int) -> None:
        """Move the clock."""
        self.now = max(self.now, now)

    def weights_at(self, times: Ints, now: int) -> Floats:
        """One for rows younger than the window."""
        return in_window(times, now, self.window)

    def distinct_in(self, window: int) -> Estimate:
        """Distinct items of the last `window`, no longer than the one kept."""
        check_within(self.name, window, self.window)
        return self._bar(*self._span(*self._scores(window)), self.delta)

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        instants = check_times(self.name, times)
        _stamp_levels(self.latest, column, instants, self.k.bit_length() - 1)
        self.advance(int(instants.max()))

    def _merge(self, other: Self) -> None:
        np.maximum(self.latest, other.latest, out=self.latest)
        self.advance(other.now)

    def _scores(self, window: int | None = None) -> tuple[int, float]:
        table = self.latest > self.now - (window or self.window)
        return int(table.any(axis=1).sum()), float(lowest_unset(table).sum())

    def validate(self) -> None:
        """No time is in the future."""
        assert self.latest.max() <= self.now


@compiled
def _stamp_levels(latest, column, times, lg):  # type: ignore[no-untyped-def]
    last = latest.shape[1] - 1
    for i in range(len(column)):
        bitmap, level = place_of(column[i], lg)
        level = min(level, last)
        if latest[bitmap, level] < times[i]:
            latest[bitmap, level] = times[i]
