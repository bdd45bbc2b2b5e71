"""Crossing: one alert raised or cleared for one group, and what is told of it."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

RAISED, CLEARED = "raised", "cleared"
_PLAIN = re.compile(r"[^A-Za-z0-9_]+")


def crossing_id(origin: str, alert: str, born: int, group: str, n: int) -> str:
    """What tells a crossing from all others: of this home, alert, group, the n-th.

    An alert that is dropped and created again under the same name was born in another epoch.

    >>> crossing_id("9f2c", "too hot", 12, '["oven"]', 3)
    'too_hot-12-8e7b247903-3'
    """
    digest = hashlib.sha256(json.dumps([origin, alert, group]).encode()).hexdigest()[:10]
    return f"{_PLAIN.sub('_', alert)[:40]}-{born}-{digest}-{n}"


@dataclass(frozen=True, slots=True)
class Crossing:
    """An alert that was raised or cleared.

    Parameters
    ----------
    id
        The same whenever this crossing is told again.
    alert, version, query, group
        Which alert, of which query (empty for the auditor), for which group.
    condition
        What it waits for, in words.
    state
        raised or cleared.
    n
        Which crossing of this alert and group it is, from 1.
    at
        Event time of the answer, as text.
    answer
        The answer that did it, with its bar; None when no answer did.
    because
        Why, where no answer says it.
    """

    id: str
    alert: str
    version: int
    query: str
    group: tuple[Any, ...]
    condition: str
    state: str
    n: int
    at: str
    answer: dict[str, Any] | None = None
    because: str = ""

    @property
    def title(self) -> str:
        """One line for a subject.

        >>> Crossing("hot-1-0-1", "hot", 1, "heat", ("oven",), "possibly above 9", "raised", 1,
        ...          "2026-01-01T00:00:00Z").title
        'hot raised: heat[oven] possibly above 9'
        """
        who = self.query or "audit"
        if self.group:
            who += f"[{', '.join(map(str, self.group))}]"
        return f"{self.alert} {self.state}: {who} {self.condition}"

    def as_dict(self) -> dict[str, Any]:
        """What is delivered."""
        return {
            "id": self.id,
            "alert": self.alert,
            "version": self.version,
            "query": self.query or None,
            "group": list(self.group),
            "condition": self.condition,
            "state": self.state,
            "n": self.n,
            "at": self.at,
            "because": self.because or None,
            "answer": self.answer,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Crossing:
        """Read what was delivered."""
        empty: dict[str, Any] = {"query": data["query"] or "", "because": data["because"] or ""}
        return cls(**{**data, **empty, "group": tuple(data["group"])})
