"""How rows arrive, as plain data: the `source` of a stream declaration."""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from streamgauge.kernel.errors import BindError
from streamgauge.kernel.login import Login
from streamgauge.kernel.secrets import refuse_options, refuse_secret
from streamgauge.kernel.time import (
    SECOND,
    DurationLike,
    InstantLike,
    duration,
    duration_text,
    instant,
)
from streamgauge.sources.formats import MESSAGE_FORMATS, RECORD_FORMATS
from streamgauge.sources.places import ENDINGS, check_mqtt, ending, local_path
from streamgauge.sources.plant import Plant
from streamgauge.sources.units import time_unit as unit_of


@dataclass(frozen=True, slots=True)
class Source:
    """A source by kind and options; `frame` holds a DataFrame, which no file can keep.

    Examples
    --------
    >>> plant(n_sensors=10, speed=60).options["n_sensors"]
    10
    """

    kind: str
    options: dict[str, Any] = field(default_factory=dict)
    frame: Any = None

    def as_pairs(self) -> tuple[tuple[str, Any], ...]:
        """Form kept in the stream's declaration."""
        return (("kind", self.kind), *self.options.items())


def files(
    path: str | Path,
    format: str | None = None,
    *,
    delimiter: str | None = None,
    header: bool | None = None,
    null: str | Sequence[str] | None = None,
    time_unit: str | None = None,
    idle: DurationLike | None = None,
) -> Source:
    """Files that appear in a directory, whole; or one file.

    Parameters
    ----------
    path
        Directory, or one file.
    format
        One of `FORMATS`; flows are read from captures. When None: by the ending of `path`, and
        parquet for a directory.
    delimiter, header
        Of CSV: what stands between fields, and whether the first line names the columns.
    null
        Of CSV: text or texts that stand for no value. An empty field always does.
    time_unit
        Unit of event times that are whole numbers: s, ms or us.
    idle
        Of flows: a longer silence ends a flow.

    Raises
    ------
    BindError
        The path is an address such as s3://, or an option is not one of the format.

    Examples
    --------
    >>> files("rows.csv", null="N/A").options["format"]
    'csv'
    """
    place = local_path(path)
    form = format or ENDINGS.get(ending(place.name), "parquet")
    texts = (null,) if isinstance(null, str) else null
    of_csv = {"delimiter": delimiter, "header": header, "null": texts and list(texts)}
    given: dict[str, Any] = {name: said for name, said in of_csv.items() if said is not None}
    if given and form != "csv":
        raise BindError(
            f"option {next(iter(given))!r} is for CSV files",
            f"the format of {str(path)!r} is {form}",
            "write FORMAT csv, or leave the option out",
        )
    if idle is not None and form != "flows":
        raise BindError(
            "option 'idle' of files is for flows",
            f"the format of {str(path)!r} is {form}",
            "write FORMAT flows, or declare the idle time of the stream: stream(..., idle='1 min')",
        )
    given |= {} if idle is None else {"idle": idle}
    options = {"path": str(place.absolute()), "format": form, **given, **_unit(time_unit)}
    return Source("files", options)


def plant(n_sensors: int = 1000, seed: int = 1, speed: float = 60.0) -> Source:
    """The synthetic plant, written while the gauge runs, `speed` times as fast as the clock."""
    Plant(n_sensors=n_sensors, seed=seed)
    return Source("plant", {"n_sensors": n_sensors, "seed": seed, "speed": speed})


def push(*, time_unit: str | None = None) -> Source:
    """Rows that clients push to the server, with the columns that the stream declares.

    `time_unit` is the unit of event times that are whole numbers: s, ms or us.
    """
    return Source("push", _unit(time_unit))


def _unit(time_unit: str | None) -> dict[str, Any]:
    if time_unit is None:
        return {}
    unit_of({"time_unit": time_unit})
    return {"time_unit": time_unit}


