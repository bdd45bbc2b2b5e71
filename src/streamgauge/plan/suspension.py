"""Suspension: why a query does not run, as the commit of an epoch and the journal record it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Suspension:
    """Why a query does not run.

    Parameters
    ----------
    since
        The first epoch that it has no part in.
    code
        The class of the error.
    why
        What happened.
    sharing
        How many queries that share the operator are suspended for it, this one among them.

    Examples
    --------
    >>> print(Suspension(12, "ZeroDivisionError", "ZeroDivisionError: division by zero", 3))
    suspended since epoch 12: ZeroDivisionError: division by zero (3 queries share the operator)
    """

    since: int
    code: str
    why: str
    sharing: int = 1

    def __str__(self) -> str:
        shared = f" ({self.sharing} queries share the operator)" if self.sharing > 1 else ""
        return f"suspended since epoch {self.since}: {self.why}{shared}"

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return asdict(self)
