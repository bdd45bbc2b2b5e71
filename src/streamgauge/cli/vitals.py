"""Vitals: how a running job goes, from its commits, as figures and as one line."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from streamgauge.cli.draw import size
from streamgauge.engine.catalog import registry_at
from streamgauge.gauge import Gauge
from streamgauge.kernel.errors import EngineFailure
from streamgauge.kernel.time import Instant, instant_text
from streamgauge.log.feeding import feeding_of
from streamgauge.log.journal import Journal
from streamgauge.plan.registry import Registry
from streamgauge.plan.shadows import is_shadow
from streamgauge.results.change_log import commits

SPAN_SECONDS = 8.0


@dataclass(slots=True)
class Vitals:
    """Totals since the job was started here, and rates over the last seconds.

    Parameters
    ----------
    gauge
        The gauge to watch.
    clock
        Seconds that only grow.
    """

    gauge: Gauge
    clock: Callable[[], float] = time.monotonic
    epoch: int = 0
    epoch_seconds: float = 0.0
    epochs: int = 0
    rows: int = 0
    answers: int = 0
    late: int = 0
    dead: int = 0
    state_bytes: int = 0
    queries: int = 0
    share: float = 1.0
    reached: dict[str, Instant] = field(default_factory=dict)
    _registry: Registry | None = None
    _marks: deque[tuple[float, int, int]] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self.epoch = self.gauge.home.committed()
        self._marks.append((self.clock(), 0, 0))

    def read(self) -> bool:
        """Take in new commits; whether there were any."""
        fresh = commits(self.gauge.home, after=self.epoch)
        journal = Journal(self.gauge.home)
        for record in fresh:
            self.epochs += 1
            self.rows += record["rows"]
            self.answers += record["answers"]
            self.late += record["late"]
            self.epoch_seconds, self.state_bytes = record["seconds"], record["state_bytes"]
            self.share = record.get("share", 1.0)
            pages = [journal.page(n) for n in range(record["start"] + 1, record["epoch"] + 1)]
            self.dead += sum(page.dead for page in pages)
            self.epoch, self.reached = record["epoch"], pages[-1].peaks
        if fresh:
            self._registry = registry_at(self.gauge.home, self.epoch, self._registry)
            self.queries = sum(not is_shadow(name) for name in self._registry.queries)
        self._mark()
        return bool(fresh)

    def _mark(self) -> None:
        now = self.clock()
        self._marks.append((now, self.rows, self.answers))
        while now - self._marks[0][0] > SPAN_SECONDS:
            self._marks.popleft()

    def rates(self) -> tuple[float, float]:
        """Rows and answers per second of the clock."""
        (begin, rows, answers), (end, rows_now, answers_now) = self._marks[0], self._marks[-1]
        seconds = max(end - begin, 1e-9)
        return (rows_now - rows) / seconds, (answers_now - answers) / seconds

    def event_time(self) -> str:
        """How far the streams have come."""
        return instant_text(max(self.reached.values())) if self.reached else "-"

    def away(self) -> str:
        """The streams whose sources cannot be read now."""
        names = () if self._registry is None else self._registry.streams
        fed = ((name, feeding_of(self.gauge.home, name)) for name in names)
        return ", ".join(name for name, told in fed if told is not None and told.reason)

    def line(self) -> str:
        """All of it in one line."""
        rows, answers = self.rates()
        less = "" if self.share == 1.0 else f", overloaded: {100 * self.share:.3g}% looked at"
        if away := self.away():
            less += f", not read now: {away}"
        return (
            f"epoch {self.epoch:,} in {self.epoch_seconds:.2f} s, at {self.event_time()}, "
            f"{rows:,.0f} rows/s, {answers:,.0f} answers/s, "
            f"{self.rows:,} rows, {self.answers:,} answers, {self.late:,} late, "
            f"{self.dead:,} dead, {self.queries:,} queries, state {size(self.state_bytes)}{less}"
        )


def check_running(gauge: Gauge) -> None:
    """Raise when the job, or the reading of a source, has stopped by itself."""
    gauge.check()
    if gauge.running:
        return
    raise EngineFailure(
        "the job stopped",
        f"after epoch {gauge.home.committed()}, without a reason",
        "start it again: it goes on from the last committed epoch",
    )
