"""Reports over HTTP: `POST /v1/edge/<stream>`, a connection that is kept."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Callable
from urllib.parse import quote, urlsplit

from streamgauge.edge.link import Credentials, LinkDown, LinkRefused
from streamgauge.edge.protocol import MAX_BYTES
from streamgauge.kernel.errors import SourceFailure

# What the coordinator will say to the same report again and again.
REFUSALS = (400, 401, 403, 404, 405, 413)


class HttpLink:
    """One kept connection to a coordinator.

    Parameters
    ----------
    url
        `http://host:port` or `https://host:port`, with a path when a proxy puts one before.
    stream
        Name of the stream.
    credentials
        Token and certificates.

    Examples
    --------
    >>> HttpLink("http://127.0.0.1:8600", "hosts", Credentials(token="s3")).path
    '/v1/edge/hosts'
    """

    def __init__(self, url: str, stream: str, credentials: Credentials) -> None:
        parts = urlsplit(url)
        self.url = url
        self.host = parts.hostname or ""
        self.port = parts.port
        self.path = f"{parts.path.rstrip('/')}/v1/edge/{quote(stream, safe='')}"
        self._tls = _context(credentials) if parts.scheme == "https" else None
        self._headers = {"Content-Type": "application/json"}
        if credentials.token:
            self._headers["Authorization"] = f"Bearer {credentials.token}"
        self._connection: http.client.HTTPConnection | None = None

    def exchange(self, report: bytes, timeout: float) -> bytes:
        """Send a report and return its reply."""
        kept = self._connection is not None
        try:
            return self._once(report, timeout)
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError) as error:
            self.close()
            # A server closes a connection that was idle; that is no reason to wait.
            if not kept:
                raise self._down(error) from error
        except (OSError, http.client.HTTPException) as error:
            self.close()
            if isinstance(error, LinkDown | LinkRefused):
                raise
            raise self._down(error) from error
        try:
            return self._once(report, timeout)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            if isinstance(error, LinkDown | LinkRefused):
                raise
            raise self._down(error) from error

    def pushed(self) -> list[bytes]:
        """Nothing: over HTTP the coordinator speaks when it is asked."""
        return []

    def close(self) -> None:
        """Give up the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _once(self, report: bytes, timeout: float) -> bytes:
        if self._connection is None:
            self._connection = self._connect(timeout)
        connection = self._connection
        connection.timeout = timeout
        if connection.sock is not None:
            connection.sock.settimeout(timeout)
        connection.request("POST", self.path, report, self._headers)
        response = connection.getresponse()
        body = response.read(MAX_BYTES + 1)
        if response.will_close:
            self.close()
        if response.status == 200:
            return body
        if len(body) > MAX_BYTES:
            self.close()
        raise _refusal(self.url, response, body)

    def _connect(self, timeout: float) -> http.client.HTTPConnection:
        if self._tls is None:
            return http.client.HTTPConnection(self.host, self.port, timeout=timeout)
        return http.client.HTTPSConnection(self.host, self.port, timeout=timeout, context=self._tls)

    def _down(self, error: Exception) -> LinkDown:
        return LinkDown(
            "the coordinator was not reached",
            f"{self.url}: {error or type(error).__name__}",
            "check the address, that the gauge runs, and what lies between; it is tried again",
        )


def connect(
    url: str, stream: str, agent: str, credentials: Credentials, wake: Callable[[], None]
) -> HttpLink:
    """The link for an http or https address."""
    return HttpLink(url, stream, credentials)


def _refusal(url: str, response: http.client.HTTPResponse, body: bytes) -> LinkDown | LinkRefused:
    """What a status other than 200 means for the agent."""
    status = response.status
    try:
        said = json.loads(body)
        what, detail, hint = (str(said[part]) for part in ("message", "detail", "hint"))
    except (ValueError, KeyError, TypeError):
        what = f"the coordinator answered {status} {response.reason}"
        detail = body[:200].decode("utf-8", "replace") or "no more was said"
        hint = "check that the address is a coordinator's; docs/reference/protocol.md has the codes"
    detail = f"{url}: {status}, {detail}"
    if status in REFUSALS:
        return LinkRefused(what, detail, hint)
    return LinkDown(what, detail, hint, _seconds(response.getheader("Retry-After")))


def _seconds(text: str | None) -> float | None:
    try:
        return None if text is None else min(max(float(text), 0.0), 300.0)
    except ValueError:
        return None


def _context(credentials: Credentials) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(
            cafile=None if credentials.ca is None else str(credentials.ca)
        )
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if credentials.cert is not None:
            context.load_cert_chain(credentials.cert, credentials.key)
    except (OSError, ssl.SSLError) as error:
        raise SourceFailure(
            "the certificates cannot be used",
            f"ca {credentials.ca}, cert {credentials.cert}, key {credentials.key}: {error}",
            "give PEM files that this user may read, and the key that belongs to the certificate",
        ) from error
    return context
