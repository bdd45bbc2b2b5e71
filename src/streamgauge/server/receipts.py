"""Receipts: what repeated requests are told, so that nothing lands twice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Receipt:
    """What is acknowledged: rows taken, rows that are dead letters, the number of the request.

    Examples
    --------
    >>> Receipt(3, 1, 12).as_dict()
    {'rows': 3, 'rejected': 1, 'serial': 12}
    """

    rows: int
    rejected: int
    serial: int

    def as_dict(self) -> dict[str, int]:
        """JSON form."""
        return {"rows": self.rows, "rejected": self.rejected, "serial": self.serial}


# Key, digest of the body, receipt.
Kept = tuple[str, str, Receipt]


class Receipts:
    """Receipts by key, the newest ones.

    Examples
    --------
    >>> receipts = Receipts(most=1)
    >>> receipts.keep("a", "d1", Receipt(1, 0, 1))
    >>> receipts.keep("b", "d2", Receipt(1, 0, 2))
    >>> receipts.find("a"), receipts.find("b")
    (None, ('d2', Receipt(rows=1, rejected=0, serial=2)))
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: dict[str, tuple[str, Receipt]] = {}

    def find(self, key: str) -> tuple[str, Receipt] | None:
        """Digest of the body and receipt of a request, if it is remembered."""
        return self._known.get(key)

    def keep(self, key: str, digest: str, receipt: Receipt) -> None:
        """Remember a receipt; the oldest goes when there are too many."""
        self._known[key] = (digest, receipt)
        while len(self._known) > self._most:
            del self._known[next(iter(self._known))]

    def as_list(self) -> list[list[Any]]:
        """JSON form, oldest first."""
        return [
            [key, digest, receipt.rows, receipt.rejected, receipt.serial]
            for key, (digest, receipt) in self._known.items()
        ]

    def restore(self, kept: list[list[Any]]) -> None:
        """Read the JSON form."""
        for key, digest, rows, rejected, serial in kept:
            self.keep(key, digest, Receipt(rows, rejected, serial))
