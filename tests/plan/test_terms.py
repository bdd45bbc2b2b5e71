"""Terms: clauses as values, and the clauses that belong to other ways of answering."""

from __future__ import annotations

import json

import pytest

from streamgauge.contracts.contract import Contract
from streamgauge.kernel.errors import ContractUnsatisfiable
from streamgauge.plan.bidding import chosen_model
from streamgauge.plan.lower import planned
from streamgauge.plan.terms import owed
from tests.plan.market import ask_of, market

CONTRACTS = {
    "": None,
    "EXACT": Contract.exact(),
    "WITHIN 0.5": Contract.absolute(0.5, confidence=0.95),
    "WITHIN 0.5 CONFIDENCE 99%": Contract.absolute(0.5, confidence=0.99),
    "WITHIN 5 PERCENT": Contract.relative(0.05, confidence=0.95),
    "WITHIN 5% CONFIDENCE 0.9": Contract.relative(0.05, confidence=0.9),
    "WITHIN 0.01 RANK": Contract.rank(0.01, confidence=0.95),
    "WITHIN 1% RANK CONFIDENCE 100%": Contract.rank(0.01),
    "BUDGET PROBES 5 CONFIDENCE 90%": Contract.best(confidence=0.9),
    "BUDGET PROBES 5": None,
}
CADENCES = {
    "": "on change",
    "EVERY 1 MINUTE": "every 1 min",
    "EVERY 250 MS": "every 250 ms",
    "ON CHANGE OF 0.5": "on change of 0.5",
    "ON CLOSE": "on close",
}
LATER = {
    "BUDGET DISK 0.5": "BUDGET MEMORY bounds the bytes",
}


def _terms(clauses: str) -> str:
    return f"SELECT AVG(price) FROM trades [RANGE 1 MINUTE] {clauses}"


@pytest.mark.parametrize("clauses", CONTRACTS)
def test_a_contract_is_read(clauses: str) -> None:
    assert owed(ask_of(_terms(clauses)).terms).contract == CONTRACTS[clauses]


@pytest.mark.parametrize("clauses", CADENCES)
def test_a_cadence_is_read(clauses: str) -> None:
    assert str(owed(ask_of(_terms(clauses)).terms).answer) == CADENCES[clauses]


def test_freshness_goes_with_any_contract() -> None:
    said = owed(ask_of(_terms("FRESH 5 SECONDS")).terms)
    assert str(said.contract_or(Contract())) == "exact, fresh 5 s"
    both = owed(ask_of(_terms("WITHIN 1 FRESH 5 SECONDS")).terms)
    assert str(both.contract_or(Contract())) == "within 1 at 95% confidence, fresh 5 s"


def test_history_and_mode_are_read() -> None:
    said = owed(ask_of(_terms("FROM NOW EMIT STORE")).terms)
    assert (said.history, said.mode) == (False, "store")
    assert owed(ask_of(_terms("WITH HISTORY")).terms).history


@pytest.mark.parametrize("clauses", LATER)
def test_what_belongs_elsewhere_is_refused_with_what_can_be_had(clauses: str) -> None:
    with pytest.raises(ContractUnsatisfiable) as caught:
        owed(ask_of(_terms(clauses)).terms)
    assert LATER[clauses] in caught.value.hint


def test_a_guarantee_and_throughout_are_bars_that_cannot_fail() -> None:
    for text in ("GUARANTEED WITHIN 1", "WITHIN 1 CONFIDENCE 95% THROUGHOUT"):
        ask = ask_of(f"SELECT AVG(price) FROM trades [NOW] {text}")
        held = owed(ask.terms).contract_or(Contract())
        assert held == Contract.absolute(1.0, confidence=1.0)


def test_throughout_keeps_its_confidence_where_fidelity_is_judged_over_time() -> None:
    def contract(text: str) -> Contract:
        return owed(ask_of(f"SELECT AVG(price) FROM trades [NOW] {text}").terms).over_time(
            Contract()
        )

    said = Contract.absolute(1.0, confidence=0.9, throughout=True)
    assert contract("WITHIN 1 CONFIDENCE 90% THROUGHOUT") == said
    assert contract("WITHIN 1 THROUGHOUT").confidence == 0.95
    assert contract("GUARANTEED WITHIN 1 THROUGHOUT") == Contract.absolute(1.0)


def test_a_budget_of_memory_bounds_a_summary() -> None:
    text = "SELECT MEDIAN(price) FROM trades [RANGE 1 HOUR] WITHIN 1% RANK EVERY 1 MINUTE BUDGET"
    registry = market()
    (small,) = planned("q", ask_of(f"{text} MEMORY 20 KB"), registry)
    assert small.memory == 20_000
    assert json.loads(chosen_model(small))[0] != "exact"
    (tiny,) = planned("q", ask_of(f"{text} MEMORY 10 B"), registry)
    with pytest.raises(ContractUnsatisfiable):
        chosen_model(tiny)
