"""Dynamic wavelets: a picture of a signal whose cells go up and down in any order.

The sums of coarse blocks are kept exactly. The finer wavelet terms go into two independent
sketches: one, laid out as a tree of groups of terms, finds the large terms by descending where the
energy is; the other, an unbiased sketch of all terms, is read after the terms found were taken out
of it. What is left has a small norm, so its noise is small, and that norm is read from it as well.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
import scipy

from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.errors import BindError, ContractUnsatisfiable
from streamgauge.kernel.hashing import family, mix64, polynomial
from streamgauge.kernel.jit import compiled
from streamgauge.synopses.histograms.haar import Expansion
from streamgauge.synopses.histograms.robust_histogram import Certified, robust
from streamgauge.synopses.histograms.signal import Signal, need_at_least
from streamgauge.synopses.histograms.terms import LEVEL
from streamgauge.synopses.questions import Count, Frequency
from streamgauge.synopses.synopsis import Arrays, Floats, Ints, Need, Subtractable, Trial, Values

_ROWS = 3
_INSIDE = 8
_BRANCH = 4
_ROUNDS = 8
_BAD_ROW = 1.0 / 8.0
"""Chance that one row is off by more than the bar, by Chebyshev's inequality."""


class DynamicWavelet(Signal, Subtractable):
    """A signal under additions and deletions: coarse blocks exactly, finer terms by sketches.

    Parameters
    ----------
    height
        Levels: positions are below `2^height`.
    width
        Counters in a row, a power of two; four times as many halve the bar of one cell. It is also
        the number of blocks whose sums are exact.
    depth
        Rows of the sketch that is read, odd; two more divide the chance of failure by about 3.
    seed
        Chooses the hashes; parts to be merged need the same.

    Examples
    --------
    >>> picture = DynamicWavelet(height=16, width=256, depth=5, seed=1)
    >>> picture.update([40000, 9, 40000, 7], weights=[5, 1, 3, 2])
    >>> picture.update([9], weights=[-1])
    >>> round(picture.query(Frequency(40000)).value)
    8
    >>> picture.query(Count()).value
    10.0

    References
    ----------
    GGIKMS02, CGS06: docs/references.md
    """

    name = "dynamic_wavelet"
    merging = "exact"
    small = (20, 128, 5)

    def __init__(self, height: int, width: int, depth: int, *, seed: int = 0) -> None:
        need_at_least(self.name, height, 1, "height")
        need_at_least(self.name, width, 64, "width")
        if width & (width - 1) or depth % 2 == 0 or not 1 <= height <= 40:
            raise BindError(
                f"{self.name} needs a width that is a power of two, odd depth, height up to 40",
                f"width is {width}, depth {depth}, height {height}",
                "write DynamicWavelet(height=20, width=256, depth=5)",
            )
        super().__init__(seed=seed)
        self.height, self.width, self.depth = height, width, depth
        self.fine = max(0, height - (width.bit_length() - 1))
        self.shifts = np.arange(0, max(height - 8, 0) + 1, _BRANCH)
        self.blocks = np.zeros(1 << (height - self.fine))
        self.search = np.zeros((len(self.shifts), _ROWS, width // _INSIDE, _INSIDE))
        self.sketch = np.zeros((depth, width))
        self._salts = family(seed, len(self.shifts) * _ROWS, 1).reshape(-1, _ROWS)
        self._hashes = family(seed + (1 << 32), depth, 4)
        self._scales = _scales(self.fine)
        self._found: tuple[Ints, Floats, Floats] | None = None

    @property
    def guarantee(self) -> Guarantee:
        """One cell within a share of the L2 norm, which is at most the weight."""
        return Guarantee(
            "additive",
            _share(self.width),
            _chance(self.depth),
            assumes=(
                "seed independent of the data",
                "one cell is asked for, and no cell is negative; other bars are computed",
            ),
            cite="CGS06",
        )

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """Width from the tolerance (a share of the weight), depth from the confidence."""
        contract = need.contract
        owed = contract.tolerance == "rank" and contract.confidence < 1.0
        if need.universe is None or not (owed or isinstance(need.question, Count)):
            raise ContractUnsatisfiable(
                f"{cls.name} owes a share of the total weight at a confidence below 100%",
                f"asked for {contract}, positions {need.universe}",
                "give the universe and Contract.rank(0.01, confidence=0.99)",
            )
        height = max(1, int(need.universe[1]).bit_length())
        width, depth = 64, 1
        point = isinstance(need.question, Frequency)
        while owed and _share(width) * (1.0 if point else _reach(height, width)) > contract.within:
            width *= 2
            need.afford(cls.name, 8.0 * width * height)
        while owed and _chance(depth) > 1.0 - contract.confidence:
            depth += 2
        need.afford(cls.name, 8.0 * width * depth * height)
        return cls(height, width, depth, seed=seed)

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Many equal spikes, none of which stands out, and a question about an empty cell."""
        rng = np.random.default_rng(seed)
        places = rng.integers(0, 1 << 19, 600) * 2
        return Trial(places, Frequency(int(places[0]) + 1))

    def expansion(self) -> Expansion:
        """The terms found, those of coarse blocks included, with a bound of what is missing."""
        ids, values, left = self._rebuilt()
        levels = self.height - _log2(ids)
        words = (levels << LEVEL) | (ids - (np.int64(1) << _log2(ids)))
        sums = values / self._scales[levels]
        coarse_words, coarse = _coarse_terms(self.blocks, self.fine)
        every, both = np.append(words, coarse_words), np.append(sums, coarse)
        order = np.argsort(every)
        marks = np.append(np.ones(len(words), np.bool_), np.zeros(len(coarse), np.bool_))
        norm = _norm(left, self.width)
        return Expansion(
            every[order], both[order], marks[order], self.mass, self.height, norm, norm, exact=False
        )

    def histogram(self, buckets: int, epsilon: float = 0.5) -> Certified:
        """Nearly the best buckets; the bounds hold with the confidence of the synopsis."""
        return robust(self.expansion(), buckets, epsilon)

    @property
    def _end(self) -> int:
        return int(1 << self.height)

    def _fold(self, positions: Ints, weights: Floats) -> None:
        self._found = None
        _add_rows(
            self.blocks,
            self.search,
            self.sketch,
            self.shifts,
            self._salts,
            self._hashes,
            self._scales,
            self.height,
            self.fine,
            positions,
            weights,
        )

    def _merge(self, other: Self) -> None:
        self._combine(other, 1.0)

    def _subtract(self, other: Any) -> None:
        self._combine(other, -1.0)

    def _combine(self, other: Self, sign: float) -> None:
        self._found = None
        self.blocks += sign * other.blocks
        self.search += sign * other.search
        self.sketch += sign * other.sketch
        # What is taken away was put in before, so cells that were at least 0 still are.
        self.negative = self.negative or other.negative

    def _rebuilt(self) -> tuple[Ints, Floats, Floats]:
        """Terms found, their values, and the sketch of all terms without them."""
        if self._found is None:
            left, ids, values = self.search.copy(), np.empty(0, np.int64), np.empty(0)
            for _ in range(_ROUNDS if self.fine else 0):
                fresh, sizes = self._large(left)
                if not len(fresh):
                    break
                _take_out(left, self.shifts, self._salts, fresh, sizes)
                ids, values = np.append(ids, fresh), np.append(values, sizes)
            ids, inverse = np.unique(ids, return_inverse=True)
            sums = np.zeros(len(ids))
            np.add.at(sums, inverse, values)
            rest = self.sketch.copy()
            _take_out_of_sketch(rest, self._hashes, ids, sums)
            self._found = ids, sums, rest
        return self._found

    def _large(self, left: Floats) -> tuple[Ints, Floats]:
        """Terms whose energy stands out in a search sketch, by descent, and their values."""
        energy = float(np.median((left[0] ** 2).sum(axis=(1, 2))))
        enough = 16.0 * energy / self.width
        if energy <= 1e-18 * max(1.0, self.mass**2):
            return np.empty(0, np.int64), np.empty(0)
        groups = np.arange(1 << max(self.height - int(self.shifts[-1]), 0), dtype=np.int64)
        for level in range(len(self.shifts) - 1, -1, -1):
            if level < len(self.shifts) - 1:
                groups = (groups[:, None] * (1 << _BRANCH) + np.arange(1 << _BRANCH)).ravel()
            energies = _energies(left[level], self._salts[level], groups)
            groups = groups[energies >= enough]
        groups = groups[groups >= 1 << (self.height - self.fine)]
        values = _values(left[0], self._salts[0], groups)
        large = values**2 >= enough
        return groups[large], values[large]

    def _sum(self, start: int, stop: int) -> tuple[float, float, float]:
        end = 1 << self.height
        start, stop = min(start, end), min(stop, end)
        if stop <= start:
            return 0.0, 0.0, 0.0
        first, last = start >> self.fine, (stop - 1) >> self.fine
        wide = 1 << self.fine
        low = float(self.blocks[first + 1 : last].sum())
        ids, values, left = self._rebuilt()
        asked, shares = _question(start, stop, self.height, self.fine, self._scales)
        value, high = low, low
        for block in {first, last}:
            inside = min(stop, (block + 1) * wide) - max(start, block * wide)
            held = float(self.blocks[block])
            value += held * inside / wide
            low += held if inside == wide else min(held, 0.0)
            high += max(held, 0.0) if inside < wide else held
        if not len(asked):
            return value, value, value
        at = np.searchsorted(ids, asked)
        there = at < len(ids)
        there[there] = ids[at[there]] == asked[there]
        value += float((values[at[there]] * shares[there]).sum())
        value += float(np.median(_read(left, self._hashes, asked, shares)))
        size = math.sqrt(float((shares**2).sum()))
        width = math.sqrt(2.0 / (_BAD_ROW * self.width)) * size * _norm(left, self.width)
        width += 1e-12 * size * math.sqrt(float((self.sketch**2).sum()))  # rounding
        if self.negative:
            return value, value - width, value + width
        value = min(max(value, low), high)
        return value, max(value - width, low), min(value + width, high)

    def _state(self) -> tuple[Values, Arrays]:
        return {}, {"blocks": self.blocks, "search": self.search, "sketch": self.sketch}

    def _restore(self, values: Values, arrays: Arrays) -> None:
        self.blocks, self.search = arrays["blocks"], arrays["search"]
        self.sketch, self._found = arrays["sketch"], None

    def validate(self) -> None:
        """The blocks hold the whole weight."""
        assert np.isclose(self.blocks.sum(), self.mass, atol=1e-6)


def _chance(depth: int) -> float:
    """Chance that the median of the rows, for the sum or for the norm, is off."""
    return min(1.0, 2.0 * float(scipy.stats.binom.sf(depth // 2, depth, _BAD_ROW)))


def _slack(width: int) -> float:
    """Share by which a row understates the squared norm, but for a bad row (Cantelli)."""
    return math.sqrt(2.0 * (1.0 / _BAD_ROW - 1.0) / width)


def _share(width: int) -> float:
    slack = _slack(width)
    return math.sqrt(2.0 / (_BAD_ROW * width) * (1.0 + slack) / (1.0 - slack))


def _reach(height: int, width: int) -> float:
    """Norm of a question about a range: that of its two blocks that are not exact."""
    return math.sqrt(2.0 ** max(0, height - (width.bit_length() - 1)))


def _norm(left: Floats, width: int) -> float:
    """Most that the norm of all terms in a sketch can be, but for a bad median."""
    squares = float(np.median((left**2).sum(axis=1)))
    return math.sqrt(squares / (1.0 - _slack(width)))


def _scales(fine: int) -> Floats:
    """Weights of the levels: nearly `2^(-l/2)`, with few binary digits so that sums are exact."""
    levels = np.arange(fine + 1)
    unit = 2.0 ** -(levels // 2 + 12)
    rounded: Floats = np.round(2.0 ** (-levels / 2) / unit) * unit
    return rounded


def _log2(ids: Ints) -> Ints:
    return np.frexp(ids.astype(np.float64))[1].astype(np.int64) - 1


def _coarse_terms(blocks: Floats, fine: int) -> tuple[Ints, Floats]:
    """Terms of all levels above the exact blocks."""
    words, values = [np.empty(0, np.int64)], [np.empty(0)]
    sums, level = blocks, fine
    while len(sums) > 1:
        level += 1
        words.append((level << LEVEL) | np.arange(len(sums) // 2, dtype=np.int64))
        values.append(sums[1::2] - sums[::2])
        sums = sums[1::2] + sums[::2]
    return np.concatenate(words), np.concatenate(values)


def _question(start: int, stop: int, height: int, fine: int, scales: Floats) -> tuple[Ints, Floats]:
    """Fine terms that have a share in a range, and their shares."""
    found: dict[int, float] = {}
    for level in range(1, fine + 1):
        for block in {start >> level, (stop - 1) >> level}:
            begin, middle = block << level, (block << level) + (1 << (level - 1))
            right = max(0, min(stop, begin + (1 << level)) - max(start, middle))
            over = right - max(0, min(stop, middle) - max(start, begin))
            if over:
                share = over / 2.0**level / float(scales[level])
                found[(1 << (height - level)) + block] = share
    return np.array(list(found), np.int64), np.array(list(found.values()))


@compiled
def _place(salt, group, item, groups):  # type: ignore[no-untyped-def]
    """Counter of a term in a row of the search sketch, and its sign."""
    one = mix64(salt ^ mix64(np.uint64(group)))
    two = mix64(salt + mix64(np.uint64(item)))
    inside = (two >> np.uint64(8)) % np.uint64(_INSIDE)
    return one % np.uint64(groups), inside, 1.0 if two & np.uint64(1) else -1.0


@compiled
def _spot(value, width):  # type: ignore[no-untyped-def]
    """Counter and sign of a term in the sketch that is read."""
    return value % np.uint64(width), 1.0 if value >> np.uint64(60) else -1.0


@compiled
def _add_rows(  # type: ignore[no-untyped-def]
    blocks, search, sketch, shifts, salts, hashes, scales, height, fine, positions, weights
):
    width = sketch.shape[1]
    for row in range(len(positions)):
        at = positions[row]
        blocks[at >> fine] += weights[row]
        for level in range(1, fine + 1):
            term = (1 << (height - level)) + (at >> level)
            value = weights[row] * scales[level]
            if not (at >> (level - 1)) & 1:
                value = -value
            _add_term(search, shifts, salts, term, value)
            for r in range(len(sketch)):
                spot, sign = _spot(polynomial(np.uint64(term), hashes[r]), width)
                sketch[r, spot] += sign * value


@compiled
def _add_term(search, shifts, salts, term, value):  # type: ignore[no-untyped-def]
    for tier in range(len(shifts)):
        for r in range(_ROWS):
            group, inside, sign = _place(
                salts[tier, r], term >> shifts[tier], term, search.shape[2]
            )
            search[tier, r, group, inside] += sign * value


@compiled
def _take_out(search, shifts, salts, terms, values):  # type: ignore[no-untyped-def]
    for i in range(len(terms)):
        _add_term(search, shifts, salts, terms[i], -values[i])


@compiled
def _take_out_of_sketch(sketch, hashes, terms, values):  # type: ignore[no-untyped-def]
    for i in range(len(terms)):
        for r in range(len(sketch)):
            spot, sign = _spot(polynomial(np.uint64(terms[i]), hashes[r]), sketch.shape[1])
            sketch[r, spot] -= sign * values[i]


@compiled
def _energies(tier, salts, groups):  # type: ignore[no-untyped-def]
    """Energy of each group of terms: median over the rows."""
    found = np.empty(len(groups))
    rows = np.empty(_ROWS)
    for i in range(len(groups)):
        for r in range(_ROWS):
            group = _place(salts[r], groups[i], groups[i], tier.shape[1])[0]
            rows[r] = (tier[r, group] ** 2).sum()
        found[i] = np.median(rows)
    return found


@compiled
def _values(tier, salts, terms):  # type: ignore[no-untyped-def]
    """Value of each term: median over the rows."""
    found = np.empty(len(terms))
    rows = np.empty(_ROWS)
    for i in range(len(terms)):
        for r in range(_ROWS):
            group, inside, sign = _place(salts[r], terms[i], terms[i], tier.shape[1])
            rows[r] = sign * tier[r, group, inside]
        found[i] = np.median(rows)
    return found


@compiled
def _read(sketch, hashes, terms, shares):  # type: ignore[no-untyped-def]
    """Unbiased sum of shares of terms, from each row."""
    found = np.zeros(len(sketch))
    for r in range(len(sketch)):
        for i in range(len(terms)):
            spot, sign = _spot(polynomial(np.uint64(terms[i]), hashes[r]), sketch.shape[1])
            found[r] += shares[i] * sign * sketch[r, spot]
    return found
