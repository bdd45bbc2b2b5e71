"""What the declaration of a stream says of its coordinator."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from streamgauge.kernel.errors import BindError, SourceFailure
from streamgauge.kernel.secrets import resolved
from streamgauge.kernel.time import SECOND, Duration, duration
from streamgauge.streams.stream import Stream

# Silent for this many beats, an agent has lost its name to whoever asks for it.
SILENT_BEATS = 3
# Kinds of brokers, with the port that each listens on by custom.
BROKERS = {"mqtt": 1883, "mqtts": 8883, "kafka": 9092}


@dataclass(frozen=True, slots=True)
class Address:
    """Where something listens.

    Examples
    --------
    >>> Address.of("https://0.0.0.0:7311")
    Address(scheme='https', host='0.0.0.0', port=7311, user=None)
    """

    scheme: str
    host: str
    port: int
    user: str | None = None
    password: str | None = field(default=None, repr=False)

    @classmethod
    def of(cls, text: str, port: int = 0) -> Address:
        """Read an address; `port` is that of one that names none."""
        try:
            parts = urlsplit(text)
            number = parts.port
        except ValueError as error:
            raise _unreadable(text, str(error)) from None
        if not parts.scheme or not parts.hostname:
            raise _unreadable(text, "it has no scheme or no host")
        return cls(
            parts.scheme,
            parts.hostname,
            port if number is None else number,
            parts.username,
            parts.password,
        )


def _unreadable(text: str, why: str) -> BindError:
    return BindError(
        f"cannot use {text!r} as an address", why, "write 'http://127.0.0.1:7311', for example"
    )


@dataclass(frozen=True, slots=True)
class Options:
    """How a coordinator listens, how long it waits and what it puts up with.

    Parameters
    ----------
    listen
        Where agents post their reports; None: nowhere.
    broker
        Broker that agents may use instead, of MQTT or Kafka.
    latency
        How long a tick waits for reports that are on their way.
    beat
        How often an agent says that it lives.
    adjust
        How often widths are shared out anew.
    tokens, cert, key, ca
        Files: tokens that agents must show, TLS certificate and key, who signs agents.
    rates
        Largest change a second of objects, by pattern of the key. Given, ticks do not wait:
        widths are padded by what may have changed meanwhile.
    ahead
        A report from further in the future is refused.
    max_objects
        Objects that a stream may have.
    max_updates
        Updates a second that one agent may send, in the long run.

    Examples
    --------
    >>> Options.from_source({"kind": "edge", "latency": "500 ms"}).latency
    500000
    """

    listen: Address | None = Address("http", "127.0.0.1", 7311)
    broker: Address | None = None
    latency: Duration = 3 * SECOND
    beat: Duration = SECOND
    adjust: Duration = 10 * SECOND
    tokens: Path | None = None
    cert: Path | None = None
    key: Path | None = None
    ca: Path | None = None
    rates: dict[str, float] = field(default_factory=dict)
    ahead: Duration = 5 * SECOND
    max_objects: int = 1_000_000
    max_updates: float = 10_000.0

    @classmethod
    def of(cls, stream: Stream) -> Options:
        """Options of a stream that agents feed."""
        source = stream.source_dict()
        if source.get("kind") != "edge" or stream.width is None or not stream.key:
            raise BindError(
                f"stream {stream.name!r} is not fed by agents",
                f"its source is {source.get('kind')!r}, its width column {stream.width!r}",
                "declare it FROM EDGE 'http://127.0.0.1:7311' with KEY and WIDTH",
            )
        return cls.from_source(source)

    @classmethod
    def from_source(cls, source: dict[str, Any]) -> Options:
        """Read the options that a source was declared with."""
        given = {name: value for name, value in source.items() if value is not None}
        found: dict[str, Any] = {}
        if "listen" in given:
            found["listen"] = _at(given["listen"], ("http", "https"), 7311)
        if "broker" in given:
            found["broker"] = _at(given["broker"], tuple(BROKERS), 0)
        for name in ("latency", "beat", "adjust"):
            if name in given:
                found[name] = _span(name, given[name])
        for name in ("tokens", "cert", "key", "ca"):
            if name in given:
                found[name] = _file(name, given[name])
        if "rates" in given:
            found["rates"] = _rates(given["rates"])
        options = cls(**found)
        _check_tls(options)
        return options

    @property
    def silence(self) -> Duration:
        """After this long without a word an agent is taken to be gone."""
        return max(SILENT_BEATS * self.beat, self.latency)

    @property
    def padded(self) -> bool:
        """Whether widths are padded, so that ticks need not wait."""
        return bool(self.rates)

    @property
    def wait(self) -> Duration:
        """How long after its instant a tick is closed."""
        return 0 if self.padded else self.latency


def _at(text: Any, schemes: tuple[str, ...], port: int) -> Address:
    address = Address.of(resolved(str(text), url=True), port)
    if address.scheme not in schemes:
        raise _unreadable(str(text), f"its scheme is none of {', '.join(schemes)}")
    if address.scheme in BROKERS and not address.port:
        return replace(address, port=BROKERS[address.scheme])
    return address


def _span(name: str, said: Any) -> Duration:
    width = duration(said)
    if width < 0 or (width == 0 and name != "latency"):
        raise BindError(
            f"{name} of a coordinator must be positive", f"got {said!r}", f"write {name}='1 s'"
        )
    return width


def _file(name: str, said: Any) -> Path:
    path = Path(str(said))
    if not path.is_file():
        raise SourceFailure(
            f"the coordinator has no file for {name!r}",
            f"{path} is not there or is no file",
            "write the path of a file that this process may read",
        )
    return path


def _rates(said: Any) -> dict[str, float]:
    try:
        rates = {str(pattern): float(rate) for pattern, rate in dict(said).items()}
    except (TypeError, ValueError) as error:
        rates, why = {"": -1.0}, str(error)
    else:
        why = f"got {rates}"
    if not all(0.0 <= rate < float("inf") for rate in rates.values()):
        raise BindError(
            "rates must be numbers of 0 or more", why, "write rates={'*': 2.5}: per second, by key"
        )
    return rates


def _check_tls(options: Options) -> None:
    secure = options.listen is not None and options.listen.scheme == "https"
    if secure and (options.cert is None or options.key is None):
        raise BindError(
            "an https address needs a certificate",
            f"cert is {options.cert}, key is {options.key}",
            "give both files, or listen on http://127.0.0.1",
        )
    if options.ca is not None and not secure and options.broker is None:
        raise BindError(
            "agents can show certificates only over TLS",
            "ca is given, but the address is not https",
            "listen on https://... with cert and key",
        )
