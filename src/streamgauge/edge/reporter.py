"""From readings to reports, and from replies to widths: the agent without its threads and wires.

Nothing here reads a clock but the one handed in, opens a socket or starts a thread, so that tests
can move it step by step.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from streamgauge.edge.clock import Clock
from streamgauge.edge.protocol import Reply, Report, is_name
from streamgauge.edge.readings import Key, Reading
from streamgauge.edge.spool import ANNOUNCED, Spool
from streamgauge.filters.bound import Update
from streamgauge.filters.source import SourceFilter
from streamgauge.kernel.time import SECOND, Duration, Instant

# Readings kept from before the first reply, when the time to label them with is not known.
HELD = 65_536
UPDATES = 5_000
OBJECTS = 100_000
# Characters of a key at most.
KEY = 500


@dataclass(slots=True)
class Counts:
    """What an agent did since it started."""

    readings: int = 0
    updates: int = 0
    reports: int = 0
    beats: int = 0
    replies: int = 0
    grants: int = 0
    refused: int = 0
    unreadable: int = 0
    left: int = 0
    gaps: int = 0
    births: int = 0


class Reporter:
    """What one agent knows and has to say.

    Parameters
    ----------
    agent
        Its name.
    clock
        Local time and labels.
    spool
        Reports that wait, and what is remembered from an earlier start.
    separator
        Cuts a key that comes as one text into its parts; empty: it is one part.
    beat
        Longest silence between two messages.
    resend
        How long a report may stay without acknowledgement before it is sent again.
    settle
        After a restart objects that are not read within this time are told to have left.
    objects
        Most objects; readings of further keys are refused and counted.

    Examples
    --------
    >>> now = [0]
    >>> clock = Clock(lambda: now[0], lambda: now[0])
    >>> reporter = Reporter("pump", clock, Spool("pump"))
    >>> hello = Report.decode(reporter.message())
    >>> hello.beat, hello.through
    (True, 0)
    >>> reporter.take(Reply(hello.boot, 0, hello.sent, 7_000, 7_000).encode())
    >>> reporter.feed([("flow", 20.5, None)])
    >>> report = Report.decode(reporter.message())
    >>> report.seq, report.objects, report.updates[0].value
    (1, [(0, ('flow',))], 20.5)
    """

    def __init__(
        self,
        agent: str,
        clock: Clock,
        spool: Spool,
        *,
        separator: str = "/",
        beat: Duration = SECOND,
        resend: Duration = 5 * SECOND,
        settle: Duration = 10 * SECOND,
        objects: int = OBJECTS,
        models: bool = True,
    ) -> None:
        self.agent = agent
        self.clock = clock
        self.spool = spool
        self.counts = Counts()
        self._told = 0
        self.sample: float | None = None
        self.begun = False
        self._separator = separator
        self._beat = beat
        self._resend = resend
        self.settle = settle
        self._blind = False
        self._objects = objects
        self._models = models
        self._filter = SourceFilter(models=models)
        self._numbers: dict[Key, int] = {}
        self._keys: dict[tuple[str, ...], int] = {}
        self._held: deque[tuple[Key, float, Instant]] = deque(maxlen=HELD)
        self._pending: list[Update] = []
        self._applied: dict[int, int] = {}
        self._left: list[tuple[int, Instant]] = []
        self._announce: list[int] = []
        # Objects whose value is not known: not read since the start, or gone. True: not told yet.
        self._absent: dict[int, bool] = {}
        # Nothing is vouched for while a gap lasts; how far it was before, and where labels are.
        self._gap = True
        self._through: Instant = 0
        self._latest: Instant = 0
        self._settled: Instant = 0
        self._checked: Instant = 0
        self._next = 0
        self._announced = 0
        self._answering = False
        self._sent = spool.acked
        self._sent_at: Instant = 0
        self._echo: Instant = -1
        self._spoken: Instant | None = None
        self._ruled: Instant = 0
        self._regions: dict[int, list[tuple[float, float]]] = {}
        self._remember()

    @property
    def waiting(self) -> bool:
        """Whether something is to be said before the next beat."""
        return self.begun and bool(
            self._pending
            or self._announce
            or self._left
            or self._answering
            or self._sent < self.spool.newest
        )

    @property
    def told(self) -> bool:
        """Whether all that happened is acknowledged."""
        return self.begun and not self.waiting and self.spool.acked == self.spool.newest

    @property
    def known(self) -> int:
        """How many objects there are."""
        return len(self._keys)

    def feed(self, batch: Iterable[Reading]) -> None:
        """Take readings, in the order in which they were made."""
        if not self.begun:
            local = self.clock.local()
            for key, value, told in batch:
                self._held.append((key, value, local if told is None else told))
            return
        at = max(self.clock.label(), self._latest)
        numbers, absent, counts = self._numbers, self._absent, self.counts
        offer, pending = self._filter.offer, self._pending
        read = timed = 0
        for key, value, told in batch:
            read += 1
            number = numbers.get(key)
            if number is None:
                number = self._number(key)
                if number is None:
                    counts.refused += 1
                    continue
            when = at
            if told is not None:
                when = self._when(told, at)
                timed += 1
            # Neither NaN nor an infinity is a value; what it was before is not known to hold.
            if value - value != 0.0:
                self._leave(number, when)
                continue
            update = offer(number, when, value)
            if update is not None:
                pending.append(update)
            if absent and number in absent:
                self._back(number, when)
        counts.readings += read
        if timed < read:
            self._latest = at
        if len(pending) >= UPDATES:
            self.seal()

    def look_away(self) -> None:
        """The source cannot be read: nothing is vouched for until `look_again`."""
        self._blind = True

    def look_again(self) -> None:
        """The source can be read again; what it did meanwhile shows when each object was read."""
        self._blind = False
        if self.begun:
            self._gap = True
            self._settled = self.clock.label() + self.settle
            for number in self._keys.values():
                self._absent.setdefault(number, True)

    def seal(self) -> None:
        """Make reports of all there is to say, on the disk; note how far all is told."""
        if not self.begun:
            return
        if self.spool.full:
            self._coalesce()
            return
        at = max(self.clock.label(), self._latest)
        self._pending += self._filter.check(at)
        self._applied.update(self._filter.applied())
        self._answering = False
        self._leave_unread(at)
        through, since = self._through, None
        if self._vouches():
            through, since = at, at if self._gap else None
            self._gap = False
        else:
            self._gap = True
        # A width without an update counts from what is vouched for, so it waits for that.
        confirms = bool(self._applied) and through == at
        if self._pending or self._left or self._announce or confirms or since is not None:
            self._write(through, since)
        # What comes later is labelled later than all that was said.
        self.clock.not_before(at + 1)
        self._through = through

    def message(self) -> bytes | None:
        """What is to be sent now, if anything; call `lost` when it did not arrive."""
        local = self.clock.local()
        spool = self.spool
        if self._sent >= spool.newest:
            # While reports wait, what is new gathers and becomes one of them later.
            self.seal()
        if self._sent > spool.acked and local - self._sent_at >= self._resend:
            self._sent = spool.acked
        found = spool.after(self._sent)
        if found is not None:
            self._sent, data = found
            self._sent_at = local
            self.counts.reports += 1
        elif self._spoken is None or local - self._spoken >= self._beat:
            beat = Report(self.agent, spool.boot, spool.newest, 0, self._through)
            beat.readings = self.counts.readings - self._told
            data = beat.encode()
            spool.reached(self._through)
            self.counts.beats += 1
        else:
            return None
        self._spoken = local
        self._echo = max(local, self._echo + 1)
        return _stamped(data, self._echo)

    def due(self) -> float:
        """Seconds until a beat is due."""
        if self._spoken is None:
            return 0.0
        return max(0.0, (self._spoken + self._beat - self.clock.local()) / SECOND)

    def lost(self) -> None:
        """The last message did not arrive, or its reply did not: begin at the oldest again."""
        self._sent = self.spool.acked

    def take(self, data: bytes) -> None:
        """Take a reply; raise SourceFailure when it cannot be read."""
        reply = Reply.decode(data)
        fresh = reply.echo == self._echo
        ours = reply.boot == self.spool.boot
        if not (fresh or ours):
            return
        self.counts.replies += 1
        self.clock.learn(reply.echo, reply.received, reply.now)
        if not self.begun and self.clock.is_set:
            self._begin()
        if fresh and not reply.known and ours and reply.ack < self.spool.acked:
            self._be_born()
            return
        if ours:
            self.spool.acknowledge(reply.ack)
            self._sent = max(self._sent, self.spool.acked)
            self._obey(reply)
        if fresh and not (reply.known and ours) and self._announced <= self.spool.acked:
            self._announce = sorted(self._keys.values())
            self._announced = self.spool.newest + 1

    def _remember(self) -> None:
        """Go on with the objects and widths of an earlier start."""
        for number, key in self.spool.objects.items():
            self._keys[key] = number
            grant = self.spool.grants.get(number)
            if grant is None:
                self._filter.add(number)
            else:
                self._filter.add(number, grant.width, grant.version)
            self._absent[number] = True
        self._next = max(self.spool.objects, default=-1) + 1
        self._latest = self.spool.latest + 1
        self.clock.not_before(self._latest)

    def _begin(self) -> None:
        """The coordinator's time is known: label what was held, and vouch from here on."""
        self.begun = True
        self._settled = self.clock.label() + self.settle
        held, self._held = self._held, deque(maxlen=HELD)
        self.feed(held)

    def _be_born(self) -> None:
        """Begin again with a coordinator that has forgotten this agent."""
        self.counts.births += 1
        self.spool.reborn()
        self._sent = 0
        self._announced = self.spool.newest
        self._pending.clear()
        self._applied.clear()
        self._left.clear()
        self._announce.clear()
        self._regions.clear()
        self._filter = SourceFilter(models=self._models)
        for number in self._keys.values():
            self._filter.add(number)
            self._absent.setdefault(number, True)
        # Readings before this one were judged by widths that nobody remembers.
        self._gap, self._through = True, 0
        self._settled = self.clock.label() + self.settle

    def _obey(self, reply: Reply) -> None:
        """Put widths in force; of what replies say as a whole, the newest one counts."""
        at = max(self.clock.label(), self._latest)
        grants = [grant for grant in reply.grants if grant.number in self._filter]
        if grants:
            self._answering = True
            self.counts.grants += len(grants)
            self.spool.note(grants)
            # Bounds that moved are judged by the widths that were in force until now.
            self._pending += self._filter.check(at)
            for grant in grants:
                update = self._filter.grant(grant, at)
                if update is not None:
                    self._pending.append(update)
        if reply.now < self._ruled:
            return
        self._ruled = reply.now
        self.sample = reply.sample
        if reply.regions != self._regions:
            for number in self._regions.keys() - reply.regions.keys():
                self._filter.regions(number, None)
            for number, region in reply.regions.items():
                if region != self._regions.get(number):
                    self._filter.regions(number, region)
            self._regions = reply.regions

    def _number(self, key: Key) -> int | None:
        """The number of a key that was not seen as such before; None: refused."""
        parts = self._parts(key)
        if parts is None or not all(map(is_name, parts)):
            return None
        number = self._keys.get(parts)
        if number is None:
            if len(self._keys) >= self._objects:
                return None
            number = self._next
            self._next += 1
            self._keys[parts] = number
            self._filter.add(number)
            self._announce.append(number)
        self._numbers[key] = number
        return number

    def _parts(self, key: Key) -> tuple[str, ...] | None:
        if isinstance(key, tuple):
            parts = key
        else:
            try:
                text = key.decode() if isinstance(key, bytes) else key
            except UnicodeDecodeError:
                return None
            parts = tuple(text.split(self._separator)) if self._separator else (text,)
        return parts if all(parts) and 0 < sum(map(len, parts)) <= KEY else None

    def _when(self, told: Instant, at: Instant) -> Instant:
        """Label of a time that the source told: neither before what was said nor after now."""
        self._latest = max(self._latest, min(self.clock.label_of(told), at))
        return max(self._latest, self._through + 1)

    def _leave(self, number: int, at: Instant) -> None:
        """An object is not known any more; its next reading is sent whatever it is."""
        if self._absent.get(number) is False:
            return
        if at > self._checked:
            # Bounds that moved are judged up to now, since the filter forgets this one.
            self._checked = at
            self._pending += self._filter.check(at)
        self.counts.left += 1
        self._absent[number] = False
        self._left.append((number, at))
        # What was said of the same instant is overruled; that a grant is in force is not.
        same = [u for u in self._pending if u.number == number and u.at >= at]
        if same:
            self._pending[:] = [u for u in self._pending if u not in same]
            self._applied[number] = same[-1].version
        self._applied.update(self._filter.applied())
        _, width, version = self._filter.bound(number, at)
        self._filter.remove(number)
        self._filter.add(number, width, version)

    def _back(self, number: int, at: Instant) -> None:
        del self._absent[number]
        if (number, at) in self._left:
            self._left.remove((number, at))

    def _leave_unread(self, at: Instant) -> None:
        """After a while, objects of an earlier start that no reading named have left."""
        if at >= self._settled:
            for number in [n for n, unread in self._absent.items() if unread]:
                self._leave(number, at)

    def _vouches(self) -> bool:
        """Whether everything is known: the time, and each object that was ever told."""
        self.clock.jumped()
        return not self._blind and self.clock.is_set and not any(self._absent.values())

    def _coalesce(self) -> None:
        """No room: keep the newest of each object, and vouch for nothing until it is told."""
        if not self._gap:
            self._gap = True
            self.counts.gaps += 1
        self._pending[:] = {update.number: update for update in self._pending}.values()

    def _write(self, through: Instant, since: Instant | None) -> None:
        """Reports of what there is to say; only the last one vouches."""
        names = {number: key for key, number in self._keys.items()} if self._announce else {}
        objects = [(number, names[number]) for number in self._announce]
        updates = sorted(self._pending, key=_when)
        reports = [self._report() for _ in range(0, max(1, len(objects)), ANNOUNCED)]
        for index, report in enumerate(reports):
            report.objects = objects[index * ANNOUNCED : (index + 1) * ANNOUNCED]
        reports[-1].updates = updates[:UPDATES]
        for first in range(UPDATES, len(updates), UPDATES):
            reports.append(self._report())
            reports[-1].updates = updates[first : first + UPDATES]
        last = reports[-1]
        last.through, last.since, last.left = through, since, self._left
        last.readings, self._told = self.counts.readings - self._told, self.counts.readings
        if not self._gap:
            last.applied, self._applied = sorted(self._applied.items()), {}
        for report in reports:
            report.seq = self.spool.newest + 1
            self.spool.append(report)
        if objects:
            self._announced = self.spool.newest
        self.counts.updates += len(updates)
        self._pending.clear()
        self._announce, self._left = [], []

    def _report(self) -> Report:
        return Report(self.agent, self.spool.boot, 0, 0, self._through)


def _when(update: Update) -> Instant:
    return update.at


def _stamped(data: bytes, sent: Instant) -> bytes:
    """A kept report with the time of sending; quotes within names are escaped, so it is found."""
    return data.replace(b'"sent":0,', b'"sent":%d,' % sent, 1)
