"""Tokens that agents show: a file of one token a line, with the names and series it is good for."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from streamgauge.coordinator.claims import NO_CLAIMS, Claims, is_claim
from streamgauge.edge.signing import opened, signature
from streamgauge.kernel.errors import BindError, SourceFailure

SHORTEST = 8


@dataclass(frozen=True, slots=True)
class Tokens:
    """Who may speak for which agents.

    A line of the file is a token, then patterns of agent names; none means any name that the agent
    of no other token has. `series:PATTERN` says which series the token is for, and no other token
    is; `takeover` or `takeover:PATTERN` which it takes over from silent agents. Lines that begin
    with # say nothing. The file is read when the coordinator starts.

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
        return any(not _names(one) or _named(agent, one) for one in self._words(shown))

    def claims(self, shown: str | None, agent: str) -> Claims:
        """For which series a token lets an agent speak.

        >>> tokens = Tokens((("0123456789", ("series:pump|*",)), ("9876543210", ())))
        >>> tokens.claims("9876543210", "other").may_announce("pump|1")
        False
        """
        if self.known is None:
            return NO_CLAIMS
        words = [word for one in self._words(shown) for word in one]
        own = Claims.of(_fingerprint(shown or ""), words)
        lines = [(token, given) for token, given in self.known if not _same(token, shown)]
        others = [pattern for _, given in lines for pattern in Claims.of("", given).series]
        free = own.takeover or any(_named(agent, one) for one in self._words(shown))
        rivals = () if free else (_fingerprint(token) for token, _ in lines)
        return Claims(own.who, own.series, tuple(others), own.takeover, frozenset(rivals))

    def signer(self, message: bytes, stream: str) -> tuple[str | None, bytes]:
        """Whose token signed a message that a broker carried, and the report in it."""
        code, report = opened(message)
        found = None
        for token, _ in self.known or ():
            if code is not None and hmac.compare_digest(signature(report, token, stream), code):
                found = token
        return found, report

    def _words(self, shown: str | None) -> list[tuple[str, ...]]:
        return [words for token, words in self.known or () if _same(token, shown)]


def _names(words: tuple[str, ...]) -> list[str]:
    return [word for word in words if not is_claim(word)]


def _named(agent: str, words: tuple[str, ...]) -> bool:
    return any(fnmatchcase(agent, name) for name in _names(words))


def _fingerprint(token: str) -> str:
    """What is kept of a token, to know it again."""
    return hashlib.blake2b(token.encode(), digest_size=8, person=b"sg-agent").hexdigest()


def _same(token: str, shown: str | None) -> bool:
    return hmac.compare_digest(token.encode(), (shown or "").encode())


NO_TOKENS = Tokens()
