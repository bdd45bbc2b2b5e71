"""Sketches across streams: sizes of set expressions and joins, one sketch for each stream."""

from __future__ import annotations

from collections.abc import Mapping

from streamgauge.kernel.hashing import stable_hash
from streamgauge.plan.distribution import Distribution, Singleton
from streamgauge.plan.offer import Bid, Refusal, Statistics
from streamgauge.plan.planned_charges import of_sketch
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.technique import Columns, Explanation, NamedKey, PlannedCharge, Technique
from streamgauge.work.across.explain import across_budget, across_lines
from streamgauge.work.across.offers import sketches

WHY = "the sketches of all streams are combined in one place"


class Across(Technique):
    """Sketches of several streams, put together when all are complete up to an instant."""

    name = "sketches across streams"
    operators = "streamgauge.work.across.operator"
    fed = False

    def offer(self, asked: Query, statistics: Statistics) -> Bid:
        """A sketch for each of several streams."""
        return sketches(self.name, asked) if asked.parts else Refusal(self.name)

    def key(self, registry: Registry, standing: Standing) -> NamedKey:
        """Each query has sketches of its own."""
        return NamedKey(standing.key)

    def takes(self, standing: Standing, shard: int, shards: int) -> bool:
        """One shard has all of a query."""
        return owner(standing.name, shards) == shard

    def reads(self, registry: Registry, standing: Standing) -> Mapping[str, Columns]:
        """What rows are told apart by, and the conditions."""
        found: dict[str, Columns] = {}
        for part in standing.query.parts:
            known = found.get(part.stream, Columns()).words
            found[part.stream] = Columns(words=tuple(dict.fromkeys((*known, *part.columns))))
        return found

    def routes(self, registry: Registry, standing: Standing) -> Mapping[str, Distribution]:
        """One shard puts the sketches of all streams together."""
        return dict.fromkeys([part.stream for part in standing.query.parts], Singleton(WHY))

    def charges(self, registry: Registry, standing: Standing) -> tuple[PlannedCharge, ...]:
        """The error of the sketch."""
        return of_sketch(standing)

    def explain(self, registry: Registry, standing: Standing, shards: int) -> Explanation:
        """One branch for each stream."""
        tree = across_lines(registry, standing, f"shard {owner(standing.name, shards)}")
        return Explanation(tree, [across_budget(standing)])


def owner(name: str, shards: int) -> int:
    """The shard that a question across streams lives on."""
    return stable_hash(name) % shards


TECHNIQUE = Across()
