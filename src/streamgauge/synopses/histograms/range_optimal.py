"""Range-optimal histogram: steps chosen so that sums over ranges come out well.

A sum over a range is a difference of two running sums, and steps in the signal are lines in its
running sums. So the running sums are what is pictured, in sloping pieces; a range then costs the
error of two points, however long it is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streamgauge.synopses.histograms.multiwavelet_picture import MultiwaveletPicture
from streamgauge.synopses.histograms.piecewise_linear import Lines, best_lines
from streamgauge.synopses.questions import RangeSum
from streamgauge.synopses.synopsis import Floats, Ints, Trial


@dataclass(frozen=True, slots=True)
class Steps:
    """A signal of steps: `heights[j]` in every cell from `edges[j]` up to `edges[j + 1]`."""

    edges: Ints
    heights: Floats

    def cells(self) -> Floats:
        """The steps, cell by cell."""
        wide: Floats = np.repeat(self.heights, np.diff(self.edges))
        return wide


def range_optimal(values: Floats, buckets: int) -> Steps:
    """Steps whose range sums are no worse than those of the best `buckets` steps, in twice as many.

    >>> range_optimal(np.array([1.0, 1.0, 1.0, 4.0, 4.0, 4.0]), 2).cells()
    array([1., 1., 1., 4., 4., 4.])
    """
    return _differences(best_lines(np.cumsum(values), buckets))


def range_error(values: Floats, steps: Floats) -> float:
    """Squared error of all sums over ranges, of steps given cell by cell.

    >>> range_error(np.array([1.0, 0.0]), np.array([0.5, 0.5]))
    0.5
    """
    off = np.concatenate([[0.0], np.cumsum(values - steps)])
    return float(len(off) * (off**2).sum() - off.sum() ** 2)


class RangeOptimal(MultiwaveletPicture):
    """The largest multiwavelet terms of a signal's running sums: ranges at the price of two points.

    Parameters
    ----------
    terms
        Terms that are always among those kept, the largest; memory is four times as many.
    seed
        Unused; there is no chance in it.

    Examples
    --------
    >>> picture = RangeOptimal(terms=8)
    >>> picture.update(np.arange(1000), weights=np.full(1000, 2.0))
    >>> print(picture.query(RangeSum(100, 899)))
    1600 in [1600, 1600], range_optimal
    >>> picture.steps(1).heights
    array([2.])

    References
    ----------
    MS05: docs/references.md
    """

    name = "range_optimal"
    running = True

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Unequal steps at unequal places, and a range that ends inside one."""
        rng = np.random.default_rng(seed)
        heights = np.repeat(rng.integers(0, 100, 60), rng.integers(1, 30, 60)).astype(np.float64)
        places = np.arange(len(heights), dtype=np.int64)
        return Trial(places, RangeSum(7, len(places) // 2), weights=heights + 1)

    def steps(self, buckets: int) -> Steps:
        """Steps from the best `buckets` lines of the running sums held."""
        return _differences(best_lines(self._drawn(), buckets, self.wavelet.edges()))

    def _sum(self, start: int, stop: int) -> tuple[float, float, float]:
        place = int(self.wavelet.place[0])
        if start > place:
            return 0.0, 0.0, 0.0
        last = min(stop - 1, place)
        if start == 0:
            if last == place:
                return self.mass, self.mass, self.mass
            return self.wavelet.inner(last, last, (1.0, 1.0), 0.0)
        return self.wavelet.inner(start - 1, last, (-1.0, 1.0), 0.0)


def _differences(lines: Lines) -> Steps:
    """The signal whose running sums are lines: steps, and a cell of its own at every break."""
    running = lines.cells()
    cells = np.diff(running, prepend=0.0)
    edges = np.unique(np.concatenate([lines.edges, lines.edges[:-1] + 1]))
    edges = edges[edges <= lines.edges[-1]].astype(np.int64)
    heights = np.add.reduceat(cells, edges[:-1]) / np.diff(edges)
    # Neighbours that came out equal are one step.
    fresh = np.concatenate([[True], ~np.isclose(heights[1:], heights[:-1])])
    return Steps(np.append(edges[:-1][fresh], edges[-1]), heights[fresh])
