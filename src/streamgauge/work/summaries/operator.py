"""A table of summaries: queries answered from one synopsis for each group and pane."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from streamgauge.engine.bank_state import pack_panes
from streamgauge.engine.due import due_ticks
from streamgauge.engine.naming import Groups
from streamgauge.engine.operator import Arrays, Newest, Operator, remembered
from streamgauge.engine.pane_shapes import UNSET, needed_panes, shape_of
from streamgauge.engine.paned import Paned
from streamgauge.engine.pieces import NO_LIMIT, Bench, Given, Seats, grouped
from streamgauge.engine.rows import Rows
from streamgauge.engine.table_state import pack_table_of_groups
from streamgauge.kernel.moves import Moves
from streamgauge.operators.emission import (
    CADENCES,
    COVERAGE,
    GROUP,
    HIGH,
    LATE_ABOVE,
    LOW,
    OWN_ABOVE,
    OWN_BELOW,
    QUERY,
    REVISION,
    TICK,
    VALUE,
    WIDTH,
    Codes,
    Flags,
    Floats,
    Ints,
    Span,
    empty_answers,
    give_bars,
)
from streamgauge.plan.registry import Registry, Standing
from streamgauge.synopses.exact import Exact
from streamgauge.synopses.questions import Frequency, Question, TopK
from streamgauge.synopses.synopsis import Synopsis
from streamgauge.windows.bank_panes import BankPanes
from streamgauge.windows.panes import coverage_of
from streamgauge.work.summaries.answers import (
    Answers,
    Asking,
    Top,
    dropped,
    gone_item,
    item_text,
    remembered_item,
)
from streamgauge.work.summaries.bars import columns_of, widen
from streamgauge.work.summaries.moving import keep_lists, put_beside, renumbering
from streamgauge.work.summaries.names import CODED, SummaryNames, coding, held_words, only_hashed
from streamgauge.work.summaries.technique import SketchKey

Array = npt.NDArray[Any]


@dataclass(slots=True)
class SummaryOperator(Paned):
    """Panes of synopses, panes of late rows, and the queries that read them."""

    key: SketchKey
    groups: Groups
    panes: BankPanes
    late: BankPanes
    newest: int = NO_LIMIT
    vouched: int = UNSET
    n_panes: int = 1
    seats: Seats = field(default_factory=Seats)
    tops: dict[int, Top] = field(default_factory=dict)
    compiled: Sequence[Asking] = ()
    names: SummaryNames = field(init=False)

    def __post_init__(self) -> None:
        self.names = SummaryNames(self.model)

    @classmethod
    def of(cls, key: SketchKey, groups: Groups) -> SummaryOperator:
        """An empty piece."""
        raw = key.kind != "landmark"
        model = key.model()
        return cls(key, groups, BankPanes(model, raw=raw), BankPanes(model, raw=raw))

    @property
    def model(self) -> Synopsis:
        """The empty synopsis of each group."""
        return self.panes.model

    def order(self, bench: Bench, registry: Registry) -> Callable[[Standing], Any]:
        """By slide and length."""
        return partial(shape_of, registry, bench.stream, self.key)

    def compile(
        self, bench: Bench, registry: Registry, queries: Sequence[Standing]
    ) -> list[Asking]:
        """Queries with their windows in panes."""
        return [self._asking(bench, registry, standing) for standing in queries]

    def _asking(self, bench: Bench, registry: Registry, standing: Standing) -> Asking:
        slide, length = shape_of(registry, bench.stream, self.key, standing)
        window = registry.window_of(standing.query)
        kind, period, patience = bench.cadence(standing, window)
        return Asking(
            standing,
            standing.query.select.question(),
            kind,
            period,
            patience,
            slide,
            length,
            bench.since(standing),
            bench.births.get(standing.born, NO_LIMIT) // bench.stream.tick,
        )

    def moved(
        self, moves: Moves, compiled: Sequence[Asking], fresh: Sequence[Asking]
    ) -> list[Asking]:
        """What is compiled, with the queries that have come."""
        return moves.listed(compiled, fresh)

    def forget_others(self) -> None:
        """Lists of queries that have left."""
        if self.tops:
            there = {number for number, _ in self.seats.memory.who}
            self.tops = {number: top for number, top in self.tops.items() if number in there}

    def make_room(self, bench: Bench, registry: Registry, queries: Sequence[Standing]) -> None:
        """Keep panes long enough."""
        needed = needed_panes(registry, bench.stream, self.key, queries)
        self.n_panes = max(self.n_panes, needed)

    def fill(self, bench: Bench, rows: Rows, span: Span) -> None:
        """Fold rows of the past; answer nothing."""
        group, column = self._columns(bench, rows)
        self._fold(bench, rows, group, column, slice(0, len(rows)))
        self._open(span.last * span.width)

    def advance(self, bench: Bench, rows: Rows, span: Span) -> list[Given]:
        """Fold rows and answer what is due."""
        self.begin(bench)
        group, column = self._columns(bench, rows)
        n_groups = len(self.groups.texts)
        self.panes.n_groups = self.late.n_groups = max(1, n_groups)
        memory = self.seats.borrow(n_groups)
        given = Answers(empty_answers(), list(self.groups.texts))
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
        return [Given(given.matrix[: given.n], given.texts, self.basis, self.confidence)]

    @property
    def basis(self) -> str:
        """What the answers rest on."""
        return "exact" if self.model.guarantee.law == "exact" else self.model.name

    @property
    def confidence(self) -> float:
        """How surely the bars hold."""
        return 1.0 - self.model.guarantee.delta

    # State.

    def pack(self, prefix: str, arrays: Arrays) -> dict[str, Any]:
        """Panes of sketches, those of late rows, groups, and what queries answered last."""
        values = pack_table_of_groups(prefix, self.key, self.groups, self.seats, arrays)
        listed = self.names.listed.save(self.names.listed.known)
        arrays.update({f"{prefix}/listed/{name}": array for name, array in listed.items()})
        return {
            **values,
            "newest": self.newest,
            "vouched": self.vouched,
            "n_panes": self.n_panes,
            "listed": None if self.names.coded else list(listed),
            "tops": [list(top) for top in self.tops.values()],
            "panes": pack_panes(f"{prefix}/pane", self.panes, arrays),
            "late": pack_panes(f"{prefix}/late", self.late, arrays),
        }

    def latest_answers(self) -> Iterator[Newest]:
        """The newest answer of each query and group, and the items of the newest lists."""
        sworn = self.basis, self.confidence
        yield from remembered(self.seats.memory, self.groups.texts, *sworn)
        for top in self.tops.values():
            for row, text in zip(top.rows, top.texts, strict=True):
                yield Newest(top.query, top.version, text, remembered_item(row, top.epoch), *sworn)

    def content(self) -> tuple[str, int]:
        """Its groups."""
        return "groups", len(self.groups.texts)

    # What leaves.

    def mark_groups(self, there: Flags) -> None:
        """Groups with rows in some pane."""
        for panes in (self.panes, self.late):
            for pane in panes.panes.values():
                there[: len(pane.counts)] |= pane.counts != 0

    def keep_groups(self, kept: Ints) -> None:
        """Their panes."""
        self.panes.keep(kept)
        self.late.keep(kept)

    def relocated(self, was: Bench, bench: Bench) -> Operator | None:
        """Its groups that another shard owns."""
        renumber = renumbering(self, was, bench)
        if renumber is None:
            return None
        super(SummaryOperator, self).relocated(was, bench)
        renumber()
        return keep_lists(self)

    def add_groups(self, other: SummaryOperator, mine: int, more: int) -> None:
        """Panes side by side, and the texts of both."""
        put_beside(self, other, mine, more)

    def release(self, least: int) -> None:
        """Let go groups without rows, and texts of items that no pane lists."""
        super(SummaryOperator, self).release(least)
        if len(self.names.listed.known) < least:
            return
        held: list[Array] = []
        for panes in (self.panes, self.late):
            for pane in panes.panes.values():
                held += [pane.raw()[1]] if pane.n_raw else []
                held += [] if pane.bank is None else held_words(pane.bank)
        self.names.narrow(held)

    def fixed(self) -> tuple[str, ...]:
        """Its column, where items are numbers of names that cannot be given others."""
        coded = self.names.coded
        if coding(self.model, "string") == CODED:
            coded = not isinstance(self.model, Exact)
        return (self.key.x,) if coded and self.key.x else ()

    def numbered(self, column: str) -> list[BankPanes]:
        """Panes whose items are numbers of names of a column."""
        held = self.key.x == column and isinstance(self.model, Exact)
        return [self.panes, self.late] if held else []

    def forget_numbers(self, column: str) -> None:
        """Names of a column have other numbers from now on."""
        if self.key.x == column:
            self.names.forget_numbers()

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
            elif only_hashed(self.model):
                # The bits of the number, with one zero: int 1 and float 1.0 are one value.
                column = (column + 0.0).view(np.int64)
        else:
            codes = rows.words[name]
            missing = codes < 0
            column = self.names.taken(bench.words[name], codes, bench.stream.schema.type(name))
        if self.key.y is not None:
            # The summed column goes beside the compared one; a row without it is compared still.
            column = np.stack((column, rows.numbers[self.key.y]), axis=1)
        return np.where(missing, np.int32(-1), group), column

    def _named(self, bench: Bench) -> bool:
        """Whether the items are names, read as codes."""
        assert self.key.x is not None
        return bench.stream.schema.type(self.key.x) in ("string", "bool")

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
            # A group without late rows of its own is as if no group had any.
            widen(bars, other, more > counts)
        return bars, counts

    def _asked(self, question: Question, bench: Bench) -> Question:
        """The question in the synopsis's own words: names become hashes or places."""
        name = self.key.x
        assert name is not None
        if not isinstance(question, Frequency) or not self._named(bench):
            return question
        return self.names.asked(question, bench.words[name], bench.stream.schema.type(name))

    def _answer(
        self, asking: Asking, tick: int, span: Span, bench: Bench, memory: Floats, given: Answers
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
        given: Answers,
    ) -> None:
        """Give a list for each group: one answer for each item, which joins the group's name."""
        bank, counts = self.panes.window(end, asking.length)
        rows, texts = [], []
        question, name = asking.question, self.key.x
        assert isinstance(question, TopK), "lists are of top items"
        assert name is not None, "a summary has a column"
        if self._named(bench):
            lists = self.names.tops(bank, question, bench.words[name])
        else:
            lists = bank.tops(question)
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
        gone = dropped(self.tops.get(who[0]), who, texts)
        self.tops[asking.standing.id] = Top(*who, rows, texts, epoch)
        given.add(rows, texts)
        given.add([gone_item(asking.standing.id, tick, covered)] * len(gone), gone)

    def _item_text(self, group: int, item: Any, bench: Bench) -> str:
        name, plain = self.key.x, item.item() if isinstance(item, np.generic) else item
        if name is not None and self._named(bench):
            plain = self.names.called(plain, bench.words[name], bench.stream.schema.type(name))
        return item_text(self.groups.texts[group], plain)

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
        given: Answers,
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
