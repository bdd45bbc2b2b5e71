"""Rescale: the record that gives a home another number of shards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streamgauge.kernel.errors import BindError
from streamgauge.plan.distribution import HashBy
from streamgauge.plan.keeping import changing_in, holds
from streamgauge.plan.technique import technique_of
from streamgauge.plan.view import View

if TYPE_CHECKING:
    from streamgauge.plan.registry import Registry

# A shard owns at least one of the buckets that groups lie in.
MOST = 4096


def checked_shards(shards: Any) -> int:
    """A number of shards, or BindError.

    >>> checked_shards(3)
    3
    """
    if isinstance(shards, int) and not isinstance(shards, bool) and 1 <= shards <= MOST:
        return shards
    raise BindError(
        f"a data directory cannot have {shards!r} shards",
        f"a number from 1 to {MOST} is needed",
        "take about as many as there are cores",
    )


def refuse_split_groups(registry: Registry) -> None:
    """Raise where a view whose rows are split between shards keeps groups instead of rows."""
    for standing in registry.queries.values():
        if not isinstance(standing.asked, View):
            continue
        changing = changing_in({name: registry.stream(name) for name in standing.view.streams})
        routes = technique_of(standing).routes(registry, standing).values()
        split = any(isinstance(route, HashBy) for route in routes)
        if split and any(holds(node, changing) for node in standing.view.plan.walk()):
            raise BindError(
                f"groups of query {standing.name!r} cannot be taken to other shards",
                "it keeps them over all rows so far, on the shards that there are",
                "drop it, rescale, and register it again WITH HISTORY",
            )
