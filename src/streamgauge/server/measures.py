"""Measures: every figure that is told to the outside, with its name, kind, labels and meaning."""

from __future__ import annotations

from typing import NamedTuple


class Sample(NamedTuple):
    """One number: of which measure, for which labels."""

    measure: str
    labels: tuple[str, ...]
    value: float


class Measure(NamedTuple):
    """What a figure is. A counter is shown with `_total` after its name."""

    name: str
    kind: str
    text: str
    labels: tuple[str, ...] = ()
    unit: str = "1"

    @property
    def shown(self) -> str:
        """Name of its series."""
        return f"{self.name}_total" if self.kind == "counter" else self.name


def _of(kind: str, labels: tuple[str, ...], prefix: str, **texts: str) -> tuple[Measure, ...]:
    return tuple(
        Measure(f"streamgauge_{prefix}{name}", kind, text, labels, _unit(name))
        for name, text in texts.items()
    )


def _unit(name: str) -> str:
    if name.endswith("_seconds"):
        return "s"
    return "By" if name.endswith("_bytes") else "1"


_JOB = _of(
    "gauge",
    (),
    "",
    job_running="1 while some process runs the job of this home.",
    epoch="Number of the newest committed epoch.",
    epoch_seconds="Seconds that the newest committed epoch took.",
    epoch_age_seconds="Seconds since the page of the newest committed epoch was written.",
    epochs_waiting="Epochs that are written down and not committed yet.",
    rows_per_second="Rows a second of work over the last ten commits: what the job can take in.",
    state_bytes="Bytes of state after the newest committed epoch, over all shards.",
    share_ratio="Least share that a promising query looked at in the newest commit.",
    streams="Streams that are declared.",
    queries_answering="Queries of numbers that have an answer.",
    queries_contract_broken="Queries whose newest answer does not keep the contract.",
    queries_listed="Queries that have series of their own here; the others are in sums only.",
    queries_read_epoch="Epoch that figures of answers are of; of many queries an earlier one.",
    queries_lag_seconds="Longest lag of the queries that answer periodically.",
    deferral_ratio="Share of checks that deferred queries were spared, over all of them.",
) + _of("gauge", ("status",), "", queries="Queries that are registered, by status.")

_JOB_TOTALS = _of(
    "counter",
    (),
    "",
    epochs="Epochs committed.",
    epoch_duration_seconds="Seconds that epochs took, summed.",
    rows="Rows taken in.",
    answers="Answers given, rows of views among them.",
    late_rows="Rows that came after their tick was closed.",
    missed_deadlines="Deadlines of deferred queries that lack of capacity made late.",
    overloaded_ticks="Ticks at which the budget of a promising query did not reach.",
    refused_changes="Changes that the job refused.",
)

_QUERY = ("query", "version")
_QUERIES = _of(
    "gauge",
    _QUERY,
    "query_",
    value="Newest answer of a query without groups; read it with low and high.",
    low="Lower end of the bar of that answer.",
    high="Upper end of the bar of that answer.",
    held_width="Width of the bar, high - low; of the widest group.",
    promised_width="Width that the contract allows, from end to end; none for RANK and BEST.",
    confidence_ratio="Probability that the bar holds the truth; of the least sure group.",
    coverage_ratio="Share of window or members the answer rests on; of the least group.",
    share_ratio="Share of regions that was looked at; of the least group.",
    contract_met="1 when the newest answers of all groups keep the contract.",
    groups="Groups that have an answer.",
    lag_seconds="Event time that the oldest group is behind the newest row of its streams.",
    age_seconds="Time since the instant that the answer of the oldest group is of.",
    deferral_ratio="Share of checks that a deferred query was spared.",
)
_QUERY_TOTALS = _of(
    "counter",
    _QUERY,
    "query_",
    answers="Answers given; of a view, changes of its rows.",
    checks="Ticks at which a deferred query could have been evaluated, over its groups.",
    evaluations="Evaluations of a deferred query, over its groups.",
)

