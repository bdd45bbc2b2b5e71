"""Which tests share a worker, and in which order work is handed out.

A file is a unit of work, so that its fixtures are made once. Tests that share a Spark session are
one unit per folder below `tests/spark`: a session is dear, and two of them fit on two cores. What
takes longest comes first, so that no worker is left alone with it at the end.
"""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

# Tests that start JVMs of their own go with a session, so that two JVMs run at a time and not four.
BESIDE = {
    "tests/cluster": "tests/spark/engine",
    "tests/chaos/test_spark_kills.py": "tests/spark/connectors",
    "tests/edge_faults/test_kafka.py": "tests/spark/connectors",
}
# The dearest need of a test decides when its unit is handed out: the first of these comes first.
ORDER = ("jvm", "kills", "broker", "browser", "library", "slow")


def unit(nodeid: str) -> str:
    """The unit of work that a test belongs to.

    >>> unit("tests/spark/engine/test_engine.py::test_one[a::b]")
    'tests/spark/engine'
    >>> unit("tests/plan/test_bind.py::test_two")
    'tests/plan/test_bind.py'
    >>> unit("tests/cluster/test_standalone.py::test_three")
    'tests/spark/engine'
    """
    path = PurePosixPath(nodeid.partition("::")[0])
    found = str(path.parent if path.is_relative_to("tests/spark") else path)
    return BESIDE.get(str(path.parent)) or BESIDE.get(found, found)


def priority(item: pytest.Item) -> int:
    """Place of a test in the order in which units are handed out."""
    marks = [place for place, mark in enumerate(ORDER) if item.get_closest_marker(mark)]
    return min(marks, default=len(ORDER))


class Units(LoadScopeScheduling):
    """Hands out units of work in the order of the collection."""

    def __init__(self, config: pytest.Config, log: Producer | None = None) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False

    def _split_scope(self, nodeid: str) -> str:
        return unit(nodeid)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order items by unit, the units by the first need among their tests."""
    first: dict[str, int] = {}
    for item in items:
        name = unit(item.nodeid)
        first[name] = min(first.get(name, len(ORDER)), priority(item))
    items.sort(key=lambda item: first[unit(item.nodeid)])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Units:
    """Let pytest-xdist hand out our units."""
    return Units(config, log)
