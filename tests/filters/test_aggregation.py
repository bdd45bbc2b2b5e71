"""Source aggregation: the two extremes of the published analysis, and real walks counted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.filters.aggregation import (
    Choice,
    aggregated_cost,
    choices,
    separate_cost,
    summed,
)
from streamgauge.filters.allocation import expected_cost, optimal_widths
from streamgauge.filters.constraints import Constraints

pytestmark = pytest.mark.slow

# Queries V0 + V1 and V0 + V2 over three values of one source.
SHARED = np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]])
OVERLAP = [([0, 1], None), ([0, 2], None)]


def chosen(rate: Any, power: Any, budgets: tuple[float, float]) -> Choice:
    demands = [(*query, delta) for query, delta in zip(OVERLAP, budgets, strict=True)]
    constraints = Constraints.of(3, demands)
    widths = optimal_widths(constraints, rate, power).widths
    (choice,) = choices(constraints, [7, 7, 7], widths, rate, power)
    return choice


def messages(values: Any, widths: Any) -> int:
    """Times that values leave bounds of given widths around what was last sent."""
    sent, centres = 0, values[0].copy()
    for now in values:
        left = np.abs(now - centres) > 0.5 * widths
        sent += int(left.sum())
        centres[left] = now[left]
    return sent


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0.1, 10.0), min_size=3, max_size=3), st.floats(0.5, 20.0))
def test_far_apart_budgets_favour_aggregation(steps: list[float], delta: float) -> None:
    rate = (2.0 * np.array(steps)) ** 2
    budgets = (1e6 * delta, delta)
    assert aggregated_cost(SHARED, budgets, rate, 2.0) <= separate_cost(SHARED, budgets, rate, 2.0)


@settings(max_examples=50, deadline=None)
@given(st.floats(0.1, 10.0), st.floats(0.5, 20.0), st.floats(0.5, 20.0))
def test_a_common_mover_favours_separate_objects(step: float, first: float, second: float) -> None:
    rate = np.array([(2.0 * step) ** 2, 0.0, 0.0])
    apart = separate_cost(SHARED, (first, second), rate, 2.0)
    # All of the smaller budget goes to the one that moves, but for what quiet ones keep.
    assert apart == pytest.approx(rate[0] / min(first, second) ** 2, rel=0.01)
    together = aggregated_cost(SHARED, (first, second), rate, 2.0)
    assert together == pytest.approx(rate[0] / first**2 + rate[0] / second**2)
    assert apart <= 1.01 * together
    assert not chosen(rate, 2.0, (first, second)).aggregate


def test_sums_of_walks_add_their_variances() -> None:
    found = summed([[1.0, -1.0, 3.0]], [4.0, 9.0, 1.0], 2.0, [7.0])
    assert found.rate == pytest.approx([4.0 + 9.0 + 9.0])
    assert found.power == pytest.approx([2.0])


def test_a_sum_of_one_is_that_one() -> None:
    found = summed([[2.0]], [3.0], [1.3], [5.0])
    # Twice a value leaves a width as the value leaves half of it.
    assert found.rate * 5.0**-found.power == pytest.approx([3.0 * 2.5**-1.3])
    assert found.power == pytest.approx([1.3])


def test_a_sum_of_a_ramp_and_a_walk_has_a_power_between() -> None:
    narrow = summed([[1.0, 1.0]], [1.0, 1.0], [1.0, 2.0], [1e-3])
    wide = summed([[1.0, 1.0]], [1.0, 1.0], [1.0, 2.0], [1e3])
    assert narrow.power == pytest.approx([2.0], abs=0.01)
    assert wide.power == pytest.approx([1.0], abs=0.01)
    # The power is the slope of the messages over the width, in logarithms.
    near = summed([[1.0, 1.0]] * 2, [1.0, 1.0], [1.0, 2.0], [1.0, 1.001])
    sent = near.rate * np.array([1.0, 1.001]) ** -near.power
    slope = -np.log(sent[1] / sent[0]) / np.log(1.001)
    assert near.power[0] == pytest.approx(slope, rel=1e-3)


def test_still_sums_and_exact_sums() -> None:
    found = summed([[1.0, 1.0], [1.0, 0.0]], [0.0, 2.0], 2.0, [1.0, 1.0])
    assert expected_cost([1.0, 1.0], *found) == pytest.approx(2.0)
    exact = summed([[1.0, 1.0]], [1.0, 1.0], 2.0, [0.0])
    assert expected_cost([0.0], *exact) == np.inf
    assert expected_cost([np.inf], *summed([[1.0]], [1.0], 2.0, [np.inf])) == 0.0


def test_capped_objects_are_sent_besides() -> None:
    rate, caps = np.array([4.0, 4.0, 4.0]), np.array([np.inf, 0.5, np.inf])
    free = aggregated_cost(SHARED, (4.0, 4.0), rate, 2.0)
    both = aggregated_cost(SHARED, (4.0, 4.0), rate, 2.0, None, caps)
    assert both == pytest.approx(free + 4.0 / 0.25)
    capped = separate_cost(SHARED, (4.0, 4.0), rate, 2.0, None, caps)
    assert capped > separate_cost(SHARED, (4.0, 4.0), rate, 2.0)


def test_costs_of_messages_count() -> None:
    rate, cost = np.array([4.0, 4.0, 4.0]), np.array([3.0, 1.0, 1.0])
    assert aggregated_cost(SHARED, (4.0, 2.0), rate, 2.0, cost) == pytest.approx(
        2.0 * (8.0 / 16.0 + 8.0 / 4.0)
    )
    assert separate_cost(SHARED, (4.0, 2.0), rate, 2.0, cost) > separate_cost(
        SHARED, (4.0, 2.0), rate, 2.0
    )


def test_each_source_and_each_overlapping_set_is_judged_by_itself() -> None:
    # Queries 0 and 1 share objects at source 0 but none at source 1; query 2 is apart.
    demands = [
        ([0, 1, 3], None, 300.0),
        ([0, 2, 4], None, 3.0),
        ([5, 6], None, 2.0),
        ([7], None, 1.0),
    ]
    constraints = Constraints.of(8, demands)
    sources = np.array([0, 0, 0, 1, 1, 0, 0, 0])
    widths = optimal_widths(constraints, np.ones(8), 2.0).widths
    found = choices(constraints, sources, widths, np.ones(8), 2.0)
    sets = {
        (choice.source, tuple(choice.objects), tuple(choice.queries)): choice.aggregate
        for choice in found
    }
    assert sets == {
        (0, (0, 1, 2), (0, 1)): True,
        (1, (3,), (0,)): False,
        (1, (4,), (1,)): False,
        (0, (5, 6), (2,)): True,
    }


def test_nothing_to_choose() -> None:
    constraints = Constraints.of(2, [([0], None, 1.0)])
    assert choices(constraints, [0, 0], [1.0, np.inf], [1.0, 1.0], 2.0) == []


def test_unknown_rates_leave_objects_separate() -> None:
    assert not chosen([np.nan, 1.0, 1.0], 2.0, (100.0, 1.0)).aggregate


@pytest.mark.parametrize(
    ("steps", "budgets", "aggregate"),
    [
        ((1.0, 1.0, 1.0), (400.0, 20.0), True),
        ((1.0, 1.0, 1.0), (20.0, 20.0), True),
        ((1.0, 0.02, 0.02), (20.0, 20.0), False),
        ((2.0, 0.1, 0.02), (28.0, 24.0), False),
    ],
)
def test_the_choice_is_right_for_walks_that_are_counted(
    steps: tuple[float, ...], budgets: tuple[float, float], aggregate: bool
) -> None:
    generator = np.random.default_rng(11)
    moves = generator.choice([-1.0, 1.0], size=(40_000, 3)) * np.array(steps)
    values = moves.cumsum(axis=0)
    rate = (2.0 * np.array(steps)) ** 2
    choice = chosen(rate, 2.0, budgets)
    constraints = Constraints.of(
        3, [(*query, delta) for query, delta in zip(OVERLAP, budgets, strict=True)]
    )
    apart = messages(values, optimal_widths(constraints, rate, 2.0).widths)
    together = messages(values @ SHARED.T, np.array(budgets))
    # Counts of several hundred scatter by a few percent; the choices differ by tens of percent.
    assert (together < apart) == aggregate
    assert choice.aggregate == aggregate
    # Walks in whole steps pass their bounds, so they send a little less than estimated.
    assert 0.6 * choice.separate <= apart / len(values) <= 1.2 * choice.separate
    assert 0.6 * choice.aggregated <= together / len(values) <= 1.2 * choice.aggregated
