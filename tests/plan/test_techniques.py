"""Techniques: whose offer is taken, and what a refusal says."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.contracts.contract import Contract
from streamgauge.contracts.guarantee import EXACT, Guarantee
from streamgauge.kernel.errors import ContractUnsatisfiable
from streamgauge.operators.aggregate import avg, count_when, distinct, quantile, sum_when
from streamgauge.plan import technique
from streamgauge.plan.bidding import bids, chosen_model, nearest, taken
from streamgauge.plan.budget import shares
from streamgauge.plan.offer import Bid, Offer, Refusal, Statistics
from streamgauge.plan.query import Query
from streamgauge.plan.summary import named_model
from streamgauge.windows.window import Range

pytestmark = pytest.mark.slow

MINUTE = Range("1 minute")
SKETCHES = "sketches over windows"


def ask(select: object, contract: Contract | None = None) -> Query:
    return Query("q", "s", select, window=MINUTE, contract=contract or Contract.exact())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("query", "technique", "model"),
    [
        (ask(avg("x")), "windows of time", ""),
        (ask(distinct("x")), SKETCHES, "exact"),
        (ask(count_when("x", ">", "avg")), SKETCHES, "kept_pairs"),
        (
            ask(quantile("x", 0.9), Contract.relative(0.01)),
            SKETCHES,
            "log_histogram",
        ),
        (
            ask(count_when("x", ">", "avg"), Contract.rank(0.01)),
            SKETCHES,
            "cut_rank",
        ),
    ],
    ids=["avg", "distinct", "compared", "quantile", "compared within"],
)
def test_the_contract_decides_who_answers(query: Query, technique: str, model: str) -> None:
    offer = taken(query)
    assert offer.technique == technique
    assert offer.model == chosen_model(query)
    assert (json.loads(offer.model)[0] if offer.model else "") == model
    assert not offer.model or named_model(offer.model).guarantee == offer.guarantee
    assert (offer.guarantee == EXACT) == (query.contract.tolerance == "exact")


@pytest.mark.parametrize(
    ("query", "nearby"),
    [
        (ask(avg("x"), Contract.rank(0.01)), Contract.relative(0.01)),
        (ask(distinct("x"), Contract.relative(0.05)), Contract.relative(0.05, confidence=0.99)),
        (
            ask(count_when("x", ">", "avg"), Contract.relative(0.05, confidence=0.9)),
            Contract.rank(0.05, confidence=0.9),
        ),
        (ask(sum_when("y", "x", ">", "avg"), Contract.rank(0.01)), Contract.exact()),
    ],
    ids=["avg", "distinct", "count when", "sum when"],
)
def test_a_refusal_names_the_nearest_contract_that_is_held(query: Query, nearby: Contract) -> None:
    assert nearest(query) == nearby
    with pytest.raises(ContractUnsatisfiable) as refused:
        taken(query)
    text = "Contract.exact()" if nearby == Contract.exact() else str(nearby)
    assert text in refused.value.hint
    assert taken(replace(query, contract=nearby)).guarantee.delta <= 1.0 - nearby.confidence + 1e-12


class Sampled(technique.Technique):
    """A technique as a later release might bring one."""

    name = "sampled"

    def offer(self, asked: Query, statistics: Statistics) -> Bid:
        if asked.contract.tolerance != "absolute":
            return Refusal(self.name)
        law = Guarantee("absolute", asked.contract.within, 0.05)
        return Offer(self.name, law, 8 * statistics.groups, 0.1, str(law))


TECHNIQUE = Sampled()


def test_a_new_technique_needs_one_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    query = ask(avg("x"), Contract.absolute(0.5, confidence=0.95))
    assert taken(query).technique == "windows of time"
    monkeypatch.setattr(technique, "TECHNIQUES", (*technique.TECHNIQUES, __name__))
    assert taken(query).technique == "sampled"
    offers, refusals = bids(query, Statistics())
    assert sorted(offer.technique for offer in offers) == ["sampled", "windows of time"]
    asked = {known.name for known in technique.techniques() if not (known.rows or known.budgeted)}
    assert {refusal.technique for refusal in refusals} == asked - {"sampled", "windows of time"}


@given(st.floats(0.5, 1.0), st.integers(1, 50))
def test_shares_fail_no_more_often_than_the_whole(confidence: float, n: int) -> None:
    whole = Contract.relative(0.1, confidence=confidence)
    parts = shares(whole, n)
    assert len(parts) == n
    assert sum(1.0 - part.confidence for part in parts) <= 1.0 - confidence + 1e-9
    assert {part.within for part in parts} == {0.1}
