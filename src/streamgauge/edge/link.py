"""How reports reach the coordinator: one exchange at a time, whatever carries it."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from streamgauge.kernel.errors import BindError, SourceFailure

# Schemes, and the file that knows each. A file is imported when its scheme is used.
KINDS = {
    "http": "streamgauge.edge.link_http",
    "https": "streamgauge.edge.link_http",
    "mqtt": "streamgauge.edge.link_mqtt",
    "mqtts": "streamgauge.edge.link_mqtt",
    "kafka": "streamgauge.edge.link_kafka",
    "kafkas": "streamgauge.edge.link_kafka",
}


class LinkDown(SourceFailure):
    """The coordinator was not reached, or could not answer; it is tried again.

    `wait` is how many seconds the other side asked to be left alone.
    """

    def __init__(self, what: str, detail: str, hint: str, wait: float | None = None) -> None:
        super().__init__(what, detail, hint)
        self.wait = wait


class LinkRefused(SourceFailure):
    """The coordinator does not want this agent: wrong token, unknown stream, unreadable report."""


class Link(Protocol):
    """A way to the coordinator."""

    def exchange(self, report: bytes, timeout: float) -> bytes:
        """Send a report and return its reply; raise LinkDown or LinkRefused."""

    def pushed(self) -> list[bytes]:
        """Replies that came unasked since this was last called."""

    def close(self) -> None:
        """Give up the connection; the next exchange makes a new one."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """Who an agent is, and whom it believes.

    Parameters
    ----------
    token
        Shown with each report over HTTP; over a broker reports are signed with it.
    user, password
        For a broker.
    ca
        Certificates that are believed; None: those of the system.
    cert, key
        The agent's own certificate, where the other side asks for one.
    """

    token: str | None = field(default=None, repr=False)
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None


def open_link(
    url: str,
    stream: str,
    agent: str,
    credentials: Credentials | None = None,
    wake: Callable[[], None] = lambda: None,
) -> Link:
    """The link for an address; `wake` is called when something is pushed.

    >>> open_link("ftp://somewhere", "hosts", "pump")
    Traceback (most recent call last):
        ...
    streamgauge.kernel.errors.BindError: no way to the coordinator by 'ftp'
      detail: ftp://somewhere; known are http, https, kafka, kafkas, mqtt, mqtts
      hint: write for example https://gauge.example.org:8443
    """
    parts = urlsplit(url)
    if parts.scheme not in KINDS:
        raise BindError(
            f"no way to the coordinator by {parts.scheme!r}",
            f"{url}; known are {', '.join(sorted(KINDS))}",
            "write for example https://gauge.example.org:8443",
        )
    if not parts.hostname:
        raise BindError("an address without a host", url, "write for example http://127.0.0.1:8600")
    module = importlib.import_module(KINDS[parts.scheme])
    link: Link = module.connect(url, stream, agent, credentials or Credentials(), wake)
    return link
