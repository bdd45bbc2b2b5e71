"""Windows of rows: aggregates of the newest rows, whole or for each key."""

from __future__ import annotations

from typing import ClassVar

from streamgauge.plan.explaining import (
    aggregate_step,
    exact_budget,
    fed_explanation,
    read_by_table,
    shared_words,
    where_steps,
    window_step,
)
from streamgauge.plan.offer import Bid, Refusal, Statistics, exact_offer
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.table_key import TableKey, owns_table
from streamgauge.plan.technique import Explanation, Technique

STATE = "ring"
WINDOWS = ("rows", "partition")


class RingKey(TableKey):
    """What queries must agree in to share rings."""

    __slots__ = ()
    technique: ClassVar[str] = "windows of rows"


class Rings(Technique):
    """Exact aggregates of windows of rows."""

    name = RingKey.technique
    operators = "streamgauge.work.rings.operator"

    def offer(self, asked: Query, statistics: Statistics) -> Bid:
        """Exact answers over the newest rows."""
        if statistics.window_of(asked) not in WINDOWS or asked.select.summary:
            return Refusal(self.name)
        return exact_offer(self.name, asked)

    def key(self, registry: Registry, standing: Standing) -> RingKey:
        """One table for all aggregates."""
        return RingKey.of(registry, standing, STATE)

    def owns(self, text: str) -> bool:
        """State of rings."""
        return owns_table(text, (STATE,), synopsis=False)

    def explain(self, registry: Registry, standing: Standing, shards: int) -> Explanation:
        """The aggregate, its filter and its window: rows are counted before they are filtered."""
        key = self.key(registry, standing)
        shared = shared_words(registry, standing, key)
        note = f"spends 0, ring of {key.rows} rows, {shared}"
        steps = [
            aggregate_step(standing, key, shards),
            *where_steps(key),
            window_step(registry, standing.query, note),
        ]
        read = read_by_table(registry.stream(standing.query.stream), key)
        return fed_explanation(registry, standing, steps, read, [exact_budget(standing)])


TECHNIQUE = Rings()
