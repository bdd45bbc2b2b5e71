"""Trials that stop when the verdict is known alarm as rarely, and notice as much, as all trials."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from streamgauge.checks.trials import (
    ALPHA,
    MISS,
    NAMED,
    POWER,
    TIGHT,
    Sequential,
    cutoff,
    noticed,
)

# What the trials were before they could stop: their power is what is to be kept.
FIXED = {TIGHT: 333, NAMED: 40}


def law(trials: int, delta: float, rate: float) -> tuple[float, float]:
    """Chance of an alarm and mean number of trials where breaks come at a rate, both exact."""
    run = Sequential(trials, delta)
    alarm, length, alive = 0.0, 0.0, {0: 1.0}
    for taken in range(1, trials + 1):
        nxt: dict[int, float] = {}
        for broken, chance in alive.items():
            nxt[broken + 1] = nxt.get(broken + 1, 0.0) + chance * rate
            nxt[broken] = nxt.get(broken, 0.0) + chance * (1.0 - rate)
        alive = {}
        for broken, chance in nxt.items():
            run.taken, run.broken = taken, broken
            alarm += chance * run.alarm
            length += chance * taken * run.decided
            if not run.decided:
                alive[broken] = chance
    return alarm, length


@pytest.mark.parametrize("trials", [TIGHT, NAMED])
def test_a_promise_just_kept_is_refuted_as_rarely_as_stated(trials: int) -> None:
    alarm, length = law(trials, 0.05, 0.05)
    assert alarm <= ALPHA
    assert length < trials / 2


@pytest.mark.parametrize(("trials", "times"), [(TIGHT, 2), (TIGHT, 3), (NAMED, 5), (NAMED, 10)])
def test_power_is_that_of_all_trials(trials: int, times: int) -> None:
    before = stats.binom.sf(cutoff(FIXED[trials], 0.05), FIXED[trials], times * 0.05)
    assert law(trials, 0.05, times * 0.05)[0] >= before


@pytest.mark.parametrize(("trials", "delta"), [(345, 0.05), (345, 0.5), (42, 0.05), (1800, 0.01)])
def test_stopping_costs_no_more_power_than_stated(trials: int, delta: float) -> None:
    rate = noticed(trials, delta)
    assert stats.binom.sf(cutoff(trials, delta), trials, rate) == pytest.approx(POWER)
    assert law(trials, delta, rate)[0] >= POWER - MISS


def test_a_promise_kept_with_room_takes_few_trials() -> None:
    assert law(TIGHT, 0.05, 0.0)[1] < 50
    assert law(TIGHT, 0.05, 0.005)[1] < 50
    assert law(NAMED, 0.05, 0.0)[1] < 12


def simulated(delta: float, rate: float, alpha: float, runs: int) -> int:
    """Alarms of as many runs."""
    rng, alarms = np.random.default_rng([7, int(1000 * rate)]), 0
    for _ in range(runs):
        run = Sequential(200, delta, alpha=alpha)
        for broken in rng.random(200) < rate:
            run.take(broken=bool(broken))
        alarms += run.alarm
    return alarms


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.1, 0.05])
def test_simulated_promises_are_refuted_as_rarely_as_stated(delta: float) -> None:
    assert simulated(delta, delta, 0.01, 500) <= 5
    assert simulated(delta, 3 * delta, 0.01, 200) >= 190


def test_whole_runs_go_on_to_the_last_trial() -> None:
    run = Sequential(100, 0.05, whole=True)
    for _ in range(200):
        run.take(broken=False)
    assert run.decided
    assert run.taken == 100


def test_one_break_refutes_a_promise_that_cannot_fail() -> None:
    run = Sequential(345, 0.0)
    run.take(broken=False)
    assert not run.decided
    run.take(broken=True)
    assert run.alarm
    assert run.decided
    kept = Sequential(345, 0.0)
    for _ in range(345):
        kept.take(broken=False)
    assert (kept.taken, kept.alarm) == (35, False)


def test_nothing_is_counted_after_the_verdict() -> None:
    run = Sequential(345, 0.05)
    for _ in range(345):
        run.take(broken=True)
    assert (run.taken, run.broken, run.alarm) == (run.cutoff + 1, run.cutoff + 1, True)
