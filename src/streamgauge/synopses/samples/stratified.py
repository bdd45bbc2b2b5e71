"""Stratified: a small uniform sample of each stretch of rows.

Rows near each other resemble each other; sampling each stretch on its own keeps the sample spread
over the stream. Each stretch also keeps its smallest and largest item, so that where rows drift
the bars are far narrower than those of a sample of the whole.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from streamgauge.kernel.errors import BindError, ContractUnsatisfiable
from streamgauge.synopses.questions import Mean
from streamgauge.synopses.samples.designs import Drawn
from streamgauge.synopses.samples.reservoir import take_rows
from streamgauge.synopses.samples.sampled import Sampled
from streamgauge.synopses.samples.strata import Stratified as StratifiedDesign
from streamgauge.synopses.synopsis import Floats, Ints, Need, Trial


class Stratified(Sampled):
    """`per_stratum` rows of every `stratum` rows.

    Parameters
    ----------
    stratum
        Rows in a stratum; the last may be shorter.
    per_stratum
        Rows kept of each.
    delta
        Chance that a bar fails.
    seed
        Chooses the rows; parts to be merged need the same.

    Examples
    --------
    >>> sample = Stratified(stratum=100, per_stratum=4, seed=1)
    >>> sample.update(range(1000))
    >>> print(sample.query(Mean()))
    506.175 in [485.238, 527.112] at 95% confidence, stratified

    References
    ----------
    C77, S74: docs/reference/synopses/samples.md
    """

    name = "stratified"
    fields = (
        "values",
        "places",
        "bounds",
        "ranges",
        "open_values",
        "open_places",
        "open_range",
        "open_clock",
        "open_start",
    )
    small: ClassVar[tuple[Any, ...]] = (100, 5)

    def __init__(
        self, stratum: int, per_stratum: int, delta: float = 0.05, *, seed: int = 0
    ) -> None:
        if not 1 <= per_stratum <= stratum:
            raise BindError(
                "a stratum gives one row or more, and at most all",
                f"got stratum={stratum}, per_stratum={per_stratum}",
                "write Stratified(stratum=1000, per_stratum=10)",
            )
        super().__init__(delta=delta, seed=seed)
        self.stratum = stratum
        self.per_stratum = per_stratum
        # Of closed strata: rows kept, with their places; first row, rows, smallest, largest item.
        self.values = np.empty(0)
        self.places = np.empty(0, np.int64)
        self.bounds = np.empty((0, 2), np.int64)
        self.ranges = np.empty((0, 2))
        self._open(0)

    def _open(self, start: int) -> None:
        """Begin a stratum."""
        self.open_values = np.zeros(self.per_stratum)
        self.open_places = np.zeros(self.per_stratum, np.int64)
        self.open_range = np.array([np.inf, -np.inf])
        self.open_clock = np.zeros(3, np.int64)
        self.open_start = np.full(1, start, np.int64)

    @property
    def seen(self) -> int:
        """Rows seen."""
        return int(self.open_start[0] + self.open_clock[0])

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """Refused: memory grows with the rows."""
        raise ContractUnsatisfiable(
            "a stratified sample grows with the stream",
            f"asked for {need.contract}",
            "use reservoir, or give stratum= and per_stratum= yourself",
        )

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Half of each stratum zero, half one: no narrower range helps."""
        return Trial(np.arange(2000, dtype=np.int64) % 2, Mean())

    def sample(self) -> Drawn:
        """The rows held, by stratum; the open one counts with the rows it has."""
        held, rows = int(self.open_clock[1]), int(self.open_clock[0])
        values = np.concatenate([self.values, self.open_values[:held]])
        places = np.concatenate([self.places, self.open_start[0] + self.open_places[:held]])
        start = int(self.open_start[0])
        bounds = np.vstack([self.bounds, [[start, start + rows]]])
        ranges = np.vstack([self.ranges, self.open_range[None, :]])
        return self._drawn(values, places, bounds, ranges)

    def _drawn(self, values: Floats, places: Ints, bounds: Ints, ranges: Floats) -> Drawn:
        alive = bounds[:, 1] > bounds[:, 0]
        bounds, ranges = bounds[alive], ranges[alive]
        stratum = np.searchsorted(bounds[:, 0], places, side="right") - 1
        sizes = bounds[:, 1] - bounds[:, 0]
        design = StratifiedDesign(stratum, sizes, ranges[:, 0].copy(), ranges[:, 1].copy())
        return Drawn(values, design, places)

    def _take(self, column: Floats, weights: Floats | None, times: Ints | None) -> None:
        kept: list[tuple[Floats, Ints, list[int], list[float]]] = []
        start = 0
        while start < len(column):
            part = column[start : start + self.stratum - int(self.open_clock[0])]
            self.open_range[0] = min(self.open_range[0], float(part.min()))
            self.open_range[1] = max(self.open_range[1], float(part.max()))
            take_rows(
                self.open_values,
                self.open_places,
                self.open_clock,
                self.dice,
                part,
                part.view(np.uint64),
            )
            start += len(part)
            if self.open_clock[0] == self.stratum:
                kept.append(self._close())
        if kept:
            self.values = np.concatenate([self.values, *(part[0] for part in kept)])
            self.places = np.concatenate([self.places, *(part[1] for part in kept)])
            self.bounds = np.vstack([self.bounds, *(part[2] for part in kept)])
            self.ranges = np.vstack([self.ranges, *(part[3] for part in kept)])

    def _close(self) -> tuple[Floats, Ints, list[int], list[float]]:
        """End the open stratum, which may be short, and begin the next."""
        start, rows, held = int(self.open_start[0]), *map(int, self.open_clock[:2])
        values, places = self.open_values[:held], start + self.open_places[:held]
        closed = values, places, [start, start + rows], self.open_range.tolist()
        self._open(start + rows)
        return closed

    def _merge(self, other: Self) -> None:
        if not other.seen:
            return
        self._merge_shared(other)
        if self.open_clock[0]:
            self._append(*self._close())
        theirs = other.sample()
        assert isinstance(theirs.design, StratifiedDesign)
        assert theirs.rows is not None
        ends = self.seen + np.cumsum(theirs.design.sizes)
        bounds = np.stack([ends - theirs.design.sizes, ends], axis=1)
        ranges = np.stack([theirs.design.lows, theirs.design.highs], axis=1)
        self._append(theirs.values, self.seen + theirs.rows, bounds, ranges)
        self._open(int(ends[-1]))

    def _append(self, values: Floats, places: Ints, bounds: Any, ranges: Any) -> None:
        self.values = np.concatenate([self.values, values])
        self.places = np.concatenate([self.places, places])
        self.bounds = np.vstack([self.bounds, bounds])
        self.ranges = np.vstack([self.ranges, ranges])

    def validate(self) -> None:
        """Strata follow each other without gaps, and each has its rows."""
        design = self.sample().design
        assert isinstance(design, StratifiedDesign)
        assert (self.bounds[1:, 0] == self.bounds[:-1, 1]).all()
        assert (design.taken <= np.minimum(design.sizes, self.per_stratum)).all()
