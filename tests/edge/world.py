"""A world for an agent, moved by hand: a network with moods, and a coordinator that keeps account.

The coordinator here lands nothing. It remembers all it was told and, at the end, is asked of every
instant that was vouched for whether the true value lies in the bound it would have answered with.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from streamgauge.edge.clock import Clock
from streamgauge.edge.dice import Dice
from streamgauge.edge.protocol import Reply, Report
from streamgauge.edge.reporter import Reporter
from streamgauge.edge.spool import Spool
from streamgauge.filters.bound import Grant, Update
from streamgauge.kernel.time import SECOND, Instant

AHEAD = 37 * SECOND


@dataclass
class Known:
    """An object as the coordinator knows it under one boot."""

    key: tuple[str, ...]
    updates: list[Update] = field(default_factory=list)
    grants: list[Grant] = field(default_factory=list)
    confirmed: list[tuple[Instant, int]] = field(default_factory=list)
    left: list[Instant] = field(default_factory=list)

    def sort(self) -> None:
        """Put what was told in order of time, once all of it is here."""
        self.updates.sort(key=lambda update: update.at)
        highest = 0
        for place, (at, version) in enumerate(sorted(self.confirmed)):
            highest = max(highest, version)
            self.confirmed[place] = (at, highest)

    def bound(self, at: Instant) -> tuple[float, float] | None:
        """The widest bound that may be in force; None when the object is not known."""
        told = bisect_right(self.updates, at, key=lambda update: update.at)
        if not told:
            return None
        last = self.updates[told - 1]
        if any(last.at < gone <= at for gone in self.left):
            return None
        confirmed = bisect_right(self.confirmed, at, key=lambda pair: pair[0])
        low = self.confirmed[confirmed - 1][1] if confirmed else 0
        # A narrower width is in force when it is confirmed, also by a clock that is behind.
        widths = [g.width for g in self.grants[low:] if g.since <= at]
        width = max([0.0, *widths, self.grants[low - 1].width if low else 0.0])
        return last.value + last.slope * (at - last.at) / SECOND, width


@dataclass
class Boot:
    """What was told under one boot."""

    seq: int = 0
    held: dict[int, Report] = field(default_factory=dict)
    through: Instant = 0
    vouched: list[tuple[Instant, Instant]] = field(default_factory=list)
    objects: dict[int, Known] = field(default_factory=dict)
    updates: list[Update] = field(default_factory=list)

    def vouch(self, through: Instant, since: Instant | None = None) -> None:
        if through > self.through:
            self.vouched.append((max(self.through, since or 0), through))
            self.through = through


class Desk:
    """The coordinator's side: takes reports in any order and as often as they come."""

    def __init__(self, now: Callable[[], Instant]) -> None:
        self.now = now
        self.boots: dict[str, Boot] = {}
        self.outgoing: dict[str, dict[int, Grant]] = {}
        self.regions: dict[int, list[tuple[float, float]]] = {}
        self.sample: float | None = None

    def take(self, data: bytes) -> bytes:
        received = self.now()
        report = Report.decode(data)
        boot = self.boots.setdefault(report.boot, Boot())
        if report.beat:
            if report.seq <= boot.seq:
                boot.vouch(report.through)
        elif report.seq > boot.seq:
            boot.held[report.seq] = report
            while boot.seq + 1 in boot.held:
                boot.seq += 1
                self._fold(boot, boot.held.pop(boot.seq))
        waiting = self.outgoing.setdefault(report.boot, {})
        for number, known in boot.objects.items():
            done = max((version for _, version in known.confirmed), default=0)
            if number in waiting and waiting[number].version <= done:
                del waiting[number]
        grants = list(waiting.values())
        return Reply(
            report.boot,
            boot.seq,
            report.sent,
            received,
            self.now(),
            grants,
            self.sample,
            self.regions,
            boot.seq > 0 or report.seq == 0 or report.seq in boot.held,
        ).encode()

    def _fold(self, boot: Boot, report: Report) -> None:
        for number, key in report.objects:
            boot.objects.setdefault(number, Known(key))
        for update in report.updates:
            known = boot.objects[update.number]
            known.updates.append(update)
            known.confirmed.append((update.at, update.version))
            boot.updates.append(update)
        for number, version in report.applied:
            boot.objects[number].confirmed.append((report.through, version))
        for number, at in report.left:
            boot.objects[number].left.append(at)
        boot.vouch(report.through, report.since)

    def grant(self, boot: str, number: int, width: float) -> None:
        known = self.boots[boot].objects[number]
        grant = Grant(number, len(known.grants) + 1, width, self.now())
        known.grants.append(grant)
        self.outgoing.setdefault(boot, {})[number] = grant


