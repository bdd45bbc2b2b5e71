"""Memory for state is asked for: a ledger knows what is held, a claim is what one object holds.

Whoever is about to make large arrays says so to its claim. Beyond what the ledger allows that is an
error with its numbers, before anything was changed, and not the end of the process.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from streamgauge.kernel.errors import BindError, MemoryExceeded

# The state of a job may take this share of a machine; the rest is for rows, Spark and others.
SHARE = 0.5
SMALLEST = 1 << 20
# An error names so many queries; the others are counted.
NAMED = 3
# Where a container says what it may have; a group of processes without a limit says "max" there.
_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)
_UNITS = {"b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_HINT = (
    "group by less, widen the contract or BUDGET MEMORY, shorten the window, or give more: --memory"
)


class Ledger:
    """What is held of an allowance, in bytes; None allows everything.

    Examples
    --------
    >>> ledger = Ledger(1000)
    >>> with in_force(ledger):
    ...     claim = claimed()
    >>> claim.ask(600)
    >>> ledger.held
    600
    >>> claim.ask(1200)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    streamgauge.kernel.errors.MemoryExceeded: state needs more memory than it may have
      detail: it asked for 600 bytes more, 600 of 1,000 bytes are held
      hint: group by less, widen the contract or BUDGET MEMORY, ...
    >>> del claim
    >>> ledger.held
    0
    """

    __slots__ = ("allowed", "held", "queries")

    def __init__(self, allowed: int | None = None) -> None:
        self.allowed = allowed
        self.held = 0
        self.queries: Callable[[], Sequence[str]] = tuple

    def take(self, more: int) -> None:
        """Note so many bytes more, or raise where they are too many."""
        if more > 0 and self.allowed is not None and self.held + more > self.allowed:
            raise self._exceeded(more)
        self.held += more

    def _exceeded(self, more: int) -> MemoryExceeded:
        names = tuple(self.queries())
        told = ", ".join(repr(name) for name in names[:NAMED])
        if len(names) > NAMED:
            told += f" and {len(names) - NAMED:,} more that share its state"
        who = "state" if not told else f"query {told}"
        error = MemoryExceeded(
            f"{who} needs more memory than it may have",
            f"it asked for {more:,} bytes more, {self.held:,} of {self.allowed:,} bytes are held",
            _HINT,
        )
        error.queries = names
        return error


class Claim:
    """What one object holds; given back when the object goes."""

    __slots__ = ("_ledger", "held")

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.held = 0

    def ask(self, nbytes: int) -> None:
        """Hold so many bytes from now on, in all; raise where they are too many."""
        self._ledger.take(nbytes - self.held)
        self.held = nbytes

    def __del__(self) -> None:
        self._ledger.held -= self.held


_EVERYTHING = Ledger()
_IN_FORCE: ContextVar[Ledger] = ContextVar("memory in force", default=_EVERYTHING)


@contextmanager
def in_force(ledger: Ledger) -> Iterator[None]:
    """Let what is claimed in this block be held of a ledger."""
    token = _IN_FORCE.set(ledger)
    try:
        yield
    finally:
        _IN_FORCE.reset(token)


@contextmanager
def working_for(queries: Callable[[], Sequence[str]]) -> Iterator[None]:
    """Let errors of this block name the queries that it works for; they are asked for only then."""
    ledger = _IN_FORCE.get()
    before, ledger.queries = ledger.queries, queries
    try:
        yield
    finally:
        ledger.queries = before


def claimed() -> Claim:
    """A new claim on the ledger in force; nothing is held yet."""
    return Claim(_IN_FORCE.get())


def ask_for(nbytes: int) -> None:
    """Raise where so many bytes more are too many; who gets them notes them when they are there."""
    ledger = _IN_FORCE.get()
    ledger.take(nbytes)
    ledger.held -= nbytes


@functools.cache
def machine_memory() -> int:
    """Bytes that this machine has, or its container."""
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for path in _LIMITS:
        text = path.read_text(encoding="ascii").strip() if path.exists() else ""
        found += [int(text)] if text.isdigit() else []
    return min(found)


def allowance(memory: int | None, shards: int) -> int:
    """Bytes that the state of one of so many shards on this machine may take.

    >>> allowance(1 << 30, 4) >> 20
    256
    """
    whole = int(SHARE * machine_memory()) if memory is None else memory
    return max(SMALLEST, whole // shards)


def bytes_of(memory: int | str | None) -> int | None:
    """Bytes as an operator writes them: a number, or 512m, 8g, 8 GiB.

    >>> bytes_of("8 GiB") == bytes_of("8g") == 8 << 30
    True
    >>> bytes_of("a lot")
    Traceback (most recent call last):
        ...
    streamgauge.kernel.errors.BindError: cannot read the memory 'a lot'
      detail: expected a whole number with a unit of b, k, m, g or t, 1 MiB or more
      hint: write '512m' or '8g'
    """
    if memory is None:
        return None
    text = str(memory).strip().lower().removesuffix("ib").removesuffix("b")
    number, unit = (text[:-1], text[-1]) if text[-1:] in _UNITS else (text, "b")
    number = number.strip().replace("_", "")
    if not number.isdigit() or int(number) * _UNITS[unit] < SMALLEST:
        raise BindError(
            f"cannot read the memory {memory!r}",
            "expected a whole number with a unit of b, k, m, g or t, 1 MiB or more",
            "write '512m' or '8g'",
        )
    return int(number) * _UNITS[unit]
