"""Standing: a registered query with its number, version and status, and what answers it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from streamgauge.plan.query import Query
from streamgauge.plan.suspension import Suspension
from streamgauge.plan.view import View


class Taken(NamedTuple):
    """The offer that was taken for a query, as a page records it.

    The lander takes one when a record comes into a page; a replay goes by that and chooses nothing.
    `model` names the synopsis with its parameters and seed, from which its guarantee follows.
    """

    technique: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class Standing:
    """A registered query: its number, version, status, and the epochs of its change and birth.

    `born` is when this version came to be; pausing and resuming leave it alone. `technique` names
    whose offer was taken and `model` the synopsis that it keeps, so that a later release does not
    choose another under a running query. Views of rows have neither. `suspended` says why one that
    failed does not run.
    """

    id: int
    asked: Query | View
    version: int = 1
    status: str = "running"
    epoch: int = 0
    born: int = 0
    model: str = ""
    technique: str = ""
    suspended: Suspension | None = None

    @property
    def name(self) -> str:
        """Name of the query."""
        return self.asked.name

    @property
    def key(self) -> str:
        """Its number and version, which name what is kept for it alone."""
        return f"{self.id}.{self.version}"

    @property
    def query(self) -> Query:
        """The query, where it is known to answer numbers."""
        assert isinstance(self.asked, Query), f"{self.name!r} answers rows"
        return self.asked

    @property
    def view(self) -> View:
        """The view, where it is known to answer rows."""
        assert isinstance(self.asked, View), f"{self.name!r} answers numbers"
        return self.asked

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        plain = {
            "id": self.id,
            "query": self.asked.as_dict(),
            "version": self.version,
            "status": self.status,
            "epoch": self.epoch,
            "born": self.born,
        }
        offer = {"model": self.model, "technique": self.technique}
        plain |= {name: told for name, told in offer.items() if told}
        return plain | ({"suspended": self.suspended.as_dict()} if self.suspended else {})

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Standing:
        """Read the JSON form."""
        plain = {name: value for name, value in data.items() if name not in ("query", "suspended")}
        why = data.get("suspended")
        return cls(
            asked=asked(data["query"]), suspended=Suspension(**why) if why else None, **plain
        )


@dataclass(frozen=True, slots=True)
class Listed:
    """A query as it will stand, and whether it stands so already."""

    standing: Standing
    in_force: bool

    @property
    def status(self) -> str:
        """Running, paused or suspended; waiting while its change is in the inbox."""
        return self.standing.status if self.in_force else "waiting"


def asked(data: dict[str, Any]) -> Query | View:
    """Read the JSON form of a query: one that has a plan answers rows, others answer numbers."""
    return View.from_dict(data) if "plan" in data else Query.from_dict(data)


def streams_of(query: Query | View) -> tuple[str, ...]:
    """Streams a query reads."""
    return query.streams
