"""A client of an MQTT broker, the same for all who speak to one: agents, doors, streams."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

from streamgauge.edge.link import Credentials
from streamgauge.kernel.errors import MissingRuntime

try:
    from paho.mqtt import client as paho
    from paho.mqtt.enums import CallbackAPIVersion
except ImportError:
    paho = None  # type: ignore[assignment]

PORT, TLS_PORT = 1883, 8883
QOS = 1
KEEPALIVE = 30


@dataclass(frozen=True, slots=True)
class BrokerAddress:
    """Where a broker is and who we are there; shown without the password.

    Examples
    --------
    >>> at = BrokerAddress.of("mqtts://pump:secret@broker.example.org")
    >>> at.shown, at.tls, at.user
    ('mqtts://broker.example.org:8883', True, 'pump')
    >>> at
    BrokerAddress(tls=True, host='broker.example.org', port=8883)
    """

    tls: bool
    host: str
    port: int
    credentials: Credentials = field(default=Credentials(), repr=False)

    @classmethod
    def of(cls, url: str, credentials: Credentials | None = None) -> BrokerAddress:
        """The broker of an address; user and password in the address win over those given."""
        parts, given = urlsplit(url), credentials or Credentials()
        tls = parts.scheme == "mqtts"
        user = unquote(parts.username) if parts.username else given.user
        password = unquote(parts.password) if parts.password else given.password
        known = Credentials(None, user, password, given.ca, given.cert, given.key)
        return cls(tls, parts.hostname or "", parts.port or (TLS_PORT if tls else PORT), known)

    @property
    def shown(self) -> str:
        """The address for messages."""
        return f"{'mqtts' if self.tls else 'mqtt'}://{self.host}:{self.port}"

    @property
    def user(self) -> str | None:
        """Who we are, if the broker wants to know."""
        return self.credentials.user

    def client(self, name: str = "", **options: Any) -> paho.Client:
        """A client that is not connected yet; options are those of paho."""
        check_installed()
        client = paho.Client(CallbackAPIVersion.VERSION2, client_id=name, **options)
        if self.user is not None:
            client.username_pw_set(self.user, self.credentials.password)
        if self.tls:
            given = self.credentials
            paths = (given.ca, given.cert, given.key)
            ca, cert, key = (None if path is None else str(path) for path in paths)
            client.tls_set(ca, cert, key)
        return client


def check_installed() -> None:
    """Raise unless MQTT can be spoken here."""
    if paho is None:
        raise MissingRuntime(
            "MQTT needs another package",
            "paho-mqtt is not installed",
            "pip install 'streamgauge[mqtt]'",
        )