def replay(
    path: str | Path,
    stream: str | None = None,
    *,
    speed: float | str = 60.0,
    since: InstantLike | None = None,
    until: InstantLike | None = None,
    shift: str | None = None,
    loop: bool = False,
) -> Source:
    """Rows that were kept, played again in the order of their event times.

    Parameters
    ----------
    path
        A directory of parquet, csv, jsonl or pcap files; or, with `stream`, the home of a gauge.
    stream
        Stream of that home whose kept rows are played.
    speed
        How many times as fast as their event times say; "max" or 0: at once.
    since, until
        Play rows from one instant on, and before another.
    shift
        "now": event times are moved so that the first row is now, to the tick.
    loop
        Begin anew at the end, with event times that go on.

    Examples
    --------
    >>> replay("rows", speed="max", since="1970-01-01T00:00:01Z").options["since"]
    1000000
    """
    factor = 0.0 if speed == "max" else speed
    if isinstance(factor, str) or not 0 <= factor < float("inf"):
        raise BindError(
            f"cannot replay at a speed of {speed!r}",
            "a speed is a number of at least 0, or max",
            "write speed=60 for a minute each second, speed='max' for all at once",
        )
    if shift not in (None, "now"):
        raise BindError(
            f"unknown shift {shift!r} of a replay", "it is None or 'now'", "write shift='now'"
        )
    options: dict[str, Any] = {"of": str(local_path(path).absolute()), "speed": float(factor)}
    options |= {} if stream is None else {"stream": stream}
    options |= {} if since is None else {"since": instant(since)}
    options |= {} if until is None else {"until": instant(until)}
    options |= {} if shift is None else {"shift": shift}
    return Source("replay", options | ({"loop": True} if loop else {}))


def rate(rows_per_second: int = 100) -> Source:
    """Spark's rate source."""
    return Source("rate", {"rows_per_second": rows_per_second})


def agents(
    listen: str = "http://127.0.0.1:7311",
    *,
    broker: str | None = None,
    latency: DurationLike = "3 s",
    beat: DurationLike = "1 s",
    adjust: DurationLike = "10 s",
    tokens: str | Path | None = None,
    cert: str | Path | None = None,
    key: str | Path | None = None,
    ca: str | Path | None = None,
    rates: dict[str, float] | None = None,
) -> Source:
    """Agents beside the sources, which send only what leaves its bound.

    Parameters
    ----------
    listen
        Where agents find the coordinator, http or https; port 0 takes a free one.
    broker
        A broker that agents may use instead: mqtt://host:port, mqtts, kafka or kafkas.
    latency
        How long answers wait for reports that are on their way.
    beat
        How often a silent agent says that it lives.
    adjust
        How often widths are shared out anew.
    tokens
        File of the tokens that agents must show.
    cert, key, ca
        Files for TLS; with `ca` agents must show a certificate too.
    rates
        Largest change a second of objects by key; answers then need not wait.

    Examples
    --------
    >>> agents(latency="500 ms").options["latency"]
    '500 ms'
    """
    _check_address(listen, ("http", "https"), "http://127.0.0.1:7311")
    refuse_secret(listen, "a coordinator")
    if broker is not None:
        refuse_secret(broker, "a broker")
        _check_address(broker, ("mqtt", "mqtts", "kafka", "kafkas"), "mqtt://127.0.0.1:1883")
    refuse_strangers(urlsplit(listen).hostname or "", guarded=bool(tokens or ca))
    spans = {"latency": latency, "beat": beat, "adjust": adjust}
    files_given = {"tokens": tokens, "cert": cert, "key": key, "ca": ca}
    options: dict[str, Any] = {"listen": listen}
    options |= {} if broker is None else {"broker": broker}
    options |= {name: _span_text(name, span) for name, span in spans.items()}
    options |= {k: str(Path(path).absolute()) for k, path in files_given.items() if path}
    options |= {} if rates is None else {"rates": dict(rates)}
    return Source("edge", options)


