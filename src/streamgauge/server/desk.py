"""Desk: what all routes share: the gauge, what is expected to hold, and the newest answers.

Everything here can be read again from the home; nothing is lost with the server.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request

from streamgauge.contracts.answer import Answer
from streamgauge.engine.catalog import registry_at
from streamgauge.execute.outcome import Outcome
from streamgauge.execute.script import Script
from streamgauge.execute.trial import Trial, copied
from streamgauge.gauge import Gauge
from streamgauge.kernel.errors import BindError, StreamgaugeError
from streamgauge.language.statements import Statement
from streamgauge.log import inbox, lock
from streamgauge.log.home import Home
from streamgauge.log.journal import Journal, Page
from streamgauge.plan.registry import Listed, Registry, Standing
from streamgauge.server.problems import Problems
from streamgauge.server.settings import Settings
from streamgauge.server.tally import Tally

T = TypeVar("T")
TRIES = 20
# Records stay in the inbox for a moment after the page that took them is written.
PAGES_REMEMBERED = 8
# Newest answers that take less are read whenever somebody asks.
DEAR_SECONDS = 0.2


class Catalog:
    """Registries of a home, brought forward page by page instead of read anew.

    Parameters
    ----------
    home
        The home; other processes may change it meanwhile.
    """

    def __init__(self, home: Home) -> None:
        self.home = home
        self._lock = threading.Lock()
        self._committed: Registry | None = None
        self._landed: Registry | None = None
        self._taken: list[tuple[str, ...]] = []

    def committed(self) -> Registry:
        """What holds as of the last committed epoch. A copy of one's own."""
        with self._lock:
            if self._committed is None:
                self._bring()
            epoch = self.home.committed()
            self._committed = registry_at(self.home, epoch, self._committed)
            return copied(self._committed)

    def expected(self) -> Registry:
        """What will hold once the journal is worked off and the inbox is empty."""
        with self._lock:
            waiting: list[tuple[str, dict[str, Any]]] = []
            for _ in range(TRIES):
                last = self._bring()
                try:
                    waiting = inbox.waiting(self.home, {n for page in self._taken for n in page})
                except FileNotFoundError:
                    # The job took a record between the listing and the reading.
                    continue
                if Journal(self.home).last() == last:
                    break
            assert self._landed is not None
            found = copied(self._landed)
            for _, record in waiting:
                found.apply([record], epoch=found.epoch + 1)
            return found

    def _bring(self) -> int:
        journal = Journal(self.home)
        last = journal.last()
        known = self._landed
        if known is None or known.epoch > last:
            known = registry_at(self.home, max(last - PAGES_REMEMBERED, 0))
            # Reading thousands of queries takes a second, so both are brought forward from here.
            self._committed = copied(known)
            self._taken.clear()
        for number in range(known.epoch + 1, last + 1):
            page: Page = journal.page(number)
            known = registry_at(self.home, number, known, read=page)
            self._taken = [*self._taken, page.inbox][-PAGES_REMEMBERED:]
        self._landed = known
        return last


class Newest:
    """The newest answers of all queries, read once an epoch for all who ask.

    Parameters
    ----------
    gauge
        What they are read from.
    thrift
        Reading that takes long is repeated only after so many times as long. Thousands of queries
        take a second; a server that did nothing else would keep the job from its work.
    """

    def __init__(self, gauge: Gauge, thrift: float) -> None:
        self.gauge = gauge
        self.thrift = thrift
        self._lock = threading.Lock()
        self._epoch = -1
        self._again = 0.0
        self._by_query: dict[str, list[Answer]] = {}

    def read(self) -> tuple[int, dict[str, list[Answer]]]:
        """The epoch, and answers by query."""
        with self._lock:
            begin = time.monotonic()
            epoch = self.gauge.home.committed()
            if epoch != self._epoch and begin >= self._again:
                found: dict[str, list[Answer]] = {}
                for answer in self.gauge.latest():
                    found.setdefault(answer.query, []).append(answer)
                self._epoch, self._by_query = epoch, found
                end = time.monotonic()
                dear = end - begin > DEAR_SECONDS
                self._again = end + self.thrift * (end - begin) if dear else 0.0
            return self._epoch, self._by_query


class Desk:
    """What routes work with.

    Parameters
    ----------
    gauge
        The gauge that is served.
    settings
        How it is served.
    problems
        How errors are told.
    """

    def __init__(self, gauge: Gauge, settings: Settings, problems: Problems) -> None:
        self.gauge = gauge
        self.settings = settings
        self.problems = problems
        self.catalog = Catalog(gauge.home)
        self.newest = Newest(gauge, settings.thrift)
        self.tally = Tally(gauge.home)
        self._changing = threading.Lock()

    @contextmanager
    def changing(self) -> Iterator[Trial]:
        """Try changes on what is expected to hold; they are kept when the block ends well."""
        with self._changing:
            trial = Trial(self.catalog.expected())
            yield trial
            self.gauge.take(trial)

    def execute(self, said: Statement, name: str | None = None) -> Outcome:
        """Run one statement."""
        with self.changing() as trial:
            return self.script(trial).execute(said, name)

    def script(self, trial: Trial) -> Script:
        """A script on a trial."""
        return Script(self.gauge, trial)

    def shown(self, said: Statement) -> Any:
        """What a statement that changes nothing shows."""
        return self.script(Trial(self.catalog.expected())).execute(said).shown

    def listed(self) -> dict[str, Listed]:
        """All queries by name."""
        held = self.catalog.committed().queries
        return {
            name: Listed(standing, _same(held.get(name), standing))
            for name, standing in self.catalog.expected().queries.items()
        }

    def one(self, name: str) -> Listed:
        """A query by name, or QueryNotFound."""
        standing = self.catalog.expected().query(name)
        return Listed(standing, _same(self.catalog.committed().queries.get(name), standing))

    def job(self) -> str:
        """Whether the job runs: here, elsewhere, or not."""
        if self.gauge.running:
            return "running"
        return "elsewhere" if lock.held(self.gauge.home.root) else "stopped"


def _same(held: Standing | None, expected: Standing) -> bool:
    if held is None:
        return False
    return (held.id, held.version, held.status) == (expected.id, expected.version, expected.status)


def fitting(read: Callable[[], T], what: str) -> T:
    """Read what a request holds; a value that does not fit is a BindError."""
    try:
        return read()
    except StreamgaugeError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise BindError(
            f"cannot read {what}",
            f"{type(error).__name__}: {error}",
            "compare it with the description at /v1/openapi.json",
        ) from error


async def _desk(request: Request) -> Desk:
    desk: Desk = request.app.state.desk
    return desk


AtDesk = Annotated[Desk, Depends(_desk)]
