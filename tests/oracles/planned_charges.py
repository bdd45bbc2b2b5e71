"""Planned charges: which causes can widen the answers of a query, in the words of its answers."""

from __future__ import annotations

from streamgauge.contracts.causes import INTERRUPTION, LATE_ROWS
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.technique import PlannedCharge, technique_of

__all__ = ["PlannedCharge", "planned"]


def planned(registry: Registry, standing: Standing) -> tuple[PlannedCharge, ...]:
    """The causes that can widen the answers of a query; none for one that answers with rows."""
    query = standing.asked
    if not isinstance(query, Query):
        return ()
    technique = technique_of(standing)
    found = [*technique.charges(registry, standing)]
    if _sees_late_rows(registry, query):
        found.append(PlannedCharge(LATE_ROWS))
    if technique.sees_silence(registry, standing):
        found.append(PlannedCharge(INTERRUPTION))
    return tuple(found)


def _sees_late_rows(registry: Registry, query: Query) -> bool:
    """Whether rows can come too late for its window; a list and a window of rows leave them out."""
    window = registry.window_of(query) if not query.parts else None
    counts_rows = window is not None and window.kind in ("rows", "partition")
    folded = all(registry.stream(name).late.policy == "revise" for name in query.streams)
    return not (counts_rows or folded or query.select.name == "top_k")
