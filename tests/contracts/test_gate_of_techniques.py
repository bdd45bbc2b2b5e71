"""Of every technique no offer reaches a query but through the gate: its law holds what is owed."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

import streamgauge as sg
from streamgauge.contracts.contract import Contract
from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.errors import StreamgaugeError
from streamgauge.operators.aggregate import Aggregate, frequency, top_k
from streamgauge.operators.expression import column
from streamgauge.plan.bidding import bids, taken
from streamgauge.plan.offer import Offer, Statistics
from streamgauge.plan.over import Over
from streamgauge.plan.part import Part
from streamgauge.plan.query import Query
from streamgauge.plan.technique import Technique, techniques
from streamgauge.promise.promise import Promise

MINUTE = sg.Range("1 minute")
BUDGET = Promise("desc", (column("x"),), probes=10)
SELECTS = (
    sg.count(), sg.avg("x"), sg.total("x"), sg.quantile("x", 0.5), sg.distinct("x"),
    frequency("x", "a"), top_k("x", 5),
    Aggregate("set_size", argument="p0 & p1"), Aggregate("join_size", argument="p0 = p1"),
)  # fmt: skip
SHAPES: dict[str, dict[str, Any]] = {
    "latest": {"window": sg.Latest()},
    "listed": {"series": ("a", "b")},
    "grouped": {"group_by": "g"},
    "extreme": {"series": ("a",), "over": Over("max", sg.Range("30 s"))},
    **{
        window.kind: {"window": window, "answer": sg.every("1 s")}
        for window in (
            sg.Now(),
            MINUTE,
            sg.Landmark("2026-01-01"),
            sg.Rows(5),
            sg.Partition("k", 1),
            sg.Decay("5 s"),
        )
    },
    "all": {"window": sg.Unbounded(), "answer": sg.every("1 s")},
    "groups": {"window": MINUTE, "group_by": "g"},
    "two streams": {"parts": tuple(Part(f"s{i}", MINUTE, (column("x"),)) for i in range(2))},
    "budgeted": {"window": MINUTE, "promise": BUDGET},
    "budgeted rows": {"window": sg.Rows(5), "promise": BUDGET},
}  # fmt: skip
CONTRACTS = (
    Contract.exact(),
    *(
        Contract(tolerance, within, confidence)
        for tolerance in ("relative", "rank", "absolute")
        for within in (0.1, 1e-6)
        for confidence in (0.9, 1.0)
    ),
)


def queries() -> list[Query]:
    found = []
    for select, shape, contract in product(SELECTS, SHAPES.values(), CONTRACTS):
        if ("parts" in shape) != (select.name in ("set_size", "join_size")):
            continue
        try:
            found.append(Query("q", "s0", select, contract=contract, **shape))
        except StreamgaugeError:
            continue
    return found


@pytest.mark.slow
@pytest.mark.parametrize("bounds", [False, True])
def test_who_is_taken_holds_what_is_owed_and_who_does_not_is_refused(bounds: bool) -> None:
    by_name = {known.name: known for known in techniques()}
    statistics, offering = Statistics(bounds=bounds), set()
    for query in queries():
        question = query.select.question()
        offers, _ = bids(query, statistics)
        for offer in offers:
            known = by_name[offer.technique]
            assert not known.rows
            assert known.budgeted == (query.promise is not None), (query, offer)
            assert offer.guarantee.holds(known.owed(query), question), (query, offer)
            offering.add(known.name)
        if offers:
            assert taken(query, statistics) == offers[0]
    numbers = {known.name for known in techniques() if not known.rows}
    # The newest values are answered by bounds where sources keep some.
    absent = {"latest values", "deferral"} if bounds else {"source bounds"}
    assert offering == numbers - absent


@pytest.mark.parametrize("known", [k for k in techniques() if not k.rows], ids=lambda k: k.name)
def test_an_offer_that_holds_less_than_is_owed_is_refused(
    known: Technique, monkeypatch: pytest.MonkeyPatch
) -> None:
    worse = Guarantee("additive", 0.5, 0.5)
    offer = Offer(known.name, worse, 0, 0.0, "nothing")
    monkeypatch.setattr(type(known), "offer", lambda *_: offer)
    stopped = 0
    for query in queries():
        if (query.promise is not None) == known.budgeted:
            offers, refusals = bids(query, Statistics())
            assert offer not in offers
            stopped += known.name in [refusal.technique for refusal in refusals]
    assert stopped > 10
