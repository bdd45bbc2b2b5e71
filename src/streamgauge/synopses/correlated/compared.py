"""Rows compared with an aggregate of all rows: kept whole, or summarised by rank.

The aggregate itself, an average or an extreme, is small and always exact. What is hard is how many
rows lie beyond a cut that moves with it. An exact answer keeps every row. A count may also be read
from a summary of ranks, which knows how many rows lie below any cut, wherever it will be.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from streamgauge.contracts.estimate import Estimate
from streamgauge.contracts.guarantee import EXACT, Guarantee
from streamgauge.kernel.jit import compiled
from streamgauge.kernel.keys import Column
from streamgauge.synopses import kind_named
from streamgauge.synopses.bank import Bank, Bars
from streamgauge.synopses.correlated.mean_cut import LEAST, MEAN, MOST, SQUARES, N, cut_of, take_in
from streamgauge.synopses.questions import Question, Rank
from streamgauge.synopses.synopsis import Array, Arrays, Floats, Ints, Synopsis, Values

Codes = npt.NDArray[np.int32]
SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
AGGREGATES = ("avg", "min", "max")


@dataclass(frozen=True, slots=True)
class Compared(Question):
    """Rows whose x stands so to `factor` times an aggregate of all x, plus `offset`.

    Items are x, weights are y. `of` is what is asked of the rows found: how many they are (count)
    or the sum of their y (sum), where NaN is no value.

    Examples
    --------
    >>> Compared(">", "avg", 1.5).truth(np.array([1.0, 1.0, 4.0]), np.ones(3))
    1.0
    """

    unit = "rows"

    sign: str
    aggregate: str
    factor: float = 1.0
    offset: float = 0.0
    of: str = "count"

    def cut(self, items: Floats) -> float:
        """What rows are compared with."""
        if self.aggregate == "avg":
            whole = math.fsum(items) / len(items)
        else:
            whole = float(items.min() if self.aggregate == "min" else items.max())
        return self.factor * whole + self.offset

    def truth(self, items: Array, weights: Floats) -> float:
        """By two passes."""
        if not len(items):
            return 0.0
        chosen = SIGNS[self.sign](items, self.cut(items))
        return float(chosen.sum()) if self.of == "count" else float(np.nansum(weights[chosen]))


class KeptPairs(Synopsis):
    """Every x with its y, in order.

    Examples
    --------
    >>> kept = KeptPairs()
    >>> kept.update([1.0, 2.0, 9.0], weights=[5.0, 6.0, 7.0])
    >>> print(kept.query(Compared("<=", "min", 2.0, of="sum")))
    11 in [11, 11], exact
    """

    name = "kept_pairs"
    answers = (Compared,)
    takes = "numbers"
    weights = "any"
    merging = "exact"
    fields = ("pairs",)

    def __init__(self, *, seed: int = 0) -> None:
        super().__init__(seed=seed)
        self.pairs: Floats = np.empty((0, 2))

    @property
    def guarantee(self) -> Guarantee:
        """No error."""
        return EXACT

    def _add(self, column: Floats, weights: Floats | None, times: Ints | None) -> None:
        given = np.ones(len(column)) if weights is None else weights
        self.pairs = np.concatenate((self.pairs, np.stack((column, given), axis=1)))

    def _merge(self, other: Self) -> None:
        self.pairs = np.concatenate((self.pairs, other.pairs))

    def _answer(self, question: Any) -> Any:
        truth = question.truth(self.pairs[:, 0], self.pairs[:, 1])
        return Estimate(truth, truth, truth)


class PairsBank(Bank):
    """The pairs of all groups, in order; a column of pairs has two columns."""

    def __init__(self, model: KeptPairs, n_groups: int) -> None:
        self.model, self.n_groups = model, n_groups
        self.clear()

    def clear(self) -> None:
        """Make every group empty."""
        self.group: Codes = np.empty(0, np.int32)
        self.pairs: Floats = np.empty((0, 2))
        self.pending: list[tuple[Codes, Floats]] = []

    def resize(self, n_groups: int) -> None:
        """Groups need no room until they have rows."""
        self.n_groups = max(self.n_groups, n_groups)

    def update(self, groups: Codes, column: Column, weights: Floats | None = None) -> None:
        """Keep rows; a plain column is x alone."""
        given: Any = np.asarray(column, np.float64)
        if given.ndim == 1:
            given = np.stack((given, np.ones(len(given))), axis=1)
        mine = groups >= 0
        self.pending.append((np.asarray(groups, np.int32)[mine], given[mine]))

    def _settle(self) -> None:
        if self.pending:
            parts = [(self.group, self.pairs), *self.pending]
            self.group = np.concatenate([group for group, _ in parts])
            self.pairs = np.concatenate([pairs for _, pairs in parts])
            self.pending = []

    def merge(self, other: PairsBank) -> None:
        """Put the rows of another bank behind these."""
        other._settle()
        self.resize(other.n_groups)
        self.pending.append((other.group, other.pairs))

    def subtract(self, other: Any) -> None:
        """Refuse: rows are kept in order, not by value."""
        raise NotImplementedError

    def bars(self, question: Question) -> Bars:
        """Exact answers of every group."""
        assert isinstance(question, Compared)
        self._settle()
        value = _compared(question, self.group, self.pairs, self.n_groups)
        return Bars(value, value, value, 1.0)

    def synopsis(self, group: int) -> KeptPairs:
        """One group alone."""
        self._settle()
        one: KeptPairs = self.model.empty()
        one.pairs = self.pairs[self.group == group].copy()
        one.rows = len(one.pairs)
        one.mass = float(np.nansum(one.pairs[:, 1]))
        return one

    def to_bytes(self) -> list[bytes]:
        """Bytes of each group."""
        held = [self.synopsis(group) for group in range(self.n_groups)]
        return [one.to_bytes() if one.rows else b"" for one in held]

    def load(self, data: list[bytes]) -> None:
        """Take groups from bytes."""
        self.n_groups = len(data)
        self.clear()
        for group, part in enumerate(data):
            if part:
                pairs = KeptPairs.from_bytes(part).pairs
                self.pending.append((np.full(len(pairs), group, np.int32), pairs))

    def chosen(self, groups: Ints) -> PairsBank:
        """The rows of some groups."""
        self._settle()
        new = PairsBank(self.model, len(groups))
        number = np.full(self.n_groups, -1, np.int32)
        number[groups] = np.arange(len(groups), dtype=np.int32)
        there = number[self.group] >= 0
        new.group, new.pairs = number[self.group][there], self.pairs[there]
        return new

    def save(self) -> dict[str, Array]:
        """The rows."""
        self._settle()
        n_groups = np.array([self.n_groups], np.int64)
        return {"group": self.group, "pairs": self.pairs, "n_groups": n_groups}

    def restore(self, arrays: dict[str, Array]) -> None:
        """Take the rows back."""
        self.clear()
        self.n_groups = int(arrays["n_groups"][0])
        self.group, self.pairs = arrays["group"], arrays["pairs"]


KeptPairs.bank_kind = PairsBank


def _compared(question: Compared, group: Codes, pairs: Floats, n_groups: int) -> Floats:
    """Answers of all groups by two passes over columns."""
    x, y = pairs[:, 0], pairs[:, 1]
    rows = np.bincount(group, minlength=n_groups)
    if question.aggregate == "avg":
        whole = np.bincount(group, x, n_groups) / np.maximum(rows, 1)
    else:
        least = question.aggregate == "min"
        whole = np.full(n_groups, np.inf if least else -np.inf)
        (np.minimum if least else np.maximum).at(whole, group, x)
    cut = question.factor * whole + question.offset
    chosen = SIGNS[question.sign](x, cut[group])
    counted = chosen if question.of == "count" else chosen & ~np.isnan(y)
    weights = None if question.of == "count" else y[counted]
    return np.bincount(group[counted], weights, n_groups).astype(np.float64)


class CutRank(Synopsis):
    """How many rows lie beyond a cut that moves: a summary of ranks beside exact aggregates.

    Parameters
    ----------
    kind, inner
        Name and parameters of the synopsis that answers ranks.
    seed
        Seed of that synopsis.

    Examples
    --------
    >>> above = CutRank("gk", {"epsilon": 0.1, "least_kept": 1.0})
    >>> above.update([1.0, 2.0, 3.0, 10.0])
    >>> print(above.query(Compared(">", "avg")))
    1 in [1, 1], cut_rank
    """

    name = "cut_rank"
    answers = (Compared,)
    takes = "numbers"
    weights = "none"
    merging = "error"

    def __init__(self, kind: str, inner: Values, *, seed: int = 0) -> None:
        super().__init__(seed=seed)
        self.kind = kind
        self.ranks: Synopsis = kind_named(kind)(**inner, seed=seed)
        self.stats = np.array([0.0, 0.0, 0.0, math.inf, -math.inf])

    @property
    def parameters(self) -> Values:
        """The synopsis of ranks."""
        return {"kind": self.kind, "inner": self.ranks.parameters}

    @property
    def guarantee(self) -> Guarantee:
        """That of the ranks."""
        return self.ranks.guarantee

    def _add(self, column: Floats, weights: Floats | None, times: Ints | None) -> None:
        self.ranks.update(column)
        _take_all(self.stats, np.ascontiguousarray(column))

    def _merge(self, other: Self) -> None:
        self.ranks.merge(other.ranks)
        mine, theirs = self.stats, other.stats
        n = mine[N] + theirs[N]
        if theirs[N]:
            off = theirs[MEAN] - mine[MEAN]
            mine[SQUARES] += theirs[SQUARES] + off * off * (mine[N] * theirs[N] / n)
            mine[MEAN] += off * (theirs[N] / n)
            mine[N] = n
            mine[LEAST] = min(mine[LEAST], theirs[LEAST])
            mine[MOST] = max(mine[MOST], theirs[MOST])

    def _answer(self, question: Any) -> Any:
        if question.of != "count":
            return Estimate(math.nan, -math.inf, math.inf)
        n = float(self.stats[N])
        if not n:
            return self._bar(0.0, 0.0, 0.0)
        value, low, high = self._below(question)
        if question.sign in (">", ">="):
            value, low, high = n - value, n - high, n - low
        low, high = max(0.0, low), min(n, high)
        return self._bar(min(max(value, low), high), low, high)

    def _below(self, question: Compared) -> tuple[float, float, float]:
        """Rows on the lower side of the cut: about, at least, at most."""
        cut, blur = question.factor * self._extreme(question) + question.offset, 0.0
        if question.aggregate == "avg":
            cut, blur = (
                float(part) for part in cut_of(self.stats, question.factor, question.offset)
            )
        strict = question.sign in ("<", ">=")
        ranks = [
            self.ranks.query(Rank(float(np.nextafter(at, -np.inf)) if strict else at))
            for at in ((cut - blur, cut, cut + blur) if blur else (cut,))
        ]
        return ranks[len(ranks) // 2].value, ranks[0].low, ranks[-1].high

    def _extreme(self, question: Compared) -> float:
        return float(self.stats[LEAST if question.aggregate == "min" else MOST])

    def _save(self) -> tuple[Values, Arrays]:
        ranks = np.frombuffer(self.ranks.to_bytes(), np.uint8)
        return {}, {"ranks": ranks, "stats": self.stats}

    def _load(self, values: Values, arrays: Arrays) -> None:
        self.ranks = type(self.ranks).from_bytes(arrays["ranks"].tobytes())
        self.stats = arrays["stats"]

    @property
    def nbytes(self) -> int:
        """Bytes of the ranks and the aggregates."""
        return self.ranks.nbytes + self.stats.nbytes


@compiled
def _take_all(stats, column):  # type: ignore[no-untyped-def]
    for at in column:
        take_in(stats, at)
