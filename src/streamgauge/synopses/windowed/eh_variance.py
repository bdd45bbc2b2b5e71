"""EhVariance: the variance of the numbers in a sliding window, within a share of it, never failing.

A bucket holds the number, mean and squared distances of neighbouring rows. Neighbours are put
together only while they are few against the rows that are newer, and while their squared distances
from the mean *of the newer rows* are few against those of the newer rows. So the bucket across the
edge of the window can move the variance but little, wherever its own mean lies and however many of
its rows are still alive. The rows may come at any times: their number in the window need not be
known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.errors import BindError, ContractUnsatisfiable
from streamgauge.kernel.jit import compiled
from streamgauge.synopses.questions import Count, Mean, Variance
from streamgauge.synopses.synopsis import Floats, Ints, Need, Trial
from streamgauge.synopses.windowed.buckets import BucketLane
from streamgauge.synopses.windowed.clock import relative_error, window_of
from streamgauge.synopses.windowed.exponential import Exponential


class MomentsLane(BucketLane):
    """Number, mean and squared distances of neighbouring rows; `whole` where all have one time.

    Parameters
    ----------
    window
        Longest window that can be asked for.
    share
        Largest share of the newer rows, and of their squared distances, in one bucket.
    """

    def __init__(self, window: int, share: float) -> None:
        columns = {name: np.zeros(0) for name in ("counts", "means", "squares")}
        super().__init__({**columns, "whole": np.zeros(0, np.uint8)})
        self.window = window
        self.share = share

    def add(self, times: Ints, values: Floats) -> None:
        """Fold rows of ascending times."""
        self.fold(
            len(times),
            lambda start: _append(
                *(*self.columns.values(), self.n, self.first, start),
                *(times, values, self.window, self.share),
            ),
        )

    def cut(self, edge: int) -> tuple[Floats, Floats]:
        """Buckets that are alive for sure and the one across the edge: rows of n, mean, squares."""
        place = self.across(edge)
        table = np.stack([self.held(name) for name in ("counts", "means", "squares")], axis=1)
        sure = place == self.n or self.first[0] > edge or bool(self.held("whole")[place])
        split = place if sure else place + 1
        return table[split:], table[place:split]


@dataclass(frozen=True, slots=True)
class Inside:
    """Moments of the rows that are alive for sure, and the buckets that may be."""

    count: float
    mean: float
    squares: float
    edges: Floats

    def counts(self) -> tuple[float, float]:
        """Least and most rows."""
        return self.count + len(self.edges), self.count + float(self.edges[:, 0].sum())

    def means(self) -> tuple[float, float]:
        """Least and largest average.

        u rows out of n with squares V sum up to at most sqrt(u V) more or less than u times the
        mean of all n, and what they move the average by grows with u.
        """
        counts, means, squares = self.edges.T
        reach = np.sqrt(counts * squares)
        pull = counts * (means - self.mean)
        rows = self.count + counts
        low = float(((np.minimum(pull, 0.0) - reach) / rows).sum())
        high = float(((np.maximum(pull, 0.0) + reach) / rows).sum())
        return self.mean + low, self.mean + high

    def variances(self) -> tuple[float, float]:
        """Least and largest variance: more rows only add to the squared distances."""
        least, most = self.counts()
        apart = np.abs(self.edges[:, 1] - self.mean)
        distances = self.edges[:, 2] + self.edges[:, 0] * apart**2
        high = (self.squares + float(distances.sum())) / least
        if len(self.edges) == 1:
            high = min(high, self._largest(float(self.edges[0, 2]), float(apart[0])))
        return self.squares / most, max(high, self.squares / most)

    def _largest(self, squares: float, apart: float) -> float:
        """Largest (V + (v + d t)^2) / (n + t^2) over t^2 = 1 to the rows of the bucket.

        t^2 rows have squared distances (v + d t)^2 from the inner mean at most, v^2 being the
        squares of the bucket and d the distance of the means. The derivative has one root.
        """
        v, d = math.sqrt(squares), apart
        middle = d * d * self.count - self.squares - squares
        if v * d > 0.0:
            root = math.sqrt(middle * middle + 4.0 * (v * d) ** 2 * self.count)
            peak = (middle + root) / (2.0 * v * d)
        else:
            peak = math.inf if middle > 0.0 else 0.0
        t = min(max(peak, 1.0), math.sqrt(float(self.edges[0, 0])))
        return (self.squares + (v + d * t) ** 2) / (self.count + t * t)


class EhVariance(Exponential[MomentsLane]):
    """Variance of the numbers of the last `window`, or of any part of it, within `epsilon` of it.

    The average comes along, within a share of the standard deviation, and the number of rows.

    Parameters
    ----------
    window
        Longest window that can be asked for, in the unit of the times.
    epsilon
        Relative error.
    seed
        Not used; it cannot fail.

    Examples
    --------
    >>> variances = EhVariance(window=1000, epsilon=0.1)
    >>> variances.update(np.arange(5000) % 100, times=np.arange(5000))
    >>> print(variances.query(Variance()))
    835.592 in [826.664, 844.52], eh_variance
    >>> print(variances.query(Mean()))
    49.6429 in [49.3336, 49.9523], eh_variance

    References
    ----------
    BDMO03, ZG07: docs/reference/synopses/windowed.md
    """

    name = "eh_variance"
    answers = (Variance, Mean, Count)
    takes = "numbers"
    weights = "none"
    cite = "BDMO03"
    small = (500, 0.2)

    @property
    def guarantee(self) -> Guarantee:
        """Off by `epsilon` of the variance at most, always; twice that for parts put together."""
        wider = 2.0 if len(self.lanes) > 1 else 1.0
        return Guarantee("relative", wider * self.epsilon, cite=self.cite)

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """The error that is allowed, over the window that is asked for."""
        window = window_of(cls.name, need)
        if not isinstance(need.question, Variance):
            raise ContractUnsatisfiable(
                "eh_variance owes a share of the variance",
                f"asked for {type(need.question).__name__} {need.contract}",
                "use eh_mean or eh_count",
            )
        epsilon = relative_error(cls.name, need.contract)
        return cls(window, epsilon / 2.0 if need.merge else epsilon, seed=seed)

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Far away rows that go while the clock moves on, before near ones."""
        rng = np.random.default_rng(seed)
        near = rng.normal(0.0, 1.0, 450)
        far = rng.normal(rng.choice([3.0, 30.0]), 1.0, 300)
        values = np.concatenate([far, near])
        return Trial(values, Variance(), times=np.arange(750, dtype=np.int64), now=760 + seed % 30)

    def _lane(self) -> MomentsLane:
        return MomentsLane(self.window, self.epsilon / 3.0)

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        instants = self._instants(times, len(column))
        wrong = ~np.isfinite(column)
        if wrong.any():
            raise BindError(
                "eh_variance takes finite numbers",
                f"{int(wrong.sum())} of {len(column)} are not",
                "leave infinities out",
            )
        self._first_lane().add(instants, np.ascontiguousarray(column))
        self.now = int(instants[-1])

    def _within(self, question: Any, window: int) -> Any:
        edge = -1 if self.now is None else self.now - window
        cuts = [lane.cut(edge) for lane in self.lanes]
        sure = np.concatenate([np.zeros((0, 3)), *(cut[0] for cut in cuts)])
        edges = np.concatenate([np.zeros((0, 3)), *(cut[1] for cut in cuts)])
        count = float(sure[:, 0].sum())
        if not count:
            return self._bar(0.0, 0.0, 0.0) if isinstance(question, Count) else self._nothing()
        mean = float((sure[:, 0] * sure[:, 1]).sum()) / count
        squares = float((sure[:, 2] + sure[:, 0] * (sure[:, 1] - mean) ** 2).sum())
        inside = Inside(count, mean, squares, edges)
        if isinstance(question, Count):
            low, high = inside.counts()
        elif isinstance(question, Mean):
            low, high = inside.means()
        else:
            low, high = inside.variances()
        return self._bar((low + high) / 2.0, low, high)

    def _nothing(self) -> Any:
        return self._bar(math.nan, -math.inf, math.inf)

    def validate(self) -> None:
        """Times rise, and a bucket of several times has few rows against the newer ones."""
        for lane in self.lanes:
            assert (np.diff(lane.times) >= 0).all()
            counts, whole = lane.held("counts"), lane.held("whole")
            newer = np.cumsum(counts[::-1])[::-1] - counts
            assert ((counts <= lane.share * newer + 1e-9) | (whole == 1)).all()


