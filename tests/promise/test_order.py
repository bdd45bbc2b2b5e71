"""Which entries come first."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.promise.order import SLOTS, Order, highest, lowest_that_match

pytestmark = pytest.mark.slow

few = st.lists(st.integers(0, 5), max_size=30).map(lambda found: np.array(found, np.float64))


@given(few, st.integers(0, 35), st.booleans())
def test_the_highest_are_those_of_a_stable_sort(values: np.ndarray, n: int, newest: bool) -> None:
    ties = -np.arange(len(values)) if newest else np.arange(len(values))
    expected = np.zeros(len(values), np.bool_)
    expected[np.lexsort((ties, -values))[:n]] = True
    np.testing.assert_array_equal(highest(values, n, newest=newest), expected)


@given(few, st.integers(0, 35))
def test_the_lowest_that_match_come_before_what_promises_nothing(
    values: np.ndarray, n: int
) -> None:
    taken = lowest_that_match(values, values, n)
    assert np.count_nonzero(taken) == min(n, len(values))
    hopeful = values >= 0.5
    if n <= np.count_nonzero(hopeful):
        assert sorted(values[taken]) == sorted(values[hopeful])[:n]
    else:
        assert taken[hopeful].all()


def test_weighted_work_is_shared_in_proportion_over_time() -> None:
    order = Order("weighted")
    keys = np.repeat(np.arange(4), [40, 20, 10, 2]).astype(np.uint64)
    assert len(set(order.slots(keys, np.zeros(72, np.int64)).tolist())) == 4
    taken = np.zeros(4)
    for _ in range(100):
        slots = order.slots(keys, np.zeros(72, np.int64))
        chosen = order.choose(np.ones(72), np.ones(72), slots, 9, fresh=72)
        assert np.count_nonzero(chosen) == 9
        taken += np.bincount(keys[chosen].astype(np.int64), minlength=4)
    # Each slot is never more than about one entry ahead of its share, or behind it.
    np.testing.assert_allclose(taken, 900 * np.array([40, 20, 10, 2]) / 72, atol=2.0)


def test_old_granularities_have_the_share_that_is_left_to_them() -> None:
    order = Order("weighted", (1.0, 0.25))
    ages = np.repeat([0, 1], 50)
    keys = np.tile(np.arange(50, dtype=np.uint64), 2)
    old = 0
    for _ in range(200):
        chosen = order.choose(np.ones(100), np.ones(100), order.slots(keys, ages), 10, fresh=100)
        old += int(np.count_nonzero(ages[chosen]))
    assert abs(old - 400) <= 50


def test_what_waits_is_worked_on_with_what_new_entries_leave() -> None:
    order = Order("weighted")
    slots = order.slots(np.arange(200, dtype=np.uint64), np.zeros(200, np.int64))
    chosen = order.choose(np.ones(200), np.ones(200), slots, 150, fresh=100)
    assert np.count_nonzero(chosen[100:]) >= 80
    assert np.count_nonzero(chosen) == 150


def test_entries_of_a_tick_are_dealt_only_where_all_count_the_same() -> None:
    sides, serials = np.repeat([0, 1], 500), np.tile(np.arange(500), 2)
    ages = np.zeros(1000, np.int64)
    assert (Order("desc").arranged(sides, serials, ages) == np.arange(1000)).all()
    dealt = Order("weighted").arranged(sides, serials, ages)
    assert sorted(dealt.tolist()) == list(range(1000))
    # Of a fair deal of 1000, the first half has 250 of each side, give or take 7.9; six sigma
    # are left out about twice in 1e9.
    assert abs(int(sides[dealt[:500]].sum()) - 250) < 48


def test_values_are_dealt_evenly_into_slots() -> None:
    slots = Order("weighted").slots(np.arange(64 * SLOTS, dtype=np.uint64), np.zeros(1, np.int64))
    counts = np.bincount(slots, minlength=SLOTS)
    # Binomial with mean 64: beyond 64 +- 56 once in 1e9 for a slot, in 1e6 for any of them.
    assert counts.min() > 8
    assert counts.max() < 120
