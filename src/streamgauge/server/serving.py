"""Serving: an application behind an address, from start to stop."""

from __future__ import annotations

from fastapi import FastAPI

from streamgauge.coordinator.web import SLOW_SECONDS, Certificates, WebServer
from streamgauge.gauge import Gauge
from streamgauge.server.app import make_app
from streamgauge.server.push import spools_of
from streamgauge.server.settings import Settings
from streamgauge.server.story import Story


class Server:
    """A gauge that is served, in a thread of its own.

    Parameters
    ----------
    gauge
        A gauge that runs, or one on a home whose job runs elsewhere.
    settings
        Where, for whom, and how much.
    slow
        Seconds after which a client that has not finished the head of its request is cut off.
    story
        A guided story that the page tells.
    """

    def __init__(
        self,
        gauge: Gauge,
        settings: Settings,
        slow: float = SLOW_SECONDS,
        story: Story | None = None,
    ) -> None:
        self.settings = settings
        self.app: FastAPI = make_app(gauge, settings, story)
        files = Certificates(settings.cert, settings.key)
        self._web = WebServer(
            self.app, settings.listen, files, slow=slow, name="streamgauge-server"
        )

    @property
    def address(self) -> str:
        """Where it listens, once it does."""
        return self._web.address

    @property
    def token(self) -> str | None:
        """The token of the home, which may do everything; None with a file of tokens."""
        found: str | None = self.app.state.token
        return found

    @property
    def page(self) -> str:
        """Address of the page with the token, which the browser keeps to itself."""
        return self.address if self.token is None else f"{self.address}/#token={self.token}"

    def start(self) -> Server:
        """Listen."""
        self._web.start()
        # Rows that were acknowledged before the last stop become files at once.
        spools_of(self.app).resume()
        return self

    def stop(self) -> None:
        """Listen no longer; live feeds end with a last event, requests in work are finished."""
        self.app.state.feed.close()
        self._web.stop()
        spools_of(self.app).close()

    def __enter__(self) -> Server:
        return self.start()

    def __exit__(self, *_error: object) -> None:
        self.stop()
