"""Model: how long an epoch takes, from costs and amounts. Pure: no clock, no files, no Spark.

An epoch of `length` seconds gathers that many seconds of rows. It takes the lander, Spark's
scheduling, the slowest shard and the commit, one after the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property

from streamgauge.capacity import amounts
from streamgauge.capacity.costs import Costs
from streamgauge.capacity.fit import ZERO, Estimate
from streamgauge.capacity.workload import PARSED, Workload

# Of an epoch, at most so much may be busy: the rest takes up bursts and stragglers.
UTILISATION = 0.7
SHORTEST, LONGEST = 0.01, 3600.0
# Which end of the bars is looked at.
SIDES = ("value", "low", "high")


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of an epoch in seconds, in the order they happen, and all of it.

    The bar of the whole is not that of its parts added up: the parts of a shard come from one fit
    and are off together.
    """

    land: Estimate
    spark: Estimate
    read: Estimate
    series: Estimate
    work: Estimate
    write: Estimate
    commit: Estimate
    total: Estimate

    def named(self) -> Iterator[tuple[str, Estimate]]:
        """Parts by name, without the whole."""
        for one in fields(self):
            if one.name != "total":
                yield one.name, getattr(self, one.name)


# What each part of a shard's work is made of. What every shard does for all rows and for all series
# does not get less with more shards; the rest is shared out.
READ = (
    "segments", "rows", "words", "names", "latest_rows", "deferred_rows", "pane_rows",
    "selection_rows",
)  # fmt: skip
SERIES = ("series", "latest_series", "deferred_series")
WRITE = ("state",)
SHARED = tuple(name for name in amounts.WORK if name not in (*READ, *SERIES, *WRITE))
# Halvings of a range of lengths: enough for one part in a million.
HALVINGS = 24


