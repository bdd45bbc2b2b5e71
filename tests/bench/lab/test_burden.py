"""The published rule: its equations by hand, its targets, its growth, and what it may not do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.lab import burden
from bench.lab.burden import (
    PrintedManager,
    all_to_highest,
    burden_targets,
    burdens,
    deviations,
    shared_out,
    shrunk,
)
from streamgauge.filters.allocation import static_optimum
from streamgauge.filters.constraints import Constraints, Demand
from tests.filters.test_constraints import exceeded, free_to_grow, systems

pytestmark = pytest.mark.slow


def overlapping(seed: int = 1) -> Constraints:
    """Five averages over two to five of ten objects."""
    generator = np.random.default_rng(seed)
    demands = []
    for _ in range(5):
        size = int(generator.integers(2, 6))
        chosen = generator.choice(10, size, replace=False)
        demands.append((chosen, np.full(size, 1.0 / size), float(generator.uniform(1.0, 9.0))))
    return Constraints.of(10, demands)


def printed_system(constraints: Constraints, scores: Any) -> tuple[Any, Any]:
    """The equations of the targets, term by term as they are printed."""
    n_queries = constraints.n_queries
    table = np.zeros((n_queries, constraints.n_objects))
    for query in range(n_queries):
        entries = slice(constraints.starts[query], constraints.starts[query + 1])
        table[query, constraints.members[entries]] = constraints.weights[entries]
    left, right = np.eye(n_queries), np.zeros(n_queries)
    for query in range(n_queries):
        members = np.flatnonzero(table[query])
        for one in members:
            right[query] += scores[one] / table[query, one] / members.size
            for other in range(n_queries):
                if other != query:
                    share = table[other, one] / table[query, one] / members.size
                    left[query, other] += share
    return left, right


def test_burdens_by_hand() -> None:
    scores = burdens([4, 0, 3, 3], [2.0, 1.0, 0.0, np.inf], 10.0, [1.0, 1.0, 1.0, 1.0])
    assert scores.tolist() == [0.2, 0.0, 0.0, 0.0]
    assert burdens([4, 4], [2.0, 2.0], 10.0, [1.0, 3.0]) == pytest.approx([0.2, 0.6])


def test_queries_apart_have_mean_burdens_as_targets() -> None:
    constraints = Constraints.of(5, [([0, 1], None, 4.0), ([2, 3, 4], None, 4.0)])
    targets = burden_targets(constraints, np.array([1.0, 3.0, 1.0, 1.0, 4.0]))
    assert targets.values == pytest.approx([2.0, 2.0], rel=1e-2)
    assert targets.converged


def test_two_queries_with_an_object_in_common_by_hand() -> None:
    # T1 = (B0 + B1 - T2) / 2 and T2 = (B1 + B2 - T1) / 2: for B = 1, 6, 2 it is T = 2, 3.
    constraints = Constraints.of(3, [([0, 1], None, 4.0), ([1, 2], None, 4.0)])
    scores = np.array([1.0, 6.0, 2.0])
    targets = burden_targets(constraints, scores).values
    assert targets == pytest.approx([2.0, 3.0], rel=1e-2)
    assert deviations(constraints, scores, np.array([2.0, 3.0])).tolist() == [0.0, 1.0, 0.0]


@pytest.mark.parametrize("seed", range(5))
def test_targets_solve_the_printed_equations(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(burden, "ERROR", 1e-10)
    generator = np.random.default_rng(seed)
    demands = [
        (generator.choice(20, 6, replace=False), generator.uniform(0.5, 2.0, 6), 5.0)
        for _ in range(6)
    ]
    constraints = Constraints.of(20, demands)
    scores = generator.lognormal(0.0, 1.0, 20)
    left, right = printed_system(constraints, scores)
    targets = burden_targets(constraints, scores)
    assert targets.converged
    assert left @ targets.values == pytest.approx(right, rel=1e-6, abs=1e-8)


def test_queries_that_say_the_same_twice_still_get_targets() -> None:
    demands = [([0, 1, 2], None, 4.0)] * 3 + [([1, 2], None, 4.0), ([0], None, 1.0)]
    targets = burden_targets(Constraints.of(3, demands), np.array([1.0, 2.0, 3.0]))
    assert np.isfinite(targets.values).all()
    # Together they ask of objects 1 and 2 what these bear on the average.
    assert targets.values.sum() == pytest.approx(2.5, rel=1e-2)


def test_a_solver_that_gives_up_still_gives_targets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(burden, "STEPS_MOST", 1)
    monkeypatch.setattr(burden, "ERROR", 1e-12)
    targets = burden_targets(overlapping(), np.arange(10.0))
    assert not targets.converged
    assert np.isfinite(targets.values).all()


def test_an_object_with_a_cap_says_nothing_about_targets() -> None:
    constraints = Constraints.of(3, [([0, 1, 2], None, 6.0), ([2], None, 1.0, "each")])
    scores = np.array([1.0, 3.0, 50.0])
    targets = burden_targets(constraints, scores).values
    assert targets == pytest.approx([2.0, 0.0], rel=1e-2)
    assert deviations(constraints, scores, targets) == pytest.approx([0.0, 1.0, 0.0], abs=0.02)


def test_nothing_sent_is_no_burden() -> None:
    targets = burden_targets(overlapping(), np.zeros(10))
    assert targets.converged
    assert not targets.values.any()


def test_growth_goes_to_the_most_burdened_first() -> None:
    # Query 1 has 2 left, query 2 has 1: object 1 is in both and takes 1, object 0 the rest.
    constraints = Constraints.of(3, [([0, 1], None, 6.0), ([1, 2], None, 5.0)])
    widths, generator = np.array([2.0, 2.0, 2.0]), np.random.default_rng(1)
    grown = all_to_highest(constraints, widths, np.array([1.0, 2.0, 1.5]), generator)
    assert grown == pytest.approx([3.0, 3.0, 2.0])
    grown = all_to_highest(constraints, widths, np.array([2.0, 1.0, 0.0]), generator)
    assert grown == pytest.approx([4.0, 2.0, 3.0])


def test_ties_are_broken_by_lot() -> None:
    constraints = Constraints.of(4, [(np.arange(4), None, 5.0)])
    generator = np.random.default_rng(2)
    winners = [
        int(np.argmax(all_to_highest(constraints, np.ones(4), np.zeros(4), generator)))
        for _ in range(200)
    ]
    # Each wins 50 times of 200; fewer than 15 has a probability below 1e-9.
    assert np.bincount(winners, minlength=4).min() >= 15


def test_the_same_seed_gives_the_same_widths() -> None:
    constraints = overlapping()
    runs = []
    for _ in range(2):
        rule, widths = PrintedManager(constraints, seed=5), constraints.uniform()
        for _ in range(10):
            widths, _ = rule.adjust(np.ones(10), widths)
        runs.append(widths.tolist())
    assert runs[0] == runs[1]


def test_sharing_out_follows_deviations_within_every_query() -> None:
    constraints = Constraints.of(4, [([0, 1, 2], None, 9.0), ([2, 3], None, 6.0)])
    widths = np.full(4, 2.0)
    # Query 1 offers 3 / 3 per unit of deviation, query 2 offers 2 / 2.5: the least counts.
    grown = shared_out(constraints, widths, np.array([0.0, 1.0, 2.0, 0.5]))
    assert grown == pytest.approx([2.0, 3.0, 3.6, 2.4])


def test_a_query_at_rest_keeps_its_proportions() -> None:
    constraints = Constraints.of(2, [([0, 1], None, 6.0)])
    assert shared_out(constraints, np.array([1.0, 2.0]), np.zeros(2)) == pytest.approx([2.0, 4.0])


def test_only_objects_that_share_a_budget_shrink() -> None:
    constraints = Constraints.of(4, [([0, 1], None, 6.0), ([2], None, 3.0)])
    widths, grown = PrintedManager(constraints, shrink=0.5, seed=1).adjust(
        [0, 9, 9, 9], np.array([3.0, 3.0, 3.0, np.inf])
    )
    assert widths == pytest.approx([1.5, 4.5, 3.0, np.inf])
    assert grown.tolist() == [False, True, False, False]
    assert shrunk(constraints, widths, 0.5).tolist()[2:] == [3.0, np.inf]


def test_a_tightened_query_stops_growth_until_shrinking_gets_there() -> None:
    rule = PrintedManager(Constraints.of(2, [([0, 1], None, 8.0)]), shrink=0.1, seed=1)
    widths = rule.constraints.uniform()
    rule.constraints = Constraints.of(2, [([0, 1], None, 6.0)])
    held = []
    for _ in range(6):
        widths, grown = rule.adjust([1, 1], widths)
        held.append(float(widths.sum()))
        assert grown.any() == (held[-1] > 5.9 and len(held) >= 3)
    assert held == pytest.approx([7.2, 6.48, 6.0, 6.0, 6.0, 6.0])


def settled_cost(constraints: Constraints, rate: Any, *, share: bool) -> float:
    """Cost of the rule over that of the best fixed widths, for at most one message a second."""
    queried = ~constraints.unqueried
    rule, widths = PrintedManager(constraints, share=share, seed=1), constraints.uniform()
    generator = np.random.default_rng(9)
    costs = []
    for _ in range(300):
        sent = np.where(queried, np.minimum(rate / widths**2, 1.0), 0.0)
        costs.append(float(sent.sum()))
        widths, _ = rule.adjust(generator.binomial(10, sent), widths)
    best = static_optimum(constraints, np.sqrt(rate) / 2.0)
    return float(np.mean(costs[100:]) / np.minimum(rate / best**2, 1.0)[queried].sum())


@pytest.mark.parametrize("seed", [3, 4])
@pytest.mark.parametrize("share", [False, True])
def test_few_objects_settle_near_the_best_fixed_widths(seed: int, share: bool) -> None:
    rate = (2.0 * np.random.default_rng(seed).lognormal(0.0, 1.0, 10)) ** 2
    # The published figures show them on a par; the shrinking alone costs a tenth.
    assert settled_cost(overlapping(seed), rate, share=share) < 1.5


def test_many_objects_starve_unless_growth_is_shared_out() -> None:
    generator = np.random.default_rng(3)
    rate = (2.0 * generator.lognormal(0.0, 1.0, 200)) ** 2
    constraints = Constraints.of(200, [(np.arange(200), np.full(200, 1 / 200), 20.0)])
    assert settled_cost(constraints, rate, share=False) > 5.0
    assert settled_cost(constraints, rate, share=True) < 2.0


@settings(max_examples=100, deadline=None)
@given(systems(), st.booleans(), st.data())
def test_no_period_exceeds_a_budget(
    system: tuple[int, list[Demand]], share: bool, data: st.DataObject
) -> None:
    n_objects, demands = system
    constraints = Constraints.of(n_objects, demands)
    rule, widths = PrintedManager(constraints, share=share, seed=3), constraints.uniform()
    for _ in range(4):
        sent = st.lists(st.integers(0, 50), min_size=n_objects, max_size=n_objects)
        widths, grown = rule.adjust(data.draw(sent), widths)
        assert exceeded(demands, widths) == []
        assert not grown[constraints.unqueried].any()
        if not share:
            assert free_to_grow(constraints, widths) == []
