"""Allowances: what each promising query may spend at a tick."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from streamgauge.kernel.time import Duration
from streamgauge.plan.query import Query
from streamgauge.plan.standing import Standing
from streamgauge.plan.view import View
from streamgauge.promise.costs import Allowance, Kind
from streamgauge.promise.promise import Promise

if TYPE_CHECKING:
    from streamgauge.plan.registry import Registry


def promise_of(standing: Standing) -> Promise:
    """What a promising query prefers."""
    promise = standing.asked.promise
    assert promise is not None, f"{standing.name!r} prefers nothing"
    return promise


def kind_of(asked: Query | View) -> Kind:
    """Whose prices a promising query pays: join, selection or aggregate."""
    assert asked.promise is not None, f"{asked.name!r} prefers nothing"
    if isinstance(asked, Query):
        return "aggregate"
    return "join" if len(asked.promise.summaries) > 1 else "selection"


def tick_of(registry: Registry, standing: Standing) -> Duration:
    """The largest tick that divides those of all streams of a query."""
    return math.gcd(*(registry.stream(name).tick for name in standing.asked.streams))


def allowances(registry: Registry) -> dict[str, Allowance]:
    """What each promising query may spend at each of its ticks, by name.

    Its own budget, where it states one. Else its even share of the capacity of its streams, among
    the promising queries that read them and state no budget; the tightest, where several streams
    state a capacity. Else there is no limit.
    """
    asking = [one for one in registry.queries.values() if one.asked.promise is not None]
    sharing: dict[str, list[str]] = {}
    for standing in sorted(asking, key=lambda one: one.id):
        if not promise_of(standing).bounded:
            for name in standing.asked.streams:
                sharing.setdefault(name, []).append(standing.name)
    turns = {
        (stream, name): turn for stream, names in sharing.items() for turn, name in enumerate(names)
    }
    return {one.name: _allowance(registry, one, sharing, turns) for one in asking}


def _allowance(
    registry: Registry,
    standing: Standing,
    sharing: dict[str, list[str]],
    turns: dict[tuple[str, str], int],
) -> Allowance:
    promise = promise_of(standing)
    if promise.bounded:
        prices = registry.costs.of(kind_of(standing.asked))
        return Allowance.of(promise, prices, tick_of(registry, standing))
    shares = []
    for name in standing.asked.streams:
        capacity = registry.stream(name).capacity
        if capacity is not None:
            turn = turns[name, standing.name]
            shares.append(Allowance.shared(capacity, turns=len(sharing[name]), turn=turn))
    return min(shares, key=_size, default=Allowance())


def _size(share: Allowance) -> float:
    """Probes of a share, on average over a round."""
    assert share.probes is not None, "a share of a capacity has a limit"
    return share.probes + share.spare / share.turns
