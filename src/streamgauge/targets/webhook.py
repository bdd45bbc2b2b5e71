"""Webhooks: addresses of the web that alerts are posted to."""

from __future__ import annotations

from functools import partial
from urllib.parse import urlsplit

from streamgauge.kernel.errors import BindError
from streamgauge.kernel.secrets import refuse_secret, shape
from streamgauge.targets.target_kind import Goods, TargetKind


def _check(address: str, detail: str, _goods: Goods) -> None:
    try:
        parts = urlsplit(shape(address))
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        fits = False
    if not fits or not address.isascii() or " " in address:
        raise BindError(
            "a webhook that is no address of the web",
            f"got {_shown(address, detail)!r}",
            "write an address that begins with https:// or http://, escaped where needed",
        )


def _shown(address: str, _detail: str) -> str:
    parts = urlsplit(shape(address))
    return f"webhook {parts.scheme}://{parts.netloc.rpartition('@')[2]}"


TARGET = TargetKind(
    "webhook",
    title="Webhook",
    address="Address",
    example="https://hooks.example.org/alerts",
    check=_check,
    shown=_shown,
    text="A `POST` of JSON, repeated until the reply is 2xx.",
    sender="streamgauge.alerts.webhook_sender:sender",
    refuse_stored=partial(refuse_secret, what="a webhook", path=True),
    secret_address=True,
)
