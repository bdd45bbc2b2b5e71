"""Evidence: its mean under a kept promise, worked out exactly, and the bars around shares."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from streamgauge.audit.compare import Found, Unit
from streamgauge.audit.evidence import (
    BEGINNINGS,
    LIFE_UNITS,
    ForLife,
    Renewed,
    chance_of,
    log10_evidence,
    log10_mean,
    log10_of_families,
    share_bar,
)
from streamgauge.audit.ledger import Ledger
from streamgauge.audit.report import held_by_all

pytestmark = pytest.mark.slow

shares = st.floats(0.001, 0.6)


@given(shares, st.floats(0.0, 1.0), st.integers(1, 60))
def test_a_kept_promise_has_evidence_of_at_most_one_in_the_mean(
    owed: float, part: float, units: int
) -> None:
    rate = part * owed
    misses = np.arange(units + 1)
    chances = stats.binom.pmf(misses, units, rate)
    values = [10.0 ** log10_evidence(units, k, owed) for k in misses]
    assert float(chances @ values) <= 1.0 + 1e-9


@given(shares, st.lists(st.tuples(st.integers(1, 4), st.floats(0.05, 1.0)), max_size=4))
def test_shares_and_weights_below_one_keep_the_mean(
    owed: float, steps: list[tuple[int, float]]
) -> None:
    """Each unit misses k of n with a law whose mean is what is owed."""
    laws = [(np.arange(n + 1) / n, stats.binom.pmf(np.arange(n + 1), n, owed), w) for n, w in steps]
    total = 0.0
    for picks in np.ndindex(*(len(law[0]) for law in laws)):
        kept, chance = Renewed(owed), 1.0
        for (share, law, weight), pick in zip(laws, picks, strict=True):
            kept.take(float(share[pick]), weight)
            chance *= float(law[pick])
        total += chance * 10.0**kept.log10
    assert total <= 1.0 + 1e-9


@given(shares, st.integers(0, 200), st.integers(0, 200), st.integers(1, 20))
def test_more_misses_are_more_evidence(owed: float, kept: int, missed: int, more: int) -> None:
    before = log10_evidence(kept + missed + more, missed, owed)
    assert log10_evidence(kept + missed + more, missed + more, owed) >= before


@given(shares, st.lists(st.booleans(), min_size=1, max_size=7))
def test_beginning_anew_keeps_the_mean(owed: float, begins: list[bool]) -> None:
    total = 0.0
    for missed in np.ndindex(*(2 for _ in begins)):
        kept, chance = Renewed(owed), 1.0
        for bad, anew in zip(missed, begins, strict=True):
            if anew or not kept.since:
                kept.begin()
            kept.take(float(bad))
            chance *= owed if bad else 1.0 - owed
        total += chance * 10.0**kept.log10
    assert total <= 1.0 + 1e-9


def test_a_promise_that_breaks_late_is_found_as_well() -> None:
    kept = Renewed(0.1)
    for _ in range(40):
        kept.begin()
        for unit in range(100):
            kept.take(unit % 20 == 0)
    assert kept.log10 < 0.0
    kept.begin()
    for unit in range(100):
        kept.take(unit % 2 == 0)
    assert kept.log10 > 10.0
    assert len(kept.since) == BEGINNINGS + 1


def test_what_cannot_fail_is_refuted_by_one_miss() -> None:
    assert log10_evidence(1000.0, 0.0, 0.0) == 0.0
    assert log10_evidence(1000.0, 0.001, 0.0) == math.inf
    assert log10_evidence(10.0, 10.0, 1.0) == 0.0


@given(st.floats(0.5, 5000.0), st.floats(0.0, 1.0), st.floats(1e-6, 0.5))
def test_the_bar_is_where_the_likelihood_says(weight: float, part: float, chance: float) -> None:
    missed = part * weight
    low, high = share_bar(weight, missed, chance)
    assert 0.0 <= low <= part + 1e-6
    assert part - 1e-6 <= high <= 1.0
    wider = share_bar(weight, missed, 0.1 * chance)
    assert wider[0] <= low + 1e-9
    assert wider[1] >= high - 1e-9


@pytest.mark.parametrize("rate", [0.02, 0.1, 0.5])
def test_the_bar_holds_at_all_times_at_once(rate: float) -> None:
    """Exactly: the chance that a walk of misses ever leaves its bars, over 120 units."""
    chance, alive = 0.05, {0: 1.0}
    for unit in range(1, 121):
        step: dict[int, float] = {}
        for missed, mass in alive.items():
            for more, law in ((0, 1.0 - rate), (1, rate)):
                step[missed + more] = step.get(missed + more, 0.0) + mass * law
        alive = {}
        for missed, mass in step.items():
            low, high = share_bar(unit, missed, chance)
            if low <= rate <= high:
                alive[missed] = mass
    assert 1.0 - sum(alive.values()) <= chance


def test_luck_for_life_never_says_more_than_it_can() -> None:
    luck = ForLife(0.1)
    seen = []
    for unit in range(2 * LIFE_UNITS):
        luck.take(float(unit % 2))
        seen.append(luck.evidence)
    assert seen == sorted(seen)
    assert seen[-1] == pytest.approx(5.0)
    assert seen[LIFE_UNITS - 1] == seen[-1]


@given(st.lists(st.floats(0.01, 0.5), min_size=1, max_size=5))
def test_families_whose_luck_is_apart_multiply(owed: list[float]) -> None:
    """Each misses all with the chance it may, so that its evidence is 1 in the mean."""
    total = 0.0
    for missed in np.ndindex(*(2 for _ in owed)):
        chance, families = 1.0, {}
        for number, (bad, delta) in enumerate(zip(missed, owed, strict=True)):
            chance *= delta if bad else 1.0 - delta
            families[str(number)] = [1.0 / delta if bad else 0.0]
        total += chance * 10.0 ** log10_of_families(families)
    assert total == pytest.approx(1.0)


def test_means_of_logarithms() -> None:
    assert log10_mean([]) == 0.0
    assert log10_mean([3.0, 3.0]) == pytest.approx(3.0)
    assert log10_mean([300.0, -math.inf]) == pytest.approx(300.0 - math.log10(2.0))
    assert sum(chance_of(n, 1.0) for n in range(1, 5000)) < 1.0


def test_the_total_is_of_all_checks_and_not_of_what_stands_now() -> None:
    ledger = Ledger(1e-4)
    old, new = ledger.entry("q", 1, "renewed", "s"), ledger.entry("q", 2, "renewed", "s")
    old.take(Found(comparisons=100, misses=40, units=[Unit(0.4, 0.1)] * 100))
    new.take(Found(comparisons=100, misses=0, units=[Unit(0.0, 0.1)] * 100))
    held = held_by_all(ledger)
    assert held.value == pytest.approx(0.8)
    assert held.low < 0.8 < held.high < 1.0
