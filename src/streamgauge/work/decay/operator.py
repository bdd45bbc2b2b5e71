"""A table of fading sums: queries over all rows, each with a weight that halves with age."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from streamgauge.engine.naming import Groups
from streamgauge.engine.operator import Arrays, Newest, Operator, remembered
from streamgauge.engine.pane_shapes import UNSET
from streamgauge.engine.paned import Paned
from streamgauge.engine.pieces import (
    NO_LIMIT,
    Bench,
    Given,
    Seats,
    arrivals,
    grouped,
    no_memory,
)
from streamgauge.engine.rows import Rows
from streamgauge.engine.table_state import pack_table_of_groups, unpack_groups, unpack_seats
from streamgauge.operators.emission import Asked, Codes, Floats, Ints, Span, empty_answers
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.technique import Load
from streamgauge.windows.decays import Fading, empty_sums, walk
from streamgauge.work.decay.technique import DecayKey

_NO_KEYS: Codes = np.empty(0, np.int32)
_FADING = ("sums", "at", "late", "late_at")


@dataclass(slots=True)
class DecayOperator(Paned):
    """Fading sums of a table, of its late rows, and the queries that read them."""

    key: DecayKey
    groups: Groups
    sums: Floats = field(default_factory=lambda: empty_sums(1))
    at: Ints = field(default_factory=lambda: np.zeros(1, np.int64))
    late: Floats = field(default_factory=lambda: empty_sums(0))
    late_at: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    vouched: int = UNSET
    seats: Seats = field(default_factory=Seats)
    compiled: Asked | None = None

    # Every row counts for ever.
    leaves = False

    @property
    def n_panes(self) -> int:  # type: ignore[override]
        """All rows are in one pane."""
        return 1

    @property
    def newest(self) -> int:  # type: ignore[override]
        """The pane has no number."""
        return NO_LIMIT

    def compile(self, bench: Bench, registry: Registry, queries: Sequence[Standing]) -> Asked:
        """Queries as columns."""
        return bench.asked(queries)

    def advance(self, bench: Bench, rows: Rows, span: Span) -> list[Given]:
        """Fold rows and answer what is due."""
        assert self.compiled is not None, "advance before seat"
        self.begin(bench)
        _, group = grouped(bench, self.key, self.groups, rows)
        if self.key.born:
            group = np.where(rows.ts > bench.births[self.key.born], group, np.int32(-1))
        memory = self.seats.borrow(len(self.groups.texts))
        out = self._walk(bench, rows, group, span, self.compiled, memory)
        self.seats.give_back(memory)
        return [Given(out, self.groups.texts)]

    def fill(self, bench: Bench, rows: Rows, span: Span) -> None:
        """Fold rows of the past; answer nothing."""
        _, group = grouped(bench, self.key, self.groups, rows)
        memory = no_memory(len(self.groups.texts))
        self._walk(bench, rows, group, span, bench.asked([]), memory)

    def _walk(
        self, bench: Bench, rows: Rows, group: Codes, span: Span, asked: Asked, memory: Floats
    ) -> Floats:
        n_groups = len(self.groups.texts)
        self.sums, self.at = _widened(self.sums, self.at, n_groups)
        if (rows.late.any() and not bench.revises) or len(self.late):
            self.late, self.late_at = _widened(self.late, self.late_at, n_groups)
        fading = Fading(
            self.sums,
            self.at,
            self.late,
            self.late_at,
            self.key.width,
            self.vouched,
            bench.revises,
        )
        columns = self.key.x, self.key.y, self.key.weight
        came = arrivals(rows, columns, group, _NO_KEYS, bench.calendar)
        out: Floats = walk(came, span, fading, asked, memory, empty_answers())
        return out

    def pack(self, prefix: str, arrays: Arrays) -> dict[str, Any]:
        """Sums, those of late rows, groups, and what queries answered last."""
        values = pack_table_of_groups(prefix, self.key, self.groups, self.seats, arrays)
        room = max(1, len(self.groups.texts))
        for name in _FADING:
            arrays[f"{prefix}/{name}"] = getattr(self, name)[:room]
        return {**values, "vouched": self.vouched}

    def latest_answers(self) -> Iterator[Newest]:
        """The newest answer of each query and group."""
        return remembered(self.seats.memory, self.groups.texts)

    def keep_groups(self, kept: Ints) -> None:
        """Their sums."""
        self.sums, self.at = _some(self.sums, self.at, kept)
        self.late, self.late_at = _some(self.late, self.late_at, kept)

    def add_groups(self, other: DecayOperator, mine: int, more: int) -> None:
        """Sums one after the other."""
        late = max(len(self.late), len(other.late)) > 0
        for sums, at in (("sums", "at"), ("late", "late_at")) if late else (("sums", "at"),):
            one, two = (
                _widened(getattr(o, sums), getattr(o, at), n)
                for o, n in ((self, mine), (other, more))
            )
            setattr(self, sums, np.concatenate((one[0][:mine], two[0][:more])))
            setattr(self, at, np.concatenate((one[1][:mine], two[1][:more])))

    def content(self) -> tuple[str, int]:
        """Its groups."""
        return "groups", len(self.groups.texts)


def opened(
    key: DecayKey, bench: Bench, registry: Registry, queries: Sequence[Standing]
) -> DecayOperator:
    """A new operator."""
    return DecayOperator(key, Groups(key.group_by, bench.shard, bench.shards))


def restored(
    prefix: str, values: dict[str, Any], arrays: Arrays, shard: int, shards: int
) -> DecayOperator:
    """An operator from its stored state."""
    key = DecayKey.from_text(values["key"])
    groups = unpack_groups(prefix, key, values, arrays, shard, shards)
    sums, at, late, late_at = (arrays[f"{prefix}/{name}"] for name in _FADING)
    seats = unpack_seats(prefix, arrays)
    return DecayOperator(key, groups, sums, at, late, late_at, values["vouched"], seats)


def load_of(registry: Registry, standing: Standing, held: Sequence[Operator], series: int) -> Load:
    """A window of one pane."""
    second = registry.stream(standing.query.stream).tick
    groups = sum(len(one.groups.texts) for one in held if isinstance(one, DecayOperator))
    return Load("window", groups=max(1, groups), window=second, slide=second)


def _some(sums: Floats, at: Ints, kept: Ints) -> tuple[Floats, Ints]:
    """Those of some groups; what has no room yet stays without."""
    here = kept[kept < len(sums)]
    return np.ascontiguousarray(sums[here]), np.ascontiguousarray(at[here])


def _widened(sums: Floats, at: Ints, n_groups: int) -> tuple[Floats, Ints]:
    """The same sums with room for more groups, in steps that double."""
    have = len(sums)
    if n_groups <= have:
        return sums, at
    room = max(n_groups, 2 * have)
    wider, instants = empty_sums(room), np.zeros(room, np.int64)
    wider[:have], instants[:have] = sums, at
    return wider, instants
