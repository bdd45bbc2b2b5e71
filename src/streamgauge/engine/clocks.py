"""Clocks: up to which instant the ticks of each stream are closed, decided and read in one place.

Rows, agents and a declared idle time raise the peak of a stream, by which lateness goes; where
nothing of that comes, time passes. The lander makes one instant of both for each stream and writes
it into the page. Whoever closes ticks reads that, so that a page that only moves a clock changes
nothing of what is registered.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from streamgauge.engine.idleness import Idle, Idleness
from streamgauge.engine.lanes import NO_PEAK
from streamgauge.engine.passing import Passing
from streamgauge.kernel.time import Instant
from streamgauge.log.journal import Page
from streamgauge.plan.registry import Registry
from streamgauge.streams.stream import Stream


def clock_of(stream: Stream, peak: Instant, passed: Instant = NO_PEAK) -> Instant:
    """The instant up to which all ticks of a stream are closed.

    Rows of the instant `peak - allowed` may still come in time, so it is just before that; where
    time passed further without rows, it is there.
    """
    return max(peak - stream.late.allowed - 1, passed)


def closed_by(page: Page, stream: Stream) -> int:
    """The tick of a stream that a page closes."""
    clock = page.clocks.get(stream.name)
    if clock is None:
        # A page of an earlier release says what clocks are made of.
        clock = clock_of(stream, page.peaks[stream.name], page.passed.get(stream.name, NO_PEAK))
    return clock // stream.tick


@dataclass(slots=True)
class Clocks:
    """What moves the event time of the streams of a lander.

    `peaks` has the largest time of each stream, from rows or without them.
    """

    peaks: dict[str, Instant] = field(default_factory=dict)
    idleness: Idleness = field(default_factory=Idleness)
    passing: Passing = field(default_factory=Passing)

    def raise_peak(self, stream: str, to: Instant) -> None:
        """No earlier time is to come than what the stream allows behind this one."""
        self.peaks[stream] = max(self.peaks.get(stream, NO_PEAK), to)

    def advance(self, records: Iterable[dict[str, Any]], streams: Collection[str]) -> set[str]:
        """Move streams to where records say; return all that were named."""
        named = set()
        for record in records:
            if record["do"] == "advance":
                named.add(record["stream"])
                if record["stream"] in streams:
                    self.raise_peak(record["stream"], record["instant"])
        return named

    def rest(self, registry: Registry, heard: Iterable[str], now: Instant) -> dict[str, Idle]:
        """Streams that are not waited for, by what they declare; time moves on without them."""
        for name in heard:
            self.idleness.hear(name, now)
        idle = self.idleness.idle(registry, self.peaks, now)
        for name, found in idle.items():
            if found.to is not None:
                self.raise_peak(name, found.to)
        return idle

    def passed(
        self, registry: Registry, resting: Iterable[Stream], now: Instant
    ) -> dict[str, Instant]:
        """Streams without rows in which time passes a check all the same, and up to when."""
        due = {
            stream.name: self.passing.due(registry, stream, self.peaks, now)
            for stream in resting
            if stream.name in self.peaks
        }
        return {name: upto for name, upto in due.items() if upto is not None}

    def of(self, streams: Iterable[Stream], passed: Mapping[str, Instant]) -> dict[str, Instant]:
        """The clock of each stream that has begun."""
        return {
            stream.name: clock_of(stream, self.peaks[stream.name], passed.get(stream.name, NO_PEAK))
            for stream in streams
            if stream.name in self.peaks
        }
