"""Promise: what a query prefers when it cannot have everything, and what it may spend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from streamgauge.kernel.errors import BindError
from streamgauge.operators.expression import Expr

ORDERS = ("asc", "desc", "weighted")
# More is no budget: no tick has so many rows, no machine so many cores.
MOST_PROBES = 10**12
MOST_CORES = 10**6


@dataclass(frozen=True, slots=True)
class Promise:
    """A preference and a budget, as a value.

    Parameters
    ----------
    order
        desc: regions that promise most first; weighted: work shared in the ratio of what regions
        promise; asc: those that promise least, but something, first.
    exprs
        What a region promises: one expression for all of them, or one for each stream of a join.
        Estimates in it are `Expr("estimate", (column,), "count" or "frequency")`.
    fade
        A region that is `i` granularities old promises `fade ** i` of what it would.
    probes
        Probes a tick; None when nothing was said.
    cpu
        Cores; None when nothing was said.
    summaries
        For each source of the query, by its alias, the summary it is judged by.

    Examples
    --------
    >>> item = Expr("estimate", (Expr("column", value="item"),), "count")
    >>> promise = Promise("desc", (item,), probes=100, summaries=(("sales", "items"),))
    >>> Promise.from_dict(promise.as_dict()) == promise
    True
    """

    order: str
    exprs: tuple[Expr, ...]
    fade: float = 1.0
    probes: int | None = None
    cpu: float | None = None
    summaries: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if self.order not in ORDERS or not 0.0 < self.fade <= 1.0:
            raise BindError(
                "a preference is ASC, DESC or WEIGHTED, and fades by a factor in (0, 1]",
                f"got {self.order.upper()}, FADE FACTOR {self.fade:g}",
                "write WITH PREFERENCE DESC COUNT(item) FADE FACTOR 0.8",
            )
        if (self.probes is not None and self.probes < 1) or (
            self.cpu is not None and self.cpu <= 0.0
        ):
            raise BindError(
                "a budget lets something be done",
                f"got {self.probes} probes a tick, {self.cpu} cores",
                "write BUDGET PROBES 100, or BUDGET CPU 0.2",
            )
        if (self.probes or 0) > MOST_PROBES or not (self.cpu or 0.0) <= MOST_CORES:
            raise BindError(
                "a budget bounds what is done",
                f"got {self.probes} probes a tick, {self.cpu} cores; at most {MOST_PROBES:,} "
                f"probes or {MOST_CORES:,} cores",
                "leave BUDGET out: without one there is no limit",
            )

    @property
    def bounded(self) -> bool:
        """Whether it says itself what it may spend."""
        return self.probes is not None or self.cpu is not None

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "order": self.order,
            "exprs": [expr.as_json() for expr in self.exprs],
            "fade": self.fade,
            "probes": self.probes,
            "cpu": self.cpu,
            "summaries": [list(pair) for pair in self.summaries],
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Promise:
        """Read the JSON form."""
        return cls(
            data["order"],
            tuple(Expr.from_json(expr) for expr in data["exprs"]),
            data["fade"],
            data["probes"],
            data["cpu"],
            tuple((alias, name) for alias, name in data["summaries"]),
        )
