"""What promising queries cost: measured by shards, averaged by the lander, written into pages.

The clock of a machine decides nothing by itself. What it said is put into the journal, and every
run of the journal goes by that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from streamgauge.kernel.files import read_json, reading
from streamgauge.log.home import Home
from streamgauge.plan.allowances import kind_of
from streamgauge.plan.registry import Registry
from streamgauge.promise.costs import KINDS, MEASURED, Costs, Kind, Prices

# Each price: what was spent on it, and how often.
_PARTS = {"insert": ("insert_ns", "inserted"), "hit": ("hit_ns", "hits"), "raw": ("raw_ns", "raws")}
# A block of work with fewer rows that is done sooner tells of the block, not of rows. If it did
# count, a small budget would look dear, buy less, and so look dearer still.
FEW, BRIEF_NS = 64, 1_000_000
# Weight that what was known keeps when an epoch is taken in.
DECAY = 0.8
# Fewer rows than this, over fewer epochs, tell more of the clock than of the work.
ENOUGH, EPOCHS = 256, 8
# One epoch moves a price by no more than this factor.
LEAP = 4.0
# A price in force stays until the measured one is this much dearer or cheaper.
MOVED = 1.25
# Epochs between two changes of prices, those where a price is off by half or double, and how many
# epochs are read when a lander starts.
HOLD, SOON, RECENT = 16, 2, 16


@dataclass(slots=True)
class _Mean:
    """A running mean of nanoseconds."""

    ns: float = 0.0
    count: float = 0.0
    epochs: int = 0

    def take(self, ns: float, count: int, known: float) -> None:
        """Take an epoch in; an outlier counts as far as one leap from what was known."""
        self.epochs += 1
        if self.epochs == 1 and ns / count > known * LEAP:
            # It compiled.
            return
        price = min(max(ns / count, known / LEAP), known * LEAP)
        self.ns = DECAY * self.ns + price * count
        self.count = DECAY * self.count + count

    @property
    def settled(self) -> bool:
        """Whether enough was seen to go by."""
        return self.count >= ENOUGH or (self.count > 0 and self.epochs >= EPOCHS)

    @property
    def price(self) -> float:
        """Nanoseconds each."""
        return self.ns / self.count


@dataclass(slots=True)
class Meter:
    """Follows the commits of a home, and says when prices in force are out of date.

    Parameters
    ----------
    home
        Whose commits are read.
    """

    home: Home
    read: int = -1
    told: int = -HOLD
    means: dict[tuple[Kind, str], _Mean] = field(default_factory=dict)
    _asked: tuple[int, frozenset[Kind]] = (-1, frozenset())

    def change(self, registry: Registry, number: int) -> dict[str, Any] | None:
        """A record of new prices for the page of a number, if there is a need for one."""
        kinds = self._kinds(registry)
        if not kinds:
            return None
        self._read(registry.costs)
        costs, passed = self._measured(registry.costs), number - self.told
        moved = max(_moved(registry.costs.of(kind), costs.of(kind), kind) for kind in kinds)
        if moved <= MOVED or passed < SOON or (passed < HOLD and moved < 2.0):
            return None
        self.told = number
        return {"do": "costs", "costs": costs.as_dict()}

    def _kinds(self, registry: Registry) -> frozenset[Kind]:
        """Kinds of the queries whose budget is of time."""
        if self._asked[0] != registry.changed:
            found = set()
            for standing in registry.queries.values():
                promise = standing.asked.promise
                if promise is not None and promise.cpu is not None:
                    found.add(kind_of(standing.asked))
            self._asked = (registry.changed, frozenset(found))
        return self._asked[1]

    def _read(self, known: Costs) -> None:
        """Take in what commits since the last time say."""
        newest = self.home.committed()
        first = self.read + 1 if self.read >= 0 else newest - RECENT + 1
        for epoch in range(max(1, first), newest + 1):
            path = self.home.commit(epoch)
            if path.exists():
                what = f"the commit of epoch {epoch}"
                with reading(path, what):
                    self.take(read_json(path, what).get("spent", {}), known)
        self.read = newest

    def take(self, spent: Mapping[str, int], known: Costs) -> None:
        """Take in what one epoch spent."""
        for kind in KINDS:
            parts = {name: spent.get(f"{kind}.{name}", 0) for name in MEASURED}
            # What was found is given in one go, whichever probes have found it; what belongs to no
            # row or probe in particular goes with it.
            idle = sum(parts[ns] for ns, count in _PARTS.values() if not parts[count])
            given = (parts["give_ns"] + idle) / max(1, parts["hits"] + parts["raws"])
            for part, (ns, count) in _PARTS.items():
                done, blocks = parts[count], max(1, parts[f"{part}_blocks"])
                if done >= FEW * blocks or (done and parts[ns] >= BRIEF_NS * blocks):
                    mean = self.means.setdefault((kind, part), _Mean())
                    before = mean.price if mean.count else getattr(known.of(kind), part)
                    more = 0.0 if part == "insert" else given * done
                    mean.take(parts[ns] + more, done, before)

    def _measured(self, known: Costs) -> Costs:
        """Prices by what was measured, and by what was known where too little was."""
        found = known
        for (kind, part), mean in self.means.items():
            if mean.settled:
                prices = replace(found.of(kind), **{part: float(f"{mean.price:.3g}")})
                found = replace(found, **{kind: prices})
        return found


def _moved(old: Prices, new: Prices, kind: Kind) -> float:
    """By what factor prices have moved at most; those measured for the first time without end."""
    if old == Costs().of(kind) and new != old:
        return math.inf
    pairs = [(old.insert, new.insert), (old.hit, new.hit), (old.raw, new.raw)]
    return max(max(after / before, before / after) for before, after in pairs)