@compiled
def _append(  # type: ignore[no-untyped-def]
    times, counts, means, squares, whole, n, first, start, new_times, new_values, window, share
):
    for i in range(start, len(new_times)):
        instant = new_times[i]
        value = new_values[i]
        if n > 0 and instant - times[n - 1] >= window:
            n = 0
        if n > 0 and times[n - 1] == instant:
            # The newest bucket is never swept together, so all of it has this time.
            step = value - means[n - 1]
            counts[n - 1] += 1.0
            means[n - 1] += step / counts[n - 1]
            squares[n - 1] += step * (value - means[n - 1])
            continue
        if n == len(times):
            n = _sweep(times, counts, means, squares, whole, n, instant - window, share)
            if 2 * n > len(times):
                return n, i
        if n == 0:
            first[0] = instant
        times[n] = instant
        counts[n] = 1.0
        means[n] = value
        squares[n] = 0.0
        whole[n] = 1
        n += 1
    return n, len(new_times)


@compiled
def _together(n_a, mean_a, squares_a, n_b, mean_b, squares_b):  # type: ignore[no-untyped-def]
    n = n_a + n_b
    step = mean_b - mean_a
    return n, mean_a + step * (n_b / n), squares_a + squares_b + step * step * (n_a * (n_b / n))


@compiled
def _sweep(times, counts, means, squares, whole, n, edge, share):  # type: ignore[no-untyped-def]
    """Put neighbours together, newest first, where they are few and near against all newer."""
    write = n
    n_newer = 0.0
    mean_newer = 0.0
    squares_newer = 0.0
    i = n - 1
    while i >= 0 and times[i] > edge:
        instant = times[i]
        one = whole[i]
        rows, mean, apart = counts[i], means[i], squares[i]
        i -= 1
        while i >= 0 and times[i] > edge:
            all_rows, middle, spread = _together(rows, mean, apart, counts[i], means[i], squares[i])
            distances = spread + all_rows * (middle - mean_newer) ** 2
            if all_rows > share * n_newer or distances > share * squares_newer:
                break
            rows, mean, apart, one = all_rows, middle, spread, 0
            i -= 1
        if n_newer == 0.0:
            n_newer, mean_newer, squares_newer = rows, mean, apart
        else:
            n_newer, mean_newer, squares_newer = _together(
                n_newer, mean_newer, squares_newer, rows, mean, apart
            )
        write -= 1
        times[write] = instant
        counts[write] = rows
        means[write] = mean
        squares[write] = apart
        whole[write] = one
    kept = n - write
    for column in (counts, means, squares):
        for j in range(kept):
            column[j] = column[write + j]
    for j in range(kept):
        times[j] = times[write + j]
        whole[j] = whole[write + j]
    return kept
