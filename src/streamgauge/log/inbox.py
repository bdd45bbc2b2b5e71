"""Inbox: where any process leaves control records for the lander.

A record is one JSON file under a name that sorts by time. Dropping it there is acknowledged once
it is on the disk; the lander puts it into the next page, in order.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Sequence
from typing import Any

from streamgauge.kernel.files import read_json, write_json
from streamgauge.log.home import Home


def new_name() -> str:
    """A name for a record that comes after all there are."""
    return f"{time.time_ns():020d}-{uuid.uuid4().hex[:12]}.json"


def submit(home: Home, record: dict[str, Any], name: str | None = None) -> str:
    """Leave a control record; return its name once it is durable."""
    name = name or new_name()
    write_json(home.control / name, record)
    return name


def names(home: Home) -> list[str]:
    """Names of the records that are here, in order."""
    if not home.control.is_dir():
        return []
    return sorted(
        entry.name
        for entry in os.scandir(home.control)
        if entry.name.endswith(".json") and not entry.name.startswith(".")
    )


def waiting(home: Home, done: set[str], most: int = 1000) -> list[tuple[str, dict[str, Any]]]:
    """Records not yet in the journal, in order."""
    left = [name for name in names(home) if name not in done]
    return [(name, read_json(home.control / name)) for name in left[:most]]


def remove(home: Home, done: Sequence[str]) -> None:
    """Forget records that a page holds now."""
    for name in done:
        (home.control / name).unlink(missing_ok=True)
