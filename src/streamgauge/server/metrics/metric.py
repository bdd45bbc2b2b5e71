"""What a metric is: its name, kind, labels and meaning, and how its samples are read.

A metric of a `Series` is read when somebody asks: the series says who has a sample, the metric
which number. A counted one grows with each commit since the server started.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from streamgauge.log.journal import Page
from streamgauge.plan.registry import Registry
from streamgauge.server.metrics.home_reading import HomeReading

PREFIX = "streamgauge_"

Kind: TypeAlias = Literal["gauge", "counter"]
Labels: TypeAlias = tuple[str, ...]
S = TypeVar("S")


class Sample(NamedTuple):
    """One number: of which metric, for which labels."""

    metric: str
    labels: Labels
    value: float


class Commit(NamedTuple):
    """A commit with its record and the one before, its pages, and the registry before it."""

    record: dict[str, Any]
    before: dict[str, Any]
    pages: tuple[Page, ...]
    registry: Registry


@dataclass(frozen=True, slots=True)
class Series(Generic[S]):
    """Who has a sample.

    Parameters
    ----------
    labels
        Names of the labels.
    of
        From a reading of a home, values of the labels, each with what numbers are taken from.
    """

    labels: Labels
    of: Callable[[HomeReading], Iterable[tuple[Labels, S]]]

    def gauge(self, name: str, text: str, value: Callable[[S], float | None]) -> Metric:
        """A metric that goes up and down; where its value is None there is no sample."""
        return Metric(PREFIX + name, "gauge", text, self.labels, self, value)

    def counter(self, name: str, text: str, value: Callable[[S], float | None]) -> Metric:
        """A metric that only grows, counted by who writes what is read."""
        return Metric(PREFIX + name, "counter", text, self.labels, self, value)


@dataclass(frozen=True, slots=True)
class Metric:
    """A number that is told to the outside. A counter is shown with `_total` after its name.

    Parameters
    ----------
    name
        Name, with its unit at the end: `_seconds`, `_bytes`, `_ratio`.
    kind
        "gauge" or "counter".
    text
        Its meaning, a sentence.
    labels
        Names of its labels.
    series
        Who has a sample, of a metric that is read.
    value
        The number, from what the series gives.
    counted
        What a commit adds, of a metric that is counted here.
    """

    name: str
    kind: Kind
    text: str
    labels: Labels = ()
    series: Series[Any] | None = None
    value: Callable[[Any], float | None] | None = None
    counted: Callable[[Commit], Iterable[tuple[Labels, float]]] | None = None

    @property
    def shown(self) -> str:
        """Name of its series.

        >>> counted("rows", "Rows taken in.", lambda commit: commit.record["rows"]).shown
        'streamgauge_rows_total'
        """
        return f"{self.name}_total" if self.kind == "counter" else self.name

    @property
    def unit(self) -> str:
        """Unit as OpenTelemetry writes it."""
        if self.name.endswith("_seconds"):
            return "s"
        return "By" if self.name.endswith("_bytes") else "1"

    def samples(self, subjects: Iterable[tuple[Labels, Any]]) -> Iterator[Sample]:
        """Its samples for what its series gives."""
        assert self.value is not None, f"{self.name} is counted, not read"
        for labels, subject in subjects:
            value = self.value(subject)
            if value is not None and not math.isnan(value):
                yield Sample(self.name, labels, float(value))


@dataclass(frozen=True, slots=True)
class MetricGroup:
    """The metrics of one file, and how their section of the reference reads.

    Parameters
    ----------
    title
        Heading of the section.
    metrics
        The metrics, in order.
    before, after
        Markdown around their table.
    """

    title: str
    metrics: tuple[Metric, ...]
    before: str = ""
    after: str = ""


def counted(name: str, text: str, amount: Callable[[Commit], float]) -> Metric:
    """A counter without labels, of what each commit adds."""
    return Metric(PREFIX + name, "counter", text, counted=lambda commit: [((), amount(commit))])


def counted_by(
    labels: Labels,
    name: str,
    text: str,
    amounts: Callable[[Commit], Iterable[tuple[Labels, float]]],
) -> Metric:
    """A counter with labels, of what each commit adds for each."""
    return Metric(PREFIX + name, "counter", text, labels, counted=amounts)


def read_all(metrics: Iterable[Metric], reading: HomeReading) -> Iterator[Sample]:
    """Samples of all metrics that are read; what several of them share is read once."""
    known: dict[int, list[tuple[Labels, Any]]] = {}
    for metric in metrics:
        if metric.series is not None:
            subjects = known.get(id(metric.series))
            if subjects is None:
                subjects = known[id(metric.series)] = list(metric.series.of(reading))
            yield from metric.samples(subjects)
