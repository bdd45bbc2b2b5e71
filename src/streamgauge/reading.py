"""Reader: what anyone can read of a home: answers, plans, progress, dead letters.

A reader needs no running job; it sees what is committed, and waits for more.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from streamgauge.contracts.answer import Answer
from streamgauge.contracts.picture import facts_html
from streamgauge.contracts.row_change import RowChange
from streamgauge.contracts.shown import Answers
from streamgauge.engine.catalog import expected_registry, registry_at
from streamgauge.engine.latest import latest_answers, latest_rows, rows_covered
from streamgauge.engine.spark.session import open_session
from streamgauge.engine.spark.views import as_spark
from streamgauge.engine.waiting import Reasons, Waiting, incomplete
from streamgauge.kernel.time import Instant
from streamgauge.log.dead_letters import count_dead_letters, dead_letters
from streamgauge.log.home import Home
from streamgauge.log.journal import Journal
from streamgauge.plan.missing import missing
from streamgauge.plan.registry import Registry
from streamgauge.plan.technique import report
from streamgauge.plan.view import View
from streamgauge.results.agents import agents, objects
from streamgauge.results.change_log import (
    answers,
    as_answers,
    commits,
    epoch_answers,
    epochs_after,
    export_parquet,
)
from streamgauge.results.row_blocks import as_row_changes, epoch_rows, row_changes

POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Progress:
    """How the job goes, from its newest commits."""

    epoch: int
    epoch_seconds: float
    rows: int
    rows_per_second: float
    answers: int
    late: int
    dead: int
    state_bytes: int
    queries: int
    running: bool
    missed: int = 0
    overloaded: int = 0
    share: float = 1.0

    def _repr_html_(self) -> str:
        named = {name.replace("_", " "): value for name, value in asdict(self).items()}
        return facts_html("progress", named)


class Reader:
    """Reads a home; `Gauge` adds changing and running it."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self._watchers: list[threading.Thread] = []
        self._closing = threading.Event()

    @property
    def running(self) -> bool:
        """Whether this process runs the job."""
        return False

    def check(self) -> None:
        """Raise when the job of this process has failed."""

    def session(self) -> Any:
        """The Spark session of this process, which databases are read with; opened on first use."""
        return open_session()

    def registry(self) -> Registry:
        """What is registered as of the last committed epoch."""
        return registry_at(self.home, self.home.committed())

    def refusals(self) -> list[dict[str, str]]:
        """Changes that the job refused, as errors."""
        journal = Journal(self.home)
        pages = range(self.home.cleared() + 1, self.home.committed() + 1)
        return [error for number in pages for error in journal.page(number).refused]

    def answers(self, name: str | None = None, *, since_epoch: int = 0) -> pa.Table:
        """Committed answers after an epoch, as an Arrow table."""
        return answers(self.home, name=name, after=since_epoch)

    def answers_spark(self, name: str | None = None, *, since_epoch: int = 0) -> Any:
        """Committed answers as a Spark DataFrame."""
        return as_spark(self.answers(name, since_epoch=since_epoch))

    def latest(self, name: str | None = None) -> Answers:
        """The newest answer of every query and group, or of one query."""
        found = latest_answers(self.home, name)
        if name is not None and not found:
            known = expected_registry(self.home).queries
            if name not in known:
                raise missing("query", name, known)
        return Answers(found)

    def idle(self) -> dict[str, Instant]:
        """Streams silent for longer than their idle time, and when each last sent something."""
        epoch = self.home.committed()
        return Journal(self.home).page(epoch).idle if epoch else {}

    def waiting(self, name: str) -> Waiting | None:
        """Why a query has no answer yet, and until when; None when it has one."""
        standing = expected_registry(self.home).query(name)
        of_rows = isinstance(standing.asked, View)
        given = self.row_changes(name).num_rows if of_rows else len(self.latest(name))
        return None if given else Reasons(self.home).of(standing)

    def note(self, name: str) -> str:
        """Why a query has no answer yet, or what its newest one misses, in words; or nothing."""
        if name not in expected_registry(self.home).queries:
            return ""
        missing = self.waiting(name)
        if missing is not None:
            return str(missing)
        registry = self.registry()
        standing = registry.queries.get(name)
        if standing is None:
            return ""
        if isinstance(standing.asked, View) and standing.suspended is None:
            return rows_covered(self.home, name)
        return incomplete(registry, standing, self.latest(name))

    def rows(self, name: str) -> pa.Table:
        """The rows that a view holds now."""
        return latest_rows(self.home, name)

    def deferrals(self, name: str | None = None) -> pa.Table:
        """What the cells of deferred queries are doing: regime, model, evaluations, deadlines."""
        table: pa.Table = report("deferrals")(self.home, name)
        return table

    def agents(self, stream: str | None = None) -> pa.Table:
        """Who feeds the streams: agents, whether they are heard, what they sent."""
        return agents(self.home, stream)

    def objects(self, stream: str | None = None) -> pa.Table:
        """What agents look at: objects, with the widths of their bounds and their burden."""
        return objects(self.home, stream)

    def row_changes(self, name: str, *, since_epoch: int = 0) -> pa.Table:
        """Rows that came to a view or went from it, after an epoch."""
        return row_changes(self.home, name, after=since_epoch)

    def subscribe_rows(
        self, name: str, *, since_epoch: int | None = None, timeout: float | None = None
    ) -> Iterator[RowChange]:
        """Changes of a view as they come, each once."""
        for epoch in self._epochs(since_epoch, timeout):
            yield from as_row_changes(epoch_rows(self.home, epoch, name))

    def subscribe(
        self,
        name: str | None = None,
        *,
        since_epoch: int | None = None,
        timeout: float | None = None,
    ) -> Iterator[Answer]:
        """Answers as they come, each once, from an epoch on; ends after `timeout` idle seconds."""
        for table in self._tables(since_epoch, timeout):
            for answer in as_answers(table):
                if name in (None, answer.query):
                    yield answer

    def _tables(self, since_epoch: int | None, timeout: float | None) -> Iterator[pa.Table]:
        for epoch in self._epochs(since_epoch, timeout):
            yield epoch_answers(self.home, epoch)

    def _epochs(self, since_epoch: int | None, timeout: float | None) -> Iterator[int]:
        """Committed epochs as they come."""
        seen = self.home.committed() if since_epoch is None else since_epoch
        idle_since = time.monotonic()
        while True:
            fresh = epochs_after(self.home, seen)
            for epoch in fresh:
                yield epoch
                seen, idle_since = epoch, time.monotonic()
            if fresh:
                continue
            self.check()
            if self._closing.is_set() and not self.running:
                return
            if timeout is not None and time.monotonic() - idle_since > timeout:
                return
            self._closing.wait(POLL_SECONDS)

    def on_answers(self, callback: Callable[[pa.Table], None]) -> None:
        """Call back with each epoch's answers, in a thread, until the gauge stops."""

        def watch(since: int = self.home.committed()) -> None:
            for table in self._tables(since, None):
                callback(table)

        watcher = threading.Thread(target=watch, name="streamgauge-watcher", daemon=True)
        self._watchers.append(watcher)
        watcher.start()

    def export(self, directory: str | Path, *, since_epoch: int = 0) -> list[Path]:
        """Write committed answers as parquet, one file per epoch, each once."""
        return export_parquet(self.home, Path(directory), after=since_epoch)

    def sink(self, directory: str | Path) -> None:
        """Write every epoch's answers as parquet while the gauge runs."""

        def write(_answers: pa.Table) -> None:
            self.export(directory)

        self.export(directory)
        self.on_answers(write)

    def dead_letters(self, stream: str) -> pa.Table:
        """Rows that could not be used, with their origin and the reason."""
        return dead_letters(self.home, stream)

    def count_dead_letters(self, stream: str) -> int:
        """How many rows of a stream could not be used; no file is read for it but its end."""
        return count_dead_letters(self.home, stream)

    def progress(self) -> Progress:
        """How the job goes."""
        epoch = self.home.committed()
        recent = commits(self.home, after=epoch - 10)
        rows = sum(record["rows"] for record in recent)
        seconds = sum(record["seconds"] for record in recent)
        last = recent[-1] if recent else {}
        page = Journal(self.home).page(epoch) if epoch else None
        return Progress(
            epoch=epoch,
            epoch_seconds=last.get("seconds", 0.0),
            rows=last.get("rows", 0),
            rows_per_second=rows / seconds if seconds else 0.0,
            answers=last.get("answers", 0),
            late=last.get("late", 0),
            dead=page.dead if page else 0,
            state_bytes=last.get("state_bytes", 0),
            queries=len(self.registry().queries),
            running=self.running,
            missed=last.get("missed", 0),
            overloaded=last.get("overloaded", 0),
            share=last.get("share", 1.0),
        )
