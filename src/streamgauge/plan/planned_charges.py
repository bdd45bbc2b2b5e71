"""Planned charges: which causes can widen the answers of a query, in the words of its answers."""

from __future__ import annotations

from collections.abc import Sequence

from streamgauge.contracts.causes import INTERRUPTION, LATE_ROWS, SMALL_MOVES
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.summary import named_model
from streamgauge.plan.technique import PlannedCharge, technique_of

__all__ = ["PlannedCharge", "planned"]


def planned(registry: Registry, standing: Standing) -> tuple[PlannedCharge, ...]:
    """The causes that can widen the answers of a query; none for one that answers with rows."""
    query = standing.asked
    if not isinstance(query, Query):
        return ()
    technique = technique_of(standing)
    found = [*technique.charges(registry, standing)]
    if not found:
        found = _small_moves(query)
    if _sees_late_rows(registry, query):
        found.append(PlannedCharge(LATE_ROWS))
    if technique.sees_silence(registry, standing):
        found.append(PlannedCharge(INTERRUPTION))
    return tuple(found)


def of_sketch(standing: Standing) -> tuple[PlannedCharge, ...]:
    """The error of the synopsis that a query is answered from."""
    model, contract = named_model(standing.model), standing.query.contract
    law = model.guarantee
    if law.law == "exact":
        return ()
    within = law.epsilon if law.law == contract.tolerance else contract.within
    return (PlannedCharge(model.name, law.delta, within),)


def words(charges: Sequence[PlannedCharge]) -> str:
    """Causes in a line, with the share of the chance to fail of those that have one.

    >>> words([PlannedCharge("gk", 0.05), PlannedCharge("b", instead="gk"), PlannedCharge("c")])
    'gk (5%) or b, c'
    """
    found = ""
    for charge in charges:
        chance = f" ({100.0 * charge.delta:.3g}%)" if charge.delta else ""
        link = " or " if charge.instead else ", " if found else ""
        found += f"{link}{charge.by}{chance}"
    return found or "none"


def _small_moves(query: Query) -> list[PlannedCharge]:
    """What an answer on change of something leaves out."""
    spared = min(query.answer.by, query.contract.within)
    return [PlannedCharge(SMALL_MOVES, within=spared)] if spared else []


def _sees_late_rows(registry: Registry, query: Query) -> bool:
    """Whether rows can come too late for its window; a list and a window of rows leave them out."""
    window = registry.window_of(query) if not query.parts else None
    counts_rows = window is not None and window.kind in ("rows", "partition")
    folded = all(registry.stream(name).late.policy == "revise" for name in query.streams)
    return not (counts_rows or folded or query.select.name == "top_k")
