"""Comparisons by hand: which instants count, what is a miss, and where units begin and end."""

from __future__ import annotations

import math
from typing import Any

import pytest

from streamgauge.audit.compare import Found, Row, StandingBars, Unit, WindowBars

pytestmark = pytest.mark.slow

S = 1_000_000


def row(at: int, value: float | None, half: float = 0.0, **more: Any) -> Row:
    told = 0.0 if value is None else value
    named = {
        "as_of": at * S, "query": "q", "version": 1, "group": "", "value": value,
        "low": told - half, "high": told + half, "confidence": 0.9 if half else 1.0,
        "revision": 0, "coverage": 1.0, "basis": "exact", "slope": 0.0,
    }  # fmt: skip
    return Row(**{**named, **more})


def ticks(first: int, last: int) -> list[Row]:
    return [row(at, 1.0) for at in range(first, last + 1)]


def test_an_answer_stands_until_the_next_and_is_one_unit() -> None:
    bars = StandingBars(throughout=False)
    truth = [row(0, 0.0), *(row(at, float(at)) for at in range(1, 21))]
    answers = [row(0, 0.0, 1.0), row(4, 4.0, 1.0), row(20, 20.0, 1.0)]
    bars.take([], truth[:1], [])
    found = bars.take(answers, truth[1:], ticks(0, 20))
    # The first holds at 0 and 1, the second at 4 and 5 of 16 ticks.
    assert found.units == [
        Unit(0.5, pytest.approx(0.1), 0.25),
        Unit(14 / 16, pytest.approx(0.1), 1.0),
    ]
    assert (found.comparisons, found.misses) == (21, 2 + 14)
    assert found.worst == pytest.approx(15.0)


def test_an_answer_from_before_the_shadow_is_no_unit() -> None:
    bars = StandingBars(throughout=False)
    bars.take([row(0, 0.0, 1.0)], [], ticks(0, 3))
    found = bars.take([row(6, 9.0, 1.0)], [row(4, 9.0)], ticks(4, 8))
    assert found.units == []
    assert (found.comparisons, found.misses) == (5, 2)


def test_throughout_is_missed_or_not_as_a_whole() -> None:
    bars = StandingBars(throughout=True)
    bars.take([], [row(0, 0.0)], [])
    truth = [row(at, float(at % 3)) for at in range(1, 7)]
    found = bars.take([row(1, 1.0, 1.0), row(4, 1.0, 0.5), row(6, 1.0, 0.5)], truth, ticks(1, 6))
    assert [unit.missed for unit in found.units] == [0.0, 1.0]


def test_a_slope_carries_the_bar_on() -> None:
    bars = StandingBars(throughout=False)
    answer = row(0, 0.0, 0.1, slope=2.0)
    truth = [row(at, 2.0 * at) for at in range(5)]
    assert bars.take([answer], truth, ticks(0, 4)).misses == 0


def test_silence_coverage_and_nothing_are_left_out() -> None:
    bars = StandingBars(throughout=False)
    truth = [
        row(0, 9.0, basis="interrupted"), row(1, None), row(2, 9.0, coverage=0.5), row(3, 0.0),
    ]  # fmt: skip
    found = bars.take([row(0, 0.0, 1.0)], truth, ticks(0, 3))
    assert (found.comparisons, found.misses) == (1, 0)


def test_one_group_is_followed_and_all_are_compared() -> None:
    bars = StandingBars(throughout=False, follow=lambda group: group != "b")
    bars.take([], [row(0, 0.0, group=group) for group in "ab"], [])
    answers = [row(at, 0.0, 1.0, group=group) for at in (1, 3) for group in "ab"]
    truth = [row(2, 5.0, group="a")]
    found = bars.take(answers, truth, ticks(1, 3))
    assert (found.comparisons, found.misses) == (6, 2)
    assert [unit.missed for unit in found.units] == [0.0]


def test_nothing_stands_for_a_group_that_has_left_and_another_is_followed() -> None:
    bars = StandingBars(throughout=False)
    bars.take([], [row(0, 0.0, group=group) for group in "ab"], [])
    first = [row(1, 0.0, 1.0, group=group) for group in "ab"]
    end = row(3, 0.0, group="a", basis="empty")
    found = bars.take([*first, end], [end], ticks(1, 4))
    # Both groups at 1 and 2, then one of them.
    assert (found.comparisons, found.misses) == (6, 0)
    assert [unit.weight for unit in found.units] == [2 / 16]
    more = [row(at, 0.0, 1.0, group="b") for at in (5, 7)]
    found = bars.take(more, [row(5, 0.0, group="b")], ticks(5, 7))
    assert [unit.weight for unit in found.units] == [2 / 16]


