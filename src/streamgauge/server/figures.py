"""Figures of a home, for whoever watches it: the same for Prometheus and for OpenTelemetry.

Gauges are read from the newest commit. Counters begin when the server does and grow with each
commit after that, so that a home of any age is opened at once; a restart begins them anew, as
readers of counters expect.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from typing import NamedTuple

import pyarrow as pa

from streamgauge.contracts.answer import Answer
from streamgauge.edge.clock import wall_clock
from streamgauge.engine.catalog import registry_at
from streamgauge.kernel.time import Instant
from streamgauge.log.dead_letters import count_letters
from streamgauge.log.journal import Journal, Page
from streamgauge.plan.registry import Registry
from streamgauge.plan.shadows import is_shadow
from streamgauge.plan.technique import has_report
from streamgauge.reading import Reader
from streamgauge.results.change_log import commits, epoch_answers
from streamgauge.results.row_blocks import epoch_row_counts
from streamgauge.server.metrics.home_reading import HomeReading, Standings
from streamgauge.server.metrics.metric import Commit, Labels, Sample, read_all
from streamgauge.server.metrics.table import EVERY

# Queries, and agents, that have series of their own; the rest is in the sums only.
MOST = 1000
# Figures are read anew after this time at the earliest, whoever asks.
FRESH_SECONDS = 1.0
# Answers of many queries take seconds to read. One who asks waits no longer than this and is given
# those of an earlier epoch; no more than this share of the time goes into reading them.
PATIENCE_SECONDS = 2.0
SHARE = 0.1
# Epochs whose answers are counted by query when nobody has asked for a long time.
LONGEST = 2000
# Epochs that the rate of rows is taken over.
RECENT = 10


class Seen(NamedTuple):
    """What the newest commits and pages say."""

    epoch: int
    registry: Registry
    peaks: dict[str, Instant]
    landed_at: Instant


class Figures:
    """Reads the figures of a home when asked.

    Parameters
    ----------
    reader
        The home, as a gauge or as a reader.
    clock
        Microseconds since 1970, for ages.
    most
        Queries that have series of their own, the oldest first; and agents, by name.
    fresh
        Seconds for which figures that were read are given again.
    """

    def __init__(
        self,
        reader: Reader,
        clock: Callable[[], Instant] = wall_clock,
        *,
        most: int = MOST,
        fresh: float = FRESH_SECONDS,
    ) -> None:
        self.reader = reader
        self.clock = clock
        self.most = most
        self.fresh = fresh
        self._lock = threading.Lock()
        self._journal = Journal(reader.home)
        unlabelled = [metric.name for metric in EVERY if metric.counted and not metric.labels]
        self._totals: dict[tuple[str, Labels], float] = {(n, ()): 0.0 for n in unlabelled}
        self._given: Counter[tuple[str, int]] = Counter()
        self._behind: dict[str, int] = {}
        self._buried: dict[str, dict[str, int]] = {}
        self._read: tuple[float, list[Sample]] | None = None
        self._standings = Standings(0, {}, {})
        self._again = 0.0
        self._pool = ThreadPoolExecutor(1, "streamgauge-figures")
        self._reading: Future[Standings] | None = None
        epoch = reader.home.committed()
        self._recent = deque(commits(reader.home, after=epoch - RECENT), maxlen=RECENT)
        page = self._journal.page(epoch) if epoch else None
        self._seen = Seen(
            epoch,
            registry_at(reader.home, epoch),
            page.peaks if page else {},
            page.landed_at if page else 0,
        )

    def read(self) -> list[Sample]:
        """All figures as they are now."""
        with self._lock:
            if self._read is not None and time.monotonic() - self._read[0] < self.fresh:
                return self._read[1]
            self._catch_up()
            self._refresh()
            samples = [
                *read_all(EVERY, self._now()),
                *(Sample(name, labels, total) for (name, labels), total in self._totals.items()),
            ]
            self._read = time.monotonic(), samples
            return samples

    def _catch_up(self) -> None:
        """Take in the commits since the last time."""
        home = self.reader.home
        committed = home.committed()
        if committed == self._seen.epoch:
            return
        for record in commits(home, after=self._seen.epoch):
            before = self._recent[-1] if self._recent else {}
            self._recent.append(record)
            self._behind = {}
            numbers = range(record["start"] + 1, record["epoch"] + 1)
            pages = tuple(self._journal.page(number) for number in numbers)
            for page in pages:
                self._lag_behind(page)
            if record["epoch"] > committed - LONGEST:
                for number in numbers:
                    self._count_answers(number)
            self._count(Commit(record, before, pages, self._seen.registry))
            registry = registry_at(home, record["epoch"], self._seen.registry)
            self._seen = Seen(record["epoch"], registry, pages[-1].peaks, pages[-1].landed_at)

    def _count(self, commit: Commit) -> None:
        """Add what a commit adds to the totals."""
        for metric in EVERY:
            for labels, amount in metric.counted(commit) if metric.counted else ():
                key = metric.name, labels
                self._totals[key] = self._totals.get(key, 0.0) + amount

    def _lag_behind(self, page: Page) -> None:
        for segment in page.segments:
            behind = max(0, segment.peak - segment.low)
            self._behind[segment.stream] = max(behind, self._behind.get(segment.stream, 0))

    def _count_answers(self, epoch: int) -> None:
        table = epoch_answers(self.reader.home, epoch)
        if table.num_rows:
            counted = table.group_by(["query", "version"]).aggregate([([], "count_all")])
            for row in counted.to_pylist():
                self._given[row["query"], row["version"]] += row["count_all"]
        self._given.update(epoch_row_counts(self.reader.home, epoch))

    def _now(self) -> HomeReading:
        """What is known at this moment."""
        seen = self._seen
        return HomeReading(
            reader=self.reader,
            now=self.clock(),
            most=self.most,
            epoch=seen.epoch,
            registry=seen.registry,
            peaks=seen.peaks,
            landed_at=seen.landed_at,
            waiting=max(0, self._journal.last() - seen.epoch),
            recent=self._recent,
            behind=self._behind,
            dead_letters=self._dead,
            given=self._given,
            standings=self._standings,
        )

    def _dead(self, stream: str) -> int:
        """Dead letters of a stream; a file once written stays as it is."""
        known = self._buried.setdefault(stream, {})
        for path in self.reader.home.dead(stream).glob("*.parquet"):
            if path.name not in known and path.name[0] != ".":
                known[path.name] = count_letters(path)
        return sum(known.values())

    def _refresh(self) -> None:
        """Read the newest answers, or go on with older ones where that takes long."""
        due = self._seen.epoch != self._standings.epoch and time.monotonic() >= self._again
        if self._reading is None and due:
            spares = any(
                has_report(standing, "deferrals")
                for standing in self._seen.registry.queries.values()
            )
            self._reading = self._pool.submit(self._newest, spares)
        if self._reading is not None:
            wait_for([self._reading], PATIENCE_SECONDS)
            if self._reading.done():
                done, self._reading = self._reading, None
                self._standings = done.result()

    def _newest(self, spares: bool) -> Standings:
        """Newest answers; `spares` says whether deferred queries are among their queries."""
        begun = time.monotonic()
        while True:
            epoch = self.reader.home.committed()
            try:
                answers = _by_query(self.reader.latest())
                spared = _deferred(self.reader.deferrals()) if spares else {}
            except FileNotFoundError:
                # Two epochs passed while we read, and the state we read from is gone.
                if self.reader.home.committed() == epoch:
                    raise
            else:
                now = time.monotonic()
                self._again = now + (now - begun) * (1.0 / SHARE - 1.0)
                return Standings(epoch, answers, spared)


def _by_query(answers: list[Answer]) -> dict[str, list[Answer]]:
    groups: dict[str, list[Answer]] = {}
    for answer in answers:
        if not is_shadow(answer.query):
            groups.setdefault(answer.query, []).append(answer)
    return groups


def _deferred(table: pa.Table) -> dict[str, tuple[int, int]]:
    """Checks and evaluations of each deferred query, over its groups."""
    summed = table.group_by(["query"]).aggregate([("checks", "sum"), ("evaluations", "sum")])
    return {
        row["query"]: (row["checks_sum"], row["evaluations_sum"])
        for row in summed.to_pylist()
        if not is_shadow(row["query"])
    }
