"""Motes: battery sensors, simulated: what they are told to do, and what they send.

A mote runs one of a few programs, sends packets, and hears commands only in the short windows that
it announces [MF02]. Times are whole microseconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, TypeAlias

from streamgauge.filters.energy import (
    BEACON_BITS,
    COUNT_BITS,
    MOTE,
    OTHER_CYCLES,
    PANE_BITS,
    RAW_CYCLES,
    SAMPLE_BITS,
    VEHICLE_BITS,
    Battery,
    Energy,
    Work,
)
from streamgauge.filters.regions import ALL, Region
from streamgauge.kernel.errors import BindError
from streamgauge.kernel.time import MILLISECOND, SECOND, Duration, Instant

RAW, EVENTS, COUNTS, PANES, SLEEP = "raw", "events", "counts", "panes", "sleep"
PROGRAMS = (RAW, EVENTS, COUNTS, PANES)


def hertz(rate: float | Fraction) -> Fraction:
    """A rate as a fraction, so that instants of readings are exact; at most 1 MHz.

    Examples
    --------
    >>> hertz(180), hertz(0.1)
    (Fraction(180, 1), Fraction(1, 10))
    """
    if not 0 < rate <= SECOND:
        raise BindError(
            "a rate must be positive and at most one reading a microsecond",
            f"got {rate} Hz",
            "write rate=180, or rate=0.1 for a reading each ten seconds",
        )
    return Fraction(rate).limit_denominator(10_000)


def slot_of(at: Instant, rate: Fraction) -> int:
    """Number of the reading that is current at an instant, at so many readings a second.

    Examples
    --------
    >>> slot_of(SECOND, hertz(180)), instant_of(181, hertz(180))
    (180, 1005556)
    """
    return at * rate.numerator // (rate.denominator * SECOND)


def instant_of(slot: int, rate: Fraction) -> Instant:
    """When a reading is taken: the first microsecond of its slot."""
    return -(-slot * rate.denominator * SECOND // rate.numerator)


class Sample(NamedTuple):
    """One reading.

    Examples
    --------
    >>> Sample(5, 1.5).value
    1.5
    """

    at: Instant
    value: float


class Vehicle(NamedTuple):
    """A vehicle over one sensor: the first reading that saw it and the first that did not.

    `cut` says that it was there when watching began, so that `on` is too late.

    Examples
    --------
    >>> Vehicle(0, 170_450).cut
    False
    """

    on: Instant
    off: Instant
    cut: bool = False


class Count(NamedTuple):
    """Vehicles that left the sensor from `start` on and before `end`.

    Examples
    --------
    >>> Count(0, SECOND, 3).n
    3
    """

    start: Instant
    end: Instant
    n: int


class Pane(NamedTuple):
    """Readings from `start` on and before `end`, summed up.

    Examples
    --------
    >>> Pane(0, SECOND, 2, 3.0, 1.0, 2.0).total
    3.0
    """

    start: Instant
    end: Instant
    n: int
    total: float
    low: float
    high: float


Said: TypeAlias = Sample | Vehicle | Count | Pane | None
_BITS = {Sample: SAMPLE_BITS, Vehicle: VEHICLE_BITS, Count: COUNT_BITS, Pane: PANE_BITS}


class Packet(NamedTuple):
    """What a mote sends.

    Parameters
    ----------
    sensor, seq, at
        Who, its number (1, 2, 3, ... since the mote started), and when.
    version
        The setting that the mote runs.
    said
        A record, or None: a beacon, which says only that the mote is there.
    listen
        For how long the mote listens from now on; 0: not at all.
    over
        On the beacon that follows a change of setting: the vehicle that is over the sensor.
    intact
        Whether the check sum held.

    Examples
    --------
    >>> Packet("u", 1, 0, 0, Sample(0, 1.0)).bits, Packet("u", 2, 0, 0).bits
    (16, 23)
    """

    sensor: str
    seq: int
    at: Instant
    version: int
    said: Said = None
    listen: Duration = 0
    over: Vehicle | None = None
    intact: bool = True

    @property
    def bits(self) -> int:
        """Payload; an announcement rides in bits that a record leaves free."""
        return BEACON_BITS if self.said is None else _BITS[type(self.said)]


@dataclass(frozen=True, slots=True)
class Setting:
    """What a mote is told to do.

    Parameters
    ----------
    version
        Counts up; an older setting never replaces a newer one.
    program
        raw, events, counts, panes (readings summed up) or sleep.
    rate
        Readings a second.
    region
        Readings outside are neither sent nor summed up (raw and panes).
    pane
        How long readings are summed up.
    listen_every
        Time between two listening windows; asleep, between two wakings.

    Examples
    --------
    >>> print(Setting(3, "raw", hertz(10), Region.above(30.0)))
    raw at 10 Hz, >= 30
    >>> MOTE.energy(Setting(3, "events", hertz(180)).work()).total * 1000
    1.1
    """

    version: int = 0
    program: str = SLEEP
    rate: Fraction = Fraction(1)
    region: Region = ALL
    pane: Duration = SECOND
    listen_every: Duration = 5 * SECOND

    def work(self, *, vehicles: float = 5.0, listen: Duration = 0) -> Work:
        """What it makes a mote do in a second, at most, with so many vehicles a second."""
        windows = SECOND / self.listen_every
        listening = windows * listen / SECOND
        if self.program == SLEEP:
            return Work(0, windows * OTHER_CYCLES, windows * BEACON_BITS, listening)
        rate = float(self.rate)
        bits = {
            RAW: rate * SAMPLE_BITS,
            EVENTS: vehicles * VEHICLE_BITS + windows * BEACON_BITS,
            COUNTS: float(COUNT_BITS),
            PANES: PANE_BITS * SECOND / self.pane + windows * BEACON_BITS,
        }[self.program]
        return Work(rate, rate * cycles_of(self.program), bits, listening)

    def __str__(self) -> str:
        if self.program == SLEEP:
            return f"sleep, waking every {self.listen_every / SECOND:g} s"
        limited = "" if self.region == ALL else f", {self.region}"
        panes = f" of {self.pane / SECOND:g} s" if self.program == PANES else ""
        return f"{self.program}{panes} at {float(self.rate):g} Hz{limited}"


def cycles_of(program: str) -> int:
    """Cycles of the processor for each reading."""
    return RAW_CYCLES if program == RAW else OTHER_CYCLES


class Edges:
    """Tells vehicles from readings: covered at or above a threshold, free below it.

    Examples
    --------
    >>> edges = Edges()
    >>> [edges.see(at, value) for at, value in enumerate((0.0, 1.0, 1.0, 0.0))]
    [None, None, None, Vehicle(on=1, off=3, cut=False)]
    """

    __slots__ = ("cut", "fresh", "on", "threshold")

    def __init__(self, threshold: float = 0.5) -> None:
        self.threshold = threshold
        self.forget()

    def forget(self) -> None:
        """Readings were missed: a vehicle that is there now came at an unknown time."""
        self.on: Instant | None = None
        self.cut = False
        self.fresh = True

    def resume(self, over: Vehicle | None) -> None:
        """Take over from one that watched until now."""
        self.on, self.cut = (None, False) if over is None else (over.on, over.cut)
        self.fresh = False

    def over(self, at: Instant) -> Vehicle | None:
        """The vehicle that is there."""
        return None if self.on is None else Vehicle(self.on, at, self.cut)

    def see(self, at: Instant, value: float) -> Vehicle | None:
        """Take a reading; return the vehicle that it shows to have left."""
        covered = value >= self.threshold
        gone = None
        if covered and self.on is None:
            self.on, self.cut = at, self.fresh
        elif not covered and self.on is not None:
            gone = Vehicle(self.on, at, self.cut)
            self.on = None
        self.fresh = False
        return gone


class Mote:
    """A battery sensor that runs what it was last told, simulated.

    Parameters
    ----------
    name
        Its name.
    reading
        Gives the value at an instant.
    battery
        Its hardware.
    listen
        How long it listens after a packet that announces it.
    begin
        When it is switched on, asleep.

    Examples
    --------
    >>> mote = Mote("u", lambda at: 20.0)
    >>> beacon = next(mote.run(60 * SECOND))
    >>> mote.hear(Setting(1, "raw", hertz(2)), beacon.at), mote.hear(Setting(2), 3 * SECOND)
    (True, False)
    >>> [packet.said.value for packet in mote.run(2 * SECOND) if packet.said]
    [20.0, 20.0]
    """

    def __init__(
        self,
        name: str,
        reading: Callable[[Instant], float],
        *,
        battery: Battery = MOTE,
        listen: Duration = 30 * MILLISECOND,
        begin: Instant = 0,
    ) -> None:
        self.name = name
        self.reading = reading
        self.battery = battery
        self.listen = listen
        self.setting = Setting()
        self.edges = Edges()
        self.now = begin
        self.sent = 0
        self.dead = False
        self._begin = self._since = self._due = begin
        self._told: Setting | None = None
        self._told_at = begin
        self._ear_until = begin - 1
        self._listen_at = begin
        self._held: Count | Pane | None = None
        self._samples = self._cycles = self._bits = self._windows = 0

    @property
    def work(self) -> Work:
        """All that it did so far."""
        listening = self._windows * self.listen / SECOND
        seconds = (self.now - self._begin) / SECOND
        return Work(self._samples, self._cycles, self._bits, listening, seconds)

    @property
    def energy(self) -> Energy:
        """Joules that it took."""
        return self.battery.energy(self.work)

    def hear(self, setting: Setting, at: Instant) -> bool:
        """Be told something; True if the mote is alive and listens. It acts at the next second."""
        if self.dead or not self.now <= at <= self._ear_until:
            return False
        newest = self._told or self.setting
        if setting.version > newest.version:
            self._told, self._told_at = setting, (at // SECOND + 1) * SECOND
        return True

    def run(self, until: Instant) -> Iterator[Packet]:
        """Packets before an instant, one at a time; it may be told something after each."""
        while (at := self._next()) < until and not self._exhausted(at):
            if self._told is not None and at == self._told_at:
                yield from self._change(self._told)
            elif self.setting.program == SLEEP:
                self._cycles += OTHER_CYCLES
                self._due = _whole_after(at, self.setting.listen_every)
                yield self._packet(None)
            else:
                yield from self._sample()
        if not self.dead:
            self.now = max(self.now, until)

    def _next(self) -> Instant:
        """When something happens next."""
        return self._due if self._told is None else min(self._due, self._told_at)

    def _exhausted(self, at: Instant) -> bool:
        """Whether the battery is at its end; looked at once a second."""
        if not self.dead and at // SECOND != self.now // SECOND:
            self.dead = self.energy.total >= self.battery.joules
        self.now = self.now if self.dead else at
        return self.dead

    def _change(self, told: Setting) -> Iterator[Packet]:
        """Finish what was begun, do what it was told, and say so."""
        if self._held is not None:
            yield self._packet(self._held._replace(end=self.now))
            self._held = None
        if self.setting.program == SLEEP:
            self.edges.forget()
        self.setting, self._told, self._since = told, None, self.now
        if told.program == SLEEP:
            self._due = _whole_after(self.now, told.listen_every)
        else:
            self._due = instant_of(-(-self.now * told.rate // SECOND), told.rate)
        self._listen_at = self.now
        yield self._packet(None)._replace(over=self.edges.over(self.now))

    def _sample(self) -> Iterator[Packet]:
        """Take a reading and send what the program makes of it."""
        at, setting = self.now, self.setting
        value = self.reading(at)
        self._samples += 1
        self._cycles += cycles_of(setting.program)
        self._due = instant_of(slot_of(at, setting.rate) + 1, setting.rate)
        gone = self.edges.see(at, value)
        said: Said = None
        if setting.program == RAW:
            # What is no number is news too: the proxy tells it.
            wanted = value in setting.region or not math.isfinite(value)
            said = Sample(at, value) if wanted else None
        elif setting.program == EVENTS:
            said = gone
        else:
            said = self._hold(at, value, gone)
        if said is not None or at >= self._listen_at:
            yield self._packet(said)

    def _hold(self, at: Instant, value: float, gone: Vehicle | None) -> Said:
        """Add a reading to the count or pane that is open; give back the one that it closes."""
        counting = self.setting.program == COUNTS
        width = SECOND if counting else self.setting.pane
        held, done = self._held, None
        if held is not None and at >= _whole_after(held.start, width):
            done, held = held._replace(end=_whole_after(held.start, width)), None
        if held is None:
            start = max(at // width * width, self._since)
            held = Count(start, at, 0) if counting else Pane(start, at, 0, 0.0, math.inf, -math.inf)
        if isinstance(held, Count):
            held = held._replace(n=held.n + (gone is not None))
        elif value in self.setting.region:
            low, high = min(held.low, value), max(held.high, value)
            held = Pane(held.start, at, held.n + 1, held.total + value, low, high)
        self._held = held
        return done

    def _packet(self, said: Said) -> Packet:
        """Send a record; announce a window if one is due."""
        listen = 0
        if self.now >= self._listen_at:
            self._listen_at = _whole_after(self.now, self.setting.listen_every)
            self._ear_until = self.now + self.listen
            self._windows += 1
            listen = self.listen
        self.sent += 1
        packet = Packet(self.name, self.sent, self.now, self.setting.version, said, listen)
        self._bits += packet.bits
        return packet


def _whole_after(at: Instant, width: Duration) -> Instant:
    """First whole multiple of a width after an instant."""
    return (at // width + 1) * width
