"""Panes of banks: synopses of each group and pane of event time, merged into windows.

A pane keeps its rows as they came while they are smaller than a bank. How panes are merged into a
window is fixed by their numbers alone, never by batches or restarts, so a window's synopsis is the
same however the work was cut: linear synopses add the pane that enters and take away the one that
leaves; the others merge suffixes of one block of panes with prefixes of the next, at most three
merges a pane.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.memory import claimed
from streamgauge.synopses.bank import Bank, bank_of
from streamgauge.synopses.choose import full_bytes
from streamgauge.synopses.exact import ExactBank
from streamgauge.synopses.synopsis import Subtractable, Synopsis

Codes = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]
Array = npt.NDArray[Any]

ROW_BYTES = 12
# Rows that wait for a bank whose groups start small take no more than this, or than the bank.
WAITING_BYTES = 1 << 20
# Suffixes of a block are held in memory at once; with more than this a window is merged anew.
SUFFIX_BYTES = 1 << 18


@dataclass(slots=True)
class Pane:
    """Rows of one pane as they came, or the bank they were folded into."""

    groups: list[Codes] = field(default_factory=list)
    items: list[Array] = field(default_factory=list)
    n_raw: int = 0
    bank: Bank | None = None
    counts: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    def raw(self) -> tuple[Codes, Array]:
        """Rows that are not in the bank, as two columns."""
        if len(self.groups) > 1:
            self.groups, self.items = [np.concatenate(self.groups)], [np.concatenate(self.items)]
        return self.groups[0], self.items[0]

    def count(self, codes: Codes, n_groups: int) -> None:
        """Count rows by group."""
        counts = np.bincount(codes, minlength=n_groups).astype(np.int64)
        counts[: len(self.counts)] += self.counts
        self.counts = counts


class BankPanes:
    """Panes by number, and windows over them.

    Parameters
    ----------
    model
        The empty synopsis of each group.
    raw
        Whether panes may keep rows; one pane that grows for ever must not.

    Examples
    --------
    >>> from streamgauge.synopses.exact import Exact
    >>> from streamgauge.synopses.questions import Quantile
    >>> panes = BankPanes(Exact())
    >>> for pane in range(1, 5):
    ...     panes.add(pane, np.zeros(2, np.int32), np.array([pane, 10.0 * pane]))
    >>> bank, counts = panes.window(4, 2)
    >>> bank.bars(Quantile(0.5)).value, counts
    (array([4.]), array([4]))
    """

    def __init__(self, model: Synopsis, *, raw: bool = True) -> None:
        self.model = model
        self.n_groups = 1
        self.panes: dict[int, Pane] = {}
        self.oldest = 0
        self._bytes = _bytes_of(model)
        self.raw = raw
        self._windows: dict[int, _Window] = {}
        self._claim = claimed()
        kind: Any = model.bank_kind
        self._small = kind is not None and kind.starts_small

    def add(self, pane: int, groups: Codes, items: Array) -> None:
        """Fold rows into a pane; group -1 is nobody's."""
        mine = groups >= 0
        if not mine.all():
            groups, items = groups[mine], items[mine]
        if not len(groups):
            return
        self.n_groups = max(self.n_groups, int(groups.max()) + 1)
        self._claim.ask(self._claim.held + groups.nbytes + items.nbytes)
        held = self.panes.setdefault(pane, Pane())
        held.count(groups, self.n_groups)
        held.groups.append(groups)
        held.items.append(items)
        held.n_raw += len(groups)
        if not self.raw or held.n_raw * ROW_BYTES > self._room(held):
            self._fold(held)
        if any(window.covers(pane) for window in self._windows.values()):
            # A late row: what was merged without it is void.
            self._windows.clear()

    def _room(self, pane: Pane) -> int:
        """Bytes that rows of a pane may take before they are folded."""
        full = self.n_groups * self._bytes
        if not self._small:
            return full
        held: Any = pane.bank
        return min(full, WAITING_BYTES if held is None else max(WAITING_BYTES, held.nbytes))

    def _fold(self, pane: Pane) -> None:
        if pane.bank is None:
            pane.bank = bank_of(self.model, self.n_groups)
        pane.bank.resize(self.n_groups)
        pane.bank.update(*pane.raw())
        self._let_go(pane)
        pane.groups, pane.items, pane.n_raw = [], [], 0

    def _let_go(self, pane: Pane) -> None:
        rows = (*pane.groups, *pane.items)
        self._claim.ask(max(0, self._claim.held - sum(part.nbytes for part in rows)))

    def hold_again(self) -> None:
        """Claim the memory of rows that were read back from stored state."""
        parts = [part for pane in self.panes.values() for part in (*pane.groups, *pane.items)]
        self._claim.ask(sum(part.nbytes for part in parts))

    def forget(self, upto: int) -> None:
        """Let panes go up to a number."""
        for pane in [number for number in self.panes if number <= upto]:
            for window in self._windows.values():
                window.drop(pane)
            self._let_go(self.panes.pop(pane))

    def keep(self, groups: Ints) -> None:
        """Go on with some groups, numbered anew; rows of the others are let go."""
        n_groups = max(self.n_groups, int(groups.max(initial=-1)) + 1)
        number = np.full(n_groups, -1, np.int32)
        number[groups] = np.arange(len(groups), dtype=np.int32)
        for pane in self.panes.values():
            pane.counts = pane.counts[groups[groups < len(pane.counts)]]
            if pane.n_raw:
                codes, items = number[pane.raw()[0]], pane.raw()[1]
                mine = codes >= 0
                pane.groups, pane.items = [codes[mine]], [items[mine]]
                pane.n_raw = int(mine.sum())
            if pane.bank is not None:
                pane.bank = pane.bank.chosen(groups[groups < pane.bank.n_groups])
        self.panes = {n: p for n, p in self.panes.items() if p.n_raw or p.bank is not None}
        self.n_groups = max(1, len(groups))
        self._windows.clear()

    def join(self, other: BankPanes, mine: int, more: int) -> None:
        """Take in the panes of as many groups as another has, after so many groups of its own."""
        self.n_groups, other.n_groups = mine, more
        for number in sorted({*self.panes, *other.panes}):
            here, there = self.panes.pop(number, Pane()), other.panes.get(number, Pane())
            self.panes[number] = _beside(self.model, here, there, mine, more)
        self.n_groups = mine + more
        self._windows.clear()
        self.hold_again()

    def items(self) -> Iterator[Array]:
        """The items of all panes, of exact ones each once for a group."""
        for pane in self.panes.values():
            if pane.n_raw:
                yield pane.raw()[1]
            if isinstance(pane.bank, ExactBank):
                yield pane.bank.save()["item"]

    def renumber(self, numbers: Array) -> None:
        """Give items that are places in a table their place in another."""
        for pane in self.panes.values():
            if pane.n_raw:
                groups, items = pane.raw()
                pane.groups, pane.items = [groups], [numbers[items.astype(np.int64)]]
            if isinstance(pane.bank, ExactBank):
                pane.bank.renumber(numbers)
        self._windows.clear()

    def window(self, end: int, length: int) -> tuple[Bank, Ints]:
        """The bank over the panes (end - length, end], and rows by group; not to be changed."""
        if length not in self._windows:
            self._windows[length] = self._strategy(length)
        window = self._windows[length]
        counts = np.zeros(self.n_groups, np.int64)
        for pane in self._between(end - length, end):
            held = self.panes[pane].counts
            counts[: len(held)] += held
        bank = window.at(end)
        bank.resize(self.n_groups)
        return bank, counts

    def _strategy(self, length: int) -> _Window:
        if length > 1 and isinstance(self.model, Subtractable):
            return _Subtracting(self, length)
        blocks = length > 1 and length * self._bytes <= SUFFIX_BYTES
        return _Blocks(self, length) if blocks else _Direct(self, length)

    def _between(self, after: int, upto: int) -> list[int]:
        """Numbers of the panes there are in (after, upto], ascending."""
        if upto - after <= 2 * len(self.panes):
            return [number for number in range(after + 1, upto + 1) if number in self.panes]
        return sorted(number for number in self.panes if after < number <= upto)

    def bank(self, numbers: list[int]) -> Bank:
        """A bank of some panes, merged in this order."""
        merged = bank_of(self.model, self.n_groups)
        for number in numbers:
            self.put(merged, number)
        return merged

    def put(self, into: Bank, number: int) -> None:
        """Merge one pane into a bank."""
        pane = self.panes[number]
        into.resize(self.n_groups)
        if pane.bank is None and self.model.merging == "exact":
            into.update(*pane.raw())
            return
        into.merge(self.folded(pane))

    def take(self, out_of: Bank, number: int) -> None:
        """Take one pane away from a bank."""
        pane = self.panes[number]
        if pane.bank is not None:
            out_of.subtract(self.folded(pane))
        else:
            groups, items = pane.raw()
            out_of.update(groups, items, np.full(len(groups), -1.0))

    def folded(self, pane: Pane) -> Bank:
        """The bank of a pane, made for the moment if it keeps rows only."""
        if pane.bank is not None:
            if pane.n_raw:
                self._fold(pane)
            return pane.bank
        bank = bank_of(self.model, self.n_groups)
        bank.update(*pane.raw())
        return bank


