"""Techniques: who can answer a query, and whose offer is taken.

A technique is a file and a line in `TECHNIQUES`. It looks at a query and offers to hold its
contract, or says what keeps it from that. Of the offers the one with the least work for a row is
taken, of those the smallest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeAlias

from streamgauge.contracts.contract import Contract
from streamgauge.kernel.errors import ContractUnsatisfiable
from streamgauge.plan.across import AcrossStreams, asked_across
from streamgauge.plan.deferral import Deferral, deferred
from streamgauge.plan.exact_work import ExactWork
from streamgauge.plan.filtered import Filtered
from streamgauge.plan.nodes import Node
from streamgauge.plan.offer import Bid, Offer, Refusal, Statistics, Technique
from streamgauge.plan.query import Cadence, Query
from streamgauge.plan.rewrites.join_size import join_size
from streamgauge.plan.rewrites.set_size import set_size
from streamgauge.plan.rewrites.top_list import top_list
from streamgauge.plan.seeds import kept_whole
from streamgauge.plan.stratified import Stratified
from streamgauge.plan.summary import KeptValues, Synopses

TECHNIQUES: tuple[Technique, ...] = (
    ExactWork(),
    Filtered(),
    Deferral(),
    KeptValues(),
    Synopses(),
    AcrossStreams(),
)
PROMISING: Technique = Stratified()
# The share that is named where the width asked for is no share.
USUAL = 0.01
# Plans over rows that become queries of numbers when a tolerance is given.
Rewrite: TypeAlias = Callable[[str, Node, Contract, Cadence], list[Query] | None]
REWRITES: tuple[Rewrite, ...] = (top_list, set_size, join_size)


def bids(query: Query, statistics: Statistics) -> tuple[list[Offer], list[Refusal]]:
    """What all techniques say to a query: offers, the least work first, and refusals."""
    # Who may leave rows out is asked nothing of those who look at all of them.
    able = TECHNIQUES if query.promise is None else (PROMISING,)
    said = [_gated(query, technique.offer(query, statistics), statistics) for technique in able]
    offers = [bid for bid in said if isinstance(bid, Offer)]
    offers.sort(key=lambda offer: (offer.row_cost, offer.nbytes))
    return offers, [bid for bid in said if isinstance(bid, Refusal)]


def _gated(query: Query, bid: Bid, statistics: Statistics) -> Bid:
    """An offer that holds the contract; under a work budget any, since that decides the width."""
    if not isinstance(bid, Offer) or query.promise is not None:
        return bid
    question = asked_across(query) if query.parts else query.select.question()
    owed = query.contract if bid.technique == Deferral.name else query.contract.at_once()
    if bid.guarantee.holds(owed, question, statistics.rows):
        return bid
    what = f"{bid.technique} does not hold {query.select} {query.contract}"
    return Refusal(bid.technique, what, f"its error is {bid.guarantee}")


def taken(query: Query, statistics: Statistics | None = None) -> Offer:
    """The offer that is taken, or ContractUnsatisfiable with the nearest contract that is not.

    Examples
    --------
    >>> from streamgauge.operators.aggregate import avg, distinct
    >>> from streamgauge.windows.window import Range
    >>> taken(Query("heat", "plant", avg("value"))).technique
    'exact panes'
    >>> taken(Query("users", "web", distinct("user"), window=Range("1 minute"))).technique
    'kept values'
    """
    known = statistics or Statistics()
    offers, refusals = bids(query, known)
    if offers:
        return offers[0]
    binding = next(refusal for refusal in refusals if refusal.reason)
    raise ContractUnsatisfiable(binding.reason, binding.detail, _hint(query, known))


def chosen(query: Query, statistics: Statistics | None = None) -> tuple[str, str]:
    """Name of the technique that answers a query, and of the synopsis it keeps; "" for none."""
    known = statistics or Statistics()
    if deferred(query) and query.memory is None:
        # Thousands are registered at once, and nobody else would be taken.
        return answering(query, "", bounds=known.bounds), ""
    offer = taken(query, known)
    return offer.technique, offer.model


def chosen_model(query: Query, statistics: Statistics | None = None) -> str:
    """Name of the synopsis a query is answered from; empty where there is none."""
    return chosen(query, statistics)[1]


def answering(query: Query, model: str, *, bounds: bool) -> str:
    """Who answers a query, told by what it asks and keeps; nothing is chosen.

    Examples
    --------
    >>> from streamgauge.operators.aggregate import avg
    >>> answering(Query("heat", "plant", avg("value")), "", bounds=False)
    'exact panes'
    """
    if query.promise is not None:
        return PROMISING.name
    if query.parts:
        return AcrossStreams.name
    if model:
        return KeptValues.name if kept_whole(model) else Synopses.name
    if bounds and query.window is None:
        return Filtered.name
    return Deferral.name if deferred(query) else ExactWork.name


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
