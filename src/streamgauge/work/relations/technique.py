"""Relations: views of rows, worked out as changes from one instant to the next."""

from __future__ import annotations

from collections.abc import Mapping

from streamgauge.plan.answers_as_rows import alone
from streamgauge.plan.distribution import Distribution, Singleton
from streamgauge.plan.explaining import plain_columns
from streamgauge.plan.nodes import Numbers, Scan
from streamgauge.plan.offer import Bid, Statistics, row_offer
from streamgauge.plan.partitioning import placed
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.selections import group_of, shard_with
from streamgauge.plan.sharing import share
from streamgauge.plan.technique import Columns, NamedKey, Technique
from streamgauge.plan.view import View

EARLIER = "an earlier release registered it; drop and create it to split its rows"


class Relations(Technique):
    """Views of rows that need memory."""

    name = "relations"
    operators = "streamgauge.work.relations.operator"
    fed = False
    rows = True

    def offer(self, asked: View, statistics: Statistics) -> Bid:
        """Any view, as changes from one instant to the next."""
        return row_offer(self.name, row_cost=8.0)

    def key(self, registry: Registry, standing: Standing) -> NamedKey:
        """Views over the same streams keep their rows together."""
        return NamedKey(group_of(standing.view))

    def takes(self, standing: Standing, shard: int, shards: int) -> bool:
        """One shard has all of a view."""
        return shard_with(standing, None, shards) == shard

    def reads(self, registry: Registry, standing: Standing) -> Mapping[str, Columns]:
        """The columns of its streams, and those that the queries read that it asks about."""
        found: dict[str, Columns] = {}
        for node in standing.view.plan.walk():
            if isinstance(node, Scan):
                more = Columns(words=node.schema.names)
            elif isinstance(node, Numbers):
                more = _asked(registry, node)
            else:
                continue
            known = found.get(node.stream, Columns())
            found[node.stream] = Columns(
                tuple(dict.fromkeys((*known.numbers, *more.numbers))),
                tuple(dict.fromkeys((*known.words, *more.words))),
            )
        return found

    def routes(self, registry: Registry, standing: Standing) -> Mapping[str, Distribution]:
        """One shard has all rows of a view, unless they can be split."""
        why = placed(standing.view.plan)
        route = Singleton(why if isinstance(why, str) else EARLIER)
        return dict.fromkeys(standing.view.streams, route)

    def place(self, registry: Registry, view: View, shards: int) -> list[str]:
        """Views over the same windows live together."""
        return [f"placed on one of {shards} shards with the views over the same windows"]


def _asked(registry: Registry, node: Numbers) -> Columns:
    """The columns that a query of numbers reads, whose answers are rows of a view."""
    plan = share(alone(registry, node), registry.stream(node.stream))
    return Columns(
        plain_columns(node.asked, plan.numbers()), plain_columns(node.asked, plan.words())
    )


TECHNIQUE = Relations()
