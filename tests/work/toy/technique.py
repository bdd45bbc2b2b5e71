"""Counts of rows that a stream has brought so far, whatever their window."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import ClassVar

from streamgauge.contracts.guarantee import EXACT
from streamgauge.plan.explaining import exact_budget, fed_explanation, shared_words
from streamgauge.plan.offer import Bid, Offer, Refusal, Statistics
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.technique import Explanation, Key, Technique

STATE = "toy"


@dataclass(frozen=True, slots=True)
class ToyKey(Key):
    """All queries share one count."""

    technique: ClassVar[str] = "toy count"

    def text(self) -> str:
        """Name of the state of this operator."""
        return json.dumps([STATE])

    def lives_on(self, shard: int, shards: int) -> bool:
        """The first shard counts."""
        return shard == 0


class Toy(Technique):
    """Counts rows of the stream for queries COUNT(*) over the current tick."""

    name = ToyKey.technique
    operators = "tests.work.toy.operator"

    def offer(self, asked: Query, statistics: Statistics) -> Bid:
        """Counts of all rows over [NOW], with less work than panes."""
        counted = asked.select.name == "count" and asked.select.x is None
        if not counted or asked.group_by or statistics.window_of(asked) != "now":
            return Refusal(self.name)
        return Offer(self.name, EXACT, 8, 0.5, "nothing")

    def key(self, registry: Registry, standing: Standing) -> ToyKey:
        """One operator for all."""
        return ToyKey()

    def owns(self, text: str) -> bool:
        """The state of the count."""
        return bool(json.loads(text)[0] == STATE)

    def explain(self, registry: Registry, standing: Standing, shards: int) -> Explanation:
        """One step."""
        shared = shared_words(registry, standing, self.key(registry, standing))
        steps = [("Toy count", f"spends 0, {shared}")]
        time = registry.stream(standing.query.stream).time
        return fed_explanation(registry, standing, steps, (time,), [exact_budget(standing)])


TECHNIQUE = Toy()
