"""Aggregates under a work budget: samples of the rows that matter most, with an interval."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

from streamgauge.contracts.causes import PROMISING
from streamgauge.contracts.contract import Contract
from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.time import duration_text
from streamgauge.plan.distribution import Distribution, Singleton
from streamgauge.plan.explain_promise import ONE_BUDGET, promise_lines
from streamgauge.plan.explaining import fed_explanation, plain_columns
from streamgauge.plan.offer import Bid, Offer, Refusal, Statistics
from streamgauge.plan.promise_check import sources_of
from streamgauge.plan.promising import column_of
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.technique import Columns, Explanation, NamedKey, PlannedCharge, Technique

# Rows, least and largest value of two columns and a sum, for a bucket of a pane.
STRATUM_BYTES = 6 * 8
LAW = "Hoeffding and Serfling over strata"
SPENDS = f"as much as its bar says, by {LAW}"


class BudgetedAggregates(Technique):
    """Aggregates of as many rows as a budget allows."""

    name = "aggregates under a work budget"
    operators = "streamgauge.work.promise.aggregates"
    fed = False
    budgeted = True
    reports: ClassVar[Mapping[str, str]] = {"figures": "streamgauge.work.promise.figures:figures"}
    meter = "streamgauge.work.promise.costs:Meter"

    def offer(self, asked: Query, statistics: Statistics) -> Bid:
        """Bars that hold at the confidence that is owed, of the width that the budget allows."""
        if asked.contract.tolerance == "rank" and asked.select.name != "quantile":
            return Refusal(
                self.name,
                f"{asked.select} has no rank to be wrong in",
                f"query {asked.name!r} asks for {asked.contract}",
            )
        # No width is known beforehand but the whole range, whatever the values are.
        law = Guarantee("additive", 1.0, 1.0 - asked.contract.confidence, cite="S74")
        return Offer(self.name, law, STRATUM_BYTES, 1.0, SPENDS)

    def owed(self, query: Query) -> Contract:
        """Bars that hold as surely as asked; how wide they are the budget decides.

        The width of a contract under a work budget is a wish: each answer proves its own interval,
        and says whether that keeps the contract.
        """
        return Contract.best(confidence=query.contract.confidence)

    def key(self, registry: Registry, standing: Standing) -> NamedKey:
        """Each query looks at rows of its own choice."""
        return NamedKey(standing.key)

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

    def routes(self, registry: Registry, standing: Standing) -> Mapping[str, Distribution]:
        """One shard spends the budget."""
        return dict.fromkeys([standing.query.stream], Singleton(ONE_BUDGET))

    def charges(self, registry: Registry, standing: Standing) -> tuple[PlannedCharge, ...]:
        """The rows that were not looked at."""
        return (PlannedCharge(PROMISING, 1.0 - standing.query.contract.confidence, math.inf),)

    def explain(self, registry: Registry, standing: Standing, shards: int) -> Explanation:
        """The sample, its budget and its interval."""
        query, stream = standing.query, registry.stream(standing.query.stream)
        assert query.promise is not None, "served"
        where = () if query.where is None else query.where.columns()
        read = (stream.time, *where, query.select.x, column_of(query.promise))
        steps = _steps(registry, standing, shards)
        closing = [*promise_lines(query, registry, shards), _budget(query)]
        return fed_explanation(registry, standing, steps, read, closing)


def _steps(registry: Registry, standing: Standing, shards: int) -> list[tuple[str, str]]:
    """Steps of a promising aggregate between the answer and the scan, outermost first."""
    query = standing.query
    assert query.promise is not None, "only of promising queries"
    window, stream = query.resolve(registry.windows), registry.stream(query.stream)
    (source,) = sources_of(query, query.promise, registry.windows)
    every = query.answer.period if query.answer.kind == "every" else None
    panes = duration_text(window.pane_width(stream.tick, every))
    spends = f"spends {SPENDS}, shard {standing.id % shards} of {shards}"
    named = f" ({query.window})" if isinstance(query.window, str) else ""
    where = [(f"Where {query.where}", "spends 0")] if query.where is not None else []
    return [
        (f"Sample {query.select} in strata of {source.column}", spends),
        (f"Window {window}{named}", f"spends 0, panes of {panes}, not shared"),
        *where,
    ]


def _budget(query: Query) -> str:
    """What becomes of the error that is owed, which nobody knows beforehand."""
    confidence = f"{100.0 * query.contract.confidence:g}%"
    return (
        f"bars hold at {confidence} confidence by {LAW}; "
        "each answer says whether it keeps the contract"
    )


TECHNIQUE = BudgetedAggregates()
