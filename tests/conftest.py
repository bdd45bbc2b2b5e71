"""What all tests share: hypothesis profiles, marks by folder, cheap tests first."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

# Folders whose tests run engines, commands or compiled synopses: right, and seconds each.
SLOW = (
    "alerts", "audit", "bench", "browser", "cli", "coordinator", "docs", "edge", "engine",
    "execute", "notebook", "server", "sinks",
)  # fmt: skip
MARKS = ("slow", "synopses", "guarantees", "spark", "cluster", "chaos", "nightly")
TESTS = Path(__file__).parent

# A deadline or a speed check would fail on a busy machine, not on a mistake. Making a failing
# example smaller can take minutes; `HYPOTHESIS_PROFILE=shrink` does it for the one that failed.
settings.register_profile(
    "ci",
    deadline=None,
    derandomize=True,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "shrink", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "nightly",
    deadline=None,
    max_examples=1000,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by their folder (tests/spark, tests/chaos, ...) and run the cheap ones first."""
    for item in items:
        if item.path.is_relative_to(TESTS):
            folders = item.path.relative_to(TESTS).parts[:-1]
            for mark in set(MARKS).intersection(folders):
                item.add_marker(mark)
            if set(SLOW).intersection(folders):
                item.add_marker("slow")
            if "edge_faults" in folders:
                item.add_marker("chaos")
        elif "synopses" in item.path.parts:
            item.add_marker("slow")
    items.sort(key=_cost)


def _cost(item: pytest.Item) -> int:
    """0 without marks, else the place of its dearest mark in `MARKS`, from 1."""
    return max(
        (MARKS.index(mark) + 1 for mark in MARKS if item.get_closest_marker(mark)), default=0
    )