def _beside(model: Synopsis, here: Pane, there: Pane, mine: int, more: int) -> Pane:
    """One pane of some groups and of others after them."""
    counts = np.zeros(mine + more, np.int64)
    counts[: len(here.counts)] = here.counts[:mine]
    counts[mine : mine + len(there.counts)] = there.counts[:more]
    bank = None
    if here.bank is not None or there.bank is not None:
        bank = _sized(model, here.bank, mine).beside(_sized(model, there.bank, more))
    rows = [(part.raw(), shift) for part, shift in ((here, 0), (there, mine)) if part.n_raw]
    groups = [codes + np.int32(shift) for (codes, _), shift in rows]
    items = [column for (_, column), _ in rows]
    return Pane(groups, items, here.n_raw + there.n_raw, bank, counts)


def _sized(model: Synopsis, bank: Bank | None, n_groups: int) -> Bank:
    """A bank with room for so many groups."""
    found = bank_of(model, n_groups) if bank is None else bank
    found.resize(n_groups)
    return found


@lru_cache(maxsize=64)
def _bytes_of(model: Synopsis) -> int:
    """Bytes of one group's synopsis once it is full; a shard that is loaded again asks again."""
    return full_bytes(model)


class _Window(Protocol):
    """A window of fixed length that moves over panes."""

    def at(self, end: int) -> Bank:
        """The bank of the window that ends with a pane."""

    def covers(self, pane: int) -> bool:
        """Whether a pane is part of what is merged already."""

    def drop(self, pane: int) -> None:
        """A pane is about to be forgotten."""


