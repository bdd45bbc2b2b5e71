"""Simulated runs: counts by hand, every answer right, and the rules beside each other."""

from __future__ import annotations

import numpy as np
import pytest

from bench.lab.burden import PrintedManager
from bench.lab.filter_simulation import (
    Belief,
    Checker,
    Count,
    Printed,
    adaptive,
    printed,
    static,
)
from streamgauge.filters.allocation import static_optimum
from streamgauge.filters.constraints import Constraints
from streamgauge.filters.manager import Policy

pytestmark = pytest.mark.slow


def average(n: int, delta: float) -> Constraints:
    return Constraints.of(n, [(np.arange(n), np.full(n, 1.0 / n), delta, "linear")])


def walks(n: int, ticks: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    sizes = rng.lognormal(0.0, 1.0, n)
    return np.cumsum(rng.normal(size=(ticks, n)) * sizes, axis=0), sizes


def test_fixed_widths_by_hand() -> None:
    values = np.array([[0.0, 0.0], [1.0, 0.0], [2.5, 0.0], [2.0, 9.0], [0.0, 9.5]])
    constraints = Constraints.of(2, [([0, 1], None, 8.0, "linear")])
    count = static([values], constraints, np.array([4.0, 4.0]), warm_up=1)
    # The first object leaves at 2.5 and again at 0, the other at 9.
    assert count == Count(ticks=4, updates=3, control=0, checked=5, wrong=0)


def test_widths_that_change_at_a_block() -> None:
    values = np.zeros((3, 1))
    moved = np.full((3, 1), 1.5)
    constraints = Constraints.of(1, [([0], None, 4.0, "linear")])
    widths = [np.array([4.0]), np.array([2.0])]
    assert static([values, moved], constraints, widths.__getitem__, warm_up=1).updates == 1


def test_the_checker_finds_what_is_wrong() -> None:
    constraints = Constraints.of(2, [([0, 1], None, 8.0, "linear")])
    checker = Checker(constraints)
    belief = Belief.of(2)
    belief.held[:] = [4.0, 4.0]
    inside = np.array([[1.9, -2.0]])
    assert checker.wrong(belief, inside, 0) == 0
    # A bound that is left; together they still make an answer that holds.
    assert checker.wrong(belief, np.array([[2.1, 0.0]]), 0) == 1
    belief.held[:] = [5.0, 4.0]
    assert checker.wrong(belief, inside, 0) == 1
    belief.held[:] = [4.0, 4.0]
    belief.slopes[0] = 1.0
    assert checker.wrong(belief, np.array([[5.0, 0.0]]), 5) == 0


@pytest.mark.parametrize("models", [False, True])
def test_walks_cost_about_the_optimum(models: bool) -> None:
    values, sizes = walks(40, 12_000, 3)
    constraints = average(40, 10.0)
    best = static([values], constraints, static_optimum(constraints, sizes), warm_up=3000)
    ours = adaptive([values[:5000], values[5000:]], constraints, warm_up=3000, models=models)
    assert ours.wrong == best.wrong == 0
    assert ours.checked == 12_000
    # Both have thousands of messages, so the ratio is known to a few hundredths.
    assert ours.per_tick < 1.12 * best.per_tick


def test_bounds_that_move_save_messages_where_values_drift() -> None:
    rng = np.random.default_rng(8)
    values = 0.5 * np.arange(6000)[:, None] + rng.normal(size=(6000, 10))
    still, moving = (
        adaptive([values], average(10, 20.0), warm_up=2000, models=models)
        for models in (False, True)
    )
    assert still.wrong == moving.wrong == 0
    assert moving.per_tick < still.per_tick / 3


def test_bursts_and_constants_are_always_right() -> None:
    rng = np.random.default_rng(2)
    values = np.where(rng.random((4000, 12)) < 0.05, rng.exponential(30.0, (4000, 12)), 0.0)
    values[:, :4] = 7.0
    values[2000:, 4:6] += np.cumsum(rng.normal(size=(2000, 2)), axis=0)
    demands = [
        (np.arange(8), np.full(8, 0.125), 3.0, "linear"),
        (np.arange(4, 12), None, 100.0, "linear"),
        (np.array([5, 9]), None, 6.0, "each"),
    ]
    constraints = Constraints.of(12, demands)
    uniform = static([values], constraints, constraints.uniform(), warm_up=500)
    for policy in (None, Policy(reserve=0.2, excess=1.1, gain=0.1)):
        ours = adaptive([values], constraints, warm_up=500, policy=policy, models=True)
        assert ours.wrong == 0
        assert ours.per_tick < 1.2 * uniform.per_tick


def test_the_printed_rule_runs_beside() -> None:
    values, _ = walks(10, 4000, 5)
    constraints = average(10, 10.0)
    for share in (False, True):
        rule = PrintedManager(constraints, seed=1, share=share)
        count = printed([values], constraints, Printed(rule.adjust, constraints.uniform()))
        assert count.wrong == 0
        assert count.updates > 0
        assert count.control > 0
