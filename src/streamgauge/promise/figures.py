"""Figures: what a promising query has done so far, for those who look after it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from streamgauge.promise.costs import UNLIMITED

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
# How a tick was worked: everything, by promise, or rows as they came until the budget was spent.
EXACT, GUIDED, RAW = 0, 1, 2
MODES = ("exact", "summaries", "raw")


@dataclass(slots=True)
class Figures:
    """Counts over all ticks since a query began, and how the newest tick left it.

    Parameters
    ----------
    ticks, overloaded, raw
        Ticks with something to do; those that could not do everything; of these, those at which
        rows were taken as they came.
    probes, allowed
        Probes used, and probes allowed at those ticks; of ticks with a limit only.
    found, given_up
        Rows found, and rows or regions that left before anyone had looked at them.
    lost
        Sum over ticks of the share of regions that was not processed.
    share, unseen, mode
        Of the newest tick: share of regions processed, estimate of rows not found, and how it
        was worked.
    zones, nbytes
        Zones of the representation, and the bytes it takes; 0 while none is needed.

    Examples
    --------
    >>> seen = Figures()
    >>> seen.tick(probes=80, allowed=100)
    >>> seen.tick(probes=100, allowed=100, share=0.5, unseen=12.0, mode=GUIDED)
    >>> seen.ticks, seen.overloaded, seen.probes, seen.mean_share
    (2, 1, 180, 0.75)
    >>> Figures(**seen.as_dict()) == seen
    True
    """

    ticks: int = 0
    overloaded: int = 0
    raw: int = 0
    probes: int = 0
    allowed: int = 0
    found: int = 0
    given_up: int = 0
    lost: float = 0.0
    share: float = 1.0
    unseen: float = 0.0
    mode: int = EXACT
    zones: int = 0
    nbytes: int = 0

    def tick(
        self,
        *,
        probes: int,
        allowed: int | None,
        share: float = 1.0,
        unseen: float = 0.0,
        mode: int = EXACT,
    ) -> None:
        """Count one tick that had something to do."""
        self.ticks += 1
        self.overloaded += mode != EXACT
        self.raw += mode == RAW
        if allowed is not None:
            self.probes += probes
            self.allowed += allowed
        self.lost += 1.0 - share
        self.share, self.unseen, self.mode = share, unseen, mode

    def over(self, probes: Ints, allowed: Ints, share: Floats, unseen: Floats, mode: Ints) -> None:
        """Count many ticks in their order; `allowed` as `Allowance.over` gives it.

        Examples
        --------
        >>> seen = Figures()
        >>> none, both = np.zeros(2), np.array([EXACT, RAW])
        >>> seen.over(np.array([3, 5]), np.array([5, 5]), np.array([1.0, 0.5]), none, both)
        >>> seen.ticks, seen.overloaded, seen.raw, seen.probes, seen.mean_share
        (2, 1, 1, 8, 0.75)
        """
        if not len(probes):
            return
        self.ticks += len(probes)
        self.overloaded += int(np.count_nonzero(mode != EXACT))
        self.raw += int(np.count_nonzero(mode == RAW))
        limited = allowed < UNLIMITED
        self.probes += int(probes[limited].sum())
        self.allowed += int(allowed[limited].sum())
        # One after the other, so that it does not matter how ticks were cut into calls.
        self.lost = float(np.cumsum(np.concatenate(([self.lost], 1.0 - share)))[-1])
        self.share, self.unseen, self.mode = float(share[-1]), float(unseen[-1]), int(mode[-1])

    @property
    def mean_share(self) -> float:
        """Share of regions processed, over all ticks."""
        return 1.0 - self.lost / self.ticks if self.ticks else 1.0

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return asdict(self)
