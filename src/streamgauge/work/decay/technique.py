"""Decaying windows: aggregates of all rows, each with a weight that halves with its age."""

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

STATE = "decay"


class DecayKey(TableKey):
    """What queries must agree in to share fading sums."""

    __slots__ = ()
    technique: ClassVar[str] = "decaying windows"


class Decay(Technique):
    """Exact aggregates of decaying windows."""

    name = DecayKey.technique
    operators = "streamgauge.work.decay.operator"

    def offer(self, asked: Query, statistics: Statistics) -> Bid:
        """Exact answers over a decaying window."""
        if statistics.window_of(asked) != "decay" or asked.select.summary:
            return Refusal(self.name)
        return exact_offer(self.name, asked)

    def key(self, registry: Registry, standing: Standing) -> DecayKey:
        """One table for all aggregates of one half-life."""
        return DecayKey.of(registry, standing, STATE)

    def owns(self, text: str) -> bool:
        """State of fading sums."""
        return owns_table(text, (STATE,), synopsis=False)

    def explain(self, registry: Registry, standing: Standing, shards: int) -> Explanation:
        """The aggregate, its window and its filter."""
        key = self.key(registry, standing)
        shared = shared_words(registry, standing, key)
        steps = [
            aggregate_step(standing, key, shards),
            window_step(registry, standing.query, f"spends 0, one fading sum a group, {shared}"),
            *where_steps(key),
        ]
        read = read_by_table(registry.stream(standing.query.stream), key)
        return fed_explanation(registry, standing, steps, read, [exact_budget(standing)])


TECHNIQUE = Decay()