class World:
    """Agent, network and coordinator on one clock that is moved by hand."""

    spools: ClassVar[list[Spool]] = []

    @classmethod
    def close_all(cls) -> None:
        """Close what tests left open, whether they passed or not."""
        while cls.spools:
            cls.spools.pop().close()

    def __init__(
        self,
        seed: int,
        directory: Path | None = None,
        *,
        calm: bool = False,
        models: bool = True,
    ) -> None:
        self.now: Instant = 1_000 * SECOND
        self.stepped = 0
        self.dice = Dice(seed)
        self.calm = calm
        self.models = models
        self.directory = directory
        self.desk = Desk(lambda: self.now + AHEAD)
        self.truth: dict[tuple[str, ...], list[tuple[Instant, float]]] = {}
        self._mail: list[tuple[Instant, int, bytes, bool]] = []
        self._count = 0
        self._labelled = 0
        self.reporter = self.born()

    def born(self, **more: int) -> Reporter:
        clock = Clock(lambda: self.now + self.stepped, lambda: self.now)
        spool = Spool("pump", self.directory, sync=lambda _handle: None, **more)
        self.spools.append(spool)
        self.reporter = Reporter("pump", clock, spool, models=self.models)
        return self.reporter

    def killed(self) -> None:
        """End the agent without a word; what it wrote is in the hands of the system."""
        self.reporter.spool.close()
        self.born()
        # What was labelled and never spoken of is the past of the next life.
        spoken = self.reporter.spool.latest
        for told in self.truth.values():
            told[:] = [(min(at, spoken + 1), value) for at, value in told]
        self._labelled = spoken

    def feed(self, **values: float) -> None:
        """Readings of one moment, and what is true from its label on."""
        # Readings that wait for the time to be known are the past when something is vouched for.
        at = self._labelled + 1
        if self.reporter.begun:
            at = self._labelled = max(self.reporter.clock.label(), self.reporter._latest)
        for name, value in values.items():
            self.truth.setdefault((name,), []).append((at, value))
        self.reporter.feed([(name, value, None) for name, value in values.items()])

    def pump(self) -> None:
        """Let the agent speak, and bring what the network has ready."""
        message = self.reporter.message()
        if message is not None:
            self._send(message, up=True)
        while (ready := [item for item in self._mail if item[0] <= self.now]) != []:
            item = min(ready)
            self._mail.remove(item)
            if item[3]:
                self._send(self.desk.take(item[2]), up=False)
            else:
                self.reporter.take(item[2])

    def settle(self) -> None:
        """Let a quiet network bring everything over."""
        self.calm = True
        for _ in range(400):
            self.now += SECOND // 4
            self.reporter.lost()
            self.pump()
            if self.reporter.told and not self._mail:
                return
        raise AssertionError("not everything was told")

    def _send(self, data: bytes, *, up: bool) -> None:
        chance = self.dice.uniform()
        copies = 1 if self.calm else (0 if chance < 0.2 else 2 if chance < 0.3 else 1)
        for _ in range(copies):
            way = 0 if self.calm else int(self.dice.uniform() ** 4 * 3 * SECOND)
            self._count += 1
            self._mail.append((self.now + way, self._count, data, up))

    def check(self) -> int:
        """Hold every instant that was vouched for against the truth; how many were looked at."""
        looked = 0
        for boot in self.desk.boots.values():
            for known in boot.objects.values():
                told = self.truth.get(known.key, [])
                known.sort()
                for at in self._instants(boot, known, told):
                    looked += self._holds(known, told, at)
        return looked

    def _instants(
        self, boot: Boot, known: Known, told: list[tuple[Instant, float]]
    ) -> list[Instant]:
        """Where something may go wrong: around readings, updates and ends of what is vouched."""
        marks = {at for at, _ in told} | {update.at for update in known.updates}
        marks |= {at - 1 for at in marks}
        for low, high in boot.vouched:
            marks |= {low + 1, (low + high) // 2, high}
        found = []
        for at in sorted(marks):
            place = bisect_left(boot.vouched, at, key=lambda pair: pair[1])
            if place < len(boot.vouched) and boot.vouched[place][0] < at:
                found.append(at)
        return found

    def _holds(self, known: Known, told: list[tuple[Instant, float]], at: Instant) -> bool:
        bound = known.bound(at)
        place = bisect_right(told, at, key=lambda pair: pair[0])
        true = told[place - 1][1] if place else math.nan
        if bound is None or math.isnan(true):
            assert bound is None or not place, f"{known.key} has left, yet it is {bound} at {at}"
            return False
        centre, width = bound
        slack = 1e-9 * (abs(centre) + abs(true) + 1.0)
        assert abs(true - centre) <= width / 2 + slack, (
            f"{known.key} is {true} at {at}, told {centre} +- {width / 2}"
        )
        return True
