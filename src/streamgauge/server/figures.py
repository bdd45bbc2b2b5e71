"""Figures of a home, for whoever watches it: the same for Prometheus and for OpenTelemetry.

Gauges are read from the newest commit. Counters begin when the server does and grow with each
commit after that, so that a home of any age is opened at once; a restart begins them anew, as
readers of counters expect.
"""

from __future__ import annotations

import math
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from typing import Any, NamedTuple

import pyarrow as pa

from streamgauge.alerts.report import read as read_alerts
from streamgauge.contracts.answer import Answer
from streamgauge.contracts.contract import Contract
from streamgauge.edge.clock import wall_clock
from streamgauge.engine.catalog import registry_at
from streamgauge.kernel.time import SECOND, Instant
from streamgauge.log import lock
from streamgauge.log.dead_letters import count_letters
from streamgauge.log.feeding import feeding_of
from streamgauge.log.journal import Journal, Page
from streamgauge.plan.latest import deferred
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.shadows import is_shadow
from streamgauge.reading import Reader
from streamgauge.results.change_log import commits, epoch_answers
from streamgauge.results.row_blocks import epoch_row_counts
from streamgauge.server.audit_figures import of_audit
from streamgauge.server.measures import AGENT_COUNTERS, MEASURES, Sample
from streamgauge.sinks.report import read as read_sinks

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


