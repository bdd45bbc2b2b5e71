"""Outcome: what one statement came to."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one statement did or shows.

    Parameters
    ----------
    did
        What was done, such as "registered" or "created window"; "unchanged ..." when it was so
        already; empty for a statement that only shows.
    names
        What it was done to.
    shown
        A table or a text, for a statement that shows something.

    Examples
    --------
    >>> print(Outcome("registered", ("heat",)))
    registered heat
    >>> print(Outcome("dropped", tuple(f"q{n}" for n in range(4000))))
    dropped 4,000 queries, q0 first
    """

    did: str
    names: tuple[str, ...] = ()
    shown: pa.Table | str | None = None

    @property
    def changes(self) -> bool:
        """Whether something will be otherwise than before."""
        return bool(self.did) and not self.did.startswith("unchanged")

    @property
    def queries(self) -> tuple[str, ...]:
        """Standing queries that a question is answered by."""
        asked = self.did in ("registered", "altered", "unchanged query")
        return self.names if asked else ()

    def __str__(self) -> str:
        if len(self.names) > 5:
            return f"{self.did} {len(self.names):,} queries, {self.names[0]} first"
        return f"{self.did} {', '.join(self.names)}"
