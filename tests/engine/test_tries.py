"""A landing that fails again and again is given up; one that works between failures is not."""

from __future__ import annotations

import pytest

from streamgauge.engine.spark.tries import MOST, PAUSES, STEADY_SECONDS, Tries

pytestmark = pytest.mark.slow


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_failures_at_one_place_are_enough_in_the_end_and_pauses_grow() -> None:
    tries = Tries()
    pauses = []
    for _ in range(MOST):
        assert not tries.enough
        tries.begin(3)
        tries.failed(3)
        pauses.append(tries.pause)
    assert tries.enough
    assert pauses == [*PAUSES[1:], PAUSES[-1]]


def test_a_topic_on_which_nothing_comes_survives_a_fault_an_hour() -> None:
    clock = Clock()
    tries = Tries(clock)
    for _ in range(10 * MOST):
        tries.begin(3)
        clock.now += STEADY_SECONDS
        assert tries.failed(3) == 1
    assert not tries.enough