class Standings(NamedTuple):
    """Newest answers, with checks and evaluations of deferred queries, as of an epoch."""

    epoch: int
    answers: dict[str, list[Answer]]
    deferred: dict[str, tuple[int, int]]


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
        unlabelled = [m.name for m in MEASURES if m.kind == "counter" and not m.labels]
        self._totals: dict[tuple[str, tuple[str, ...]], float] = {(n, ()): 0.0 for n in unlabelled}
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
            samples = [
                *self._of_job(),
                *self._of_streams(),
                *self._of_queries(),
                *self._of_agents(),
                *of_audit(self.reader.home, self._seen.registry, self.most),
                *self._of_alerts(),
                *self._of_sinks(),
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
            self._count(record, before)
            self._recent.append(record)
            self._behind = {}
            for number in range(record["start"] + 1, record["epoch"] + 1):
                page = self._journal.page(number)
                self._count_page(page)
                if record["epoch"] > committed - LONGEST:
                    self._count_answers(number)
            registry = registry_at(home, record["epoch"], self._seen.registry)
            self._seen = Seen(record["epoch"], registry, page.peaks, page.landed_at)

    def _count(self, record: dict[str, Any], before: dict[str, Any]) -> None:
        """Add the figures of a commit to the totals."""
        self._add("streamgauge_epochs", record["epoch"] - record["start"])
        self._add("streamgauge_epoch_duration_seconds", record["seconds"])
        self._add("streamgauge_rows", record["rows"])
        self._add("streamgauge_answers", record["answers"])
        self._add("streamgauge_late_rows", record["late"])
        # Commits tell these of the queries registered then, so a drop of a query lessens them.
        for name, key in (("missed_deadlines", "missed"), ("overloaded_ticks", "overloaded")):
            self._add(f"streamgauge_{name}", max(0, record.get(key, 0) - before.get(key, 0)))
        streams = list(self._seen.registry.streams)
        sole = {streams[0]: record["late"]} if len(streams) == 1 else {}
        for stream, late in record.get("late_by", sole).items():
            self._add("streamgauge_stream_late_rows", late, stream)

    def _count_page(self, page: Page) -> None:
        self._add("streamgauge_refused_changes", len(page.refused))
        for segment in page.segments:
            self._add("streamgauge_stream_rows", segment.rows, segment.stream)
            behind = max(0, segment.peak - segment.low)
            self._behind[segment.stream] = max(behind, self._behind.get(segment.stream, 0))

    def _count_answers(self, epoch: int) -> None:
        table = epoch_answers(self.reader.home, epoch)
        if table.num_rows:
            counted = table.group_by(["query", "version"]).aggregate([([], "count_all")])
            for row in counted.to_pylist():
                self._given[row["query"], row["version"]] += row["count_all"]
        self._given.update(epoch_row_counts(self.reader.home, epoch))

    def _add(self, name: str, amount: float, *labels: str) -> None:
        self._totals[name, labels] = self._totals.get((name, labels), 0.0) + amount

    def _of_job(self) -> Iterator[Sample]:
        seen, last = self._seen, self._recent[-1] if self._recent else {}
        seconds = sum(record["seconds"] for record in self._recent)
        rows = sum(record["rows"] for record in self._recent)
        landed = self._journal.last()
        asked = (s for s in seen.registry.queries.values() if not is_shadow(s.name))
        status = Counter(standing.status for standing in asked)
        yield _job("job_running", lock.held(self.reader.home.root))
        yield _job("epoch", seen.epoch)
        yield _job("epoch_seconds", last.get("seconds", 0.0))
        yield _job("epochs_waiting", max(0, landed - seen.epoch))
        yield _job("rows_per_second", rows / seconds if seconds else 0.0)
        yield _job("state_bytes", last.get("state_bytes", 0))
        yield _job("share_ratio", last.get("share", 1.0))
        yield _job("streams", len(seen.registry.streams))
        if seen.landed_at:
            yield _job("epoch_age_seconds", _seconds(self.clock() - seen.landed_at))
        for name in ("running", "paused", "suspended"):
            yield Sample("streamgauge_queries", (name,), float(status[name]))

    def _of_streams(self) -> Iterator[Sample]:
        now = self.clock()
        for name in sorted(self._seen.registry.streams):
            peak = self._seen.peaks.get(name)
            if peak is not None:
                yield Sample(
                    "streamgauge_stream_newest_row_timestamp_seconds", (name,), _seconds(peak)
                )
                yield Sample("streamgauge_stream_lag_seconds", (name,), _seconds(now - peak))
            behind = _seconds(self._behind.get(name, 0))
            yield Sample("streamgauge_stream_lateness_seconds", (name,), behind)
            yield Sample("streamgauge_stream_dead_letters", (name,), float(self._dead(name)))

    def _dead(self, stream: str) -> int:
        """Dead letters of a stream; a file once written stays as it is."""
        known = self._buried.setdefault(stream, {})
        for path in self.reader.home.dead(stream).glob("*.parquet"):
            if path.name not in known and path.name[0] != ".":
                known[path.name] = count_letters(path)
        return sum(known.values())

    def _of_queries(self) -> Iterator[Sample]:
        self._refresh()
        yield from self._of_all()
        now = self.clock()
        for standing in self._listed():
            labels, found = _labels(standing), self._standings.answers.get(standing.name, [])
            given = self._given[standing.name, standing.version]
            yield Sample("streamgauge_query_answers", labels, float(given))
            if standing.name in self._standings.deferred:
                yield from _of_deferred(labels, *self._standings.deferred[standing.name])
            if found:
                yield from _of_one(labels, standing.asked.contract, found)
                oldest = min(answer.as_of for answer in found)
                yield Sample("streamgauge_query_age_seconds", labels, _seconds(now - oldest))
                lag = self._lag(standing, found)
                if lag is not None:
                    yield Sample("streamgauge_query_lag_seconds", labels, lag)

    def _refresh(self) -> None:
        """Read the newest answers, or go on with older ones where that takes long."""
        due = self._seen.epoch != self._standings.epoch and time.monotonic() >= self._again
        if self._reading is None and due:
            spares = any(
                isinstance(standing.asked, Query) and deferred(standing.asked)
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

    def _listed(self) -> list[Standing]:
        """Queries that have series of their own."""
        queries = self._seen.registry.queries.values()
        asked = (standing for standing in queries if not is_shadow(standing.name))
        return sorted(asked, key=lambda standing: standing.id)[: self.most]

    def _of_all(self) -> Iterator[Sample]:
        """Figures over all queries, listed or not."""
        registry, groups = self._seen.registry, self._standings.answers
        interrupted = Counter(
            stream
            for name, found in groups.items()
            if name in registry.queries and any(a.basis == "interrupted" for a in found)
            for stream in registry.queries[name].asked.streams
        )
        for stream in sorted(registry.streams):
            count = float(interrupted[stream])
            yield Sample("streamgauge_stream_interrupted_queries", (stream,), count)
            fed = feeding_of(self.reader.home, stream)
            if fed is not None:
                away = float(fed.state in ("waiting", "failed"))
                yield Sample("streamgauge_stream_waiting", (stream,), away)
        broken = sum(not all(a.contract_met for a in found) for found in groups.values())
        yield _job("queries_answering", len(groups))
        yield _job("queries_contract_broken", broken)
        yield _job("queries_listed", len(self._listed()))
        yield _job("queries_read_epoch", self._standings.epoch)
        yield _job("queries_lag_seconds", self._longest_lag(groups))
        checks = sum(pair[0] for pair in self._standings.deferred.values())
        if checks:
            spared = 1.0 - sum(pair[1] for pair in self._standings.deferred.values()) / checks
            yield _job("deferral_ratio", spared)

    def _longest_lag(self, groups: dict[str, list[Answer]]) -> float:
        """Longest lag of the queries that answer periodically: others answer on change only."""
        queries = self._seen.registry.queries
        lags = [
            self._lag(queries[name], found)
            for name, found in groups.items()
            if name in queries and queries[name].asked.answer.kind == "every"
        ]
        return max((lag for lag in lags if lag is not None), default=0.0)

    def _lag(self, standing: Standing, answers: list[Answer]) -> float | None:
        """Seconds that the oldest answer of a query is behind the newest row of its streams."""
        peaks = [self._seen.peaks[s] for s in standing.asked.streams if s in self._seen.peaks]
        if not peaks:
            return None
        return max(0.0, _seconds(max(peaks) - min(answer.as_of for answer in answers)))

    def _of_alerts(self) -> Iterator[Sample]:
        told = read_alerts(self.reader.home)
        yield _job("alerts", len(self._seen.registry.alerts))
        yield _job("alerts_raised", told.standing)
        yield _job("alert_deliveries_waiting", told.waiting)
        yield _job("alert_deliveries_failing", told.failing)
        for name, total in (
            ("raises", told.raised),
            ("clears", told.cleared),
            ("deliveries", told.delivered),
            ("delivery_failures", told.failed),
        ):
            self._totals[f"streamgauge_alert_{name}", ()] = float(total)

    def _of_sinks(self) -> Iterator[Sample]:
        known = read_sinks(self.reader.home, self._seen.registry.sinks)
        yield _job("sinks", len(known))
        yield _job("sinks_failing", sum(progress.state == "failing" for progress in known))
        for progress in known:
            who = (progress.standing.sink.name,)
            yield Sample("streamgauge_sink_epochs_waiting", who, float(progress.waiting))
            yield Sample("streamgauge_sink_delivered", who, float(progress.delivered))

    def _of_agents(self) -> Iterator[Sample]:
        rows = self.reader.agents().to_pylist()
        states = Counter((row["stream"], row["state"] or "") for row in rows)
        for stream in sorted({row["stream"] for row in rows}):
            for state in ("heard", "interrupted"):
                labels = (stream, state)
                yield Sample("streamgauge_agents", labels, float(states[labels]))
        for row in sorted(rows, key=lambda row: (row["stream"], row["agent"]))[: self.most]:
            labels = (row["stream"], row["agent"])
            yield Sample("streamgauge_agent_heard", labels, float(row["state"] == "heard"))
            for name, column in AGENT_COUNTERS:
                yield Sample(name, labels, float(row[column] or 0))
            kept = max(0, (row["readings"] or 0) - (row["updates"] or 0))
            yield Sample("streamgauge_agent_suppressed", labels, float(kept))


def _job(name: str, value: float) -> Sample:
    return Sample(f"streamgauge_{name}", (), float(value))


def _seconds(microseconds: int) -> float:
    return microseconds / SECOND


def _labels(standing: Standing) -> tuple[str, str]:
    # A name may hold half of a surrogate pair, which no encoding carries.
    name = standing.name.encode("utf-8", "replace").decode()
    return name, str(standing.version)


def _by_query(answers: list[Answer]) -> dict[str, list[Answer]]:
    groups: dict[str, list[Answer]] = {}
    for answer in answers:
        if not is_shadow(answer.query):
            groups.setdefault(answer.query, []).append(answer)
    return groups


def _of_one(labels: tuple[str, str], contract: Contract, answers: list[Answer]) -> Iterator[Sample]:
    """Figures of one query; of a grouped one, those of its worst group."""
    widths = [a.high - a.low for a in answers if a.value is not None]
    worst = {
        "groups": len(answers),
        "held_width": max(widths, default=math.nan),
        "promised_width": _promised(contract, answers),
        "confidence_ratio": min(a.confidence for a in answers),
        "coverage_ratio": min(a.coverage for a in answers),
        "share_ratio": min(a.share for a in answers),
        "contract_met": all(a.contract_met for a in answers),
    }
    if not any(answer.group for answer in answers):
        (one,) = answers[:1]
        value = math.nan if one.value is None else one.value
        worst |= {"value": value, "low": one.low, "high": one.high}
    for name, value in worst.items():
        if not math.isnan(value):
            yield Sample(f"streamgauge_query_{name}", labels, float(value))


def _promised(contract: Contract, answers: list[Answer]) -> float:
    """The width that is owed, from end to end; none where it is not in units of the answer."""
    if contract.tolerance in ("exact", "absolute"):
        return 2.0 * contract.within
    if contract.tolerance == "relative":
        sizes = [abs(answer.value) for answer in answers if answer.value is not None]
        # The narrowest is what the group with the least room is owed.
        return 2.0 * contract.within * min(sizes, default=math.nan)
    return math.nan


def _deferred(table: pa.Table) -> dict[str, tuple[int, int]]:
    """Checks and evaluations of each deferred query, over its groups."""
    summed = table.group_by(["query"]).aggregate([("checks", "sum"), ("evaluations", "sum")])
    return {
        row["query"]: (row["checks_sum"], row["evaluations_sum"])
        for row in summed.to_pylist()
        if not is_shadow(row["query"])
    }


def _of_deferred(labels: tuple[str, str], checks: int, evaluations: int) -> Iterator[Sample]:
    yield Sample("streamgauge_query_checks", labels, float(checks))
    yield Sample("streamgauge_query_evaluations", labels, float(evaluations))
    if checks:
        spared = 1.0 - evaluations / checks
        yield Sample("streamgauge_query_deferral_ratio", labels, spared)
