"""Idleness: streams that are silent for longer than they declare, and how far time moves on.

The lander decides by its clock and writes the decision into the page, as a raised peak; everything
after is replay.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from streamgauge.engine.lanes import NO_PEAK
from streamgauge.kernel.time import Instant
from streamgauge.plan.registry import Registry, streams_of
from streamgauge.streams.stream import Stream


@dataclass(frozen=True, slots=True)
class Idle:
    """A stream that is not waited for: silent since when, and its peak without rows.

    `since` is by the clock of the lander, `to` in event time; None: nothing moves it.
    """

    since: Instant
    to: Instant | None


@dataclass(slots=True)
class Idleness:
    """When each stream last sent something, by the clock of the lander.

    A lander that starts has heard all streams: a source is given its time after a restart too.
    """

    heard: dict[str, Instant] = field(default_factory=dict)
    _read: tuple[int, list[frozenset[str]]] = (-1, [])

    def hear(self, stream: str, now: Instant) -> None:
        """Note that a stream sent rows or was advanced."""
        self.heard[stream] = now

    def idle(
        self, registry: Registry, peaks: Mapping[str, Instant], now: Instant
    ) -> dict[str, Idle]:
        """Streams that have been silent for longer than they declare."""
        declared = {s.name: s for s in registry.streams.values() if s.idle is not None}
        self.heard = {name: self.heard.get(name, now) for name in registry.streams}
        silent = {n: s for n, s in declared.items() if now - self.heard[n] > (s.idle or 0)}
        if not silent:
            return {}
        edges = {
            name: peaks[name] - stream.late.allowed
            for name, stream in registry.streams.items()
            if peaks.get(name, NO_PEAK) > NO_PEAK
        }
        found = {}
        for name, stream in silent.items():
            since = self.heard[name]
            peak = peaks.get(name, NO_PEAK)
            groups = self._read_with(registry, name)
            goals = [_with_others(group - {name}, silent, edges) for group in groups]
            to = max(*goals, _with_clock(stream, peak, since, now), NO_PEAK)
            to = to + stream.late.allowed if to > NO_PEAK else NO_PEAK
            found[name] = Idle(since, to if to > peak else None)
        return found

    def _read_with(self, registry: Registry, name: str) -> list[frozenset[str]]:
        """The sets of streams that some query reads together with one."""
        changed, groups = self._read
        if changed != registry.changed:
            sets = {frozenset(streams_of(s.asked)) for s in registry.queries.values()}
            groups = [group for group in sets if len(group) > 1]
            self._read = registry.changed, groups
        return [group for group in groups if name in group]


def _with_others(
    others: frozenset[str], silent: Mapping[str, Stream], edges: Mapping[str, Instant]
) -> Instant:
    """How far the streams have come that are waited for; the furthest when none is."""
    waited = [edges.get(name, NO_PEAK) for name in others if name not in silent]
    return min(waited) if waited else max(edges.get(name, NO_PEAK) for name in others)


def _with_clock(stream: Stream, peak: Instant, since: Instant, now: Instant) -> Instant:
    """How far a stream has come whose times are those of the clock, in whole idle times.

    Old times, as of files that are loaded, have nothing to do with the clock.
    """
    idle = stream.idle or 0
    steps = (now - since) // idle - 1
    live = peak > NO_PEAK and since - peak <= idle
    return since + steps * idle - stream.late.allowed if live and steps > 0 else NO_PEAK
