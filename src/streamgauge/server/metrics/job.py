"""Metrics of the job: its epochs, what it takes in, and its queries all together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from streamgauge.log import lock
from streamgauge.plan.shadows import is_shadow
from streamgauge.server.metrics.home_reading import HomeReading, seconds
from streamgauge.server.metrics.metric import Commit, MetricGroup, Series, counted


def _rows_per_second(home: HomeReading) -> float:
    spent = sum(record["seconds"] for record in home.recent)
    return sum(record["rows"] for record in home.recent) / spent if spent else 0.0


def _epoch_age(home: HomeReading) -> float | None:
    return seconds(home.now - home.landed_at) if home.landed_at else None


def _broken(home: HomeReading) -> int:
    answered = home.standings.answers.values()
    return sum(not all(answer.contract_met for answer in found) for found in answered)


def _longest_lag(home: HomeReading) -> float:
    """Others than those that answer periodically answer on change only."""
    queries = home.registry.queries
    lags = [
        home.lag(queries[name], found)
        for name, found in home.standings.answers.items()
        if name in queries and queries[name].asked.answer.kind == "every"
    ]
    return max((lag for lag in lags if lag is not None), default=0.0)


def _spared(home: HomeReading) -> float | None:
    pairs = home.standings.deferred.values()
    checks = sum(pair[0] for pair in pairs)
    return 1.0 - sum(pair[1] for pair in pairs) / checks if checks else None


def _by_status(home: HomeReading) -> Iterator[tuple[tuple[str], int]]:
    asked = (s for s in home.registry.queries.values() if not is_shadow(s.name))
    status = Counter(standing.status for standing in asked)
    for name in ("running", "paused", "suspended"):
        yield (name,), status[name]


def _grown(commit: Commit, key: str) -> int:
    """Commits tell these of the queries registered then, so a drop of a query lessens them."""
    grown: int = commit.record.get(key, 0) - commit.before.get(key, 0)
    return max(0, grown)


JOB = Series((), lambda home: [((), home)])
STATUS = Series(("status",), _by_status)
METRICS = MetricGroup(
    "The job",
    (
        JOB.gauge(
            "job_running",
            "1 while some process runs the job of this home.",
            lambda home: lock.held(home.reader.home.root),
        ),
        JOB.gauge("epoch", "Number of the newest committed epoch.", lambda home: home.epoch),
        JOB.gauge(
            "epoch_seconds",
            "Seconds that the newest committed epoch took.",
            lambda home: home.last.get("seconds", 0.0),
        ),
        JOB.gauge(
            "epoch_age_seconds",
            "Seconds since the page of the newest committed epoch was written.",
            _epoch_age,
        ),
        JOB.gauge(
            "epochs_waiting",
            "Epochs that are written down and not committed yet.",
            lambda home: home.waiting,
        ),
        JOB.gauge(
            "rows_per_second",
            "Rows a second of work over the last ten commits: what the job can take in.",
            _rows_per_second,
        ),
        JOB.gauge(
            "state_bytes",
            "Bytes of state after the newest committed epoch, over all shards.",
            lambda home: home.last.get("state_bytes", 0),
        ),
        JOB.gauge(
            "share_ratio",
            "Least share that a promising query looked at in the newest commit.",
            lambda home: home.last.get("share", 1.0),
        ),
        JOB.gauge("streams", "Streams that are declared.", lambda home: len(home.registry.streams)),
        JOB.gauge(
            "queries_answering",
            "Queries of numbers that have an answer.",
            lambda home: len(home.standings.answers),
        ),
        JOB.gauge(
            "queries_contract_broken",
            "Queries whose newest answer does not keep the contract.",
            _broken,
        ),
        JOB.gauge(
            "queries_listed",
            "Queries that have series of their own here; the others are in sums only.",
            lambda home: len(home.listed),
        ),
        JOB.gauge(
            "queries_read_epoch",
            "Epoch that figures of answers are of; of many queries an earlier one.",
            lambda home: home.standings.epoch,
        ),
        JOB.gauge(
            "queries_lag_seconds",
            "Longest lag of the queries that answer periodically.",
            _longest_lag,
        ),
        JOB.gauge(
            "deferral_ratio",
            "Share of checks that deferred queries were spared, over all of them.",
            _spared,
        ),
        STATUS.gauge("queries", "Queries that are registered, by status.", float),
        counted(
            "epochs",
            "Epochs committed.",
            lambda commit: commit.record["epoch"] - commit.record["start"],
        ),
        counted(
            "epoch_duration_seconds",
            "Seconds that epochs took, summed.",
            lambda commit: commit.record["seconds"],
        ),
        counted("rows", "Rows taken in.", lambda commit: commit.record["rows"]),
        counted(
            "answers",
            "Answers given, rows of views among them.",
            lambda commit: commit.record["answers"],
        ),
        counted(
            "late_rows",
            "Rows that came after their tick was closed.",
            lambda commit: commit.record["late"],
        ),
        counted(
            "missed_deadlines",
            "Deadlines of deferred queries that lack of capacity made late.",
            lambda commit: _grown(commit, "missed"),
        ),
        counted(
            "overloaded_ticks",
            "Ticks at which the budget of a promising query did not reach.",
            lambda commit: _grown(commit, "overloaded"),
        ),
        counted(
            "refused_changes",
            "Changes that the job refused.",
            lambda commit: sum(len(page.refused) for page in commit.pages),
        ),
    ),
)
