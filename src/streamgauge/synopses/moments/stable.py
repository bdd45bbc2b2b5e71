"""Stable sketch: the size of a stream, or of the difference of two, in any norm from 0 to 2.

Every item has, for each copy, a draw of a stable law that belongs to it for ever; a copy adds up
weights times draws. The sum is distributed like one draw times the norm, so many copies tell the
norm, with a bar from the exact law of the estimate. Sums are exact whole numbers: order of rows,
batches, merges and deletions leave no rounding behind.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy
from scipy import special

from streamgauge.contracts.estimate import Estimate
from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.errors import BindError, ContractUnsatisfiable, IncompatibleSynopsis
from streamgauge.kernel.keys import Column, Items
from streamgauge.synopses.moments.accumulators import carry, logarithms, scale
from streamgauge.synopses.moments.stable_law import (
    add_draws,
    log_moment,
    log_quantile,
    quantile_of_mean_log,
)
from streamgauge.synopses.questions import Count, Distance, Moment, Question
from streamgauge.synopses.synopsis import (
    Arrays,
    Floats,
    Ints,
    Need,
    Subtractable,
    Synopsis,
    Trial,
    Values,
    Weights,
)

ESTIMATORS = ("median", "geometric", "euclidean")
MOST_COPIES = 1_000_001
_BATCH = 1 << 24


class Reading(NamedTuple):
    """Logarithms of the p-th power of the norm: the estimate and its bar."""

    value: float
    low: float
    high: float


class Stable(Synopsis, Subtractable):
    """Sum of the p-th powers of the weights of items, 0 < p <= 2, with any deletions.

    Parameters
    ----------
    p
        Power; 1 sums absolute weights, 2 squares (where `fast_ams` is much faster).
    copies
        Sums kept; four times as many halve the error. An update costs a draw for each.
    delta
        Chance that one bar fails.
    estimator
        median; geometric (mean, without bias: narrower, above all with few copies); euclidean
        (p = 2 only, the narrowest there, and a true distance between sketches).
    seed
        Chooses the draws; streams to be merged or compared need the same.

    Examples
    --------
    >>> sketch = Stable(1.0, 401, seed=7)
    >>> sketch.update(["in", "out", "in"], [30.0, 70.0, -10.0])
    >>> found = sketch.query(Moment(1.0))
    >>> found.low < 90.0 < found.high
    True
    >>> sketch.update(["in", "out"], [-20.0, -70.0])
    >>> sketch.query(Moment(1.0)).high
    0.0

    References
    ----------
    I06, CMS76, L08: docs/reference/synopses/moments.md
    """

    name = "stable"
    answers: ClassVar[tuple[type[Question], ...]] = (Moment, Distance, Count)
    takes = "keys"
    weights: ClassVar[Weights] = "any"
    merging = "exact"
    small: ClassVar[tuple[Any, ...]] = (1.0, 31)

    def __init__(
        self,
        p: float,
        copies: int,
        delta: float = 0.05,
        estimator: str = "median",
        *,
        seed: int = 0,
    ) -> None:
        super().__init__(seed=seed)
        _check(p, copies, delta, estimator)
        self.p = p
        self.copies = copies
        self.delta = delta
        self.estimator = estimator
        # Draws below 2^-unit (chance exp(-64) at small p) count as nothing, those above
        # 2^ceiling (chance 2^-44) as that; 96 bits are left for weights and their sum.
        self.unit = 32 + math.ceil(6.0 / p)
        self.ceiling = float(math.ceil(44.0 / p))
        n_digits = 3 + math.ceil((self.unit + self.ceiling + 96) / 32)
        self.sums = np.zeros((copies, n_digits), np.int64)

    @property
    def guarantee(self) -> Guarantee:
        """The sum of powers is off by more than `epsilon` of the estimate with chance `delta`."""
        return Guarantee(
            "relative",
            _width(law(self.p, self.copies, self.delta, self.estimator), 1.0),
            self.delta,
            assumes=("draws made by hashing behave as independent ones",),
            cite="I06",
        )

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """Fewest copies whose bar is within the tolerance, read by the geometric mean."""
        contract, p = need.contract, getattr(need.question, "p", math.nan)
        if contract.tolerance != "relative" or contract.confidence == 1.0 or not 0.0 < p < 2.0:
            raise ContractUnsatisfiable(
                "stable owes a share of the value for 0 < p < 2 at a confidence below 100%",
                f"asked for {need.question} {contract}",
                "use fast_ams for p = 2 and l0 for p = 0; p > 2 takes space that grows with the "
                "universe; write Contract.relative(0.1, confidence=0.95)",
            )
        root = 1.0 / p if isinstance(need.question, Distance) else 1.0
        delta = 1.0 - contract.confidence
        copies = fewest(p, contract.within, delta, "geometric", root)
        return cls(p, copies, delta, "geometric", seed=seed)

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Any rows: the law of the estimate is exact."""
        rng = np.random.default_rng(seed)
        column = rng.integers(0, 30, 60)
        return Trial(column, Moment(1.0), weights=rng.integers(-9, 10, 60).astype(np.float64))

    def scaled(self, factor: float) -> Self:
        """The sketch of the stream with every weight multiplied, to the unit of the sums."""
        new = self.copy()
        ratio = Fraction(factor)
        new.sums = scale(self.sums, ratio.numerator, ratio.denominator)
        new.mass *= factor
        return new

    def _checked_weights(self, weights: Column | None, size: int, given: Items) -> Floats | None:
        weight = super()._checked_weights(weights, size, given)
        if weight is not None and np.abs(weight).max(initial=0.0) > 2.0**53:
            raise BindError(
                f"{self.name} takes weights up to 2^53",
                f"the largest is {np.abs(weight).max():g}",
                "divide the weights by a common factor",
            )
        return weight

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        weight = np.ones(len(column)) if weights is None else weights
        if (weight == np.rint(weight)).all():
            # Sums of whole weights are exact, so rows of one key can be put together first.
            column, inverse = np.unique(column, return_inverse=True)
            weight = np.bincount(inverse, weights=weight).astype(np.float64)
        for start in range(0, len(column), _BATCH):
            part = slice(start, start + _BATCH)
            add_draws(self.sums, column[part], weight[part], self.p, self.unit, self.ceiling)
            carry(self.sums)

    def _merge(self, other: Self) -> None:
        self.sums += other.sums
        carry(self.sums)

    def _subtract(self, other: Any) -> None:
        self.sums -= other.sums
        carry(self.sums)

    def _answer(self, question: Any) -> Any:
        if isinstance(question, Count):
            return self._bar(self.mass, self.mass, self.mass, 0.0)
        if question.p != self.p:
            raise IncompatibleSynopsis(
                f"this {self.name} keeps powers of {self.p:g}",
                f"asked for the power {question.p:g}",
                f"build stable(p={question.p:g}), fast_ams for p=2, l0 for p=0",
            )
        if isinstance(question, Distance):
            return self._estimate(self._apart(question.other)._read(), 1.0 / self.p)
        return self._estimate(self._read(), 1.0)

    def _apart(self, other: Any) -> Self:
        self._check_fits(other)
        apart = self.copy()
        apart.subtract(other)
        return apart

    def _read(self) -> Reading:
        """Estimate the logarithm of the sum of powers."""
        logs = np.empty(self.copies)
        logarithms(self.sums, self.unit, logs)
        if np.isneginf(logs).all():
            return Reading(-math.inf, -math.inf, -math.inf)
        logs = np.maximum(logs, -self.unit * math.log(2.0))
        center = self.p * _statistic(logs, self.estimator)
        off = law(self.p, self.copies, self.delta, self.estimator)
        return Reading(center + off.value, center + off.low, center + off.high)

    def _estimate(self, reading: Reading, root: float) -> Estimate:
        return self._bar(*(_exp(root * log) for log in reading))

    @property
    def nbytes(self) -> int:
        """Bytes of the sums."""
        return self.sums.nbytes

    def _save(self) -> tuple[Values, Arrays]:
        digits = self.sums[:, :-1].astype(np.uint32)
        return {}, {"digits": digits, "last": self.sums[:, -1].copy()}

    def _load(self, values: Values, arrays: Arrays) -> None:
        self.sums[:, :-1] = arrays["digits"]
        self.sums[:, -1] = arrays["last"]

    def validate(self) -> None:
        """Digits are carried, and the last one is far from overflowing."""
        assert (self.sums[:, :-1] >= 0).all()
        assert (self.sums[:, :-1] < 2**32).all()
        assert np.abs(self.sums[:, -1]).max(initial=0) < 2**31


