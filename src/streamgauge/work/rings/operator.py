"""A table of the newest rows, whole or per key, and the queries that read it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from streamgauge.engine.naming import Groups, pack_combiner, renumbered, unpack_combiner
from streamgauge.engine.operator import Arrays, Newest, Operator, remembered
from streamgauge.engine.pieces import Bench, Given, Seats, arrivals, grouped, no_memory
from streamgauge.engine.rows import Rows
from streamgauge.engine.table_state import pack_table_of_groups, unpack_groups, unpack_seats
from streamgauge.engine.tables import Table
from streamgauge.kernel.columns import Combiner, Interner
from streamgauge.operators.emission import Asked, Codes, Flags, Floats, Ints, Span, empty_answers
from streamgauge.plan.distribution import HashBy
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.technique import Load
from streamgauge.windows.rings import Rings, empty_rings, walk, with_room
from streamgauge.work.rings.technique import RingKey


@dataclass(slots=True)
class RingOperator(Table):
    """Rings of rows by key."""

    key: RingKey
    groups: Groups
    rings: Rings
    keys: Combiner = field(default_factory=Combiner)
    seats: Seats = field(default_factory=Seats)
    compiled: tuple[Asked, Ints] | None = None

    def order(self, bench: Bench, registry: Registry) -> Callable[[Standing], Any]:
        """Those that begin together share a count."""
        return bench.since

    def compile(
        self, bench: Bench, registry: Registry, queries: Sequence[Standing]
    ) -> tuple[Asked, Ints]:
        """Queries, and how many rows those need that cannot know which rows are gone."""
        cut = [not self.key.by and bench.cut(standing) for standing in queries]
        needed = np.where(np.array(cut, np.bool_), self.key.rows, 0).astype(np.int64)
        return bench.asked(queries), needed

    def advance(self, bench: Bench, rows: Rows, span: Span) -> list[Given]:
        """Append rows and answer what is due."""
        assert self.compiled is not None, "advance before seat"
        whole, group = grouped(bench, self.key, self.groups, rows)
        memory = self.seats.borrow(len(self.groups.texts))
        out = self._walk(bench, rows, whole, group, span, *self.compiled, memory)
        self.seats.give_back(memory)
        return [Given(out, self.groups.texts)]

    def fill(self, bench: Bench, rows: Rows, span: Span) -> None:
        """Append rows of the past; answer nothing."""
        whole, group = grouped(bench, self.key, self.groups, rows)
        memory = no_memory(len(self.groups.texts))
        self._walk(bench, rows, whole, group, span, bench.asked([]), _NONE, memory)

    def _walk(
        self,
        bench: Bench,
        rows: Rows,
        whole: Codes,
        group: Codes,
        span: Span,
        asked: Asked,
        needed: Ints,
        memory: Floats,
    ) -> Floats:
        key = np.zeros(len(rows), np.int32)
        if self.key.by:
            key = self.keys.encode([rows.words[column] for column in self.key.by])
            if self.key.by == self.key.group_by:
                key = np.where(whole >= 0, key, np.int32(-1))
        self.rings = with_room(self.rings, max(1, len(self.keys.interner)))
        columns = self.key.x, self.key.y, self.key.weight
        given: Floats = walk(
            arrivals(rows, columns, group, key, bench.calendar),
            span,
            self.rings,
            self.key.y is not None,
            bool(self.key.group_by),
            asked,
            needed,
            memory,
            empty_answers(),
        )
        return given

    def pack(self, prefix: str, arrays: Arrays) -> dict[str, Any]:
        """Rows, groups, keys, and what queries answered last."""
        values = pack_table_of_groups(prefix, self.key, self.groups, self.seats, arrays)
        room = max(1, len(self.keys.interner))
        for name in _RINGS:
            arrays[f"{prefix}/ring/{name}"] = getattr(self.rings, name)[:room]
        pack_combiner(f"{prefix}/keys", self.keys, arrays)
        return values

    def latest_answers(self) -> Iterator[Newest]:
        """The newest answer of each query and group."""
        return remembered(self.seats.memory, self.groups.texts)

    def mark_groups(self, there: Flags) -> None:
        """Groups with rows in some ring."""
        held = np.unique(self.rings.group)
        there[held[held >= 0]] = True

    def keep_groups(self, kept: Ints) -> None:
        """Number them anew in the rings."""
        most = max(int(kept.max(initial=-1)), int(self.rings.group.max(initial=-1)))
        number = np.full(most + 2, -1, np.int32)
        number[kept] = np.arange(len(kept), dtype=np.int32)
        self.rings = self.rings._replace(group=number[self.rings.group])

    def relocated(self, was: Bench, bench: Bench) -> Operator | None:
        """Its groups that another shard owns, and the keys, with the numbers that names have."""
        super(RingOperator, self).relocated(was, bench)
        values = self.keys.interner.values
        table = np.array(values, np.int32).reshape(len(values), len(self.key.by))
        columns = [
            renumbered(was.words[name], bench.words[name], table[:, at]).tolist()
            for at, name in enumerate(self.key.by)
        ]
        self.keys = Combiner(Interner.of(zip(*columns, strict=True)))
        if self.split:
            self._keep_keys()
        return self

    def _keep_keys(self) -> None:
        """Let go keys without rows of a group that is here: their rows go to other shards."""
        n_keys = len(self.keys.interner)
        here = np.flatnonzero((self.rings.group[:n_keys] >= 0).any(axis=1))
        values = self.keys.interner.values
        self.keys = Combiner(Interner.of(values[at] for at in here.tolist()))
        held: Any = self.rings
        self.rings = Rings(*(np.ascontiguousarray(column[here]) for column in held))

    def add_groups(self, other: RingOperator, mine: int, more: int) -> None:
        """Rings of other keys, or the same rows with their groups where all shards have all."""
        ours, theirs = len(self.keys.interner), len(other.keys.interner)
        group = np.where(other.rings.group >= 0, other.rings.group + mine, -1).astype(np.int32)
        if self.split:
            pairs: Any = zip(self.rings, other.rings._replace(group=group), strict=True)
            self.rings = Rings(*(np.concatenate((a[:ours], b[:theirs])) for a, b in pairs))
            self.keys.renumber([*self.keys.interner.values, *other.keys.interner.values])
            return
        number = {key: at for at, key in enumerate(other.keys.interner.values)}
        rows = group if not self.key.by else group[[number[k] for k in self.keys.interner.values]]
        held = self.rings.group.copy()
        held[: len(rows)] = np.where(rows >= 0, rows, held[: len(rows)])
        self.rings = self.rings._replace(group=held)

    @property
    def split(self) -> bool:
        """Whether the rows of a key are on one shard alone."""
        return isinstance(self.key.distribution, HashBy)

    def combos(self, column: str) -> list[tuple[Combiner, int]]:
        """Where numbers of names of a column are parts of keys of groups or of rings."""
        keys = [(self.keys, at) for at, name in enumerate(self.key.by) if name == column]
        return [*super(RingOperator, self).combos(column), *keys]

    def content(self) -> tuple[str, int]:
        """Its groups."""
        return "groups", len(self.groups.texts)


_NONE: Ints = np.empty(0, np.int64)
_RINGS = ("x", "y", "w", "ts", "group", "total")


def opened(
    key: RingKey, bench: Bench, registry: Registry, queries: Sequence[Standing]
) -> RingOperator:
    """A new operator."""
    groups = Groups(key.group_by, bench.shard, bench.shards)
    return RingOperator(key, groups, empty_rings(1, key.rows))


def restored(
    prefix: str, values: dict[str, Any], arrays: Arrays, shard: int, shards: int
) -> RingOperator:
    """An operator from its stored state."""
    key = RingKey.from_text(values["key"])
    groups = unpack_groups(prefix, key, values, arrays, shard, shards)
    held = Rings(**{name: arrays[f"{prefix}/ring/{name}"] for name in _RINGS})
    keys = unpack_combiner(f"{prefix}/keys", arrays)
    return RingOperator(key, groups, held, keys, unpack_seats(prefix, arrays))


def load_of(registry: Registry, standing: Standing, held: Sequence[Operator], series: int) -> Load:
    """A window of one pane."""
    second = registry.stream(standing.query.stream).tick
    groups = sum(len(one.groups.texts) for one in held if isinstance(one, RingOperator))
    return Load("window", groups=max(1, groups), window=second, slide=second)
