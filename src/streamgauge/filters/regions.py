"""Regions: sets of numbers as sorted intervals, for telling a sensor what nobody wants.

Standard library only, since a sensor's side uses it too. All ends are closed: an open end is the
next number that a double can hold, so nothing is lost by it and complements are exact.
"""

from __future__ import annotations

import math
import sys
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

Interval: TypeAlias = tuple[float, float]
_LARGEST = sys.float_info.max


@dataclass(frozen=True, slots=True)
class Region:
    """A set of numbers: closed intervals, sorted, apart from each other.

    Infinite ends mean no end; the values themselves are finite, and what is no finite number is in
    no region. Two regions that hold the same numbers are equal.

    Parameters
    ----------
    intervals
        Pairs (low, high) in any order; they may overlap. Those with low above high are empty.

    Examples
    --------
    >>> cold, hot = Region.below(5.0), Region.above(30.0)
    >>> print(cold | hot)
    <= 5 or >= 30
    >>> 4.0 in (cold | hot), 20.0 in (cold | hot), 30.0 in hot
    (True, False, True)
    >>> print(~(cold | hot) & Region.between(0.0, 10.0))
    5 .. 10
    >>> (cold | ~cold) == ALL, bool(cold & hot)
    (True, False)
    """

    intervals: tuple[Interval, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "intervals", _sorted_apart(self.intervals))

    @classmethod
    def between(cls, low: float, high: float) -> Region:
        """All numbers from low to high, both of them included."""
        return cls(((low, high),))

    @classmethod
    def above(cls, low: float, *, strictly: bool = False) -> Region:
        """All numbers from low on; `strictly` leaves out low itself."""
        return cls.between(math.nextafter(low, math.inf) if strictly else low, math.inf)

    @classmethod
    def below(cls, high: float, *, strictly: bool = False) -> Region:
        """All numbers up to high; `strictly` leaves out high itself."""
        return cls.between(-math.inf, math.nextafter(high, -math.inf) if strictly else high)

    @classmethod
    def of(cls, *values: float) -> Region:
        """Just these numbers."""
        return cls(tuple((value, value) for value in values if math.isfinite(value)))

    def __bool__(self) -> bool:
        return bool(self.intervals)

    def __contains__(self, value: object) -> bool:
        if not isinstance(value, int | float) or not math.isfinite(value):
            return False
        at = bisect_right(self.intervals, value, key=lambda pair: pair[0]) - 1
        return at >= 0 and value <= self.intervals[at][1]

    def __or__(self, other: Region) -> Region:
        return Region(self.intervals + other.intervals)

    def __and__(self, other: Region) -> Region:
        mine, theirs = self.intervals, other.intervals
        found, i, j = [], 0, 0
        while i < len(mine) and j < len(theirs):
            found.append((max(mine[i][0], theirs[j][0]), min(mine[i][1], theirs[j][1])))
            if mine[i][1] < theirs[j][1]:
                i += 1
            else:
                j += 1
        return Region(tuple(found))

    def __invert__(self) -> Region:
        found, low = [], -math.inf
        for start, end in self.intervals:
            if start > -math.inf:
                found.append((low, math.nextafter(start, -math.inf)))
            low = math.nextafter(end, math.inf)
        if not self.intervals or self.intervals[-1][1] < math.inf:
            found.append((low, math.inf))
        return Region(tuple(found))

    def covers(self, other: Region) -> bool:
        """Whether every number of the other is in this one."""
        return self & other == other

    def coarsened(self, pairs: int) -> Region:
        """A region that holds this one and has at most so many intervals: small gaps are filled.

        Examples
        --------
        >>> print(Region(((0.0, 1.0), (2.0, 3.0), (9.0, 9.5))).coarsened(2))
        0 .. 3 or 9 .. 9.5
        """
        assert pairs >= 1, f"a region of {pairs} intervals"
        held = list(self.intervals)
        while len(held) > pairs:
            gaps = [after[0] - before[1] for before, after in pairwise(held)]
            at = gaps.index(min(gaps))
            held[at : at + 2] = [(held[at][0], held[at + 1][1])]
        return Region(tuple(held))

    def __str__(self) -> str:
        if not self:
            return "nothing"
        return " or ".join(_told(low, high) for low, high in self.intervals)


def union(regions: Iterable[Region]) -> Region:
    """Numbers that are in some of the regions."""
    return Region(tuple(pair for region in regions for pair in region.intervals))


def _sorted_apart(intervals: Iterable[Interval]) -> tuple[Interval, ...]:
    """The same numbers as intervals that neither overlap nor touch."""
    kept: list[Interval] = []
    for low, high in sorted(_endless(*pair) for pair in intervals if _holds_something(*pair)):
        if kept and low <= math.nextafter(kept[-1][1], math.inf):
            kept[-1] = (kept[-1][0], max(kept[-1][1], high))
        else:
            kept.append((low, high))
    return tuple(kept)


def _holds_something(low: float, high: float) -> bool:
    # An end that is no number compares false, so it makes an interval empty.
    return low <= high and low < math.inf and high > -math.inf


def _endless(low: float, high: float) -> Interval:
    """An end at the largest finite number is no end, so that equal sets are equal values."""
    return -math.inf if low <= -_LARGEST else low, math.inf if high >= _LARGEST else high


def _told(low: float, high: float) -> str:
    if low == -math.inf:
        return "everything" if high == math.inf else _told_end("<", high, math.inf)
    if high == math.inf:
        return _told_end(">", low, -math.inf)
    return f"{low:.6g}" if low == high else f"{low:.6g} .. {high:.6g}"


def _told_end(sign: str, end: float, out: float) -> str:
    """An end beside a number that is shorter to write is that number left out."""
    beside = math.nextafter(end, out) + 0.0
    if len(repr(beside)) < len(repr(end)):
        return f"{sign} {beside:.6g}"
    return f"{sign}= {end:.6g}"


ALL = Region(((-math.inf, math.inf),))
NONE = Region()
