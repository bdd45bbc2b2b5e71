"""AMS, the tug of war: the second moment from counters that every row pulls one way or the other.

Each counter has a coin of its own for every item and adds all weights with these signs. Its square
is on average the sum of the squared weights of the items. `fast_ams` gives the same estimates in a
few steps for each row instead of one for each counter; this one is its measure.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from streamgauge.synopses.moments.fast_ams import FastAms, sizes
from streamgauge.synopses.questions import Moment
from streamgauge.synopses.synopsis import Need, Trial, Values


class Ams(FastAms):
    """Sum of squares, join size and distance from independent counters.

    Parameters
    ----------
    copies
        Counters, each a full estimate; four times as many halve the error.
    delta
        Chance that one bar fails.
    seed
        Chooses the hashes; streams to be merged, joined or compared need the same.

    Examples
    --------
    >>> sketch = Ams(400, seed=7)
    >>> sketch.update([1, 1, 2, 3])
    >>> found = sketch.query(Moment(2))
    >>> found.low < 6.0 < found.high
    True

    References
    ----------
    AMS99, AGMS02: docs/reference/synopses/moments.md
    """

    name = "ams"
    small = (120,)

    def __init__(self, copies: int, delta: float = 0.05, *, seed: int = 0) -> None:
        super().__init__(1, copies, delta, seed=seed)

    @property
    def parameters(self) -> Values:
        """Copies and chance of failure."""
        return {"copies": self.depth, "delta": self.delta}

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """As many counters as `fast_ams` has in all its rows."""
        width, depth = sizes(cls.name, need)
        # A counter and the four numbers of its hash.
        need.afford(cls.name, 40.0 * width * depth)
        return cls(width * depth, 1.0 - need.contract.confidence, seed=seed)

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Many items of equal weight: the variance of each counter reaches its bound."""
        return Trial(np.arange(400, dtype=np.int64) + 1000 * seed, Moment(2.0))
