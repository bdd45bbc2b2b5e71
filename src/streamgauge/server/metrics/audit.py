"""Metrics of the auditor: how often bars held, what speaks against them, and what it costs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from streamgauge.audit.report import Audited, Report, read
from streamgauge.server.metrics.home_reading import HomeReading, query_labels
from streamgauge.server.metrics.metric import MetricGroup, Series
from streamgauge.server.metrics.queries import LABELS


def _report(home: HomeReading) -> Report:
    return read(home.reader.home, home.registry)


def _begun(home: HomeReading) -> Iterator[tuple[tuple[()], Report]]:
    """Of a home that has had an auditor."""
    report = home.once(_report)
    if report.begun:
        yield (), report


def _queries(home: HomeReading) -> Iterator[tuple[tuple[str, str], Audited]]:
    report = home.once(_report)
    for each in report.queries[: home.most] if report.begun else ():
        yield query_labels(each.name, each.version), each


def _held(end: str) -> Callable[[Audited | Report], float | None]:
    """The share of bars that held, or an end of its bar; nothing before it is known."""

    def of(found: Audited | Report) -> float | None:
        return None if found.held.value is None else getattr(found.held, end)

    return of


ALL = Series((), lambda home: [((), home.once(_report))])
BEGUN = Series((), _begun)
QUERIES = Series(LABELS, _queries)
METRICS = MetricGroup(
    "Audit",
    (
        BEGUN.gauge(
            "audit_held_ratio",
            "Share of audited comparisons in which bars held the truth; read it with its bar.",
            _held("value"),
        ),
        BEGUN.gauge("audit_held_low_ratio", "Lower end of the bar of that share.", _held("low")),
        BEGUN.gauge("audit_held_high_ratio", "Upper end of the bar of that share.", _held("high")),
        BEGUN.gauge(
            "audit_alarms",
            "Alarms that the auditor has raised, each a promise that is broken.",
            lambda report: len(report.alarms),
        ),
        BEGUN.gauge(
            "audit_evidence",
            "Power of ten of the evidence against all audited queries together.",
            lambda report: report.rounds_evidence,
        ),
        BEGUN.gauge(
            "audit_shadows",
            "Queries whose exact shadows run now.",
            lambda report: sum(each.now for each in report.queries),
        ),
        BEGUN.gauge(
            "audit_slower_ratio",
            "Part by which shadows made epochs longer, in the newest round that tells.",
            lambda report: report.slower,
        ),
        QUERIES.gauge(
            "query_audit_held_ratio",
            "Share of audited units in which the bar of a query held; read it with its bar.",
            _held("value"),
        ),
        QUERIES.gauge(
            "query_audit_held_low_ratio", "Lower end of the bar of that share.", _held("low")
        ),
        QUERIES.gauge(
            "query_audit_held_high_ratio", "Upper end of the bar of that share.", _held("high")
        ),
        QUERIES.gauge(
            "query_audit_evidence",
            "Power of ten of the evidence against the promise of a query.",
            lambda each: each.evidence if each.evidence > -math.inf else None,
        ),
        QUERIES.gauge(
            "query_audit_alarm",
            "1 when the auditor has found the promise of a query broken.",
            lambda each: each.alarm is not None,
        ),
        ALL.counter(
            "audit_comparisons",
            "Bars that were compared with the truth.",
            lambda report: report.comparisons,
        ),
        ALL.counter(
            "audit_misses", "Bars among them that missed it.", lambda report: report.misses
        ),
    ),
    before="""\
Of homes that have had an [auditor](../how-to/audit.md); its counters go on over a restart. Shadows
are not among the queries above.""",
)
