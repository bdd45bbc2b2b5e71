"""Aggregates under a work budget: samples of the rows that matter most, with an interval."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from streamgauge.contracts.causes import PROMISING
from streamgauge.plan.explain_promise import aggregate_budget, aggregate_lines, promise_lines
from streamgauge.plan.explaining import fed_explanation, plain_columns
from streamgauge.plan.promising import column_of
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.technique import Columns, Explanation, Named, PlannedCharge, Technique


class BudgetedAggregates(Technique):
    """Aggregates of as many rows as a budget allows."""

    name = "aggregates under a work budget"
    operators = "streamgauge.work.promise.aggregates"
    fed = False
    reports: ClassVar[Mapping[str, str]] = {"figures": "streamgauge.work.promise.figures:figures"}
    meter = "streamgauge.work.promise.costs:Meter"

    def serves(self, registry: Registry, standing: Standing) -> bool:
        """Queries of numbers with a preference."""
        return isinstance(standing.asked, Query) and standing.asked.promise is not None

    def key(self, registry: Registry, standing: Standing) -> Named:
        """Each query looks at rows of its own choice."""
        return Named(standing.key)

    def takes(self, standing: Standing, shard: int, shards: int) -> bool:
        """One shard has all of a query."""
        return standing.id % shards == shard

    def reads(self, registry: Registry, standing: Standing) -> Mapping[str, Columns]:
        """The columns of its condition, of its preference and of what is added up."""
        query = standing.query
        assert query.promise is not None, "served"
        where = () if query.where is None else query.where.columns()
        read = plain_columns(query, (*where, column_of(query.promise), query.select.x))
        return {query.stream: Columns(words=read)}

    def charges(self, registry: Registry, standing: Standing) -> tuple[PlannedCharge, ...]:
        """The rows that were not looked at."""
        return (PlannedCharge(PROMISING, 1.0 - standing.query.contract.confidence),)

    def explain(self, registry: Registry, standing: Standing, shards: int) -> Explanation:
        """The sample, its budget and its interval."""
        query, stream = standing.query, registry.stream(standing.query.stream)
        assert query.promise is not None, "served"
        where = () if query.where is None else query.where.columns()
        read = (stream.time, *where, query.select.x, column_of(query.promise))
        steps = aggregate_lines(registry, standing, shards)
        closing = [*promise_lines(query, registry, shards), aggregate_budget(query)]
        return fed_explanation(registry, standing, steps, read, closing)


TECHNIQUE = BudgetedAggregates()