@dataclass(frozen=True)
class Model:
    """A workload on so many cores, with as many shards unless said otherwise.

    `spark` says whether Spark runs the shards, or one thread in turn.

    Examples
    --------
    >>> from streamgauge.capacity.costs import Costs
    >>> from streamgauge.capacity.workload import Asked
    >>> load = Workload(10_000.0, 1_000, (Asked("latest", 1_000),))
    >>> one, two = (Model(Costs.packaged(), load, cores) for cores in (1, 2))
    >>> two.seconds(5.0).value < 2.0 * one.seconds(5.0).value
    True
    """

    costs: Costs
    load: Workload
    cores: int
    shards: int = 0
    spark: bool = True

    @property
    def count(self) -> int:
        """Shards."""
        return self.shards or self.cores

    @property
    def waves(self) -> int:
        """How many shards a core runs one after the other."""
        return -(-self.count // self.cores) if self.spark else self.count

    @cached_property
    def state(self) -> Estimate:
        """Bytes of the state of one shard."""
        return self.costs.state.predict(amounts.held(self.load, self.count))

    def shard(self, length: float) -> Estimate:
        """Seconds of one shard in an epoch."""
        return self._shard(amounts.leaf_of(self.load, length), None)

    def _shard(self, leaf: amounts.Leaf, only: tuple[str, ...] | None) -> Estimate:
        done = amounts.work(self.load, leaf, self.count, self.state.value)
        chosen = done if only is None else {name: done[name] for name in only}
        crowding = self.costs.one("crowding") if self.spark and self.cores > 1 else 1.0
        return self.costs.shard.predict(chosen) * crowding

    def parts(self, length: float) -> Parts:
        """The parts of an epoch that gathers so many seconds of rows."""
        return self.parts_of(amounts.leaf_of(self.load, length))

    def parts_of(self, leaf: amounts.Leaf) -> Parts:
        """The parts of the epoch of a page."""
        waits = self.costs.rough("waits", self.waves)
        return Parts(
            land=self._land(leaf),
            spark=self._per_task[0],
            read=self._shard(leaf, READ) * self.waves,
            series=self._shard(leaf, SERIES) * self.waves,
            work=self._shard(leaf, SHARED) * self.waves,
            write=self._shard(leaf, WRITE) * self.waves + waits,
            commit=self._per_task[1],
            total=self.seconds_of(leaf),
        )

    def _land(self, leaf: amounts.Leaf) -> Estimate:
        parsed = leaf.rows if self.load.source in PARSED else 0.0
        done = {"epoch": 1.0, "segments": leaf.segments, "parsed": parsed}
        return self.costs.land.predict(done)

    @cached_property
    def _per_task(self) -> tuple[Estimate, Estimate]:
        """What Spark and the commit take, which depends on the number of shards alone."""
        each = {"epoch": 1.0, "waves": float(self.waves), "shards": float(self.count)}
        spark = self.costs.spark.predict(each) if self.spark else ZERO
        return spark, self.costs.commit.predict(each)

    def seconds_of(self, leaf: amounts.Leaf) -> Estimate:
        """Seconds that the epoch of a page takes."""
        spark, commit = self._per_task
        shard = self._shard(leaf, None) * self.waves + self.costs.rough("waits", self.waves)
        return self._land(leaf) + spark + shard + commit

    def seconds(self, length: float) -> Estimate:
        """Seconds that an epoch of a length takes."""
        return self.seconds_of(amounts.leaf_of(self.load, length))

    def busy(self, length: float) -> Estimate:
        """Cores that are busy on average, the driver's with them."""
        each = {"epoch": 1.0, "shards": float(self.count)}
        total = self.shard(length) * self.count + self.costs.land.predict(each)
        if self.spark:
            total = total + self.costs.driver.predict(each)
        return total * (1.0 / length)

    def pace(self, side: str = "value") -> float | None:
        """Length at which epochs that follow each other at once settle; None: they never do."""
        return self._shortest(1.0, side)

    def shortest(self, side: str = "value", utilisation: float = UTILISATION) -> float | None:
        """The shortest epoch that leaves the room asked for; None where none does."""
        return self._shortest(utilisation, side)

    def _shortest(self, utilisation: float, side: str) -> float | None:
        def fits(length: float) -> bool:
            return bool(getattr(self.seconds(length), side) <= utilisation * length)

        if not fits(LONGEST):
            return None
        low, high = math.log(SHORTEST), math.log(LONGEST)
        if fits(SHORTEST):
            return SHORTEST
        for _ in range(HALVINGS):
            middle = (low + high) / 2.0
            low, high = (low, middle) if fits(math.exp(middle)) else (middle, high)
        return math.exp(high)

    def carries(self, fresh: float, side: str = "value") -> bool:
        """Whether some epoch is long enough to be done in time and short enough to be fresh."""
        # What a length takes grows with it, so the longest fresh one decides.
        length = self._freshest(fresh, side)
        return length > 0.0 and getattr(self.seconds(length), side) <= UTILISATION * length

    def longest(self, fresh: float, side: str = "value") -> float | None:
        """The longest epoch whose answers are as fresh as asked; None where none is stable."""
        return self._freshest(fresh, side) if self.carries(fresh, side) else None

    def _freshest(self, fresh: float, side: str) -> float:
        """The longest epoch whose answers are as fresh as asked, stable or not; 0 where none is."""
        low, high = 0.0, min(fresh, LONGEST)
        for _ in range(HALVINGS):
            middle = (low + high) / 2.0
            within = middle + getattr(self.seconds(middle), side) <= fresh
            low, high = (middle, high) if within else (low, middle)
        return low

    def freshness(self, length: float) -> Estimate:
        """Age of the oldest row in an answer when it is published: it waited for an epoch."""
        took = self.seconds(length)
        return Estimate(length + took.value, length + took.low, length + took.high)

    def memory(self, length: float) -> Estimate:
        """Bytes of the process of one shard."""
        rows = self.load.rows * length
        return self.costs.memory.predict(
            amounts.resident(self.load, rows, self.count, self.state.value)
        )
