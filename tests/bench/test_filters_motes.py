"""The section on battery sensors gives the figures that the documentation shows."""

from __future__ import annotations

import pytest

from bench.filters_motes import programs, rates_for_length, routing

pytestmark = pytest.mark.slow


def test_the_programs_draw_what_was_printed() -> None:
    for row in programs():
        assert row["mw"] == pytest.approx(row["printed_mw"], rel=0.01)
        assert row["days_with_receiver"] < row["days"]


def test_a_faster_rate_narrows_the_bar_of_a_length() -> None:
    wide = [row["speed_measured_ft"] for row in rates_for_length()]
    assert wide == sorted(wide, reverse=True)


def test_each_sample_goes_to_the_selections_that_want_it() -> None:
    found = routing(4, samples=202)
    assert found["queries"] == 4
    assert 1.0 < found["deliveries_per_second"] / found["samples_per_second"] < 4.0
