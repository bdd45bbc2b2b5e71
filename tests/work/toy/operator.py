"""The operator of the toy: one number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from streamgauge.engine.operator import Arrays, Newest, Operator
from streamgauge.engine.pieces import Bench, Given
from streamgauge.engine.rows import Rows
from streamgauge.operators.emission import (
    COVERAGE,
    GIVEN,
    HIGH,
    LAST,
    LAST_COVERAGE,
    LAST_HIGH,
    LAST_LOW,
    LAST_TICK,
    LOW,
    MEMORY,
    QUERY,
    TICK,
    VALUE,
    WIDTH,
    Span,
)
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.technique import Load
from tests.work.toy.technique import ToyKey


@dataclass(slots=True)
class ToyOperator(Operator):
    """How many rows there were up to a tick."""

    key: ToyKey
    count: int = 0
    tick: int = 0
    active: list[Standing] = field(default_factory=list)

    def seat(self, bench: Bench, registry: Registry, queries: Sequence[Standing]) -> None:
        """Remember who asks."""
        self.active = [standing for standing in queries if bench.active(standing)]

    def adopt(self, other: ToyOperator) -> None:
        """Who asks is the same."""
        self.active = other.active

    def fill(self, bench: Bench, rows: Rows, span: Span) -> None:
        """Count rows of the past."""
        self.count += len(rows)

    def advance(self, bench: Bench, rows: Rows, span: Span) -> list[Given]:
        """Count rows, and answer at each tick that has some."""
        ticks, counts = np.unique(rows.tick, return_counts=True)
        totals = self.count + np.cumsum(counts)
        parts = []
        for standing in self.active:
            part = np.zeros((len(ticks), WIDTH))
            part[:, QUERY], part[:, TICK], part[:, COVERAGE] = standing.id, ticks, 1.0
            part[:, VALUE] = part[:, LOW] = part[:, HIGH] = totals
            parts.append(part)
        if len(ticks):
            self.count, self.tick = int(totals[-1]), int(ticks[-1])
        return [Given(part, [""]) for part in parts]

    def pack(self, prefix: str, arrays: Arrays) -> dict[str, Any]:
        """The count."""
        return {"key": self.key.text(), "count": self.count, "tick": self.tick}

    def latest_answers(self) -> Iterator[Newest]:
        """The count, for each query."""
        cell = [0.0] * MEMORY
        cell[GIVEN], cell[LAST_TICK], cell[LAST_COVERAGE] = 1.0, float(self.tick), 1.0
        cell[LAST] = cell[LAST_LOW] = cell[LAST_HIGH] = float(self.count)
        for standing in self.active:
            yield Newest(standing.id, standing.version, "", cell)

    @property
    def readable(self) -> bool:
        """Who asks is not stored."""
        return bool(self.active)

    def content(self) -> tuple[str, int]:
        """One number."""
        return "counts", 1


def opened(
    key: ToyKey, bench: Bench, registry: Registry, queries: Sequence[Standing]
) -> ToyOperator:
    """A new operator."""
    return ToyOperator(key)


def restored(
    prefix: str, values: dict[str, Any], arrays: Arrays, shard: int, shards: int
) -> ToyOperator:
    """An operator from its stored state."""
    return ToyOperator(ToyKey(), values["count"], values["tick"])


def load_of(registry: Registry, standing: Standing, held: Sequence[Operator], series: int) -> Load:
    """As cheap as a latest value."""
    return Load("latest")
