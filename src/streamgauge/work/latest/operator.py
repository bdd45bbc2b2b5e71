"""The queries of a shard over the latest values of one column, or of two."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from streamgauge.engine.memory import one_after_another, pack_memory, unpack_memory
from streamgauge.engine.operator import Arrays, Newest, Operator, remembered
from streamgauge.engine.pieces import Bench, Given, Seats, arrivals, no_memory
from streamgauge.engine.rows import Rows
from streamgauge.operators.emission import Asked, Codes, Floats, Span, empty_answers
from streamgauge.operators.portfolio import Latest, Members, no_values, walk, with_room
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.technique import Load
from streamgauge.work.latest.technique import LatestKey


@dataclass(slots=True)
class LatestOperator(Operator):
    """Latest values, and the queries of this shard that read them."""

    key: LatestKey
    x: Latest = field(default_factory=no_values)
    y: Latest = field(default_factory=no_values)
    seats: Seats = field(default_factory=Seats)
    compiled: tuple[Asked, Members] | None = None
    compiled_for: int = -1

    def seat(self, bench: Bench, registry: Registry, queries: Sequence[Standing]) -> None:
        """Compile the queries of this shard; name their members."""
        mine = [s for s in queries if s.id % bench.shards == bench.shard]
        self.seats.arrange(bench, mine, 1, lambda standing: 0)
        for standing in self.seats.active:
            for name in standing.query.series or ():
                bench.series.names.add(name)
        self._compile(bench)

    def adopt(self, other: LatestOperator) -> None:
        """Take over what another copy has compiled."""
        self.seats.adopt(other.seats)
        self.compiled, self.compiled_for = other.compiled, other.compiled_for

    def _compile(self, bench: Bench) -> None:
        queries, number = self.seats.active, bench.series.names.index
        # By name: the numbers differ between shards, the order of summing must not.
        everyone = [number[name] for name in sorted(number)]
        listed = [s.query.series is not None for s in queries]
        members = [
            everyone if s.query.series is None else [number[name] for name in s.query.series]
            for s in queries
        ]
        weights = [
            s.query.weights or (1.0,) * len(m) for s, m in zip(queries, members, strict=True)
        ]
        weighted = np.array([s.query.weights is not None for s in queries], np.uint8)
        sizes = np.array([len(m) for m in members], np.int64)
        self.compiled_for = -1 if all(listed) else len(everyone)
        self.compiled = (
            bench.asked(queries),
            Members(
                pointer=np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes))),
                member=np.array([sid for m in members for sid in m], np.int32),
                weight=np.array([w for ws in weights for w in ws] if weighted.any() else [1.0]),
                weighted=weighted,
                listed=np.where(np.array(listed, np.bool_), sizes, 0).astype(np.float64),
            ),
        )

    def advance(self, bench: Bench, rows: Rows, span: Span) -> list[Given]:
        """Fold rows into the latest values and check every tick."""
        if self.compiled_for not in (-1, len(bench.series.names)):
            self._compile(bench)
        assert self.compiled is not None, "advance before seat"
        memory = self.seats.borrow(1)
        out = self._walk(bench, rows, span, *self.compiled, memory)
        self.seats.give_back(memory)
        return [Given(out, [])]

    def fill(self, bench: Bench, rows: Rows, span: Span) -> None:
        """Fold rows of the past; answer nothing."""
        none = Members(
            np.zeros(1, np.int64),
            np.empty(0, np.int32),
            np.ones(1),
            np.empty(0, np.uint8),
            np.empty(0),
        )
        self._walk(bench, rows, span, bench.asked([]), none, no_memory(1))

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
            arrivals(rows, (self.key.x, self.key.y, None), bench.sid, _NO_KEYS),
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


def upgraded(key: LatestKey, held: Mapping[str, Operator]) -> LatestOperator | None:
    """Its state has always had this name."""
    return None


def load_of(registry: Registry, standing: Standing, held: Sequence[Operator], series: int) -> Load:
    """One cell of some series."""
    listed = standing.query.series
    members = series if listed is None else len(listed)
    return Load("latest", members=max(1, members))


_NO_KEYS: Codes = np.empty(0, np.int32)
