"""Sink: where the answers of queries are delivered, as a value.

A sink delivers every answer of its queries once: to a topic of Kafka one record for each, to a
table of PostgreSQL the newest of each query and group.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from streamgauge.kernel.errors import BindError
from streamgauge.kernel.login import NOBODY, Login
from streamgauge.kernel.masking import masked
from streamgauge.kernel.secrets import known_secrets
from streamgauge.log.home import check_directory_name
from streamgauge.plan.query import Query
from streamgauge.plan.shadows import is_shadow
from streamgauge.targets.table import KINDS, OF_SINKS

if TYPE_CHECKING:
    from streamgauge.plan.registry import Standing

# Versions of a sink that are remembered: a delivery that is behind goes by the one of its epoch.
REMEMBERED = 50
_LONGEST = 2000


@dataclass(frozen=True, slots=True)
class Destination:
    """Where answers go.

    Parameters
    ----------
    kind
        One of `OF_SINKS`.
    address
        The brokers, or the URL of the database. libpq takes a password that the login does not
        name from PGPASSWORD or PGPASSFILE.
    place
        The topic or the table.
    login
        Who we are to the brokers, or to the database.

    Examples
    --------
    >>> print(Destination("kafka", "broker:9092", "answers"))
    kafka broker:9092, topic answers
    >>> print(Destination("postgres", "postgresql://ann:secret@db:5432/plant", "answers"))
    postgres db:5432/plant, table answers
    """

    kind: str
    address: str
    place: str
    login: Login = NOBODY

    def __post_init__(self) -> None:
        if self.kind not in OF_SINKS:
            raise BindError(
                f"unknown target {self.kind!r} of a sink",
                f"targets are {', '.join(OF_SINKS)}",
                "write DELIVER TO KAFKA 'host:9092' TOPIC 'answers'",
            )
        if len(self.address) > _LONGEST or not self.address.isprintable():
            raise BindError(
                f"the address of {self.kind} cannot be used",
                f"it has {len(self.address)} characters, or some that are not printable",
                f"write at most {_LONGEST} plain ones",
            )
        KINDS[self.kind].check(self.address, self.place, "answers")

    @property
    def secret(self) -> str:
        """The password in the address, or nothing."""
        return KINDS[self.kind].secret(self.address)

    @property
    def said(self) -> tuple[str, str, str]:
        """Kind, address and place, as a statement says them."""
        return self.kind, self.address, self.place

    @property
    def login_said(self) -> tuple[tuple[str, str], ...]:
        """The login, as a statement says it."""
        return tuple(self.login.as_dict().items())

    def hidden(self, text: str) -> str:
        """A text of others, such as an error, without what is secret here."""
        found: list[str | None] = [*known_secrets(self.address), self.login.known_password()]
        if self.secret:
            found += [self.secret, urlsplit(self.address).password]
        for secret in filter(None, found):
            text = text.replace(secret, "***")
        return masked(text)

    def as_dict(self) -> dict[str, Any]:
        """JSON form, for the home alone: an address may hold a password."""
        plain: dict[str, Any] = {"kind": self.kind, "address": self.address, "place": self.place}
        return {**plain, "login": self.login.as_dict()} if self.login != NOBODY else plain

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Destination:
        """Read the JSON form."""
        login = Login.from_dict(data.get("login", {}))
        return cls(data["kind"], data["address"], data["place"], login)

    def __str__(self) -> str:
        return KINDS[self.kind].shown(self.address, self.place)


def to_kafka(
    brokers: str,
    topic: str,
    *,
    user: str | None = None,
    password_file: str | Path | None = None,
    password_env: str | None = None,
    ca: str | Path | None = None,
    mechanism: str | None = None,
) -> Destination:
    """A topic of Kafka that a sink delivers to.

    Parameters
    ----------
    brokers, topic
        host:port, several with commas; and the topic.
    user, password_file, password_env, mechanism
        Who we are. The password is read from a file, or from a variable of the environment.
    ca
        File of the certificates that we believe; with it the connection is TLS.

    Examples
    --------
    >>> print(to_kafka("broker:9092", "answers"))
    kafka broker:9092, topic answers
    """
    login = Login.of(
        user=user,
        password_file=password_file,
        password_env=password_env,
        ca=ca,
        mechanism=mechanism,
    )
    return Destination("kafka", brokers, topic, login)


def to_postgres(
    url: str,
    table: str,
    *,
    user: str | None = None,
    password_file: str | Path | None = None,
    password_env: str | None = None,
) -> Destination:
    """A table of PostgreSQL that a sink delivers to; no password stands in the URL.

    >>> print(to_postgres("postgresql://ann@db/plant", "answers"))
    postgres db/plant, table answers
    """
    login = Login.of(user=user, password_file=password_file, password_env=password_env)
    return Destination("postgres", url, table, login)


@dataclass(frozen=True, slots=True)
class Sink:
    """Which answers are delivered, and where.

    Parameters
    ----------
    name
        Name of the sink.
    queries
        Whose answers; all, those of later queries too, when empty.
    to
        Where they go.
    history
        Whether it begins with the first epoch that is kept, not with the one that creates it.

    Examples
    --------
    >>> print(Sink("out", ("heat",), to_kafka("broker:9092", "answers")))
    heat to kafka broker:9092, topic answers
    """

    name: str
    queries: tuple[str, ...]
    to: Destination
    history: bool = False

    def __post_init__(self) -> None:
        check_directory_name("sink", self.name)

    @property
    def words(self) -> str:
        """Whose answers it delivers, in words."""
        return ", ".join(self.queries) or "all queries"

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        plain: dict[str, Any] = {"name": self.name, "to": self.to.as_dict()}
        plain |= {"queries": list(self.queries)} if self.queries else {}
        return {**plain, "history": True} if self.history else plain

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Sink:
        """Read the JSON form."""
        queries = tuple(data.get("queries", ()))
        to = Destination.from_dict(data["to"])
        return cls(data["name"], queries, to, data.get("history", False))

    def __str__(self) -> str:
        return f"{self.words} to {self.to}"


@dataclass(frozen=True, slots=True)
class StandingSink:
    """A sink that is in force: the epoch of its birth, and its versions with their epochs.

    Examples
    --------
    >>> there = to_kafka("broker:9092", "answers")
    >>> first = StandingSink.fresh(Sink("out", ("heat",), there), 4)
    >>> both = first.changed(Sink("out", (), there), 9)
    >>> both.version, both.at(8).words, both.at(9).words
    (2, 'heat', 'all queries')
    """

    born: int
    version: int
    versions: tuple[tuple[int, Sink], ...]

    @classmethod
    def fresh(cls, sink: Sink, epoch: int) -> StandingSink:
        """A sink at its birth."""
        return cls(epoch, 1, ((epoch, sink),))

    @property
    def sink(self) -> Sink:
        """The newest version."""
        return self.versions[-1][1]

    @property
    def first(self) -> int:
        """The epoch that delivery begins after."""
        return 0 if self.versions[0][1].history else self.born - 1

    def at(self, epoch: int) -> Sink:
        """The version in force at an epoch."""
        found = (sink for begun, sink in reversed(self.versions) if begun <= epoch)
        return next(found, self.versions[0][1])

    def changed(self, sink: Sink, epoch: int) -> StandingSink:
        """The next version under the same name."""
        versions = (*self.versions, (epoch, sink))[-REMEMBERED:]
        return StandingSink(self.born, self.version + 1, versions)

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        versions = [[epoch, sink.as_dict()] for epoch, sink in self.versions]
        return {"born": self.born, "version": self.version, "versions": versions}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> StandingSink:
        """Read the JSON form."""
        versions = tuple((epoch, Sink.from_dict(sink)) for epoch, sink in data["versions"])
        return cls(data["born"], data["version"], versions)


Sinks = Mapping[str, StandingSink]


def with_sink(sinks: Sinks, sink: Sink, queries: Mapping[str, Standing], epoch: int) -> Sinks:
    """The sinks with one more, or with a new version of one; raise where it does not fit."""
    check_sink(sink, queries)
    for other in (standing.sink for standing in sinks.values()):
        same = (other.to.address, other.to.place) == (sink.to.address, sink.to.place)
        if same and other.name != sink.name:
            detail = KINDS[sink.to.kind].detail
            raise BindError(
                f"sink {other.name!r} delivers there already",
                f"{sink.to} is its own",
                f"choose another {'address' if detail is None else detail.word.lower()}",
            )
    old = sinks.get(sink.name)
    fresh = StandingSink.fresh(sink, epoch) if old is None else old.changed(sink, epoch)
    return {**sinks, sink.name: fresh}


def check_sink(sink: Sink, queries: Mapping[str, Standing]) -> None:
    """Raise unless a sink can deliver the answers of those of its queries that are given."""
    for name in filter(queries.__contains__, sink.queries):
        if is_shadow(name):
            raise BindError(
                f"sink {sink.name!r} cannot deliver a shadow of the auditor",
                f"{name!r} comes and goes with the rounds of an audit",
                "deliver the query itself",
            )
        kind = KINDS[sink.to.kind]
        if kind.refuses_rows and not isinstance(queries[name].asked, Query):
            raise BindError(
                f"sink {sink.name!r} cannot deliver rows to {kind.title}",
                f"query {name!r} answers rows, and {kind.refuses_rows}",
                "deliver it to Kafka, or ask for a number such as COUNT(*) of those rows",
            )


def check_delivered(sinks: Sinks, changed: Standing) -> None:
    """Raise when a sink on a query cannot deliver what it is about to answer."""
    for standing in sinks.values():
        if changed.name in standing.sink.queries:
            check_sink(standing.sink, {changed.name: changed})


def refuse_delivered(name: str, sinks: Iterable[StandingSink]) -> None:
    """Raise when a sink names a query that is about to go."""
    users = [standing.sink.name for standing in sinks if name in standing.sink.queries]
    if users:
        raise BindError(
            f"query {name!r} is delivered",
            f"{len(users)} sinks name it, {users[0]!r} first",
            f"write DROP SINK {users[0]} first, or CREATE OR REPLACE SINK without the query",
        )
