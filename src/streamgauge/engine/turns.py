"""Turns: operators work one after the other, and one that fails is named, not the end of the job.

A turn ends what an operator raises, and what takes longer than it may. An attempt with a failure
publishes nothing: the epoch runs again without the queries of the operators that failed
(`engine/settling.py`).
"""

from __future__ import annotations

import ctypes
import faulthandler
import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from streamgauge.kernel.errors import StreamgaugeError
from streamgauge.kernel.masking import masked
from streamgauge.log.attempts import Marker, died_at, marker_name, marker_path
from streamgauge.log.home import Home
from streamgauge.plan.standing import Standing

# So many processes that died at one operator of one epoch are no chance.
DEATHS = 3
LONGEST_TEXT = 500
# How often a process looks at the clock, and for how many limits a kernel may hold all of it.
PAUSE_SECONDS = 1.0
GRACE = 2.0
EX_TEMPFAIL = 75

Queries = Callable[[], Sequence[Standing]]


class Abandoned(BaseException):
    """An attempt that cannot go on, because of a failure that was noted."""


class OverTime(BaseException):
    """Raised in an operator that works for longer than it may."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An operator that failed in an epoch, with the numbers and versions of its queries."""

    operator: str
    queries: tuple[tuple[int, int], ...]
    code: str
    why: str
    epoch: int

    def as_dict(self) -> dict[str, Any]:
        """As it goes into a receipt."""
        return {
            "operator": self.operator,
            "queries": [list(one) for one in self.queries],
            "code": self.code,
            "why": self.why,
            "since": self.epoch,
        }


