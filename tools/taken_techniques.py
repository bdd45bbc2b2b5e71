"""A plugin of pytest that notes which tests a technique has a part in.

It has one if it offers to answer what a test asks, or is asked about a query that it answers. What
a fixture does that tests share counts for all tests of its file. The file that the environment
names in STREAMGAUGE_TAKEN gets tests and files, by the names of techniques.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

from streamgauge.plan.offer import Offer
from streamgauge.plan.technique import techniques

# Methods that are called for queries that a technique answers, and those that all are asked.
OF_ITS_OWN = ("key", "charges", "explain", "place", "reads", "takes")
OF_ALL = ("offer", "kept", "owns")
_found: defaultdict[str, set[str]] = defaultdict(set)
# The test, or the file, that runs.
_running = [""]


def _noted(name: str, method: Callable[..., Any], counts: Callable[[Any], bool]) -> Any:
    @wraps(method)
    def called(*args: Any, **named: Any) -> Any:
        found = method(*args, **named)
        if counts(found):
            _found[name].add(_running[-1])
        return found

    return called


def _taken(found: Any) -> bool:
    return isinstance(found, Offer) or (isinstance(found, (bool, tuple)) and bool(found))


def _always(found: Any) -> bool:
    return True


def _watch() -> None:
    for known in techniques():
        kind = type(known)
        for names, counts in ((OF_ITS_OWN, _always), (OF_ALL, _taken)):
            for method in names:
                setattr(kind, method, _noted(known.name, getattr(kind, method), counts))


_watch()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """A test runs."""
    _running.append(item.nodeid)
    yield
    _running.pop()


@pytest.hookimpl(hookwrapper=True)
def pytest_fixture_setup(fixturedef: Any, request: Any) -> Iterator[None]:
    """A fixture is made: for one test, or for all of a file."""
    _running.append(request.node.nodeid if fixturedef.scope == "function" else _file(request))
    yield
    _running.pop()


def _file(request: Any) -> str:
    return _running[-1].partition("::")[0] or str(request.node.nodeid)


def pytest_sessionfinish() -> None:
    """Write what was noted."""
    found = {name: sorted(tests) for name, tests in sorted(_found.items())}
    Path(os.environ["STREAMGAUGE_TAKEN"]).write_text(json.dumps(found), encoding="utf-8")
