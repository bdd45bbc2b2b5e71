"""The workload `page` without a browser: what is told of frames, and when a run says nothing."""

from __future__ import annotations

from typing import Any

import pytest

from bench import page
from bench.page_served import questions

pytestmark = pytest.mark.slow

SEEN: dict[str, Any] = {
    "first_ms": 300.0, "frames": [16.0] * 95 + [90.0] * 4 + [400.0], "epochs": 5, "changes": 60,
    "rows": 30, "nodes": 2_000, "heap_bytes": 5e6, "board_bytes": 1e6, "board_ms": 50.0,
    "board_most_ms": 80.0, "total": page.QUICK.queries,
}  # fmt: skip


def test_the_slowest_frame_is_told_and_the_bar_is_on_the_usual_ones() -> None:
    report = page._report(page.QUICK, True, SEEN)
    assert report.right
    assert report.figures["frame_max"] == (400.0, "ms")
    assert report.bars["frame_p95"].met
    slow = page._report(page.QUICK, True, {**SEEN, "frames": [16.0, 400.0]})
    assert not slow.bars["frame_p95"].met


@pytest.mark.parametrize("change", [{"total": 7}, {"epochs": 0}, {"changes": 0}])
def test_a_list_that_stands_still_says_nothing(change: dict[str, int]) -> None:
    assert not page._report(page.QUICK, True, {**SEEN, **change}).right


def test_questions_have_names_of_their_own() -> None:
    assert len({query.name for query in questions(100)}) == 100