class Turns:
    """The turns of one attempt at a shard.

    Parameters
    ----------
    home
        Where the gauge lives.
    shard
        Number of the shard.
    epoch
        The last epoch of the attempt.
    attempt
        Name of the attempt.
    since
        The first epoch of the attempt: queries that fail have no part in any of it.
    expendable
        Whether this process may be ended when a kernel does not return.
    """

    def __init__(
        self,
        home: Home,
        shard: int,
        epoch: int,
        attempt: str,
        *,
        since: int,
        expendable: bool = False,
    ) -> None:
        deaths, late = died_at(home, shard, epoch)
        self.failures: list[Failure] = []
        self.since = since
        self.limit = home.query_timeout
        self.expendable = expendable
        self._late = late
        self._lost = {name for name, n in deaths.items() if n >= DEATHS}
        self._marker = Marker(marker_path(home, shard, attempt), epoch)
        self._thread = threading.get_ident()
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self.now: Turn | None = None
        self._began = 0.0
        self._fired = False

    def __enter__(self) -> Turns:
        self._token = _IN_FORCE.set(self)
        self._arm()
        threading.Thread(target=self._watch, name="streamgauge-turns", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> bool:
        with self._lock:
            self._ended.set()
            if self.expendable:
                faulthandler.cancel_dump_traceback_later()
        _IN_FORCE.reset(self._token)
        self._marker.remove()
        return kind is not None and issubclass(kind, Abandoned | OverTime)

    def check(self) -> None:
        """Give the attempt up where an operator has failed."""
        if self.failures:
            raise Abandoned

    def begin(self, turn: Turn) -> None:
        """Note who is at work; refuse whoever has ended processes at this epoch before."""
        name = marker_name(turn.name)
        if name in self._late or name in self._lost:
            self.fail(turn, *(_over(self.limit) if name in self._late else _died()))
            raise Abandoned
        self._marker.write(name)
        with self._lock:
            self.now, self._began, self._fired = turn, time.monotonic(), False

    def end(self) -> bool:
        """Note that nobody is at work; whether the turn took too long."""
        with self._lock:
            fired, self.now = self._fired, None
            if fired:
                _let_through()
        self._marker.write("")
        return fired

    def fail(self, turn: Turn, code: str, why: str) -> None:
        """Note that an operator has failed."""
        who = tuple((one.id, one.version) for one in turn.queries())
        self.failures.append(Failure(turn.name, who, code, why, self.since))

    def _watch(self) -> None:
        pause = min(PAUSE_SECONDS, self.limit / 4)
        while not self._ended.wait(pause):
            self._look(time.monotonic())
            self._arm()

    def _arm(self) -> None:
        """Let the process end when this thread does not come here in time.

        A kernel that keeps the interpreter keeps it from all threads but one without Python.
        """
        with self._lock:
            if self.expendable and not self._ended.is_set():
                longest = GRACE * self.limit + PAUSE_SECONDS
                faulthandler.dump_traceback_later(longest, exit=True, file=self._marker.file)

    def _look(self, now: float) -> None:
        with self._lock:
            turn, took = self.now, now - self._began
            if turn is None or took < self.limit:
                return
            if not self._fired:
                self._fired = True
                self.fail(turn, *_over(self.limit))
                _raise_in(self._thread, OverTime)
            elif self.expendable and took > GRACE * self.limit:
                self._marker.overran()
                os._exit(EX_TEMPFAIL)


@dataclass(slots=True)
class Turn:
    """One turn of an operator: what it raises is noted, and nothing of it is published."""

    turns: Turns
    name: str
    queries: Queries

    def __enter__(self) -> None:
        self.turns.begin(self)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> bool:
        fired = self.turns.end()
        if fired:
            return kind is None or issubclass(kind, Exception | SystemExit | OverTime)
        if error is None or not isinstance(error, Exception | SystemExit):
            return False
        if not self.queries():
            # It is kept without a query, so there is none to suspend.
            return False
        self.turns.fail(self, *told(error))
        if isinstance(error, MemoryError):
            # What it holds lives as long as the attempt, and others would be refused theirs.
            raise Abandoned from error
        return True


def turn(name: str, queries: Queries) -> AbstractContextManager[None]:
    """A turn of an operator for these queries; outside of an attempt, what it raises is raised."""
    turns = _IN_FORCE.get()
    return nullcontext() if turns is None else Turn(turns, name, queries)


def at_work() -> Turn | None:
    """The turn of an attempt that is at work here."""
    turns = _IN_FORCE.get()
    return None if turns is None else turns.now


def check() -> None:
    """Give the attempt at work up where an operator has failed."""
    turns = _IN_FORCE.get()
    if turns is not None:
        turns.check()


def told(error: BaseException) -> tuple[str, str]:
    """The code of an error, and what happened.

    >>> told(ZeroDivisionError("division by zero"))
    ('ZeroDivisionError', 'ZeroDivisionError: division by zero')
    >>> told(SystemExit(3))
    ('SystemExit', 'it called sys.exit(3)')
    """
    code = type(error).__name__
    if isinstance(error, StreamgaugeError):
        text = f"{error.what}: {error.detail}; {error.hint}"
    elif isinstance(error, SystemExit):
        text = f"it called sys.exit({error.code})"
    elif isinstance(error, MemoryError):
        text = "no memory was left for it"
    else:
        text = f"{code}: {error}"
    return code, masked(" ".join(text.split()))[:LONGEST_TEXT]


def _over(limit: float) -> tuple[str, str]:
    return "TimeoutError", f"it worked on one epoch for longer than the limit of {limit:g} s"


def _died() -> tuple[str, str]:
    return "ProcessDied", f"{DEATHS} processes ended while it was at work"


def _raise_in(thread: int, kind: type[BaseException]) -> None:
    """Raise an error in a thread before its next instruction of Python."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(kind))


def _let_through() -> None:
    """Have an error that was meant for a turn now, where it has not reached this thread yet.

    Taken back instead, it would leave the interpreter looking for it at each call, for ever: slow,
    and without an end where something traces or profiles.
    """
    try:
        for _ in range(3):
            pass
    except OverTime:
        return


_IN_FORCE: ContextVar[Turns | None] = ContextVar("turns in force", default=None)
