"""Latest values: aggregates of the newest value of each series, worked out at each tick."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from streamgauge.plan.distribution import Distribution, Subscribed
from streamgauge.plan.explaining import exact_budget, fed_explanation, shared_words
from streamgauge.plan.offer import Bid, Refusal, Statistics, exact_offer
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.technique import Columns, Explanation, Key, Technique
from streamgauge.streams.schema import Schema

STATE = "latest"


@dataclass(frozen=True, slots=True)
class LatestKey(Key):
    """What queries over latest values must agree in to share a pass."""

    x: str | None
    y: str | None

    technique: ClassVar[str] = "latest values"

    @property
    def distribution(self) -> Distribution:
        """A shard needs the rows of the series that its queries list."""
        return Subscribed()

    @property
    def keyed(self) -> bool:
        """Values are of series."""
        return True

    def text(self) -> str:
        """Name of the state of this operator."""
        return json.dumps([STATE, self.x, self.y])

    def series_of(self, standing: Standing) -> tuple[str, ...] | None:
        """The series that a query lists."""
        return standing.query.series

    def reads(self, schema: Schema, queries: Sequence[Standing]) -> Columns:
        """Its columns as numbers."""
        return Columns(tuple(name for name in (self.x, self.y) if name))


class LatestValues(Technique):
    """Exact aggregates of latest values."""

    name = LatestKey.technique
    operators = "streamgauge.work.latest.operator"

    def offer(self, asked: Query, statistics: Statistics) -> Bid:
        """Exact answers to queries without a window that are not of bounds and not of cells."""
        cells = asked.over or asked.members or asked.group_by
        if asked.window is not None or asked.parts or statistics.bounds or cells:
            return Refusal(self.name)
        return exact_offer(self.name, asked)

    def key(self, registry: Registry, standing: Standing) -> LatestKey:
        """One operator for the queries over the same columns."""
        return LatestKey(standing.query.select.x, standing.query.select.y)

    def owns(self, text: str) -> bool:
        """State of latest values."""
        return bool(json.loads(text)[0] == STATE)

    def sees_silence(self, registry: Registry, standing: Standing) -> bool:
        """Where the stream declares a gap."""
        return registry.stream(standing.query.stream).expected_gap is not None

    def explain(self, registry: Registry, standing: Standing, shards: int) -> Explanation:
        """The aggregate and its members."""
        query, key = standing.query, self.key(registry, standing)
        weighted = " weighted" if query.weights else ""
        members = "all series" if query.series is None else f"{len(query.series)}{weighted} series"
        place = f"shard {standing.id % shards} of {shards}"
        shared = shared_words(registry, standing, key)
        steps = [(f"Latest {query.select} of {members}", f"spends 0, {place}, {shared}")]
        stream = registry.stream(query.stream)
        read = (*stream.key, stream.time, key.x, key.y)
        return fed_explanation(registry, standing, steps, read, [exact_budget(standing)])


TECHNIQUE = LatestValues()
