"""Operators of deferred queries: new ones, and those that were stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from streamgauge.engine.operator import Arrays, Operator
from streamgauge.engine.pieces import Bench
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.technique import Load
from streamgauge.work.deferral.operator import DeferralOperator
from streamgauge.work.deferral.state import unpack_deferral
from streamgauge.work.deferral.technique import DeferralKey


def opened(
    key: DeferralKey, bench: Bench, registry: Registry, queries: Sequence[Standing]
) -> DeferralOperator:
    """A new operator."""
    return DeferralOperator(key)


def restored(
    prefix: str, values: dict[str, Any], arrays: Arrays, shard: int, shards: int
) -> DeferralOperator:
    """An operator from its stored state."""
    return DeferralOperator(**unpack_deferral(prefix, values, arrays, shard, shards))


def load_of(registry: Registry, standing: Standing, held: Sequence[Operator], series: int) -> Load:
    """Cells, and the series that each reads."""
    mine = [one for one in held if isinstance(one, DeferralOperator)]
    query = standing.query
    cells = max(1, sum(n for one in mine for number, _, n in one.who if number == standing.id))
    members = series if query.series is None else len(query.series)
    if query.cells:
        rosters = [one.roster for one in mine if one.roster is not None]
        linked = sum(len(roster.links.member) for roster in rosters) or series
        members = round(linked / cells)
    return Load("watched" if query.regime == "watch" else "deferred", cells, max(1, members))
