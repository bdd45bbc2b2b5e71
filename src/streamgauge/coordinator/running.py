"""The coordinator of a stream, as the feed that it is to the job it runs beside."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from streamgauge.engine.feed import Feed
from streamgauge.kernel.errors import EngineFailure
from streamgauge.log.home import Home
from streamgauge.sources.source_kind import FeedSite
from streamgauge.streams.stream import Stream

if TYPE_CHECKING:
    from streamgauge.coordinator.coordinator import Coordinator


class AgentFeed(Feed):
    """Feeds a stream with what agents report.

    Parameters
    ----------
    home
        The home whose job answers the queries.
    stream
        A stream that agents feed.
    """

    def __init__(self, home: Home, stream: Stream) -> None:
        super().__init__(stream)
        # Its doors import a web server, which other streams do not need.
        module = import_module("streamgauge.coordinator.coordinator")
        self._coordinator: Coordinator = module.Coordinator(home, stream)

    def start(self) -> None:
        """Listen to agents."""
        self._coordinator.start()

    def stop(self) -> None:
        """Listen no longer; what was acknowledged is kept."""
        self._coordinator.stop()

    def look(self) -> None:
        """Take over what ended the coordinator, if something did."""
        if self._coordinator.failure is not None:
            self.failure = EngineFailure(
                f"nobody listens to the agents of stream {self.stream.name!r} any more",
                self._coordinator.failure.strip()[:2000],
                "mend the cause and start again: what was acknowledged is kept",
            )


def feed(stream: Stream, site: FeedSite) -> AgentFeed:
    """Feeds a stream with what agents report."""
    return AgentFeed(site.home, stream)
