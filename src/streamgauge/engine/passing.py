"""Passing: how far event time has gone in streams that bring no rows.

A check is answered when time passes it. Mostly the next row says so. A stream that has come to
rest is passed by the clock of the lander, or, where it declares how long its pauses are, by the
rows of other streams. What has passed is written into the page, so that a replay needs no clock.
Rows that come after all are not late because of it: they take effect at the next tick.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from streamgauge.engine.lanes import NO_PEAK
from streamgauge.kernel.time import HOUR, MINUTE, Duration, Instant, duration
from streamgauge.log.journal import Page
from streamgauge.plan.nodes import Windowed
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.silence import patience, patience_of, period_of
from streamgauge.plan.view import View
from streamgauge.sources.table import KINDS
from streamgauge.streams.stream import Stream

# A page that only lets time pass is written once in a minute of event time, or as often as this in
# the time that rows are waited for.
PACE: Duration = MINUTE
PAGES_IN_A_WAIT = 60
# How slowly a delay is forgotten: rows of a batch come in several pages.
KEPT_OF_DELAY = 63 / 64
Pulses = frozenset[tuple[Duration, Duration]]


@dataclass(slots=True)
class Passing:
    """How far time has passed in each stream, and how late its rows come.

    `behind` is how far rows lay behind the clock when they landed, by stream; `ahead` how far
    other streams had come by then.
    """

    at: dict[str, Instant] = field(default_factory=dict)
    behind: dict[str, Duration] = field(default_factory=dict)
    ahead: dict[str, Duration] = field(default_factory=dict)
    pulses: dict[str, Pulses] = field(default_factory=dict)
    planned: int = -1

    def note(self, page: Page, before: Mapping[str, Instant]) -> None:
        """Take in a written page, given the peaks before it."""
        self.at.update(page.passed)
        lows: dict[str, Instant] = {}
        for segment in page.segments:
            lows[segment.stream] = min(lows.get(segment.stream, segment.low), segment.low)
        for name, low in lows.items():
            known = {**before, **page.peaks}
            others = [peak for other, peak in known.items() if other != name]
            _raise(self.behind, name, page.landed_at - low)
            if others:
                _raise(self.ahead, name, max(others) - low)

    def wait(self, stream: Stream) -> Duration:
        """How long rows of a stream are waited for by the clock."""
        idle = _idle(stream) or HOUR
        return max(idle, stream.expected_gap or 0, 2 * self.behind.get(stream.name, 0))

    def reached(self, stream: Stream, peaks: Mapping[str, Instant], now: Instant) -> Instant:
        """The instant up to which time has passed, by whoever says most."""
        if stream.name not in self.behind:
            return NO_PEAK
        by_clock = now - self.wait(stream)
        declared = stream.expected_gap or _idle(stream)
        others = [peak for name, peak in peaks.items() if name != stream.name]
        # Until rows have landed beside others, the times of others may have nothing to do with it.
        if not declared or not others or stream.name not in self.ahead:
            return by_clock
        return max(by_clock, max(others) - max(declared, 2 * self.ahead[stream.name]))

    def due(
        self, registry: Registry, stream: Stream, peaks: Mapping[str, Instant], now: Instant
    ) -> Instant | None:
        """The instant that time is to pass to, when a check lies before it."""
        if registry.changed != self.planned:
            self.pulses, self.planned = {}, registry.changed
        peak, name = peaks.get(stream.name, NO_PEAK), stream.name
        reached = self.reached(stream, peaks, now) // stream.tick * stream.tick
        closed = max(peak - stream.late.allowed, self.at.get(name, NO_PEAK))
        if reached - closed < max(1, min(PACE, self.wait(stream) // PAGES_IN_A_WAIT)):
            return None
        if name not in self.pulses:
            self.pulses[name] = _pulses(registry, stream)
        for period, lasting in self.pulses[name]:
            check = (closed // period + 1) * period
            if check <= reached and check - peak <= lasting:
                return reached
        return None

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {"at": dict(self.at), "behind": dict(self.behind), "ahead": dict(self.ahead)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Passing:
        """Read the JSON form."""
        at, behind, ahead = (dict(data.get(name, {})) for name in ("at", "behind", "ahead"))
        return cls(at, behind, ahead)


def _raise(delays: dict[str, Duration], name: str, delay: Duration) -> None:
    delays[name] = max(delay, 0, int(KEPT_OF_DELAY * delays.get(name, 0)))


def _idle(stream: Stream) -> Duration:
    """How long a partition of a log may be silent before it is not waited for."""
    source = stream.source_dict()
    return duration(source.get("idle", 0)) if KINDS[source["kind"]].waits_for_lanes else 0


def _pulses(registry: Registry, stream: Stream) -> Pulses:
    """Periods of the checks of a stream's queries, and for how long after a row they last."""
    rest = max(HOUR, stream.expected_gap or 0)
    found = {
        (period, max(rest, lasting) + period)
        for standing in registry.queries.values()
        if stream.name in standing.asked.streams and standing.status == "running"
        for period, lasting in _checks(registry, stream, standing)
        if period
    }
    if stream.expected_gap:
        # Deferred queries look at a silence after each expected gap.
        found.add((stream.expected_gap, rest))
    return frozenset(found)


def _checks(
    registry: Registry, stream: Stream, standing: Standing
) -> Iterable[tuple[Duration, Duration]]:
    asked = standing.asked
    if isinstance(asked, View):
        nodes = [node for node in asked.plan.walk() if isinstance(node, Windowed)]
        windows = [node.window for node in nodes]
    elif isinstance(asked, Query) and asked.parts:
        windows = [part.window for part in asked.parts]
    else:
        window = registry.window_of(asked)
        return [(period_of(asked, window, stream.tick), patience_of(asked, window, stream.tick))]
    period = asked.answer.period or stream.tick
    slides = [window.slide_for(stream.tick, None) for window in windows]
    reach = max((w.length + s for w, s in zip(windows, slides, strict=True)), default=0)
    return [(period, patience(period, reach))] if reach else []
