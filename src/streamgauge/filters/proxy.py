"""Sensor proxy: stands between one sensor and all queries over it, and lets the sensor rest.

It works out what the queries need together (rate, values, program), tells the sensor when the
sensor listens, and gives each query its part of what comes [MF02, section 3.2]. A state machine
without clock and radio: every call is told what time it is.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from streamgauge.filters.demand import Wanted as Wanted
from streamgauge.filters.demand import demand_of as demand_of
from streamgauge.filters.demand import region_of as region_of
from streamgauge.filters.energy import MOTE, Battery, Energy, Work
from streamgauge.filters.mote import (
    PANES,
    PROGRAMS,
    RAW,
    SLEEP,
    Count,
    Mote,
    Packet,
    Pane,
    Sample,
    Setting,
    Vehicle,
    cycles_of,
    hertz,
)
from streamgauge.filters.regions import ALL, Region, union
from streamgauge.filters.routing import AGGREGATES, SAMPLES, Delivery, Interest, Router, covers
from streamgauge.kernel.errors import BindError, QueryNotFound
from streamgauge.kernel.time import SECOND, Duration, Instant
from streamgauge.operators.predicate import Predicate

WAITING, SERVED, REFUSED = "waiting", "served", "refused"
COMMAND_BITS, PAIR_BITS = 64, 32
# More intervals than this do not fit into a command; small gaps between them are filled.
PAIRS_MAX = 4
# A sensor is silent after so many listening windows without a packet.
PATIENCE = 3
# A battery of which no more than this share should be left is taken for empty.
EMPTY = 0.01
# Notices that nobody fetches are forgotten beyond this.
NOTICES_MAX = 1_000
# Clocks of a sensor and its proxy agree better than this.
AHEAD = SECOND


class Notice(NamedTuple):
    """Something that a query, or with no name all of them, must know.

    Examples
    --------
    >>> proxy = SensorProxy("u")
    >>> proxy.install("heat", now=0, rate=2)
    >>> proxy.notices()
    [Notice(at=0, query='heat', state='waiting', why='the sensor is to run raw at 2 Hz')]
    """

    at: Instant
    query: str
    state: str
    why: str


@dataclass(slots=True)
class Account:
    """What passed between a proxy and its sensor.

    `bits` are those of packets that came, `lost` counts packets that did not, `garbled` those with
    a wrong check sum, `bad` those that said what cannot be.

    Examples
    --------
    >>> proxy = SensorProxy("u")
    >>> proxy.on_sample(Packet("u", 1, 0, 0), now=0)
    []
    >>> proxy.account.packets, proxy.account.bits
    (1, 23)
    """

    packets: int = 0
    bits: int = 0
    lost: int = 0
    garbled: int = 0
    bad: int = 0
    repeated: int = 0
    commands: int = 0
    command_bits: int = 0
    delivered: int = 0
    work: Work = field(default_factory=lambda: Work(seconds=0.0))


class SensorProxy:
    """Serves all queries over one sensor with as little of its battery as will do.

    Parameters
    ----------
    sensor
        Name of the sensor.
    battery
        Its hardware, for telling which program is cheapest and what is left.
    programs
        What it can be told to run.
    rate_max
        Readings a second that it can take.
    values
        Readings outside are impossible and taken for damage.
    threshold
        Readings from here on mean that a vehicle is there.
    listen_every, wake_every
        Time between listening windows of a sensor at work and of one asleep.
    radio
        Bits a second of a command.

    Examples
    --------
    >>> proxy = SensorProxy("u")
    >>> proxy.install("flow", now=0, rate=180, aggregate="vehicle count", period=60 * SECOND)
    >>> print(proxy.wanted)
    counts at 180 Hz
    >>> proxy.install("speed", now=0, rate=180, aggregate="vehicles")
    >>> print(proxy.wanted)
    events at 180 Hz
    >>> for query in ("flow", "speed"):
    ...     proxy.remove(query, now=0)
    >>> print(proxy.wanted)
    sleep, waking every 5 s
    """

    def __init__(
        self,
        sensor: str,
        *,
        battery: Battery = MOTE,
        programs: tuple[str, ...] = PROGRAMS,
        rate_max: float = 1_000.0,
        values: Region = ALL,
        threshold: float = 0.5,
        listen_every: Duration = SECOND,
        wake_every: Duration = 5 * SECOND,
        radio: float = 10_000.0,
    ) -> None:
        self.sensor = sensor
        self.battery = battery
        self.programs = programs
        self.rate_max = rate_max
        self.values = values
        self.listen_every = listen_every
        self.wake_every = wake_every
        self.radio = radio
        self.account = Account()
        self.states: dict[str, str] = {}
        self.silent = False
        self.running: Setting | None = Setting()
        self.wanted = Setting()
        self._allowed = programs
        self._alive_until: Instant | None = None
        self._interests: dict[str, Interest] = {}
        self._asked: Counter[Interest] = Counter()
        self._settings = {0: Setting()}
        self._router = Router(threshold)
        self._notices: deque[Notice] = deque(maxlen=NOTICES_MAX)
        self._listen: Duration = 0
        self._blind = False
        self._seq = 0
        self._at: Instant | None = None
        self._heard: Instant | None = None
        self._damaged = False
        self._choose(0)

    @property
    def energy(self) -> Energy:
        """Joules that the sensor took, as far as can be told from here."""
        return self.battery.energy(self.account.work)

    @property
    def left(self) -> float:
        """Joules that should be left in its battery."""
        return max(0.0, self.battery.joules - self.energy.total)

    def notices(self) -> list[Notice]:
        """What happened since this was asked last."""
        told = list(self._notices)
        self._notices.clear()
        return told

    def install(
        self,
        query: str,
        *,
        now: Instant,
        rate: float,
        where: Predicate | Region | None = None,
        column: str = "value",
        aggregate: str = SAMPLES,
        period: Duration = SECOND,
    ) -> None:
        """Serve a query: so many readings a second, values that pass, and what to make of them."""
        region = where if isinstance(where, Region) else region_of(where, column)
        interest = Interest(aggregate, hertz(rate), region, period)
        self._check(query, interest)
        self._interests[query] = interest
        self._asked[interest] += 1
        self._router.add(query, interest, now)
        self._choose(now)

    def _check(self, query: str, interest: Interest) -> None:
        if query in self._interests:
            raise BindError(
                f"query {query!r} is installed already",
                f"on sensor {self.sensor!r}: {self._interests[query]}",
                "remove it first, or take another name",
            )
        if interest.rate > self.rate_max:
            raise BindError(
                f"sensor {self.sensor!r} is not that fast",
                f"query {query!r} asks {float(interest.rate):g} Hz of at most {self.rate_max:g}",
                f"ask for rate={self.rate_max:g} or less",
            )

    def remove(self, query: str, *, now: Instant) -> None:
        """Serve a query no longer; the sensor goes on to be watched."""
        if query not in self._interests:
            raise QueryNotFound(
                f"no query {query!r} on sensor {self.sensor!r}",
                f"installed are {', '.join(sorted(self._interests)) or 'none'}",
                "name one of these",
            )
        interest = self._interests.pop(query)
        self._router.remove(query, interest)
        self._asked[interest] -= 1
        self._asked += Counter()
        self.states.pop(query, None)
        self._choose(now)

    def limit(self, programs: tuple[str, ...], *, now: Instant) -> None:
        """Let the sensor run these programs only; queries that need another one are told."""
        self._allowed = tuple(program for program in self.programs if program in programs)
        self._choose(now)

    def keep_alive(self, until: Instant | None, *, now: Instant) -> None:
        """Run nothing that would empty the battery before an instant; None: no such limit."""
        self._alive_until = until
        self._choose(now)

    def on_sample(self, packet: Packet, *, now: Instant) -> list[Delivery]:
        """Take a packet of the sensor; return what goes to whom."""
        if not packet.intact or not self._plausible(packet, now):
            self._refuse(packet, now)
            return []
        restarted = packet.seq == 1 and self._at is not None and packet.at > self._at
        if packet.seq <= self._seq and not restarted:
            self.account.repeated += 1
            return []
        if restarted:
            self._tell(now, "restarted", f"sensor {self.sensor!r} lost its setting")
            self._seq = 0
        lost = packet.seq - self._seq - 1 if self._seq else 0
        self._book(packet, lost)
        self._hear(packet, lost, now)
        if self.running is None:
            self._blind = True
            return []
        gap, self._blind = lost > 0 or restarted or self._blind, False
        done = self._router.take(packet, self.running, gap=gap)
        self.account.delivered += sum(len(delivery.to) for delivery in done)
        return done

    def listen_window(self, duration: Duration, *, now: Instant) -> list[Setting]:
        """Commands to send now that the sensor listens for so long; none if it knows all."""
        if self._alive_until is not None:
            self._choose(now)
        if self.running is not None and self.running.version == self.wanted.version:
            return []
        bits = COMMAND_BITS + PAIR_BITS * len(self.wanted.region.intervals)
        if bits * SECOND > self.radio * duration:
            return []
        self.account.commands += 1
        self.account.command_bits += bits
        return [self.wanted]

    def tick(self, now: Instant) -> None:
        """Notice that a sensor has fallen silent."""
        if self.silent or self._heard is None:
            return
        every = self.wake_every if self.running is None else self.running.listen_every
        if now - self._heard > PATIENCE * every:
            self.silent = True
            quiet = (
                f"nothing heard of sensor {self.sensor!r} for {(now - self._heard) / SECOND:g} s"
            )
            empty = self.left <= EMPTY * self.battery.joules
            self._tell(now, "dead" if empty else "silent", quiet + "; battery empty" * empty)

    def _plausible(self, packet: Packet, now: Instant) -> bool:
        """Whether a packet says what can be."""
        said, at = packet.said, packet.at
        if packet.sensor != self.sensor or at > now + AHEAD or packet.seq < 1:
            return False
        if packet.seq > self._seq and self._at is not None and at < self._at:
            return False
        if isinstance(said, Sample):
            return said.at == at and said.value in self.values
        if isinstance(said, Vehicle):
            return said.on < said.off <= at
        if isinstance(said, Count):
            return 0 <= said.n <= self.rate_max and said.start < said.end <= at
        return not isinstance(said, Pane) or said.start < said.end <= at

    def _refuse(self, packet: Packet, now: Instant) -> None:
        if packet.intact:
            self.account.bad += 1
        else:
            self.account.garbled += 1
        if not self._damaged:
            said = "what cannot be" if packet.intact else "packets that are garbled"
            self._tell(now, "damaged", f"sensor {self.sensor!r} sends {said}; they are left out")
        self._damaged = True

    def _book(self, packet: Packet, lost: int) -> None:
        """Count a packet and the work that the sensor did since the one before it."""
        account, setting = self.account, self.running or self.wanted
        account.packets += 1
        account.bits += packet.bits
        account.lost += lost
        seconds = 0.0 if self._at is None else max(0, packet.at - self._at) / SECOND
        samples = 0.0 if setting.program == SLEEP else float(setting.rate) * seconds
        wakings = seconds * SECOND / setting.listen_every if setting.program == SLEEP else samples
        bits = packet.bits * (lost + 1)
        done = Work(
            samples, wakings * cycles_of(setting.program), bits, packet.listen / SECOND, seconds
        )
        account.work = account.work.and_then(done)

    def _hear(self, packet: Packet, lost: int, now: Instant) -> None:
        """Note that the sensor is there, and what it runs."""
        if self.silent:
            self._tell(now, "back", f"sensor {self.sensor!r} is heard again")
        elif lost:
            self._tell(now, "lost", f"{lost} packets of sensor {self.sensor!r} did not come")
        self.silent = self._damaged = False
        self._seq, self._at, self._heard = packet.seq, packet.at, now
        self._listen = packet.listen or self._listen
        if self.running is not None and self.running.version == packet.version:
            return
        # A setting of a proxy before this one is not known, and what it means neither.
        self.running = self._settings.get(packet.version)
        if packet.version > self.wanted.version:
            self._want(replace(self.wanted, version=packet.version + 1))
        self._judge(now)

    def _want(self, setting: Setting) -> None:
        self.wanted = setting
        self._settings[setting.version] = setting
        running = 0 if self.running is None else self.running.version
        for version in [v for v in self._settings if 0 < v < running]:
            del self._settings[version]

    def _choose(self, now: Instant) -> None:
        """Want the cheapest setting of those that serve most queries."""
        sleep = Setting(listen_every=self.wake_every)
        options = [(0, -self._watts(sleep), sleep)]
        for program in self._allowed:
            setting, n = self._setting_for(program)
            if setting is not None and self._lasts(setting, now):
                options.append((n, -self._watts(setting), setting))
        best = max(options, key=lambda option: option[:2])[2]
        if best != replace(self.wanted, version=0):
            self._want(replace(best, version=self.wanted.version + 1))
        self._judge(now)

    def _setting_for(self, program: str) -> tuple[Setting | None, int]:
        """How a program is set to serve as many queries as it can, and how many these are."""
        asked = [interest for interest in self._asked if interest.region]
        if program == PANES:
            asked = self._agreeing(asked)
        else:
            trial = Setting(0, program, max((i.rate for i in asked), default=hertz(1)))
            asked = [interest for interest in asked if covers(trial, interest)]
        if not asked:
            return None, 0
        region = ALL
        if program in (RAW, PANES) and all(i.detail in (SAMPLES, *AGGREGATES) for i in asked):
            region = union(interest.region for interest in asked).coarsened(PAIRS_MAX)
        rate = max(interest.rate for interest in asked)
        pane = math.gcd(*(interest.period for interest in asked)) if program == PANES else SECOND
        setting = Setting(0, program, rate, region, pane, self.listen_every)
        return setting, sum(n for interest, n in self._asked.items() if covers(setting, interest))

    def _agreeing(self, asked: list[Interest]) -> list[Interest]:
        """Aggregates that one series of panes can serve, those of one rate and one region."""
        groups: dict[Any, list[Interest]] = {}
        for interest in asked:
            if interest.detail in AGGREGATES and len(interest.region.intervals) <= PAIRS_MAX:
                groups.setdefault((interest.rate, interest.region), []).append(interest)
        return max(
            groups.values(), key=lambda group: sum(self._asked[i] for i in group), default=[]
        )

    def _watts(self, setting: Setting) -> float:
        return self.battery.energy(setting.work(listen=self._listen)).total

    def _lasts(self, setting: Setting, now: Instant) -> bool:
        if self._alive_until is None or now >= self._alive_until:
            return True
        return self._watts(setting) * (self._alive_until - now) / SECOND <= self.left

    def _judge(self, now: Instant) -> None:
        """Tell queries whose standing has changed."""
        standing = {interest: self._standing(interest, now) for interest in self._asked}
        for query, interest in self._interests.items():
            state, why = standing[interest]
            if self.states.get(query) != state:
                self.states[query] = state
                self._notices.append(Notice(now, query, state, why))

    def _standing(self, interest: Interest, now: Instant) -> tuple[str, str]:
        if self.running is not None and covers(self.running, interest):
            return SERVED, f"the sensor runs {self.running}"
        if covers(self.wanted, interest):
            return WAITING, f"the sensor is to run {self.wanted}"
        return REFUSED, self._why_not(interest, now)

    def _why_not(self, interest: Interest, now: Instant) -> str:
        """Why a query cannot be answered."""
        trial = Setting(rate=interest.rate, region=interest.region, pane=interest.period)
        able = [p for p in PROGRAMS if covers(replace(trial, program=p), interest)]
        why = f"{interest} needs the program {' or '.join(able)}"
        if not set(able) & set(self._allowed):
            return f"{why}, the sensor is limited to {', '.join(self._allowed) or 'sleep'}"
        if self._alive_until is None:
            return f"{why}, which cannot serve the other queries"
        hours = (self._alive_until - now) / (3_600 * SECOND)
        return f"{why}, {self.left:,.0f} J must last for {hours:,.0f} hours"

    def _tell(self, now: Instant, state: str, why: str) -> None:
        self._notices.append(Notice(now, "", state, why))


def attend(
    proxy: SensorProxy,
    mote: Mote,
    until: Instant,
    *,
    radio: Callable[[Packet], Packet | None] = lambda packet: packet,
    commands: Callable[[Setting], bool] = lambda setting: True,
) -> Iterator[Delivery]:
    """Run a simulated mote under its proxy; what is delivered, one at a time.

    Parameters
    ----------
    proxy, mote
        The two.
    until
        Up to when.
    radio
        What becomes of a packet on its way; None: it is lost.
    commands
        Whether a command gets through.

    Examples
    --------
    >>> proxy, mote = SensorProxy("u"), Mote("u", lambda at: 20.0)
    >>> proxy.install("heat", now=0, rate=2)
    >>> [delivery.what.at for delivery in attend(proxy, mote, 2 * SECOND)]
    [1000000, 1500000]
    """
    for sent in mote.run(until):
        packet = radio(sent)
        if packet is None:
            continue
        yield from proxy.on_sample(packet, now=packet.at)
        if packet.listen and packet.intact:
            for setting in proxy.listen_window(packet.listen, now=packet.at):
                if commands(setting):
                    mote.hear(setting, packet.at)
    proxy.tick(until)
