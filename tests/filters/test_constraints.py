"""Constraints: what queries allow, by hand and exactly, in fractions, on random systems."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.filters.constraints import Constraints, Demand
from streamgauge.kernel.errors import BindError

pytestmark = pytest.mark.slow

# Two averages that share object 1, one sum of two weighted objects, one extreme, one single.
MIXED = [
    ([0, 1], [0.5, 0.5], 3.0, "linear"),
    ([1, 2, 3], [1 / 3, 1 / 3, 1 / 3], 4.0, "linear"),
    ([2, 4], [2.0, -1.0], 8.0, "linear"),
    ([3, 4], None, 5.0, "each"),
    ([5], [-2.0], 1.0, "linear"),
]


@st.composite
def systems(draw: st.DrawFn) -> tuple[int, list[Demand]]:
    """A few queries of any kind over a few objects."""
    n_objects = draw(st.integers(1, 8))
    demands = []
    for _ in range(draw(st.integers(0, 6))):
        members = draw(
            st.lists(st.integers(0, n_objects - 1), min_size=1, max_size=n_objects, unique=True)
        )
        sizes = st.floats(1e-3, 1e3, allow_nan=False)
        weights = draw(st.none() | st.lists(sizes, min_size=len(members), max_size=len(members)))
        if weights is not None:
            signs = draw(st.lists(st.booleans(), min_size=len(members), max_size=len(members)))
            weights = [w if sign else -w for w, sign in zip(weights, signs, strict=True)]
        delta = draw(st.floats(1e-3, 1e3))
        demands.append(Demand(members, weights, delta, draw(st.sampled_from(["linear", "each"]))))
    return n_objects, demands


def exceeded(demands: list[Demand], widths: np.ndarray[Any, Any]) -> list[int]:
    """Queries whose demand does not hold, worked out without rounding."""
    found = []
    for number, (members, weights, delta, kind) in enumerate(demands):
        signed = [1.0] * len(members) if weights is None else weights
        exact = [Fraction(float(widths[one])) for one in members]
        if kind == "each":
            answer = max(exact)
        else:
            parts = zip(exact, signed, strict=True)
            answer = sum((abs(Fraction(weight)) * width for width, weight in parts), Fraction(0))
        if answer > Fraction(delta):
            found.append(number)
    return found


def free_to_grow(constraints: Constraints, widths: np.ndarray[Any, Any]) -> list[int]:
    """Objects below their caps all of whose queries have more left than rounding can leave."""
    spent = constraints.leftover(widths) <= 1e-12 * constraints.budgets
    return [
        one
        for one in np.flatnonzero(np.isfinite(widths) & (widths < constraints.caps))
        if not spent[
            constraints.object_queries[
                constraints.object_starts[one] : constraints.object_starts[one + 1]
            ]
        ].any()
    ]


def test_held_leftover_and_room_by_hand() -> None:
    constraints = Constraints.of(7, MIXED)
    widths = np.array([2.0, 1.0, 1.0, 4.0, 3.0, 0.5, np.inf])
    assert constraints.held(widths) == pytest.approx([1.5, 2.0, 5.0, 0.0, 0.0])
    assert constraints.leftover(widths) == pytest.approx([1.5, 2.0, 3.0, np.inf, np.inf])
    # 0: 1.5 / 0.5; 1: the same, against 6; 2: 3 / 2, against 6; 3: its cap; 4: its cap; 5: full.
    growth = constraints.room(np.arange(6), widths)
    assert growth == pytest.approx([3.0, 3.0, 1.5, 1.0, 2.0, 0.0])
    assert constraints.room(2, widths, np.array([0.0, 0.5, 3.0, 0.0, 0.0])) == pytest.approx([1.5])


def test_caps_come_from_extremes_and_single_objects() -> None:
    constraints = Constraints.of(7, MIXED)
    assert constraints.caps == pytest.approx([np.inf, np.inf, np.inf, 5.0, 5.0, 0.5, np.inf])
    assert constraints.unqueried.tolist() == [False] * 6 + [True]
    # They have no rows, so their numbers stay in place.
    assert np.diff(constraints.starts).tolist() == [2, 3, 2, 0, 0]


def test_the_least_of_several_single_queries_is_the_width() -> None:
    constraints = Constraints.of(1, [([0], None, 3.0), ([0], None, 2.0), ([0], None, 9.0)])
    assert constraints.caps.tolist() == [2.0]
    assert constraints.uniform().tolist() == [2.0]


def test_uniform_is_the_narrowest_of_the_shares() -> None:
    # 3 / 1, then 4 / 1 and 8 / 3, caps of 5, 1 / 2, and nobody asks for the last.
    uniform = Constraints.of(7, MIXED).uniform()
    assert uniform == pytest.approx([3.0, 3.0, 8 / 3, 4.0, 8 / 3, 0.5, np.inf])


def test_a_difference_spends_as_a_sum_does() -> None:
    constraints = Constraints.of(2, [([0, 1], [1.0, -1.0], 4.0)])
    assert constraints.held([1.0, 3.0]).tolist() == [4.0]


def test_an_exact_query_lets_no_member_have_a_width() -> None:
    constraints = Constraints.of(3, [([0, 1], None, 0.0), ([1, 2], None, 6.0)])
    assert constraints.uniform() == pytest.approx([0.0, 0.0, 3.0])
    filled = constraints.filled(constraints.uniform(), [0, 1, 2])
    assert filled == pytest.approx([0.0, 0.0, 6.0])


def test_a_query_without_limits_asks_for_no_width() -> None:
    constraints = Constraints.of(2, [([0, 1], None, np.inf), ([1], None, np.inf, "each")])
    assert constraints.uniform().tolist() == [np.inf, np.inf]
    assert not constraints.unqueried.any()


def test_an_object_named_twice_counts_with_the_sum_of_its_weights() -> None:
    constraints = Constraints.of(3, [([2, 0, 2], [1.0, 1.0, 2.0], 8.0), ([0, 1, 0], None, 8.0)])
    assert constraints.held([1.0, 1.0, 1.0]).tolist() == [4.0, 3.0]
    cancelled = Constraints.of(3, [([0, 1, 0, 2], [1.0, 1.0, -1.0, 1.0], 8.0)])
    assert cancelled.held([5.0, 1.0, 1.0]).tolist() == [2.0]
    assert cancelled.unqueried.tolist() == [True, False, False]


def test_nothing_asked_is_everything_allowed() -> None:
    constraints = Constraints.of(3, [])
    assert constraints.uniform().tolist() == [np.inf] * 3
    assert constraints.held(np.zeros(3)).size == 0
    assert Constraints.of(0, []).uniform().size == 0
    empty = Constraints.of(2, [([], None, 3.0)])
    assert empty.uniform().tolist() == [np.inf, np.inf]


def test_an_object_not_yet_limited_leaves_no_room_for_others() -> None:
    constraints = Constraints.of(2, [([0, 1], None, 6.0)])
    assert constraints.held([1.0, np.inf]).tolist() == [np.inf]
    assert constraints.room([0, 1], [1.0, np.inf]).tolist() == [0.0, 0.0]


def test_violations_name_queries_and_objects() -> None:
    constraints = Constraints.of(7, MIXED)
    queries, objects = constraints.violations([9.0, 1.0, 1.0, 6.0, 3.0, 0.4, np.inf])
    assert queries.tolist() == [0]
    assert objects.tolist() == [3]


@pytest.mark.parametrize(
    ("demand", "said"),
    [
        (([0, 3], None, 1.0), "objects from 0 to 2"),
        (([-1, 0], None, 1.0), "objects from 0 to 2"),
        (([0, 1], [1.0], 1.0), "a weight for each object"),
        (([0, 1], [1.0, np.nan], 1.0), "finite weights"),
        (([0, 1], None, -1.0), "0 or more"),
        (([0, 1], None, np.nan), "0 or more"),
        (([0, 1], None, 1.0, "most"), "'linear' or 'each'"),
    ],
)
def test_impossible_demands_are_refused(demand: tuple[Any, ...], said: str) -> None:
    with pytest.raises(BindError, match="no possible widths") as caught:
        Constraints.of(3, [([0, 1], None, 1.0), demand])
    assert "query 1" in caught.value.detail
    assert said in caught.value.hint


def test_growing_to_a_cap_ends_there() -> None:
    # Taking a width from a cap and adding it again may round up.
    caps = np.random.default_rng(1).uniform(0.1, 10.0, 2000)
    demands = [Demand([one], None, cap, "each") for one, cap in enumerate(caps)]
    constraints = Constraints.of(caps.size, demands)
    begin = caps * np.random.default_rng(2).uniform(0.0, 1.0, caps.size)
    everyone = np.arange(caps.size)
    assert (begin + (caps - begin) > caps).any()
    assert (begin + constraints.room(everyone, begin) <= caps).all()
    assert (constraints.filled(begin, everyone) <= caps).all()


@settings(max_examples=100, deadline=None)
@given(systems())
def test_uniform_widths_hold_without_rounding(system: tuple[int, list[Demand]]) -> None:
    n_objects, demands = system
    constraints = Constraints.of(n_objects, demands)
    assert exceeded(demands, constraints.uniform()) == []


@settings(max_examples=100, deadline=None)
@given(systems(), st.randoms(use_true_random=False), st.floats(0.0, 1.0))
def test_filling_holds_without_rounding_and_leaves_no_room(
    system: tuple[int, list[Demand]], lot: Any, part: float
) -> None:
    n_objects, demands = system
    constraints = Constraints.of(n_objects, demands)
    order = list(range(n_objects))
    lot.shuffle(order)
    begin = constraints.uniform() * max(part, 1e-9)
    widths = constraints.filled(begin, order)
    assert exceeded(demands, widths) == []
    assert (widths >= begin).all()
    assert np.isfinite(widths).tolist() == (~constraints.unqueried).tolist()
    assert free_to_grow(constraints, widths) == []


@settings(max_examples=100, deadline=None)
@given(systems(), st.data())
def test_one_object_may_take_all_its_room_and_no_more(
    system: tuple[int, list[Demand]], data: st.DataObject
) -> None:
    n_objects, demands = system
    constraints = Constraints.of(n_objects, demands)
    widths = constraints.uniform() * 0.5
    limited = np.flatnonzero(np.isfinite(widths))
    if limited.size:
        one = data.draw(st.sampled_from(limited.tolist()))
        (room,) = constraints.room(one, widths)
        widths[one] += room
        assert exceeded(demands, widths) == []
        widths[one] += 1e-9 * widths[one]
        assert exceeded(demands, widths) != []
