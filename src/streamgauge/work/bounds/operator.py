"""The queries of a shard over the bounds of one stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from streamgauge.contracts.causes import FILTER
from streamgauge.engine.members import Kin
from streamgauge.engine.operator import Arrays, Newest, Operator
from streamgauge.engine.pieces import Bench, Given, arrivals, ended
from streamgauge.engine.rows import Rows
from streamgauge.kernel.columns import Interner
from streamgauge.operators.bounds import FIELDS, Bounds, Cells, Teams, no_bounds, walk, with_room
from streamgauge.operators.emission import (
    CADENCES,
    GIVEN,
    HIGH,
    LAST_HIGH,
    LAST_LOW,
    LOW,
    MEMORY,
    Codes,
    Floats,
    Ints,
    Span,
    empty_answers,
)
from streamgauge.operators.functions import Functions
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.technique import Load
from streamgauge.streams.table import Table
from streamgauge.work.bounds.state import pack_bounds, unpack_bounds
from streamgauge.work.bounds.teams import Keys, team_key, teams_of
from streamgauge.work.bounds.technique import BoundsKey

_NO_KEYS: Codes = np.empty(0, np.int32)
# Nothing that is compiled follows the series.
STEADY = -1


@dataclass(slots=True)
class Compiled:
    """Cells and teams as columns; `place` is where the memory of each cell is."""

    cells: Cells
    teams: Teams
    place: Ints
    groups: list[str]


@dataclass(slots=True)
class BoundsOperator(Operator):
    """Newest bounds of all series, and the queries of this shard that read them.

    `who` has number, version and number of cells of each query; `texts` and `memory` are the groups
    and the last answers of all cells, in that order.
    """

    key: BoundsKey
    bounds: Bounds = field(default_factory=no_bounds)
    who: list[tuple[int, int, int]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    memory: Floats = field(default_factory=lambda: np.zeros((0, MEMORY)))
    standings: list[Standing] = field(default_factory=list)
    functions: Functions = field(default_factory=dict)
    keys: dict[tuple[int, int], str] = field(default_factory=dict)
    kin: dict[str, Kin] = field(default_factory=dict)
    compiled: Compiled | None = None
    compiled_for: int = STEADY
    left: list[tuple[Standing, list[str]]] = field(default_factory=list)

    def seat(self, bench: Bench, registry: Registry, queries: Sequence[Standing]) -> None:
        """Compile the queries of this shard; cells that stay keep their memory."""
        self.standings = [s for s in queries if _mine(s, bench)]
        self.functions = registry.functions
        self._compile(bench, registry.tables)

    def adopt(self, other: BoundsOperator) -> None:
        """Take over what another copy has compiled; what follows the series is made anew."""
        self.standings, self.functions = other.standings, other.functions
        self.keys = other.keys
        self.kin = {key: kin for key, kin in other.kin.items() if kin.steady}

    def _compile(self, bench: Bench, tables: Mapping[str, Table] | None) -> None:
        """Cells of all queries; without tables only of those that follow the series."""
        for standing in self.standings:
            for name in standing.query.series or ():
                bench.series.names.add(name)
        known = self.keys
        self.keys = {
            (s.id, s.version): known.get((s.id, s.version)) or team_key(s, bench)
            for s in self.standings
        }
        series = Keys.of(bench, self.functions)
        found: dict[str, Kin] = {}
        # Tables name series, which "all" must know.
        for standing in sorted(self.standings, key=lambda s: s.query.members is None):
            key = self.keys[standing.id, standing.version]
            kin = self.kin.get(key)
            if key in found:
                continue
            if kin is None or not kin.steady or not _fits(kin, standing.query, tables):
                kin = teams_of(standing, series, tables or {})
            found[key] = kin
        self.kin = found
        steady = all(kin.steady for kin in found.values())
        self.compiled_for = STEADY if steady else _seen(bench)
        self._rearrange()
        self.compiled = self._arranged(bench)

    def _rearrange(self) -> None:
        """Move the memory of cells that stay to their new places."""
        old: dict[tuple[int, int, str], int] = {}
        at = 0
        for number, version, size in self.who:
            for place in range(at, at + size):
                old[number, version, self.texts[place]] = place
            at += size
        who, texts, places = [], [], []
        for number, version in self.keys:
            names = self.kin[self.keys[number, version]].texts.tolist()
            who.append((number, version, len(names)))
            texts += names
            places += [old.get((number, version, text), -1) for text in names]
        if who == self.who and texts == self.texts:
            return
        self._note_left(old, who, texts)
        taken = np.array(places, np.int64)
        memory = np.zeros((len(taken), MEMORY))
        memory[taken >= 0] = self.memory[taken[taken >= 0]]
        self.who, self.texts, self.memory = who, texts, memory

    def _note_left(
        self,
        old: dict[tuple[int, int, str], int],
        who: list[tuple[int, int, int]],
        texts: list[str],
    ) -> None:
        """Note the keys with an answer that the table of a query has no more."""
        listed = {(s.id, s.version): s for s in self.standings if s.query.members is not None}
        if not listed:
            return
        owner = [(number, version) for number, version, size in who for _ in range(size)]
        kept = set(zip(owner, texts, strict=True))
        gone: dict[tuple[int, int], list[str]] = {}
        for (number, version, text), place in old.items():
            key = number, version
            if key in listed and (key, text) not in kept and self.memory[place, GIVEN] != 0.0:
                gone.setdefault(key, []).append(text)
        self.left += [(listed[key], found) for key, found in gone.items()]

    def ends(self, tick: int) -> list[Given]:
        """Tell once which keys a change has taken away, as of a tick."""
        left, self.left = self.left, []
        return [ended(standing, texts, tick) for standing, texts in left]

    def _arranged(self, bench: Bench) -> Compiled:
        """Cells that are looked at, in order of their teams."""
        starts, sizes, n_teams = {}, [], 0
        for key, kin in self.kin.items():
            starts[key] = n_teams
            sizes.append(np.diff(kin.pointer))
            n_teams += kin.size
        columns: list[tuple[Any, ...]] = []
        team, place, listed, at = [], [], [], 0
        for standing, (number, version, size) in zip(self.standings, self.who, strict=True):
            if bench.active(standing):
                key = self.keys[number, version]
                kin = self.kin[key]
                columns += [_row(standing, bench)] * size
                team.append(np.arange(starts[key], starts[key] + size))
                place.append(np.arange(at, at + size))
                listed.append(np.diff(kin.pointer) if kin.listed else np.zeros(size))
            at += size
        teams = _joined(team, np.int32)
        order = np.argsort(teams, kind="stable")
        places = _joined(place, np.int64)[order]
        query, op, cadence, period, patience, by = (
            (list(c) for c in zip(*columns, strict=True)) if columns else ([],) * 6
        )
        groups = Interner()
        texts = [groups.add(self.texts[p]) for p in places.tolist()]
        cells = Cells(
            np.array(query, np.int32)[order],
            np.array(op, np.int32)[order],
            np.array(cadence, np.int32)[order],
            np.array(period, np.int64)[order],
            np.array(patience, np.int64)[order],
            np.array(by, np.float64)[order],
            teams[order],
            np.array(texts, np.int32),
            _joined(listed, np.float64)[order],
            np.array([bool(self.texts[p]) for p in places.tolist()], np.bool_),
        )
        ends = np.searchsorted(cells.team, np.arange(n_teams + 1)).astype(np.int64)
        return Compiled(cells, self._teams(bench, ends), places, groups.values)

    def _teams(self, bench: Bench, cells: Ints) -> Teams:
        kin = list(self.kin.values())
        of_key = {self.keys[s.id, s.version]: s for s in self.standings}
        sizes = _joined([np.diff(one.pointer) for one in kin], np.int64)
        n_teams = len(sizes)
        member = _joined([one.member for one in kin], np.int32)
        weighted = [np.full(one.size, one.weight is not None, np.uint8) for one in kin]
        weights = [np.ones(len(one.member)) if one.weight is None else one.weight for one in kin]
        since = [np.full(one.size, bench.since(of_key[key])) for key, one in self.kin.items()]
        team_of = np.repeat(np.arange(n_teams, dtype=np.int32), sizes)
        by_series = np.argsort(member, kind="stable")
        n_series = len(bench.series.names)
        return Teams(
            np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes))),
            member,
            _joined(weights, np.float64),
            _joined(weighted, np.uint8),
            _joined(since, np.int64),
            np.searchsorted(member[by_series], np.arange(n_series + 1)).astype(np.int64),
            team_of[by_series],
            cells,
            np.zeros((n_teams, 2, FIELDS)),
            np.ones(n_teams, np.bool_),
            np.ones(n_teams, np.bool_),
        )

    def advance(self, bench: Bench, rows: Rows, span: Span) -> list[Given]:
        """Fold rows into the bounds and answer what is due."""
        stale = self.compiled_for not in (STEADY, _seen(bench))
        if self.compiled is None or stale:
            self._compile(bench, None)
        assert self.compiled is not None
        place = self.compiled.place
        memory = self.memory[place]
        out = self._walk(bench, rows, span, self.compiled, memory)
        self.memory[place] = memory
        filtered = out[:, HIGH] > out[:, LOW]
        groups = self.compiled.groups
        return [Given(out[filtered], groups, FILTER), Given(out[~filtered], groups)]

    def fill(self, bench: Bench, rows: Rows, span: Span) -> None:
        """Take bounds from rows of the past; answer nothing."""
        nobody = BoundsOperator(self.key)
        self._walk(bench, rows, span, nobody._arranged(bench), np.zeros((0, MEMORY)))

    def _walk(
        self, bench: Bench, rows: Rows, span: Span, compiled: Compiled, memory: Floats
    ) -> Floats:
        self.bounds = with_room(self.bounds, len(bench.series.names))
        given: Floats = walk(
            arrivals(rows, (self.key.x, None, self.key.width), bench.sid, _NO_KEYS),
            span,
            self.bounds,
            compiled.cells,
            compiled.teams,
            memory,
            empty_answers(),
        )
        return given

    def latest_answers(self) -> Iterator[Newest]:
        """The newest answer of each cell."""
        at = 0
        for number, version, size in self.who:
            for place in range(at, at + size):
                if self.memory[place, GIVEN] != 0.0:
                    cell = self.memory[place].tolist()
                    wide = cell[LAST_HIGH] > cell[LAST_LOW]
                    basis = FILTER if wide else "exact"
                    yield Newest(number, version, self.texts[place], cell, basis)
            at += size

    def relocated(self, was: Bench, bench: Bench) -> BoundsOperator:
        """Bounds are the same on all shards; which cells are here follows from the queries."""
        self.kin, self.keys, self.compiled = {}, {}, None
        return self

    def join(self, other: BoundsOperator) -> None:
        """Take in what the cells of another shard answered."""
        self.who, self.texts = [*self.who, *other.who], [*self.texts, *other.texts]
        self.memory = np.concatenate((self.memory, other.memory))

    def twin(self) -> BoundsOperator:
        """A copy of the bounds: those of silent series are in no kept history."""
        columns = self.bounds._asdict().items()
        return BoundsOperator(self.key, Bounds(**{name: column.copy() for name, column in columns}))

    def pack(self, prefix: str, arrays: Arrays) -> dict[str, Any]:
        """Bounds of the series, and what queries answered last."""
        return pack_bounds(prefix, self, arrays)

    def content(self) -> tuple[str, int]:
        """The bounds of all series."""
        return "bounds", len(self.bounds.value)


def opened(
    key: BoundsKey, bench: Bench, registry: Registry, queries: Sequence[Standing]
) -> BoundsOperator:
    """A new operator."""
    return BoundsOperator(key)


def restored(
    prefix: str, values: dict[str, Any], arrays: Arrays, shard: int, shards: int
) -> BoundsOperator:
    """An operator from its stored state."""
    return BoundsOperator(**unpack_bounds(prefix, values, arrays))


def load_of(registry: Registry, standing: Standing, held: Sequence[Operator], series: int) -> Load:
    """A cell of some series."""
    listed = standing.query.series
    return Load("latest", members=max(1, series if listed is None else len(listed)))


def _row(standing: Standing, bench: Bench) -> tuple[Any, ...]:
    """What all cells of a query have in common."""
    query = standing.query
    kind, period, patience = bench.cadence(standing, None)
    return standing.id, query.select.code, CADENCES[kind], period, patience, query.answer.by


def _seen(bench: Bench) -> int:
    """A number that grows with each name and each key of a series."""
    return len(bench.series.names) + len(bench.series.local)


def _mine(standing: Standing, bench: Bench) -> bool:
    """Whether a shard has a part in a query: families are shared by their groups."""
    family = standing.query.members is not None or standing.query.group_by
    return bool(family) or standing.id % bench.shards == bench.shard


def _fits(kin: Kin, query: Query, tables: Mapping[str, Table] | None) -> bool:
    """Whether the members of a query are still those of the table they were read from."""
    if query.members is None or tables is None:
        return True
    return tables[query.members.table].path == kin.path


def _joined(parts: Sequence[npt.NDArray[Any]], kind: Any) -> npt.NDArray[Any]:
    return np.concatenate(parts).astype(kind) if len(parts) else np.empty(0, kind)
