"""q-digest: quantiles of whole numbers of a known range, without chance, of parts of any shape.

Counts on the nodes of a binary tree over the range. Where two siblings and their parent hold less
than a share of all rows, the parent takes their counts: what is known of those rows is then only
the range of the parent. Parts merge by adding counts.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.errors import BindError, ContractUnsatisfiable
from streamgauge.synopses.questions import Count, Quantile, RangeCount, Rank
from streamgauge.synopses.synopsis import Floats, Ints, Need, Synopsis, Trial

_ROUNDING = 1e-9
"""Share of the weight that sums of weights with fractions may be off."""


class QDigest(Synopsis):
    """Quantiles and range counts of numbers on a grid, off by at most `epsilon` in rank, always.

    Parameters
    ----------
    bits
        The grid has 2^bits cells, 1 to 48.
    epsilon
        Largest error in rank, as a share of the weight.
    low
        The smallest number there can be.
    step
        Width of a cell; numbers between two cells are known to the cell only.
    seed
        Not used; parts to be merged need the same.

    Examples
    --------
    >>> digest = QDigest(bits=10, epsilon=0.05)
    >>> digest.update(range(1000))
    >>> digest.query(Quantile(0.5)).holds(499)
    True
    >>> len(digest.nodes) <= 3 * 10 / 0.05
    True

    References
    ----------
    SBAS04: docs/references.md
    """

    name = "q_digest"
    answers = (Quantile, Rank, RangeCount, Count)
    takes = "numbers"
    weights = "positive"
    merging = "error"
    fields = ("on_grid", "whole", "nodes", "counts")
    small = (20, 0.05)

    def __init__(
        self,
        bits: int = 20,
        epsilon: float = 0.01,
        low: float = 0.0,
        step: float = 1.0,
        *,
        seed: int = 0,
    ) -> None:
        super().__init__(seed=seed)
        if not (1 <= bits <= 48 and 0.0 < epsilon < 1.0 and step > 0.0 and math.isfinite(low)):
            raise BindError(
                "a q-digest needs 1 to 48 bits, an epsilon between 0 and 1 and a positive step",
                f"got bits={bits}, epsilon={epsilon}, low={low}, step={step}",
                "write QDigest(bits=20, epsilon=0.01)",
            )
        self.bits = bits
        self.epsilon = epsilon
        self.low = low
        self.step = step
        # Root 1, children 2 i and 2 i + 1: ids in order are nodes by depth, then from left.
        self.nodes: Ints = np.empty(0, np.int64)
        self.counts: Floats = np.empty(0)
        self.on_grid = True
        self.whole = True

    @property
    def guarantee(self) -> Guarantee:
        """Off by `epsilon` in rank at most, always."""
        return Guarantee(
            "rank",
            self.epsilon,
            assumes=(f"numbers from {self.low:g} in {2**self.bits} steps of {self.step:g}",),
            cite="SBAS04 thm 1",
        )

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """`epsilon` from the tolerance in rank, the grid from the universe."""
        contract = need.contract
        if contract.tolerance != "rank" or need.universe is None or need.deletions:
            raise ContractUnsatisfiable(
                "q_digest owes a rank, of whole numbers of a known range that are not taken back",
                f"asked for {contract}, universe {need.universe}",
                "write Contract.rank(0.01) and give the universe, or use kll or gk",
            )
        low, high = need.universe
        bits = max(1, (high - low).bit_length())
        size = 16 * math.ceil(3 * bits / contract.within)
        if bits > 48 or (need.memory is not None and size > need.memory):
            feasible = 48 * bits / (need.memory or size)
            raise ContractUnsatisfiable(
                "q_digest would be too large",
                f"{contract} over {bits} bits takes {size} bytes; memory is {need.memory}",
                f"ask for Contract.rank({feasible:.2g}) over at most 48 bits",
            )
        return cls(bits, contract.within, float(low), seed=seed)

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Single rows around a number, so that every node above it holds all it may."""
        near = (1 << np.arange(20, dtype=np.int64)) + seed % 2
        rows = np.concatenate([np.repeat(near, 5), np.arange(400) * 2621])
        return Trial(rows, Quantile(0.2))

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        cells = self._cells(column)
        outside = (cells < 0) | (cells >= 1 << self.bits)
        if outside.any():
            raise BindError(
                "numbers outside of the grid",
                f"{int(outside.sum())} of {len(column)}, the first is {column[outside][0]}; the "
                f"grid ends at {self._value(np.array([(1 << self.bits) - 1]))[0]:g}",
                "make the q-digest with more bits, another low or a larger step",
            )
        self.on_grid = self.on_grid and bool((self._value(cells) == column).all())
        weight = np.ones(len(cells)) if weights is None else weights
        self.whole = self.whole and bool((weight == np.rint(weight)).all())
        self._take(cells + (1 << self.bits), weight)

    def _merge(self, other: Self) -> None:
        self.on_grid = self.on_grid and other.on_grid
        self.whole = self.whole and other.whole
        self._take(other.nodes, other.counts, other.mass)

    def _take(self, nodes: Ints, counts: Floats, more: float = 0.0) -> None:
        """Add counts to nodes, and compress when there are more than the theorem needs."""
        self.nodes, place = np.unique(np.concatenate([self.nodes, nodes]), return_inverse=True)
        both = np.concatenate([self.counts, counts])
        self.counts = np.bincount(place, both).astype(np.float64)
        while len(self.nodes) > self.most_nodes:
            before = len(self.nodes)
            self.compress(self.mass + more)
            if len(self.nodes) == before:
                break

    @property
    def most_nodes(self) -> int:
        """Nodes that it never exceeds between two batches."""
        return math.ceil(3 * self.bits / self.epsilon)

    def compress(self, mass: float | None = None) -> None:
        """Give the counts of small families to the parent, from the leaves up, once."""
        threshold = self.epsilon * (self.mass if mass is None else mass) / self.bits
        borders = np.searchsorted(self.nodes, 1 << np.arange(self.bits + 2, dtype=np.int64))
        nodes, counts = [], []
        low = borders[self.bits]
        children, held = self.nodes[low:], self.counts[low:]
        for depth in range(self.bits, 0, -1):
            parents = self.nodes[borders[depth - 1] : borders[depth]]
            theirs = self.counts[borders[depth - 1] : borders[depth]]
            stay, parents, theirs = _lifted(children, held, parents, theirs, threshold)
            nodes.append(children[stay])
            counts.append(held[stay])
            children, held = parents, theirs
        self.nodes = np.concatenate([children, *nodes[::-1]])
        self.counts = np.concatenate([held, *counts[::-1]])

    def _cells(self, column: Floats) -> Ints:
        """Cell of each number; ends of cells are the floats that `_value` says, no others."""
        ends = float((1 << self.bits) + 1)
        cells = np.floor(np.clip((column - self.low) / self.step, -2.0, ends)).astype(np.int64)
        cells -= self._value(cells) > column
        cells += self._value(cells + 1) <= column
        return cells

    def _value(self, cells: Ints) -> Floats:
        return np.asarray(self.low + cells * self.step, np.float64)

    def _spans(self) -> tuple[Ints, Ints]:
        """First and last cell of each node."""
        height = self.bits + 1 - np.frexp(self.nodes.astype(np.float64))[1].astype(np.int64)
        first = (self.nodes << height) - (1 << self.bits)
        return first, first + (np.int64(1) << height) - 1

    def _answer(self, question: Any) -> Any:
        if isinstance(question, Count):
            return self._bar(self.mass, self.mass, self.mass)
        if isinstance(question, Quantile):
            return self._quantile(question.phi)
        start = question.low if isinstance(question, RangeCount) else -np.inf
        stop = question.high if isinstance(question, RangeCount) else question.value
        if stop < start or not len(self.nodes):
            return self._bar(0.0, 0.0, 0.0)
        first, last = self._spans()
        # A number on the grid is the start of its cell, another one lies anywhere in it.
        lows = self._value(first)
        highs = self._value(last) if self.on_grid else np.nextafter(self._value(last + 1), -np.inf)
        low = float(self.counts[(lows >= start) & (highs <= stop)].sum())
        high = float(self.counts[(highs >= start) & (lows <= stop)].sum())
        return self._bar((low + high) / 2.0, low, high)

    def _quantile(self, phi: float) -> Any:
        """Cells of the least, likeliest and most that a quantile can be."""
        if not len(self.nodes):
            return self._bar(math.nan, -math.inf, math.inf)
        first, last = self._spans()
        cells = np.unique(np.concatenate([first, last]))
        at_most, at_least = _reached(first, self.counts, cells), _reached(last, self.counts, cells)
        mass = float(at_least[-1])
        wanted = max(phi * mass, 1e-12) * (1.0 - 1e-12)
        slack = 0.0 if self.whole else _ROUNDING * mass

        def cell(reached: Floats, rank: float) -> Ints:
            place = min(int(np.searchsorted(reached, rank)), len(cells) - 1)
            return cells[place : place + 1]

        low = float(self._value(cell(at_most, wanted - slack))[0])
        top = cell(at_least, wanted + slack) + (0 if self.on_grid else 1)
        high = float(self._value(top)[0])
        value = float(self._value(cell((at_most + at_least) / 2.0, wanted))[0])
        return self._bar(value, low, high)

    def validate(self) -> None:
        """Nodes hold the whole weight, and those that are no leaves not more than they may."""
        assert (np.diff(self.nodes) > 0).all()
        assert math.isclose(self.counts.sum(), self.mass, rel_tol=1e-9, abs_tol=1e-9)
        inner = self.counts[self.nodes < 1 << self.bits]
        assert (inner <= self.epsilon * self.mass / self.bits * (1.0 + 1e-9)).all()
        assert len(self.nodes) <= self.most_nodes


def _reached(ends: Ints, counts: Floats, cells: Ints) -> Floats:
    """Weight of the nodes whose end lies at or before each cell."""
    order = np.argsort(ends, kind="stable")
    total = np.concatenate([[0.0], np.cumsum(counts[order])])
    reached: Floats = total[np.searchsorted(ends[order], cells, side="right")]
    return reached


def _lifted(
    children: Ints, held: Floats, parents: Ints, theirs: Floats, threshold: float
) -> tuple[Any, Ints, Floats]:
    """Which children stay, and the parents with the counts of those that do not."""
    above = children >> 1
    heads = np.flatnonzero(np.diff(above, prepend=-1))
    family = above[heads]
    total = np.add.reduceat(held, heads) if len(heads) else np.empty(0)
    everyone = np.union1d(parents, family)
    counts = np.zeros(len(everyone))
    counts[np.searchsorted(everyone, parents)] = theirs
    place = np.searchsorted(everyone, family)
    lift = total + counts[place] <= threshold
    counts[place[lift]] += total[lift]
    stay = ~np.repeat(lift, np.diff(np.append(heads, len(children))))
    kept = counts > 0.0
    return stay, everyone[kept], counts[kept]
