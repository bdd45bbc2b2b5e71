"""Bars in columns are judged as one answer is: by the side that reaches further."""

from __future__ import annotations

import numpy as np
import pytest

from streamgauge.contracts.answer import Answer
from streamgauge.contracts.contract import TOLERANCES, Contract
from streamgauge.results.blocks import bars_kept

# Value, low and high; half the width of the lopsided ones is 2.
BARS = ((10.0, 10.0, 10.0), (10.0, 8.0, 12.0), (10.0, 10.0, 14.0), (-10.0, -14.0, -10.0))


@pytest.mark.parametrize(
    ("contract", "kept"),
    [
        (Contract.exact(), [True, False, False, False]),
        (Contract.absolute(2.0), [True, True, False, False]),
        (Contract.absolute(4.0), [True, True, True, True]),
        (Contract.relative(0.3), [True, True, False, False]),
        (Contract.relative(0.4), [True, True, True, True]),
    ],
    ids=str,
)
def test_a_bar_that_reaches_further_than_owed_to_one_side_is_not_met(
    contract: Contract, kept: list[bool]
) -> None:
    value, low, high = np.array(BARS).T
    columns = bars_kept(
        TOLERANCES.index(contract.tolerance),
        contract.within,
        (value, low, high),
        np.zeros(len(BARS), np.bool_),
        np.ones(len(BARS), np.bool_),
    )
    assert columns.tolist() == kept
    assert [contract.met_by(Answer("q", *bar, as_of=0)) for bar in BARS] == kept
