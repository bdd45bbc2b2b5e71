"""Answers: the value that one has at a later instant."""

from __future__ import annotations

import pytest

from streamgauge.contracts.answer import Answer
from streamgauge.kernel.time import SECOND


@pytest.mark.parametrize(
    ("later", "value"), [(0, 20.0), (SECOND // 4, 20.125), (SECOND, 20.5), (9 * SECOND // 2, 22.25)]
)
def test_a_value_with_a_slope_moves_by_parts_of_a_second(later: int, value: float) -> None:
    trend = Answer("heat", 20.0, 19.0, 21.0, as_of=7 * SECOND, slope=0.5)
    assert trend.at(7 * SECOND + later) == value


def test_no_value_has_none_later() -> None:
    assert Answer("heat", None, 0.0, 0.0, as_of=0, slope=0.5).at(SECOND) is None
