"""EXPLAIN of deferred queries: what is put off, how far, and which cells it has.

These lines say what was asked. What was measured since is told by EXPLAIN ANALYZE.
"""

from __future__ import annotations

from streamgauge.contracts.sureness import sureness
from streamgauge.drift.pools import pools_of
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Standing


def deferral_lines(
    standing: Standing, shared: str, capacity: int | None = None
) -> list[tuple[str, str]]:
    """Steps between the answer and the scan, outermost first."""
    query = standing.query
    lines = []
    if query.over is not None:
        lines.append((f"Extreme {query.over}", "of the value at every tick with rows"))
    chosen = f"by {query.regime}" if query.regime else "by timer or watch, chosen by cost"
    if query.contract.confidence == 1.0:
        chosen = "by watch"
    chosen += ", with trend" if query.trend else ""
    lines.append((f"Defer {query.select} {chosen}", f"spends {_spends(query)}, {shared}"))
    if capacity is not None:
        lines.append((f"Evaluate within CAPACITY {capacity:,}", f"spends 0, {_pools(capacity)}"))
    lines.append((f"Latest {query.select.x} of {_series(query)}", _cells(query)))
    return lines


def deferral_budget(query: Query) -> str:
    """What becomes of the error that is owed."""
    kept = f"kept back 0 of {query.contract.within:g}"
    if query.contract.confidence == 1.0:
        return f"{kept}: answers that moved less are not given again"
    missed = f"{100.0 * (1.0 - query.contract.confidence):.3g}%"
    if query.contract.throughout:
        return f"{kept}: in {missed} of the times between answers a tick may be further off"
    return f"{kept}: {missed} of the ticks with rows may be further off"


def _spends(query: Query) -> str:
    """Width, confidence and form of what is owed."""
    contract = query.contract
    if contract.tolerance == "exact":
        return "0"
    if contract.tolerance == "relative":
        width = f"{100.0 * contract.within:g}% of the value"
    else:
        width = f"{contract.within:g}"
    form = "throughout" if contract.throughout else "at each tick"
    if contract.confidence == 1.0:
        return f"{width} {form}"
    share = sureness(contract.confidence, over_time=True, throughout=contract.throughout)
    return f"{width} {form}, {share}"


def _pools(capacity: int) -> str:
    """How a capacity is divided."""
    n = pools_of(capacity)
    each = f"{capacity // n:,} values read a tick"
    return f"one pool of cells, {each}" if n == 1 else f"{n} pools of cells, each {each}"


def _series(query: Query) -> str:
    if query.members is not None:
        return f"the series of {query.members.table}"
    if query.series is None:
        return "all series"
    return f"{len(query.series)}{' weighted' if query.weights else ''} series"


def _cells(query: Query) -> str:
    if query.members is not None:
        return f"spends 0, members {query.members}"
    if query.group_by:
        return f"spends 0, one cell for each {', '.join(query.group_by)}"
    return "spends 0, one cell"
