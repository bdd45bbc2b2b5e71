"""Dyadic sketches of signs: frequencies, ranges, ranks and quantiles of whole numbers.

Level l counts blocks of 2^l neighbouring numbers, in a sketch of signs while there are many blocks
and in plain counters once they are few. A range is a sum of at most two blocks of each level, so
its error does not grow with its length. Linear: rows can be taken back, parts merge and subtract.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np

from streamgauge.contracts.estimate import Estimate
from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.errors import BindError, ContractUnsatisfiable
from streamgauge.kernel.hashing import family
from streamgauge.kernel.jit import compiled
from streamgauge.kernel.keys import Column, Items, items, numbers
from streamgauge.synopses.moments.fast_ams import SQUARES_SHARE, sign_and_place
from streamgauge.synopses.moments.medians import grouping
from streamgauge.synopses.questions import Count, Frequency, Quantile, RangeCount, Rank
from streamgauge.synopses.synopsis import Array, Floats, Ints, Need, Subtractable, Synopsis, Trial


class Blocks(NamedTuple):
    """A sum of blocks: what each row of counters says, the exact part, and blocks by level."""

    rows: Floats
    exact: float
    levels: Floats


class DyadicAms(Synopsis, Subtractable):
    """Counts of numbers and of ranges of numbers, under insertions and deletions.

    The weight of a range has an error of about `sqrt(sum of F2 over its levels / width)`; the
    bar uses the sketch's own bound on those sums of squares.

    Parameters
    ----------
    start
        Smallest number of the universe.
    bits
        The universe has 2^bits whole numbers; others are refused.
    width
        Counters in a row of a level; four times as many halve the error.
    depth
        Rows of each level.
    delta
        Chance that one bar fails.
    seed
        Chooses the hashes; parts to be merged need the same.

    Examples
    --------
    >>> sketch = DyadicAms(0, 10, 128, 5, seed=7)
    >>> sketch.update(list(range(1000)))
    >>> sketch.update(list(range(500)), [-1.0] * 500)
    >>> found = sketch.query(RangeCount(400, 599))
    >>> found.low <= 100.0 <= found.high
    True
    >>> sketch.query(Quantile(0.5)).low <= 749 <= sketch.query(Quantile(0.5)).high
    True

    References
    ----------
    AMS99, GKMS02, CCF04: docs/reference/synopses/moments.md
    """

    name = "dyadic_ams"
    answers = (Frequency, RangeCount, Rank, Quantile, Count)
    exactly = (Count,)
    takes = "numbers"
    weights = "strict"
    merging = "exact"
    fields = ("counters", "exact")
    joined_by = np.add
    small = (0, 20, 256, 5)

    def __init__(
        self,
        start: int,
        bits: int,
        width: int,
        depth: int,
        delta: float = 0.05,
        *,
        seed: int = 0,
    ) -> None:
        super().__init__(seed=seed)
        if not (0 <= bits <= 52 and width >= 1 and depth >= 1 and 0.0 < delta < 1.0):
            raise BindError(
                "a dyadic sketch needs at most 52 bits, counters, rows and delta in (0, 1)",
                f"got {bits} bits, {width} counters, {depth} rows, delta={delta}",
                "write DyadicAms(0, 20, 512, 5)",
            )
        self.start, self.bits = start, bits
        self.width, self.depth, self.delta = width, depth, delta
        # From this level up there are no more blocks than counters in a sketch.
        self.n_sketched = max(0, bits - int(math.log2(width * depth)))
        self.counters = np.zeros((self.n_sketched, depth, width))
        self.exact = np.zeros(2 << (bits - self.n_sketched))
        self._hashes = family(seed, self.n_sketched * depth, 4).reshape(self.n_sketched, depth, 4)

    @property
    def guarantee(self) -> Guarantee:
        """A rank is off by more than `epsilon` of the weight with chance `delta`."""
        spent = SQUARES_SHARE * self.delta
        reach = grouping(self.depth, self.delta - spent).reach
        return Guarantee(
            "additive",
            min(1.0, reach * math.sqrt(self.n_sketched / self.width)),
            self.delta,
            assumes=("no item has negative weight", "seed independent of the data"),
            cite="GKMS02",
        )

    def guarantee_for(self, need: Need) -> Guarantee:
        """A range has two ends, one number has one block, a quantile has a rank."""
        found = super().guarantee_for(need)
        if isinstance(need.question, Quantile):
            return replace(found, law="rank")
        blocks = {RangeCount: 2.0, Frequency: 1.0 / max(1, self.n_sketched)}
        factor = math.sqrt(blocks.get(type(need.question), 1.0))
        return replace(found, epsilon=factor * found.epsilon)

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """Levels from the universe, width from the tolerance (of rank or of the weight)."""
        contract, question = need.contract, need.question
        delta = 1.0 - contract.confidence
        if contract.tolerance != "rank" or delta == 0.0 or need.universe is None:
            raise ContractUnsatisfiable(
                "dyadic_ams owes a share of the weight at a confidence below 100%, in a universe",
                f"asked for {contract}, universe {need.universe}",
                "write Contract.rank(0.01, confidence=0.95), and say the smallest and the largest "
                "number",
            )
        start, last = need.universe
        bits = max(1, (last - start).bit_length())
        per_level = {RangeCount: 2.0, Frequency: 1.0 / bits}.get(type(question), 1.0)
        # A quantile asks for a rank at each level, so each may fail with less chance.
        chance = delta / bits if isinstance(question, Quantile) else delta
        need.afford(cls.name, 8.0 * bits / contract.within**2)
        depth, width = _sizes(contract.within, chance, per_level * bits)
        need.afford(cls.name, 8.0 * depth * width * bits)
        return cls(start, bits, width, depth, delta, seed=seed)

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Numbers spread over the universe, and a range with a block on every level."""
        rng = np.random.default_rng(seed)
        return Trial(rng.integers(0, 1 << 20, 500), RangeCount(1, (1 << 19) + (1 << 18) - 2))

    def _checked_weights(self, weights: Column | None, size: int, given: Items) -> Floats | None:
        """Weights; the items are checked here too, before anything is counted."""
        self._places(numbers(given))
        return super()._checked_weights(weights, size, given)

    def _places(self, column: Floats) -> Array:
        """Numbers counted from the start of the universe."""
        places = column - self.start
        wrong = ~((places >= 0) & (places < 2.0**self.bits) & (places == np.floor(places)))
        if wrong.any():
            raise BindError(
                f"dyadic_ams takes whole numbers from {self.start} to "
                f"{self.start + (1 << self.bits) - 1}",
                f"{int(wrong.sum())} are not, the first is {column[wrong][0]}",
                "give a larger universe, or scale and round the column",
            )
        found: Array = places.astype(np.uint64)
        return found

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        weight = np.empty(0) if weights is None else weights
        _add_blocks(self.counters, self.exact, self._hashes, self._places(column), weight)

    def _answer(self, question: Any) -> Any:
        top = (1 << self.bits) - 1
        if isinstance(question, Count):
            return self._bar(self.mass, self.mass, self.mass, 0.0)
        if isinstance(question, Quantile):
            return self._quantile(question.phi)
        if isinstance(question, Frequency):
            low = high = float(numbers(items([question.item]))[0])
        elif isinstance(question, Rank):
            low, high = -math.inf, question.value
        else:
            low, high = question.low, question.high
        first = math.ceil(max(low - self.start, 0))
        last = math.floor(min(high - self.start, top))
        if first > last:
            return self._bar(0.0, 0.0, 0.0, 0.0)
        value, low, high = self._bounded(self._range(first, last), self.delta)
        return self._bar(value, low, high)

    def _range(self, first: int, last: int) -> Blocks:
        """The blocks that make up a range."""
        rows, levels = np.zeros(self.depth), np.zeros(self.n_sketched)
        exact = _sum_range(
            self.counters, self.exact, self._hashes, np.uint64(first), np.uint64(last), rows, levels
        )
        return Blocks(rows, exact, levels)

    def _bounded(self, blocks: Blocks, delta: float) -> tuple[float, float, float]:
        """Weight of a sum of blocks, with its bar."""
        if not blocks.levels.any():
            return blocks.exact, blocks.exact, blocks.exact
        spent = SQUARES_SHARE * delta
        cut = grouping(self.depth, delta - spent)
        value = cut.median(blocks.rows)
        # One or two blocks of a level have variance (1 or 2) F2 / width, levels are independent;
        # that sum of F2 is estimated as a whole, with the relative variance of a single one.
        squares = np.einsum("l,ldw->d", blocks.levels, np.square(self.counters))
        bound = grouping(self.depth, spent)
        rest = 1.0 - math.sqrt(2.0 / self.width) * bound.one_sided_reach
        most = bound.median(squares)
        most = most / rest if rest > 0.0 else math.inf
        reach = cut.reach * math.sqrt(most / self.width)
        # Weights are not negative: blocks weigh between 0 and all that the plain ones do not.
        rest = max(0.0, self.mass - blocks.exact)
        low = min(max(value - reach, 0.0), rest)
        high = max(min(value + reach, rest), low)
        value = min(max(value, low), high)
        return blocks.exact + value, blocks.exact + low, blocks.exact + high

    def _quantile(self, phi: float) -> Estimate:
        if not self.mass > 0.0:
            return self._bar(math.nan, -math.inf, math.inf)
        target = max(phi * self.mass, 1e-12) * (1.0 - 1e-12)
        chance = self.delta / max(self.bits, 1)
        # On the way to the true quantile one rank is asked at each level. If their bars hold,
        # neither the way by their lower nor that by their upper ends crosses it.
        found = [self.start + self._descend(target, chance, end) for end in (0, 2, 1)]
        return self._bar(*(float(item) for item in found))

    def _descend(self, target: float, delta: float, end: int) -> int:
        """Smallest number whose rank reaches the target, by the value, low or high of bars."""
        first = 0
        for level in range(self.bits - 1, -1, -1):
            middle = first + (1 << level)
            if self._bounded(self._range(0, middle - 1), delta)[end] < target:
                first = middle
        return first

    def validate(self) -> None:
        """The whole weight is at the top, and plain blocks are the sums of their halves."""
        assert math.isclose(self.exact[1], self.mass, rel_tol=1e-9, abs_tol=1e-9)
        half = len(self.exact) // 2
        assert np.allclose(
            self.exact[1:half], self.exact[2:].reshape(-1, 2).sum(axis=1)[: half - 1]
        )


