"""Contracts that any answer would keep are refused, and a confidence says which of two it is."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from streamgauge.contracts.answer import Answer, Charge
from streamgauge.contracts.contract import Contract
from streamgauge.kernel.errors import ContractUnsatisfiable
from streamgauge.language.statements import Terms
from streamgauge.plan.terms import owed

VACUOUS: dict[str, Callable[[], object]] = {
    "relative 5": lambda: Contract.relative(5.0),
    "relative 1": lambda: Contract.relative(1.0, confidence=0.9),
    "rank 1": lambda: Contract.rank(1.0, confidence=0.9),
    "absolute inf": lambda: Contract.absolute(math.inf),
    "WITHIN 200 PERCENT": lambda: owed(Terms(within=200.0, unit="percent")),
    "WITHIN 1 RANK": lambda: owed(Terms(within=1.0, unit="rank")),
}


@pytest.mark.parametrize("written", VACUOUS)
def test_a_contract_that_any_answer_keeps_is_refused(written: str) -> None:
    with pytest.raises(ContractUnsatisfiable, match="is kept by any answer"):
        VACUOUS[written]()


def test_a_stored_contract_is_still_read() -> None:
    wide = Contract("relative", 5.0, 0.9)
    assert Contract(**wide.as_dict()) == wide


def test_a_probability_and_a_share_of_time_have_two_wordings() -> None:
    sketched = Answer("q", 1.0, 0.0, 2.0, 0, confidence=0.9, basis="kll")
    silent = Answer(
        "q", 1.0, 0.0, 2.0, 0, confidence=0.9, basis="interrupted",
        charges=(Charge.even("deferral by timer", 1.0, 0.1), Charge.even("interruption", 1.0)),
    )  # fmt: skip
    assert "] at 90% confidence, kll" in str(sketched)
    assert "] for 90% of the time, interrupted" in str(silent)
    assert "of the time" not in sketched._repr_html_()
    assert "for 90 % of the time" in silent._repr_html_()
