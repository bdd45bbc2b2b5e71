"""How a server listens, whom it lets in and what it puts up with, as frozen values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from streamgauge.coordinator.options import Address
from streamgauge.edge.clock import wall_clock
from streamgauge.kernel.errors import BindError
from streamgauge.kernel.time import Instant
from streamgauge.sources.declare import refuse_strangers

PORT = 8080
LISTEN = Address("http", "127.0.0.1", PORT)


@dataclass(frozen=True, slots=True)
class Settings:
    """What a server is told when it starts.

    Parameters
    ----------
    listen
        Where; port 0 takes a free one.
    tokens
        File of lines `token role [name]`; None: the token of the data directory may do
        everything, and requests without a token may read.
    cert, key
        Files for TLS.
    max_body
        Bytes that the body of a request may have.
    max_text
        Bytes that the body of a request may have whose caller may only read.
    max_bodies
        Bytes that the bodies of all requests in work may have together.
    max_feeds
        Live feeds that may be open; one caller may have half of them.
    body_seconds
        Seconds that a body may take to come.
    rate
        Requests a second that one token is good for, in the long run; None: any number. Without
        a file of tokens nobody is counted.
    heartbeat
        Seconds of silence after which a live feed says that it lives.
    patience
        Seconds that a subscriber of a live feed may let one event wait.
    behind
        Epochs that a subscriber may fall behind before it is dropped.
    thrift
        Newest answers that take long to read are read anew after this many times as long.
    stale
        Seconds without an epoch after which a job counts as stuck, when work is waiting.
    hosts
        Names that a request may call this server by; None: any. Kept to this machine's own where
        there are no tokens, so that no page of another site is served under a borrowed name.
    clock
        Microseconds since 1970.

    Examples
    --------
    >>> Settings.of("http://127.0.0.1:0").listen.port
    0
    """

    listen: Address = LISTEN
    tokens: Path | None = None
    cert: Path | None = None
    key: Path | None = None
    max_body: int = 16 * 1024 * 1024
    max_text: int = 1024 * 1024
    max_bodies: int = 128 * 1024 * 1024
    max_feeds: int = 400
    body_seconds: float = 30.0
    rate: float | None = 200.0
    heartbeat: float = 15.0
    patience: float = 10.0
    behind: int = 64
    thrift: float = 4.0
    stale: float = 30.0
    hosts: tuple[str, ...] | None = None
    clock: Callable[[], Instant] = wall_clock

    @classmethod
    def of(
        cls,
        listen: str,
        *,
        tokens: Path | None = None,
        cert: Path | None = None,
        key: Path | None = None,
    ) -> Settings:
        """Read an address; refuse one that strangers reach and nothing guards."""
        address = Address.of(listen, PORT)
        if address.scheme not in ("http", "https"):
            raise BindError(
                f"cannot serve on {listen!r}",
                f"its scheme is {address.scheme!r}",
                "write http://127.0.0.1:8080, or https:// with --cert and --key",
            )
        if (address.scheme == "https") != (cert is not None and key is not None):
            raise BindError(
                "an https address and its certificate go together",
                f"the address is {listen}, cert is {cert}, key is {key}",
                "give --cert and --key with https://, neither with http://",
            )
        try:
            refuse_strangers(address.host, guarded=tokens is not None)
        except BindError as error:
            raise BindError(
                "anyone could read answers here",
                f"{address.host} is reached by other machines, and there are no tokens",
                "give --tokens FILE, or listen on 127.0.0.1",
            ) from error
        made = cls(listen=address, tokens=tokens, cert=cert, key=key)
        return made if tokens is not None else replace(made, hosts=_own(address.host))


def _own(host: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((host, "localhost", "127.0.0.1", "::1")))
