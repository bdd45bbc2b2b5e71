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
from streamgauge.plan.across import AcrossStreams
from streamgauge.plan.deferral import Deferral, deferred
from streamgauge.plan.exact_work import ExactWork
from streamgauge.plan.filtered import Filtered
from streamgauge.plan.nodes import Node
from streamgauge.plan.offer import Offer, Refusal, Statistics, Technique
from streamgauge.plan.query import Cadence, Query
from streamgauge.plan.rewrites.join_size import join_size
from streamgauge.plan.rewrites.set_size import set_size
from streamgauge.plan.rewrites.top_list import top_list
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
# Plans over rows that become queries of numbers when a tolerance is given.
Rewrite: TypeAlias = Callable[[str, Node, Contract, Cadence], list[Query] | None]
REWRITES: tuple[Rewrite, ...] = (top_list, set_size, join_size)


def bids(query: Query, statistics: Statistics) -> tuple[list[Offer], list[Refusal]]:
    """What all techniques say to a query: offers, the least work first, and refusals."""
    # Who may leave rows out is asked nothing of those who look at all of them.
    able = TECHNIQUES if query.promise is None else (PROMISING,)
    said = [technique.offer(query, statistics) for technique in able]
    offers = [bid for bid in said if isinstance(bid, Offer)]
    offers.sort(key=lambda offer: (offer.row_cost, offer.nbytes))
    return offers, [bid for bid in said if isinstance(bid, Refusal)]


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


def chosen_model(query: Query, statistics: Statistics | None = None) -> str:
    """Name of the synopsis a query is answered from; empty where there is none."""
    if deferred(query) and query.memory is None:
        # Thousands are registered at once, and nobody else would be taken.
        return ""
    return taken(query, statistics).model


def nearest(query: Query, statistics: Statistics | None = None) -> Contract | None:
    """The contract nearest to the one asked for that some technique holds; None if there is none.

    The confidence gives way first, then the width, then what the width is measured in.
    """
    known = statistics or Statistics()
    for contract in _wider(query.contract):
        if bids(replace(query, contract=contract), known)[0]:
            return contract
    return None


def _wider(contract: Contract) -> Iterator[Contract]:
    """Contracts ever further from one."""
    sure = [contract.confidence, 0.99, 0.95, 0.9]
    easier = [c for c in dict.fromkeys(sure) if c <= contract.confidence]
    if contract.tolerance != "exact":
        for grown in (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 1000.0):
            width = contract.within * grown
            if contract.tolerance != "absolute" and width >= 1.0 and grown > 1.0:
                break
            for confidence in easier:
                yield replace(contract, within=width, confidence=confidence)
        for tolerance in ("rank", "relative"):
            if contract.within < 1.0:
                for confidence in easier:
                    yield replace(contract, tolerance=tolerance, confidence=confidence)
    yield replace(contract, tolerance="exact", within=0.0, confidence=1.0)


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
    return f"the nearest that can be held is {found}; EXACT or Contract.exact() keeps every value"


def _without_budget(query: Query, statistics: Statistics) -> str:
    if query.contract.tolerance == "exact":
        return "say how far off it may be, as in WITHIN 1 PERCENT, or leave BUDGET MEMORY out"
    offers, _ = bids(replace(query, memory=None), statistics)
    if not offers:
        return "leave BUDGET MEMORY out to see the nearest contract that can be held"
    return f"it takes BUDGET MEMORY {offers[0].nbytes} B to hold it; or ask for a wider bar"
