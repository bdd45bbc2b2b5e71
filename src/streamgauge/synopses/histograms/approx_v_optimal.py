"""Nearly V-optimal histogram in one pass: the best buckets but for a factor 1 + epsilon.

The dynamic program for the best buckets asks, for every prefix of the signal, how well fewer
buckets do on shorter prefixes. That error only grows with the prefix, so it is enough to remember
it where it has grown by a small factor. Each remembered prefix carries the edges of its buckets and
the running sums there.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.errors import ContractUnsatisfiable
from streamgauge.kernel.jit import compiled
from streamgauge.synopses.histograms.buckets import Buckets
from streamgauge.synopses.histograms.signal import Signal, need_at_least
from streamgauge.synopses.histograms.v_optimal import VOptimal
from streamgauge.synopses.questions import Count, RangeSum
from streamgauge.synopses.synopsis import Arrays, Floats, Ints, Need, Trial, Values

_EDGE, _SUM, _SQUARES = 0, 1, 2
_CELL, _TOTAL, _POWER = 0, 1, 2


def approx_v_optimal(values: Floats, buckets: int, epsilon: float) -> Buckets:
    """Buckets of at most 1 + epsilon times the least squared error, in time linear in the values.

    >>> steps = approx_v_optimal(np.repeat([1.0, 9.0, 2.0], [400, 300, 300]), 3, 0.1)
    >>> steps.edges
    array([   0,  400,  700, 1000])
    """
    values = np.ascontiguousarray(values, np.float64)
    runs = np.flatnonzero(np.diff(values)) + 1
    if len(runs) < buckets:
        edges = np.concatenate([[0], runs, [len(values)]]).astype(np.int64)
        return Buckets.of(values, edges)
    total = np.concatenate([[0.0], np.cumsum(values)])
    power = np.concatenate([[0.0], np.cumsum(values**2)])
    guess = float(_spread(total, power, 0, len(values)))
    found = None
    # Halve the guess until no histogram has so small an error; the last that had one is within 2.
    while (edges := _cover(total, power, buckets, epsilon, guess)) is not None:
        found, guess = edges, guess / 2
        if guess < 1e-14 * power[-1]:
            break
    return Buckets.of(values, np.arange(2) * len(values) if found is None else found)


class ApproxVOptimal(Signal):
    """A signal as buckets whose squared error is at most 1 + epsilon times the least possible.

    Parameters
    ----------
    buckets
        Buckets of the histogram.
    epsilon
        How much larger the squared error may be; prefixes remembered grow as its inverse.
    seed
        Unused; there is no chance in it.

    Examples
    --------
    >>> picture = ApproxVOptimal(buckets=3, epsilon=0.1)
    >>> picture.update(np.arange(1000), weights=np.repeat([1.0, 9.0, 2.0], [400, 300, 300]))
    >>> picture.histogram().edges
    array([   0,  400,  700, 1000])
    >>> print(picture.query(RangeSum(390, 409)))
    100 in [100, 100], approx_v_optimal

    References
    ----------
    GKS06: docs/references.md
    """

    name = "approx_v_optimal"
    merging = "none"
    small = (4, 1.0)

    def __init__(self, buckets: int, epsilon: float, *, seed: int = 0) -> None:
        need_at_least(self.name, buckets, 1, "buckets")
        need_at_least(self.name, epsilon, 1e-6, "epsilon")
        super().__init__(seed=seed)
        self.buckets = buckets
        self.epsilon = float(epsilon)
        self.place = np.zeros(1, np.int64)
        self.open = np.zeros(3)
        self.late = VOptimal(buckets, buckets)
        levels = max(buckets - 1, 1)
        self.n = np.zeros(levels, np.int64)
        self.errors = np.zeros((2, levels, 32))
        self.chains = np.zeros((3, levels, 32, buckets + 1))

    def _make_room(self) -> None:
        self.errors = np.concatenate([self.errors, np.zeros_like(self.errors)], axis=2)
        self.chains = np.concatenate([self.chains, np.zeros_like(self.chains)], axis=2)

    @property
    def guarantee(self) -> Guarantee:
        """Sure bars, whose width is known only once the rows are."""
        return Guarantee(
            "additive",
            math.inf,
            assumes=(
                "no width is known beforehand: bars are computed from the buckets",
                "rows in order, for the squared error to be within 1 + epsilon of the least",
            ),
            cite="GKS06",
        )

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """Only the total is owed beforehand; ranges depend on the shape of the signal."""
        if isinstance(need.question, Count):
            return cls(1, 1.0, seed=seed)
        raise ContractUnsatisfiable(
            f"{cls.name} cannot say beforehand how wide its bars will be",
            f"asked for {need.contract}; it owes nearly the best buckets, not a width",
            "use v_optimal with the universe of positions, or count_min for points",
        )

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """A ramp, which has no good buckets, and a range that cuts through two."""
        cells = np.arange(300, dtype=np.int64)
        return Trial(cells, RangeSum(seed % 60, 200 + seed % 90), weights=np.arange(1.0, 301.0))

    def histogram(self) -> Buckets:
        """The nearly best buckets of the rows that came in order."""
        edges, sums, squares = _finished(self.errors, self.chains, self.n, self.place, self.open)
        wide = len(sums)
        lows = np.full(wide, -math.inf) if self.negative else np.zeros(wide)
        highs = np.full(wide, math.inf) if self.negative else np.maximum(sums, 0.0)
        return Buckets(edges, sums, squares, lows, highs)

    def _fold(self, positions: Ints, weights: Floats) -> None:
        before = np.maximum.accumulate(np.concatenate([self.place, positions[:-1]]))
        late = positions < before
        self.late.update(positions[late], weights[late])
        rows, added = positions[~late], weights[~late]
        growth = self.epsilon / (2 * self.buckets)
        done = 0
        while done < len(rows):
            done += _add_rows(
                self.errors,
                self.chains,
                self.n,
                self.place,
                self.open,
                growth,
                self.buckets,
                rows[done:],
                added[done:],
            )
            if done < len(rows):
                self._make_room()

    def _sum(self, start: int, stop: int) -> tuple[float, float, float]:
        value, low, high = self.histogram().sum(start, stop)
        if self.late.rows:
            more = self.late.pieces().sum(start, stop)
            return value + more[0], low + more[1], high + more[2]
        return value, low, high

    def _state(self) -> tuple[Values, Arrays]:
        n = int(self.n.max())
        values, arrays = self.late._save()
        late: Arrays = {f"late_{name}": array for name, array in arrays.items()}
        own = {
            "errors": self.errors[:, :, :n],
            "chains": self.chains[:, :, :n],
            "n": self.n,
            "place": self.place,
            "open": self.open,
        }
        counts = [self.late.rows, self.late.mass]
        return {"late": values, "late_counts": counts}, {**own, **late}

    def _restore(self, values: Values, arrays: Arrays) -> None:
        self.n, self.place, self.open = arrays["n"], arrays["place"], arrays["open"]
        slots = arrays["errors"].shape[2]
        while self.errors.shape[2] < slots:
            self._make_room()
        self.errors[:, :, :slots] = arrays["errors"]
        self.chains[:, :, :slots] = arrays["chains"]
        late: dict[str, Any] = {
            name.removeprefix("late_"): array
            for name, array in arrays.items()
            if name.startswith("late_")
        }
        self.late._load(values["late"], late)
        self.late.rows, self.late.mass = values["late_counts"]

    @property
    def nbytes(self) -> int:
        """Bytes of the remembered prefixes, used or not, and of the late rows."""
        return self.errors.nbytes + self.chains.nbytes + self.late.nbytes

    def validate(self) -> None:
        """Errors grow along each level; the buckets hold the weight of the rows in order."""
        for level, n in enumerate(self.n):
            assert (np.diff(self.errors[0, level, :n]) >= -1e-9).all()
        assert np.isclose(self.histogram().sums.sum() + self.late.mass, self.mass, atol=1e-6)


@compiled
def _spread(total, power, left, right):  # type: ignore[no-untyped-def]
    inside = total[right] - total[left]
    return max(power[right] - power[left] - inside * inside / (right - left), 0.0)


@compiled
def _reach(total, power, left, budget):  # type: ignore[no-untyped-def]
    """Farthest end of a bucket from `left` whose error stays in the budget."""
    low, high = left, len(total) - 1
    while low < high:
        middle = (low + high + 1) // 2
        if _spread(total, power, left, middle) <= budget:
            low = middle
        else:
            high = middle - 1
    return low


@compiled
def _cover(total, power, buckets, epsilon, guess):  # type: ignore[no-untyped-def]
    """Edges of buckets over all cells with error near the least that is over the guess, or None."""
    n = len(total) - 1
    unit = epsilon * guess / (buckets + 1)
    steps = int(2.0 * guess / unit) + 1
    ends = np.zeros((buckets + 1, steps + 1), np.int64)
    back = np.zeros((buckets + 1, steps + 1), np.int64)
    for b in range(1, buckets + 1):
        for k in range(steps + 1):
            for i in range(k + 1):
                end = _reach(total, power, ends[b - 1, i], (k - i + 1) * unit)
                if end > ends[b, k]:
                    ends[b, k] = end
                    back[b, k] = i
    if ends[buckets, steps] < n:
        return None
    k = 0
    while ends[buckets, k] < n:
        k += 1
    edges = np.empty(buckets + 1, np.int64)
    for b in range(buckets, -1, -1):
        edges[b] = ends[b, k]
        k = back[b, k]
    kept = 1
    for b in range(1, buckets + 1):
        if edges[b] > edges[kept - 1]:
            edges[kept] = edges[b]
            kept += 1
    return edges[:kept].copy()


@compiled
def _add_rows(errors, chains, n, place, opened, growth, buckets, positions, weights):  # type: ignore[no-untyped-def]
    """Add rows in order; return how many, fewer than all when memory is full."""
    for row in range(len(positions)):
        if n.max() + 2 >= errors.shape[2]:
            return row
        at = positions[row]
        if at > place[0]:
            if opened[_CELL] != 0.0 or n[0] > 0 or place[0] > 0:
                opened[_TOTAL] += opened[_CELL]
                opened[_POWER] += opened[_CELL] ** 2
                _end(errors, chains, n, place[0] + 1, opened, growth, buckets)
                opened[_CELL] = 0.0
                place[0] += 1
            if at > place[0]:
                _end(errors, chains, n, at, opened, growth, buckets)
                place[0] = at
        opened[_CELL] += weights[row]
    return len(positions)


@compiled
def _best(errors, chains, n, level, end, total, power):  # type: ignore[no-untyped-def]
    """Best prefix of a level to put one bucket behind, up to an end; the error of both."""
    least, slot = np.inf, -1
    for i in range(n[level] - 1, -1, -1):
        inside = total - chains[_SUM, level, i, level + 1]
        width = end - chains[_EDGE, level, i, level + 1]
        spread = power - chains[_SQUARES, level, i, level + 1] - inside * inside / width
        error = errors[1, level, i] + max(spread, 0.0)
        if error < least:
            least, slot = error, i
    return least, slot


@compiled
def _end(errors, chains, n, end, opened, growth, buckets):  # type: ignore[no-untyped-def]
    """A cell, or a run of equal cells, ends here: remember the prefix where its error has grown."""
    total, power = opened[_TOTAL], opened[_POWER]
    for level in range(buckets - 2, -1, -1):
        if level == 0:
            error, slot = max(power - total * total / end, 0.0), -1
        else:
            error, slot = _best(errors, chains, n, level - 1, end, total, power)
            if slot < 0:
                continue
        at = n[level] - 1
        if at < 0 or error > (1.0 + growth) * errors[0, level, at]:
            at = n[level]
            n[level] += 1
            # Never below the one before, whatever rounding says.
            errors[0, level, at] = max(error, errors[0, level, at - 1]) if at > 0 else error
        errors[1, level, at] = error
        if level > 0:
            chains[:, level, at, :] = chains[:, level - 1, slot, :]
        chains[_EDGE, level, at, level + 1] = end
        chains[_SUM, level, at, level + 1] = total
        chains[_SQUARES, level, at, level + 1] = power


@compiled
def _finished(errors, chains, n, place, opened):  # type: ignore[no-untyped-def]
    """Edges, sums and squares of the nearly best buckets up to the newest cell."""
    end = place[0] + 1
    total = opened[_TOTAL] + opened[_CELL]
    power = opened[_POWER] + opened[_CELL] ** 2
    level = len(n) - 1 if chains.shape[3] > 2 else -1
    slot = -1
    while level >= 0:
        slot = _best(errors, chains, n, level, end, total, power)[1]
        if slot >= 0:
            break
        level -= 1
    edges, sums, squares = np.zeros(level + 3, np.int64), np.zeros(level + 2), np.zeros(level + 2)
    before_sum, before_power = 0.0, 0.0
    for b in range(level + 1):
        edges[b + 1] = int(chains[_EDGE, level, slot, b + 1])
        sums[b] = chains[_SUM, level, slot, b + 1] - before_sum
        squares[b] = chains[_SQUARES, level, slot, b + 1] - before_power
        before_sum += sums[b]
        before_power += squares[b]
        squares[b] += 1e-15 * before_power  # what rounding can hide in the difference
    edges[level + 2] = end
    sums[level + 1] = total - before_sum
    squares[level + 1] = power - before_power + 1e-15 * power
    return edges, sums, squares
