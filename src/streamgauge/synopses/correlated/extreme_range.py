"""Extreme range: rows that lie near the smallest or largest x, of whichever rows are in scope.

The largest x is the smallest of all x turned round, so only the smallest is ever followed.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

import numpy as np

from streamgauge.kernel.errors import BindError, IncompatibleSynopsis
from streamgauge.synopses.correlated.aggregate import CorrelatedAggregate, refuse_unknown
from streamgauge.synopses.correlated.questions import NearExtreme, Side
from streamgauge.synopses.correlated.table import MEASURES
from streamgauge.synopses.synopsis import Floats


class ExtremeRange(CorrelatedAggregate):
    """An aggregate over the rows within a range that begins at an extreme."""

    answers = (NearExtreme,)

    side: Side
    factor: float
    offset: float

    def _follow(self, side: Side, factor: float, offset: float) -> None:
        """Choose the range."""
        refuse_unknown(self.name, "side", side, ("min", "max"))
        if not (factor > 0.0 and math.isfinite(factor) and math.isfinite(offset)):
            raise BindError(
                f"{self.name} needs a factor above 0 and a finite offset",
                f"factor is {factor}, offset {offset}",
                "write factor=1.1 for the rows within a tenth of the smallest",
            )
        self.side, self.factor, self.offset = side, float(factor), float(offset)

    @abstractmethod
    def _tell(self, out: Floats) -> None:
        """Write the nine totals of the range into the first row of `out`."""

    def _turn(self, given: Floats) -> None:
        """Turn rows round where the largest x is followed."""
        if self.side == "max":
            given[0] = -given[0]

    def _totals(self, question: Any) -> Floats:
        own = (self.side, self.factor, self.offset)
        asked = (question.side, question.factor, question.offset)
        if asked != own:
            raise IncompatibleSynopsis(
                f"{self.name} answers about the range it follows",
                f"it follows {own}, asked for {asked}",
                "keep another one for that range",
            )
        out = np.empty((1, 3 * MEASURES))
        self._tell(out)
        return out.ravel()
