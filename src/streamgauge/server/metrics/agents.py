"""Metrics of agents beside sources: whether they are heard, and what they did not have to send."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from streamgauge.server.metrics.home_reading import HomeReading
from streamgauge.server.metrics.metric import Metric, MetricGroup, Series


def _table(home: HomeReading) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = home.reader.agents().to_pylist()
    return rows


def _states(home: HomeReading) -> Iterator[tuple[tuple[str, str], int]]:
    rows = home.once(_table)
    states = Counter((row["stream"], row["state"] or "") for row in rows)
    for stream in sorted({row["stream"] for row in rows}):
        for state in ("heard", "interrupted"):
            yield (stream, state), states[stream, state]


def _agents(home: HomeReading) -> Iterator[tuple[tuple[str, str], dict[str, Any]]]:
    rows = home.once(_table)
    for row in sorted(rows, key=lambda row: (row["stream"], row["agent"]))[: home.most]:
        yield (row["stream"], row["agent"]), row


def _suppressed(row: dict[str, Any]) -> int:
    return max(0, (row["readings"] or 0) - (row["updates"] or 0))


def _column(column: str, text: str) -> Metric:
    """A counter of what a column of the table of agents says."""
    return AGENTS.counter(f"agent_{column}", text, lambda row: row[column] or 0)


AGENTS = Series(("stream", "agent"), _agents)
STATES = Series(("stream", "state"), _states)
METRICS = MetricGroup(
    "Agents",
    (
        STATES.gauge("agents", "Agents of a stream, heard or interrupted.", float),
        AGENTS.gauge(
            "agent_heard", "1 while the agent is heard.", lambda row: row["state"] == "heard"
        ),
        _column("readings", "Values that the agent looked at."),
        _column("updates", "Values that left their bounds and were sent."),
        AGENTS.counter(
            "agent_suppressed",
            "Values that stayed inside their bounds and were not sent.",
            _suppressed,
        ),
        _column("reports", "Reports of the agent that were taken."),
        _column("refused", "Reports of the agent that were refused."),
    ),
)
