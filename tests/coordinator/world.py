"""A small world for the coordinator: agents with known values, and a network that misbehaves.

Nothing here waits: time is a number that the test moves.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq

from streamgauge.coordinator.agents import Refusal
from streamgauge.coordinator.intake import Intake, News
from streamgauge.coordinator.landing import Landing
from streamgauge.coordinator.options import Options
from streamgauge.edge.protocol import Reply, Report
from streamgauge.filters.bound import EVERY_READING, NOTHING, Grant
from streamgauge.filters.source import SourceFilter
from streamgauge.kernel.time import SECOND, Instant
from streamgauge.log.home import Home
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Stream

SCHEMA = Schema.of(object="string", ts="time", value="float", width="float")
STREAM = Stream("hosts", SCHEMA, "ts", ("object",), (("kind", "edge"),), width="width")
START: Instant = 1_000_000 * SECOND


@dataclass
class Source:
    """An agent as the protocol describes it; it reads its objects when told to."""

    name: str
    keys: tuple[str, ...]
    skew: int = 0
    boots: int = 0
    seq: int = 0
    label: Instant = 0
    through: Instant = 0
    since: Instant | None = None
    acked: int = 0
    unacked: list[Report] = field(default_factory=list)
    told: dict[str, list[tuple[Instant, float]]] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    announced: set[str] = field(default_factory=set)
    down: bool = False

    def __post_init__(self) -> None:
        self.filter = SourceFilter()
        self.begin(START)

    @property
    def boot(self) -> str:
        return f"boot-{self.boots}"

    def begin(self, now: Instant) -> None:
        """Start with no memory."""
        self.boots += 1
        self.seq = self.acked = 0
        self.unacked, self.announced, self.numbers = [], set(), {}
        self.filter = SourceFilter()
        self.down = False
        self.stamp(now)
        self.since = self.label

    def resume(self, now: Instant) -> None:
        """Start with all that was kept."""
        self.filter = SourceFilter.restore(self.filter.snapshot())
        self.down = False
        self.stamp(now)
        self.since = self.label

    def stamp(self, now: Instant) -> Instant:
        self.label = max(self.label + 1, now + self.skew)
        return self.label

    def read(self, now: Instant, values: dict[str, float]) -> None:
        """Read objects, and put what must be sent into a report; down, it sees nothing."""
        at = self.stamp(now)
        updates = []
        for key, value in values.items():
            self.told.setdefault(key, []).append((at, value))
            if not self.down:
                if key not in self.numbers:
                    self.numbers[key] = len(self.numbers)
                    self.filter.add(self.numbers[key])
                updates.append(self.filter.offer(self.numbers[key], at, value))
        if not self.down:
            self.close_report(updates)

    def close_report(self, updates: list) -> None:
        at = self.label
        found = [update for update in updates if update is not None] + self.filter.check(at)
        found.sort(key=lambda update: update.at)
        applied = self.filter.applied()
        fresh = [key for key in self.numbers if key not in self.announced]
        objects = [(self.numbers[key], (key,)) for key in fresh]
        self.through = at
        if found or applied or objects or self.since is not None:
            self.seq += 1
            report = Report(
                self.name, self.boot, self.seq, at, at, objects, found, applied, [], self.since
            )
            self.unacked.append(report)
            self.announced.update(fresh)
            self.since = None

    def next(self, which: int = 0) -> Report:
        """What would be sent now: a report without an answer, the oldest first, or a beat."""
        if which < len(self.unacked):
            return self.unacked[which]
        return Report(self.name, self.boot, self.seq, self.label, self.through)

    def take(self, reply: Reply, now: Instant) -> None:
        if reply.boot != self.boot:
            return
        self.acked = max(self.acked, reply.ack)
        self.unacked = [report for report in self.unacked if report.seq > reply.ack]
        if not reply.known:
            self.announced.clear()
            if reply.ack < self.acked:
                self.begin(now)
                return
        at = self.stamp(now)
        self.close_report([self.filter.grant(grant, at) for grant in reply.grants])


class World:
    """A coordinator on a disk, its agents, and the messages between them."""

    def __init__(self, path: Path, sources: list[Source], widths: list[float]) -> None:
        self.home = Home.open(path, shards=1)
        self.now = START
        self.options = Options()
        self.sources = {source.name: source for source in sources}
        self.widths = widths
        self.granted = 0
        self.up: list[tuple[str, bytes]] = []
        self.down: list[tuple[str, bytes]] = []
        self.files: dict[str, bytes] = {}
        self.open()

    def open(self) -> None:
        directory = self.home.root / "spool"
        self.intake = Intake(STREAM, self.options, directory, lambda: self.now, self.allot)
        self.landing = Landing(self.home, STREAM)

    def land(self) -> None:
        closing = self.intake.unlanded
        if closing is not None:
            self.landing.land(closing.upto, closing.rows, self.intake.cache.bounds)
            self.intake.landed()
            self.note()

    def allot(self, news: News, now: Instant) -> list[Grant]:
        return [grant for place, _ in news.updates for grant in self.some_grant(place)]

    def some_grant(self, place: int) -> list[Grant]:
        """The next width of the list; as many as are under way at most."""
        bound = self.intake.cache.bounds[place]
        if len(bound.grants) > 4:
            return []
        width = self.widths[self.granted % len(self.widths)]
        self.granted += 1
        labels = [agent.through for agent in self.intake.agents.values()]
        return [Grant(place, bound.newest + 1, width, max([self.now, *labels]))]

    def close(self) -> None:
        self.intake.stop()

    # What can happen

    def pass_time(self, span: int) -> None:
        self.now += span
        upto = self.intake.horizon(self.now)
        if upto > self.intake.closed:
            self.intake.close(upto)
            self.land()

    def send(self, name: str, which: int = 0) -> None:
        if not self.sources[name].down:
            self.up.append((name, self.sources[name].next(which).encode()))

    def deliver_up(self, which: int, again: bool = False) -> None:
        if not self.up:
            return
        place = which % len(self.up)
        name, data = self.up[place] if again else self.up.pop(place)
        try:
            reply = self.intake.take(data, self.now)
        except Refusal:
            return
        self.down.append((name, reply.encode()))

    def deliver_down(self, which: int, again: bool = False) -> None:
        if not self.down:
            return
        place = which % len(self.down)
        name, data = self.down[place] if again else self.down.pop(place)
        if not self.sources[name].down:
            self.sources[name].take(Reply.decode(data), self.now)

    def crash(self, how: str) -> None:
        """Kill the coordinator: between two things, or within the closing of a tick."""
        upto = self.intake.horizon(self.now)
        if how in ("closing", "twice") and upto > self.intake.closed:
            self.intake.close(upto)
        if how != "between":
            self.intake.spool.commit(self.intake.spool.ticket)
        known = self.known()
        self.intake.stop()
        parts = sorted((self.home.root / "spool").glob("*.spool"))
        if how == "torn":
            with parts[-1].open("ab") as file:
                file.write(b"\x40\0\0\0half a rec")
        elif how == "zeros":
            with parts[-1].open("ab") as file:
                file.write(bytes(4096))
        self.open()
        if how == "twice":
            self.intake.stop()
            self.open()
        # Grants that were not sent yet may be lost; all else is on the disk.
        assert how == "between" or self.known() == known, "what was read again is another story"
        self.land()

    def known(self) -> str:
        """All that follows from the records."""
        agents = [
            (agent.name, agent.boot, agent.seq, sorted(agent.held), agent.gaps, agent.numbers)
            for agent in self.intake.agents.values()
        ]
        return repr((agents, self.intake.closed, json.dumps(self.intake.cache.as_dict())))

    def exchange(self, name: str) -> None:
        """One report and its reply, over a network that works."""
        self.send(name)
        self.deliver_up(-1)
        self.deliver_down(-1)

    # What must hold

    def note(self) -> None:
        """Files never change once they are there."""
        for path in sorted(self.landing.directory.glob("*.parquet")):
            data = path.read_bytes()
            assert self.files.setdefault(path.name, data) == data

    def rows(self) -> list[tuple[str, Instant, float | None, float | None]]:
        """All rows that were landed, in the order of their files."""
        found = []
        before = 0
        for path in sorted(self.landing.directory.glob("*.parquet")):
            upto = int(path.stem) * STREAM.tick
            table = pq.read_table(path)
            times = table["ts"].cast("int64").to_pylist()
            assert all(before < at <= upto for at in times), "a row outside its ticks"
            assert times == sorted(times)
            keys, values, widths = (table[c].to_pylist() for c in ("object", "value", "width"))
            found += list(zip(keys, times, values, widths, strict=True))
            before = upto
        assert len({row[:2] for row in found}) == len(found), "a bound was landed twice"
        return found

    def check(self) -> tuple[int, int]:
        """Compare the bound of each object at each closed tick with what its agent read."""
        truth: dict[str, list[tuple[Instant, float]]] = {}
        for source in self.sources.values():
            truth |= source.told
        rows: dict[str, list[tuple[Instant, float | None, float | None]]] = {}
        for key, at, value, width in self.rows():
            rows.setdefault(key, []).append((at, value, width))
        sure = unsure = 0
        for key, bounds in rows.items():
            place, read = 0, 0
            first = -(-bounds[0][0] // STREAM.tick) * STREAM.tick
            for tick in range(first, self.intake.closed + 1, STREAM.tick):
                while place + 1 < len(bounds) and bounds[place + 1][0] <= tick:
                    place += 1
                while read + 1 < len(truth[key]) and truth[key][read + 1][0] <= tick:
                    read += 1
                _, value, width = bounds[place]
                if width is None:
                    unsure += 1
                else:
                    sure += 1
                    true = truth[key][read][1]
                    assert value is not None
                    slack = 1e-9 * (abs(true) + abs(value) + min(width, 1e6))
                    assert abs(true - value) <= width / 2 + slack, (key, tick, true, value, width)
        return sure, unsure


WIDTHS = [4.0, 0.5, 2.0, NOTHING, 8.0, EVERY_READING, 1.0, 0.0]


def walk(step: int, place: int) -> float:
    """A value that wanders without a generator."""
    return 3.0 * math.sin(0.7 * step + place) + 0.1 * place * step
