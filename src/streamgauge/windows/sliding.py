"""Windowed: any synopsis over a sliding window of event time.

Three ways, chosen by what the synopsis can do, never by its name:

- one that expires by itself is fed in order of time and asked when a window closes;
- one that is linear keeps a running total, from which old panes are taken away;
- any other that merges keeps a queue of panes that knows its merge in a constant number of merges
  for each pane (`daba`, or `two_stacks` on average).

Answers do not depend on how rows were cut into batches, nor on the order of rows of different
panes. A row is late when a window that should have held it is closed; late rows are counted and
left out.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamgauge.kernel.errors import BindError, UnsupportedWindow
from streamgauge.kernel.keys import Column, Items, items
from streamgauge.kernel.wire import Packed, pack, unpack
from streamgauge.synopses.bank import Bank
from streamgauge.synopses.questions import Question
from streamgauge.synopses.synopsis import Expiring, Floats, Ints, Subtractable, Synopsis
from streamgauge.windows.native import NativeWindow
from streamgauge.windows.pane_queue import PaneQueue, Slides, Strategy
from streamgauge.windows.summaries import OfBank, OfSynopsis

S = TypeVar("S", bound=Synopsis)
T = TypeVar("T")
Codes = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Closed(Generic[T]):
    """A window that no row can join any more.

    Parameters
    ----------
    start, end
        It holds the rows of (start, end].
    summary
        The synopsis of its rows, or a bank of one for each group; it shares nothing.
    answers
        Answers to the questions the window was built with, in their order: estimates, or bars of
        all groups.
    """

    start: int
    end: int
    summary: T
    answers: tuple[Any, ...] = ()


class Windowed(Generic[S]):
    """A synopsis over the last `window_length` of event time, given at every `slide`.

    Parameters
    ----------
    window_length
        Length of the window, in the unit of the times.
    slide
        Step at which windows end; windows end at multiples of it.
    model
        A synopsis of the kind, size and seed wanted. One that expires by itself must be built for
        this length.
    questions
        What to ask of each window when it closes.
    strategy
        How panes are merged: subtract, two_stacks or daba; chosen when None.

    Examples
    --------
    >>> from streamgauge.synopses.frequencies.count_min import CountMin
    >>> from streamgauge.synopses.questions import Frequency
    >>> window = Windowed(60, 20, CountMin(272, 3, seed=7), questions=(Frequency("a"),))
    >>> window.update([5, 18, 31, 25], ["a", "b", "a", "a"])
    >>> for closed in window.advance(45):
    ...     print(closed.start, closed.end, closed.answers[0].value)
    -40 20 1.0
    -20 40 3.0
    >>> window.update([39, 41], ["a", "a"])
    >>> window.late
    1

    References
    ----------
    LMTPT05, THS17: docs/guide/synopses_over_windows.md
    """

    def __init__(
        self,
        window_length: int,
        slide: int,
        model: S,
        *,
        questions: tuple[Question, ...] = (),
        strategy: Strategy | None = None,
    ) -> None:
        self.model = model
        self.questions = questions
        self.late = 0
        self.skipped = 0
        slides = Slides(window_length, slide)
        self._held: PaneQueue[S] | NativeWindow[S]
        if issubclass(type(model), Expiring):
            self._held = NativeWindow(slides, model)
        else:
            chosen = chosen_strategy(model, strategy)
            self._held = PaneQueue(slides, OfSynopsis(model), chosen)

    @property
    def strategy(self) -> str:
        """How the window is kept: native, subtract, two_stacks or daba."""
        return self._held.strategy

    @property
    def n_panes(self) -> int:
        """Panes held, open ones included; 0 for a synopsis that expires by itself."""
        held = self._held
        return len(held.open) + len(held.numbers) if isinstance(held, PaneQueue) else 0

    def update(self, times: Column, column: Column, weights: Column | None = None) -> None:
        """Take rows, in any order; those that are late are counted and left out."""
        given, instants, weight = rows_of(times, column, weights)
        late = self._held.slides.late(instants)
        on_time = np.flatnonzero(~late)
        if len(on_time):
            values = given.values.take(pa.array(on_time))
            part = None if weight is None else weight[on_time]
            if isinstance(self._held, PaneQueue):
                self._fold(self._held, instants[on_time], values, part)
            else:
                self._held.hold(instants[on_time], values, part)
        self.late += int(late.sum())
        self.skipped += given.skipped

    def advance(self, watermark: int) -> list[Closed[S]]:
        """Close windows that end at or before the watermark; those without rows are not told."""
        slides = self._held.slides
        last = slides.move(watermark)
        return [
            Closed(end - slides.length, end, summary, tuple(map(summary.query, self.questions)))
            for end, summary in self._closing(last)
        ]

    def current(self) -> S:
        """The synopsis of the next window to close, of the rows seen so far."""
        return self._held.current()

    def to_bytes(self) -> bytes:
        """Bytes of the whole state; a window read back gives the same answers."""
        values, parts = self._held.saved()
        values |= {"late": self.late, "skipped": self.skipped}
        return packed_parts("windowed", values, parts)

    def load(self, data: bytes) -> None:
        """Take state that a window of the same length, slide and model wrote."""
        values, parts = unpacked_parts("windowed", data)
        self.late, self.skipped = values["late"], values["skipped"]
        self._held.load(values, parts)

    def _fold(self, held: PaneQueue[S], times: Ints, values: Any, weights: Floats | None) -> None:
        panes = list(held.panes_of(times))
        fresh: dict[int, S] = {}
        for number, rows in panes:
            pane = held.open.get(number)
            if pane is None:
                pane = self.model.empty()
            elif len(panes) > 1:
                # A row that is refused must leave no trace in the panes before it.
                pane = pane.copy()
            pane.update(values.take(pa.array(rows)), None if weights is None else weights[rows])
            fresh[number] = pane
        held.open |= fresh

    def _closing(self, last: int) -> Iterator[tuple[int, S]]:
        for end, total in self._held.close(last):
            yield end, total.copy()


class GroupedWindowed:
    """A synopsis for each group over the last `window_length` of event time.

    Parameters
    ----------
    window_length, slide
        As for `Windowed`.
    model
        A synopsis of the kind, size and seed wanted for each group.
    questions
        What to ask of every group when a window closes.
    strategy
        How panes are merged: subtract, two_stacks or daba; chosen when None.

    Examples
    --------
    >>> from streamgauge.synopses.frequencies.count_min import CountMin
    >>> from streamgauge.synopses.questions import Count
    >>> window = GroupedWindowed(60, 20, CountMin(64, 3), questions=(Count(),))
    >>> window.update([5, 18, 31], [0, 1, 0], ["a", "b", "a"])
    >>> [closed.answers[0].value.tolist() for closed in window.advance(40)]
    [[1.0, 1.0], [2.0, 1.0]]
    """

    def __init__(
        self,
        window_length: int,
        slide: int,
        model: Synopsis,
        *,
        questions: tuple[Question, ...] = (),
        strategy: Strategy | None = None,
    ) -> None:
        if isinstance(model, Expiring):
            raise UnsupportedWindow(
                f"{model.name} expires by itself and has no bank of groups",
                "a bank takes rows without times",
                "keep one Windowed for each group, or use a synopsis that merges",
            )
        self.questions = questions
        self.late = 0
        self.skipped = 0
        self._banks = OfBank(model)
        slides = Slides(window_length, slide)
        self._held = PaneQueue(slides, self._banks, chosen_strategy(model, strategy))

    @property
    def strategy(self) -> str:
        """How the window is kept: subtract, two_stacks or daba."""
        return self._held.strategy

    def update(
        self, times: Column, groups: Column, column: Column, weights: Column | None = None
    ) -> None:
        """Take rows of groups 0, 1, ... (-1 is nobody's); late ones are counted and left out."""
        given, instants, weight = rows_of(times, column, weights)
        codes = given.align(np.asarray(groups, np.int32))
        assert codes is not None
        self._banks.n_groups = max(self._banks.n_groups, int(codes.max(initial=-1)) + 1)
        late = self._held.slides.late(instants)
        on_time = np.flatnonzero(~late)
        for number, rows in self._held.panes_of(instants[on_time]):
            places = on_time[rows]
            pane = self._held.open.setdefault(number, self._banks.empty())
            if pane.n_groups < self._banks.n_groups:
                pane.resize(self._banks.n_groups)
            part = None if weight is None else weight[places]
            pane.update(codes[places], given.values.take(pa.array(places)), part)
        self.late += int(late.sum())
        self.skipped += given.skipped

    def advance(self, watermark: int) -> list[Closed[Bank]]:
        """Close windows that end at or before the watermark; those without rows are not told."""
        slides = self._held.slides
        last = slides.move(watermark)
        closed = []
        for end, total in self._held.close(last):
            bank = self._banks.copied(total)
            answers = tuple(map(bank.bars, self.questions))
            closed.append(Closed(end - slides.length, end, bank, answers))
        return closed

    def current(self) -> Bank:
        """The bank of the next window to close, of the rows seen so far."""
        return self._held.current()

    def to_bytes(self) -> bytes:
        """Bytes of the whole state."""
        values, parts = self._held.saved()
        counts = {"late": self.late, "skipped": self.skipped, "groups": self._banks.n_groups}
        return packed_parts("grouped_windowed", values | counts, parts)

    def load(self, data: bytes) -> None:
        """Take state that a window of the same length, slide and model wrote."""
        values, parts = unpacked_parts("grouped_windowed", data)
        self.late, self.skipped = values["late"], values["skipped"]
        self._banks.n_groups = values["groups"]
        self._held.load(values, parts)


def chosen_strategy(model: Synopsis, wanted: Strategy | None) -> Strategy:
    """How panes of a synopsis are merged."""
    if model.merging == "none":
        raise UnsupportedWindow(
            f"{model.name} cannot be kept in panes",
            "its parts cannot be put together",
            "use a synopsis whose merging is not none, or one that expires by itself",
        )
    linear = isinstance(model, Subtractable)
    if wanted == "subtract" and not linear:
        raise UnsupportedWindow(
            f"{model.name} cannot be subtracted",
            "a pane that falls out of the window must be taken away from the total",
            "use strategy='daba' or 'two_stacks'",
        )
    return wanted or ("subtract" if linear else "daba")


def rows_of(
    times: Column, column: Column, weights: Column | None
) -> tuple[Items, Ints, Floats | None]:
    """Rows without nulls: items, times and weights."""
    given = items(column)
    size = len(given) + given.skipped
    instants = np.asarray(times, np.int64)
    weight = None if weights is None else np.asarray(weights, np.float64)
    if instants.shape != (size,) or (weight is not None and weight.shape != (size,)):
        raise BindError(
            "times and weights must match the items",
            f"{size} items, times of shape {instants.shape}",
            "give one time, and one weight or none, for each item",
        )
    kept = given.align(instants)
    assert kept is not None
    return given, kept, given.align(weight)


def packed_parts(kind: str, values: dict[str, Any], parts: list[bytes]) -> bytes:
    """Bytes of plain values and a list of bytes."""
    ends = np.cumsum([0, *map(len, parts)], dtype=np.int64)
    data = np.frombuffer(b"".join(parts), np.uint8)
    return pack(Packed(kind, 1, values, {"ends": ends, "bytes": data}))


def unpacked_parts(kind: str, data: bytes) -> tuple[dict[str, Any], list[bytes]]:
    """What `packed_parts` took."""
    packed = unpack(data, kind=kind, version=1)
    whole, ends = packed.arrays["bytes"].tobytes(), packed.arrays["ends"].tolist()
    return packed.values, [whole[start:stop] for start, stop in itertools.pairwise(ends)]
