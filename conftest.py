"""What all tests share, doctests of the package too: profiles of hypothesis and our plugins."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

pytest_plugins = ["tests.library", "tests.needs", "tests.pool", "tests.budget"]

SOURCES = Path(__file__).parent / "src"
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
# Homes of tests draw no seeds: two of them can be compared, and golden files stay as they are.
os.environ.setdefault("STREAMGAUGE_SEED", "9001")
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.hookimpl(tryfirst=True)
def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> None:
    """Look for doctests in the package alone: looking costs seconds, and tests have none."""
    parent.config.option.doctestmodules = file_path.is_relative_to(SOURCES)


@pytest.hookimpl(tryfirst=True)
def pytest_collection() -> None:
    """Collect tests without looking for garbage: all that is made stays."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Leave what was collected out of every later search: it took a tenth of the run."""
    gc.freeze()
    gc.enable()
