"""Bound cache: values that sources sent and widths that they were granted, joined in order of time.

Values and widths wait in a serializing queue each, until the tick that they belong to is closed;
then they come out in order of their labels, and each gives a new bound of its object. All that has
one label is one transaction. The join keeps, for each object, its newest value and the widths that
its source may apply: the one it confirmed last and all that were granted since.
"""

from __future__ import annotations

import heapq
import math
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from streamgauge.filters.bound import EVERY_READING, Update
from streamgauge.kernel.time import SECOND, Duration, Instant

ALWAYS: Instant = -(2**62)
# Width in rows of an object that no query asks for: it is heard, and may be anywhere.
UNASKED = 1e300
# Grants to a source without memory: version 0 means that every reading is sent.
_FRESH = (0, ALWAYS, EVERY_READING)
# Two products and two sums here, as many at the source: each off by half a unit at most.
_ROUNDING = 4.0 * sys.float_info.epsilon


class Row(NamedTuple):
    """From an instant on the value of an object lies within `width / 2` of `value`.

    An infinite width says that nothing is known for sure, a value of NaN that the object left.
    """

    place: int
    at: Instant
    value: float
    width: float


class SerializingQueue:
    """Items that come in any order and go in the order of their labels.

    Examples
    --------
    >>> queue = SerializingQueue()
    >>> for at in (3, 1, 2, 1):
    ...     queue.push(at, f"item of {at}")
    >>> list(queue.release(2))
    [(1, 'item of 1'), (1, 'item of 1'), (2, 'item of 2')]
    >>> len(queue)
    1
    """

    def __init__(self) -> None:
        self._heap: list[tuple[Instant, int, Any]] = []
        self._serial = 0

    def __len__(self) -> int:
        return len(self._heap)

    def push(self, at: Instant, item: Any) -> None:
        """Let an item wait for its turn; items of one label keep their order."""
        self._serial += 1
        heapq.heappush(self._heap, (at, self._serial, item))

    def release(self, upto: Instant) -> Iterator[tuple[Instant, Any]]:
        """Items labelled up to an instant, in order."""
        while self._heap and self._heap[0][0] <= upto:
            at, _, item = heapq.heappop(self._heap)
            yield at, item

    def take(self, places: set[int]) -> list[tuple[Instant, Any]]:
        """Take out what waits for some objects, in order; items begin with their object."""
        ours = sorted(entry for entry in self._heap if entry[2][0] in places)
        if ours:
            self._heap = [entry for entry in self._heap if entry[2][0] not in places]
            heapq.heapify(self._heap)
        return [(at, item) for at, _, item in ours]

    def waiting(self) -> list[tuple[Instant, Any]]:
        """All that waits, in order."""
        return [(at, item) for at, _, item in sorted(self._heap)]


@dataclass(slots=True)
class Bound:
    """What is known of one object.

    Parameters
    ----------
    key
        What names it.
    agent
        Who tells of it.
    at, value, slope
        Its newest value: when, which, and its change per second since. NaN before the first.
    confirmed, newest
        Versions: the last that its source is known to apply, the last that was granted.
    grants
        Widths that its source may apply: (version, since, width), the confirmed one first.
    rate, power
        How often it would send at other widths, as its source told last.
    doubtful
        Whether the source may apply a width that is not among them.
    gone
        Whether the object left.
    pad
        What is added to its width for changes on their way.
    landed
        Value and width of its newest row.
    updates
        How many values have taken effect.
    told
        Whether its source knows it, as heard, which may be ahead of what has taken effect.
    """

    key: tuple[str, ...]
    agent: str = ""
    at: Instant = ALWAYS
    value: float = math.nan
    slope: float = 0.0
    confirmed: int = 0
    newest: int = 0
    rate: float = math.nan
    power: float = math.nan
    grants: list[tuple[int, Instant, float]] = field(default_factory=lambda: [_FRESH])
    doubtful: bool = False
    gone: bool = False
    pad: float = 0.0
    landed: tuple[float, float] | None = None
    updates: int = 0
    told: bool = False

    @property
    def known(self) -> bool:
        """Whether it ever had a value."""
        return not math.isnan(self.value)

    def width(self, at: Instant) -> float:
        """Largest width that its source may apply at an instant."""
        if self.doubtful:
            return math.inf
        least = self.grants[0][2]
        for version, since, width in self.grants:
            if width > least and (since <= at or version <= self.confirmed):
                least = width
        return max(least, 0.0)

    def confirm(self, version: int) -> bool:
        """The source applies a version now; False when it cannot have been granted that."""
        kept = [grant for grant in self.grants if grant[0] >= version]
        if not kept or kept[0][0] != version:
            self.doubtful = True
            return False
        self.confirmed, self.grants = version, kept
        return True

    def restart(self) -> None:
        """Its source lost its memory: it applies no grant, and sends every reading."""
        self.confirmed, self.grants = 0, [_FRESH]
        self.doubtful = self.known and not self.gone

    def centre(self, at: Instant) -> float:
        """Middle of the bound at an instant."""
        if self.slope == 0.0:
            return self.value
        return self.value + self.slope * ((at - self.at) / SECOND)

    def row(self, place: int, at: Instant) -> Row:
        """The bound as a row."""
        if self.gone:
            return Row(place, at, math.nan, 0.0)
        centre, width = self.centre(at), self.width(at)
        if not self.doubtful:
            width = min(width, UNASKED)
        width += self.pad
        if self.slope:
            width += _ROUNDING * (width + abs(self.value) + abs(centre - self.value))
        return Row(place, at, centre, width)


