"""SuperLogLog: LogLog without its largest registers, which carry most of the noise."""

from __future__ import annotations

import math

import numpy as np

from streamgauge.synopses.distinct.loglog import Loglog
from streamgauge.synopses.distinct.register_law import TRIM


class SuperLoglog(Loglog):
    """Distinct items within about `1.05 / sqrt(k)` (one deviation) of their number.

    The smallest seven tenths of the registers are averaged. The factor that turns their average
    into a count is worked out for each number of registers instead of being one constant.

    Parameters
    ----------
    k
        Registers, a power of two.
    delta
        Chance that a bar fails.
    seed
        Chooses the hash; parts to be merged need the same.

    Examples
    --------
    >>> from streamgauge.synopses.questions import Distinct
    >>> counter = SuperLoglog(k=256, seed=7)
    >>> counter.update(["a", "b", "a", None])
    >>> print(counter.query(Distinct()))
    2 in [2, 2] at 95% confidence, super_loglog

    References
    ----------
    DF03: docs/references.md
    """

    name = "super_loglog"
    law = "super_loglog"
    cite = "DF03 sec 4"

    @property
    def raw(self) -> int:
        """The estimate with one factor for all sizes, without the correction for few items."""
        kept = int(TRIM * self.k)
        mean = self._total() / kept - 1.0
        return math.floor(1.54 * self.k * math.pow(2.0, mean))

    def _total(self) -> float:
        kept = int(TRIM * self.k)
        return float(np.partition(self.registers, kept - 1)[:kept].sum(dtype=np.int64))
