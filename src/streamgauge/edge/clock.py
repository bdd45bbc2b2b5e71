"""The agent's clock: steady, and brought to the coordinator's by what replies tell.

A report says when it was sent, its reply when it came and when the reply left. From the four
instants follow an offset and how far it can be off: half of the time spent on the way. The offset
with the least doubt counts; doubt grows with age, since clocks drift.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from streamgauge.kernel.time import Duration, Instant

# Two clocks that nobody disciplines part by less than this, in millionths.
DRIFT_PPM = 100
SAMPLES = 32
# The wall clock moved by itself when it parts from the steady one by more than this.
JUMP = 250_000
# A reply that took longer says nothing of clocks.
STALE = 60_000_000


class Sample(NamedTuple):
    """One offset as a reply showed it: local instant, offset, doubt."""

    at: Instant
    offset: Duration
    doubt: Duration


def wall_clock() -> Instant:
    """Now, as this machine has it."""
    return time.time_ns() // 1_000


def steady_clock() -> Instant:
    """Microseconds that no one sets: they go on while the machine sleeps, where that is known."""
    kind = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return time.clock_gettime_ns(kind) // 1_000


class Clock:
    """Local time, and labels: instants of the coordinator's clock that never go back.

    Parameters
    ----------
    wall, steady
        Where time comes from, in microseconds.

    Examples
    --------
    >>> now = [1_000]
    >>> clock = Clock(lambda: now[0], lambda: now[0])
    >>> clock.is_set
    False
    >>> now[0] = 1_400
    >>> clock.learn(echo=1_000, received=9_200, now=9_200)
    >>> clock.label(), clock.doubt
    (9400, 200)
    """

    def __init__(
        self,
        wall: Callable[[], Instant] = wall_clock,
        steady: Callable[[], Instant] = steady_clock,
    ) -> None:
        self._wall = wall
        self._steady = steady
        self._anchor = wall() - steady()
        # Messages sent before this were stamped by a clock that went otherwise.
        self._began = self.local()
        self._samples: deque[Sample] = deque(maxlen=SAMPLES)
        self._offset: Duration = 0
        self._label: Instant = 0
        self.jumps = 0

    @property
    def is_set(self) -> bool:
        """Whether the coordinator's time is known; not before a reply, nor after a jump."""
        return bool(self._samples)

    @property
    def offset(self) -> Duration:
        """What is added to the local clock."""
        return self._offset

    @property
    def doubt(self) -> Duration:
        """How far the offset can be off."""
        if not self._samples:
            return STALE
        now = self.local()
        return min(_doubt(sample, now) for sample in self._samples)

    def local(self) -> Instant:
        """Local time, without correction. It never jumps: that of the start, and what passed."""
        return self._steady() + self._anchor

    def label(self) -> Instant:
        """Now, on the coordinator's clock; never before an earlier label."""
        self._label = max(self._label, self._steady() + self._anchor + self._offset)
        return self._label

    def label_of(self, told: Instant) -> Instant:
        """An instant that a source told on this machine's wall clock; it may lie anywhere."""
        return told + self._offset

    def not_before(self, label: Instant) -> None:
        """Give no label before this one."""
        self._label = max(self._label, label)

    def learn(self, echo: Instant, received: Instant, now: Instant) -> None:
        """Take what a reply says that comes just now."""
        local = self.local()
        way = (local - echo) - (now - received)
        if echo < self._began or not 0 <= way <= STALE or now < received:
            return
        offset = ((received - echo) + (now - local)) // 2
        self._samples.append(Sample(local, offset, way // 2))
        self._offset = min(self._samples, key=lambda sample: _doubt(sample, local)).offset

    def jumped(self) -> bool:
        """Whether one of the two clocks moved by itself; then offsets are to be learnt anew."""
        anchor = self._wall() - self._steady()
        if abs(anchor - self._anchor) <= JUMP:
            return False
        self.jumps += 1
        # Local time goes with the wall clock from here on, labels do not: the coordinator's now
        # is the last known one until a reply tells better.
        self._offset -= anchor - self._anchor
        self._anchor = anchor
        self._began = self.local()
        self._samples.clear()
        return True


def _doubt(sample: Sample, now: Instant) -> Duration:
    return sample.doubt + (now - sample.at) * DRIFT_PPM // 1_000_000
