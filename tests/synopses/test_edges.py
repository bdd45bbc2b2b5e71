"""Bars where they are easily wrong: after nulls, small parts, edges of windows, the first row."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from streamgauge.contracts.contract import Contract
from streamgauge.synopses.bank import ListBank, bank_of
from streamgauge.synopses.distinct.hll import Hll
from streamgauge.synopses.distinct.theta import Theta
from streamgauge.synopses.quantiles.log_histogram import LogHistogram
from streamgauge.synopses.questions import Distinct, Quantile, Sum
from streamgauge.synopses.synopsis import Need
from streamgauge.synopses.windowed.eh_sum import EhSum

pytestmark = pytest.mark.slow


def test_a_bank_counts_items_after_a_null_in_the_group_of_their_row() -> None:
    bank = bank_of(Hll(8), 3)
    bank.update(np.array([0, 1, 0, 1, 2], np.int32), pa.array(["a", None, "b", "c", "d"]))
    assert bank.bars(Distinct()).value.tolist() == [2.0, 1.0, 1.0]


def test_a_bank_is_as_sure_as_its_least_sure_group() -> None:
    bank = ListBank(Theta(4, 0.1), 2)
    bank.update(np.repeat([0, 1], [3, 1000]).astype(np.int32), np.arange(1003))
    assert [held.query(Distinct()).confidence for held in bank.held] == [1.0, 0.9]
    assert bank.bars(Distinct()).confidence == 0.9


@pytest.mark.parametrize("few", [1, 3, 10])
def test_a_theta_of_few_items_takes_the_threshold_of_a_larger_one(few: int) -> None:
    column = np.arange(10_000 + few)
    small, large, whole = Theta(4), Theta(4), Theta(4)
    small.update(column[:few])
    large.update(column[few:])
    whole.update(column)
    small.merge(large)
    small.validate()
    assert small.query(Distinct()) == whole.query(Distinct())


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_numbers_nearer_to_zero_leave_the_counts_of_others_where_they_are(sign: float) -> None:
    numbers = sign * np.array([100.0, 1e-3, 1e5, 1e-9])
    sketch = LogHistogram(0.01)
    for number in numbers:
        sketch.update([number])
    for rank, number in enumerate(np.sort(numbers), 1):
        assert sketch.query(Quantile(rank / 4)).holds(number)


@pytest.mark.parametrize("within", [0.01, 0.02, 0.1, 0.2, 0.4])
def test_bars_of_a_log_histogram_are_within_the_contract_seen_from_the_value(within: float) -> None:
    contract = Contract.relative(within)
    for number in np.geomspace(1.0, 16.0, 200):
        sketch = LogHistogram.sized_for(Need(Quantile(0.5), contract))
        sketch.update([number, number])
        bar = sketch.query(Quantile(0.5))
        assert bar.holds(number)
        assert max(bar.high - bar.value, bar.value - bar.low) <= within * bar.value


def test_a_sum_over_all_but_the_first_row_does_not_hold_that_row() -> None:
    sums = EhSum(window=1000, epsilon=0.1)
    sums.update(np.ones(500), times=np.arange(500))
    all_rows, others = (sums.query(Sum(), window=window) for window in (500, 499))
    assert (all_rows.low, all_rows.high) == (500.0, 500.0)
    assert others.holds(499.0)
