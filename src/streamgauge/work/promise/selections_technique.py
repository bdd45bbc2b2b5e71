"""Selections under a work budget: the rows that are worth most, looked at first."""

from __future__ import annotations

import json
from collections.abc import Mapping

from streamgauge.plan.allowances import kind_of
from streamgauge.plan.distribution import Distribution, Singleton
from streamgauge.plan.explain_promise import ONE_BUDGET, promise_lines
from streamgauge.plan.offer import Bid, Refusal, Statistics, row_offer
from streamgauge.plan.promising import selection_plan
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.technique import Columns, NamedKey, Technique
from streamgauge.plan.view import View


class BudgetedSelections(Technique):
    """Selections from a window with a preference."""

    name = "selections under a work budget"
    operators = "streamgauge.work.promise.selections"
    fed = False
    rows = True
    budgeted = True

    def offer(self, asked: View, statistics: Statistics) -> Bid:
        """Rows that are true, as many of them as the budget allows."""
        return row_offer(self.name) if kind_of(asked) == "selection" else Refusal(self.name)

    def key(self, registry: Registry, standing: Standing) -> NamedKey:
        """Those of one stream and window keep their rows together."""
        plan = selection_plan(standing.view)
        assert plan is not None, f"{standing.name!r} selects no rows of one stream"
        window = None if plan.window is None else plan.window.as_dict()
        return NamedKey(json.dumps([plan.stream, window]))

    def takes(self, standing: Standing, shard: int, shards: int) -> bool:
        """One shard has all of a query."""
        return standing.id % shards == shard

    def reads(self, registry: Registry, standing: Standing) -> Mapping[str, Columns]:
        """The columns of its conditions and of its preference, and those that are given."""
        plan = selection_plan(standing.view)
        assert plan is not None, "served"
        exprs = [*plan.where, *(expr for _, expr in plan.items)]
        used = {plan.column, *(name for expr in exprs for name in expr.columns())}
        return {plan.stream: Columns(words=tuple(sorted(used - {""})))}

    def routes(self, registry: Registry, standing: Standing) -> Mapping[str, Distribution]:
        """One shard spends the budget."""
        return dict.fromkeys(standing.view.streams, Singleton(ONE_BUDGET))

    def place(self, registry: Registry, view: View, shards: int) -> list[str]:
        """The budget."""
        return promise_lines(view, registry, shards)


TECHNIQUE = BudgetedSelections()
