"""Planned charges: which causes can widen the answers of a query, in the words of its answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from streamgauge.contracts.causes import (
    BY_TIMER,
    BY_WATCH,
    FILTER,
    INTERRUPTION,
    LATE_ROWS,
    PROMISING,
)
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.sharing import BoundsKey, DeferralKey, PortfolioKey, piece_of
from streamgauge.plan.summary import named_model

# A timer is watched until its series are known well enough.
_REGIMES = {"watch": (BY_WATCH,)}


@dataclass(frozen=True, slots=True)
class PlannedCharge:
    """A cause that can widen an answer, and its share of the chance to fail."""

    by: str
    delta: float = 0.0


def planned(registry: Registry, standing: Standing) -> tuple[PlannedCharge, ...]:
    """The causes that can widen the answers of a query; none for one that answers with rows."""
    query = standing.asked
    if not isinstance(query, Query):
        return ()
    found = [*_own(registry, standing, query)]
    if _sees_late_rows(registry, query):
        found.append(PlannedCharge(LATE_ROWS))
    if _sees_silence(registry, standing, query):
        found.append(PlannedCharge(INTERRUPTION))
    return tuple(found)


def _own(registry: Registry, standing: Standing, query: Query) -> Iterator[PlannedCharge]:
    """What the technique adds that answers the query."""
    chance = 1.0 - query.contract.confidence
    if query.promise is not None:
        yield PlannedCharge(PROMISING, chance)
    elif standing.model:
        model = named_model(standing.model)
        if model.guarantee.law != "exact":
            yield PlannedCharge(model.name, model.guarantee.delta)
    else:
        key = piece_of(registry, standing)
        if isinstance(key, BoundsKey) and query.select.name != "count":
            yield PlannedCharge(FILTER)
        if isinstance(key, DeferralKey) and query.contract.tolerance != "exact":
            for name in _REGIMES.get(query.regime, (BY_WATCH, BY_TIMER)):
                yield PlannedCharge(name, chance)


def _sees_late_rows(registry: Registry, query: Query) -> bool:
    """Whether rows can come too late for its window; a list and a window of rows leave them out."""
    window = registry.window_of(query) if not query.parts else None
    counts_rows = window is not None and window.kind in ("rows", "partition")
    folded = all(registry.stream(name).late.policy == "revise" for name in query.streams)
    return not (counts_rows or folded or query.select.name == "top_k")


def _sees_silence(registry: Registry, standing: Standing, query: Query) -> bool:
    """Whether a silent series makes it uncertain: of latest values, with a gap or by bounds."""
    if query.parts or query.promise is not None or standing.model:
        return False
    key = piece_of(registry, standing)
    if isinstance(key, PortfolioKey):
        return registry.stream(query.stream).expected_gap is not None
    return isinstance(key, (BoundsKey, DeferralKey))
