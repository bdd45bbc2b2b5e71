"""Relations: views of rows, worked out as changes from one instant to the next."""

from __future__ import annotations

from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.selections import group_of, selection_of, shard_with
from streamgauge.plan.technique import Named, Technique
from streamgauge.plan.view import View


class Relations(Technique):
    """Views of rows that need memory."""

    name = "relations"
    operators = "streamgauge.work.relations.operator"
    fed = False

    def serves(self, registry: Registry, standing: Standing) -> bool:
        """Views that no budget bounds and that are more than a selection."""
        view = standing.asked
        return isinstance(view, View) and view.promise is None and selection_of(view) is None

    def key(self, registry: Registry, standing: Standing) -> Named:
        """Views over the same streams keep their rows together."""
        return Named(group_of(standing.view))

    def takes(self, standing: Standing, shard: int, shards: int) -> bool:
        """One shard has all of a view."""
        return shard_with(standing, None, shards) == shard

    def place(self, registry: Registry, view: View, shards: int) -> list[str]:
        """Views over the same windows live together."""
        return [f"placed on one of {shards} shards with the views over the same windows"]


TECHNIQUE = Relations()
