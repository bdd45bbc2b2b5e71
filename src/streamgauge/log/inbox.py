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

from streamgauge.kernel.files import damaged, read_json, write_json
from streamgauge.log.home import Home

_PARTS: dict[str, dict[str, type]] = {
    "stream": {"stream": dict},
    "advance": {"stream": str, "instant": int},
    "register": {"queries": list},
    "alter": {"queries": list},
    "pause": {"names": list},
    "resume": {"names": list},
    "drop": {"names": list},
}


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
    with os.scandir(home.control) as entries:
        found = [entry.name for entry in entries]
    return sorted(name for name in found if name.endswith(".json") and not name.startswith("."))


def waiting(home: Home, done: set[str], most: int = 1000) -> list[tuple[str, dict[str, Any]]]:
    """Records not yet in the journal, in order."""
    left = [name for name in names(home) if name not in done]
    return [(name, read_change(home, name)) for name in left[:most]]


def read_change(home: Home, name: str) -> dict[str, Any]:
    """One record that waits."""
    path, what = home.control / name, "a change that waits in the inbox"
    found = read_json(path, what)
    if not isinstance(found, dict) or not isinstance(found.get("do"), str):
        raise damaged(path, what, "it does not say what is to be done")
    for part, kind in _PARTS.get(found["do"], {}).items():
        if not isinstance(found.get(part), kind):
            raise damaged(path, what, f"it says {found['do']} without {part}")
    return found


def remove(home: Home, done: Sequence[str]) -> None:
    """Forget records that a page holds now."""
    for name in done:
        (home.control / name).unlink(missing_ok=True)
