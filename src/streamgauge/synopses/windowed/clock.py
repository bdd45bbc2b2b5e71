"""Clock: what all synopses that forget by time have in common.

A row of time t is alive at `now` when it lies in (now - window, now]. Times are whole numbers that
do not fall; for a window of rows they are the numbers of the rows. Rows given without times are
numbered on from the last one.

Parts built apart are put together as *lanes*, side by side: each lane keeps its own error, so the
errors of the parts add up to the error of the whole and nothing is lost by merging. A lane whose
rows are all too old goes away.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, NamedTuple, Self, TypeVar

import numpy as np

from streamgauge.contracts.contract import Contract
from streamgauge.contracts.estimate import Estimate
from streamgauge.kernel.errors import BindError, ContractUnsatisfiable, IncompatibleSynopsis
from streamgauge.synopses.questions import Question
from streamgauge.synopses.synopsis import Arrays, Expiring, Floats, Ints, Need, Synopsis, Values


class Timed(Synopsis, Expiring):
    """A synopsis with a clock, whose rows have times."""

    def __init__(self, *, seed: int = 0) -> None:
        super().__init__(seed=seed)
        self.now: int | None = None

    def advance(self, now: int) -> None:
        """Move the clock; what is too old goes."""
        if self.now is not None and now < self.now:
            raise BindError(
                "the clock does not run back", f"it is {self.now}, asked for {now}", "sort by time"
            )
        before, self.now = self.now, int(now)
        self._moved(self.now if before is None else before)

    @abstractmethod
    def _moved(self, before: int) -> None:
        """Forget what the clock, which has moved, leaves behind."""

    def _numbered(self, times: Ints | None, n: int) -> Ints:
        """Times as given, or row numbers."""
        if times is not None:
            return np.ascontiguousarray(times, np.int64)
        start = 0 if self.now is None else self.now + 1
        return np.arange(start, start + n, dtype=np.int64)


class Clocked(Timed):
    """A synopsis over the last `window` units of time.

    Parameters
    ----------
    window
        Longest window that can be asked for, in the unit of the times.
    seed
        As for every synopsis.
    """

    def __init__(self, window: int, *, seed: int = 0) -> None:
        if window < 1:
            raise BindError(
                f"{self.name} needs a window of 1 or more", f"got {window}", "write window=3600"
            )
        super().__init__(seed=seed)
        self.window = window

    @abstractmethod
    def _within(self, question: Any, window: int) -> Any:
        """Answer about the rows of (now - window, now]."""

    @abstractmethod
    def _expire(self, edge: int) -> None:
        """Let go what is of time `edge` or older."""

    def query(self, question: Question, *, window: int | None = None) -> Any:
        """Answer about the whole window, or about the newest part of it."""
        if window is None:
            return super().query(question)
        if not 0 < window <= self.window:
            raise BindError(
                f"{self.name} was built for windows up to {self.window}",
                f"asked about {window}",
                f"ask for 1 to {self.window}, or build it with a longer window",
            )
        if not isinstance(question, self.answers):
            return super().query(question)
        return self._within(question, window)

    def _moved(self, before: int) -> None:
        assert self.now is not None
        self._expire(self.now - self.window)

    def weights_at(self, times: Ints, now: int) -> Floats:
        """1 for the rows of (now - window, now], 0 for the others."""
        instants = np.asarray(times, np.int64)
        return ((instants > now - self.window) & (instants <= now)).astype(np.float64)

    def _join_clock(self, other: Self) -> None:
        """Move the clock to that of another part, if it is later."""
        known = [now for now in (self.now, other.now) if now is not None]
        if known:
            self.now = max(known)
            self._expire(self.now - self.window)

    def _answer(self, question: Any) -> Any:
        return self._within(question, self.window)

    def _instants(self, times: Ints | None, n: int) -> Ints:
        """Times of rows to be added, checked; the caller moves the clock to the last of them."""
        instants = self._numbered(times, n)
        earliest = instants[0] if self.now is None else self.now
        fallen = np.flatnonzero(np.diff(instants, prepend=earliest) < 0)
        if len(fallen):
            before = earliest if fallen[0] == 0 else instants[fallen[0] - 1]
            raise BindError(
                "times must not fall",
                f"{len(fallen)} rows are older than the row before, the first is "
                f"{instants[fallen[0]]} after {before}",
                "sort the rows by time up to the watermark first",
            )
        return instants


class Between(NamedTuple):
    """A number that is known to lie between two others."""

    value: float
    low: float
    high: float


class Lane(ABC):
    """State of the rows of one part."""

    @property
    def empty(self) -> bool:
        """Whether nothing is alive in it."""
        return self.buckets == 0

    @property
    @abstractmethod
    def buckets(self) -> int:
        """How many buckets it holds."""

    @abstractmethod
    def expire(self, edge: int) -> None:
        """Let go what is of time `edge` or older."""

    @abstractmethod
    def saved(self) -> tuple[Values, Arrays]:
        """Its state."""

    @abstractmethod
    def load(self, values: Values, arrays: Arrays) -> None:
        """Take state as saved."""

    @property
    def nbytes(self) -> int:
        """Bytes of its state."""
        return sum(array.nbytes for array in self.saved()[1].values())


L = TypeVar("L", bound=Lane)


class Laned(Clocked, Generic[L]):
    """A windowed synopsis whose parts stand side by side once merged.

    Parameters
    ----------
    window
        Longest window that can be asked for, in the unit of the times.
    seed
        As for every synopsis.
    """

    merging = "error"

    def __init__(self, window: int, *, seed: int = 0) -> None:
        super().__init__(window, seed=seed)
        self.lanes: list[L] = []

    @abstractmethod
    def _lane(self) -> L:
        """A lane of nothing."""

    def _first_lane(self) -> L:
        """The lane that takes new rows."""
        if not self.lanes:
            self.lanes.append(self._lane())
        return self.lanes[0]

    def _added(self, parts: list[Between]) -> Estimate:
        """The bar of a number that adds up over the lanes."""
        return self._bar(
            float(sum(part.value for part in parts)),
            float(sum(part.low for part in parts)),
            float(sum(part.high for part in parts)),
        )

    def _expire(self, edge: int) -> None:
        for lane in self.lanes:
            lane.expire(edge)
        self.lanes = [lane for lane in self.lanes if not lane.empty]

    def _merge(self, other: Self) -> None:
        for theirs in other.lanes:
            values, arrays = theirs.saved()
            mine = self._lane()
            mine.load(values, {name: array.copy() for name, array in arrays.items()})
            self.lanes.append(mine)
        self._join_clock(other)

    def _save(self) -> tuple[Values, Arrays]:
        values: list[Values] = []
        arrays: Arrays = {}
        for number, lane in enumerate(self.lanes):
            own, held = lane.saved()
            values.append(own)
            arrays |= {f"{number}.{name}": array for name, array in held.items()}
        return {"now": self.now, "lanes": values}, arrays

    def _load(self, values: Values, arrays: Arrays) -> None:
        self.now = values["now"]
        self.lanes = []
        for number, own in enumerate(values["lanes"]):
            lane = self._lane()
            prefix = f"{number}."
            held = {k[len(prefix) :]: v for k, v in arrays.items() if k.startswith(prefix)}
            lane.load(own, held)
            self.lanes.append(lane)

    @property
    def buckets(self) -> int:
        """How many buckets it holds."""
        return sum(lane.buckets for lane in self.lanes)

    @property
    def nbytes(self) -> int:
        """Bytes of all lanes."""
        return sum(lane.nbytes for lane in self.lanes)


def check_epsilon(name: str, epsilon: float) -> None:
    """Refuse an error that is none."""
    if not 0.0 < epsilon <= 1.0:
        raise BindError(
            f"{name} needs an error in (0, 1]", f"got epsilon={epsilon}", "write epsilon=0.01"
        )


def window_of(name: str, need: Need) -> int:
    """The window a need asks for."""
    if need.window is None or need.deletions:
        raise ContractUnsatisfiable(
            f"{name} keeps a sliding window and takes no deletions",
            f"asked for window={need.window}, deletions={need.deletions}",
            "give the window, or use a synopsis of the whole stream",
        )
    return need.window


def relative_error(name: str, contract: Contract) -> float:
    """The share of the value a contract allows."""
    if contract.tolerance != "relative":
        raise ContractUnsatisfiable(
            f"{name} owes a share of the value",
            f"asked for {contract}",
            "write Contract.relative(0.01), or keep the rows",
        )
    return min(contract.within, 1.0)


def alive(times: Ints, edge: int) -> int:
    """Place of the first of the ascending times that is newer than `edge`."""
    return int(np.searchsorted(times, edge, side="right"))


def not_about(name: str, asked: str, known: str) -> IncompatibleSynopsis:
    """The error of a question with another parameter than the synopsis was built for."""
    return IncompatibleSynopsis(
        f"{name} cannot answer {asked}", f"it was built for {known}", "build one for this question"
    )
