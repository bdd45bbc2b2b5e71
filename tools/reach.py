"""A plugin of pytest that records which lines each test reaches, for `tools/seed_faults`."""

from __future__ import annotations

import atexit
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest

from tools.forking import command_of

FOLDER = Path(os.environ["STREAMGAUGE_REACH"])
_measured = coverage.Coverage(
    data_file=str(FOLDER / f"lines.{os.getpid()}"),
    source=["src/streamgauge"],
    config_file=False,
)
_measured.start()


@atexit.register
def _save() -> None:
    _measured.stop()
    _measured.save()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Name the context of all that runs after the test, and time it."""
    _measured.switch_context(item.nodeid)
    began = time.monotonic()
    yield
    seconds = round(time.monotonic() - began, 3)
    _measured.switch_context("")
    command = command_of(item)
    with (FOLDER / f"tests.{os.getpid()}.jsonl").open("a", encoding="utf-8") as opened:
        opened.write(json.dumps([item.nodeid, command, seconds]) + "\n")
