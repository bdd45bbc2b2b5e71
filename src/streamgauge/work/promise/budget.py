"""Work budgets: what queries may spend, and what was spent."""

from __future__ import annotations

import time
from collections.abc import Sequence

from streamgauge.engine.operator import Measures, Site
from streamgauge.plan.allowances import allowances
from streamgauge.plan.registry import Registry
from streamgauge.promise.costs import Allowance, Kind, Spent
from streamgauge.promise.figures import Figures

LOOKED_AT = "rows that are looked at by promise"


def stopwatch() -> Spent:
    """Count what is spent, by the time of this thread on a core."""
    return Spent(time.thread_time_ns)


def allowed(site: Site, registry: Registry) -> dict[str, Allowance]:
    """What each query may spend at each of its ticks, by name."""
    return site.once("allowances", lambda: allowances(registry))


def measured(kind: Kind, spent: Spent, figures: Sequence[Figures]) -> Measures:
    """What queries of a kind have spent since the last time, and how far they reached."""
    taken = {f"{kind}.{name}": n for name, n in spent.take().items() if n}
    overloaded = sum(each.overloaded for each in figures)
    return Measures(0, overloaded, min((each.share for each in figures), default=1.0), taken)
