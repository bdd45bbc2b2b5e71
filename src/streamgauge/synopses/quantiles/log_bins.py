"""Bins of equal relative width, found from the bits of a float without a logarithm.

A float's exponent names its octave and a table, read with the first bits of its fraction, the bin
within it. Every bin therefore starts at a float that is known exactly, and no rounding can put a
number into a wrong bin. `folds` joins neighbouring bins, two by two, so many times.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.jit import compiled

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_FRACTION = 52
_INFINITY = 2047
_SMALLEST = 1 << _FRACTION
"""Bits of the smallest number that is not counted as zero, 2.2e-308."""


class Bins(NamedTuple):
    """Mapping of positive floats to whole numbers, in order.

    Parameters
    ----------
    table
        Bin within an octave, by the first bits of the fraction.
    cuts
        Where the bins of an octave start, in cells of the table.
    per_octave
        Bins in an octave.
    shift
        Bits of the fraction that the table does not look at.
    folds
        How often bins were joined two by two.
    """

    table: npt.NDArray[np.int32]
    cuts: Ints
    per_octave: int
    shift: int
    folds: int


def bins_for(alpha: float, folds: int) -> Bins:
    """The fewest bins in which the ends are at most (1 + alpha) / (1 - alpha) apart.

    >>> bins_for(0.01, 0).per_octave
    36
    """
    ratio = (1.0 + alpha) / (1.0 - alpha)
    n = max(1, math.ceil(math.log(2.0) / math.log(ratio)))
    while True:
        bits = (32 * n).bit_length()
        cells = 1 << bits
        cuts = np.round(cells * (np.exp2(np.arange(n + 1) / n) - 1.0)).astype(np.int64)
        if _widest(cuts, cells) <= ratio:
            table = np.repeat(np.arange(n, dtype=np.int32), np.diff(cuts))
            return Bins(table, cuts[:-1], n, _FRACTION - bits, folds)
        n += 1


def alpha_of(bins: Bins) -> float:
    """Relative error of the middle of a bin, at most."""
    cells = len(bins.table)
    ratio = _widest(np.append(bins.cuts, cells), cells)
    # tanh(log(r) / 2) is (r - 1) / (r + 1), which cannot overflow.
    return math.tanh(math.log(ratio) * 2.0**bins.folds / 2.0)


def _widest(cuts: Ints, cells: int) -> float:
    return float(((cells + cuts[1:]) / (cells + cuts[:-1])).max())


def ends(bins: Bins, indexes: Ints) -> tuple[Floats, Floats]:
    """Smallest and largest float of each bin."""
    lows = _starts(bins, indexes << bins.folds)
    after = (indexes + 1) << bins.folds
    highs = np.nextafter(_starts(bins, after), 0.0)
    highs[after > _INFINITY * bins.per_octave] = np.inf
    return lows, highs


def _starts(bins: Bins, indexes: Ints) -> Floats:
    octave, place = np.divmod(indexes, bins.per_octave)
    fraction = 1.0 + bins.cuts[place] / len(bins.table)
    with np.errstate(over="ignore"):
        starts: Floats = np.ldexp(fraction, np.clip(octave, 0, _INFINITY + 1) - 1023)
    starts[octave >= _INFINITY] = np.inf
    return starts


@compiled
def index_of(bins, magnitude):  # type: ignore[no-untyped-def]
    """Bin of the bits of a positive float."""
    octave = magnitude >> _FRACTION
    cell = (magnitude & (_SMALLEST - 1)) >> bins.shift
    return (octave * bins.per_octave + bins.table[cell]) >> bins.folds


@compiled
def spans(bins, column, start, found):  # type: ignore[no-untyped-def]
    """Widen `found` to the least and most bin of negative, then of positive numbers."""
    words = column.view(np.int64)
    for row in range(start, len(words)):
        magnitude = words[row] & 0x7FFFFFFFFFFFFFFF
        if magnitude >= _SMALLEST:
            index = index_of(bins, magnitude)
            side = 0 if words[row] < 0 else 2
            found[side] = min(found[side], index)
            found[side + 1] = max(found[side + 1], index)
