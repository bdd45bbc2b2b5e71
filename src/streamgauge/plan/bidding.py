"""Bidding: which techniques offer to hold the contract of a query, and whose offer is taken.

Each technique (`plan/technique.py`) looks at a query and offers to hold its contract, or says what
keeps it from that. Of the offers the one with the least work for a row is taken, of those the
smallest, and the technique that made it answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeAlias

from streamgauge.contracts.contract import Contract
from streamgauge.kernel.errors import BindError, ContractUnsatisfiable
from streamgauge.plan.nodes import Node
from streamgauge.plan.offer import Bid, Offer, Refusal, Statistics
from streamgauge.plan.query import Cadence, Query
from streamgauge.plan.rewrites.join_size import join_size
from streamgauge.plan.rewrites.set_size import set_size
from streamgauge.plan.rewrites.top_list import top_list
from streamgauge.plan.technique import Technique, techniques, techniques_for
from streamgauge.plan.view import View

# The share that is named where the width asked for is no share.
USUAL = 0.01
# Plans over rows that become queries of numbers when a tolerance is given.
Rewrite: TypeAlias = Callable[[str, Node, Contract, Cadence], list[Query] | None]
REWRITES: tuple[Rewrite, ...] = (top_list, set_size, join_size)


def bids(asked: Query | View, statistics: Statistics) -> tuple[list[Offer], list[Refusal]]:
    """What techniques say to a query: offers, the least work first, and refusals.

    Who may leave rows out is asked nothing of those who look at all of them.
    """
    able = techniques_for(rows=isinstance(asked, View), budgeted=asked.promise is not None)
    said = [_gated(known, asked, known.offer(asked, statistics), statistics) for known in able]
    offers = [bid for bid in said if isinstance(bid, Offer)]
    offers.sort(key=lambda offer: (offer.row_cost, offer.nbytes))
    return offers, [bid for bid in said if isinstance(bid, Refusal)]


def _gated(known: Technique, asked: Query | View, bid: Bid, statistics: Statistics) -> Bid:
    """An offer, if its law holds what is owed."""
    # Rows are given as they are: no number of them can be wrong.
    if not isinstance(bid, Offer) or isinstance(asked, View):
        return bid
    if bid.guarantee.holds(known.owed(asked), asked.select.question(), statistics.rows):
        return bid
    what = f"{bid.technique} does not hold {asked.select} {asked.contract}"
    return Refusal(bid.technique, what, f"its error is {bid.guarantee}")


def taken(asked: Query | View, statistics: Statistics | None = None) -> Offer:
    """The offer that is taken, or ContractUnsatisfiable with the nearest contract that is not.

    Examples
    --------
    >>> from streamgauge.operators.aggregate import avg, distinct
    >>> from streamgauge.windows.window import Range
    >>> taken(Query("heat", "plant", avg("value"))).technique
    'latest values'
    >>> taken(Query("users", "web", distinct("user"), window=Range("1 minute"))).technique
    'sketches over windows'
    """
    known = statistics or Statistics()
    offers, refusals = bids(asked, known)
    if offers:
        return offers[0]
    binding = next((refusal for refusal in refusals if refusal.reason), None)
    if binding is None or isinstance(asked, View):
        raise BindError(
            f"no technique answers query {asked.name!r}",
            f"it asks {asked}; known are {', '.join(t.name for t in techniques())}",
            "ask for something else, or install a release that answers it",
        )
    raise ContractUnsatisfiable(binding.reason, binding.detail, _hint(asked, known))


def chosen_model(query: Query, statistics: Statistics | None = None) -> str:
    """Name of the synopsis a query is answered from; empty where there is none."""
    return taken(query, statistics).model


def nearest(query: Query, statistics: Statistics | None = None) -> Contract | None:
    """The contract nearest to the one asked for that some technique holds; None if there is none.

    The confidence gives way first, then the width, then what the width is measured in.
    """
    known = statistics or Statistics()

    def held(contract: Contract) -> bool:
        return bool(bids(replace(query, contract=contract), known)[0])

    for contracts in _wider(query.contract):
        # The last is the easiest of its unit: where it is not held, none is.
        if held(contracts[-1]):
            return next(contract for contract in contracts if held(contract))
    return None


def _wider(contract: Contract) -> Iterator[list[Contract]]:
    """Contracts ever further from one, unit by unit."""
    sure = [contract.confidence, 0.99, 0.95, 0.9]
    easier = [c for c in dict.fromkeys(sure) if c <= contract.confidence]
    if contract.tolerance != "exact":
        shares = contract.tolerance != "absolute"
        factors = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 1000.0)
        grown = [float(f"{contract.within * by:.12g}") for by in factors]
        widths = [width for width in grown if not shares or width < 1.0] or [contract.within]
        yield [
            replace(contract, within=width, confidence=confidence)
            for width in widths
            for confidence in easier
        ]
        share = contract.within if shares and contract.within < 1.0 else USUAL
        for tolerance in ("rank", "relative"):
            yield [
                replace(contract, tolerance=tolerance, within=width, confidence=confidence)
                for width in (share, 2.0 * share, 5.0 * share, 10.0 * share)
                if width < 1.0
                for confidence in easier
            ]
    yield [replace(contract, tolerance="exact", within=0.0, confidence=1.0)]


def _hint(query: Query, statistics: Statistics) -> str:
    found = nearest(query, statistics)
    if found is None and query.memory is not None:
        return _without_budget(query, statistics)
    if found is None:
        return "leave the contract out and ask for another aggregate"
    if found.tolerance == "exact":
        return (
            "ask for exact answers, EXACT or Contract.exact(); on_change(e) already spares answers "
            "that moved less"
        )
    return (
        f"the nearest that can be held is {found}: write {found.written()}; or EXACT, "
        "Contract.exact(), which keeps every value"
    )


def _without_budget(query: Query, statistics: Statistics) -> str:
    if query.contract.tolerance == "exact":
        return "say how far off it may be, as in WITHIN 1 PERCENT, or leave BUDGET MEMORY out"
    offers, _ = bids(replace(query, memory=None), statistics)
    if not offers:
        return "leave BUDGET MEMORY out to see the nearest contract that can be held"
    return f"it takes BUDGET MEMORY {offers[0].nbytes} B to hold it; or ask for a wider bar"
