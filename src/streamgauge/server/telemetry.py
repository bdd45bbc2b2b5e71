"""Telemetry: the figures of a home pushed to an OpenTelemetry collector.

The same figures under the same names as Prometheus reads, by instruments that are observed when
it is time to send.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import urlsplit

from streamgauge.kernel.errors import BindError, MissingRuntime
from streamgauge.server.figures import Figures
from streamgauge.server.metrics.metric import Metric
from streamgauge.server.metrics.table import EVERY

try:
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.metrics import CallbackOptions, Observation
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
    from opentelemetry.sdk.resources import Resource
except ImportError:
    OTLPMetricExporter = None  # type: ignore[assignment, misc]

EVERY_SECONDS = 15.0
TIMEOUT_SECONDS = 5.0
PATH = "/v1/metrics"


class Telemetry:
    """Sends figures every few seconds while it is entered, and once more at the end.

    A collector that is away is no reason to stop: what it missed is in the next totals.

    Parameters
    ----------
    figures
        What to send.
    endpoint
        Address of an OTLP/HTTP receiver, such as http://127.0.0.1:4318; the usual path is added
        when there is none. Headers come from OTEL_EXPORTER_OTLP_HEADERS.
    every
        Seconds between two sendings.
    """

    def __init__(self, figures: Figures, endpoint: str, every: float = EVERY_SECONDS) -> None:
        if OTLPMetricExporter is None:
            raise MissingRuntime(
                "OpenTelemetry is not installed",
                "its SDK or its exporter over HTTP is absent",
                "pip install 'streamgauge[otel]'",
            )
        self.figures = figures
        self.endpoint = receiver(endpoint)
        self.every = every
        self._provider: MeterProvider | None = None

    def start(self) -> None:
        """Begin to send."""
        exporter = OTLPMetricExporter(endpoint=self.endpoint, timeout=TIMEOUT_SECONDS)
        reader = PeriodicExportingMetricReader(
            exporter,
            export_interval_millis=self.every * 1000,
            export_timeout_millis=TIMEOUT_SECONDS * 1000,
        )
        resource = Resource.create({"service.name": "streamgauge"})
        self._provider = MeterProvider([reader], resource, shutdown_on_exit=False)
        meter = self._provider.get_meter("streamgauge")
        for metric in EVERY:
            make: Callable[..., Any] = (
                meter.create_observable_counter
                if metric.kind == "counter"
                else meter.create_observable_gauge
            )
            observed = [self._observer(metric)]
            make(metric.name, observed, unit=metric.unit, description=metric.text)

    def send(self) -> bool:
        """Send now; whether the collector took it."""
        assert self._provider is not None, "telemetry was not started"
        return self._provider.force_flush(timeout_millis=TIMEOUT_SECONDS * 1000)

    def stop(self) -> None:
        """Send a last time and end."""
        if self._provider is not None:
            self._provider.shutdown(timeout_millis=TIMEOUT_SECONDS * 1000)
        self._provider = None

    def __enter__(self) -> Telemetry:
        self.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    def _observer(self, metric: Metric) -> Callable[[CallbackOptions], Iterable[Observation]]:
        def observe(_options: CallbackOptions) -> Iterable[Observation]:
            for sample in self.figures.read():
                if sample.metric == metric.name:
                    labels = dict(zip(metric.labels, sample.labels, strict=True))
                    yield Observation(sample.value, labels)

        return observe


def receiver(endpoint: str) -> str:
    """The full address of a receiver.

    >>> receiver("http://127.0.0.1:4318")
    'http://127.0.0.1:4318/v1/metrics'
    """
    try:
        parts = urlsplit(endpoint)
        known = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        known = False
    if not known:
        raise BindError(
            "no address of an OpenTelemetry receiver",
            "it begins with http:// or https:// and names a host",
            "write --otel http://127.0.0.1:4318",
        )
    return endpoint if parts.path.strip("/") else endpoint.rstrip("/") + PATH