class BoundCache:
    """Bounds of all objects of a stream, as of the last closed tick.

    Examples
    --------
    >>> cache = BoundCache()
    >>> place = cache.add(("a",), "pump")
    >>> cache.granted(place, 1, 4.0, since=0)
    >>> cache.told(place, Update(0, 900_000, 20.5, 1))
    >>> cache.close(0, 1_000_000, tick=1_000_000)
    [Row(place=0, at=900000, value=20.5, width=4.0)]
    """

    def __init__(self) -> None:
        self.bounds: list[Bound] = []
        self.places: dict[tuple[str, ...], int] = {}
        self.values = SerializingQueue()
        self.widths = SerializingQueue()
        self.unheard: set[str] = set()
        self.moving: set[int] = set()
        self.fresh: set[int] = set()
        self.unknown_versions = 0

    def add(self, key: tuple[str, ...], agent: str, pad: float = 0.0) -> int:
        """The place of an object, made now if it is new."""
        place = self.places.get(key)
        if place is None:
            place = self.places[key] = len(self.bounds)
            self.bounds.append(Bound(key, agent, pad=pad))
        return place

    def of(self, agent: str) -> list[int]:
        """Objects that an agent tells of."""
        return [place for place, bound in enumerate(self.bounds) if bound.agent == agent]

    def told(self, place: int, update: Update) -> None:
        """A value that a source sent."""
        item = (place, "value", update.value, update.slope, update.version)
        self.values.push(update.at, item)

    def applied(self, place: int, version: int, at: Instant) -> None:
        """A width that a source applies without having sent a value."""
        self.values.push(at, (place, "applied", version))

    def left(self, place: int, at: Instant) -> None:
        """An object that is no longer known."""
        self.values.push(at, (place, "left"))

    def granted(self, place: int, version: int, width: float, since: Instant) -> None:
        """A width that a source may apply from an instant on."""
        bound = self.bounds[place]
        bound.newest = max(bound.newest, version)
        bound.grants.append((version, since, width))
        self.widths.push(since, (place, "granted"))

    def restart(self, places: Iterable[int], agent: str) -> None:
        """Sources of objects begin anew, under an agent; what they sent before is taken in."""
        chosen = set(places)
        for at, item in self.values.take(chosen):
            self._take_in(at, item)
        for place in chosen:
            bound = self.bounds[place]
            bound.agent = agent
            bound.restart()
            self.fresh.add(place)

    def forget(self, places: Iterable[int]) -> None:
        """Objects that are not to be waited for any longer."""
        chosen = set(places)
        self.values.take(chosen)
        for place in chosen:
            bound = self.bounds[place]
            bound.gone, bound.slope, bound.agent, bound.told = bound.known, 0.0, "", False
            self.moving.discard(place)
            self.fresh.add(place)

    def close(
        self, after: Instant, upto: Instant, *, tick: Duration, unheard: Iterable[str] = ()
    ) -> list[Row]:
        """Rows of the ticks in (after, upto], during which some agents were not heard."""
        lost = set(unheard)
        rows = self._interruptions(lost - self.unheard, after + tick)
        returned = self.unheard - lost
        self.unheard = lost
        dirty = dict.fromkeys(self.fresh, False)
        self.fresh.clear()
        for place, bound in enumerate(self.bounds) if returned else ():
            if bound.agent in returned:
                dirty[place] = False
        label, due = after + 1, after + tick
        for at, item in self._released(upto):
            if at > label:
                rows += self._settled(dirty, label)
                due = self._carry(due, at - 1, tick, rows)
                label = at
            if self._take_in(at, item):
                dirty[item[0]] = dirty.get(item[0], False) or item[1] == "value"
        rows += self._settled(dirty, label)
        self._carry(due, upto, tick, rows)
        # What moves at a tick by itself may have been sent at that tick too.
        newest = {(row.place, row.at): row for row in rows}
        return sorted(newest.values(), key=lambda row: row.at)

    def _released(self, upto: Instant) -> Iterator[tuple[Instant, Any]]:
        return heapq.merge(
            self.widths.release(upto), self.values.release(upto), key=lambda item: item[0]
        )

    def _take_in(self, at: Instant, item: tuple[Any, ...]) -> bool:
        """Bring a bound up to date; whether its row may be another now."""
        place, what = item[0], item[1]
        bound = self.bounds[place]
        if what == "granted":
            return True
        if what == "left":
            bound.gone, bound.slope = bound.known, 0.0
        elif what == "applied":
            # One that a later update has overtaken says nothing new.
            if item[2] > bound.confirmed:
                self.unknown_versions += not bound.confirm(item[2])
        elif at >= bound.at:
            bound.at, bound.value, bound.slope = at, item[2], item[3]
            bound.gone = bound.doubtful = False
            bound.updates += 1
            self.unknown_versions += not bound.confirm(item[4])
        (self.moving.add if bound.slope else self.moving.discard)(place)
        return True

    def _settled(self, dirty: dict[int, bool], label: Instant) -> list[Row]:
        """Rows of one transaction: bounds that moved, and all that were sent."""
        rows = []
        for place, sent in dirty.items():
            bound = self.bounds[place]
            if not bound.known:
                continue
            if bound.agent in self.unheard:
                if bound.landed is not None:
                    continue
                row = Row(place, label, bound.value, math.inf)
            else:
                row = bound.row(place, label)
            here = (row.value, row.width)
            if sent or not _same(here, bound.landed):
                bound.landed = here
                rows.append(row)
        dirty.clear()
        return rows

    def _carry(self, due: Instant, upto: Instant, tick: Duration, rows: list[Row]) -> Instant:
        """Rows of bounds that move by themselves, one at each tick; the first tick not reached."""
        if upto < due:
            return due
        last = due + (upto - due) // tick * tick
        for place in sorted(self.moving):
            bound = self.bounds[place]
            if bound.agent not in self.unheard:
                rows += [bound.row(place, at) for at in range(due, last + 1, tick)]
                bound.landed = rows[-1][2:]
        return last + tick

    def _interruptions(self, agents: set[str], at: Instant) -> list[Row]:
        """Rows that say that nothing is known for sure of the objects of some agents."""
        rows = []
        for place, bound in enumerate(self.bounds) if agents else ():
            if bound.agent in agents and bound.known and not bound.gone:
                bound.landed = (bound.value, math.inf)
                rows.append(Row(place, at, bound.value, math.inf))
        return rows

    def as_dict(self) -> dict[str, Any]:
        """JSON form, inverse of `from_dict`."""
        return {
            "bounds": [[getattr(bound, name) for name in _KEPT] for bound in self.bounds],
            "values": self.values.waiting(),
            "widths": self.widths.waiting(),
            "unheard": sorted(self.unheard),
            "fresh": sorted(self.fresh),
            "unknown_versions": self.unknown_versions,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> BoundCache:
        """Read the JSON form."""
        cache = cls()
        for place, parts in enumerate(data["bounds"]):
            bound = Bound(**dict(zip(_KEPT, parts, strict=True)))
            bound.key = tuple(bound.key)
            bound.grants = [(version, since, width) for version, since, width in bound.grants]
            bound.landed = None if bound.landed is None else (bound.landed[0], bound.landed[1])
            cache.bounds.append(bound)
            cache.places[bound.key] = place
            if bound.slope:
                cache.moving.add(place)
        for queue, items in ((cache.values, data["values"]), (cache.widths, data["widths"])):
            for at, item in items:
                queue.push(at, tuple(item))
        cache.unheard = set(data["unheard"])
        cache.fresh = set(data["fresh"])
        cache.unknown_versions = data["unknown_versions"]
        return cache


_KEPT = (
    "key", "agent", "at", "value", "slope", "confirmed", "newest", "rate", "power", "grants",
    "doubtful", "gone", "pad", "landed", "updates", "told",
)  # fmt: skip


def _same(one: tuple[float, float], two: tuple[float, float] | None) -> bool:
    """Whether two bounds are one; of objects that left, all are."""
    if two is None:
        return False
    return one == two or (math.isnan(one[0]) and math.isnan(two[0]))
