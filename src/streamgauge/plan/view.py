"""View: a standing query whose answers are rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from streamgauge.contracts.contract import Contract
from streamgauge.contracts.picture import facts_html
from streamgauge.plan.nodes import Node, Numbers, Scan, Stored, Streamed, from_json, to_json
from streamgauge.plan.query import Cadence, liking, on_change
from streamgauge.promise.promise import Promise

MODES = ("changes", "append", "store")


@dataclass(frozen=True, slots=True)
class View:
    """A standing query over rows, as a value.

    Parameters
    ----------
    name
        Name of the query.
    plan
        The plan after rewriting; a later release does not plan a running query anew.
    text
        The query as written, for people.
    answer
        On change: at every tick at which rows come or go; every t: the net change since the last.
    contract
        What is owed; rows are exact.
    history
        Whether its windows are filled from kept history (True) or start empty (False).
    mode
        changes: rows that come and go; append: rows that come, for plans that never take one
        back; store: the current rows only, nothing is kept of how they came to be.
    promise
        What it prefers when it cannot have every row; None: it always has.
    """

    name: str
    plan: Node
    text: str = ""
    answer: Cadence = field(default_factory=on_change)
    contract: Contract = field(default_factory=Contract)
    history: bool = True
    mode: str = "changes"
    promise: Promise | None = None

    @property
    def streams(self) -> tuple[str, ...]:
        """Streams it reads, by name."""
        found = {node.stream for node in self.plan.walk() if isinstance(node, (Scan, Numbers))}
        return tuple(sorted(found))

    @property
    def tables(self) -> tuple[str, ...]:
        """Stored tables it reads, by name."""
        found = {node.table for node in self.plan.walk() if isinstance(node, Stored)}
        for node in self.plan.walk():
            found.update(node.asked.tables if isinstance(node, Numbers) else ())
        return tuple(sorted(found))

    @property
    def stream_kind(self) -> str:
        """istream, dstream or rstream for a stream of rows, empty for a relation."""
        return self.plan.kind if isinstance(self.plan, Streamed) else ""

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        promise = {} if self.promise is None else {"promise": self.promise.as_dict()}
        return {
            "name": self.name,
            "plan": to_json(self.plan),
            "text": self.text,
            "answer": [self.answer.kind, self.answer.period, self.answer.by],
            "contract": self.contract.as_dict(),
            "history": self.history,
            "mode": self.mode,
            **promise,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> View:
        """Read the JSON form."""
        return cls(
            data["name"],
            from_json(data["plan"]),
            data["text"],
            Cadence(*data["answer"]),
            Contract(**data["contract"]),
            data["history"],
            data["mode"],
            Promise.from_dict(data["promise"]) if "promise" in data else None,
        )

    @property
    def owed(self) -> str:
        """The contract in words."""
        return str(self.contract)

    @property
    def over_time(self) -> bool:
        """Whether its contract is judged by the share of time that it holds: rows are not."""
        return False

    def _repr_html_(self) -> str:
        about = {"asks": self.text, "answers": self.answer, "owed": self.owed}
        return facts_html(self.name, about)

    def __str__(self) -> str:
        start = "" if self.history else ", from now"
        return f"{self.text}, {self.answer}, {self.owed}{start}{liking(self.promise)}"
