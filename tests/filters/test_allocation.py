"""Allocation: closed forms, a general optimiser, and what no widths may ever do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from streamgauge.filters.allocation import (
    expected_cost,
    least_cost,
    optimal_widths,
    static_optimum,
)
from streamgauge.filters.constraints import Constraints, Demand
from tests.filters.test_constraints import exceeded, free_to_grow, systems

pytestmark = pytest.mark.slow

Workload = tuple[Constraints, Any, Any]


def workload(
    seed: int, *, n_objects: int, n_queries: int, members: tuple[int, int], powers: bool = False
) -> Workload:
    """Averages over random objects; random walks, or any powers from ramps to walks."""
    generator = np.random.default_rng(seed)
    demands = []
    for _ in range(n_queries):
        size = int(generator.integers(*members))
        chosen = generator.choice(n_objects, size, replace=False)
        demands.append(Demand(chosen, np.full(size, 1.0 / size), generator.lognormal(2.0, 0.7)))
    rate = (2.0 * generator.lognormal(0.0, 1.0, n_objects)) ** 2
    power = generator.uniform(0.8, 2.2, n_objects) if powers else np.full(n_objects, 2.0)
    return Constraints.of(n_objects, demands), rate, power


def general_optimum(constraints: Constraints, rate: Any, power: Any) -> float:
    """Least cost by sequential quadratic programming over logarithms of widths."""
    queried = np.flatnonzero(~constraints.unqueried)
    begin = np.log(constraints.uniform()[queried])

    def all_widths(logarithms: Any) -> Any:
        widths = np.full(constraints.n_objects, np.inf)
        widths[queried] = np.exp(logarithms)
        return widths

    used = np.diff(constraints.starts) > 0
    best = np.inf
    for nudge in (0.0, 0.3):
        found = optimize.minimize(
            lambda logs: np.log(expected_cost(all_widths(logs), rate, power)),
            begin - nudge,
            method="SLSQP",
            bounds=[(None, np.log(cap)) for cap in constraints.caps[queried]],
            constraints={
                "type": "ineq",
                "fun": lambda logs: (
                    1.0 - (constraints.held(all_widths(logs)) / constraints.budgets)[used]
                ),
            },
            options={"maxiter": 1000, "ftol": 1e-12},
        )
        if found.success:
            best = min(best, float(np.exp(found.fun)))
    return best


def test_one_query_has_a_closed_form() -> None:
    steps = np.array([0.1, 1.0, 2.0, 5.0])
    constraints = Constraints.of(4, [(np.arange(4), np.full(4, 0.25), 8.0)])
    expected = steps ** (2 / 3)
    expected *= 32.0 / expected.sum()
    assert static_optimum(constraints, steps) == pytest.approx(expected, rel=1e-6)


def test_weights_and_costs_count() -> None:
    # Least of c r / W^2 with k W summing to delta: W goes with (c r / k) ^ (1/3).
    weights, rate = np.array([1.0, -2.0, 0.5]), np.array([3.0, 1.0, 7.0])
    cost = np.array([1.0, 4.0, 2.0])
    constraints = Constraints.of(3, [([0, 1, 2], weights, 6.0)])
    expected = np.cbrt(cost * rate / np.abs(weights))
    expected *= 6.0 / (np.abs(weights) @ expected)
    widths, prices = optimal_widths(constraints, rate, 2.0, cost, tolerance=1e-9)
    assert widths == pytest.approx(expected, rel=1e-6)
    # A price is what one more unit of delta saves: 2 C / delta, as the cost goes with delta^-2.
    assert prices == pytest.approx([2 * expected_cost(expected, rate, 2.0, cost) / 6.0], rel=1e-6)


def test_a_cap_leaves_its_width_to_the_others() -> None:
    constraints = Constraints.of(3, [([0, 1, 2], None, 9.0), ([0], None, 1.0)])
    assert optimal_widths(constraints, [9.0, 1.0, 1.0], 2.0).widths == pytest.approx([1, 4, 4])


def test_objects_outside_shared_budgets_have_their_caps() -> None:
    constraints = Constraints.of(4, [([0, 1], None, 2.0, "each"), ([2], None, 3.0)])
    widths, prices = optimal_widths(constraints, np.ones(4), 2.0)
    assert widths.tolist() == [2.0, 2.0, 3.0, np.inf]
    assert prices.tolist() == [0.0, 0.0]
    assert optimal_widths(Constraints.of(2, []), 1.0, 2.0).widths.tolist() == [np.inf, np.inf]


def test_exact_members_stay_exact() -> None:
    constraints = Constraints.of(3, [([0, 1], None, 0.0), ([0, 1, 2], None, 6.0)])
    assert optimal_widths(constraints, np.ones(3), 2.0).widths == pytest.approx([0.0, 0.0, 6.0])


def test_quiet_objects_get_little_but_not_nothing() -> None:
    constraints = Constraints.of(4, [(np.arange(4), None, 4.0)])
    widths, _ = optimal_widths(constraints, [0.0, 1.0, 1.0, 0.0], 2.0)
    assert (widths[[0, 3]] > 1e-4).all()
    assert (widths[[0, 3]] < 1e-2).all()
    assert widths.sum() == pytest.approx(4.0)
    # If nothing is known of any, they are alike; an unknown one is taken as a usual one.
    assert optimal_widths(constraints, 0.0, 2.0).widths == pytest.approx(np.ones(4))
    unknown = [np.nan, 1.0, 1.0, -3.0]
    assert optimal_widths(constraints, unknown, np.nan).widths == pytest.approx(np.ones(4))


def test_a_rate_beyond_belief_leaves_the_others_a_width() -> None:
    constraints = Constraints.of(3, [([0, 1, 2], None, 3.0)])
    widths, _ = optimal_widths(constraints, [1e300, 1.0, 4.0], 2.0)
    assert (widths > 1e-6).all()
    assert constraints.violations(widths)[0].size == 0


def test_an_unspent_query_has_no_price() -> None:
    constraints = Constraints.of(3, [([0, 1], None, 2.0), ([1, 2], None, 100.0)])
    widths, prices = optimal_widths(constraints, [1.0, 1.0, 1.0], 2.0)
    # Object 2 moves too, so the wide query is spent, at a price next to nothing.
    assert widths == pytest.approx([1.0, 1.0, 99.0], rel=1e-2)
    assert prices[1] < 1e-4 * prices[0]
    looser = Constraints.of(2, [([0, 1], None, 2.0), ([0, 1], None, 5.0)])
    assert optimal_widths(looser, [1.0, 1.0], 2.0).prices[1] == 0.0


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("powers", [False, True])
def test_no_general_optimiser_does_better(seed: int, powers: bool) -> None:
    constraints, rate, power = workload(
        seed, n_objects=10, n_queries=5, members=(2, 6), powers=powers
    )
    widths, prices = optimal_widths(constraints, rate, power)
    cost = expected_cost(widths, rate, power)
    rival = general_optimum(constraints, rate, power)
    assert rival < np.inf
    assert cost <= 1.005 * rival
    assert least_cost(constraints, rate, power, prices) <= rival * (1.0 + 1e-6)


@pytest.mark.parametrize("powers", [False, True])
@pytest.mark.parametrize(
    ("n_objects", "n_queries", "members"),
    [(200, 1, (200, 201)), (200, 5, (100, 101)), (200, 200, (50, 51)), (50, 1000, (5, 20))],
)
def test_the_cost_is_within_the_tolerance_of_the_bound(
    n_objects: int, n_queries: int, members: tuple[int, int], powers: bool
) -> None:
    constraints, rate, power = workload(
        3, n_objects=n_objects, n_queries=n_queries, members=members, powers=powers
    )
    widths, prices = optimal_widths(constraints, rate, power)
    cost = expected_cost(widths, rate, power)
    assert cost - least_cost(constraints, rate, power, prices) <= 2e-4 * cost
    assert cost < expected_cost(constraints.uniform(), rate, power)


def test_any_prices_bound_the_cost() -> None:
    constraints, rate, power = workload(5, n_objects=30, n_queries=8, members=(3, 10))
    least = expected_cost(optimal_widths(constraints, rate, power).widths, rate, power)
    generator = np.random.default_rng(6)
    for _ in range(50):
        prices = generator.lognormal(0.0, 3.0, constraints.n_queries)
        assert least_cost(constraints, rate, power, prices) <= least


def test_old_prices_give_the_same_widths() -> None:
    constraints, rate, power = workload(7, n_objects=200, n_queries=50, members=(10, 40))
    cold, prices = optimal_widths(constraints, rate, power, tolerance=1e-9)
    warm, _ = optimal_widths(constraints, rate, power, start_prices=prices, tolerance=1e-9)
    assert warm == pytest.approx(cold, rel=1e-3)
    stale = prices * np.random.default_rng(8).lognormal(0.0, 5.0, prices.size)
    stale[::3] = np.nan
    again, _ = optimal_widths(constraints, rate, power, start_prices=stale, tolerance=1e-9)
    assert expected_cost(again, rate, power) == pytest.approx(
        expected_cost(cold, rate, power), rel=1e-6
    )


def test_ten_thousand_queries_over_ten_thousand_objects() -> None:
    constraints, rate, power = workload(9, n_objects=10_000, n_queries=10_000, members=(10, 51))
    widths, prices = optimal_widths(constraints, rate, power)
    assert [len(part) for part in constraints.violations(widths)] == [0, 0]
    cost = expected_cost(widths, rate, power)
    assert cost - least_cost(constraints, rate, power, prices) <= 2e-4 * cost


@settings(max_examples=100, deadline=None)
@given(systems(), st.data())
def test_no_budget_is_exceeded_and_none_is_wasted(
    system: tuple[int, list[Demand]], data: st.DataObject
) -> None:
    n_objects, demands = system
    constraints = Constraints.of(n_objects, demands)
    numbers = st.sampled_from([0.0, 1e-300, 1e-9, 0.5, 3.0, 1e9, 1e300, np.nan, np.inf])
    rate = data.draw(st.lists(numbers, min_size=n_objects, max_size=n_objects))
    powers = st.floats(0.5, 2.5) | st.just(np.nan)
    power = data.draw(st.lists(powers, min_size=n_objects, max_size=n_objects))
    some = st.none() | st.lists(
        st.sampled_from([0.0, 1e-12, 1.0, 1e12, np.nan]),
        min_size=len(demands),
        max_size=len(demands),
    )
    widths, prices = optimal_widths(constraints, rate, power, start_prices=data.draw(some))
    assert exceeded(demands, widths) == []
    assert free_to_grow(constraints, widths) == []
    assert (widths > 0.0).all()
    assert np.isfinite(prices).all()
    assert (prices >= 0.0).all()
