"""Metrics of sinks: how far each is, and how many fail."""

from __future__ import annotations

from collections.abc import Iterator

from streamgauge.server.metrics.home_reading import HomeReading
from streamgauge.server.metrics.metric import MetricGroup, Series
from streamgauge.sinks.report import Progress, read


def _known(home: HomeReading) -> list[Progress]:
    return read(home.reader.home, home.registry.sinks)


def _each(home: HomeReading) -> Iterator[tuple[tuple[str], Progress]]:
    for progress in home.once(_known):
        yield (progress.standing.sink.name,), progress


ALL = Series((), lambda home: [((), home.once(_known))])
EACH = Series(("sink",), _each)
METRICS = MetricGroup(
    "Sinks",
    (
        ALL.gauge("sinks", "Sinks that are in force.", len),
        ALL.gauge(
            "sinks_failing",
            "Of those, sinks whose last attempt failed.",
            lambda known: sum(progress.state == "failing" for progress in known),
        ),
        EACH.gauge(
            "sink_epochs_waiting",
            "Committed epochs with answers that are not delivered yet.",
            lambda progress: progress.waiting,
        ),
        EACH.gauge(
            "sink_delivered",
            "Answers and changes of rows delivered since the sink was created.",
            lambda progress: progress.delivered,
        ),
    ),
)
