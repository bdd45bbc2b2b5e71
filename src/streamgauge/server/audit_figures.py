"""Figures of the auditor: how often bars held, what speaks against them, and what it costs."""

from __future__ import annotations

import math
from collections.abc import Iterator

from streamgauge.audit.report import read
from streamgauge.contracts.answer import Answer
from streamgauge.log.home import Home
from streamgauge.plan.registry import Registry
from streamgauge.server.measures import Sample


def of_audit(home: Home, registry: Registry, most: int) -> Iterator[Sample]:
    """Samples of the auditor; none of a home that has never had one."""
    report = read(home, registry)
    if not report.begun:
        return
    yield from _held("streamgauge_audit_held", (), report.held)
    told = {
        "alarms": len(report.alarms),
        "evidence": report.rounds_evidence,
        "shadows": sum(each.now for each in report.queries),
        "slower_ratio": math.nan if report.slower is None else report.slower,
        "comparisons": report.comparisons,
        "misses": report.misses,
    }
    for name, value in told.items():
        if not math.isnan(value):
            yield Sample(f"streamgauge_audit_{name}", (), float(value))
    for each in report.queries[:most]:
        # A name may hold half of a surrogate pair, which no encoding carries.
        labels = (each.name.encode("utf-8", "replace").decode(), str(each.version))
        yield from _held("streamgauge_query_audit_held", labels, each.held)
        if each.evidence > -math.inf:
            yield Sample("streamgauge_query_audit_evidence", labels, each.evidence)
        alarm = float(each.alarm is not None)
        yield Sample("streamgauge_query_audit_alarm", labels, alarm)


def _held(name: str, labels: tuple[str, ...], held: Answer) -> Iterator[Sample]:
    """A share with its bar; nothing before it is known."""
    if held.value is not None:
        for part, value in (("", held.value), ("_low", held.low), ("_high", held.high)):
            yield Sample(f"{name}{part}_ratio", labels, value)