@lru_cache(maxsize=512)
def law(p: float, copies: int, delta: float, estimator: str) -> Reading:
    """What to add to the logarithm of a statistic of the sums for the estimate and its bar.

    The statistic of draws alone has a known law; the norm only shifts its logarithm.
    """
    low, high = delta / 2.0, 1.0 - delta / 2.0
    if estimator == "median":
        middle = (copies + 1) // 2
        # The middle one of n draws has a rank among all draws that follows a beta law.
        ranks = (float(scipy.stats.beta.ppf(q, middle, copies + 1 - middle)) for q in (high, low))
        return Reading(-p * log_quantile(0.5, p), *(-p * log_quantile(q, p) for q in ranks))
    if estimator == "geometric":
        bias = copies * log_moment(p / copies, p)
        bar = (-p * quantile_of_mean_log(q, p, copies) for q in (high, low))
        return Reading(-bias, *bar)
    bar = (-math.log(2.0 * float(scipy.stats.chi2.ppf(q, copies)) / copies) for q in (high, low))
    return Reading(-math.log(2.0), *bar)


def fewest(p: float, within: float, delta: float, estimator: str, root: float) -> int:
    """Fewest copies (an odd number) whose bar is within a share of the value, after a root."""
    low, high = 3, 3
    while _width(law(p, high, delta, estimator), root) > within:
        low, high = high, 2 * high + 1
        if high > MOST_COPIES:
            raise ContractUnsatisfiable(
                "a stable sketch of a million copies would not do",
                f"asked for {within:g} at p={p:g}, confidence {1.0 - delta:g}",
                "widen the contract to 0.01 or more",
            )
    while high - low > 2:
        middle = (low + high) // 4 * 2 + 1
        if _width(law(p, middle, delta, estimator), root) > within:
            low = middle
        else:
            high = middle
    return high


