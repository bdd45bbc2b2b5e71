"""Metrics of alerts: what is raised, and whether it is delivered."""

from __future__ import annotations

from streamgauge.alerts.report import read
from streamgauge.server.metrics.job import JOB
from streamgauge.server.metrics.metric import MetricGroup, Series

ALERTS = Series((), lambda home: [((), read(home.reader.home))])
METRICS = MetricGroup(
    "Alerts",
    (
        JOB.gauge("alerts", "Alerts that are in force.", lambda home: len(home.registry.alerts)),
        ALERTS.gauge(
            "alerts_raised", "Groups of alerts that are raised now.", lambda told: told.standing
        ),
        ALERTS.gauge(
            "alert_deliveries_waiting",
            "Deliveries that wait, on their way or to be tried again.",
            lambda told: told.waiting,
        ),
        ALERTS.gauge(
            "alert_deliveries_failing",
            "Of those, deliveries to targets whose last attempt failed.",
            lambda told: told.failing,
        ),
        ALERTS.counter(
            "alert_raises",
            "Times that an alert was raised for a group, since the first watcher of this home.",
            lambda told: told.raised,
        ),
        ALERTS.counter(
            "alert_clears",
            "Times that an alert was cleared for a group, since then.",
            lambda told: told.cleared,
        ),
        ALERTS.counter(
            "alert_deliveries",
            "Deliveries that a target acknowledged, since then.",
            lambda told: told.delivered,
        ),
        ALERTS.counter(
            "alert_delivery_failures",
            "Attempts that failed, since then.",
            lambda told: told.failed,
        ),
    ),
)
