"""When a change takes hold: left in the inbox, in a page, in a committed epoch."""

from __future__ import annotations

import threading
import time
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from streamgauge.cli.options import console
from streamgauge.engine.catalog import registry_at
from streamgauge.kernel.errors import EngineFailure
from streamgauge.log import lock
from streamgauge.log.home import Home
from streamgauge.log.journal import Journal, Page

DEFAULT_SECONDS = 10.0
POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Change:
    """A change that was left in the inbox after page `after`."""

    do: str
    names: tuple[str, ...]
    after: int

    def inside(self, page: Page) -> bool:
        """Whether a page holds it."""
        return any(
            record["do"] == self.do and _names(record) == list(self.names)
            for record in page.changes
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a change: the epoch it is in, or whether a job runs that will take it."""

    change: Change
    epoch: int | None
    running: bool

    def __str__(self) -> str:
        n = len(self.change.names)
        subject = self.change.names[0] if n == 1 else f"{n:,} queries"
        said = f"{self.change.do} {subject}"
        if self.epoch is not None:
            return f"{said}: in force since epoch {self.epoch}"
        if self.running:
            return f"{said}: left in the inbox, not in force yet"
        return f"{said}: left in the inbox: no job is running on this home"

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "change": self.change.do,
            "queries": list(self.change.names),
            "in_force": self.epoch is not None,
            "epoch": self.epoch,
            "job_running": self.running,
        }


def settle(home: Home, change: Change, wait: float | None) -> Outcome:
    """Wait until a change is in a committed epoch.

    Parameters
    ----------
    wait
        Seconds; running out of them is an error. None: as long as it makes sense, and no error.
    """
    running = lock.held(home.root)
    seconds = wait
    if seconds is None:
        seconds = DEFAULT_SECONDS if running else 0.0
    epoch = _awaited(home, change, seconds, change.after)
    if epoch is not None:
        _check_refused(home, change, epoch)
    elif wait:
        raise EngineFailure(
            f"not in force within {wait:g} s",
            f"{change.do} of {len(change.names):,} queries, committed epoch {home.committed()}"
            + ("" if running else ", no job is running on this home"),
            "the change is safe in the inbox: wait longer, or start the job with streamgauge run",
        )
    return Outcome(change, epoch, running or epoch is not None)


def settle_records(home: Home, records: tuple[str, ...], after: int, wait: float | None) -> str:
    """Wait until all records left in the inbox are in committed epochs; say how it went."""
    running = lock.held(home.root)
    if not running and not wait:
        return "left in the inbox: no job is running on this home"
    left = Left(records)
    epoch = _awaited(home, left, DEFAULT_SECONDS if wait is None else wait, after)
    if epoch is None:
        if wait:
            raise EngineFailure(
                f"not in force within {wait:g} s",
                f"{len(records):,} changes, committed epoch {home.committed()}"
                + ("" if running else ", no job is running on this home"),
                "the changes are safe in the inbox: wait longer, or start the job",
            )
        return "left in the inbox, not in force yet"
    pages = [Journal(home).page(number) for number in range(after + 1, epoch + 1)]
    refused = [error for page in pages if set(page.inbox) & set(records) for error in page.refused]
    if refused:
        raise EngineFailure(
            f"the job refused: {refused[0]['message']}", refused[0]["detail"], refused[0]["hint"]
        )
    return f"in force since epoch {epoch}"


@dataclass(frozen=True, slots=True)
class Left:
    """Records by their names in the inbox."""

    records: tuple[str, ...]

    def inside(self, page: Page) -> bool:
        """Whether a page holds the last of them."""
        return self.records[-1] in page.inbox


def _awaited(home: Home, change: Change | Left, seconds: float, after: int) -> int | None:
    deadline = time.monotonic() + seconds
    terminal = console(stderr=True)
    shown = terminal.status("waiting for the job to take it in") if seconds else nullcontext()
    journal, seen, found = Journal(home), after, None
    with shown if terminal.is_terminal else nullcontext():
        while True:
            while found is None and seen < journal.last():
                seen += 1
                found = seen if change.inside(journal.page(seen)) else None
            if found is not None and home.committed() >= found:
                return found
            if time.monotonic() >= deadline:
                return None
            threading.Event().wait(POLL_SECONDS)


def _check_refused(home: Home, change: Change, epoch: int) -> None:
    """Raise when the job refused the change, which another change may have overtaken."""
    refused = Journal(home).page(epoch).refused
    if not refused:
        return
    held = registry_at(home, epoch).queries
    wrong = [name for name in change.names if (name in held) == (change.do == "drop")]
    if wrong:
        raise EngineFailure(
            f"the job refused to {change.do} {wrong[0]!r}",
            "; ".join(f"{error['message']}: {error['detail']}" for error in refused[:3]),
            refused[0]["hint"],
        )


def _names(record: dict[str, Any]) -> list[str]:
    if "queries" in record:
        return [query["name"] for query in record["queries"]]
    return list(record.get("names", ()))
