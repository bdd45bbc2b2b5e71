"""What tests need beyond Python and a second: marks, and what `make quick` leaves out.

A mark names a need, wherever the test stands: a Java runtime, a broker or database, a browser,
processes that are killed. A file whose tests all have one says so in one line, `pytestmark = ...`,
and is not even imported by `make quick`.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

NEEDS = ("jvm", "broker", "browser", "kills", "library", "slow", "nightly")
# A mark for all tests of a file, in its text.
ALL_NEED = re.compile(rf"^pytestmark\b.*\bmark\.(?:{'|'.join(NEEDS)})\b", re.MULTILINE)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of `make quick`."""
    parser.addoption("--quick", action="store_true", help="leave out all that needs more")


def needs(item: pytest.Item) -> bool:
    """Whether a test needs more than `make quick` has."""
    return any(item.get_closest_marker(need) for need in NEEDS)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even import files of which every test needs more than `make quick` has."""
    if config.getoption("--quick") and collection_path.name.startswith("test_"):
        return bool(ALL_NEED.search(collection_path.read_text(encoding="utf-8"))) or None
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what `make quick` leaves out."""
    if config.getoption("--quick"):
        config.hook.pytest_deselected(items=[item for item in items if needs(item)])
        items[:] = [item for item in items if not needs(item)]
