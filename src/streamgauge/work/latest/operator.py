"""The queries of a shard over the latest values of one column, or of two."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from streamgauge.engine.memory import one_after_another, pack_memory, unpack_memory
from streamgauge.engine.operator import Arrays, Newest, Operator, remembered
from streamgauge.engine.pieces import Bench, Given, Seats, arrivals, no_memory
from streamgauge.engine.rows import Rows
from streamgauge.engine.seated import Seated
from streamgauge.kernel.moves import Moves
from streamgauge.operators.emission import Asked, Codes, Floats, Span, empty_answers
from streamgauge.operators.portfolio import Latest, Members, no_values, walk, with_room
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.technique import Load
from streamgauge.work.latest.compiled import LISTED, Compiled, compiled
from streamgauge.work.latest.technique import LatestKey


@dataclass(slots=True)
class LatestOperator(Seated):
    """Latest values, and the queries of this shard that read them."""

    key: LatestKey
    x: Latest = field(default_factory=no_values)
    y: Latest = field(default_factory=no_values)
    seats: Seats = field(default_factory=Seats)
    compiled: Compiled | None = None

    def mine(self, bench: Bench) -> Callable[[Standing], bool]:
        """Queries are on shards by their numbers."""
        return lambda standing: self.key.shard_of(standing, bench.shards) == bench.shard

    def compile(self, bench: Bench, registry: Registry, queries: Sequence[Standing]) -> Compiled:
        """Queries and their members, which get names."""
        for standing in queries:
            for name in standing.query.series or ():
                bench.series.names.add(name)
        return compiled(bench, queries)

    def moved(self, moves: Moves, compiled: Compiled, fresh: Compiled) -> Compiled:
        """What is compiled, with the queries that have come."""
        return compiled.moved(moves, fresh)

    def advance(self, bench: Bench, rows: Rows, span: Span) -> list[Given]:
        """Fold rows into the latest values and check every tick."""
        assert self.compiled is not None, "advance before seat"
        if self.compiled.series not in (LISTED, len(bench.series.names)):
            self.compiled = compiled(bench, self.seats.active)
        memory = self.seats.borrow(1)
        out = self._walk(bench, rows, span, self.compiled.asked, self.compiled.members, memory)
        self.seats.give_back(memory)
        return [Given(out, [])]

    def fill(self, bench: Bench, rows: Rows, span: Span) -> None:
        """Fold rows of the past; answer nothing."""
        none = compiled(bench, [])
        self._walk(bench, rows, span, none.asked, none.members, no_memory(1))

    def _walk(
        self,
        bench: Bench,
        rows: Rows,
        span: Span,
        asked: Asked,
        members: Members,
        memory: Floats,
    ) -> Floats:
        n_series = len(bench.series.names)
        self.x = with_room(self.x, n_series)
        if self.key.y is not None:
            self.y = with_room(self.y, n_series)
        given: Floats = walk(
            arrivals(rows, (self.key.x, self.key.y, None), bench.sid, _NO_KEYS, bench.calendar),
            span,
            bench.revises,
            bench.stream.expected_gap or 0,
            self.x,
            self.y,
            asked,
            members,
            memory[:, 0],
            empty_answers(),
        )
        return given

    def join(self, other: LatestOperator) -> None:
        """Take in what the queries of another shard answered; values are the same on all."""
        self.seats.memory = one_after_another(self.seats.memory, other.seats.memory)

    def pack(self, prefix: str, arrays: Arrays) -> dict[str, Any]:
        """Values of the series, and what queries answered last."""
        for side, latest in (("x", self.x), ("y", self.y)):
            for name in _LATEST:
                arrays[f"{prefix}/{side}/{name}"] = getattr(latest, name)
        pack_memory(prefix, self.seats.memory, arrays)
        return {"key": self.key.text()}

    def latest_answers(self) -> Iterator[Newest]:
        """The newest answer of each query."""
        return remembered(self.seats.memory, [""])

    def content(self) -> tuple[str, int]:
        """Values of all series."""
        return "latest values", len(self.x.value)


_LATEST = ("value", "ts", "missed", "missed_ts")


def opened(
    key: LatestKey, bench: Bench, registry: Registry, queries: Sequence[Standing]
) -> LatestOperator:
    """A new operator."""
    return LatestOperator(key)


def restored(
    prefix: str, values: dict[str, Any], arrays: Arrays, shard: int, shards: int
) -> LatestOperator:
    """An operator from its stored state."""
    x, y = (
        Latest(**{name: arrays[f"{prefix}/{side}/{name}"] for name in _LATEST})
        for side in ("x", "y")
    )
    key = LatestKey(*json.loads(values["key"])[1:])
    return LatestOperator(key, x, y, Seats(unpack_memory(prefix, arrays)))


def load_of(registry: Registry, standing: Standing, held: Sequence[Operator], series: int) -> Load:
    """One cell of some series."""
    listed = standing.query.series
    members = series if listed is None else len(listed)
    return Load("latest", members=max(1, members))


_NO_KEYS: Codes = np.empty(0, np.int32)
