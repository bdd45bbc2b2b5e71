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
from streamgauge.execute.catalog import Catalog
from streamgauge.execute.outcome import Outcome
from streamgauge.execute.script import Script
from streamgauge.execute.trial import Trial
from streamgauge.gauge import Gauge
from streamgauge.kernel.errors import BindError, StreamgaugeError
from streamgauge.language.statements import Statement
from streamgauge.log import lock
from streamgauge.plan.registry import Listed, Standing
from streamgauge.server.access import Caller
from streamgauge.server.problems import Problems
from streamgauge.server.settings import Settings
from streamgauge.server.tally import Tally

T = TypeVar("T")
# Newest answers that take less are read whenever somebody asks.
DEAR_SECONDS = 0.2


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

    def script(self, trial: Trial, caller: Caller | None = None) -> Script:
        """A script on a trial, kept to the data roots unless an operator calls."""
        free = caller is not None and caller.may("operator")
        return Script(self.gauge, trial, roots=None if free else self.gauge.home.roots)

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
