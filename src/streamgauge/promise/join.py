"""Join: a window join that looks the most promising rows up first when it cannot do all.

A row looks up those of the other sides that entered before it, so each combination is found once,
by its last row. While everything fits what is allowed, rows look up the whole windows as they
enter and nothing is summarised. At ticks that ask for more, a row makes an entry for each region
of the other side; the entries that promise most are worked on, and the others wait until they are
or their row leaves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.time import Duration, Instant
from streamgauge.promise.arrivals import Arrivals, FoundPairs, Intake, Tally, evenly, ticks_of
from streamgauge.promise.choice import Hits, summaries_pay
from streamgauge.promise.costs import Allowance, Spent
from streamgauge.promise.entries import ALL, ESTIMATE, PART, PRIORITY, SLOT, Entries
from streamgauge.promise.index import ENTER, LEAVE, MINE, SIDE, Rows, WindowIndex
from streamgauge.promise.order import Order
from streamgauge.promise.outlook import Outlook
from streamgauge.promise.promise import Promise
from streamgauge.promise.representation import Representation
from streamgauge.promise.summary import Summary
from streamgauge.synopses.synopsis import Arrays

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

__all__ = ["Arrivals", "FoundPairs", "PromisingJoin", "SymmetricHashJoin", "Tally"]

EXACT, GUIDED, RAW = range(3)
_LONG_AGO = -(2**62)
# Rows that left are let go when there are so many of them, and of what is kept.
_FEW, _SLACK = 1024, 3
# A region of which less is left is as good as gone.
_LITTLE = 1e-3


class PromisingJoin:
    """A join of windows in one key, under a budget.

    Parameters
    ----------
    sides
        How many windows are joined; two or more.
    promise
        What is preferred.
    aliases, summaries
        Name and summary of each side.
    tick
        Instants are whole multiples of it; a budget is for one.
    seed
        Of summaries and slots.

    Examples
    --------
    >>> item = Summary("items", "sales", "item", 60)
    >>> join = PromisingJoin(2, Promise("desc", ()), ("a", "b"), (item, item), tick=1)
    >>> key, yes = np.array([5, 6], np.uint64), np.ones(2, np.bool_)
    >>> rows = Arrivals(key, np.array([1, 2]), np.array([9, 9]), yes)
    >>> found, tally = join.advance([rows, rows], 2, Allowance(probes=10))
    >>> found.rows, found.at, tally.share
    ((array([0, 1]), array([0, 1])), array([1, 2]), array([1., 1.]))
    """

    def __init__(
        self,
        sides: int,
        promise: Promise,
        aliases: tuple[str, ...],
        summaries: tuple[Summary, ...],
        *,
        tick: Duration,
        seed: int = 0,
    ) -> None:
        deepest = max(summaries, key=lambda summary: summary.depth)
        weights = [
            promise.fade**number * deepest.granularity / length
            for number, length in enumerate(deepest.lengths)
        ]
        # Without fading all granularities are one.
        weights = weights if promise.fade < 1.0 else weights[:1]
        self.tick = tick
        self.spent = Spent()
        self.given_up = 0
        self._index = WindowIndex(sides)
        self._intake = Intake(sides)
        self._outlook = Outlook(promise, aliases, summaries, tick=tick, seed=seed)
        self._order = Order(promise.order, weights, seed)
        self._entries = Entries.none()
        self._hits = Hits()
        self._now = _LONG_AGO
        self._overloaded = _LONG_AGO
        self._room = _FEW
        self._each = sides - 1

    @property
    def representations(self) -> list[Representation]:
        """Summaries of the sides; none while they are not needed."""
        return self._outlook.representations

    @property
    def zones(self) -> int:
        """Zones of the summaries."""
        return sum(len(told.zones) for told in self._outlook.representations)

    @property
    def nbytes(self) -> int:
        """Bytes of the summaries."""
        return sum(told.nbytes for told in self._outlook.representations)

    @property
    def rows(self) -> int:
        """Rows it keeps, those that wait for their tick too."""
        return self._index.size + len(self._intake.waiting)

    @property
    def pending(self) -> int:
        """Entries that wait to be worked on."""
        return len(self._entries)

    def floor(self) -> tuple[Ints, ...]:
        """For each side the first serial number that is still needed."""
        return self._intake.floor(self._index)

    def advance(
        self, arrivals: Sequence[Arrivals], now: Instant, allowance: Allowance
    ) -> tuple[FoundPairs, Tally]:
        """Work out all ticks up to an instant.

        Parameters
        ----------
        arrivals
            New rows of each side, numbered from 0 on in the order in which they are given. Those
            that enter after `now` wait.
        now
            The last tick to work out.
        allowance
            What may be spent at each tick.
        """
        rows = self._intake.take(arrivals, now)
        assert not len(rows) or rows.facts[ENTER, 0] > self._now, "rows enter a tick that is over"
        first = self._index.size
        self._index.append(rows)
        ticks, starts = ticks_of(rows, first)
        work = self._work_of(rows, starts - first)
        fits = self._probes_of(work, allowance) <= allowance.over(ticks // self.tick)
        overs = np.append(np.flatnonzero(~fits), len(ticks))
        found, tallies, place = [], [], 0
        while True:
            if not len(self._entries):
                over = int(overs[np.searchsorted(overs, place)])
                if over > place:
                    spent = np.ceil(self._probes_of(work[place:over], allowance))
                    found.append(self._stretch(int(starts[over])))
                    tallies.append(Tally.exact(ticks[place:over], spent.astype(np.int64)))
                place = over
                at = int(ticks[place]) if place < len(ticks) else now + 1
            else:
                at = self._now + self.tick
            if at > now:
                break
            comes = place < len(ticks) and ticks[place] == at
            place += int(comes)
            some, tally = self._tick(at, int(starts[place]), allowance)
            found.append(some)
            tallies.append(tally)
        self._finish(now)
        return FoundPairs.of(found, self._each + 1), Tally.joined(tallies)

    def _work_of(self, rows: Rows, starts: Ints) -> Ints:
        """Rows of each tick that are ever in their window."""
        real = np.concatenate([[0], np.cumsum(rows.facts[LEAVE] > rows.facts[ENTER])])
        work: Ints = np.diff(real[starts])
        return work

    def _probes_of(self, rows: Ints, allowance: Allowance) -> Floats:
        """Probes that rows are worth when each is looked up in the whole windows."""
        return rows.astype(np.float64) * (self._each * allowance.raw)

    def _stretch(self, stop: int) -> Ints:
        """Everything is done, as it comes."""
        mine = self._index.rows.facts[MINE, self._index.chained : stop]
        with self.spent.probing_raw(int(mine.sum()) * self._each):
            found = self._index.join(stop)
        self._now = int(self._index.rows.facts[ENTER, stop - 1])
        return found

    def _tick(self, at: Instant, stop: int, allowance: Allowance) -> tuple[Ints, Tally]:
        """One tick that has entries from before, or too many rows."""
        index = self._index
        index.settle(at)
        before = len(self._entries)
        self._entries = self._entries.alive(index, at)
        given_up = before - len(self._entries)
        self.given_up += given_up
        self._now = at
        facts = index.rows.facts[:, index.chained : stop]
        rows = index.chained + np.flatnonzero(facts[LEAVE] > facts[ENTER])
        limit = allowance.at(at // self.tick)
        waiting = len(self._entries) * self._each
        whole = float(self._probes_of(np.array([len(rows)]), allowance)[0]) + waiting
        if limit is None or whole <= limit:
            found = self._all(at, stop)
            probes, mode = math.ceil(whole), EXACT
        else:
            if at - self._overloaded > self._outlook.span:
                self._outlook.clear()
            self._overloaded = at
            number, order = at // self.tick, self._order.order
            pays = not len(rows) or summaries_pay(len(rows), allowance, self._hits, number, order)
            mode = GUIDED if pays else RAW
            work = self._guided if pays else self._raw
            found, probes = work(at, rows, stop, limit, allowance)
        share, unseen = self._left(at)
        entries = len(self._entries)
        ints = (np.array([number]) for number in (probes, entries, given_up, mode))
        return found, Tally(np.array([at]), np.array([share]), np.array([unseen]), *ints)

    def _all(self, at: Instant, stop: int) -> Ints:
        """Everything fits: what waits is looked up, and what comes."""
        mine = self._index.rows.facts[MINE, self._index.chained : stop]
        with self.spent.probing(self._owned(self._entries)):
            late = self._entries.probe(self._index, at)
        with self.spent.probing_raw(int(mine.sum()) * self._each):
            found = np.concatenate([late, self._index.join(stop)])
        self._entries = Entries.none()
        return found

    def _guided(
        self, at: Instant, rows: Ints, stop: int, limit: int, allowance: Allowance
    ) -> tuple[Ints, int]:
        """The entries that promise most, among those that wait and those of new rows."""
        with self.spent.inserting(int(self._index.rows.facts[MINE, rows].sum())):
            self._index.chain(stop)
            self._index.settle(at)
            fresh, expected = Entries.none(), 0.0
            if len(rows):
                self._outlook.summarise(self._index, at)
                fresh, expected = self._outlook.entries(self._index, rows, self._order, at)
                self._entries = self._entries.followed_by(fresh)
            used = math.ceil(allowance.insert * len(rows))
            chosen = self._chosen(max(0, limit - used) // self._each, len(fresh))
        if len(rows) and len(chosen):
            self._hits.note(float(chosen.worth[ESTIMATE].mean()), expected / len(rows))
        with self.spent.probing(self._owned(chosen)):
            found = chosen.probe(self._index, at)
        return found, min(limit, used + len(chosen) * self._each)

    def _raw(
        self, at: Instant, rows: Ints, stop: int, limit: int, allowance: Allowance
    ) -> tuple[Ints, int]:
        """New rows as they come, then what waits; nothing is summarised."""
        start = self._index.chained
        cost = self._each * allowance.raw
        room = len(rows) if cost <= 0 else min(len(rows), int(limit / cost))
        turn = evenly(self._index.rows.some(rows).facts)
        look = np.zeros(stop - start, np.bool_)
        look[rows[turn < room] - start] = True
        mine = self._index.rows.facts[MINE, start:stop] > 0
        with self.spent.probing_raw(int(np.count_nonzero(look & mine)) * self._each):
            found = self._index.join(stop, look)
        self._index.settle(at)
        self._outlook.pass_over(stop)
        used = math.ceil(room * cost)
        chosen = self._chosen(max(0, limit - used) // self._each)
        with self.spent.probing(self._owned(chosen)):
            found = np.concatenate([found, chosen.probe(self._index, at)])
        self._entries = self._entries.followed_by(self._unknown(rows[turn >= room], at))
        return found, min(limit, used + len(chosen) * self._each)

    def _chosen(self, n: int, fresh: int = 0) -> Entries:
        """Take entries out of those that wait, of which the last `fresh` are new."""
        entries = self._entries
        left = entries.left(self._index, self.tick)
        priority, estimate = entries.worth[PRIORITY], entries.worth[ESTIMATE] * left
        if self._order.order == "desc":
            # What has left a window since cannot be found any more.
            priority = np.where(priority > 0, priority * left, priority)
        elif self._order.order == "asc":
            priority = priority / np.maximum(left, _LITTLE)
        taken = self._order.choose(priority, estimate, entries.marks[SLOT], n, fresh)
        chosen = entries.some(taken)
        self._entries = entries.some(~taken)
        return chosen

    def _unknown(self, rows: Ints, at: Instant) -> Entries:
        """Entries of rows that were not summarised: the whole windows, and a mean of matches."""
        key, facts = self._index.rows.key[rows], self._index.rows.facts[:, rows]
        other = 1 - facts[SIDE] if self._each == 1 else np.full(len(rows), ALL)
        slots = self._order.slots(key, np.zeros(len(rows), np.int64))
        floors = self._index.floors
        first = floors[other] if self._each == 1 else floors.max()
        oldest = self._index.rows.facts[ENTER, np.minimum(first, rows)]
        marks = np.stack([rows, other, oldest - self.tick, np.full(len(rows), at), slots])
        mean = np.full(len(rows), self._hits.raw)
        entries = Entries(marks, np.stack([mean, mean, np.ones(len(rows))]))
        return entries.alive(self._index, at)

    def _left(self, at: Instant) -> tuple[float, float]:
        """Share of the work of rows in the windows that is done, and what is not found of them."""
        if not len(self._entries):
            return 1.0, 0.0
        index = self._index
        leave = index.rows.facts[LEAVE, int(index.floors.min()) : index.chained]
        share = 1.0 - float(self._entries.worth[PART].sum()) / np.count_nonzero(leave > at)
        # A product of vectors may add up in another order on another machine; a sum does not.
        unseen = self._entries.worth[ESTIMATE] * self._entries.left(index, self.tick)
        return share, float(unseen.sum())

    def _owned(self, entries: Entries) -> int:
        return int(self._index.rows.facts[MINE, entries.marks[0]].sum()) * self._each

    def _finish(self, now: Instant) -> None:
        """Let go of what no later tick can need."""
        self._now = now
        self._index.settle(now)
        if now - self._overloaded > self._outlook.span:
            self._outlook.clear()
        if self._index.size > self._room:
            alive = np.count_nonzero(self._index.rows.facts[LEAVE] > now)
            self._room = max(_FEW, _SLACK * int(alive))
            if self._index.size > self._room:
                self._compact()

    def _compact(self) -> None:
        self._index, kept = self._index.compacted(self._now)
        self._entries = self._entries.moved(kept)
        self._outlook.summarised = int(np.searchsorted(kept, self._outlook.summarised))

    def to_arrays(self) -> Arrays:
        """What `from_arrays` needs; asked between two calls of `advance`."""
        self._compact()
        rows, waiting, outlook = self._index.rows, self._intake.waiting, self._outlook
        numbers = [self._now, self._overloaded, self.given_up, outlook.summarised]
        arrays: Arrays = {
            "numbers": np.array([*numbers, int(outlook.gaps)]),
            "serials": self._intake.serials,
            "key": rows.key,
            "facts": rows.facts,
            "waiting_key": waiting.key,
            "waiting_facts": waiting.facts,
            "marks": self._entries.marks,
            "worth": self._entries.worth,
            "credit": self._order.credit,
            "hits": self._hits.to_array(),
        }
        for side, representation in enumerate(outlook.representations):
            for name, array in representation.to_arrays().items():
                arrays[f"summary{side}.{name}"] = array
        return arrays

    @classmethod
    def from_arrays(
        cls,
        promise: Promise,
        aliases: tuple[str, ...],
        summaries: tuple[Summary, ...],
        arrays: Arrays,
        *,
        tick: Duration,
        seed: int = 0,
    ) -> PromisingJoin:
        """Read what `to_arrays` gave."""
        join = cls(len(aliases), promise, aliases, summaries, tick=tick, seed=seed)
        join._load(arrays)
        return join

    def _load(self, arrays: Arrays) -> None:
        """Go on from what `to_arrays` gave."""
        numbers = [int(number) for number in arrays["numbers"]]
        self._now, self._overloaded, self.given_up, self._outlook.summarised, gaps = numbers
        self._outlook.gaps = bool(gaps)
        self._intake.serials = arrays["serials"].copy()
        self._intake.waiting = Rows(arrays["waiting_key"], arrays["waiting_facts"])
        self._index.append(Rows(arrays["key"], arrays["facts"]))
        self._index.chain(self._index.size)
        self._index.settle(self._now)
        self._entries = Entries(arrays["marks"], arrays["worth"])
        self._order.credit = arrays["credit"].copy()
        self._hits = Hits.from_array(arrays["hits"])
        self._outlook.load(arrays)


class SymmetricHashJoin:
    """The plain join under the same budget: the first rows of a tick look up, the others never do.

    Examples
    --------
    >>> join = SymmetricHashJoin(2, tick=1)
    >>> key, yes = np.array([5, 5], np.uint64), np.ones(2, np.bool_)
    >>> rows = Arrivals(key, np.array([1, 1]), np.array([9, 9]), yes)
    >>> found, tally = join.advance([rows, rows], 1, Allowance(probes=3))
    >>> found.rows, tally.probes
    ((array([1, 0]), array([0, 0])), array([3]))
    """

    def __init__(self, sides: int, *, tick: Duration) -> None:
        self.tick = tick
        self._index = WindowIndex(sides)
        self._intake = Intake(sides)
        self._each = sides - 1
        self._room = _FEW

    def advance(
        self, arrivals: Sequence[Arrivals], now: Instant, allowance: Allowance
    ) -> tuple[FoundPairs, Tally]:
        """Work out all ticks up to an instant."""
        rows = self._intake.take(arrivals, now)
        ticks, starts = ticks_of(rows)
        sizes = np.diff(starts)
        cost = max(self._each * allowance.raw, 1e-9)
        room = (allowance.over(ticks // self.tick) / cost).astype(np.int64)
        look = evenly(rows.facts) < np.repeat(room, sizes)
        self._index.append(rows)
        found = self._index.join(self._index.size, look)
        self._index.settle(now)
        taken = np.minimum(room, sizes)
        tally = Tally.exact(ticks, np.ceil(taken * cost).astype(np.int64))
        tally.share = taken / np.maximum(sizes, 1)
        if self._index.size > self._room:
            self._index, kept = self._index.compacted(now)
            self._room = max(_FEW, _SLACK * len(kept))
        return FoundPairs.of([found], self._each + 1), tally
