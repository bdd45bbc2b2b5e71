"""t-digest: quantiles that are very good in practice and promised by nobody.

The one of Apache DataSketches. Neighbouring numbers are replaced by their mean and count, few of
them at a time near both ends. No theorem bounds the error of a digest that was merged or fed in an
unlucky order, so the bar says what is known: the smallest and the largest number.
"""

from __future__ import annotations

import math
from typing import Any, Self

import datasketches
import numpy as np

from streamgauge.contracts.answer import charges_of
from streamgauge.contracts.bars import Sides
from streamgauge.contracts.estimate import Estimate
from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.errors import BindError, ContractUnsatisfiable
from streamgauge.synopses.questions import Count, Max, Min, Quantile, Rank
from streamgauge.synopses.synopsis import Arrays, Floats, Ints, Need, Synopsis, Trial, Values


class Tdigest(Synopsis):
    """Quantiles without a bound; for looking, not for owing.

    Its bytes depend also on when it was read, since reading compresses it; the engine does not use
    it.

    Parameters
    ----------
    k
        Twice the number of means or so, 10 to 65,535.
    seed
        Not used; parts to be merged need the same.

    Examples
    --------
    >>> digest = Tdigest(k=100)
    >>> digest.update(range(1001))
    >>> print(digest.query(Quantile(0.5)))
    492.5 in [0, 1000], tdigest, no bound

    References
    ----------
    DE19: docs/references.md
    """

    name = "tdigest"
    answers = (Quantile, Rank, Count, Min, Max)
    takes = "numbers"
    weights = "none"
    merging = "error"
    repeatable = False
    small = (20,)

    def __init__(self, k: int = 200, *, seed: int = 0) -> None:
        super().__init__(seed=seed)
        if not 10 <= k <= 65535:
            raise BindError("k lies between 10 and 65,535", f"got k={k}", "write Tdigest(k=200)")
        self.k = k
        self.digest = datasketches.tdigest_double(k)

    @property
    def guarantee(self) -> Guarantee:
        """Nothing but that a rank is a rank."""
        return Guarantee("rank", 1.0, assumes=("no bound is known",), cite="DE19, no theorem")

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """Refuse: it can owe nothing."""
        raise ContractUnsatisfiable(
            "tdigest has no proved bound",
            f"asked for {need.contract}",
            "use kll for an error in rank, log_histogram for one in value",
        )

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """The smallest item, which no inner mean can be."""
        rows = np.random.default_rng(seed).permutation(500).astype(np.int64)
        return Trial(rows, Quantile(0.0))

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        if not np.isfinite(column).all():
            raise BindError(
                "a t-digest takes means, so it takes finite numbers",
                f"{int((~np.isfinite(column)).sum())} of {len(column)} are infinite",
                "leave those rows out, or use kll",
            )
        # Arrow lends columns that may not be written to, and the library takes none of those.
        self.digest.update(np.require(column, np.float64, ["C", "W"]))

    def _merge(self, other: Self) -> None:
        self.digest.merge(other.digest)

    def _answer(self, question: Any) -> Any:
        if isinstance(question, Count):
            return self._bar(self.mass, self.mass, self.mass)
        if isinstance(question, Rank) and not self.rows:
            return self._bar(0.0, 0.0, 0.0)
        if not self.rows:
            return self._bar(math.nan, -math.inf, math.inf)
        least, most = self.digest.get_min_value(), self.digest.get_max_value()
        if isinstance(question, Min | Max):
            value = least if isinstance(question, Min) else most
            return self._bar(value, value, value)
        if isinstance(question, Rank):
            if question.value < least or question.value >= most:
                value = 0.0 if question.value < least else self.mass
                return self._bar(value, value, value)
            return self._unbound(self.mass * self.digest.get_rank(question.value), 0.0, self.mass)
        return self._unbound(self.digest.get_quantile(question.phi), least, most)

    def _unbound(self, value: float, low: float, high: float) -> Estimate:
        kept = min(max(value, low), high)
        charges = charges_of([Sides(self.name, kept - low, high - kept)])
        return Estimate(kept, low, high, 1.0, f"{self.name}, no bound", charges)

    def _save(self) -> tuple[Values, Arrays]:
        return {}, {"digest": np.frombuffer(self.digest.serialize(), np.uint8)}

    def _load(self, values: Values, arrays: Arrays) -> None:
        self.digest = datasketches.tdigest_double.deserialize(arrays["digest"].tobytes())

    def validate(self) -> None:
        """The means stand for all rows."""
        assert self.digest.get_total_weight() == self.rows
