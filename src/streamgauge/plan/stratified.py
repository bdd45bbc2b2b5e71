"""Stratified: aggregates of the most promising rows, with bars for those not looked at."""

from __future__ import annotations

from streamgauge.contracts.guarantee import Guarantee
from streamgauge.plan.offer import Bid, Offer, Refusal, Statistics
from streamgauge.plan.query import Query

# Rows, least and largest value of two columns and a sum, for a bucket of a pane.
STRATUM_BYTES = 6 * 8
LAW = "Hoeffding and Serfling over strata"


class Stratified:
    """Samples of the rows of each pane and bucket of values, as far as the budget goes.

    Its bars hold whatever the values are. How wide they are depends on how much was looked at and
    how far values lie apart, so that no width is known beforehand but the whole range.
    """

    name = "promising strata"

    def offer(self, query: Query, statistics: Statistics) -> Bid:
        """Bars that hold at the confidence that is owed, of the width that the budget allows."""
        if query.promise is None:
            return Refusal(self.name)
        if query.contract.tolerance == "rank" and query.select.name != "quantile":
            return Refusal(
                self.name,
                f"{query.select} has no rank to be wrong in",
                f"query {query.name!r} asks for {query.contract}",
            )
        law = Guarantee("additive", 1.0, 1.0 - query.contract.confidence, cite="S74")
        spends = f"as much as its bar says, by {LAW}"
        return Offer(self.name, law, STRATUM_BYTES, 1.0, spends)