class _Direct:
    """Merge all panes each time."""

    def __init__(self, panes: BankPanes, length: int) -> None:
        self.panes, self.length = panes, length

    def at(self, end: int) -> Bank:
        """Merge from the oldest on; a window of one pane is the pane."""
        numbers = self.panes._between(end - self.length, end)
        if len(numbers) == 1:
            return self.panes.folded(self.panes.panes[numbers[0]])
        return self.panes.bank(numbers)

    def covers(self, pane: int) -> bool:
        """Nothing is kept."""
        return False

    def drop(self, pane: int) -> None:
        """Nothing is kept."""


class _Subtracting:
    """One bank of what is alive: add what enters, take away what leaves."""

    def __init__(self, panes: BankPanes, length: int) -> None:
        self.panes, self.length = panes, length
        self.bank = bank_of(panes.model, panes.n_groups)
        self.low = self.high = 0
        self.begun = False

    def at(self, end: int) -> Bank:
        """Move to an end that is not before the last."""
        low = end - self.length
        if not self.begun or end < self.high or low >= self.high:
            self.bank.clear()
            self.low, self.high, self.begun = low, low, True
        for number in self.panes._between(self.high, end):
            self.panes.put(self.bank, number)
        self.high = max(self.high, end)
        for number in self.panes._between(self.low, low):
            self.panes.take(self.bank, number)
        self.low = max(self.low, low)
        return self.bank

    def covers(self, pane: int) -> bool:
        """Whether the pane was added and not yet taken away."""
        return self.begun and self.low < pane <= self.high

    def drop(self, pane: int) -> None:
        """Take the pane away while it is known."""
        if self.covers(pane):
            for number in self.panes._between(self.low, pane):
                self.panes.take(self.bank, number)
            self.low = pane


class _Blocks:
    """Blocks of as many panes as the window: a suffix of one block, a prefix of the next."""

    def __init__(self, panes: BankPanes, length: int) -> None:
        self.panes, self.length = panes, length
        self.block: int | None = None
        self.upto = 0
        self.prefix = bank_of(panes.model, panes.n_groups)
        self.suffixes: dict[int, Bank] = {}

    def at(self, end: int) -> Bank:
        """Merge the suffix that is still alive with the prefix up to the end."""
        block = (end - 1) // self.length
        start = block * self.length
        if block != self.block or end < self.upto:
            self.block, self.upto = block, start
            self.prefix = bank_of(self.panes.model, self.panes.n_groups)
            self._suffix(end - self.length, start)
        for number in self.panes._between(self.upto, end):
            self.panes.put(self.prefix, number)
        self.upto = end
        whole = bank_of(self.panes.model, self.panes.n_groups)
        first = min((n for n in self.suffixes if n > end - self.length), default=None)
        if first is not None:
            whole.merge(self.suffixes[first])
        whole.merge(self.prefix)
        return whole

    def _suffix(self, after: int, upto: int) -> None:
        self.suffixes = {}
        newer: Bank | None = None
        for number in reversed(self.panes._between(after, upto)):
            bank = self.panes.bank([number])
            if newer is not None:
                bank.merge(newer)
            self.suffixes[number] = newer = bank

    def covers(self, pane: int) -> bool:
        """Whether the pane is in a suffix or the prefix."""
        return self.block is not None and pane <= self.upto

    def drop(self, pane: int) -> None:
        """Suffixes that begin at it are not asked for again."""
        self.suffixes.pop(pane, None)