_STREAMS = _of(
    "gauge",
    ("stream",),
    "stream_",
    newest_row_timestamp_seconds="Event time of the newest row, in seconds since 1970.",
    lag_seconds="Time since the event time of the newest row.",
    lateness_seconds="Farthest that a row of the newest commit lay behind a row before it.",
    interrupted_queries="Queries whose answer is widened because a source is silent.",
    waiting="1 while its source is away or its reading has failed, 0 while it is read.",
)
_STREAM_TOTALS = _of(
    "counter",
    ("stream",),
    "stream_",
    rows="Rows taken in.",
    late_rows="Rows that came after their tick was closed.",
    dead_letters="Rows and values that could not be used.",
)

_AGENTS = _of(
    "gauge",
    ("stream", "state"),
    "",
    agents="Agents of a stream, heard or interrupted.",
) + _of(
    "gauge",
    ("stream", "agent"),
    "agent_",
    heard="1 while the agent is heard.",
)
_AGENT_TOTALS = _of(
    "counter",
    ("stream", "agent"),
    "agent_",
    readings="Values that the agent looked at.",
    updates="Values that left their bounds and were sent.",
    suppressed="Values that stayed inside their bounds and were not sent.",
    reports="Reports of the agent that were taken.",
    refused="Reports of the agent that were refused.",
)

_ALERTS = _of(
    "gauge",
    (),
    "",
    alerts="Alerts that are in force.",
    alerts_raised="Groups of alerts that are raised now.",
    alert_deliveries_waiting="Deliveries that wait, on their way or to be tried again.",
    alert_deliveries_failing="Of those, deliveries to targets whose last attempt failed.",
)
_SINKS = _of(
    "gauge",
    (),
    "",
    sinks="Sinks that are in force.",
    sinks_failing="Of those, sinks whose last attempt failed.",
) + _of(
    "gauge",
    ("sink",),
    "sink_",
    epochs_waiting="Committed epochs with answers that are not delivered yet.",
    delivered="Answers and changes of rows delivered since the sink was created.",
)
_ALERT_TOTALS = _of(
    "counter",
    (),
    "alert_",
    raises="Times that an alert was raised for a group, since the first watcher of this home.",
    clears="Times that an alert was cleared for a group, since then.",
    deliveries="Deliveries that a target acknowledged, since then.",
    delivery_failures="Attempts that failed, since then.",
)

_AUDIT = _of(
    "gauge",
    (),
    "audit_",
    held_ratio="Share of audited comparisons in which bars held the truth; read it with its bar.",
    held_low_ratio="Lower end of the bar of that share.",
    held_high_ratio="Upper end of the bar of that share.",
    alarms="Alarms that the auditor has raised, each a promise that is broken.",
    evidence="Power of ten of the evidence against all audited queries together.",
    shadows="Queries whose exact shadows run now.",
    slower_ratio="Part by which shadows made epochs longer, in the newest round that tells.",
) + _of(
    "gauge",
    _QUERY,
    "query_audit_",
    held_ratio="Share of audited units in which the bar of a query held; read it with its bar.",
    held_low_ratio="Lower end of the bar of that share.",
    held_high_ratio="Upper end of the bar of that share.",
    evidence="Power of ten of the evidence against the promise of a query.",
    alarm="1 when the auditor has found the promise of a query broken.",
)
_AUDIT_TOTALS = _of(
    "counter",
    (),
    "audit_",
    comparisons="Bars that were compared with the truth.",
    misses="Bars among them that missed it.",
)

MEASURES: tuple[Measure, ...] = (
    *_JOB,
    *_JOB_TOTALS,
    *_QUERIES,
    *_QUERY_TOTALS,
    *_STREAMS,
    *_STREAM_TOTALS,
    *_AGENTS,
    *_AGENT_TOTALS,
    *_AUDIT,
    *_AUDIT_TOTALS,
    *_ALERTS,
    *_SINKS,
    *_ALERT_TOTALS,
)
BY_NAME = {measure.name: measure for measure in MEASURES}
# Counters of agents with the column of their table.
AGENT_COUNTERS = tuple(
    (f"streamgauge_agent_{column}", column)
    for column in ("readings", "updates", "reports", "refused")
)
