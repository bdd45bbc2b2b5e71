"""Routing: which of a sensor's packets goes to which query, and in what form.

One sample, one object: all queries that get it share it. A query is given what it would be given
alone, whatever else the sensor is made to do for others: slower queries take every n-th reading,
vehicles and counts are worked out of raw readings while these come, sums of panes go on from them.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from streamgauge.filters.mote import (
    COUNTS,
    EVENTS,
    PANES,
    RAW,
    SLEEP,
    Count,
    Edges,
    Packet,
    Pane,
    Sample,
    Setting,
    Vehicle,
    instant_of,
    slot_of,
)
from streamgauge.filters.regions import ALL, Region
from streamgauge.kernel.errors import BindError
from streamgauge.kernel.time import SECOND, Duration, Instant

SAMPLES, VEHICLES, VEHICLE_COUNT = "samples", "vehicles", "vehicle count"
AGGREGATES = ("avg", "sum", "min", "max", "count")
# Ways of readings that are kept, times groups of queries.
FAN_MAX = 1_000_000
DETAILS = (SAMPLES, VEHICLES, VEHICLE_COUNT, *AGGREGATES)


@dataclass(frozen=True, slots=True)
class Interest:
    """What a query wants of a sensor.

    Parameters
    ----------
    detail
        samples; vehicles; vehicle count; or avg, sum, min, max, count of the readings.
    rate
        Readings a second.
    region
        Values that count, for samples and aggregates of them.
    period
        How long a count or an aggregate goes on.

    Examples
    --------
    >>> print(Interest("avg", Fraction(10), Region.above(30.0), 60 * SECOND))
    avg of 60 s at 10 Hz, >= 30
    """

    detail: str
    rate: Fraction
    region: Region = ALL
    period: Duration = SECOND

    def __post_init__(self) -> None:
        if self.detail not in DETAILS:
            raise BindError(
                f"a sensor cannot give {self.detail!r}",
                f"asked at {float(self.rate):g} Hz",
                f"use one of {', '.join(DETAILS)}",
            )
        if self.period <= 0 or self.period % SECOND:
            raise BindError(
                "a period is a whole number of seconds",
                f"{self.detail} of {self.period} us",
                "write period=60 * SECOND",
            )
        if self.detail in (VEHICLES, VEHICLE_COUNT) and self.region != ALL:
            raise BindError(
                f"{self.detail} are made of all readings",
                f"asked of readings {self.region}",
                "leave where out, and filter what is delivered",
            )

    @property
    def gathers(self) -> bool:
        """Whether it is answered once a period."""
        return self.detail not in (SAMPLES, VEHICLES)

    def __str__(self) -> str:
        period = f" of {self.period / SECOND:g} s" if self.gathers else ""
        limited = "" if self.region == ALL else f", {self.region}"
        return f"{self.detail}{period} at {float(self.rate):g} Hz{limited}"


def covers(setting: Setting, interest: Interest) -> bool:
    """Whether a sensor that runs a setting says all that a query wants.

    Examples
    --------
    >>> speed = Interest("vehicles", Fraction(180))
    >>> [covers(Setting(1, program, Fraction(180)), speed) for program in ("raw", "counts")]
    [True, False]
    """
    if not interest.region:
        return True
    if setting.program == PANES:
        return (
            interest.detail in AGGREGATES
            and setting.rate == interest.rate
            and setting.region == interest.region
            and interest.period % setting.pane == 0
        )
    if setting.rate < interest.rate:
        return False
    if interest.detail == VEHICLE_COUNT:
        return setting.program in (COUNTS, EVENTS) or _all_raw(setting)
    if interest.detail == VEHICLES:
        return setting.program == EVENTS or _all_raw(setting)
    return setting.program == RAW and setting.region.covers(interest.region)


def _all_raw(setting: Setting) -> bool:
    return setting.program == RAW and setting.region == ALL


class Figure(NamedTuple):
    """A count or aggregate of one period; `partial` if packets of it were lost.

    `value` is None for an average or extreme of no readings.

    Examples
    --------
    >>> Figure(0, SECOND, 3.0).partial
    False
    """

    start: Instant
    end: Instant
    value: float | None
    partial: bool = False


class Delivery(NamedTuple):
    """One thing, and the queries that get it.

    Examples
    --------
    >>> Delivery(Sample(0, 1.5), ("a", "b")).to
    ('a', 'b')
    """

    what: Sample | Vehicle | Figure
    to: tuple[str, ...]


class _Group:
    """Queries with one interest, and the period that is being gathered for them."""

    def __init__(self, interest: Interest) -> None:
        self.interest = interest
        self.queries: dict[str, Instant] = {}
        self.since: Instant | None = None
        self.whole_from: Instant = 0
        self._begin(0)

    def _begin(self, start: Instant) -> None:
        self.start, self.n, self.total = start, 0, 0.0
        self.low, self.high = float("inf"), float("-inf")

    def serve(self, since: Instant) -> None:
        """What the sensor says is enough from now on."""
        self.since = self.whole_from = since
        self._begin(since // self.interest.period * self.interest.period)

    def add(self, at: Instant, n: int, total: float, low: float, high: float) -> None:
        """Readings of the open period; those on their way when it began are of the one before."""
        if at < self.start:
            return
        self.n += n
        self.total += total
        self.low, self.high = min(self.low, low), max(self.high, high)

    def close(self, at: Instant, *, gap: bool) -> list[Delivery]:
        """Figures of the periods that ended by an instant."""
        done, period = [], self.interest.period
        while self.start + period <= at:
            done += self._figure(lost=gap)
            # What was lost whole is not told: there would be a figure for every period of it.
            self._begin(at // period * period if gap else self.start + period)
        return done

    def _figure(self, *, lost: bool) -> list[Delivery]:
        if self.since is None or self.start < self.since:
            return []
        to = tuple(query for query, asked in self.queries.items() if asked <= self.start)
        partial = lost or self.start < self.whole_from
        end = self.start + self.interest.period
        return [Delivery(Figure(self.start, end, self._value(), partial), to)] if to else []

    def _value(self) -> float | None:
        detail = self.interest.detail
        if detail in (VEHICLE_COUNT, "count"):
            return float(self.n)
        if detail == "sum":
            return self.total
        if not self.n:
            return None
        return {"avg": self.total / self.n, "min": self.low, "max": self.high}[detail]


class Router:
    """Gives packets of one sensor to the queries that want them.

    Examples
    --------
    >>> router = Router()
    >>> router.add("all", Interest("samples", Fraction(2)), 0)
    >>> router.add("hot", Interest("samples", Fraction(1), Region.above(30.0)), 0)
    >>> setting = Setting(1, "raw", Fraction(2))
    >>> for half, value in enumerate((31.0, 32.0, 20.0)):
    ...     sample = Sample(half * SECOND // 2, value)
    ...     packet = Packet("u", half + 1, sample.at, 1, sample)
    ...     print(value, [to for _, to in router.take(packet, setting)])
    31.0 [('all', 'hot')]
    32.0 [('all',)]
    20.0 [('all',)]
    """

    def __init__(self, threshold: float = 0.5) -> None:
        self.edges = Edges(threshold)
        self._groups: dict[Interest, _Group] = {}
        self._setting: Setting | None = None
        self._served: list[_Group] = []
        self._gathering: list[_Group] = []
        self._fan: _Fan | None = None

    def add(self, query: str, interest: Interest, at: Instant) -> None:
        """Serve a query from the first period that begins at or after an instant."""
        group = self._groups.setdefault(interest, _Group(interest))
        group.queries[query] = at
        self._fan = None
        if group.since is None and self._setting is not None and covers(self._setting, interest):
            group.serve(at)
            self._serve([*self._served, group])

    def remove(self, query: str, interest: Interest) -> None:
        """Serve a query no longer."""
        group = self._groups[interest]
        del group.queries[query]
        self._fan = None
        if not group.queries:
            del self._groups[interest]
            self._serve([other for other in self._served if other is not group])

    def take(self, packet: Packet, setting: Setting, *, gap: bool = False) -> list[Delivery]:
        """Deliver what a packet says; `gap` if packets before it were lost."""
        at, said = packet.at, packet.said
        # What the sensor summed up tells of all the time since it began to.
        since = said.start if isinstance(said, Count | Pane) else at
        if gap:
            self.edges.forget()
            for group in self._served:
                group.whole_from = since
        done = self._close(since, gap=gap)
        if setting != self._setting:
            self._change(packet, setting, since, gap=gap)
        if isinstance(said, Sample):
            done += self._sampled(said, setting)
        elif isinstance(said, Vehicle):
            done += self._left(said)
        elif said is not None:
            self._add(said)
            done += self._close(at, gap=False)
        return done

    def _change(self, packet: Packet, setting: Setting, since: Instant, *, gap: bool) -> None:
        """The sensor runs another setting."""
        slept = self._setting is None or self._setting.program == SLEEP
        if packet.said is None and not gap and not slept:
            self.edges.resume(packet.over)
        else:
            self.edges.forget()
        self._setting = setting
        served = []
        for group in self._groups.values():
            if not covers(setting, group.interest):
                group.since = None
                continue
            if group.since is None:
                group.serve(since)
            served.append(group)
        self._serve(served)

    def _serve(self, groups: list[_Group]) -> None:
        self._served = groups
        self._gathering = [group for group in groups if group.interest.gathers]
        self._fan = None

    def _close(self, at: Instant, *, gap: bool) -> list[Delivery]:
        return [done for group in self._gathering for done in group.close(at, gap=gap)]

    def _sampled(self, sample: Sample, setting: Setting) -> list[Delivery]:
        """A raw reading: to those whose turn it is, and a vehicle if it shows one to have left."""
        if self._fan is None:
            self._fan = _Fan(self._served, setting.rate)
        to, gathering = self._fan.out(sample)
        for group in gathering:
            group.add(sample.at, 1, sample.value, sample.value, sample.value)
        gone = self.edges.see(*sample) if setting.region == ALL else None
        done = [Delivery(sample, to)] if to else []
        return done if gone is None else done + self._left(gone)

    def _left(self, vehicle: Vehicle) -> list[Delivery]:
        """A vehicle left the sensor."""
        to: list[str] = []
        for group in self._served:
            if group.interest.detail == VEHICLE_COUNT:
                group.add(vehicle.off, 1, 0.0, 0.0, 0.0)
            elif group.interest.detail == VEHICLES and not vehicle.cut:
                to += group.queries
        return [Delivery(vehicle, tuple(to))] if to else []

    def _add(self, said: Count | Pane) -> None:
        """Add what the sensor summed up."""
        for group in self._served:
            detail = group.interest.detail
            if isinstance(said, Count) and detail == VEHICLE_COUNT:
                group.add(said.start, said.n, 0.0, 0.0, 0.0)
            elif isinstance(said, Pane) and detail in AGGREGATES:
                group.add(said.start, *said[2:])


class _Fan:
    """Which queries a reading goes to, found once for all readings that go the same way."""

    def __init__(self, served: list[_Group], rate: Fraction) -> None:
        sampled = [g for g in served if g.interest.detail not in (VEHICLES, VEHICLE_COUNT)]
        self.rate = rate
        self.groups = [group for group in sampled if group.interest.region]
        self.slower = sorted({g.interest.rate for g in self.groups if g.interest.rate != rate})
        pairs = [pair for group in self.groups for pair in group.interest.region.intervals]
        # Between two cuts all values are in the same regions.
        ends = {low for low, _ in pairs} | {math.nextafter(high, math.inf) for _, high in pairs}
        self.cuts = sorted(ends)
        self.known: dict[tuple[object, ...], tuple[tuple[str, ...], list[_Group]]] = {}

    def out(self, sample: Sample) -> tuple[tuple[str, ...], list[_Group]]:
        """Queries that get the reading, and groups that sum it up."""
        due = tuple(self._due(sample.at, rate) for rate in self.slower)
        way = (bisect_right(self.cuts, sample.value), *due)
        if way not in self.known:
            if len(self.known) * len(self.groups) > FAN_MAX:
                self.known.clear()
            self.known[way] = self._find(sample, dict(zip(self.slower, due, strict=True)))
        return self.known[way]

    def _find(
        self, sample: Sample, due: dict[Fraction, bool]
    ) -> tuple[tuple[str, ...], list[_Group]]:
        taken = [
            group
            for group in self.groups
            if due.get(group.interest.rate, True) and sample.value in group.interest.region
        ]
        plain = (group for group in taken if not group.interest.gathers)
        to = tuple(query for group in plain for query in group.queries)
        return to, [group for group in taken if group.interest.gathers]

    def _due(self, at: Instant, rate: Fraction) -> bool:
        """Whether it is the reading that a slower query would have been given alone."""
        slot = instant_of(slot_of(at, rate), rate)
        return at == instant_of(-(-slot * self.rate // SECOND), self.rate)
