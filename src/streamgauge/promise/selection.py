"""Selections: which rows to test when not all can be, cell by cell, where hits are expected.

A cell is a bucket of values in a zone of time. What it promises is the share of its rows that are
expected to match: what its range has in common with the predicate, corrected by what tests of its
bucket have given so far.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from streamgauge.promise.buckets import (
    CREDIT,
    EXPECTED,
    LEFT,
    MEAN,
    Array,
    Bools,
    Buckets,
    Cells,
    Floats,
    Ints,
    Layout,
    UInts64,
    expected_of,
    possible,
    rate_of,
    spans_of_words,
)
from streamgauge.promise.cell_choice import TRIAL, chosen_of, noted, weighed
from streamgauge.promise.choice import Hits, summaries_pay
from streamgauge.promise.costs import Allowance, Spent
from streamgauge.promise.figures import EXACT, GUIDED, RAW
from streamgauge.promise.priority import name_of, priorities
from streamgauge.promise.promise import Promise
from streamgauge.promise.strata import apportioned, parts_of
from streamgauge.promise.summary import Summary

# What was learned of a bucket counts half after one granularity.
FADE = 0.5
# Rounds of a tick, at most.
ROUNDS = 8


class Found(NamedTuple):
    """What came of a tick.

    Parameters
    ----------
    serials
        Rows that match, ascending.
    share
        Share of the rows in reach that were tested or could not match.
    unseen
        Matches expected among the others.
    probes
        Rows tested.
    mode
        Everything, by promise, or rows as they came: as in `figures.py`.
    """

    serials: Ints
    share: float
    unseen: float
    probes: int
    mode: int


@dataclass(slots=True)
class Arrived:
    """Rows of the tick that has not been stepped yet."""

    at: int
    serial: Ints
    column: Floats | UInts64
    memo: dict[bytes, Layout] | None = field(default=None)


class PromisingSelection:
    """One query.

    Rows of a tick are taken, then the tick is stepped. Rows that were not tested wait until their
    zone leaves the newest granularity of the summary, or the window if that is shorter.

    Parameters
    ----------
    promise
        The preference. desc: most expected hits a test first; asc: fewest, but some, first;
        weighted: tests in the ratio of rows, bucket by bucket. Fading is by zones: a cell that is
        `i` zones older than the newest promises `fade ** i` of what it would (asc: divided by it).
    summary
        Of the column that cells are cut by.
    spans
        Closed intervals that the column of a matching row lies in; None: any.
    words
        Hashes that it is one of; None: any.
    whole
        Whether every row with such a value matches.
    tick, window
        Microseconds of a tick, and of the window if there is one.
    stays
        Whether rows of the answer stay for ever, so that what was given up is lacking for ever.

    Examples
    --------
    >>> summary = Summary("prices", "sales", "price", 60_000_000, buckets=4)
    >>> dear = PromisingSelection(
    ...     Promise("desc", ()), summary, spans=np.array([[75.0, np.inf]]), tick=1_000_000
    ... )
    >>> dear.take(1_000_000, np.arange(100), np.arange(100.0))
    >>> found = dear.step(1_000_000, Allowance(30), lambda serial: serial >= 75)
    >>> len(found.serials), found.probes, found.share, dear.pending
    (25, 25, 1.0, 0)
    """

    def __init__(
        self,
        promise: Promise,
        summary: Summary,
        *,
        tick: int,
        spans: Floats | None = None,
        words: UInts64 | None = None,
        whole: bool = False,
        window: int | None = None,
        stays: bool = False,
    ) -> None:
        self.promise = promise
        self.summary = summary
        self.tick = tick
        self.window = window
        self.whole = whole
        self.spans = spans if words is None else spans_of_words(words)
        self._plain = all(expr.op == "estimate" for expr in promise.exprs)
        # All that a kernel has to know of the predicate: no spans at all are one without ends.
        self._spans = np.array([[-np.inf, np.inf]]) if self.spans is None else self.spans
        self._zone = summary.zone_length
        size = summary.buckets + 1
        self._nothing, self._alike = np.zeros(size, np.int64), np.empty((0, 0))
        self.buckets = Buckets(summary.buckets)
        self.cells = Cells(size)
        # Of zones that were given up but are in the window: number, rows, settled, lost matches.
        self.past: list[tuple[int, int, int, float]] = []
        # Of those that were given up and stay lacking: rows, settled, lost matches.
        self.stays = stays
        self.gone = (0, 0, 0.0)
        # For each bucket: matches expected of the rows tested, matches found, credit.
        self.learned = np.zeros((3, size))
        self.hits = Hits()
        self.given_up = 0
        self.next = 0
        self.arrived: list[Arrived] = []
        self.spent = Spent()

    @property
    def pending(self) -> int:
        """Rows that may still be tested."""
        return self.cells.waiting

    def floor(self) -> int:
        """First serial number that `test` may still be asked for."""
        waits = self.cells.floor()
        first = [] if waits is None else [waits]
        first += [int(rows.serial[0]) for rows in self.arrived]
        return min(first, default=self.next)

    def take(
        self,
        at: int,
        serial: Ints,
        column: Floats | UInts64,
        memo: dict[bytes, Layout] | None = None,
    ) -> None:
        """Rows of one tick.

        Parameters
        ----------
        at
            Instant of the tick.
        serial
            Rising numbers by which `test` knows the rows.
        column
            Their values of the summarised column: numbers, or hashes of words.
        memo
            Shared by the queries that are given this very column at this tick, and nothing else.
        """
        if len(serial):
            self.arrived.append(Arrived(at, serial, column, memo))
            self.next = int(serial[-1]) + 1

    def seen(self, at: int, rows: int) -> None:
        """So many rows of a tick were tested elsewhere."""
        zone = self.cells.zones[self.cells.at(at // self._zone)]
        zone.taken += rows
        zone.done += rows

    def step(self, now: int, allowance: Allowance, test: Callable[[Ints], Bools]) -> Found:
        """End a tick: test what promises most, as far as the allowance goes.

        Parameters
        ----------
        now
            Instant of the tick.
        allowance
            What may be spent.
        test
            Whether rows, given by ascending serial numbers, match.
        """
        self._expire(now)
        rows = sum(len(part.serial) for part in self.arrived)
        budget = allowance.at(now // self.tick)
        if budget is None or self.pending + rows * allowance.raw <= budget:
            found, probes, mode = self._everything(test)
        elif rows and not summaries_pay(
            rows, allowance, self.hits, now // self.tick, self.promise.order
        ):
            found, probes = self._as_they_come(int(budget / max(allowance.raw, 1e-9)), test)
            mode = RAW
        else:
            spare = max(0, budget - math.ceil(allowance.insert * rows))
            found, probes = self._guided(spare, rows, test)
            mode = GUIDED
        self.arrived = []
        share, unseen = self.status(now)
        return Found(found, share, unseen, probes, mode)

    def status(self, now: int) -> tuple[float, float]:
        """Share of the rows in reach that are settled, and matches expected among the others."""
        first = (now - (self.window or self.summary.granularity)) // self._zone
        taken, done, lost, places = 0, 0, [], 0
        for zone in self.cells.zones:
            if zone.number >= first:
                taken, done, places = taken + zone.taken, done + zone.done, places + 1
                lost.append(zone.lost)
        for past in self.past:
            if past[0] >= first:
                taken, done = taken + past[1], done + past[2]
                lost.append(past[3])
        taken, done = taken + self.gone[0], done + self.gone[1]
        unseen = math.fsum([*lost, self.gone[2]])
        if self.pending:
            unseen += self._expected(self.cells.table[-places:])
        return (done / taken if taken else 1.0), unseen

    def forget(self, since: int) -> None:
        """Rows that came at an instant or before have left the window."""
        for place, zone in enumerate(self.cells.zones):
            if zone.number * self._zone > since:
                break
            self.given_up += self.cells.forget(place, since)

    def _end(self, zone: int) -> int:
        return (zone + 1) * self._zone

    def _expire(self, now: int) -> None:
        """Give up zones that left the newest granularity; forget what left the window too."""
        if self.window is not None:
            self.forget(now - self.window)
            while self.past and self._end(self.past[0][0]) <= now - self.window:
                self.past.pop(0)
        oldest = now - self.summary.granularity
        while self.cells.zones and self._end(self.cells.zones[0].number) <= oldest:
            lost = self._expected(self.cells.table[:1])
            self.given_up += int(self.cells.table[0, :, LEFT].sum())
            zone = self.cells.drop()
            if self.stays:
                taken, done, before = self.gone
                self.gone = (taken + zone.taken, done + zone.done, before + zone.lost + lost)
            elif self.window is not None and self._end(zone.number) > now - self.window:
                self.past.append((zone.number, zone.taken, zone.done, zone.lost + lost))

    @property
    def settled(self) -> bool:
        """Whether all rows that are not given up for ever were tested or ruled out."""
        parts = [(zone.taken, zone.done) for zone in self.cells.zones]
        return all(taken == done for taken, done in [*parts, *(past[1:3] for past in self.past)])

    def _expected(self, table: Floats) -> float:
        """Matches expected among the rows of cells."""
        return float(expected_of(table, self._spans, self.learned, self.whole))

    @property
    def rate(self) -> float:
        """Matches for each that ranges let expect, as one bucket has them with another.

        Tests go where matches are: over all tests there are more of them than over all rows.
        """
        return float(rate_of(self.learned))

    def _everything(self, test: Callable[[Ints], Bools]) -> tuple[Ints, int, int]:
        """Test all rows, those left from before too."""
        waiting = self.pending
        parts = [part.serial for part in self.arrived] + self.cells.clear()
        for part in self.arrived:
            self.seen(part.at, len(part.serial))
        if not parts:
            return np.empty(0, np.int64), 0, EXACT
        serials = np.sort(np.concatenate(parts))
        with self.spent.probing_raw(len(serials)):
            match = test(serials)
        return serials[match], len(serials), GUIDED if waiting else EXACT

    def _as_they_come(self, budget: int, test: Callable[[Ints], Bools]) -> tuple[Ints, int]:
        """Test the first rows of the tick; the others are given up."""
        parts = []
        for rows in self.arrived:
            count = min(budget, len(rows.serial))
            parts.append(rows.serial[:count])
            budget -= count
            over = len(rows.serial) - count
            self.seen(rows.at, count)
            zone = self.cells.zones[-1]
            zone.taken += over
            zone.lost += over * self.rate
            self.given_up += over
        serials = np.concatenate(parts)
        with self.spent.probing_raw(len(serials)):
            match = test(serials) if len(serials) else np.empty(0, np.bool_)
        return serials[match], len(serials)

    def _guided(self, budget: int, rows: int, test: Callable[[Ints], Bools]) -> tuple[Ints, int]:
        """Put rows into cells, and test those of the cells that come first, round by round."""
        with self.spent.inserting(rows):
            fresh = self._nothing
            for part in self.arrived:
                fresh = fresh + self._insert(part)
        found: list[Ints] = []
        tested, guided, known, raw = 0, 0.0, 0.0, 0.0
        while self.pending and tested < budget:
            with self.spent.inserting(0):
                counts, shares, sums = self._chosen(self._round(budget, tested), fresh)
                known, expected, raw = sums.tolist()
                serials, buckets = self.cells.popped(counts)
            with self.spent.probing(len(serials)):
                match = test(serials)
            noted(self.learned, shares, buckets, match)
            tested, guided = tested + len(serials), guided + expected
            found.append(serials[match])
        # What is expected tells nothing before enough buckets were tried.
        if rows and tested and known >= 0.5:
            self.hits.note(guided=guided / tested, raw=raw / rows)
        if len(found) == 1:
            return found[0], tested
        return np.sort(np.concatenate([self._nothing[:0], *found])), tested

    def _round(self, budget: int, tested: int) -> int:
        """Tests before what they gave is looked at: no more than the tests that are known of.

        Where the ranges tell which rows match, or all buckets get their share, there is nothing to
        learn.
        """
        left, least = budget - tested, max(TRIAL * self.cells.buckets, -(-budget // ROUNDS))
        if left <= least or self.whole or self.promise.order == "weighted":
            return left
        return min(left, max(least, int(self.learned[EXPECTED].sum())))

    def _insert(self, rows: Arrived) -> Ints:
        """Put rows of a tick into cells; return how many of each bucket may match."""
        number = rows.at // self._zone
        if self.buckets.renew(number, rows.column):
            # What was learned fades, so that a bucket that changed is tried again.
            self.learned[:CREDIT] *= FADE ** min(1.0, self._zone / self.summary.granularity)
        layout = self.buckets.layout(rows.column, rows.memo)
        counts: Ints = possible(self._spans, layout.low, layout.high, layout.start)
        self.cells.add(self.cells.at(number), rows.at, rows.serial, layout, counts)
        return counts

    def _chosen(self, budget: int, fresh: Ints) -> tuple[Ints, Floats, Floats]:
        """Rows to test in each cell, with what `weighed` says of them."""
        table, whole = self.cells.table, self.whole
        if self.promise.order == "weighted":
            counts = self._shared(budget)
            return counts, *weighed(table, self._spans, self.learned, counts, fresh, whole)
        how = np.array([budget, self.promise.order == "asc", whole], np.int64)
        chosen: tuple[Ints, Floats, Floats] = chosen_of(
            table, self._spans, self.learned, self._values(), fresh, how
        )
        return chosen

    def _faded(self) -> Floats:
        """What fading leaves of each zone in hand."""
        numbers = np.array([zone.number for zone in self.cells.zones])
        left: Floats = self.promise.fade ** (numbers[-1] - numbers).astype(np.float64)
        return left

    def _values(self) -> Floats:
        """What a match in each cell is worth by the preference; nothing where it does not say."""
        plain = not self.promise.exprs or self._plain
        if plain and self.promise.fade == 1.0:
            return self._alike
        mean = self.cells.table[:, :, MEAN]
        fade = self._faded()[:, None] ** (-1.0 if self.promise.order == "asc" else 1.0)
        if plain:
            return np.broadcast_to(fade, mean.shape).copy()
        expr = self.promise.exprs[0]
        given = {
            name_of(part) if part.op == "estimate" else str(part.value): (
                np.ones(mean.size) if part.op == "estimate" else mean.reshape(-1)
            )
            for part in parts_of(expr)
        }
        return np.abs(priorities(expr, given, mean.size)).reshape(mean.shape) * fade

    def _shared(self, budget: int) -> Ints:
        """Tests in the ratio of the rows of buckets, newest zones first; what is owed is kept."""
        left = self.cells.table[:, :, LEFT].astype(np.int64)
        room = left.sum(axis=0)
        credit = np.where(room > 0, self.learned[CREDIT], 0.0)
        rows = room if self.promise.fade == 1.0 else self._faded() @ left
        credit += budget * (rows / max(1.0, float(rows.sum())))
        counts = apportioned(np.maximum(0.0, credit), room, budget)
        self.learned[CREDIT] = credit - counts
        newer = np.cumsum(left[::-1], axis=0)[::-1] - left
        return np.clip(counts - newer, 0, left)

    @property
    def nbytes(self) -> int:
        """Bytes that are held."""
        return sum(array.nbytes for array in self.to_arrays().values())

    def to_arrays(self) -> dict[str, Array]:
        """State between two ticks as arrays."""
        return {
            **self.buckets.to_arrays(),
            **self.cells.to_arrays(),
            "learned": self.learned.copy(),
            "hits": self.hits.to_array(),
            "counts": np.array([self.given_up, self.next], np.int64),
            "past": np.array([past[:3] for past in self.past], np.int64).reshape(-1, 3),
            "past_lost": np.array([past[3] for past in self.past], np.float64),
            "gone": np.array(self.gone, np.float64),
        }

    @classmethod
    def from_arrays(
        cls,
        promise: Promise,
        summary: Summary,
        arrays: dict[str, Array],
        *,
        tick: int,
        spans: Floats | None = None,
        words: UInts64 | None = None,
        whole: bool = False,
        window: int | None = None,
        stays: bool = False,
    ) -> PromisingSelection:
        """Read the state."""
        found = cls(
            promise, summary, tick=tick, spans=spans, words=words, whole=whole, window=window,
            stays=stays,
        )  # fmt: skip
        found.buckets = Buckets.from_arrays(arrays)
        found.cells = Cells.from_arrays(summary.buckets + 1, arrays)
        found.learned = arrays["learned"].copy()
        found.hits = Hits.from_array(arrays["hits"])
        found.given_up, found.next = arrays["counts"].tolist()
        past = zip(arrays["past"].tolist(), arrays["past_lost"].tolist(), strict=True)
        found.past = [(*counts, lost) for counts, lost in past]
        taken, done, lost = arrays["gone"].tolist()
        found.gone = (int(taken), int(done), lost)
        return found
