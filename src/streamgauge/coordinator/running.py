"""The coordinators of a home that run beside the job, one for each stream that agents feed."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from streamgauge.log.home import Home
from streamgauge.streams.stream import Stream

if TYPE_CHECKING:
    from streamgauge.coordinator.coordinator import Coordinator


class Coordinators:
    """Running coordinators by stream name."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self._running: dict[str, Coordinator] = {}

    def start(self, stream: Stream) -> None:
        """Start the coordinator of a stream, if agents feed it and none runs."""
        if stream.source_dict()["kind"] != "edge" or stream.name in self._running:
            return
        # Its doors import a web server, which other streams do not need.
        module = import_module("streamgauge.coordinator.coordinator")
        coordinator: Coordinator = module.Coordinator(self.home, stream)
        coordinator.start()
        self._running[stream.name] = coordinator

    def failure(self) -> str | None:
        """What ended one of them, if something did."""
        return next((c.failure for c in self._running.values() if c.failure), None)

    def stop(self) -> None:
        """Stop them all; what was acknowledged is kept."""
        for coordinator in self._running.values():
            coordinator.stop()
        self._running.clear()