def _sizes(within: float, delta: float, levels: float) -> tuple[int, int]:
    """Depth and width at which the bar is within a share of the weight."""
    spent = SQUARES_SHARE * delta
    found = []
    for depth in range(3, 60, 2):
        width = 16
        while True:
            error = math.sqrt(2.0 / width) * grouping(depth, spent).reach
            if error < 1.0:
                most = levels * (1.0 + error) / (1.0 - error)
                if grouping(depth, delta - spent).reach * math.sqrt(most / width) <= within:
                    break
            width = math.ceil(1.1 * width)
        found.append((depth * width, depth, width))
    return min(found)[1:]


@compiled
def _add_blocks(counters, exact, hashes, places, weights):  # type: ignore[no-untyped-def]
    n_levels, depth, width = counters.shape
    leaves = len(exact) // 2
    for i in range(len(places)):
        weight = weights[i] if len(weights) else 1.0
        for level in range(n_levels):
            block = places[i] >> np.uint64(level)
            for row in range(depth):
                sign, place = sign_and_place(block, hashes[level, row], width)
                counters[level, row, place] += sign * weight
        node = leaves + int(places[i] >> np.uint64(n_levels))
        while node >= 1:
            exact[node] += weight
            node //= 2


@compiled
def _add_block(counters, exact, hashes, level, block, rows, levels):  # type: ignore[no-untyped-def]
    n_levels, depth, width = counters.shape
    if level >= n_levels:
        return exact[(len(exact) // 2 >> (level - n_levels)) + int(block)]
    for row in range(depth):
        sign, place = sign_and_place(block, hashes[level, row], width)
        rows[row] += sign * counters[level, row, place]
    levels[level] += 1.0
    return 0.0


@compiled
def _sum_range(counters, exact, hashes, first, last, rows, levels):  # type: ignore[no-untyped-def]
    """Add up the blocks of first..last; return the weight of the plain ones."""
    total = 0.0
    level = 0
    one = np.uint64(1)
    stop = last + one
    while first < stop:
        if first & one:
            total += _add_block(counters, exact, hashes, level, first, rows, levels)
            first += one
        if stop & one:
            stop -= one
            total += _add_block(counters, exact, hashes, level, stop, rows, levels)
        first >>= one
        stop >>= one
        level += 1
    return total
