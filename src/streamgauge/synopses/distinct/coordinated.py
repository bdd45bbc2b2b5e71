"""Coordinated sampling: a uniform sample of the distinct items that parties take alike.

An instance keeps the items at or above a level and raises the level when they are too many. What is
kept depends on the items only, so samples of several streams are brought to the highest level and
united, and the items themselves can be looked at: averages and quantiles over distinct items.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.keys import keys
from streamgauge.synopses.distinct.kept_values import (
    NO_VALUES,
    gathered,
    plain_values,
    values_from_bytes,
    values_to_bytes,
)
from streamgauge.synopses.distinct.sampling_law import RANDOM_HASHES
from streamgauge.synopses.distinct.sizing import check_share, check_size, smallest
from streamgauge.synopses.distinct.thinning import (
    check_instances,
    joined,
    level_for,
    levels,
    median_bar,
    reach_of,
    rows_at,
)
from streamgauge.synopses.questions import Distinct
from streamgauge.synopses.synopsis import (
    Arrays,
    Enumerable,
    Floats,
    Ints,
    Need,
    Synopsis,
    Trial,
    Values,
)

Hashes = npt.NDArray[np.uint64]


class Coordinated(Synopsis, Enumerable):
    """Distinct items by a sample of up to `limit` of them, exact while all of them fit.

    Parameters
    ----------
    limit
        Items an instance keeps at most; about `4 / epsilon ** 2` for an error of epsilon.
    instances
        Samples that hash independently, an odd number; the median is told.
    delta
        Chance that a bar fails.
    seed
        Chooses the hashes; parties whose samples are united need the same.

    Examples
    --------
    >>> sample = Coordinated(limit=400, seed=7)
    >>> sample.update(["a", "b", "a", None])
    >>> print(sample.query(Distinct()))
    2 in [2, 2], coordinated
    >>> sorted(sample.candidates())
    ['a', 'b']

    References
    ----------
    GT01: docs/references.md
    """

    name = "coordinated"
    answers = (Distinct,)
    takes = "items"
    small = (64, 3)

    def __init__(
        self, limit: int, instances: int = 1, delta: float = 0.05, *, seed: int = 0
    ) -> None:
        check_size("coordinated", "limit", limit, 32, 1 << 26)
        check_instances("coordinated", instances)
        check_share("coordinated", delta)
        super().__init__(seed=seed)
        self.limit = limit
        self.instances = instances
        self.delta = delta
        self.levels = [0] * instances
        self.keys: list[Hashes] = [np.empty(0, np.uint64)] * instances
        self.values: pa.Array = NO_VALUES

    @property
    def guarantee(self) -> Guarantee:
        """Half-width of the bar of a sample just thinned, as a share of the count."""
        reach = reach_of(self.limit, self.instances, self.delta)
        return Guarantee("relative", reach, self.delta, RANDOM_HASHES, "GT01 thm 1")

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """The smallest sample of one instance whose bar is within the contract."""
        sizes = [1 << lg for lg in range(5, 25)]
        return smallest(need, cls.name, sizes, lambda n, delta: cls(n, 1, delta, seed=seed))

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """As many items as a sample is just thinned for."""
        return Trial(np.arange(1080, dtype=np.int64) + 4096 * seed, Distinct())

    def candidates(self) -> list[Any]:
        """The items of the first sample: uniform among the distinct ones."""
        held: list[Any] = self.values.to_pylist()
        return held

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        hashed = keys(column, seed=self.seed)
        for instance in range(self.instances):
            rows = rows_at(hashed, instance, self.levels[instance])
            values = None if instance else plain_values(column.values).take(pa.array(rows))
            self._take(instance, hashed[rows], values)

    def _take(self, instance: int, hashed: Hashes, values: pa.Array | None) -> None:
        """Unite a sample with keys of its level, thinning it if need be."""
        if not len(hashed):
            return
        held = np.concatenate([self.keys[instance], hashed])
        united, rows = np.unique(held, return_index=True)
        found = levels(united, instance)
        self.levels[instance] = level_for(found, self.levels[instance], self.limit)
        stay = found >= self.levels[instance]
        self.keys[instance] = united[stay]
        if values is not None:
            self.values = gathered(self.values, values, rows[stay])

    def _merge(self, other: Self) -> None:
        for instance in range(self.instances):
            level = max(self.levels[instance], other.levels[instance])
            self._thin(instance, level)
            rows = np.flatnonzero(levels(other.keys[instance], instance) >= level)
            values = None if instance else other.values.take(pa.array(rows))
            self._take(instance, other.keys[instance][rows], values)

    def _thin(self, instance: int, level: int) -> None:
        self.levels[instance] = level
        stay = np.flatnonzero(levels(self.keys[instance], instance) >= level)
        self.keys[instance] = self.keys[instance][stay]
        if not instance:
            self.values = self.values.take(pa.array(stay))

    def _answer(self, question: Any) -> Any:
        counts = [len(held) for held in self.keys]
        value, low, high, exact = median_bar(counts, self.levels, self.delta)
        return self._bar(value, low, high, 0.0 if exact else self.delta)

    def _save(self) -> tuple[Values, Arrays]:
        sizes = np.array([len(held) for held in self.keys], np.int64)
        arrays = {
            "keys": joined(self.keys, np.uint64),
            "sizes": sizes,
            "values": values_to_bytes(self.values),
        }
        return {"levels": self.levels}, arrays

    def _load(self, values: Values, arrays: Arrays) -> None:
        self.levels = list(values["levels"])
        self.keys = np.split(arrays["keys"], np.cumsum(arrays["sizes"])[:-1])
        self.values = values_from_bytes(arrays["values"])

    def validate(self) -> None:
        """Samples within the limit, at or above their level, with a value for every key."""
        for instance, held in enumerate(self.keys):
            assert len(held) <= self.limit
            assert (levels(held, instance) >= self.levels[instance]).all()
        assert len(self.values) == len(self.keys[0])
