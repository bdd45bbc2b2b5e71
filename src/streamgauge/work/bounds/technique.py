"""Source bounds: aggregates of the newest bound of each series, which agents keep."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from streamgauge.contracts.causes import FILTER
from streamgauge.plan.bounds import bounded, bounds_budget, bounds_lines
from streamgauge.plan.explaining import fed_explanation, shared_words
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.technique import Columns, Explanation, Key, PlannedCharge, Technique
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Stream

STATE = "bounds"


@dataclass(frozen=True, slots=True)
class BoundsKey(Key):
    """Queries over the bounds of one stream share them all."""

    x: str
    width: str

    technique: ClassVar[str] = "source bounds"

    @property
    def keyed(self) -> bool:
        """Bounds are of series."""
        return True

    def text(self) -> str:
        """Name of the state of this operator."""
        return json.dumps([STATE, self.x, self.width])

    def reads(self, schema: Schema, queries: Sequence[Standing]) -> Columns:
        """The value and the width."""
        return Columns((self.x, self.width))


class SourceBounds(Technique):
    """Intervals that sources keep."""

    name = BoundsKey.technique
    operators = "streamgauge.work.bounds.operator"

    def serves(self, registry: Registry, standing: Standing) -> bool:
        """Queries over latest values of a stream with a width."""
        query = standing.asked
        if not isinstance(query, Query) or query.promise is not None:
            return False
        return bounded(query, registry.stream(query.stream))

    def key(self, registry: Registry, standing: Standing) -> BoundsKey:
        """All of a stream share its bounds."""
        return self.kept(registry.stream(standing.query.stream))[0]

    def kept(self, stream: Stream) -> tuple[BoundsKey, ...]:
        """The bounds of a stream that has them."""
        if stream.value is None or stream.width is None:
            return ()
        return (BoundsKey(stream.value, stream.width),)

    def owns(self, text: str) -> bool:
        """State of bounds."""
        return bool(json.loads(text)[0] == STATE)

    def charges(self, registry: Registry, standing: Standing) -> tuple[PlannedCharge, ...]:
        """The bounds; what is counted has none."""
        return () if standing.query.select.name == "count" else (PlannedCharge(FILTER),)

    def sees_silence(self, registry: Registry, standing: Standing) -> bool:
        """An agent that is away keeps no bound."""
        return True

    def explain(self, registry: Registry, standing: Standing, shards: int) -> Explanation:
        """Whose bounds are put together."""
        query, key = standing.query, self.key(registry, standing)
        families = query.members is not None or query.group_by
        single = f"shard {standing.id % shards} of {shards}"
        shared = shared_words(registry, standing, key)
        place = f"groups over {shards} shards" if families else single
        stream = registry.stream(query.stream)
        read = (*stream.key, stream.time, key.x, key.width)
        steps = bounds_lines(standing, shared, place)
        return fed_explanation(registry, standing, steps, read, [bounds_budget(query)])


TECHNIQUE = SourceBounds()
