"""Metrics: the figures of a home as Prometheus reads them, and a Grafana dashboard of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.resources import files

from fastapi import APIRouter, Request, Response
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.core import Metric as Family
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from streamgauge.server.access import Reader
from streamgauge.server.figures import Figures
from streamgauge.server.metrics.metric import Metric, Sample
from streamgauge.server.metrics.table import EVERY

DASHBOARD = "grafana.json"
TEXT = "text/plain"
OPEN_TEXT = "application/openmetrics-text"

router = APIRouter(tags=["metrics"])


@router.get(
    "/metrics",
    response_class=Response,
    responses={
        200: {"description": "Figures for Prometheus.", "content": {TEXT: {}, OPEN_TEXT: {}}}
    },
)
def metrics(request: Request, _caller: Reader) -> Response:
    """Figures of queries, streams, agents and the job, as Prometheus or OpenMetrics text."""
    text, kind = exposition(request.app.state.figures, request.headers.get("accept", ""))
    return Response(text, media_type=kind)


class HomeCollector(Collector):
    """Gives the figures of a home as families of metrics, read when they are asked for."""

    def __init__(self, figures: Figures) -> None:
        self.figures = figures

    def describe(self) -> Iterable[Family]:
        """Every family, without reading anything."""
        return families([])

    def collect(self) -> Iterable[Family]:
        """Every family with its samples."""
        return families(self.figures.read())


def families(samples: Iterable[Sample]) -> Iterator[Family]:
    """Samples as families of metrics; a family that has none is there with its text."""
    by_name: dict[str, list[Sample]] = {metric.name: [] for metric in EVERY}
    for sample in samples:
        by_name[sample.metric].append(sample)
    for metric in EVERY:
        family = _family(metric)
        for sample in by_name[metric.name]:
            family.add_metric(sample.labels, sample.value)
        yield family


def _family(metric: Metric) -> CounterMetricFamily | GaugeMetricFamily:
    if metric.kind == "counter":
        return CounterMetricFamily(metric.name, metric.text, labels=metric.labels)
    return GaugeMetricFamily(metric.name, metric.text, labels=metric.labels)


def exposition(figures: Figures, accept: str = "") -> tuple[bytes, str]:
    """The text that Prometheus reads, with its type: OpenMetrics for who accepts that."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(HomeCollector(figures))
    # The library fails on a version that is no number, so it is not shown what was sent.
    encode, kind = choose_encoder(OPEN_TEXT if OPEN_TEXT in accept.lower() else TEXT)
    return encode(registry), kind


def dashboard() -> str:
    """The dashboard for Grafana, as JSON; it asks for its Prometheus when it is imported."""
    return files("streamgauge.server").joinpath(DASHBOARD).read_text(encoding="utf-8")