def test_rounding_is_no_miss_and_an_exact_answer_that_is_off_is_a_sure_one() -> None:
    found = Found()
    assert not found.judge(row(0, 1e6), 1e6 * (1.0 + 1e-12), 0)
    assert found.judge(row(0, 1e6), 1e6 + 1.0, 0)
    assert found.sure_misses == 1
    assert found.worst == math.inf
    assert not found.judge(row(0, 1.0, low=-math.inf, high=math.inf), 7.0, 0)


def test_windows_that_share_rows_are_one_unit_and_the_next_shares_none() -> None:
    bars = WindowBars(length=4 * S, on_change=False)
    answers = [row(at, 0.0, 1.0) for at in range(1, 13)]
    truth = [row(at, 9.0 if at in (2, 8) else 0.0) for at in range(1, 13)]
    found = bars.take(answers, truth, [])
    # 1 to 4, then 8 to 11: the window at 8 begins after 4.
    assert found.units == [Unit(0.25, pytest.approx(0.1)), Unit(0.25, pytest.approx(0.1))]
    assert (found.comparisons, found.misses) == (12, 2)


def test_windows_side_by_side_are_all_units() -> None:
    bars = WindowBars(length=4 * S, on_change=False)
    answers = [row(at, 0.0, 1.0) for at in (4, 8, 12)]
    found = bars.take(answers, [row(at, 0.0) for at in (4, 8, 12)], [])
    assert len(found.units) == 2


def test_instants_that_the_shadow_did_not_answer_are_left_out() -> None:
    truth = [row(1, 5.0)]
    answers = [row(1, 0.0, 1.0), row(2, 0.0, 1.0), row(2, 0.0, 1.0, revision=1)]
    assert WindowBars(None, on_change=False).take(answers, truth, []).comparisons == 1
    # On change, no answer says that nothing has changed.
    assert WindowBars(None, on_change=True).take(answers, truth, []).misses == 2


def test_groups_of_an_instant_are_one_unit() -> None:
    answers = [row(1, 0.0, 1.0, group=group) for group in "abcd"]
    truth = [row(1, 9.0 * (group == "a"), group=group) for group in "abcd"]
    found = WindowBars(None, on_change=False).take(answers, truth, [])
    assert [unit.missed for unit in found.units] == [0.25]


@pytest.mark.parametrize("truth", [math.inf, -math.inf, math.nan])
def test_a_truth_that_is_no_number_is_not_compared(truth: float) -> None:
    for bars in (StandingBars(throughout=False), WindowBars(None, on_change=False)):
        answers = [row(0, math.inf, low=-math.inf, high=math.inf), row(1, 1.0, 1.0)]
        exact = [row(0, truth), row(1, truth)]
        found = bars.take(answers, exact, ticks(0, 1))
        assert (found.comparisons, found.units) == (0, [])


def test_what_was_seen_before_a_pause_is_not_compared_after_it() -> None:
    for bars in (StandingBars(throughout=False), WindowBars(None, on_change=True)):
        bars.take([row(0, 0.0, 1.0)], [row(0, 0.0)], ticks(0, 1))
        bars.leave()
        # The truth went to 9 meanwhile and stayed there.
        found = bars.take([row(8, 9.0, 1.0)], [], ticks(7, 9))
        assert (found.comparisons, found.units) == (0, [])
        found = bars.take([row(11, 7.5, 1.0)], [row(11, 7.0)], ticks(11, 12))
        assert found.comparisons
        assert not found.misses


def test_an_answer_that_was_given_exactly_differs_by_rounding_alone() -> None:
    """Debits and credits sum to nothing, up to what rounding leaves of them."""
    found = WindowBars(None, on_change=False).take([row(0, 5.6e-14)], [row(0, 0.0)], [])
    assert (found.comparisons, found.sure_misses) == (0, 0)
    half = row(0, 9.0, 1.0, confidence=1.0)
    found = WindowBars(None, on_change=False).take([half], [row(0, 0.0)], [])
    assert found.sure_misses == 1
