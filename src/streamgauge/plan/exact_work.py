"""Exact work: latest values, panes, rings and decaying sums, which spend nothing of the error."""

from __future__ import annotations

from streamgauge.contracts.guarantee import EXACT
from streamgauge.operators.accumulate import FIELDS
from streamgauge.plan.offer import Bid, Offer, Refusal, Statistics
from streamgauge.plan.query import Query


class ExactWork:
    """Aggregates that an accumulator answers, from latest values or from windows."""

    name = "exact panes"

    def offer(self, query: Query, statistics: Statistics) -> Bid:
        """Exact answers, which hold any contract on the value."""
        if query.select.summary or _of_cells(query):
            return Refusal(self.name)
        if query.contract.tolerance == "rank":
            return Refusal(
                self.name,
                f"{query.select} has no rank to be wrong in",
                f"query {query.name!r} asks for {query.contract}",
            )
        return Offer(self.name, EXACT, 8 * FIELDS, 1.0, "nothing")


def _of_cells(query: Query) -> bool:
    """Extremes of latest values, and families and groups of them, are deferred."""
    latest = query.window is None and not query.parts
    return latest and bool(query.over or query.members or query.group_by)
