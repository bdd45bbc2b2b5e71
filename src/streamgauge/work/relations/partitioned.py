"""Partitioned relations: views whose rows are split between shards by the column they meet in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache

from streamgauge.plan.distribution import Distribution, HashBy
from streamgauge.plan.offer import Bid, Refusal, Statistics, row_offer
from streamgauge.plan.partitioning import placed
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.technique import NamedKey
from streamgauge.plan.view import View
from streamgauge.work.relations.technique import Relations


class PartitionedRelations(Relations):
    """Views of rows, each shard with the rows of its keys."""

    name = "partitioned relations"

    def offer(self, asked: View, statistics: Statistics) -> Bid:
        """A view whose rows meet in one column, at less work for a shard than all of it."""
        if isinstance(_placed(asked.plan), str):
            return Refusal(self.name)
        return row_offer(self.name, row_cost=7.0)

    def key(self, registry: Registry, standing: Standing) -> NamedKey:
        """Views over the same streams keep their rows together if these are split alike."""
        return NamedKey(json.dumps(_columns(standing.view)))

    def takes(self, standing: Standing, shard: int, shards: int) -> bool:
        """Every shard has some of the rows."""
        return True

    def routes(self, registry: Registry, standing: Standing) -> Mapping[str, Distribution]:
        """Rows go by the column that they meet in."""
        return {stream: HashBy(columns) for stream, columns in _columns(standing.view).items()}

    def place(self, registry: Registry, view: View, shards: int) -> list[str]:
        """Views over the same streams live together."""
        return [f"placed on all of {shards} shards, with the views whose rows are split alike"]


_placed = lru_cache(maxsize=4096)(placed)


def _columns(view: View) -> dict[str, tuple[str, ...]]:
    found = _placed(view.plan)
    assert not isinstance(found, str), f"the rows of {view.name!r} cannot be split: {found}"
    return found


TECHNIQUE = PartitionedRelations()
