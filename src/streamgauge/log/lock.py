"""Which process runs a home: a lock that dies with its holder, and how others see it."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from streamgauge.kernel.errors import EngineFailure

LOCK = "job.lock"
# A process that only looks holds the lock for a moment.
PATIENCE_SECONDS = 1.0


@contextmanager
def holding(root: Path) -> Iterator[None]:
    """Be the one process that runs a home; another one is refused."""
    root.mkdir(parents=True, exist_ok=True)
    with (root / LOCK).open("a+") as file:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not _locked(file.fileno(), fcntl.LOCK_EX):
            if time.monotonic() > deadline:
                raise _held(root)
            threading.Event().wait(0.05)
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def held(root: Path) -> bool:
    """Whether some process runs a home."""
    path = root / LOCK
    if not path.exists():
        return False
    with path.open("r") as file:
        return not _locked(file.fileno(), fcntl.LOCK_SH)


def refuse_if_held(root: Path) -> None:
    """Raise when some process runs a home."""
    if held(root):
        raise _held(root)


def _locked(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _held(root: Path) -> EngineFailure:
    holder = (root / LOCK).read_text(errors="replace").strip() or "unknown"
    return EngineFailure(
        f"a job runs on {root} already",
        f"process {holder} holds {LOCK}",
        "stop it first, or change its queries with register, alter, pause, resume and drop",
    )
