"""Filters at the sources: bars that the sources keep, and that cost a message only when left."""

from __future__ import annotations

from streamgauge.contracts.guarantee import EXACT, Guarantee
from streamgauge.plan.bounds import ANSWERED
from streamgauge.plan.offer import Bid, Offer, Refusal, Statistics
from streamgauge.plan.query import Query

# The last answer of a cell, as numbers; the bounds are shared by all queries.
CELL_BYTES = 9 * 8
# A row changes one bound; the teams of its series are worked out once for all their queries.
ROW_COST = 0.1


class Filtered:
    """Newest bounds of a stream with a width; what is owed is shared out among its sources."""

    name = "filters at the sources"

    def offer(self, query: Query, statistics: Statistics) -> Bid:
        """The width that is owed, for sure."""
        latest = query.window is None and not query.parts
        if not statistics.bounds or not latest or query.select.name not in ANSWERED:
            return Refusal(self.name)
        contract = query.contract
        if contract.tolerance == "exact":
            return Offer(self.name, EXACT, CELL_BYTES, ROW_COST, "nothing")
        law = contract.tolerance
        return Offer(
            self.name, Guarantee(law, contract.within, 0.0), CELL_BYTES, ROW_COST, str(contract)
        )
