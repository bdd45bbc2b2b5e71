"""Costs: what summarising and probing take, as measured, and what a budget buys at that price."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from streamgauge.kernel.time import Duration
from streamgauge.promise.promise import Promise


@dataclass(frozen=True, slots=True)
class Costs:
    """Nanoseconds of one core.

    They are measured while a job runs and written into its journal, so that a replay does the
    same work whatever machine it runs on.

    Parameters
    ----------
    insert
        To take a row into the summaries.
    hit
        To look a row up in a region, with what it finds.
    raw
        To look a row up in the whole window without summaries.
    """

    insert: float = 300.0
    hit: float = 500.0
    raw: float = 500.0

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Allowance:
    """What one query may spend at each tick.

    Parameters
    ----------
    probes
        Probes a tick; None: as many as there are.
    insert
        Probes that taking one row into the summaries is worth; 0 where a budget counts probes.
    raw
        Probes that looking a row up without summaries is worth.

    Examples
    --------
    >>> tenth = Promise("desc", (), cpu=0.1)
    >>> Allowance.of(tenth, Costs(insert=250, hit=500, raw=500), tick=1_000_000)
    Allowance(probes=200000, insert=0.5, raw=1.0)
    """

    probes: int | None = None
    insert: float = 0.0
    raw: float = 1.0

    @classmethod
    def of(cls, promise: Promise, costs: Costs, tick: Duration) -> Allowance:
        """What a promise allows at measured costs; the tighter of its two budgets."""
        if promise.cpu is None:
            return cls(promise.probes)
        bought = int(promise.cpu * tick * 1000.0 / costs.hit)
        probes = bought if promise.probes is None else min(bought, promise.probes)
        return cls(probes, costs.insert / costs.hit, costs.raw / costs.hit)
