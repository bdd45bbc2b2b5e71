"""First rows: those since a landmark, held as they are until there are more than buckets."""

from __future__ import annotations

import numpy as np

from streamgauge.synopses.correlated.aggregate import CorrelatedAggregate
from streamgauge.synopses.correlated.table import MEASURES
from streamgauge.synopses.synopsis import Arrays, Floats, Values

_HELD = 1


class FirstRows(CorrelatedAggregate):
    """An aggregate since a landmark; `counts[1]` says how many rows are held as they are."""

    def __init__(self, buckets: int, reallocation: str, partition: str, *, seed: int = 0) -> None:
        super().__init__(buckets, reallocation, partition, seed=seed)
        self.held = np.zeros((MEASURES, buckets))

    def _first(self) -> Floats:
        """The rows held as they are."""
        return self.held[:, : int(self.counts[_HELD])]

    def _restore(self, values: Values, arrays: Arrays) -> None:
        super()._restore(values, arrays)
        self._first()[:] = arrays["held"]

    @property
    def nbytes(self) -> int:
        """Bytes of the buckets and of the first rows."""
        return super().nbytes + self.held.nbytes
