"""Metrics of streams: how new and how late their rows are, and whether they are fed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from streamgauge.kernel.time import Instant
from streamgauge.log.feeding import feeding_of
from streamgauge.server.metrics.home_reading import HomeReading, seconds
from streamgauge.server.metrics.metric import Commit, MetricGroup, Series, counted_by

LABELS = ("stream",)


class StreamReading(NamedTuple):
    """What is known of a stream: its newest row, and how many queries its silence widens."""

    name: str
    home: HomeReading
    peak: Instant | None
    interrupted: int


def _streams(home: HomeReading) -> Iterator[tuple[tuple[str], StreamReading]]:
    queries = home.registry.queries
    interrupted = Counter(
        stream
        for name, found in home.standings.answers.items()
        if name in queries and any(answer.basis == "interrupted" for answer in found)
        for stream in queries[name].asked.streams
    )
    for name in sorted(home.registry.streams):
        yield (name,), StreamReading(name, home, home.peaks.get(name), interrupted[name])


def _newest_row(stream: StreamReading) -> float | None:
    return None if stream.peak is None else seconds(stream.peak)


def _lag(stream: StreamReading) -> float | None:
    return None if stream.peak is None else seconds(stream.home.now - stream.peak)


def _waiting(stream: StreamReading) -> float | None:
    fed = feeding_of(stream.home.reader.home, stream.name)
    return None if fed is None else float(fed.state in ("waiting", "failed"))


def _rows(commit: Commit) -> Iterator[tuple[tuple[str], int]]:
    for page in commit.pages:
        for segment in page.segments:
            yield (segment.stream,), segment.rows


def _late(commit: Commit) -> Iterator[tuple[tuple[str], int]]:
    streams = list(commit.registry.streams)
    sole = {streams[0]: commit.record["late"]} if len(streams) == 1 else {}
    for stream, late in commit.record.get("late_by", sole).items():
        yield (stream,), late


STREAMS = Series(LABELS, _streams)
METRICS = MetricGroup(
    "Streams",
    (
        STREAMS.gauge(
            "stream_newest_row_timestamp_seconds",
            "Event time of the newest row, in seconds since 1970.",
            _newest_row,
        ),
        STREAMS.gauge("stream_lag_seconds", "Time since the event time of the newest row.", _lag),
        STREAMS.gauge(
            "stream_lateness_seconds",
            "Farthest that a row of the newest commit lay behind a row before it.",
            lambda stream: seconds(stream.home.behind.get(stream.name, 0)),
        ),
        STREAMS.gauge(
            "stream_interrupted_queries",
            "Queries whose answer is widened because a source is silent.",
            lambda stream: stream.interrupted,
        ),
        STREAMS.gauge(
            "stream_waiting",
            "1 while its source is away or its reading has failed, 0 while it is read.",
            _waiting,
        ),
        counted_by(LABELS, "stream_rows", "Rows taken in.", _rows),
        counted_by(
            LABELS, "stream_late_rows", "Rows that came after their tick was closed.", _late
        ),
        STREAMS.counter(
            "stream_dead_letters",
            "Rows and values that could not be used.",
            lambda stream: stream.home.dead_letters(stream.name),
        ),
    ),
    after="""\
On a home with several streams, late rows are told by stream where the job writes them down by
stream; their sum always is.""",
)
