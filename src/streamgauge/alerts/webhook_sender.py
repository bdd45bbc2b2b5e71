"""Webhooks: a POST of JSON that is repeated until the receiver says that it has it.

The header `Idempotency-Key` carries the id of the crossing. After a crash between the receiver's
reply and the note of it the same id comes once more; whoever honours the key sees it once.
"""

from __future__ import annotations

import base64
import http.client
import json
import socket
import ssl
import threading
from collections.abc import Sequence
from contextlib import suppress
from urllib.parse import SplitResult, unquote, urlsplit

from streamgauge.alerts.outbox import Delivery
from streamgauge.alerts.public_address import Network, checked_addresses
from streamgauge.alerts.undelivered import Undelivered
from streamgauge.kernel.secrets import resolved
from streamgauge.plan.alert import Target
from streamgauge.targets.target_kind import AlertSite

TIMEOUT_SECONDS = 5.0
LONGEST_SECONDS = 15.0


class WebhookSender:
    """Posts crossings to one address; follows no redirect, which could lead anywhere.

    Parameters
    ----------
    target
        A webhook.
    allowed
        Networks that are not public and may be reached all the same.
    """

    def __init__(self, target: Target, allowed: Sequence[Network] = ()) -> None:
        self.allowed = allowed
        self.target = target
        self._tls = ssl.create_default_context()

    def send(self, delivery: Delivery) -> None:
        """Post it; any reply but 2xx is none."""
        crossing = delivery.crossing
        body = json.dumps(crossing.as_dict()).encode()
        parts = self._parts()
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        headers = {**_headers(parts), "Idempotency-Key": crossing.id}
        try:
            connection = self._connection()
        except OSError as error:
            raise Undelivered(f"{type(error).__name__}: {error}") from error
        # Each wait has its end; a receiver that says a letter at a time needs one for all of them.
        end = threading.Timer(LONGEST_SECONDS, _cut, (connection,))
        end.daemon = True
        end.start()
        try:
            connection.request("POST", path, body, headers)
            reply = connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            # What the library quotes of a request may be its secret.
            said = str(error).replace(path, "...")
            raise Undelivered(f"{type(error).__name__}: {said}") from None
        finally:
            end.cancel()
            connection.close()
        if not 200 <= reply.status < 300:
            raise Undelivered(f"the receiver said {reply.status}")

    def close(self) -> None:
        """Nothing is kept open."""

    def _parts(self) -> SplitResult:
        """The parts of the address, with the secrets that it refers to as they are now."""
        return urlsplit(resolved(self.target.address, url=True))

    def _connection(self) -> http.client.HTTPConnection:
        parts = self._parts()
        host, tls = parts.hostname or "", parts.scheme == "https"
        port = parts.port or (443 if tls else 80)
        place = _Place(checked_addresses(host, port, self.allowed))
        made: http.client.HTTPConnection
        if tls:
            made = http.client.HTTPSConnection(
                host, port, timeout=TIMEOUT_SECONDS, context=self._tls
            )
        else:
            made = http.client.HTTPConnection(host, port, timeout=TIMEOUT_SECONDS)
        # The certificate is checked against the name, the socket goes to the checked address.
        made._create_connection = place.connect  # type: ignore[attr-defined]
        return made


def sender(target: Target, site: AlertSite) -> WebhookSender:
    """Who posts to a webhook."""
    return WebhookSender(target, site.allowed)


def _headers(parts: SplitResult) -> dict[str, str]:
    found = {"Content-Type": "application/json", "User-Agent": "streamgauge"}
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        found["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    return found


class _Place:
    """Connects to addresses that were checked, whatever the name says by now."""

    def __init__(self, addresses: Sequence[str]) -> None:
        self.addresses = addresses

    def connect(
        self, where: tuple[str, int], timeout: float, source: tuple[str, int] | None = None
    ) -> socket.socket:
        """A connection to the first address that answers."""
        failed: OSError | None = None
        for address in self.addresses:
            try:
                return socket.create_connection((address, where[1]), timeout, source)
            except OSError as error:
                failed = error
        raise failed or OSError("no address")


def _cut(connection: http.client.HTTPConnection) -> None:
    """End a connection under whoever waits for it."""
    held = connection.sock
    if held is not None:
        with suppress(OSError):
            held.shutdown(socket.SHUT_RDWR)
