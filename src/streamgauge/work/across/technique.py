"""Sketches across streams: sizes of set expressions and joins, one sketch for each stream."""

from __future__ import annotations

from collections.abc import Mapping

from streamgauge.plan.across import owner
from streamgauge.plan.explain_across import across_budget, across_lines
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.summary import named_model
from streamgauge.plan.technique import Columns, Explanation, Named, PlannedCharge, Technique


class Across(Technique):
    """Sketches of several streams, put together when all are complete up to an instant."""

    name = "sketches across streams"
    operators = "streamgauge.work.across.operator"
    fed = False

    def serves(self, registry: Registry, standing: Standing) -> bool:
        """Queries of numbers over several streams."""
        return isinstance(standing.asked, Query) and bool(standing.asked.parts)

    def key(self, registry: Registry, standing: Standing) -> Named:
        """Each query has sketches of its own."""
        return Named(standing.key)

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

    def charges(self, registry: Registry, standing: Standing) -> tuple[PlannedCharge, ...]:
        """The error of the sketch."""
        model = named_model(standing.model)
        if model.guarantee.law == "exact":
            return ()
        return (PlannedCharge(model.name, model.guarantee.delta),)

    def explain(self, registry: Registry, standing: Standing, shards: int) -> Explanation:
        """One branch for each stream."""
        tree = across_lines(registry, standing, shards=shards)
        return Explanation(tree, [across_budget(standing)])


TECHNIQUE = Across()
