"""Buffers that collapse: quantiles with a proved error when the number of rows is known ahead.

Rows fill buffers of equal size. When buffers run out, some are merged and one value of every few is
kept, which then stands for them all. Three rules say which buffers: two of equal weight (Munro and
Paterson), half of all at once (Alsabti, Ranka and Singh), all of the lowest level (Manku,
Rajagopalan and Lindsay). What each collapse may have moved is added up, so the bar is always right.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np

from streamgauge.contracts.estimate import Estimate
from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.errors import BindError
from streamgauge.synopses.quantiles.rank_summary import (
    ASKED,
    EMPTY,
    RankSummary,
    affordable,
    owed,
    with_ends,
)
from streamgauge.synopses.questions import Quantile
from streamgauge.synopses.synopsis import Arrays, Floats, Ints, Need, Synopsis, Trial, Values

POLICIES = ("munro_paterson", "ars", "mrl")


class Plan(NamedTuple):
    """How many buffers, of how many values, and the height of the tree of collapses."""

    buffers: int
    size: int
    height: int

    @property
    def space(self) -> int:
        """Values held."""
        return self.buffers * self.size


class _Buffer(NamedTuple):
    values: Floats
    weight: float
    level: int


def plan(policy: str, epsilon: float, rows: int) -> Plan:
    """The smallest buffers that summarise `rows` rows within `epsilon`.

    >>> [plan(policy, 0.01, 10_000_000).space for policy in POLICIES]
    [12334, 63400, 4400]
    """
    if policy == "munro_paterson":
        size = max(1, math.ceil(math.log2(max(2.0, 2.0 * epsilon * rows)) / (2.0 * epsilon)))
        height = max(1, math.ceil(math.log2(max(2.0, rows / size))))
        return Plan(max(2, height), size, height)
    if policy == "ars":
        half = max(1, math.ceil(math.sqrt(epsilon * rows)))
        return Plan(2 * half, math.ceil(1.0 / epsilon), 2)
    best = plan("munro_paterson", epsilon, rows)
    height = 1
    while True:
        size = math.ceil(height / (2.0 * epsilon))
        if 2 * size >= best.space:
            return best
        buffers = 2
        while buffers * size < best.space:
            if size * math.comb(buffers + height - 2, height - 1) >= rows:
                best = Plan(buffers, size, height)
                break
            buffers += 1
        height += 1


class Mrl(Synopsis):
    """Quantiles within `epsilon` of the rows, for certain, in buffers planned for `planned` rows.

    When more rows come, the buffers are put aside and new ones are planned for twice as many, so
    the promise goes on holding.

    Parameters
    ----------
    epsilon
        Error in rank, as a share of the rows.
    planned
        Rows expected.
    policy
        Which buffers collapse: munro_paterson, ars or mrl.
    seed
        Not used: nothing here is random.

    Examples
    --------
    >>> summary = Mrl(0.05, planned=10_000)
    >>> summary.update(np.arange(10_000.0))
    >>> bar = summary.query(Quantile(0.9))
    >>> bar.low <= 8999 <= bar.high
    True
    >>> print(summary.guarantee)
    within 0.05 in rank, 100.0% per question, MRL98

    References
    ----------
    MRL98, MP80, ARS97: docs/reference/synopses/quantiles_deterministic.md
    """

    name = "mrl"
    answers = ASKED
    takes = "numbers"
    weights = "none"
    merging = "error"

    def __init__(self, epsilon: float, planned: int, policy: str = "mrl", *, seed: int = 0) -> None:
        super().__init__(seed=seed)
        if not 0.0 < epsilon <= 0.5 or planned < 1 or policy not in POLICIES:
            raise BindError(
                "mrl needs an epsilon in (0, 0.5], rows planned and a known policy",
                f"got epsilon={epsilon}, planned={planned}, policy={policy!r}",
                f"write Mrl(0.01, planned=1_000_000); policies are {', '.join(POLICIES)}",
            )
        self.epsilon = float(epsilon)
        self.planned = planned
        self.policy = policy
        self.generation = 0
        self.collapses = 0
        self.moved = np.zeros(2)  # most that collapses moved ranks up, and down
        self.ends = np.array([math.inf, -math.inf])
        self._aside = np.empty((2, 0))
        self._plan = plan(policy, epsilon, planned)
        self._full: list[_Buffer] = []
        self._filling = np.empty(0)
        self._arrived = 0
        self._level = 0

    @property
    def guarantee(self) -> Guarantee:
        """Rank within `epsilon`, or what merging made of it."""
        return Guarantee("rank", max(self.epsilon, self.achieved), cite="MRL98")

    @property
    def achieved(self) -> float:
        """The precision really achieved, from what each collapse may have moved."""
        return self.summary.precision

    @property
    def nbytes(self) -> int:
        """Bytes of all buffers, the aside ones with their weights."""
        held = sum(buffer.values.nbytes for buffer in self._full)
        return held + 8 * self._plan.size + self._aside.nbytes + 32

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """Planned for the rows of the need (a million when it does not say)."""
        epsilon = owed(need, cls.name, sure=True)
        planned = need.rows or 1_000_000
        space = 8.0 * plan("mrl", epsilon, planned).space
        affordable(need, cls.name, space, epsilon * space / (need.memory or 1))
        return cls(epsilon, planned, seed=seed)

    @classmethod
    def specimen(cls, seed: int) -> Self:
        """A tenth of the rows; planned for fewer than the checks give."""
        return cls(0.1, 800, POLICIES[seed % 3], seed=seed)

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Sorted rows: every collapse moves ranks the same way."""
        return Trial(np.arange(800.0) + seed, Quantile(0.5))

    @property
    def summary(self) -> RankSummary:
        """All rows so far as a rank summary."""
        values, weights = self._weighted()
        if not len(values):
            return EMPTY
        points, inverse = np.unique(values, return_inverse=True)
        total = np.bincount(inverse, weights=weights, minlength=len(points))
        reached = np.cumsum(total)
        mass = float(reached[-1])
        at_least = np.maximum(0.0, reached - self.moved[0])
        below = np.minimum(mass, reached - total + self.moved[1])
        return with_ends(RankSummary(points, at_least, below, mass), self.ends)

    def _weighted(self) -> tuple[Floats, Floats]:
        parts = [(b.values, np.full(len(b.values), b.weight)) for b in self._full]
        parts.append((self._filling, np.ones(len(self._filling))))
        parts.append((self._aside[0], self._aside[1]))
        return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        self.ends[0] = min(self.ends[0], column.min())
        self.ends[1] = max(self.ends[1], column.max())
        start = 0
        while start < len(column):
            if not len(self._filling):
                self._begin()
            take = min(self._plan.size - len(self._filling), len(column) - start)
            self._filling = np.concatenate([self._filling, column[start : start + take]])
            self._arrived += take
            start += take
            if len(self._filling) == self._plan.size:
                self._full.append(_Buffer(np.sort(self._filling), 1.0, self._level))
                self._filling = np.empty(0)

    def _begin(self) -> None:
        """Find an empty buffer, after collapses where there is none."""
        level = self._make_room() if self._arrived < self.planned << self.generation else None
        if level is None:
            self._put_aside()
        self._level = level or 0

    def _put_aside(self) -> None:
        """More rows than planned: keep these buffers as they are and plan for twice as many."""
        self._aside = np.stack(self._weighted())
        self._full, self._arrived = [], 0
        self.generation += 1
        self._plan = plan(self.policy, self.epsilon, self.planned << self.generation)

    def _make_room(self) -> int | None:
        """Collapse until a buffer is empty; the level of the new one, None when stuck."""
        places = self._plan.buffers
        if self.policy == "munro_paterson":
            return self._pair_up(places)
        if self.policy == "ars":
            half = places // 2
            leaves = [b for b in self._full if b.level == 0]
            if len(leaves) == half:
                if len(self._full) == places:
                    return None
                self._collapse(leaves, 1)
            return 0
        while len(self._full) == places:
            lowest = min(b.level for b in self._full)
            group = [b for b in self._full if b.level == lowest]
            self._collapse(group, lowest + 1)
        if len(self._full) == places - 1 and self._full:
            return min(b.level for b in self._full)
        return 0

    def _pair_up(self, places: int) -> int | None:
        while len(self._full) == places:
            by_weight = sorted(self._full, key=lambda b: b.weight)
            pairs = pairwise(by_weight)
            pair = next((p for p in pairs if p[0].weight == p[1].weight), None)
            if pair is None:
                return None
            self._collapse(list(pair), max(pair[0].level, pair[1].level) + 1)
        return 0

    def _collapse(self, group: list[_Buffer], level: int) -> None:
        """Merge buffers and keep the value in the middle of every stretch of their joint weight."""
        if len(group) == 1:
            self._full = [b._replace(level=level) if b is group[0] else b for b in self._full]
            return
        values = np.concatenate([b.values for b in group])
        each = np.concatenate([np.full(len(b.values), b.weight) for b in group])
        weight = sum(b.weight for b in group)
        order = np.argsort(values, kind="stable")
        reached = np.cumsum(each[order])
        # Even weights have no middle: the two next to it take turns.
        offset = (weight + 1.0 + self.collapses % 2) // 2.0
        targets = weight * np.arange(len(group[0].values)) + offset
        kept = values[order[np.searchsorted(reached, targets, side="left")]]
        # A rank r becomes weight * (number of targets up to r).
        self.moved += (weight - offset, offset - 1.0)
        self.collapses += 1
        gone = {id(b) for b in group}
        self._full = [b for b in self._full if id(b) not in gone]
        self._full.append(_Buffer(kept, weight, level))

    def _merge(self, other: Self) -> None:
        if not other.rows:
            return
        # The other's buffers are put aside here; what its collapses moved is moved here too.
        self._aside = np.concatenate([self._aside, np.stack(other._weighted())], axis=1)
        self.moved += other.moved
        self.ends = np.array([min(self.ends[0], other.ends[0]), max(self.ends[1], other.ends[1])])
        room = 8 * max(self._plan.space, other._plan.space)
        if self._aside.shape[1] > room:
            self._thin_aside(room // 2)

    def _thin_aside(self, size: int) -> None:
        order = np.argsort(self._aside[0], kind="stable")
        values, reached = self._aside[0][order], np.cumsum(self._aside[1][order])
        stops = np.round(reached[-1] * np.arange(1, size + 1) / size)
        weights = np.diff(stops, prepend=0.0)
        offsets = (weights + 1.0) // 2.0
        kept = values[np.searchsorted(reached, stops - weights + offsets, side="left")]
        self._aside = np.stack([kept, weights])
        self.moved += (float((weights - offsets).max()), float((offsets - 1.0).max()))

    def _answer(self, question: Any) -> Any:
        value, low, high = self.summary.ask(question)
        if math.isnan(value):
            return Estimate(value, low, high, basis=self.name)
        return self._bar(value, low, high, 0.0)

    def _save(self) -> tuple[Values, Arrays]:
        full = self._full
        own = {
            "generation": self.generation,
            "collapses": self.collapses,
            "arrived": self._arrived,
            "level": self._level,
        }
        tags = np.array([[b.weight, b.level] for b in full]).reshape(len(full), 2)
        held = [b.values for b in full]
        return own, {
            "full": np.stack(held) if full else np.empty((0, self._plan.size)),
            "tags": tags,
            "filling": self._filling,
            "aside": self._aside,
            "moved": self.moved,
            "ends": self.ends,
        }

    def _load(self, values: Values, arrays: Arrays) -> None:
        self.generation, self.collapses = values["generation"], values["collapses"]
        self._arrived, self._level = values["arrived"], values["level"]
        self._plan = plan(self.policy, self.epsilon, self.planned << self.generation)
        pairs = zip(arrays["full"], arrays["tags"], strict=True)
        self._full = [_Buffer(row.copy(), float(tag[0]), int(tag[1])) for row, tag in pairs]
        self._filling, self._aside = arrays["filling"], arrays["aside"]
        self.moved, self.ends = arrays["moved"], arrays["ends"]

    def validate(self) -> None:
        """Weights of all values add up to the rows."""
        assert self._weighted()[1].sum() == self.rows
        assert len(self._full) <= self._plan.buffers
