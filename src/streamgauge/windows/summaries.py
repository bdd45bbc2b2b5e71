"""Summaries: how a pane's content is made, merged and written, for one synopsis or a bank of them.

The queue of panes does not know which of the two it holds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

from streamgauge.kernel.wire import Packed, pack, unpack
from streamgauge.synopses.bank import Bank, bank_of
from streamgauge.synopses.synopsis import Subtractable, Synopsis

T = TypeVar("T")
S = TypeVar("S", bound=Synopsis)


class Summaries(ABC, Generic[T]):
    """Operations on the content of panes."""

    model: Synopsis

    @abstractmethod
    def empty(self) -> T:
        """The summary of no rows."""

    @abstractmethod
    def put(self, total: T, part: T) -> None:
        """Merge a part into a total."""

    @abstractmethod
    def take(self, total: T, part: T) -> None:
        """Undo `put`; for linear synopses."""

    @abstractmethod
    def to_bytes(self, held: T) -> bytes:
        """Bytes of a summary."""

    @abstractmethod
    def from_bytes(self, data: bytes) -> T:
        """Read bytes."""

    @property
    def linear(self) -> bool:
        """Whether parts can be taken away again."""
        return isinstance(self.model, Subtractable)

    def copied(self, held: T) -> T:
        """A copy that shares nothing."""
        return self.from_bytes(self.to_bytes(held))

    def merged(self, one: T, two: T) -> T:
        """The merge of two, which stay as they are."""
        both = self.copied(one)
        self.put(both, two)
        return both


class OfSynopsis(Summaries[S]):
    """Each pane holds one synopsis like the model.

    Parameters
    ----------
    model
        A synopsis of the kind, size and seed wanted; its rows do not count.
    """

    def __init__(self, model: S) -> None:
        self.model: S = model

    def empty(self) -> S:
        """An empty synopsis."""
        return self.model.empty()

    def put(self, total: S, part: S) -> None:
        """Merge."""
        total.merge(part)

    def take(self, total: S, part: S) -> None:
        """Subtract."""
        linear: Any = total
        linear.subtract(part)

    def copied(self, held: S) -> S:
        """A copy."""
        return held.copy()

    def to_bytes(self, held: S) -> bytes:
        """Bytes of the synopsis."""
        return held.to_bytes()

    def from_bytes(self, data: bytes) -> S:
        """Read a synopsis."""
        return type(self.model).from_bytes(data)


class OfBank(Summaries[Bank]):
    """Each pane holds a bank: a synopsis like the model for each group.

    Parameters
    ----------
    model
        A synopsis of the kind, size and seed wanted.
    """

    def __init__(self, model: Synopsis) -> None:
        self.model = model
        self.n_groups = 0

    def empty(self) -> Bank:
        """A bank of empty synopses, for all groups seen so far."""
        return bank_of(self.model, self.n_groups)

    def put(self, total: Bank, part: Bank) -> None:
        """Merge group by group."""
        self._level(total, part)
        total.merge(part)

    def take(self, total: Bank, part: Bank) -> None:
        """Subtract group by group."""
        self._level(total, part)
        total.subtract(part)

    def to_bytes(self, held: Bank) -> bytes:
        """Bytes of the bank."""
        return pack(Packed("bank", 1, {"groups": held.n_groups}, held.save()))

    def from_bytes(self, data: bytes) -> Bank:
        """Read a bank."""
        packed = unpack(data, kind="bank", version=1)
        bank = bank_of(self.model, packed.values["groups"])
        bank.restore(packed.arrays)
        return bank

    def _level(self, one: Bank, two: Bank) -> None:
        """Give both the same groups."""
        most = max(one.n_groups, two.n_groups)
        for bank in (one, two):
            if bank.n_groups < most:
                bank.resize(most)