def kafka(
    servers: str,
    topic: str,
    *,
    format: str = "json",
    schema: str | Path | None = None,
    registry: str | None = None,
    starting: str = "earliest",
    idle: DurationLike = "1 minute",
    max_offsets: int | None = None,
    on_loss: str = "fail",
    user: str | None = None,
    password_file: str | Path | None = None,
    password_env: str | None = None,
    ca: str | Path | None = None,
    mechanism: str | None = None,
    time_unit: str | None = None,
    **options: Any,
) -> Source:
    """Records of a Kafka topic, read by Spark's connector, each exactly once.

    Parameters
    ----------
    servers
        Where brokers are found: host:port, several with commas.
    topic
        The topic.
    format
        What a value is: json, avro or raw.
    schema
        File of an Avro schema: that of the values or, with a registry, the one to read them as.
    registry
        Address of a schema registry; values then begin with the number of their schema.
    starting
        Where a stream without rows begins: earliest or latest.
    idle
        A partition that brings nothing for so long is not waited for.
    max_offsets
        Records of one batch.
    on_loss
        When records are gone before they were read: fail, or continue and tell the gap.
    time_unit
        Unit of event times that are whole numbers: s, ms or us.
    user, password_file, password_env, mechanism
        Who we are. The password is read from a file, or from a variable of the environment.
    ca
        File of the certificates that we believe; with it the connection is TLS.
    options
        Further settings of the client, `kafka.` before each name, as in **{"kafka.client.id": ...}.

    Examples
    --------
    >>> kafka("127.0.0.1:9092", "meters").options["format"]
    'json'
    """
    for name, value, known in (
        ("format", format, RECORD_FORMATS),
        ("starting", starting, ("earliest", "latest")),
        ("on_loss", on_loss, ("fail", "continue")),
    ):
        if value not in known:
            raise BindError(
                f"unknown {name} {value!r} of a Kafka source",
                f"it can be {', '.join(known)}",
                f"write {name}={known[0]!r}",
            )
    _check_kafka(servers, topic, format, schema, registry, max_offsets, options)
    chosen: dict[str, Any] = {"servers": servers, "topic": topic, "format": format}
    chosen |= {"starting": starting, "idle": _span_text("idle", idle), "on_loss": on_loss}
    chosen |= {} if schema is None else {"schema": _avro_schema(Path(schema))}
    chosen |= {} if registry is None else {"registry": registry}
    chosen |= {} if max_offsets is None else {"max_offsets": max_offsets}
    chosen |= Login.of(
        user=user,
        password_file=password_file,
        password_env=password_env,
        ca=ca,
        mechanism=mechanism,
    ).as_dict()
    return Source(
        "kafka", {**chosen, **({"options": dict(options)} if options else {})} | _unit(time_unit)
    )


def _check_kafka(
    servers: str,
    topic: str,
    format: str,
    schema: str | Path | None,
    registry: str | None,
    max_offsets: int | None,
    options: dict[str, Any],
) -> None:
    if not re.fullmatch(r"[^\s,:]+:\d+(,[^\s,:]+:\d+)*", servers):
        raise BindError(
            f"cannot use {servers!r} as the address of a Kafka broker",
            "it must be host:port, several with commas",
            "write '127.0.0.1:9092', for example",
        )
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,249}", topic):
        raise BindError(
            f"{topic!r} cannot be the name of a topic",
            "names have letters, digits, dots, _ and -, at most 249",
            "check the spelling",
        )
    refuse_options(options, "a Kafka source")
    if registry is not None:
        refuse_secret(registry, "a schema registry")
        _check_address(registry, ("http", "https"), "http://127.0.0.1:8081")
    strange = [name for name in options if not name.startswith("kafka.")]
    if strange:
        raise BindError(
            f"unknown option {strange[0]!r} of a Kafka source",
            "settings of the client begin with kafka.",
            f"write 'kafka.{strange[0]}', or leave it out",
        )
    if max_offsets is not None and max_offsets < 1:
        raise BindError("max_offsets must be positive", f"got {max_offsets}", "leave it out")
    avro = schema is not None or registry is not None
    if avro != (format == "avro"):
        raise BindError(
            "Avro values need a schema, and only they have one",
            f"format is {format}, schema {schema}, registry {registry}",
            "write format='avro' with schema='file.avsc' or registry='http://host:8081'",
        )


