"""A table of summaries: queries answered from one synopsis for each group and pane."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from streamgauge.engine.naming import Groups
from streamgauge.engine.pane_piece import UNSET, needed_panes, shape_of
from streamgauge.engine.pieces import NO_LIMIT, Bench, Given, Seats, grouped
from streamgauge.engine.rows import Rows
from streamgauge.engine.summary_bars import columns_of, widen
from streamgauge.kernel.keys import items, keys
from streamgauge.operators.aggregate import BETWEEN
from streamgauge.operators.emission import (
    CADENCES,
    COVERAGE,
    EMPTIED,
    GROUP,
    HIGH,
    LATE_ABOVE,
    LOW,
    OWN_ABOVE,
    OWN_BELOW,
    QUERY,
    REVISION,
    SILENT,
    TICK,
    VALUE,
    WIDTH,
    Codes,
    Floats,
    Ints,
    Span,
    empty_answers,
    give_bars,
)
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.sharing import TableKey
from streamgauge.synopses.questions import Distinct, Frequency, Question, TopK
from streamgauge.synopses.synopsis import Synopsis
from streamgauge.windows.bank_panes import BankPanes
from streamgauge.windows.panes import coverage_of

Array = npt.NDArray[Any]


class Asking(NamedTuple):
    """A compiled query: what it asks, when it is due, and its window in panes."""

    standing: Standing
    question: Question
    cadence: str
    period: int
    patience: int
    slide: int
    length: int
    since: int
    begun: int


class Top(NamedTuple):
    """The last list that a query over top items gave to a group."""

    query: int
    version: int
    rows: list[list[float]]
    texts: list[str]
    epoch: int = 0


@dataclass(slots=True)
class SummaryPiece:
    """Panes of synopses, panes of late rows, and the queries that read them."""

    key: TableKey
    groups: Groups
    panes: BankPanes
    late: BankPanes
    newest: int = NO_LIMIT
    vouched: int = UNSET
    n_panes: int = 1
    seats: Seats = field(default_factory=Seats)
    tops: dict[int, Top] = field(default_factory=dict)
    compiled: tuple[Asking, ...] = ()
    hashes: Array = field(default_factory=lambda: np.empty(0, np.int64))

    @classmethod
    def of(cls, key: TableKey, groups: Groups) -> SummaryPiece:
        """An empty piece."""
        raw = key.kind != "landmark"
        model = key.model()
        return cls(key, groups, BankPanes(model, raw=raw), BankPanes(model, raw=raw))

    @property
    def model(self) -> Synopsis:
        """The empty synopsis of each group."""
        return self.panes.model

    def seat(self, bench: Bench, registry: Registry, queries: Sequence[Standing]) -> None:
        """Compile the queries, sorted by length, and keep panes long enough."""
        stream = bench.stream
        self.seats.arrange(
            bench,
            queries,
            max(1, len(self.groups.texts)),
            lambda standing: shape_of(registry, stream, self.key, standing),
        )
        active = self.seats.active
        self.tops = {s.id: self.tops[s.id] for s in queries if s.id in self.tops}
        compiled = []
        for standing in active:
            slide, length = shape_of(registry, stream, self.key, standing)
            window = registry.window_of(standing.query)
            kind, period, patience = bench.cadence(standing, window)
            compiled.append(
                Asking(
                    standing,
                    standing.query.select.question(),
                    kind,
                    period,
                    patience,
                    slide,
                    length,
                    bench.since(standing),
                    bench.births.get(standing.born, NO_LIMIT) // stream.tick,
                )
            )
        self.compiled = tuple(compiled)
        self.n_panes = max(self.n_panes, needed_panes(registry, stream, self.key, queries))

    def adopt(self, other: SummaryPiece) -> None:
        """Take over what another copy has compiled."""
        self.seats.adopt(other.seats)
        self.compiled = other.compiled

    def fill(self, bench: Bench, rows: Rows, span: Span) -> None:
        """Fold rows of the past; answer nothing."""
        group, column = self._columns(bench, rows)
        self._fold(bench, rows, group, column, slice(0, len(rows)))
        self._open(span.last * span.width)

    def advance(self, bench: Bench, rows: Rows, span: Span) -> list[Given]:
        """Fold rows and answer what is due."""
        group, column = self._columns(bench, rows)
        n_groups = len(self.groups.texts)
        self.panes.n_groups = self.late.n_groups = max(1, n_groups)
        memory = self.seats.borrow(n_groups)
        given = _Answers(empty_answers(), list(self.groups.texts))
        done, with_rows = 0, self._with_rows(rows, bench)
        for tick, due in self._checks(rows, with_rows, span, bench):
            stop = int(np.searchsorted(rows.tick, tick, side="right"))
            at = int(np.searchsorted(with_rows, tick))
            fresh = stop > done or (at < len(with_rows) and with_rows[at] == tick)
            if not fresh and not any(self._stirs(place, tick, span) for place in due):
                continue
            revised = bench.revises and self.key.width > 0 and bool(rows.late[done:stop].any())
            before = self._past(tick, bench) if revised else {}
            self._fold(bench, rows, group, column, slice(done, stop))
            done = stop
            self._open(tick * span.width)
            # A shard that owns no group yet has no memory to answer from.
            for place in due if n_groups else ():
                self._answer(self.compiled[place], tick, span, bench, memory[place], given)
            if revised:
                self._revise(before, tick, bench, given)
        self._fold(bench, rows, group, column, slice(done, len(rows)))
        self.seats.give_back(memory)
        matrix = given.matrix[: given.n]
        return [Given(matrix, given.texts, self.basis, self.confidence)]

    @property
    def basis(self) -> str:
        """What the answers rest on."""
        return "exact" if self.model.guarantee.law == "exact" else self.model.name

    @property
    def confidence(self) -> float:
        """How surely the bars hold."""
        return 1.0 - self.model.guarantee.delta

    # Rows.

    def _columns(self, bench: Bench, rows: Rows) -> tuple[Codes, Array]:
        """Group of each row (-1: nobody's) and its item, as the synopsis takes it."""
        _, group = grouped(bench, self.key, self.groups, rows)
        if self.key.born:
            group = np.where(rows.ts > bench.births[self.key.born], group, np.int32(-1))
        name = self.key.x
        assert name is not None, "a summary has a column"
        if not self._named(bench):
            column: Array = rows.numbers[name]
            missing = np.isnan(column)
            if self.model.takes == "keys" and bench.stream.schema.type(name) == "int":
                column = np.where(missing, 0.0, column).astype(np.int64)
            elif self._only_hashed:
                # The bits of the number, with one zero: int 1 and float 1.0 are one value.
                column = (column + 0.0).view(np.int64)
        else:
            codes = rows.words[name]
            missing = codes < 0
            column = self._words(bench, codes)
        if self.key.y is not None:
            # The summed column goes beside the compared one; a row without it is compared still.
            column = np.stack((column, rows.numbers[self.key.y]), axis=1)
        return np.where(missing, np.int32(-1), group), column

    def _named(self, bench: Bench) -> bool:
        """Whether the items are names, read as codes."""
        assert self.key.x is not None
        return bench.stream.schema.type(self.key.x) in ("string", "bool")

    @property
    def _only_hashed(self) -> bool:
        """Whether items only matter as hashes: then the values are hashed, on every shard alike."""
        return self.model.answers == (Distinct,)

    def _words(self, bench: Bench, codes: Codes) -> Array:
        """Names as numbers: hashes where only those count, else their place among the words."""
        if self.model.takes != "keys" and not self._only_hashed:
            return codes.astype(np.float64)
        assert self.key.x is not None
        words = bench.words[self.key.x].values
        if len(words) > len(self.hashes):
            fresh = items([str(word) for word in words[len(self.hashes) :]])
            more = keys(fresh, seed=self.model.seed).view(np.int64)
            self.hashes = np.concatenate((self.hashes, more))
        return self.hashes[codes] if len(self.hashes) else np.zeros(len(codes), np.int64)

    def _fold(self, bench: Bench, rows: Rows, group: Codes, column: Array, part: slice) -> None:
        """Take a run of rows into their panes; rows older than what is kept are let go."""
        ts, late = rows.ts[part], rows.late[part] & (not bench.revises)
        group, column, width = group[part], column[part], self.key.width
        if not len(ts):
            return
        pane = -((-ts) // width) if width else np.where(ts < self.key.start, -1, 0)
        newest = max(self.newest, int(pane.max()))
        self.newest = newest
        floor = newest - self.n_panes if width else -1
        for number in np.unique(pane[pane > floor]).tolist():
            here = pane == number
            for into, which in ((self.panes, here & ~late), (self.late, here & late)):
                if which.all():
                    into.add(number, group, column)
                elif which.any():
                    into.add(number, group[which], column[which])

    def _open(self, instant: int) -> None:
        """Move to the pane of an instant; forget what falls out."""
        if self.key.width:
            self.newest = max(self.newest, instant // self.key.width)
            self.panes.forget(self.newest - self.n_panes)
            self.late.forget(self.newest - self.n_panes)

    # Checks.

    @staticmethod
    def _with_rows(rows: Rows, bench: Bench) -> Ints:
        """Ticks with rows of the stream."""
        return np.unique(rows.tick) if bench.calendar is None else bench.calendar

    def _checks(
        self, rows: Rows, with_rows: Ints, span: Span, bench: Bench
    ) -> Iterator[tuple[int, list[int]]]:
        """Ticks to visit with the places of the queries due: by the clock of each, or by rows."""
        due: dict[int, list[int]] = {}
        if bench.revises and self.compiled and self.key.width:
            due.update((tick, []) for tick in np.unique(rows.tick[rows.late]).tolist())
        for place, asking in enumerate(self.compiled):
            ticks = with_rows.tolist()
            if asking.period:
                ticks = due_ticks(with_rows, span, asking.period, asking.patience)
            for tick in ticks:
                due.setdefault(tick, []).append(place)
        yield from sorted(due.items())

    def _stirs(self, place: int, tick: int, span: Span) -> bool:
        """Whether a check without rows may answer: on change only when rows enter or leave."""
        asking = self.compiled[place]
        asked_each_time = asking.cadence != "change" or isinstance(asking.question, TopK)
        if asked_each_time or tick - asking.slide <= span.tick:
            return True
        edge, width = tick // asking.slide * asking.slide * span.width, self.key.width
        before, length = edge - asking.slide * span.width, asking.length * width
        whole = [
            coverage_of(at, length, self.key.start, self.vouched, asking.since) == 1.0
            for at in (before, edge)
        ]
        return whole == [False, True] or any(
            self.panes._between((before - back) // width, (edge - back) // width)
            or self.late._between((before - back) // width, (edge - back) // width)
            for back in (0, length)
        )

    def _window(self, asking: Asking, tick: int, bench: Bench) -> tuple[int, int, int]:
        """Edge of a query's window at a tick in event time, its last pane, its length."""
        edge = tick // asking.slide * asking.slide * bench.stream.tick
        return edge, edge // self.key.width if self.key.width else 0, asking.length

    def _bars(self, asking: Asking, end: int, bench: Bench) -> tuple[Floats, Ints]:
        """Bars of each group as `give_bars` takes them, and its rows."""
        bank, counts = self.panes.window(end, asking.length)
        question = self._asked(asking.question, bench)
        bars = columns_of(bank, question, counts)
        late = self.late._between(end - asking.length, end)
        if late:
            whole = self.panes.bank([])
            whole.merge(bank)
            more = counts.copy()
            for number in late:
                self.late.put(whole, number)
                held = self.late.panes[number].counts
                more[: len(held)] += held
            other = columns_of(whole, question, more)
            widen(bars, other)
        return bars, counts

    def _asked(self, question: Question, bench: Bench) -> Question:
        """The question in the synopsis's own words: names become hashes or places."""
        name = self.key.x
        assert name is not None
        if not isinstance(question, Frequency) or not self._named(bench):
            return question
        if self.model.takes == "keys":
            return Frequency(
                int(keys(items([str(question.item)]), seed=self.model.seed)[0].view("i8"))
            )
        return Frequency(float(bench.words[name].index.get(question.item, -1)))

    def _answer(
        self, asking: Asking, tick: int, span: Span, bench: Bench, memory: Floats, given: _Answers
    ) -> None:
        edge, end, length = self._window(asking, tick, bench)
        covered = coverage_of(
            edge,
            length * self.key.width,
            max(self.key.start, bench.first),
            self.vouched,
            asking.since,
        )
        query = asking.standing.id
        if isinstance(asking.question, TopK):
            self._answer_top(asking, tick, span.epoch, end, covered, bench, given)
            return
        bars, counts = self._bars(asking, end, bench)
        by, cadence = asking.standing.query.answer.by, CADENCES[asking.cadence]
        given.matrix, given.n = give_bars(
            memory, given.matrix, given.n, query, cadence, by, tick, span.epoch, bars, counts,
            covered, bool(self.key.group_by),
        )  # fmt: skip

    def _answer_top(
        self,
        asking: Asking,
        tick: int,
        epoch: int,
        end: int,
        covered: float,
        bench: Bench,
        given: _Answers,
    ) -> None:
        """Give a list for each group: one answer for each item, which joins the group's name."""
        bank, counts = self.panes.window(end, asking.length)
        rows, texts = [], []
        lists = bank.tops(asking.question)
        for group in np.flatnonzero(counts).tolist():
            for item, weight in lists[group]:
                row = [0.0] * WIDTH
                row[QUERY], row[TICK], row[COVERAGE] = asking.standing.id, tick, covered
                row[VALUE], row[LOW], row[HIGH] = weight.value, weight.low, weight.high
                row[OWN_BELOW] = weight.value - weight.low
                row[OWN_ABOVE] = weight.high - weight.value
                rows.append(row)
                texts.append(self._item_text(group, item, bench))
        who = asking.standing.id, asking.standing.version
        gone = self._dropped(who, texts)
        self.tops[asking.standing.id] = Top(*who, rows, texts, epoch)
        given.add(rows, texts)
        given.add([_gone(asking.standing.id, tick, covered)] * len(gone), gone)

    def _dropped(self, who: tuple[int, int], texts: list[str]) -> list[str]:
        """Items of the last list of a query that are not in the next."""
        last = self.tops.get(who[0])
        # Another version has given nothing yet.
        if last is None or (last.query, last.version) != who:
            return []
        now = set(texts)
        return [text for text in last.texts if text not in now]

    def _item_text(self, group: int, item: Any, bench: Bench) -> str:
        name = self.key.x
        assert name is not None
        known = json.loads(self.groups.texts[group] or "[]")
        plain = item.item() if isinstance(item, np.generic) else item
        if self._named(bench):
            plain = bench.words[name].values[int(plain)]
        elif isinstance(plain, float) and plain.is_integer():
            plain = int(plain)
        parts = plain.split(BETWEEN) if isinstance(plain, str) else [plain]
        return json.dumps([*known, *parts], default=str)

    # Revisions.

    def _past(self, tick: int, bench: Bench) -> dict[tuple[int, int], tuple[Floats, Ints]]:
        """Bars of all earlier checks within reach, by tick and query."""
        found = {}
        for at in range(tick - bench.stream.late.reach // bench.stream.tick, tick):
            for place, asking in enumerate(self.compiled):
                skip = asking.cadence == "change" or isinstance(asking.question, TopK)
                if not skip and at > asking.begun and at % asking.period == 0:
                    bars, counts = self._bars(asking, self._window(asking, at, bench)[1], bench)
                    found[at, place] = (bars.copy(), counts)
        return found

    def _revise(
        self,
        before: dict[tuple[int, int], tuple[Floats, Ints]],
        tick: int,
        bench: Bench,
        given: _Answers,
    ) -> None:
        """Give again the earlier answers whose value late rows changed."""
        after = self._past(tick, bench)
        for (at, place), (bars, counts) in after.items():
            asking = self.compiled[place]
            old, old_counts = before[at, place]
            edge, _, length = self._window(asking, at, bench)
            covered = coverage_of(edge, length * self.key.width, 0, self.vouched, asking.since)
            rows = []
            for group in range(min(len(old), len(bars))):
                if old_counts[group] and counts[group] and bars[group, 0] != old[group, 0]:
                    row = [0.0] * WIDTH
                    row[QUERY], row[GROUP] = asking.standing.id, group
                    row[TICK], row[COVERAGE] = at, covered
                    row[VALUE], row[LOW], row[HIGH] = bars[group, :3].tolist()
                    row[REVISION] = tick - at
                    row[OWN_BELOW : LATE_ABOVE + 1] = bars[group, 3:].tolist()
                    rows.append(row)
            given.add(rows, None)


@dataclass(slots=True)
class _Answers:
    """Answers as they are made, with the texts of their groups."""

    matrix: Floats
    texts: list[str]
    n: int = 0

    def add(self, rows: list[list[float]], texts: list[str] | None) -> None:
        """Append answers; with texts of their own, these join the list."""
        if not rows:
            return
        more = np.array(rows)
        if texts is not None:
            more[:, GROUP] = np.arange(len(self.texts), len(self.texts) + len(texts))
            self.texts += texts
        self.matrix = np.concatenate((self.matrix[: self.n], more))
        self.n += len(rows)


def _gone(query: int, tick: int, covered: float) -> list[float]:
    """An item that is not in the list any more: its count is not known."""
    row = [0.0] * WIDTH
    row[QUERY], row[TICK], row[COVERAGE], row[SILENT] = query, tick, covered, EMPTIED
    row[VALUE] = row[LOW] = row[HIGH] = np.nan
    return row


def due_ticks(with_rows: Ints, span: Span, period: int, patience: int) -> list[int]:
    """Multiples of a period in the span that lie within the patience of a query after a row."""
    lasting = max(span.rest, patience)
    starts = np.concatenate(([span.tick + 1], with_rows))
    until = np.concatenate(([span.awake_until - span.rest], with_rows)) + lasting
    stops = np.minimum(until, span.last)
    # Rows that follow within the patience make one stretch.
    apart = starts[1:] > stops[:-1] + 1
    first = starts[np.concatenate(([True], apart))]
    last = np.maximum.accumulate(stops)[np.concatenate((apart, [True]))]
    return [
        tick
        for start, stop in zip(first.tolist(), last.tolist(), strict=True)
        for tick in range(-(-start // period) * period, stop + 1, period)
    ]
