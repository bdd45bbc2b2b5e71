"""Deferral: a query over latest values is brought up to date when a model of its drift says so."""

from __future__ import annotations

from streamgauge.contracts.guarantee import EXACT, Guarantee
from streamgauge.plan.latest import deferred
from streamgauge.plan.offer import Bid, Offer, Refusal, Statistics
from streamgauge.plan.query import Query

__all__ = ["Deferral", "deferred", "fidelity"]

# Last answer, its tick, deadline, credit, hits, misses, drift and variance, as numbers.
CELL_BYTES = 8 * 8
# A row moves its series once for all queries; members are read when a cell is due, which for a
# timer on a random walk is at 2 to 25 ticks in 100.
ROW_COST = 0.25
ASSUMES = "fidelity over time: share of ticks with rows"


def fidelity(query: Query) -> Guarantee:
    """The law of a deferred query, over the ticks at which its stream has rows.

    Examples
    --------
    >>> from streamgauge.contracts.contract import Contract
    >>> from streamgauge.operators.aggregate import avg
    >>> owed = Contract.relative(0.01, confidence=0.9)
    >>> fidelity(Query("heat", "plant", avg("value"), contract=owed)).assumes
    ('fidelity over time: share of ticks with rows',)
    """
    contract = query.contract
    if contract.tolerance == "exact":
        return EXACT
    law = contract.tolerance
    chance = round(1.0 - contract.confidence, 12)
    return Guarantee(law, contract.within, chance, assumes=(ASSUMES,))


class Deferral:
    """Cells of latest values that are evaluated at deadlines, or watched on a credit of misses."""

    name = "deferral"

    def offer(self, query: Query, statistics: Statistics) -> Bid:
        """The width that is owed, over the share of ticks that is owed."""
        if not deferred(query):
            return Refusal(self.name)
        law = fidelity(query)
        spends = "nothing" if law is EXACT else f"{query.owed}, over ticks with rows"
        return Offer(self.name, law, CELL_BYTES, ROW_COST, spends)
