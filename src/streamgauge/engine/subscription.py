"""A subscription to topics of an MQTT broker, as plain options that travel and can be shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from streamgauge.edge.link import Credentials
from streamgauge.edge.mqtt_client import BrokerAddress
from streamgauge.kernel.errors import BindError
from streamgauge.kernel.login import Login
from streamgauge.sources.places import check_mqtt

_NUMBERS = ("expiry", "inflight", "max_message", "limit", "max_rows", "start")
_MAY_BE_ZERO = ("max_rows", "start")


@dataclass(frozen=True, slots=True)
class Subscription:
    """What is subscribed to, by whom, and how much of it is held.

    Parameters
    ----------
    url
        `mqtt://host:port` or `mqtts://host:port`, without a password.
    topic
        Topics; `+` stands for one level, `#` for all that follow.
    spool
        Directory of the messages until they are used.
    client
        How the broker knows this subscriber; a name that stays with the spool when empty.
    user, password_file, password_env
        Who we are; the password is read from a file or a variable of the environment.
    ca, cert, key
        Files for TLS.
    expiry
        Seconds that the broker keeps messages for a subscriber that is away.
    inflight
        Messages that may be on their way without an acknowledgement.
    max_message
        Bytes of a payload; of a larger one only the size is kept.
    limit
        Bytes the spool may hold before acknowledgements stop.
    max_rows
        Messages in one batch; 0: no limit.
    start
        Number of the first message that is wanted, and that a new spool begins with.

    Examples
    --------
    >>> at = {"url": "mqtt://127.0.0.1", "topic": "rooms/#", "spool": "/tmp/s", "max_rows": "10"}
    >>> Subscription.of(at).max_rows
    10
    >>> Subscription.of({**at, "topic": "rooms/#/1"})
    Traceback (most recent call last):
        ...
    streamgauge.kernel.errors.BindError: no topic can match 'rooms/#/1'
      detail: # may only be the last level
      hint: write for example 'sensors/+/temp' or 'sensors/#'
    """

    url: str
    topic: str
    spool: str
    client: str = ""
    user: str = ""
    password_file: str = ""
    password_env: str = ""
    ca: str = ""
    cert: str = ""
    key: str = ""
    expiry: int = 7 * 24 * 3600
    inflight: int = 1_000
    max_message: int = 1 << 20
    limit: int = 1 << 30
    max_rows: int = 1_000_000
    start: int = 0

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Subscription:
        """Read options as Spark hands them over; names are told from each other without case."""
        named = {field.name: field for field in fields(cls)}
        given = {name.lower(): value for name, value in options.items()}
        if unknown := sorted(set(given) - set(named) - {"path"}):
            raise BindError(
                f"unknown option {unknown[0]!r} of an MQTT source",
                f"options are {', '.join(sorted(named))}",
                "correct the name, or leave it out",
            )
        for name in ("url", "topic", "spool"):
            if not given.get(name):
                raise BindError(
                    f"an MQTT source needs the option {name!r}",
                    f"given were {', '.join(sorted(given)) or 'none'}",
                    f"write .option({name!r}, ...)",
                )
        check_mqtt(given["url"], given["topic"])
        numbers = {name: _number(name, given.pop(name)) for name in _NUMBERS if name in given}
        given.pop("path", None)
        return cls(**given, **numbers)  # type: ignore[arg-type]

    def address(self) -> BrokerAddress:
        """The broker, with the password that the file or the environment has now."""
        files = (Path(path) if path else None for path in (self.ca, self.cert, self.key))
        login = Login(self.user, self.password_file, self.password_env)
        given = Credentials(None, self.user or None, login.password(), *files)
        return BrokerAddress.of(self.url, given)


def _number(name: str, said: str) -> int:
    if not said.isdigit() or (name not in _MAY_BE_ZERO and int(said) == 0):
        raise BindError(
            f"option {name!r} of an MQTT source is a positive number",
            f"got {said!r}",
            f"write {name}=1000, for example",
        )
    return int(said)
