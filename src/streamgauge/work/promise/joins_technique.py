"""Joins under a work budget: the pairs that are worth most, looked up first."""

from __future__ import annotations

from collections.abc import Mapping

from streamgauge.plan.allowances import kind_of
from streamgauge.plan.distribution import Distribution, Replicated, Singleton
from streamgauge.plan.explain_promise import promise_lines
from streamgauge.plan.offer import Bid, Refusal, Statistics, row_offer
from streamgauge.plan.promising import is_spread, join_owner, join_plan
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.technique import Columns, NamedKey, Technique
from streamgauge.plan.view import View

# Why rows are not split.
CHOICE = "the pairs of all keys compete for the budget"
MIXED = "the key is not selected, so equal rows of different keys must meet"


class BudgetedJoins(Technique):
    """Joins of windows of streams with a preference."""

    name = "joins under a work budget"
    operators = "streamgauge.work.promise.joins"
    fed = False
    rows = True
    budgeted = True

    def offer(self, asked: View, statistics: Statistics) -> Bid:
        """Rows that are true, as many of them as the budget allows."""
        return row_offer(self.name) if kind_of(asked) == "join" else Refusal(self.name)

    def key(self, registry: Registry, standing: Standing) -> NamedKey:
        """Each query looks up pairs of its own choice."""
        return NamedKey(standing.key)

    def takes(self, standing: Standing, shard: int, shards: int) -> bool:
        """Shards that share the keys of a join choose alike; a join without its key is on one."""
        plan = join_plan(standing.view)
        assert plan is not None, f"{standing.name!r} is no join in one key"
        return is_spread(plan) or join_owner(standing.name, shards) == shard

    def reads(self, registry: Registry, standing: Standing) -> Mapping[str, Columns]:
        """The columns of its conditions and keys, and those that are given."""
        plan = join_plan(standing.view)
        assert plan is not None, "served"
        above = {n for expr in plan.on for n in expr.columns()}
        above |= {n for _, expr in plan.items for n in expr.columns()}
        found: dict[str, set[str]] = {}
        for side in plan.sides:
            used = {n for expr in (*side.where, side.key) for n in expr.columns()}
            names = registry.stream(side.stream).schema.names
            used |= {name for name in names if f"{side.alias}.{name}" in above}
            found.setdefault(side.stream, set()).update(used)
        return {name: Columns(words=tuple(sorted(used))) for name, used in found.items()}

    def routes(self, registry: Registry, standing: Standing) -> Mapping[str, Distribution]:
        """Every shard chooses among all pairs; a join that does not select its key is on one."""
        plan = join_plan(standing.view)
        assert plan is not None, "served"
        route = Replicated(CHOICE) if is_spread(plan) else Singleton(MIXED)
        return dict.fromkeys(standing.view.streams, route)

    def place(self, registry: Registry, view: View, shards: int) -> list[str]:
        """Which shards take part, and the budget."""
        return promise_lines(view, registry, shards)


TECHNIQUE = BudgetedJoins()
