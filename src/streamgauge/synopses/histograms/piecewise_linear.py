"""Piecewise-linear picture: a signal of trends, in few sloping pieces.

The largest terms of a basis in which a straight line costs two terms, whatever its length; from
them, or from stored values, the pieces of least squared error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streamgauge.kernel.jit import compiled
from streamgauge.synopses.histograms.multiwavelet_picture import MultiwaveletPicture
from streamgauge.synopses.questions import Frequency
from streamgauge.synopses.synopsis import Floats, Ints, Trial


@dataclass(frozen=True, slots=True)
class Lines:
    """Sloping pieces: from `edges[j]` to `edges[j + 1]` a line, `heights[j]` at its middle.

    `error` is the squared L2 distance from what was fitted.
    """

    edges: Ints
    heights: Floats
    slopes: Floats
    error: float

    def cells(self) -> Floats:
        """The lines, cell by cell."""
        places = np.arange(self.edges[0], self.edges[-1])
        piece = np.searchsorted(self.edges, places, side="right") - 1
        middle = (self.edges[:-1] + self.edges[1:] - 1) / 2
        drawn: Floats = self.heights[piece] + self.slopes[piece] * (places - middle[piece])
        return drawn


def best_lines(values: Floats, pieces: int, edges: Ints | None = None) -> Lines:
    """The sloping pieces of least squared error, breaking at given edges or anywhere.

    >>> best_lines(np.array([0.0, 1.0, 2.0, 3.0, 9.0, 8.0, 7.0]), 2).slopes
    array([ 1., -1.])
    """
    values = np.ascontiguousarray(values, np.float64)
    places = np.arange(len(values) + 1) if edges is None else edges
    # Least squares on numbers near 0 lose fewer digits.
    level = float(values.mean()) if len(values) else 0.0
    cuts, error = _best_lines(values - level, places, pieces)
    starts, stops = cuts[:-1], cuts[1:]
    heights = np.add.reduceat(values, starts) / (stops - starts)
    slopes = np.array(
        [_slope(values[start:stop]) for start, stop in zip(starts, stops, strict=True)]
    )
    return Lines(cuts, heights, slopes, float(error))


class PiecewiseLinear(MultiwaveletPicture):
    """The largest multiwavelet terms of a signal, with the exact L2 error of leaving out the rest.

    Parameters
    ----------
    terms
        Terms that are always among those kept, the largest; memory is four times as many.
    seed
        Unused; there is no chance in it.

    Examples
    --------
    >>> from streamgauge.synopses.questions import RangeSum
    >>> picture = PiecewiseLinear(terms=4)
    >>> picture.update(np.arange(1024), weights=np.arange(1024.0) + 1)
    >>> print(picture.query(RangeSum(100, 199)))
    15050 in [15050, 15050], piecewise_linear
    >>> picture.lines(1).slopes
    array([1.])

    References
    ----------
    MS05: docs/references.md
    """

    name = "piecewise_linear"
    running = False

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """More equal spikes than there are terms, and a question about one that is left out."""
        far = np.arange(100, dtype=np.int64) * 4096 + seed % 4096
        return Trial(far, Frequency(int(far[50])), weights=np.where(far == far[50], 0.9, 1.0))

    def lines(self, pieces: int) -> Lines:
        """The best sloping pieces of what is held."""
        return best_lines(self._drawn(), pieces, self.wavelet.edges())

    def _sum(self, start: int, stop: int) -> tuple[float, float, float]:
        stop = min(stop, int(self.wavelet.place[0]) + 1)
        if stop <= start:
            return 0.0, 0.0, 0.0
        return self.wavelet.inner(start, stop - 1, (1.0, 1.0), 1.0)


@compiled
def _slope(values):  # type: ignore[no-untyped-def]
    n = len(values)
    if n < 2:
        return 0.0
    middle = (n - 1) / 2.0
    tilt = 0.0
    for i in range(n):
        tilt += (i - middle) * values[i]
    return tilt / (n * (float(n) * n - 1.0) / 12.0)


@compiled
def _best_lines(values, edges, pieces):  # type: ignore[no-untyped-def]
    n = len(edges) - 1
    pieces = min(pieces, n)
    total, tilt, power = np.zeros(n + 1), np.zeros(n + 1), np.zeros(n + 1)
    for j in range(n):
        sums, tilts, powers = 0.0, 0.0, 0.0
        for i in range(edges[j], edges[j + 1]):
            sums += values[i]
            tilts += values[i] * i
            powers += values[i] * values[i]
        total[j + 1] = total[j] + sums
        tilt[j + 1] = tilt[j] + tilts
        power[j + 1] = power[j] + powers
    best = np.full((pieces + 1, n + 1), np.inf)
    back = np.zeros((pieces + 1, n + 1), np.int64)
    best[0, 0] = 0.0
    for b in range(1, pieces + 1):
        for right in range(b, n + 1):
            for left in range(right - 1, b - 2, -1):
                width = float(edges[right] - edges[left])
                middle = (edges[left] + edges[right] - 1) / 2.0
                inside = total[right] - total[left]
                error = power[right] - power[left] - inside * inside / width
                if width > 1.0:
                    lean = tilt[right] - tilt[left] - middle * inside
                    error -= lean * lean / (width * (width * width - 1.0) / 12.0)
                error = max(error, 0.0)
                if best[b - 1, left] + error < best[b, right]:
                    best[b, right] = best[b - 1, left] + error
                    back[b, right] = left
    cuts = np.empty(pieces + 1, np.int64)
    place = n
    for b in range(pieces, -1, -1):
        cuts[b] = edges[place]
        place = back[b, place] if b > 0 else 0
    return cuts, best[pieces, n]
