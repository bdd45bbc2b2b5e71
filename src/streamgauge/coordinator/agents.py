"""What the coordinator knows of each agent, and what it does not take from one.

A name belongs to one boot at a time. Another boot gets it once the first has been silent for a
while, unless what it tells is older. A boot that lost its name and comes back has to begin anew.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from streamgauge.coordinator.claims import NO_CLAIMS, Claims
from streamgauge.coordinator.options import Options
from streamgauge.edge.protocol import Report
from streamgauge.filters.bound import Update
from streamgauge.kernel.errors import SourceFailure
from streamgauge.kernel.time import SECOND, Duration, Instant
from streamgauge.streams.stream import Stream

# Reports that may wait for one before them.
MAX_HELD = 10_000
# Numbers that may wait to be announced.
MAX_UNANNOUNCED = 1_000
MAX_AGENTS = 10_000
# Seconds of its long-run rate that an agent may send at once.
BURST_SECONDS = 2.0
NEVER: Instant = 0
# Stands for an object that another agent tells of.
FOREIGN = -1


class Refusal(SourceFailure):
    """A report that is not taken; `status` is what HTTP calls it.

    Examples
    --------
    >>> refusal = Refusal("no such stream", "stream 'pumps'", "check the address", status=404)
    >>> refusal.status, refusal.as_dict()["code"]
    (404, 'Refusal')
    """

    def __init__(
        self, what: str, detail: str, hint: str, *, status: int, retry: float | None = None
    ) -> None:
        super().__init__(what, detail, hint)
        self.status = status
        self.retry = retry


@dataclass(slots=True)
class Tally:
    """How much an agent has sent."""

    reports: int = 0
    readings: int = 0
    updates: int = 0
    beats: int = 0
    duplicates: int = 0
    late: int = 0
    refused: int = 0


@dataclass(slots=True)
class Agent:
    """One agent.

    Parameters
    ----------
    name, boot
        Who it is; a boot is one memory of it.
    seq
        All its reports up to this number are here.
    held
        Reports that wait for one before them.
    through
        Up to this instant it has told everything, except in the gaps.
    gaps
        Spans (after, upto] that it does not vouch for.
    numbers, places
        Objects by the numbers it gave them, and the other way round; -1 for one of another agent.
    unannounced
        Newest updates of numbers that it used without having said what they stand for.
    heard
        When it was last heard, by the coordinator's clock.
    offset
        Coordinator's clock less the agent's, at least; the smallest seen is nearest.
    looked
        Values it has looked at since its newest report, by its beats.
    foreign
        Keys that it announced while they were another agent's, by number.
    claims
        For which series its token lets it speak.

    Examples
    --------
    >>> agent = Agent("pump", through=5_000_000, gaps=[(1_000_000, 3_000_000)])
    >>> [agent.vouches(second * 1_000_000) for second in (1, 2, 3, 4, 6)]
    [True, False, False, True, False]
    """

    name: str
    boot: str = ""
    seq: int = 0
    held: dict[int, Report] = field(default_factory=dict)
    through: Instant = NEVER
    gaps: list[tuple[Instant, Instant]] = field(default_factory=list)
    numbers: dict[int, int] = field(default_factory=dict)
    places: dict[int, int] = field(default_factory=dict)
    unannounced: dict[int, Update] = field(default_factory=dict)
    heard: Instant = NEVER
    offset: Duration | None = None
    tally: Tally = field(default_factory=Tally)
    looked: int = 0
    foreign: dict[int, tuple[str, ...]] = field(default_factory=dict)
    claims: Claims = NO_CLAIMS

    def has(self, boot: str, seq: int) -> bool:
        """Whether a report was here before."""
        return boot == self.boot and (seq <= self.seq or seq in self.held)

    def vouches(self, instant: Instant, grace: Duration = 0) -> bool:
        """Whether it has told everything up to an instant, or to `grace` before it."""
        if self.through + grace < instant:
            return False
        return not any(after + grace < instant <= upto for after, upto in self.gaps)

    def edges(self, grace: Duration = 0) -> list[Instant]:
        """Instants at which it begins or ceases to vouch."""
        ends = [edge for after, upto in self.gaps for edge in (after + grace, upto)]
        return [self.through + grace, *ends]

    def gap(self, upto: Instant) -> None:
        """Nothing is vouched for between what was and an instant."""
        if upto > self.through:
            self.gaps.append((self.through, upto))

    def settle(self, closed: Instant) -> None:
        """Forget gaps that no open tick can fall into."""
        self.gaps = [gap for gap in self.gaps if gap[1] > closed]

    def replace_boot(self, boot: str) -> None:
        """Give the name to another boot, which begins with nothing."""
        self.boot, self.seq, self.offset = boot, 0, None
        self.held, self.numbers, self.places = {}, {}, {}
        self.unannounced, self.foreign = {}, {}

    def announce(self, number: int, place: int) -> None:
        """A number stands for an object from now on; -1: for one that is not its own."""
        self.numbers[number] = place
        if place >= 0:
            self.places[place] = number

    def disown(self, place: int) -> None:
        """An object is another agent's from now on."""
        number = self.places.pop(place, None)
        if number is not None:
            self.numbers[number] = FOREIGN

    def hear(self, report: Report, received: Instant) -> None:
        """Note that it lives, and how its clock goes."""
        self.heard = max(self.heard, received)
        apart = received - report.sent
        self.offset = apart if self.offset is None else min(self.offset, apart)

    def as_dict(self) -> dict[str, Any]:
        """JSON form, inverse of `from_dict`."""
        plain = {name: getattr(self, name) for name in _PLAIN}
        return plain | {
            "held": [report.encode().decode() for report in self.held.values()],
            "numbers": list(self.numbers.items()),
            "unannounced": list(self.unannounced.values()),
            "tally": asdict(self.tally),
            "foreign": list(self.foreign.items()),
            "claims": self.claims.as_dict(),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Agent:
        """Read the JSON form."""
        agent = cls(**{name: data[name] for name in _PLAIN})
        agent.gaps = [(after, upto) for after, upto in agent.gaps]
        held = [Report.decode(text.encode()) for text in data["held"]]
        agent.held = {report.seq: report for report in held}
        for number, place in data["numbers"]:
            agent.announce(number, place)
        waiting = [Update(*parts) for parts in data["unannounced"]]
        agent.unannounced = {update.number: update for update in waiting}
        agent.tally = Tally(**data["tally"])
        agent.foreign = {number: tuple(key) for number, key in data["foreign"]}
        agent.claims = Claims.from_dict(data["claims"]) if "claims" in data else NO_CLAIMS
        return agent


_PLAIN = ("name", "boot", "seq", "through", "gaps", "heard", "offset")


@dataclass(slots=True)
class Bucket:
    """Tokens that come back at a steady rate; who has none left waits.

    Examples
    --------
    >>> bucket = Bucket(rate=10.0, level=20.0)
    >>> bucket.take(15, now=0), bucket.take(15, now=0), bucket.take(15, now=1_000_000)
    (None, 1.0, None)
    """

    rate: float
    level: float
    at: Instant | None = None

    def take(self, amount: float, now: Instant) -> float | None:
        """Take tokens; else the seconds until there are enough. Too many at once take all."""
        most = self.rate * BURST_SECONDS
        passed = 0.0 if self.at is None else max(0, now - self.at) / SECOND
        self.level = min(most, self.level + passed * self.rate)
        self.at = now
        needed = min(amount, most)
        if self.level < needed:
            return (needed - self.level) / self.rate
        self.level -= needed
        return None


class Gate:
    """What is not taken from an agent, judged before anything is kept.

    Parameters
    ----------
    stream
        Whose objects agents tell of.
    options
        Limits.
    """

    def __init__(self, stream: Stream, options: Options) -> None:
        self.stream = stream
        self.options = options
        self._buckets: dict[str, Bucket] = {}

    def check(
        self,
        agent: Agent | None,
        report: Report,
        received: Instant,
        n_places: int,
        n_agents: int = 0,
        claims: Claims = NO_CLAIMS,
    ) -> None:
        """Raise a Refusal unless the report may be taken from its agent."""
        if agent is None and n_agents >= MAX_AGENTS and not report.beat:
            raise Refusal(
                "too many agents",
                f"{n_agents} known, at most {MAX_AGENTS}",
                "forget those that are gone, or split the stream",
                status=413,
            )
        if report.seq < 1 and not report.beat:
            raise Refusal(
                "a report without a number", f"number {report.seq}", "count from 1", status=400
            )
        if agent is not None and agent.claims.who in claims.rivals:
            raise Refusal(
                f"agent name {report.agent!r} belongs to another token",
                "an agent with that token has used it, and may be silent",
                "give this agent a name of its own, or write the name behind its token",
                status=403,
            )
        self._check_name(agent, report, received)
        self._check_times(report, received)
        self._check_objects(report, n_places)
        if agent is not None and len(agent.held) >= MAX_HELD and report.seq != agent.seq + 1:
            raise Refusal(
                "too many reports wait for one before them",
                f"{len(agent.held)} reports of {agent.name!r} wait for number {agent.seq + 1}",
                "send the missing report first",
                status=429,
                retry=1.0,
            )
        self._check_numbers(agent, report)
        self._check_flood(report, received)

    def names_object(self, key: tuple[str, ...]) -> bool:
        """Whether a key has as many parts as the stream has key columns, of their types."""
        types = [self.stream.schema.type(name) for name in self.stream.key]
        return len(key) == len(types) and all(map(_fits, key, types))

    def _check_name(self, agent: Agent | None, report: Report, received: Instant) -> None:
        if agent is None or report.boot == agent.boot:
            return
        silent = received - agent.heard
        # A report that was long on its way must not bring back a boot that is gone.
        newest = max([report.through, report.since or 0, *(update.at for update in report.updates)])
        older = not report.beat and newest + self.options.ahead < agent.through
        if older or (agent.seq > 0 and silent < self.options.silence):
            why = "it tells of later" if older else f"heard {silent / SECOND:.1f} s ago"
            raise Refusal(
                f"agent name {report.agent!r} is in use",
                f"another agent has it: {why}",
                "give each agent a name of its own, or stop the other one",
                status=409,
                retry=self.options.silence / SECOND,
            )

    def _check_times(self, report: Report, received: Instant) -> None:
        newest = max([report.through, *(update.at for update in report.updates)])
        ahead = newest - received
        if ahead > self.options.ahead:
            raise Refusal(
                "a report from the future",
                f"{ahead / SECOND:.1f} s ahead, at most {self.options.ahead / SECOND:g} s",
                "let the agent learn the clock from replies",
                status=400,
            )

    def _check_objects(self, report: Report, n_places: int) -> None:
        if n_places + len(report.objects) > self.options.max_objects:
            raise Refusal(
                "too many objects",
                f"{n_places} known, {len(report.objects)} more, at most {self.options.max_objects}",
                "split the stream, or send fewer objects",
                status=413,
            )

    def _check_numbers(self, agent: Agent | None, report: Report) -> None:
        """Numbers may come before their keys when reports overtake each other, but not many."""
        known = agent.numbers if agent is not None and agent.boot == report.boot else {}
        unknown = {update.number for update in report.updates if update.number not in known}
        unknown -= {number for number, _ in report.objects}
        if len(unknown) > MAX_UNANNOUNCED:
            raise Refusal(
                "numbers that stand for no object",
                f"{len(unknown)} of them, {min(unknown)} first; at most {MAX_UNANNOUNCED}",
                "announce objects before their updates",
                status=400,
            )

    def _check_flood(self, report: Report, received: Instant) -> None:
        rate = self.options.max_updates
        if len(self._buckets) > 2 * MAX_AGENTS:
            self._buckets.clear()
        bucket = self._buckets.setdefault(report.agent, Bucket(rate, rate * BURST_SECONDS))
        parts = len(report.updates) + len(report.objects) + len(report.applied) + len(report.left)
        wait = bucket.take(1 + parts, received)
        if wait is not None:
            raise Refusal(
                f"agent {report.agent!r} sends too much",
                f"{parts} updates in this report, {rate:g} a second in the long run",
                f"wait {wait:.1f} s and send it again",
                status=429,
                retry=wait,
            )


def _fits(text: str, kind: str) -> bool:
    if kind == "string":
        return True
    return kind == "int" and text.isascii() and text.removeprefix("-").isdecimal()
