"""Intake: reports become records, records become what is known, known ticks become rows.

All that changes what is known is a record of the spool first: a report, grants, the closing of
ticks, agents that are forgotten. What is known is the fold of the records, so a coordinator that
was killed at any point reads them again and closes the same ticks with the same rows.
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Iterable
from dataclasses import astuple, dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from streamgauge.coordinator.agents import FOREIGN, MAX_UNANNOUNCED, NEVER, Agent, Gate, Refusal
from streamgauge.coordinator.cache import BoundCache, Row
from streamgauge.coordinator.claims import NO_CLAIMS, Claims
from streamgauge.coordinator.options import Options
from streamgauge.edge.protocol import Reply, Report
from streamgauge.filters.bound import Grant, Update
from streamgauge.kernel.errors import SourceFailure
from streamgauge.kernel.files import reading
from streamgauge.kernel.time import SECOND, Duration, Instant
from streamgauge.log.spool import Spool
from streamgauge.streams.stream import Stream

# Reports after a snapshot of format 1 took series over from any agent that was silent.
FORMAT = 2
# A grant that is not confirmed is sent again after this long, then half as often each time. A
# wider one does no harm when it is lost, and an update will tell of it anyway.
RESEND = {"narrower": 2 * SECOND, "wider": 30 * SECOND}
RESEND_AT_LEAST = 300 * SECOND
# Labels of an agent are right to within this.
DOUBT = SECOND


@dataclass(slots=True)
class News:
    """What a report brought: by objects, not by the agent's numbers.

    `begun` are objects whose source has no memory; `others` says that some came or left.
    """

    updates: list[tuple[int, Update]] = field(default_factory=list)
    applied: list[tuple[int, int]] = field(default_factory=list)
    begun: list[int] = field(default_factory=list)
    others: bool = False

    def __bool__(self) -> bool:
        return bool(self.updates or self.applied or self.begun or self.others)


@dataclass(slots=True)
class Closing:
    """Ticks that were closed together: the last of them, and their rows."""

    upto: Instant
    rows: list[Row]


@dataclass(slots=True)
class _Due:
    """A grant on its way: when to send it, and how long to wait for a word of it."""

    at: Instant
    wait: Duration


Allot = Callable[[News, Instant], list[Grant]]


def _nothing(_news: News, _now: Instant) -> list[Grant]:
    return []


class Intake:
    """All that agents told of one stream, kept on the disk.

    Parameters
    ----------
    stream
        The stream that they feed.
    options
        Limits and waits.
    directory
        Where the spool is.
    now
        The coordinator's clock.
    allot
        Asked after each report which widths to grant; objects are meant by their places.

    Examples
    --------
    >>> import tempfile
    >>> from streamgauge.streams.schema import Schema
    >>> schema = Schema.of(object="string", ts="time", value="float", width="float")
    >>> hosts = Stream("hosts", schema, "ts", ("object",), (("kind", "edge"),), width="width")
    >>> now = [10_000_000]
    >>> intake = Intake(hosts, Options(), Path(tempfile.mkdtemp()), lambda: now[0])
    >>> report = Report("a", "5f", 1, 0, 9_000_000, [(0, ("cpu",))], [Update(0, 8_500_000, 7.5, 0)])
    >>> intake.take(report.encode(), now[0]).ack
    1
    >>> now[0] = 12_000_000
    >>> intake.close(9_000_000).rows
    [Row(place=0, at=8500000, value=7.5, width=0.0)]
    >>> intake.stop()
    """

    def __init__(
        self,
        stream: Stream,
        options: Options,
        directory: Path,
        now: Callable[[], Instant],
        allot: Allot = _nothing,
    ) -> None:
        self.stream = stream
        self.options = options
        self.now = now
        self.allot = allot
        self.lock = threading.RLock()
        self.gate = Gate(stream, options)
        self.agents: dict[str, Agent] = {}
        self.cache = BoundCache()
        self.closed = self.horizon(now())
        self.begun = False
        self.refused = 0
        self.sample: float | None = None
        self._due: dict[str, dict[int, _Due]] = {}
        self.spool = Spool(directory)
        self.unlanded: Closing | None = None
        self._anyone_takes_over = False
        self._replay()
        self._anyone_takes_over = False
        self.spool.begin(self._as_dict())
        self._remind()

    def horizon(self, now: Instant) -> Instant:
        """The last tick that may be closed."""
        tick = self.stream.tick
        return (now - self.options.wait) // tick * tick

    # What is heard

    def take(self, data: bytes, received: Instant, claims: Claims = NO_CLAIMS) -> Reply:
        """Take a report; the reply acknowledges only what is on the disk."""
        try:
            report = Report.decode(data)
            with self.lock:
                reply, ticket = self._heard(report, data, received, claims)
        except SourceFailure:
            self.refused += 1
            raise
        self.spool.commit(ticket)
        reply.now = max(received, self.now())
        return reply

    def _heard(
        self, report: Report, data: bytes, received: Instant, claims: Claims
    ) -> tuple[Reply, int]:
        agent = self.agents.get(report.agent)
        try:
            n_places, n_agents = len(self.cache.bounds), len(self.agents)
            self.gate.check(agent, report, received, n_places, n_agents, claims)
        except Refusal:
            if agent is not None:
                agent.tally.refused += 1
            raise
        if report.beat:
            news = self._beat(agent, report)
        elif agent is not None and agent.has(report.boot, report.seq):
            agent.tally.duplicates += 1
            news = News()
        else:
            # What beats vouched for is kept with the next record, which may depend on it.
            vouched = NEVER if agent is None else agent.through
            body = b"%d %d " % (received, vouched) + data
            known = NO_CLAIMS if agent is None else agent.claims
            said = claims.as_dict()
            other = b"A" + json.dumps(said).encode() + b"\n"
            self.spool.append((b"R" if said == known.as_dict() else other) + body)
            news = self._fold_report(report, received, vouched, claims)
        agent = self.agents.get(report.agent)
        ours = agent is not None and agent.boot == report.boot
        if agent is not None and ours:
            agent.hear(report, received)
            self.grant(self.allot(news, received) if news else [])
        reply = self._reply(agent if ours else None, report, received)
        return reply, self.spool.ticket

    def _beat(self, agent: Agent | None, report: Report) -> News:
        """A beat vouches for what is here; one that is ahead of it says nothing yet."""
        if agent is not None and agent.boot == report.boot:
            agent.tally.beats += 1
            if report.seq <= agent.seq:
                agent.through = max(agent.through, report.through)
            if report.seq == agent.seq:
                agent.looked = max(agent.looked, report.readings)
        return News()

    def _freed(self, agent: Agent) -> bool:
        """Whether it may have an object now that was another agent's when it announced it."""
        return any(self._may_have(agent, key) for key in agent.foreign.values())

    def _may_have(self, agent: Agent, key: tuple[str, ...]) -> bool:
        """Whether a known object may be an agent's: it is nobody's, or may be taken over."""
        text, owner = "|".join(key), self.cache.bounds[self.cache.places[key]].agent
        if owner not in self.agents:
            return agent.claims.may_announce(text)
        taking = self._anyone_takes_over or agent.claims.may_take(text)
        return taking and owner in self.cache.unheard

    def _reply(self, agent: Agent | None, report: Report, received: Instant) -> Reply:
        ack = 0 if agent is None else agent.seq
        # Reports that were acknowledged to it are not here: it must begin anew.
        known = (ack > 0 or report.seq == 0) and (agent is None or not self._freed(agent))
        reply = Reply(report.boot, ack, report.sent, received, received, known=known)
        if agent is None:
            return reply
        reply.sample = self.sample
        reply.grants = self._outgoing(agent, received)
        reply.known = known and not agent.unannounced
        return reply

    def _outgoing(self, agent: Agent, now: Instant) -> list[Grant]:
        due = self._due.get(agent.name, {})
        found = []
        for place, when in due.items():
            if when.at <= now and place in agent.places:
                version, since, width = self.cache.bounds[place].grants[-1]
                found.append(Grant(agent.places[place], version, width, since))
                when.at, when.wait = now + when.wait, min(2 * when.wait, RESEND_AT_LEAST)
        return found

    # What is decided

    def grant(self, grants: Iterable[Grant]) -> None:
        """Keep widths that are granted, then let them be sent. Numbers are places."""
        listed = [[g.number, g.version, g.width, g.since] for g in grants]
        if listed:
            with self.lock:
                self.spool.append(b"G" + json.dumps(listed).encode())
                self._fold_grants(listed)

    def close(self, upto: Instant) -> Closing:
        """Close all ticks up to one that the horizon has reached."""
        with self.lock:
            record = {
                "upto": upto,
                "through": {name: agent.through for name, agent in self.agents.items()},
            }
            ticket = self.spool.append(b"C" + json.dumps(record).encode())
            closing = self._fold_close(record)
        self.spool.commit(ticket)
        return closing

    def landed(self) -> None:
        """The rows of the last closing are where the job finds them."""
        self.unlanded = None

    def forget(self, agent: str) -> None:
        """Wait no longer for an agent: its objects left."""
        with self.lock:
            if agent not in self.agents:
                raise SourceFailure(
                    f"no agent named {agent!r}",
                    f"known are {', '.join(sorted(self.agents)) or 'none'}",
                    "check the spelling",
                )
            ticket = self.spool.append(b"F" + json.dumps(agent).encode())
            self._fold_forget(agent)
        self.spool.commit(ticket)

    def rotate(self) -> None:
        """Begin a new part of the spool; all that was landed is let go."""
        with self.lock:
            self.spool.begin(self._as_dict())

    def stop(self) -> None:
        """Let the files go."""
        with self.lock:
            self.spool.close()

    # The fold

    def _replay(self) -> None:
        """Bring what is known up to the last record."""
        kept = self.spool.snapshot()
        if kept is not None:
            with reading(self.spool.directory, "the snapshot of what agents said"):
                self._load(kept)
        for record in self.spool.records():
            kind, body = record[:1], record[1:]
            claims = None
            if kind == b"A":
                said, body = body.split(b"\n", 1)
                claims = Claims.from_dict(json.loads(said))
            if kind in (b"R", b"A"):
                received, vouched, data = body.split(b" ", 2)
                self._fold_report(Report.decode(data), int(received), int(vouched), claims)
            elif kind == b"G":
                self._fold_grants(json.loads(body))
            elif kind == b"C":
                self._fold_close(json.loads(body))
            elif kind == b"F":
                self._fold_forget(json.loads(body))

    def _fold_report(
        self, report: Report, received: Instant, vouched: Instant, claims: Claims | None = None
    ) -> News:
        agent = self.agents.get(report.agent)
        if agent is None:
            agent = self.agents[report.agent] = Agent(report.agent)
        agent.claims = agent.claims if claims is None else claims
        agent.through = max(agent.through, vouched)
        news = News()
        if report.boot != agent.boot:
            if agent.boot:
                agent.gap(report.through if report.since is None else report.since)
            agent.replace_boot(report.boot)
            places = self.cache.of(agent.name)
            self.cache.restart(places, agent.name)
            self._due.pop(agent.name, None)
        agent.hear(report, received)
        agent.tally.reports += 1
        agent.held[report.seq] = report
        while agent.seq + 1 in agent.held:
            agent.seq += 1
            self._fold_told(agent, agent.held.pop(agent.seq), received, news)
        return news

    def _fold_told(self, agent: Agent, report: Report, received: Instant, news: News) -> None:
        """Take in a report whose turn has come."""
        # A narrower width is in force by the instant that is vouched for with it. One that does
        # not vouch yet, after a restart, says nothing of when: surely by the time it is heard.
        vouching = report.through > agent.through
        applied_at = report.through if vouching else max(received, agent.through) + DOUBT
        agent.tally.readings, agent.looked = agent.tally.readings + report.readings, 0
        if report.since is not None:
            agent.gap(report.since)
        for number, key in report.objects:
            agent.announce(number, self._place(agent, key, news))
            agent.foreign.pop(number, None)
            if agent.numbers[number] == FOREIGN and key in self.cache.places:
                agent.foreign[number] = key
            if number in agent.unannounced:
                self._fold_update(agent, agent.unannounced.pop(number), news)
        for update in report.updates:
            self._fold_update(agent, update, news)
        for number, version in report.applied:
            place = self._own(agent, number)
            if place is not None:
                self.cache.applied(place, version, applied_at)
                self._confirmed(agent, place, version)
                news.applied.append((place, version))
        for number, at in report.left:
            place = self._own(agent, number)
            if place is not None:
                self.cache.left(place, at)
                self.cache.bounds[place].told, news.others = False, True
        agent.through = max(agent.through, report.through)

    def _fold_update(self, agent: Agent, update: Update, news: News) -> None:
        place = self._own(agent, update.number)
        if place is None:
            if update.number not in agent.numbers and len(agent.unannounced) < 2 * MAX_UNANNOUNCED:
                agent.unannounced[update.number] = update
            return
        agent.tally.updates += 1
        agent.tally.late += update.at <= self.closed
        self.cache.told(place, update)
        bound = self.cache.bounds[place]
        news.others, bound.told = news.others or not bound.told, True
        if math.isfinite(update.rate):
            bound.rate, bound.power = update.rate, update.power
        self._confirmed(agent, place, update.version)
        news.updates.append((place, update))

    def _place(self, agent: Agent, key: tuple[str, ...], news: News) -> int:
        """The object that an agent announces; -1: no object of the stream, or another's."""
        known = self.cache.places.get(key)
        fits = self.gate.names_object(key)
        if not fits or (known is None and not agent.claims.may_announce("|".join(key))):
            # Refused alone: the report as a whole would be sent again and again.
            agent.tally.refused += 1
            return FOREIGN
        if known is None:
            place = self.cache.add(key, agent.name, self.pad(key))
            news.begun.append(place)
            return place
        owner = self.cache.bounds[known].agent
        if owner != agent.name:
            if not self._may_have(agent, key):
                agent.tally.refused += 1
                return FOREIGN
            if owner in self.agents:
                self.agents[owner].disown(known)
            self.cache.restart([known], agent.name)
            self._due.get(owner, {}).pop(known, None)
        if known not in agent.places:
            news.begun.append(known)
        return known

    def _own(self, agent: Agent, number: int) -> int | None:
        """The object that an agent means; None when it has no such one."""
        place = agent.numbers.get(number)
        if place is None or place == FOREIGN:
            agent.tally.refused += 1
            return None
        if not self.cache.bounds[place].agent:
            self.cache.restart([place], agent.name)
        return place

    def _confirmed(self, agent: Agent, place: int, version: int) -> None:
        if version >= self.cache.bounds[place].newest:
            self._due.get(agent.name, {}).pop(place, None)

    def _fold_grants(self, listed: list[list[Any]]) -> None:
        for place, version, width, since in listed:
            bound = self.cache.bounds[place]
            if version <= bound.newest:
                # Made before, and to be sent again.
                self._due.setdefault(bound.agent, {})[place] = _Due(0, RESEND["narrower"])
                continue
            narrower = max(width, 0.0) < max(bound.grants[-1][2], 0.0)
            self.cache.granted(place, version, width, since)
            wait = RESEND["narrower" if narrower else "wider"]
            self._due.setdefault(bound.agent, {})[place] = _Due(0, wait)

    def _fold_close(self, record: dict[str, Any]) -> Closing:
        """Close ticks, span by span of those in which the same agents were heard."""
        for name, through in record["through"].items():
            self.agents[name].through = max(self.agents[name].through, through)
        tick, upto = self.stream.tick, record["upto"]
        grace = self.options.latency if self.options.padded else 0
        edges = {
            edge // tick * tick for agent in self.agents.values() for edge in agent.edges(grace)
        }
        rows: list[Row] = []
        for end in sorted(edge for edge in edges | {upto} if self.closed < edge <= upto):
            first = self.closed + tick
            unheard = {a.name for a in self.agents.values() if not a.vouches(first, grace)}
            rows += self.cache.close(self.closed, end, tick=tick, unheard=unheard)
            self.closed = end
        for agent in self.agents.values():
            agent.settle(self.closed)
        self.begun = self.begun or bool(rows)
        self.unlanded = Closing(upto, rows)
        return self.unlanded

    def _fold_forget(self, name: str) -> None:
        agent = self.agents.pop(name)
        self.cache.forget(self.cache.of(agent.name))
        self._due.pop(name, None)

    def pad(self, key: tuple[str, ...]) -> float:
        """What is added to the width of an object whose changes may be on their way."""
        if not self.options.padded:
            return 0.0
        text = "|".join(key)
        for pattern, rate in self.options.rates.items():
            if pattern == text or fnmatchcase(text, pattern):
                return 2.0 * rate * self.options.latency / SECOND
        return math.inf

    def _remind(self) -> None:
        """After a start, send again what nobody is known to have heard."""
        for place, bound in enumerate(self.cache.bounds):
            if bound.agent and bound.newest > bound.confirmed and len(bound.grants) > 1:
                wait = RESEND["narrower"]
                self._due.setdefault(bound.agent, {})[place] = _Due(0, wait)

    def _as_dict(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "closed": self.closed,
            "begun": self.begun,
            "unlanded": None if self.unlanded is None else astuple(self.unlanded),
            "agents": [agent.as_dict() for agent in self.agents.values()],
            "cache": self.cache.as_dict(),
        }

    def _load(self, kept: dict[str, Any]) -> None:
        self.closed, self.begun = kept["closed"], kept["begun"]
        self._anyone_takes_over = kept["format"] < FORMAT
        if kept["unlanded"] is not None:
            upto, rows = kept["unlanded"]
            self.unlanded = Closing(upto, [Row(*row) for row in rows])
        agents = [Agent.from_dict(item) for item in kept["agents"]]
        self.agents = {agent.name: agent for agent in agents}
        self.cache = BoundCache.from_dict(kept["cache"])