def _avro_schema(path: Path) -> Any:
    """The schema itself, so that workers need not see the file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BindError(
            f"cannot read the Avro schema {path}",
            error.strerror or str(error),
            "check the name of the file",
        ) from None
    except ValueError as error:
        raise BindError(f"{path} is no Avro schema", str(error), "mend the file") from None


def refuse_strangers(host: str, *, guarded: bool) -> None:
    """Raise when other machines reach an address that neither tokens nor a ca guard."""
    if guarded or _is_loopback(host):
        return
    raise BindError(
        "anyone could speak for agents here",
        f"{host} is reached by other machines, and there are neither tokens nor a ca",
        "give tokens='file', or ca='file' with https; or listen on 127.0.0.1",
    )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _check_address(address: str, schemes: tuple[str, ...], example: str) -> None:
    scheme, _, rest = address.partition("://")
    if scheme not in schemes or not rest:
        raise BindError(
            f"cannot use {address!r} as an address",
            f"it must begin with {' or '.join(f'{known}://' for known in schemes)}",
            f"write {example!r}, for example",
        )


def _span_text(name: str, span: DurationLike) -> str:
    width = duration(span)
    if width < 0 or (width == 0 and name != "latency"):
        raise BindError(f"{name} must be positive", f"got {span!r}", f"write {name}='1 s'")
    return duration_text(width)


def dataframe(frame: Any, *, time_unit: str | None = None) -> Source:
    """Any streaming DataFrame; it must be handed over again after a restart."""
    return Source("dataframe", _unit(time_unit), frame)


def mqtt(
    url: str,
    topic: str,
    *,
    format: str = "json",
    user: str | None = None,
    password_file: str | Path | None = None,
    password_env: str | None = None,
    ca: str | Path | None = None,
    cert: str | Path | None = None,
    key: str | Path | None = None,
    client: str | None = None,
    expiry: DurationLike = "7 days",
    inflight: int | None = None,
    max_message: int | None = None,
    limit: int | None = None,
    time_unit: str | None = None,
) -> Source:
    """Messages of an MQTT broker: on the disk before they are acknowledged.

    Parameters
    ----------
    url
        `mqtt://host:port`, or `mqtts` for TLS; no user and no password stand in it.
    topic
        What to subscribe to; `+` stands for one level, `#` for all that follow.
    format
        What a payload is: json, an object each; or raw, text for one column.
    user, password_file, password_env
        Who we are. The password is read from a file, or from a variable of the environment.
    ca, cert, key
        Files for TLS: whom we believe, and our own certificate.
    client
        How the broker knows us; made up and kept when None.
    expiry
        How long the broker keeps messages while nobody listens.
    inflight
        Messages that may be on their way without an acknowledgement; 1,000 when None.
    max_message
        Bytes of a payload, 1 MiB when None; a larger one is a dead letter.
    limit
        Bytes that may wait on the disk, 1 GiB when None; then the broker has to wait.
    time_unit
        Unit of event times that are whole numbers: s, ms or us.

    Examples
    --------
    >>> mqtt("mqtt://127.0.0.1:1883", "rooms/+/temp").options["topic"]
    'rooms/+/temp'
    """
    check_mqtt(url, topic)
    if format not in MESSAGE_FORMATS:
        raise BindError(
            f"unknown format {format!r} of an MQTT source",
            f"it can be {', '.join(MESSAGE_FORMATS)}",
            "write format='json'",
        )
    options: dict[str, Any] = {"url": url, "topic": topic, "format": format}
    options["expiry"] = max(duration(_span_text("expiry", expiry)) // SECOND, 1)
    login = Login.of(user=user, password_file=password_file, password_env=password_env, ca=ca)
    options |= login.as_dict() | ({"client": client} if client else {}) | _unit(time_unit)
    places = {"cert": cert, "key": key}
    options |= {name: str(Path(path).absolute()) for name, path in places.items() if path}
    numbers = {"inflight": inflight, "max_message": max_message, "limit": limit}
    for name, said in numbers.items():
        if said is not None and said < 1:
            raise BindError(f"{name} must be positive", f"got {said}", "leave it out")
        options |= {} if said is None else {name: said}
    return Source("mqtt", options)
