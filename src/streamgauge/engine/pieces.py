"""Pieces: the shared pieces of work of a shard, each with its state and its compiled queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamgauge.engine.memory import Memories
from streamgauge.engine.naming import Groups, Series, Words
from streamgauge.engine.rows import Rows
from streamgauge.operators.emission import (
    ALWAYS,
    CADENCES,
    MEMORY,
    Arrivals,
    Asked,
    Codes,
    Floats,
    Ints,
    Span,
)
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.sharing import BoundsKey, DeferralKey, PieceKey, TableKey
from streamgauge.streams.stream import Stream

NO_LIMIT = int(ALWAYS)


@dataclass(slots=True)
class Bench:
    """What pieces of one stream share: the stream, its words, series and births, its shard."""

    stream: Stream
    words: Words
    series: Series
    births: dict[int, int]
    shard: int
    shards: int
    sid: Codes = field(default_factory=lambda: np.empty(0, np.int32))

    @property
    def revises(self) -> bool:
        """Whether late rows are folded."""
        return self.stream.late.policy == "revise"

    def since(self, standing: Standing) -> int:
        """First instant a query may see rows after."""
        return NO_LIMIT if standing.query.history else self.births.get(standing.born, NO_LIMIT)

    def asked(self, queries: Sequence[Standing]) -> Asked:
        """Queries as columns."""
        tick = self.stream.tick
        return Asked(
            query=np.array([s.id for s in queries], np.int32),
            op=np.array([s.query.select.code for s in queries], np.int32),
            cadence=np.array([CADENCES[s.query.answer.kind] for s in queries], np.int32),
            every=np.array([max(1, s.query.answer.period // tick) for s in queries], np.int64),
            by=np.array([s.query.answer.by for s in queries], np.float64),
            since=np.array([self.since(s) for s in queries], np.int64),
        )


@dataclass(slots=True)
class Given:
    """Answers of one piece: the matrix, the texts of its groups, what they rest on, how surely.

    `share` is the share of regions looked at for each answer; None: all of them.
    """

    matrix: Floats
    groups: list[str] | pa.Array
    basis: str = "exact"
    confidence: float = 1.0
    share: Floats | None = None


class Piece(Protocol):
    """A shared piece of work."""

    def seat(self, bench: Bench, registry: Registry, queries: Sequence[Standing]) -> None:
        """Compile these queries."""

    def adopt(self, other: Any) -> None:
        """Take over what another copy of this piece has compiled for the same queries."""

    def advance(self, bench: Bench, rows: Rows, span: Span) -> list[Given]:
        """Fold rows and answer what is due."""

    def fill(self, bench: Bench, rows: Rows, span: Span) -> None:
        """Fold rows of the past; answer nothing."""


def arrivals(rows: Rows, key: PieceKey, place: Codes, keys: Codes) -> Arrivals:
    """Rows as a kernel takes them; y and w are empty where they are not asked for.

    The weight of a bound is its width.
    """
    weight = key.weight if isinstance(key, TableKey) else None
    weight = key.width if isinstance(key, BoundsKey) else weight
    y = None if isinstance(key, (BoundsKey, DeferralKey)) else key.y
    numbers = rows.numbers
    return Arrivals(
        rows.tick,
        rows.ts,
        rows.late,
        place,
        keys,
        np.ones(len(rows)) if key.x is None else numbers[key.x],
        np.empty(0) if y is None else numbers[y],
        np.empty(0) if weight is None else numbers[weight],
    )


@dataclass(slots=True)
class Seats:
    """Which queries of a piece are running, in what order, and what they remember."""

    memory: Memories = field(default_factory=Memories)
    active: list[Standing] = field(default_factory=list)
    rows: Ints = field(default_factory=lambda: np.empty(0, np.int64))

    def arrange(
        self, queries: Sequence[Standing], n_groups: int, order: Callable[[Standing], Any]
    ) -> None:
        """Seat the queries; the running ones are active, in the given order."""
        self.memory.seat(queries, n_groups)
        running = [(row, s) for row, s in enumerate(queries) if s.status == "running"]
        running.sort(key=lambda pair: (order(pair[1]), pair[1].id))
        self.rows = np.array([row for row, _ in running], np.int64)
        self.active = [s for _, s in running]

    def adopt(self, other: Seats) -> None:
        """Seat the same queries as another copy; the memory stays our own."""
        assert self.memory.who == other.memory.who, "copies of a piece disagree on its queries"
        self.active, self.rows = other.active, other.rows

    def borrow(self, n_groups: int) -> Floats:
        """Memory of the active queries, to be written by a kernel."""
        self.memory.widen(n_groups)
        return np.ascontiguousarray(self.memory.cells[self.rows, :n_groups])

    def give_back(self, memory: Floats) -> None:
        """Keep what a kernel wrote."""
        self.memory.cells[self.rows, : memory.shape[1]] = memory


def no_memory(n_groups: int) -> Floats:
    """The memory of no query."""
    return np.zeros((0, n_groups, MEMORY))


def grouped(
    bench: Bench, key: TableKey, groups: Groups, rows: Rows
) -> tuple[Codes, npt.NDArray[np.int32]]:
    """Group of each row before the filter, and after it (-1: filtered out)."""
    whole = groups.encode(rows, bench.words)
    where = key.predicate()
    if where is None:
        return whole, whole
    schema = bench.stream.schema
    words = {
        name: (codes, bench.words[name].values)
        for name, codes in rows.words.items()
        if schema.type(name) in ("string", "bool")
    }
    passed = where.mask(rows.numbers, words)
    return whole, np.where(passed, whole, np.int32(-1))
