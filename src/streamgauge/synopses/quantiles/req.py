"""REQ: ranks that are the more exact the nearer they lie to one end, such as p99.99.

The one of Apache DataSketches. Like KLL, but compaction spares the items at one end, so the error
is a share of the number of items beyond. Its coins cannot be seeded: a replay gives another state
of the same law, which is why the engine does not use it. Items are kept as 32-bit floats; bars are
widened by that rounding where it was felt.
"""

from __future__ import annotations

import math
from copy import copy
from typing import Any, Self

import datasketches
import numpy as np

from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.errors import BindError, ContractUnsatisfiable
from streamgauge.synopses.questions import Count, Max, Min, Quantile, Rank
from streamgauge.synopses.synopsis import Arrays, Floats, Ints, Need, Synopsis, Trial, Values

_DELTAS = {1: 0.3174, 2: 0.0456, 3: 0.0028}
"""Chance of a normal number so many deviations from its mean."""


class Req(Synopsis):
    """Ranks within a share of the items beyond them.

    Parameters
    ----------
    k
        Size, an even number 12 to 1,024; the error falls as 1 / k. Smaller ones break the bars of
        the library.
    upper
        Whether the large items are the exact ones, else the small ones.
    deviations
        Standard deviations of a bar, 1 to 3; one more is added to what was merged, for which the
        library's deviation is too small.
    seed
        Not used, for the coins of the library take none; parts to be merged need the same.

    Examples
    --------
    >>> sketch = Req(k=12)
    >>> sketch.update(range(100_000))
    >>> bar = sketch.query(Quantile(0.9999))
    >>> bar.high - bar.low < 10
    True

    References
    ----------
    CKLTV21: docs/references.md
    """

    name = "req"
    answers = (Quantile, Rank, Count, Min, Max)
    takes = "numbers"
    weights = "none"
    merging = "sampling"
    repeatable = False
    small = (12, True, 2)

    def __init__(
        self, k: int = 12, upper: bool = True, deviations: int = 2, *, seed: int = 0
    ) -> None:
        super().__init__(seed=seed)
        if not 12 <= k <= 1024 or k % 2 or deviations not in _DELTAS:
            raise BindError(
                "k is an even number from 12 to 1,024, deviations 1, 2 or 3",
                f"got k={k}, deviations={deviations}",
                "write Req(k=12, upper=True, deviations=2)",
            )
        self.k = k
        self.upper = upper
        self.deviations = deviations
        self.sketch = datasketches.req_floats_sketch(k, upper)
        self.least, self.most = math.inf, -math.inf
        self.short = True
        self.merged = False

    @property
    def guarantee(self) -> Guarantee:
        """Off in rank by `epsilon` at the worst end, by next to nothing at the other."""
        exact = bool(self.rows) and not self.sketch.is_estimation_mode()
        error = _deviation(self.k, self.upper, max(self.rows, 1))
        return Guarantee(
            "rank",
            0.0 if exact else (self.deviations + self.merged) * error,
            0.0 if exact else _DELTAS[self.deviations],
            assumes=("errors are normal with the deviation that the library measured",),
            cite="CKLTV21 lemma 12, constants of Apache DataSketches",
        )

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """`k` from the tolerance at the worst rank; at the exact end it is far better."""
        contract = need.contract
        deviations = next(
            (d for d, chance in _DELTAS.items() if 1 - chance >= contract.confidence), 0
        )
        if contract.tolerance != "rank" or not deviations or need.deletions:
            raise ContractUnsatisfiable(
                "req owes a rank at a confidence up to 99.7%, of rows that are not taken back",
                f"asked for {contract}",
                "write Contract.rank(0.01, confidence=0.95), or use kll",
            )
        spread = deviations + need.merge
        rows = need.rows or 1 << 40
        for k in range(12, 1025, 2):
            if spread * _deviation(k, True, rows) <= contract.within:
                return cls(k, True, deviations, seed=seed)
        feasible = spread * _deviation(1024, True, rows)
        raise ContractUnsatisfiable(
            "req would be too large",
            f"{contract} needs k above 1,024",
            f"ask for Contract.rank({feasible:.2g}, confidence={contract.confidence})",
        )

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Random order, and a rank far from the exact end."""
        rows = np.random.default_rng(seed).permutation(4001).astype(np.int64)
        return Trial(rows, Rank(1000.0))

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        with np.errstate(over="ignore"):
            short = column.astype(np.float32)
        self.short = self.short and bool((short == column).all())
        self.least = min(self.least, float(column.min()))
        self.most = max(self.most, float(column.max()))
        self.sketch.update(short)

    def _merge(self, other: Self) -> None:
        self.merged = self.merged or other.merged or bool(self.rows and other.rows)
        self.sketch.merge(other.sketch)
        self.short = self.short and other.short
        self.least, self.most = min(self.least, other.least), max(self.most, other.most)

    def _answer(self, question: Any) -> Any:
        if isinstance(question, Count):
            return self._bar(self.mass, self.mass, self.mass, 0.0)
        if isinstance(question, Rank):
            return self._rank(question.value)
        if not self.rows:
            return self._bar(math.nan, -math.inf, math.inf, 0.0)
        if isinstance(question, Min | Max):
            value = self.least if isinstance(question, Min) else self.most
            return self._bar(value, value, value, 0.0)
        return self._quantile(question.phi)

    # The library sorts a sketch that it reads; what is asked is a copy, so that asking changes no
    # bytes.

    def _quantile(self, phi: float) -> Any:
        n, sketch = self.rows, copy(self.sketch)
        # Half a place before a rank: the library then rounds up to that very rank.
        rank = (max(1, math.ceil(phi * n * (1.0 - 1e-12))) - 0.5) / n
        value = sketch.get_quantile(rank, True)
        low = high = value
        if sketch.is_estimation_mode():
            under, over = self._lower(sketch, rank), self._upper(sketch, rank)
            # At the ends the library says the last item it holds, which need not be the last.
            low = sketch.get_quantile(under, True) if under > 0.0 else self.least
            high = sketch.get_quantile(over, True) if over < 1.0 else self.most
        if not self.short:
            low = float(np.nextafter(np.float32(low), np.float32(-np.inf)))
            high = float(np.nextafter(np.float32(high), np.float32(np.inf)))
        low, high = max(low, self.least), min(high, self.most)
        return self._bar(min(max(value, low), high), low, high)

    def _rank(self, value: float) -> Any:
        if not self.rows or value < self.least or value >= self.most:
            exact = self.mass if self.rows and value >= self.most else 0.0
            return self._bar(exact, exact, exact, 0.0)
        sketch = copy(self.sketch)
        with np.errstate(over="ignore"):
            short = float(np.float32(value))
        found = under = over = sketch.get_rank(short, True)
        if not self.short:
            # Items that round to the same 32-bit float may lie on either side.
            under = sketch.get_rank(short, False)
        elif short > value:
            found = under = over = sketch.get_rank(short, False)
        if sketch.is_estimation_mode():
            under, over = self._lower(sketch, under), self._upper(sketch, over)
        n = self.rows
        return self._bar(round(found * n), math.floor(under * n + 1e-6), math.ceil(over * n - 1e-6))

    def _lower(self, sketch: Any, rank: float) -> float:
        deviation = rank - float(sketch.get_rank_lower_bound(rank, 1))
        return max(0.0, rank - (self.deviations + self.merged) * deviation)

    def _upper(self, sketch: Any, rank: float) -> float:
        deviation = float(sketch.get_rank_upper_bound(rank, 1)) - rank
        return min(1.0, rank + (self.deviations + self.merged) * deviation)

    def _save(self) -> tuple[Values, Arrays]:
        values = {"ends": [self.least, self.most], "short": self.short, "merged": self.merged}
        return values, {"sketch": np.frombuffer(self.sketch.serialize(), np.uint8)}

    def _load(self, values: Values, arrays: Arrays) -> None:
        self.least, self.most = values["ends"]
        self.short, self.merged = values["short"], values["merged"]
        self.sketch = datasketches.req_floats_sketch.deserialize(arrays["sketch"].tobytes())

    def validate(self) -> None:
        """The sketch stands for all rows."""
        assert self.sketch.n == self.rows


def _deviation(k: int, upper: bool, rows: int) -> float:
    """Standard deviation of a rank at the end where it is worst."""
    worst = 0.0 if upper else 1.0
    # What the library calls the error is the rank less the error.
    return worst - float(datasketches.req_floats_sketch.get_RSE(k, worst, upper, rows))
