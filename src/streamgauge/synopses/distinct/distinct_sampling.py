"""Distinct sampling: COUNT(DISTINCT target) under a predicate that is chosen later.

A thinned sample of the distinct targets, and for each of them a few of its rows at random. A target
counts for a predicate when one of its rows meets it. Rows are records (a struct column) with the
target as one field, or plain items that are their own target.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.contracts.estimate import Estimate
from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.errors import BindError
from streamgauge.kernel.hashing import mix64, uniform
from streamgauge.kernel.jit import compiled
from streamgauge.kernel.keys import items, keys
from streamgauge.synopses.distinct.kept_values import (
    NO_VALUES,
    gathered,
    plain_values,
    values_from_bytes,
    values_to_bytes,
)
from streamgauge.synopses.distinct.sampling_law import RANDOM_HASHES, items_sampled, share_between
from streamgauge.synopses.distinct.sizing import check_share, check_size, smallest
from streamgauge.synopses.distinct.thinning import level_for, levels, reach_of, rows_at
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


class DistinctSampling(Synopsis, Enumerable):
    """Distinct targets, among all rows or those that meet a predicate.

    Parameters
    ----------
    limit
        Targets kept at most.
    depth
        Rows kept of each target; all of them while they are no more.
    target
        Field of the records that is counted; None for items that are their own target.
    delta
        Chance that a bar fails.
    seed
        Chooses the hash and the rows; parts to be merged need the same.

    Examples
    --------
    >>> sample = DistinctSampling(limit=100, depth=4, target="customer", seed=7)
    >>> orders = [{"customer": "ann", "year": 2005}, {"customer": "ann", "year": 2006},
    ...           {"customer": "bob", "year": 2005}]
    >>> sample.update(orders)
    >>> print(sample.query(Distinct()))
    2 in [2, 2], distinct_sampling
    >>> print(sample.distinct_where(pc.field("year") >= 2006))
    1 in [1, 1], distinct_sampling

    References
    ----------
    G01: docs/references.md
    """

    name = "distinct_sampling"
    answers = (Distinct,)
    takes = "items"
    merging = "sampling"
    small = (64, 4)

    def __init__(
        self,
        limit: int,
        depth: int = 8,
        target: str | None = None,
        delta: float = 0.05,
        *,
        seed: int = 0,
    ) -> None:
        check_size("distinct_sampling", "limit", limit, 32, 1 << 24)
        check_size("distinct_sampling", "depth", depth, 1, 1 << 16)
        check_share("distinct_sampling", delta)
        super().__init__(seed=seed)
        self.limit = limit
        self.depth = depth
        self.target = target
        self.delta = delta
        self.level = 0
        self.keys: Hashes = np.empty(0, np.uint64)
        self.counts: Ints = np.empty(0, np.int64)
        self.records: pa.Array = NO_VALUES

    @property
    def guarantee(self) -> Guarantee:
        """Half-width of the bar of a sample just thinned, as a share of all distinct targets."""
        reach = reach_of(self.limit, 1, self.delta)
        return Guarantee("relative", reach, self.delta, RANDOM_HASHES, "G01 thm 1")

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """The smallest sample whose bar is within the contract, with a row of each target."""
        sizes = [1 << lg for lg in range(5, 25)]
        return smallest(need, cls.name, sizes, lambda n, delta: cls(n, 1, None, delta, seed=seed))

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """As many targets as the sample is just thinned for."""
        return Trial(np.arange(1080, dtype=np.int64) + 4096 * seed, Distinct())

    def candidates(self) -> list[Any]:
        """The targets kept, those with most rows first."""
        first = np.cumsum(self._held()) - self._held()
        rows = first[np.argsort(-self.counts, kind="stable")]
        held: list[Any] = self._targets(self.records.take(pa.array(rows))).to_pylist()
        return held

    def distinct_where(self, predicate: pc.Expression) -> Estimate:
        """Distinct targets with a row that meets a predicate on the fields of the records.

        Plain items are the field `item`. A target of which some rows were not kept may meet the
        predicate unseen: such targets are in the upper end of the bar only.
        """
        if not len(self.keys):
            return self._bar(0.0, 0.0, 0.0, 0.0)
        plain = not pa.types.is_struct(self.records.type)
        fields = [self.records] if plain else self.records.flatten()
        names = ["item"] if plain else [field.name for field in self.records.type]
        owner = np.repeat(np.arange(len(self.keys)), self._held())
        table = pa.table([*fields, pa.array(owner)], names=[*names, "_owner"])
        met = np.unique(table.filter(predicate).column("_owner").to_numpy())
        unsure = np.ones(len(self.keys), np.bool_)
        unsure[met] = False
        unsure &= self.counts > self.depth
        return self._part(len(met), len(met) + int(unsure.sum()))

    def _held(self) -> Ints:
        """Rows kept of each target."""
        return np.minimum(self.counts, self.depth)

    def _targets(self, records: pa.Array) -> pa.Array:
        if self.target is None:
            return records
        if not pa.types.is_struct(records.type) or records.type.get_field_index(self.target) < 0:
            raise BindError(
                f"the records have no field {self.target!r}",
                f"the column has type {records.type}",
                "give a struct column with that field, or leave target out",
            )
        return records.field(self.target)

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        records = plain_values(column.values)
        targets = items(self._targets(records))
        if targets.kept is not None:
            records = records.filter(pa.array(targets.kept))
            self.rows, self.skipped = self.rows - targets.skipped, self.skipped + targets.skipped
            self.mass -= targets.skipped
        hashed = keys(targets, seed=self.seed)
        rows = rows_at(hashed, 0, self.level)
        if len(rows):
            self._take(hashed[rows], records.take(pa.array(rows)))

    def _take(self, hashed: Hashes, records: pa.Array) -> None:
        """Offer rows to the samples of their targets, in order."""
        united, owner = np.unique(np.concatenate([self.keys, hashed]), return_inverse=True)
        old, new = owner[: len(self.keys)], owner[len(self.keys) :]
        counts = np.zeros(len(united), np.int64)
        counts[old] = self.counts
        places = np.empty(len(new), np.int64)
        _offer(united, counts, new, self.depth, np.uint64(self.seed), places)
        kept_places = np.arange(len(self.records)) - np.repeat(
            np.cumsum(self._held()) - self._held(), self._held()
        )
        slots = np.concatenate([np.repeat(old, self._held()) * self.depth + kept_places, places])
        # Of several rows for one place the last stays.
        taken, last = np.unique(slots[::-1], return_index=True)
        rows = (len(slots) - 1 - last)[taken >= 0]
        self.records = gathered(self.records, records, rows)
        self.keys, self.counts = united, counts
        self._thin(level_for(levels(united, 0), self.level, self.limit))

    def _thin(self, level: int) -> None:
        self.level = level
        stay = levels(self.keys, 0) >= level
        if not stay.all():
            self.records = self.records.filter(pa.array(np.repeat(stay, self._held())))
            self.keys, self.counts = self.keys[stay], self.counts[stay]

    def _merge(self, other: Self) -> None:
        if not len(other.keys):
            self._thin(max(self.level, other.level))
            return
        theirs = other.copy()
        level = max(self.level, other.level)
        self._thin(level)
        theirs._thin(level)
        united, owner = np.unique(np.concatenate([self.keys, theirs.keys]), return_inverse=True)
        mine = np.zeros(len(united), np.int64)
        mine[owner[: len(self.keys)]] = self.counts
        added = np.zeros(len(united), np.int64)
        added[owner[len(self.keys) :]] = theirs.counts
        size = int(np.minimum(mine + added, self.depth).sum())
        rows = np.empty(size, np.int64)
        _draw_rows(united, mine, added, self.depth, np.uint64(self.seed), rows)
        self.records = gathered(self.records, theirs.records, rows)
        self.keys, self.counts = united, mine + added
        self._thin(level_for(levels(united, 0), level, self.limit))

    def _part(self, sure: int, possible: int) -> Estimate:
        """Targets of which between `sure` and `possible` are kept.

        The targets kept are a uniform sample of all, so their share has a bar of its own; half of
        the chance of error goes to it and half to the number of all targets.
        """
        if not self.level:
            return self._bar(float(sure), float(sure), float(possible), 0.0)
        rate = 0.5**self.level
        low, high = items_sampled(len(self.keys), rate, self.delta / 4.0)
        low *= share_between(sure, len(self.keys), self.delta / 2.0)[0]
        high *= share_between(possible, len(self.keys), self.delta / 2.0)[1]
        low, high = max(float(sure), math.ceil(low - 1e-9)), float(math.floor(high + 1e-9))
        return self._bar(min(max(sure / rate, low), high), low, high, self.delta)

    def _answer(self, question: Any) -> Any:
        count, rate = len(self.keys), 0.5**self.level
        low, high = items_sampled(count, rate, self.delta / 2.0)
        value = min(max(count / rate, low), high)
        return self._bar(value, low, high, self.delta if self.level else 0.0)

    def _save(self) -> tuple[Values, Arrays]:
        records = values_to_bytes(self.records)
        return {"level": self.level}, {
            "keys": self.keys,
            "counts": self.counts,
            "records": records,
        }

    def _load(self, values: Values, arrays: Arrays) -> None:
        self.level = values["level"]
        self.keys = arrays["keys"]
        self.counts = arrays["counts"]
        self.records = values_from_bytes(arrays["records"])

    def validate(self) -> None:
        """Targets within the limit, at or above the level, each with its rows."""
        assert len(self.keys) <= self.limit
        assert (levels(self.keys, 0) >= self.level).all()
        assert len(self.records) == int(self._held().sum())


@compiled
def _offer(targets, counts, owners, depth, seed, places):  # type: ignore[no-untyped-def]
    """Place in the sample of its target that each row takes; -1 for none (reservoir sampling)."""
    for i in range(len(owners)):
        owner = owners[i]
        counts[owner] += 1
        place = counts[owner] - 1
        if place >= depth:
            # A draw belongs to the target and its row's number, however rows are batched.
            drawn = uniform(seed ^ mix64(targets[owner]), counts[owner])
            place = int(drawn * counts[owner])
        places[i] = owner * depth + place if place < depth else -1


@compiled
def _draw_rows(targets, mine, added, depth, seed, rows):  # type: ignore[no-untyped-def]
    """Rows of a sample of two samples of each target, theirs numbered after all of mine."""
    n_mine = 0
    for count in mine:
        n_mine += min(count, depth)
    at_mine = 0
    at_added = n_mine
    n = 0
    order = np.empty(2 * depth, np.int64)
    for target in range(len(targets)):
        left = mine[target]
        right = added[target]
        held = min(left, depth)
        other = min(right, depth)
        for i in range(held):
            order[i] = at_mine + i
        for i in range(other):
            order[depth + i] = at_added + i
        key = seed ^ mix64(targets[target])
        first = 0
        second = 0
        for i in range(min(left + right, depth)):
            number = 2 * ((left + right) * depth + i) + (1 << 40)
            # A row left out of a sample of size `depth` is like any that is in it.
            from_mine = uniform(key, number) * (left - first + right - second) < left - first
            pick = uniform(key, number + 1)
            if from_mine:
                j = first + int(pick * (held - first))
                order[first], order[j] = order[j], order[first]
                rows[n] = order[first]
                first += 1
            else:
                j = second + int(pick * (other - second))
                order[depth + second], order[depth + j] = order[depth + j], order[depth + second]
                rows[n] = order[depth + second]
                second += 1
            n += 1
        at_mine += held
        at_added += other