def _statistic(logs: Floats, estimator: str) -> float:
    if estimator == "median":
        return float(np.sort(logs)[(len(logs) + 1) // 2 - 1])
    if estimator == "geometric":
        return float(logs.mean())
    return float(special.logsumexp(2.0 * logs) - math.log(len(logs))) / 2.0


def _width(off: Reading, root: float) -> float:
    """How far the bar reaches from the value, as a share of it."""
    above = _exp(root * (off.high - off.value)) - 1.0
    return max(above, 1.0 - _exp(root * (off.low - off.value)))


def _exp(log: float) -> float:
    return math.exp(log) if log < 709.0 else math.inf


def _check(p: float, copies: int, delta: float, estimator: str) -> None:
    if p > 2.0:
        raise BindError(
            "there is no stable law of a power above 2",
            f"got p={p:g}; such moments take space that grows with the universe",
            "use 0 < p <= 2",
        )
    if not (p >= 0.001 and copies >= 3 and 0.0 < delta < 1.0 and estimator in ESTIMATORS):
        raise BindError(
            "a stable sketch needs 0.001 <= p <= 2, three copies, delta in (0, 1), an estimator",
            f"got p={p:g}, {copies} copies, delta={delta:g}, estimator {estimator!r}",
            f"write Stable(1.0, 401, 0.05, 'median'); estimators are {', '.join(ESTIMATORS)}",
        )
    if estimator == "euclidean" and p != 2.0:
        raise BindError(
            "the euclidean estimator is for p = 2",
            f"got p={p:g}",
            "use the median or the geometric estimator",
        )
