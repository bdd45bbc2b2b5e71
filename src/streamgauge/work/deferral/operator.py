"""The deferred queries of a shard over one column: models of the series, cells, and their walk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from streamgauge.contracts.contract import Contract
from streamgauge.drift import block as blocks
from streamgauge.drift import extremes as deques
from streamgauge.drift.answer import Scene
from streamgauge.drift.cells import Memory, Records, fresh, picked
from streamgauge.drift.paths import estimate_due, no_paths, with_room
from streamgauge.drift.peaks import fill_peaks
from streamgauge.drift.pools import Pools, shares_of
from streamgauge.drift.regime import choose, watched_share
from streamgauge.drift.schedule import walk_within
from streamgauge.drift.walk import walk
from streamgauge.engine.members import Kin, kin_of
from streamgauge.engine.naming import Groups
from streamgauge.engine.operator import Arrays, Measures, Newest, Operator, Past
from streamgauge.engine.piece_memory import array_bytes
from streamgauge.engine.pieces import Bench, Given, arrivals, ended
from streamgauge.engine.rows import Rows
from streamgauge.operators.emission import (
    ALWAYS,
    Arrivals,
    Codes,
    Flags,
    Floats,
    Ints,
    Span,
    empty_answers,
)
from streamgauge.plan.assignment import Change
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Registry, Standing
from streamgauge.streams.stream import Stream
from streamgauge.streams.table import Table
from streamgauge.work.deferral.answers import answers_of
from streamgauge.work.deferral.change import is_mine, take_in
from streamgauge.work.deferral.checked import checked_ticks
from streamgauge.work.deferral.family import Family
from streamgauge.work.deferral.moving import leave, put_beside
from streamgauge.work.deferral.newest import newest
from streamgauge.work.deferral.roster import Roster, compiled, places_of
from streamgauge.work.deferral.state import pack_deferral
from streamgauge.work.deferral.technique import DeferralKey
from streamgauge.work.deferral.watching import Watching, watching

# Regimes are chosen anew after so many ticks; typical gaps rest on the last so many.
REVIEW = 4096
RECENT = 64
# Nothing that is compiled follows the series.
STEADY = -1
_NO_KEYS: Codes = np.empty(0, np.int32)


@dataclass(slots=True)
class DeferralOperator(Operator):
    """Models of series, and the cells of this shard that rest on them.

    `who` has number, version and number of cells of each query; `begun` the tick after which a
    query with an extreme knows all values. `ticks` counts the ticks walked, `recent` are the last
    of them, `rows` counts rows; `families` has the groups of series by columns. Cells are in
    `pools` (0: of state that was written without), which have taken what is `owed` too much.
    """

    key: DeferralKey
    paths: Records = field(default_factory=no_paths)
    memory: Memory = field(default_factory=lambda: fresh(0))
    extremes: deques.Extremes = field(default_factory=lambda: deques.fresh(0))
    who: list[tuple[int, int, int]] = field(default_factory=list)
    ticks: int = 0
    rows: int = 0
    recent: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    spacing: float = 1.0
    families: dict[tuple[str, ...], Family] = field(default_factory=dict)
    begun: dict[tuple[int, int], int] = field(default_factory=dict)
    pools: int = 0
    owed: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    watching: tuple[Watching, Watching] = field(default_factory=lambda: (Watching(), Watching()))
    roster: Roster | None = None
    standings: list[Standing] = field(default_factory=list)
    windowed: list[Standing] = field(default_factory=list)
    kin: dict[tuple[int, int], Kin] = field(default_factory=dict)
    kin_bytes: int = 0
    compiled_for: int = STEADY
    unfilled: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    left: list[tuple[Standing, list[str]]] = field(default_factory=list)

    # A deferred query is evaluated at ticks with rows only.
    answers_history = False

    @property
    def readable(self) -> bool:
        """Groups follow from the queries."""
        return self.roster is not None

    def seat(self, bench: Bench, registry: Registry, queries: Sequence[Standing]) -> None:
        """Compile the queries of this shard; cells that stay keep their memory."""
        self._share_out(bench)
        self.standings = [s for s in queries if is_mine(s, bench)]
        self.windowed = [s for s in self.standings if s.query.over is not None]
        asked = dict.fromkeys(s.query.group_by for s in self.standings if s.query.group_by)
        self.families = {
            by: self.families.get(by)
            or Family(Groups(by, bench.shard, bench.shards, pools=bench.pools))
            for by in asked
        }
        self._compile(bench, registry.tables)
        self.watching = watching(queries, self.kin)

    def change(
        self, bench: Bench, registry: Registry, queries: Sequence[Standing], change: Change
    ) -> None:
        """Compile what has come and forget what has left."""
        if not take_in(self, bench, change):
            self.seat(bench, registry, queries)

    def held_bytes(self) -> int:
        """Bytes of its arrays; those of members are counted where they are found."""
        values = (getattr(self, one.name) for one in fields(self) if one.name != "kin")
        return self.kin_bytes + array_bytes(tuple(values))

    def _share_out(self, bench: Bench) -> None:
        """Put the cells into pools; those of earlier state begin anew where they lie elsewhere."""
        if self.pools == 0:
            if (self.ticks or self.who) and bench.pools % bench.shards:
                self.who, self.memory, self.extremes = [], fresh(0), deques.fresh(0)
                self.kin, self.roster, self.begun = {}, None, {}
                for family in self.families.values():
                    family.share_out(bench)
            self.pools = bench.pools
        if bench.stream.capacity is not None and len(self.owed) == 0:
            self.owed = np.zeros(self.pools, np.int64)

    def adopt(self, other: DeferralOperator) -> None:
        """Take over what another copy has compiled; what follows the series is made anew."""
        self.standings, self.windowed = other.standings, other.windowed
        self.watching, self.pools = other.watching, other.pools
        self.owed = self.owed if len(self.owed) else np.zeros_like(other.owed)
        self.kin = {who: kin for who, kin in other.kin.items() if kin.steady}
        self.kin_bytes = array_bytes(tuple(self.kin.values()))
        if len(self.kin) == len(self.standings):
            self.roster = other.roster

    def _compile(self, bench: Bench, tables: Mapping[str, Table] | None) -> None:
        """Cells of all queries; without tables only of those that follow the series."""
        found = {}
        for standing in self.standings:
            for name in standing.query.series or ():
                bench.series.names.add(name)
        for standing in sorted(self.standings, key=lambda s: s.query.members is None):
            who, query = (standing.id, standing.version), standing.query
            known = self.kin.get(who)
            if known is not None and known.steady and _fits(known, query, tables):
                found[who] = known
                continue
            family = self.families.get(query.group_by)
            groups, homes = (None, _NO_KEYS) if family is None else (family.groups, family.homes)
            found[who] = kin_of(standing, bench, tables or {}, groups, homes)
        before = self.kin
        self.kin = {(s.id, s.version): found[s.id, s.version] for s in self.standings}
        self.kin_bytes = array_bytes(tuple(self.kin.values()))
        steady = all(kin.steady for kin in found.values())
        self.compiled_for = STEADY if steady else len(bench.series.local)
        self._rearrange(before, bench)

    def _rearrange(self, before: dict[tuple[int, int], Kin], bench: Bench) -> None:
        """Compile the cells; move the memory of those that stay to their new places."""
        kin, old = list(self.kin.values()), self.roster
        self.roster = compiled(self.standings, kin, bench)
        starts, start = {}, 0
        for number, version, size in self.who:
            starts[number, version] = start, size
            start += size
        self.left += self._left(before, starts)
        parts = [places_of(starts.get(who), before.get(who), one) for who, one in self.kin.items()]
        cells = np.concatenate(parts) if parts else np.empty(0, np.int64)
        who = [(*key, one.size) for key, one in self.kin.items()]
        if who != self.who or (cells != np.arange(len(cells))).any():
            windowed = cells[self.roster.cells["window"] > 0]
            held = np.full(len(windowed), -1, np.int64)
            if old is not None:
                there = windowed >= 0
                held[there] = old.cells["deque"][windowed[there]]
            self.extremes = deques.take(self.extremes, held)
            self.memory, self.who = picked(self.memory, cells), who
            self.memory.cell["started"][cells < 0] = self.ticks
            hungry = (cells < 0) | np.isin(cells, self.unfilled)
            self.unfilled = np.flatnonzero((self.roster.cells["window"] > 0) & hungry)
        self._note_begun()

    def _left(
        self, before: dict[tuple[int, int], Kin], starts: dict[tuple[int, int], tuple[int, int]]
    ) -> list[tuple[Standing, list[str]]]:
        """Keys with an answer that the table of a query has no more."""
        found, answered = [], self.memory.cell["evaluations"] > 0
        for standing in self.standings:
            who = standing.id, standing.version
            old, new = before.get(who), self.kin[who]
            if old is None or old is new or standing.query.members is None or who not in starts:
                continue
            there, start = set(new.texts), starts[who][0]
            gone = [t for n, t in enumerate(old.texts) if t not in there and answered[start + n]]
            found += [(standing, gone)] if gone else []
        return found

    def ends(self, tick: int) -> list[Given]:
        """Tell once which keys a change has taken away, as of a tick."""
        left, self.left = self.left, []
        return [ended(s, texts, tick, _confidence(s.query.contract)) for s, texts in left]

    def advance(self, bench: Bench, rows: Rows, span: Span) -> list[Given]:
        """Fold rows and evaluate what is due."""
        self._begin(int(span.tick))
        given: list[Given] = []
        for part, sid, upto in self._stretches(bench, rows, span):
            given += answers_of(self.roster, self._walk(bench, part, sid, upto))
        self.unfilled = self.unfilled[:0]
        return given

    def fill(self, bench: Bench, rows: Rows, span: Span) -> None:
        """Learn from rows of the past; answer nothing."""
        for part, sid, upto in self._stretches(bench, rows, span):
            self._walk(bench, part, sid, upto, answering=False)
        self.unfilled = self.unfilled[:0]

    def take_past(self, bench: Bench, past: Past) -> None:
        """Learn from kept rows; give new windows what they hold."""
        if past.fresh:
            self.fill(bench, past.rows, past.span)
        if self.lacks_past():
            if not past.fresh:
                self.refill(bench, past.rows, past.span)
            self.vouch(-(-past.floor // bench.stream.tick))

    def refill(self, bench: Bench, rows: Rows, span: Span) -> None:
        """Give families and extremes that are new here what the kept history holds."""
        for family in self.families.values():
            if not family.filled:
                family.catch_up(bench, rows)
        self._compile(bench, None)
        past = DeferralOperator(self.key, memory=self.memory, extremes=self.extremes)
        past.roster = self.roster
        only = self.unfilled[self._remember()[self.unfilled]]
        if len(only):
            past._walk(bench, rows, bench.sid, span, answering=False, only=only)
            self.extremes = past.extremes

    def _new(self) -> list[Standing]:
        """Queries with an extreme over a window that has not begun."""
        return [s for s in self.windowed if (s.id, s.version) not in self.begun]

    def lacks_past(self) -> bool:
        """Whether some window or family that asks for history has not begun."""
        unfilled = any(not family.filled for family in self.families.values())
        # A query whose groups are all on other shards so far begins when it does there.
        unfilled |= any(standing.query.history for standing in self._new())
        if unfilled or not len(self.unfilled):
            return unfilled
        return bool(self._remember()[self.unfilled].any())

    def vouch(self, tick: int) -> None:
        """Say from which tick on windows that were filled know all values."""
        filled = [standing for standing in self._new() if standing.query.history]
        self.begun.update({(s.id, s.version): tick for s in filled})
        self._note_begun()

    def _begin(self, tick: int) -> None:
        new = self._new()
        if new:
            self.begun.update({(s.id, s.version): tick for s in new})
            self._note_begun()

    def _note_begun(self) -> None:
        """Tell all cells of a query when its window began."""
        self.begun = {who: at for who, at in self.begun.items() if who in self.kin}
        if self.begun:
            at = [self.begun.get((number, version), int(ALWAYS)) for number, version, _ in self.who]
            self.memory.cell["begun"] = np.repeat(np.array(at, np.int64), [n for *_, n in self.who])

    def _remember(self) -> Flags:
        """Which cells are of queries that ask for history."""
        asked = np.array([standing.query.history for standing in self.standings], np.bool_)
        return np.repeat(asked, [n for *_, n in self.who])

    def _stretches(
        self, bench: Bench, rows: Rows, span: Span
    ) -> Iterator[tuple[Rows, Codes, Span]]:
        """The rows, cut before each tick at which a series moves to another group."""
        if self.roster is None:
            self._compile(bench, None)
        moves: set[int] = set()
        for family in self.families.values():
            moves |= family.read(bench, rows)
        stale = any(family.settled for family in self.families.values())
        if stale or self.compiled_for not in (STEADY, len(bench.series.local)):
            self._compile(bench, None)
        start = 0
        for at in [*sorted(moves), None]:
            stop = len(rows) if at is None else int(np.searchsorted(rows.tick, at))
            last = span.last if at is None else at - 1
            cut = slice(start, stop)
            yield rows.take(cut), bench.sid[cut], span._replace(last=last)
            start, span = stop, span._replace(tick=last)
            if stop > cut.start and len(rows):
                awake = int(rows.tick[stop - 1]) + span.rest
                span = span._replace(awake_until=max(span.awake_until, awake))
            if at is not None:
                for family in self.families.values():
                    family.move(at)
                self._compile(bench, None)

    def _walk(
        self,
        bench: Bench,
        rows: Rows,
        sid: Codes,
        span: Span,
        *,
        answering: bool = True,
        only: Ints | None = None,
    ) -> Floats:
        """Walk the ticks of a span block by block."""
        self.paths = with_room(self.paths, len(bench.series.names))
        arriving = arrivals(rows, (self.key.x, None, None), sid, _NO_KEYS)
        gap = bench.stream.expected_gap or 0
        if gap:
            self.paths["gap"] = gap / bench.stream.tick
        ticks = checked_ticks(rows.tick, span, gap // bench.stream.tick)
        at, start, parts = 0, 0, []
        while at < len(ticks):
            n = min(self._to_boundary(), max(1, blocks.AREA // max(1, len(self.paths))))
            chosen = ticks[at : at + n]
            stop = int(np.searchsorted(rows.tick, chosen[-1], side="right"))
            block = self._block(arriving, chosen, start, stop, bench)
            parts.append(self._step(block, bench, span.epoch, answering=answering, only=only))
            self.rows += stop - start
            if self._pass(chosen, bench.stream) and answering:
                self._choose(bench.stream)
            at, start = at + len(chosen), stop
        return np.concatenate(parts) if parts else empty_answers(0)

    def _block(
        self, rows: Arrivals, ticks: Ints, start: int, stop: int, bench: Bench
    ) -> blocks.Block:
        prior = int(self.recent[-1]) if len(self.recent) else int(ALWAYS)
        stream, revise = bench.stream, bench.revises
        limit = max(stream.keep, stream.expected_gap or 0) // stream.tick
        block = blocks.room(len(self.paths), ticks, prior, limit)
        before = self.paths["ts"].copy()
        if blocks.fill(block, self.paths, rows, start, stop, revise, before.copy()):
            other = np.empty_like(block.value)
            blocks.fill_other(block, self.paths, rows, start, stop, revise, before, other)
            block = block._replace(other=other)
        return block

    def _step(
        self, block: blocks.Block, bench: Bench, epoch: int, *, answering: bool, only: Ints | None
    ) -> Floats:
        """Bring the cells over a block; without answers only extremes move."""
        roster = self.roster
        assert roster is not None
        gap = bench.stream.expected_gap
        again = gap // bench.stream.tick if gap else int(blocks.AGAIN * self.spacing)
        scene = Scene(
            block, self.paths, roster.cells, roster.links, self.memory, roster.tables,
            self.spacing, max(1, again), epoch, roster.groups,
        )  # fmt: skip
        if not answering:
            which = np.flatnonzero(roster.cells["window"] > 0) if only is None else only
            if len(which):
                self.extremes = fill_peaks(which, scene, self.extremes)
            return empty_answers(0)
        if bench.stream.capacity is None:
            out, self.extremes = walk(scene, self.extremes, empty_answers())
        else:
            before = int(self.recent[-1]) if len(self.recent) else int(ALWAYS)
            pools = Pools(roster.pool, shares_of(bench.stream.capacity), self.owed)
            out, self.extremes = walk_within(scene, before, pools, self.extremes, empty_answers())
        given: Floats = out
        return given

    def _to_boundary(self) -> int:
        """Ticks until drift is estimated next: at powers of two, then every so many."""
        if self.ticks >= blocks.LENGTH:
            return blocks.LENGTH - self.ticks % blocks.LENGTH
        return max(2, 1 << self.ticks.bit_length()) - self.ticks

    def _pass(self, ticks: Ints, stream: Stream) -> bool:
        """Count ticks; at a boundary estimate drifts; say whether it was one."""
        last = self._to_boundary() == len(ticks)
        self.ticks += len(ticks)
        self.recent = np.concatenate((self.recent, ticks))[-RECENT - 1 :]
        if not last:
            return False
        estimate_due(self.paths, ticks[-1], (stream.expected_gap or 0) / stream.tick)
        if len(self.recent) > 1:
            self.spacing = float(np.median(np.diff(self.recent)))
        return True

    def _choose(self, stream: Stream) -> None:
        """Choose the regimes of cells that have none yet, from time to time of all."""
        assert self.roster is not None
        anew = self.ticks % REVIEW == 0
        if anew or not self.memory.cell["regime"].all():
            scarce = stream.capacity is not None
            share = 0.0 if scarce else self._watched_share()
            cells, links = self.roster.cells, self.roster.links
            choose(self.memory, cells, links, self.paths, share, scarce, anew)

    def _watched_share(self) -> float:
        """Share of the cells that may choose which are watched; the same on all shards."""
        valued = self.paths["tick"] != ALWAYS
        n_groups = {by: family.count(valued) for by, family in self.families.items()}
        asked, rest = (part.price(int(valued.sum()), n_groups) for part in self.watching)
        return watched_share(self.rows / self.ticks, asked, rest)

    def relocated(self, was: Bench, bench: Bench) -> DeferralOperator:
        """Models are the same on all shards; which cells are here follows from the pools."""
        leave(self, was, bench)
        return self

    def join(self, other: DeferralOperator) -> None:
        """Take in the cells of another shard."""
        put_beside(self, other)

    def latest_answers(self) -> Iterator[Newest]:
        """The newest answer of each cell."""
        return newest(self)

    def pack(self, prefix: str, arrays: Arrays) -> dict[str, Any]:
        """Models of series, cells and their members."""
        return pack_deferral(prefix, self, arrays)

    def content(self) -> tuple[str, int]:
        """Its cells."""
        return "cells of deferred queries", len(self.memory.due)

    def measures(self) -> Measures:
        """Deadlines that came late."""
        return Measures(missed=int(self.memory.cell["missed"].sum()))


def _confidence(contract: Contract) -> float:
    return 1.0 if contract.tolerance == "exact" else contract.confidence


def _fits(known: Kin, query: Query, tables: Mapping[str, Table] | None) -> bool:
    """Whether the members of a query are still those of the table they were read from."""
    asked = query.members
    return asked is None or tables is None or tables[asked.table].path == known.path
