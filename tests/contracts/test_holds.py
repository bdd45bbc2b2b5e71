"""One gate for all choices: a law holds a contract only in the unit that the contract is in."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Iterator
from typing import Self

import pytest

from streamgauge.contracts.contract import Contract
from streamgauge.contracts.guarantee import EXACT, LAWS, Guarantee
from streamgauge.kernel.errors import BindError, ContractUnsatisfiable
from streamgauge.operators.aggregate import (
    Aggregate,
    avg,
    count,
    distinct,
    frequency,
    quantile,
    self_join,
    top_k,
)
from streamgauge.operators.expression import column
from streamgauge.plan.bidding import bids, nearest, taken
from streamgauge.plan.offer import Statistics
from streamgauge.plan.part import Part
from streamgauge.plan.query import Query
from streamgauge.synopses import registry
from streamgauge.synopses.choose import choose, sized_model
from streamgauge.synopses.histograms.haar import Haar
from streamgauge.synopses.questions import (
    Count,
    Distance,
    Distinct,
    DominanceNorm,
    Frequency,
    HeavyHitters,
    Max,
    Mean,
    Min,
    Moment,
    Quantile,
    Question,
    RangeCount,
    RangeSum,
    Rank,
    Sum,
    TopK,
    Variance,
)
from streamgauge.synopses.synopsis import MOST_BYTES, Expiring, Need, Synopsis
from streamgauge.windows.window import Range
from streamgauge.work.summaries.offers import STANDING

MINUTE = Range("1 minute")
QUESTIONS: tuple[Question, ...] = (
    Count(), Sum(), Mean(), Variance(), Min(), Max(), Quantile(0.5), Rank(0.0), RangeCount(0, 9),
    RangeSum(0, 9), Frequency(3), Distinct(), Moment(2.0), HeavyHitters(0.1), TopK(5),
    Distance(None), DominanceNorm(),
)  # fmt: skip
CONTRACTS = tuple(
    Contract(tolerance, within, confidence)
    for tolerance in ("relative", "rank", "absolute")
    for within in (0.1, 1e-5, 1e-9)
    for confidence in (0.95, 1.0)
)
COUNTED = (Count, Rank, RangeCount, RangeSum, Frequency, HeavyHitters, TopK, Distinct)
KNOWN = {"universe": (0, 10**8), "rows": 10**8}


def needs(kind: type[Synopsis]) -> Iterator[Need]:
    window = 1000 if issubclass(kind, Expiring) else None
    for question in QUESTIONS:
        if isinstance(question, kind.answers):
            for contract in CONTRACTS:
                yield Need(question, contract, window=window)
                yield Need(question, contract, window=window, **KNOWN)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize(
    "family", sorted({k.__module__.split(".")[2] for k in registry().values()})
)
def test_no_kind_is_sized_for_a_contract_in_another_unit_or_beyond_memory(family: str) -> None:
    kinds = [k for k in registry().values() if k.__module__.split(".")[2] == family]
    tracemalloc.start()
    try:
        for kind in kinds:
            for need in needs(kind):
                tracemalloc.reset_peak()
                before = tracemalloc.get_traced_memory()[0]
                try:
                    law = kind.sized_for(need).guarantee_for(need)
                except (ContractUnsatisfiable, BindError, NotImplementedError):
                    law = EXACT
                told = f"{kind.name}, {need.question}, {need.contract}: {law}"
                assert law.holds(need.contract, need.question, need.most), told
                assert tracemalloc.get_traced_memory()[1] - before < 2.1 * MOST_BYTES, told
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: type(question).__name__)
def test_a_law_holds_a_contract_in_its_own_unit_alone(law: str, question: Question) -> None:
    held = {
        tolerance: Guarantee(law, 0.01, 0.05).holds(Contract(tolerance, 0.01, 0.95), question)
        for tolerance in ("relative", "rank", "absolute")
    }
    counted, ordered = isinstance(question, COUNTED), isinstance(question, Quantile | Min | Max)
    exact, count = law == "exact", isinstance(question, Count)
    assert held["absolute"] == (law in ("exact", "absolute"))
    assert held["relative"] == (
        law in ("exact", "relative") or (count and law in ("additive", "rank"))
    )
    in_rank = (counted and law in ("additive", "rank", "relative")) or (ordered and law == "rank")
    assert held["rank"] == (exact or in_rank)
    surer, narrower = Contract("rank", 0.01, 0.99), Contract("relative", 0.005, 0.95)
    for harder in (surer, narrower):
        assert Guarantee(law, 0.01, 0.05).holds(harder, question) == exact


def test_a_known_number_of_rows_bounds_a_share() -> None:
    law = Guarantee("additive", 0.01)
    assert law.holds(Contract.absolute(10.0), Frequency("a"), 1000.0)
    assert not law.holds(Contract.absolute(9.0), Frequency("a"), 1000.0)
    assert not law.holds(Contract.absolute(10.0), Quantile(0.5), 1000.0)


def asked(select: Aggregate, contract: Contract, streams: int = 0) -> Query:
    parts = tuple(Part(f"s{i}", MINUTE, (column("x"),)) for i in range(streams))
    return Query("q", "s0", select, window=MINUTE, contract=contract, parts=parts)


SETS = Aggregate("set_size", argument="p0 & p1")
EXCEPT = Aggregate("set_size", argument="(p0 | p1) - p2")
UNION = Aggregate("set_size", argument="p0 | p1")
JOIN = Aggregate("join_size", argument="p0 = p1")
TENTH = Contract.relative(0.1, confidence=0.95)


@pytest.mark.parametrize(
    ("query", "nearby"),
    [
        (asked(frequency("x", "a"), TENTH), Contract.rank(0.1, confidence=0.95)),
        (asked(frequency("x", "a"), Contract.absolute(5.0)), Contract.rank(0.01)),
        (asked(top_k("x", 5), Contract.relative(0.001)), Contract.rank(0.001)),
        (asked(SETS, TENTH, 2), Contract.rank(0.1, confidence=0.95)),
        (asked(EXCEPT, TENTH, 3), Contract.rank(0.1, confidence=0.95)),
        (asked(JOIN, TENTH, 2), Contract.rank(0.1, confidence=0.95)),
        (
            asked(frequency("x", "a"), Contract.rank(1e-9, confidence=0.95)),
            Contract.rank(1e-6, confidence=0.95),
        ),
        (
            asked(self_join("x"), Contract.relative(1e-5, confidence=0.95)),
            Contract.relative(0.001, confidence=0.9),
        ),
        (
            asked(distinct("x"), Contract.relative(1e-6, confidence=0.95)),
            Contract.relative(0.001, confidence=0.95),
        ),
    ],
    ids=[
        "frequency", "frequency absolute", "top", "intersect", "except", "join", "rank",
        "self-join", "distinct",
    ],
)  # fmt: skip
@pytest.mark.slow
def test_what_no_sketch_holds_is_refused_with_the_nearest(query: Query, nearby: Contract) -> None:
    registry()
    began = time.process_time()
    with pytest.raises(ContractUnsatisfiable) as refused:
        taken(query)
    # Kernels that are compiled for the first time are not part of it.
    assert time.process_time() - began < 5.0
    assert nearest(query) == nearby
    assert nearby.written() in refused.value.hint
    assert len(refused.value.detail) < 400
    held = Query("q", "s0", query.select, window=MINUTE, contract=nearby, parts=query.parts)
    assert taken(held).model


def test_a_union_is_held_in_percent_and_what_it_shares_in_rank() -> None:
    in_rank = Contract.rank(0.1, confidence=0.95)
    for select, streams in ((SETS, 2), (EXCEPT, 3), (JOIN, 2)):
        assert taken(asked(select, in_rank, streams)).guarantee.law == "additive"
    assert taken(asked(UNION, TENTH, 2)).guarantee.law == "relative"


def test_a_standing_query_looks_at_few_kinds() -> None:
    choice = choose(Need(Frequency("a"), Contract.rank(0.01)), among=STANDING)
    assert len(choice.refused) < len(STANDING)


class Wrong(Haar):
    """Sized for single cells whatever is asked."""

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        return cls(300, seed=seed)


def test_a_size_in_the_wrong_unit_does_not_pass() -> None:
    assert sized_model(Wrong, Need(Frequency("a"), Contract.rank(0.1)), 0)
    with pytest.raises(ContractUnsatisfiable, match="haar holds within"):
        sized_model(Wrong, Need(Frequency("a"), Contract.relative(0.1)), 0)


def test_every_offer_passes_the_gate() -> None:
    for contract in CONTRACTS:
        offers, _ = bids(asked(frequency("x", "a"), contract), Statistics())
        assert all(offer.guarantee.holds(contract, Frequency("a")) for offer in offers)


ASKED = (
    quantile("x", 0.5), distinct("x"), frequency("x", "a"), self_join("x"), top_k("x", 5),
    avg("x"), count(),
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("select", ASKED, ids=str)
def test_what_is_taken_holds_and_what_is_not_is_refused(select: Aggregate) -> None:
    question = select.question() if select.summary else None
    for contract in CONTRACTS:
        query = asked(select, contract)
        offers, refusals = bids(query, Statistics())
        if not offers:
            assert refusals
            with pytest.raises(ContractUnsatisfiable):
                taken(query)
            continue
        law = taken(query).guarantee
        assert law == offers[0].guarantee
        if question is not None:
            assert all(offer.guarantee.holds(contract, question) for offer in offers)
        else:
            assert law.law == "exact"


def test_a_frequency_in_percent_is_not_taken_by_a_share_of_all_rows() -> None:
    share = Contract.rank(0.1, confidence=0.95)
    offers, _ = bids(asked(frequency("x", "a"), TENTH), Statistics())
    assert [offer for offer in offers if offer.guarantee.law != "exact"] == []
    (law,) = {
        offer.guarantee.law for offer in bids(asked(frequency("x", "a"), share), Statistics())[0]
    }
    assert law == "additive"
