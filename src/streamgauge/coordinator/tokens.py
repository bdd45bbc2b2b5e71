"""Tokens that agents show: a file of one token a line, each with the names that it is good for."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from streamgauge.kernel.errors import BindError, SourceFailure

SHORTEST = 8


@dataclass(frozen=True, slots=True)
class Tokens:
    """Who may speak for which agents.

    A line of the file is a token, then patterns of agent names; none means any name. Lines that
    begin with # say nothing. The file is read when the coordinator starts.

    Parameters
    ----------
    known
        Tokens with their patterns; None: no token is asked for.

    Examples
    --------
    >>> tokens = Tokens((("0123456789", ("pump-*",)),))
    >>> tokens.allows("0123456789", "pump-7"), tokens.allows("0123456789", "boiler")
    (True, False)
    >>> tokens.knows("guess")
    False
    >>> Tokens((("0123456789", ("pump-1",)),)).allows("0123456789", "pump-12")
    False
    """

    known: tuple[tuple[str, tuple[str, ...]], ...] | None = None

    @classmethod
    def read(cls, path: Path | None) -> Tokens:
        """Read a file of tokens."""
        if path is None:
            return cls()
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise SourceFailure(
                "the file of tokens cannot be read", str(error), "check its path and permissions"
            ) from None
        found = []
        for number, line in enumerate(lines, 1):
            words = line.split()
            if not words or words[0].startswith("#"):
                continue
            if len(words[0]) < SHORTEST:
                raise BindError(
                    f"a token in {path.name} is too short",
                    f"line {number} has {len(words[0])} characters, at least {SHORTEST}",
                    "make one with: python -c 'import secrets; print(secrets.token_urlsafe())'",
                )
            found.append((words[0], tuple(words[1:])))
        if not found:
            raise BindError(
                f"no token in {path.name}",
                f"{len(lines)} lines, all empty or remarks",
                "write one token a line, or declare the stream without tokens",
            )
        return cls(tuple(found))

    def knows(self, shown: str | None) -> bool:
        """Whether a token is one of ours; looking takes equally long whichever it is."""
        if self.known is None:
            return True
        return sum(_same(token, shown) for token, _ in self.known) > 0

    def allows(self, shown: str | None, agent: str) -> bool:
        """Whether a token is good for an agent's name."""
        if self.known is None:
            return True
        names = [names for token, names in self.known if _same(token, shown)]
        return any(not one or any(fnmatchcase(agent, name) for name in one) for one in names)


def _same(token: str, shown: str | None) -> bool:
    return hmac.compare_digest(token.encode(), (shown or "").encode())
