"""All metrics: a line for each file of them. Everything that tells figures goes by this table."""

from __future__ import annotations

from streamgauge.kernel.loading import load
from streamgauge.server.metrics.metric import Metric, MetricGroup

METRICS = (
    "streamgauge.server.metrics.job",
    "streamgauge.server.metrics.queries",
    "streamgauge.server.metrics.streams",
    "streamgauge.server.metrics.agents",
    "streamgauge.server.metrics.alerts",
    "streamgauge.server.metrics.sinks",
    "streamgauge.server.metrics.audit",
)
GROUPS: tuple[MetricGroup, ...] = tuple(load(f"{name}:METRICS") for name in METRICS)
EVERY: tuple[Metric, ...] = tuple(metric for group in GROUPS for metric in group.metrics)
BY_NAME = {metric.name: metric for metric in EVERY}
