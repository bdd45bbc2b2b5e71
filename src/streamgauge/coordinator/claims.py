"""Claims: for which series an agent may speak, by what the file says beside its token.

A series belongs to the agent that announced it first, silent or not. Another agent takes it over
only if its token says so, or after the operator has forgotten the first one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

SERIES = "series:"
TAKEOVER = "takeover"


@dataclass(frozen=True, slots=True)
class Claims:
    """What the token of an agent says.

    Parameters
    ----------
    who
        Fingerprint of the token; empty where none is asked for.
    series
        Patterns of series that the token is for; any that no other token is for when empty.
    others
        Patterns of series that only other tokens are for.
    takeover
        Patterns of series that may be taken over from an agent that is silent.
    rivals
        Fingerprints of tokens whose agents keep their names before this one.

    Examples
    --------
    >>> pumps = Claims(series=("pump|*",), takeover=("pump|1*",))
    >>> pumps.may_announce("pump|12"), pumps.may_announce("boiler"), pumps.may_take("pump|2")
    (True, False, False)
    """

    who: str = ""
    series: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    takeover: tuple[str, ...] = ()
    rivals: frozenset[str] = frozenset()

    def may_announce(self, series: str) -> bool:
        """Whether an agent may be the first to announce a series."""
        if _matches(series, self.series):
            return True
        return not self.series and not _matches(series, self.others)

    def may_take(self, series: str) -> bool:
        """Whether an agent may take a series over from one that is silent."""
        return self.may_announce(series) and _matches(series, self.takeover)

    def as_dict(self) -> dict[str, Any]:
        """JSON form, inverse of `from_dict`: what holds for reports that are read again."""
        kept = {name: list(getattr(self, name)) for name in ("series", "others", "takeover")}
        return {"who": self.who, **{name: value for name, value in kept.items() if value}}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Claims:
        """Read the JSON form."""
        lists = [tuple(data.get(name, ())) for name in ("series", "others", "takeover")]
        return cls(data["who"], lists[0], lists[1], lists[2])

    @classmethod
    def of(cls, who: str, words: Iterable[str]) -> Claims:
        """Read the words beside a token.

        >>> Claims.of("5f", ("pump-*", "series:pump|*", "takeover")).takeover
        ('*',)
        """
        series = [w.removeprefix(SERIES) for w in words if w.startswith(SERIES)]
        takeover = [
            word.removeprefix(TAKEOVER).removeprefix(":") or "*"
            for word in words
            if word == TAKEOVER or word.startswith(f"{TAKEOVER}:")
        ]
        return cls(who, tuple(series), (), tuple(takeover))


def is_claim(word: str) -> bool:
    """Whether a word beside a token is a claim; else it is a pattern of agent names.

    >>> is_claim("takeover"), is_claim("pump-*")
    (True, False)
    """
    return word == TAKEOVER or word.startswith((SERIES, f"{TAKEOVER}:"))


def _matches(series: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(series, pattern) for pattern in patterns)


NO_CLAIMS = Claims()
