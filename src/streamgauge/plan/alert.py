"""Alert: what is to be told of a query's answers, and to whom, as a value.

A condition is judged by the bar of an answer, not by its value: `certainly above 100` asks that the
whole bar lies above 100, `possibly above 100` that some of it does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from streamgauge.kernel.errors import BindError
from streamgauge.kernel.login import NOBODY, Login
from streamgauge.plan.query import Query
from streamgauge.plan.shadows import is_shadow
from streamgauge.targets.table import KINDS, OF_ALERTS

if TYPE_CHECKING:
    from streamgauge.plan.registry import Standing

LEVELS = ("certainly above", "possibly above", "certainly below", "possibly below")
OCCASIONS = (*LEVELS, "contract broken", "interrupted", "alarm")
_LONGEST = 2000


@dataclass(frozen=True, slots=True)
class Target:
    """Where an alert is delivered.

    Parameters
    ----------
    kind
        One of `OF_ALERTS`.
    address
        Where it is: the URL, the directory that messages are dropped in, or the brokers.
    detail
        What its kind wants besides: whom mail is for, the topic.
    login
        Who we are there.

    Examples
    --------
    >>> print(Target("webhook", "https://hooks.example.org/T0/secret"))
    webhook https://hooks.example.org
    >>> print(Target("kafka", "broker:9092", "alerts"))
    kafka broker:9092, topic alerts
    """

    kind: str
    address: str
    detail: str = ""
    login: Login = NOBODY

    def __post_init__(self) -> None:
        if self.kind not in OF_ALERTS:
            raise BindError(
                f"unknown target {self.kind!r}",
                f"targets are {', '.join(OF_ALERTS)}",
                "write DELIVER TO WEBHOOK 'https://...'",
            )
        whole = self.address + self.detail
        if len(whole) > _LONGEST or not whole.isprintable() or not self.detail.isascii():
            raise BindError(
                f"the address of a {self.kind} cannot be used",
                f"it has {len(whole)} characters, or some that are not printable",
                f"write at most {_LONGEST} plain ones",
            )
        KINDS[self.kind].check(self.address, self.detail, "alerts")

    @property
    def key(self) -> str:
        """What tells it from other targets."""
        login = f" {self.login.as_dict()}" if self.login != NOBODY else ""
        return f"{self.kind} {self.address} {self.detail}{login}"

    def as_dict(self) -> dict[str, Any]:
        """JSON form, for the home alone: the path of a webhook is often a secret."""
        plain = {"kind": self.kind, "address": self.address, "detail": self.detail}
        return {**plain, "login": self.login.as_dict()} if self.login != NOBODY else plain

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Target:
        """Read the JSON form."""
        login = Login.from_dict(data.get("login", {}))
        return cls(data["kind"], data["address"], data["detail"], login)

    def __str__(self) -> str:
        return KINDS[self.kind].shown(self.address, self.detail)


@dataclass(frozen=True, slots=True)
class Alert:
    """A condition over the answers of a query, and where its crossings are delivered.

    Parameters
    ----------
    name
        Name of the alert.
    query
        The query whose answers are judged; empty for the auditor's alarms.
    when
        certainly above, possibly above, certainly below, possibly below, contract broken,
        interrupted, or alarm.
    level, clear
        The number that is crossed, and where the alert ends; the same number without `clear`.
    group
        The one group that is watched; all of them, each for itself, when empty.
    targets
        Where it is delivered.

    Examples
    --------
    >>> there = (Target("mail", "out", "ops@example.org"),)
    >>> print(Alert("hot", "heat", "certainly above", 100.0, 95.0, targets=there))
    heat certainly above 100, cleared below 95
    """

    name: str
    query: str
    when: str
    level: float | None = None
    clear: float | None = None
    group: tuple[Any, ...] = ()
    targets: tuple[Target, ...] = ()

    def __post_init__(self) -> None:
        self._check_occasion()
        if not self.name.isprintable() or not self.name:
            raise BindError(
                f"{self.name!r} is no name for an alert",
                "it is empty or has characters that are not printable",
                "write a plain name",
            )
        if not self.targets:
            raise BindError(
                f"alert {self.name!r} goes nowhere",
                "it has no target",
                "write DELIVER TO WEBHOOK 'https://...'",
            )
        if not all(math.isfinite(end) for end in (self.level, self.clear) if end is not None):
            raise BindError(
                f"alert {self.name!r} is at no number", f"got {self.level}", "write a finite number"
            )

    def _check_occasion(self) -> None:
        if self.when not in OCCASIONS or (self.when == "alarm") != (not self.query):
            raise BindError(
                f"alert {self.name!r} waits for what cannot come",
                f"{self.when!r} on {self.query or 'audit'!r}",
                f"a query can be {', '.join(OCCASIONS[:-1])}; an audit has an alarm",
            )
        if (self.level is None) == (self.when in LEVELS):
            raise BindError(
                f"alert {self.name!r} needs a level where one is crossed, and nowhere else",
                f"{self.when} {'' if self.level is None else self.level}".rstrip(),
                "write WHEN CERTAINLY ABOVE 100, or WHEN CONTRACT BROKEN",
            )
        if self.clear is None or self.level is None:
            inside = self.clear is None
        else:
            inside = self.clear <= self.level if self.above else self.clear >= self.level
        if not inside:
            raise BindError(
                f"alert {self.name!r} would be cleared while it is raised",
                f"{self.when} {self.level}, cleared at {self.clear}",
                "clear an alert on this side of its level: ABOVE 100 CLEAR BELOW 95",
            )

    @property
    def above(self) -> bool:
        """Whether it is raised by what is above its level."""
        return self.when.endswith("above")

    @property
    def certain(self) -> bool:
        """Whether the whole bar must be beyond the level."""
        return self.when.startswith("certainly")

    @property
    def end(self) -> float:
        """Where it is cleared."""
        assert self.level is not None, "an alert without a level has no end of its own"
        return self.level if self.clear is None else self.clear

    @property
    def words(self) -> str:
        """Its condition in words."""
        if self.level is None:
            return self.when
        back = "" if self.clear is None else f", cleared {'below' if self.above else 'above'}"
        return f"{self.when} {self.level:.12g}{back}" + (f" {self.clear:.12g}" if back else "")

    def as_dict(self) -> dict[str, Any]:
        """JSON form; what is at its default is left out."""
        plain: dict[str, Any] = {
            "name": self.name,
            "query": self.query,
            "when": self.when,
            "targets": [target.as_dict() for target in self.targets],
        }
        more = {"level": self.level, "clear": self.clear}
        plain |= {name: value for name, value in more.items() if value is not None}
        return {**plain, "group": list(self.group)} if self.group else plain

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Alert:
        """Read the JSON form."""
        targets = tuple(map(Target.from_dict, data["targets"]))
        return cls(**{**data, "targets": targets, "group": tuple(data.get("group", ()))})

    def __str__(self) -> str:
        who = self.query or "audit"
        if self.group:
            who += f"[{', '.join(map(str, self.group))}]"
        return f"{who} {self.words}"


@dataclass(frozen=True, slots=True)
class StandingAlert:
    """An alert that is in force: its version, and the epochs of its birth and last change."""

    alert: Alert
    version: int = 1
    epoch: int = 0
    born: int = 0

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "alert": self.alert.as_dict(),
            "version": self.version,
            "epoch": self.epoch,
            "born": self.born,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> StandingAlert:
        """Read the JSON form."""
        return cls(**{**data, "alert": Alert.from_dict(data["alert"])})

    def changed(self, alert: Alert, epoch: int) -> StandingAlert:
        """The next version under the same name."""
        return StandingAlert(alert, self.version + 1, epoch, self.born)


def check_alert(alert: Alert, queries: Mapping[str, Standing]) -> None:
    """Raise unless the query of an alert is there and gives what the alert judges."""
    if not alert.query:
        return
    if is_shadow(alert.query):
        raise BindError(
            f"alert {alert.name!r} cannot watch a shadow of the auditor",
            f"{alert.query!r} comes and goes with the rounds of an audit",
            "watch the query itself, or write ON AUDIT WHEN ALARM",
        )
    asked = queries[alert.query].asked
    if not isinstance(asked, Query):
        raise BindError(
            f"alert {alert.name!r} cannot watch rows",
            f"query {alert.query!r} answers rows, which have no bar",
            "watch a query that answers a number, such as COUNT(*) of those rows",
        )
    if alert.group and len(alert.group) != len(asked.cells):
        raise BindError(
            f"alert {alert.name!r} names a group of {len(alert.group)} values",
            f"query {alert.query!r} has groups of {len(asked.cells)}",
            "write GROUP (value, ...) as the query has GROUP BY, or leave it out",
        )


def refuse_watched(name: str, alerts: Mapping[str, StandingAlert]) -> None:
    """Raise when an alert watches a query that is about to go."""
    users = [standing.alert.name for standing in alerts.values() if standing.alert.query == name]
    if users:
        raise BindError(
            f"query {name!r} is watched",
            f"{len(users)} alerts are on it, {users[0]!r} first",
            f"write DROP ALERT {users[0]} first",
        )
