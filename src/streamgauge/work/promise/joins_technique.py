"""Joins under a work budget: the pairs that are worth most, looked up first."""

from __future__ import annotations

from streamgauge.plan.allowances import kind_of
from streamgauge.plan.explain_promise import promise_lines
from streamgauge.plan.promising import is_spread, join_owner, join_plan
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.technique import Named, Technique
from streamgauge.plan.view import View


class BudgetedJoins(Technique):
    """Joins of windows of streams with a preference."""

    name = "joins under a work budget"
    operators = "streamgauge.work.promise.joins"
    fed = False

    def serves(self, registry: Registry, standing: Standing) -> bool:
        """Views of several streams with a preference."""
        view = standing.asked
        return isinstance(view, View) and view.promise is not None and kind_of(standing) == "join"

    def key(self, registry: Registry, standing: Standing) -> Named:
        """Each query looks up pairs of its own choice."""
        return Named(standing.key)

    def takes(self, standing: Standing, shard: int, shards: int) -> bool:
        """Shards that share the keys of a join choose alike; a join without its key is on one."""
        plan = join_plan(standing.view)
        assert plan is not None, f"{standing.name!r} is no join in one key"
        return is_spread(plan) or join_owner(standing.name, shards) == shard

    def place(self, registry: Registry, view: View, shards: int) -> list[str]:
        """Which shards take part, and the budget."""
        return promise_lines(view, registry, shards)


TECHNIQUE = BudgetedJoins()
