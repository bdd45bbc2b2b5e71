"""Source bounds: aggregates of the newest bound of each series, which agents keep."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from streamgauge.contracts.causes import FILTER
from streamgauge.contracts.guarantee import EXACT, Guarantee
from streamgauge.plan.bounds import ANSWERED, bounds_budget, bounds_lines
from streamgauge.plan.distribution import Distribution, Replicated
from streamgauge.plan.explaining import fed_explanation, shared_words
from streamgauge.plan.offer import Bid, Offer, Refusal, Statistics
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.technique import Columns, Explanation, Key, PlannedCharge, Technique
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Stream

STATE = "bounds"
# The last answer of a cell, as numbers; the bounds are shared by all queries.
CELL_BYTES = 9 * 8
# A row changes one bound; the teams of its series are worked out once for all their queries.
ROW_COST = 0.1


@dataclass(frozen=True, slots=True)
class BoundsKey(Key):
    """Queries over the bounds of one stream share them all."""

    x: str
    width: str

    technique: ClassVar[str] = "source bounds"

    @property
    def distribution(self) -> Distribution:
        """Groups of a shard are made of any series."""
        return Replicated("every shard keeps the bounds of all series")

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
    of_bounds = True

    def offer(self, asked: Query, statistics: Statistics) -> Bid:
        """The width that is owed, for sure; it is shared out among the sources."""
        if not statistics.bounds or asked.select.name not in ANSWERED:
            return Refusal(self.name)
        contract = asked.contract
        if contract.tolerance == "exact":
            return Offer(self.name, EXACT, CELL_BYTES, ROW_COST, "nothing")
        law = Guarantee(contract.tolerance, contract.within, 0.0)
        return Offer(self.name, law, CELL_BYTES, ROW_COST, str(contract))

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
        if standing.query.select.name == "count":
            return ()
        return (PlannedCharge(FILTER, within=standing.query.contract.within),)

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
