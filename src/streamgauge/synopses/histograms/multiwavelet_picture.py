"""Multiwavelet picture: the largest terms of a signal in a basis where lines are cheap.

What is pictured is the signal itself or its running sums. All but that is the same: how rows come
in, what is kept of them, and how far the rest may be off.
"""

from __future__ import annotations

import math
from typing import ClassVar, Self

from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.errors import BindError
from streamgauge.synopses.histograms.multiwavelet import Multiwavelet
from streamgauge.synopses.histograms.signal import Signal, cells_for, need_at_least
from streamgauge.synopses.questions import Count
from streamgauge.synopses.synopsis import Arrays, Floats, Ints, Need, Values

DRAWN = 1 << 22
"""Cells of a signal that is drawn cell by cell to find its pieces."""


class MultiwaveletPicture(Signal):
    """The largest multiwavelet terms; a kind says of what, and what they tell of a range."""

    running: ClassVar[bool]
    small = (16,)
    """Whether the running sums are pictured instead of the signal."""

    def __init__(self, terms: int, *, seed: int = 0) -> None:
        need_at_least(self.name, terms, 1, "terms")
        super().__init__(seed=seed)
        self.terms = terms
        self.wavelet = Multiwavelet(terms, running=self.running)

    @property
    def guarantee(self) -> Guarantee:
        """Sure bars, whose width is known only once the rows are."""
        return Guarantee(
            "additive",
            math.inf,
            assumes=(
                "no width is known beforehand: bars come from the L2 error of the terms left",
            ),
            cite="MS05",
        )

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """Terms for every cell of a known universe: nothing else can be promised beforehand."""
        if isinstance(need.question, Count):
            return cls(1, seed=seed)
        return cls(cells_for(need, cls.name, 68), seed=seed)

    @property
    def error(self) -> float:
        """L2 norm of what the terms held leave out of the picture; a bound once rows were late."""
        return self.wavelet.kept.error

    def _drawn(self) -> Floats:
        """What is pictured, cell by cell, if the cells are few enough to be drawn."""
        if int(self.wavelet.place[0]) >= DRAWN:
            raise BindError(
                f"{self.name} draws a signal cell by cell to find its pieces",
                f"{int(self.wavelet.place[0]) + 1} cells, at most {DRAWN}",
                "use coarser positions",
            )
        return self.wavelet.cells()

    def _fold(self, positions: Ints, weights: Floats) -> None:
        self.wavelet.add(positions, weights)

    def _merge(self, other: Self) -> None:
        self.wavelet.take(other.copy().wavelet)
        self.negative = self.negative or other.negative

    def _state(self) -> tuple[Values, Arrays]:
        return {}, self.wavelet.arrays()

    def _restore(self, values: Values, arrays: Arrays) -> None:
        self.wavelet.load(arrays)

    @property
    def nbytes(self) -> int:
        """Bytes of the terms and of the open path."""
        return self.wavelet.nbytes
