"""PaneQueue: which panes are open, which make up the window, and when a window closes.

Time is cut into panes, ((p - 1) * width, p * width] being pane p, so that every window is a row of
panes. Rows go to open panes in any order. When a window closes its last panes join a queue that
knows the merge of all it holds, and the panes that fell out leave it. Panes without rows cost
nothing, and a long silence no more than a short one.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from typing import Any, Generic, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.errors import BindError, UnsupportedWindow
from streamgauge.windows.daba import Daba
from streamgauge.windows.running import Running
from streamgauge.windows.summaries import Summaries
from streamgauge.windows.two_stacks import TwoStacks

T = TypeVar("T")
Ints = npt.NDArray[np.int64]
Strategy = Literal["subtract", "two_stacks", "daba"]


class Slides:
    """Windows (e - length, e] with e a multiple of the slide, closed as the watermark passes.

    Parameters
    ----------
    length, slide
        In the unit of the times.
    """

    def __init__(self, length: int, slide: int) -> None:
        if length < 1 or slide < 1:
            raise UnsupportedWindow(
                "a window needs a positive length and a positive slide",
                f"got length {length}, slide {slide}",
                "write Windowed(3600, 60, model)",
            )
        self.length = length
        self.slide = slide
        self.watermark: int | None = None
        # End of the last window that may have been given: rows up to it are late.
        self.closed: int | None = None

    def late(self, times: Ints) -> npt.NDArray[np.bool_]:
        """Which rows a window that is already closed should have held."""
        return np.zeros(len(times), np.bool_) if self.closed is None else times <= self.closed

    def end_for(self, time: int) -> int:
        """End of the first window, not yet closed, that can hold a row of this time."""
        end = -(-time // self.slide) * self.slide
        return end if self.closed is None else max(end, self.closed + self.slide)

    def move(self, watermark: int) -> int:
        """Take a watermark; return the end of the last window it closes."""
        if self.watermark is not None and watermark < self.watermark:
            raise BindError(
                "a watermark does not go back",
                f"it is {self.watermark}, got {watermark}",
                "advance to the largest one",
            )
        self.watermark = int(watermark)
        return self.watermark // self.slide * self.slide


class PaneQueue(Generic[T]):
    """Panes of a sliding window over summaries of any kind.

    Parameters
    ----------
    slides
        The windows.
    summaries
        How the content of panes is made and merged.
    strategy
        subtract (linear summaries only), two_stacks or daba.
    """

    def __init__(self, slides: Slides, summaries: Summaries[T], strategy: Strategy) -> None:
        self.slides = slides
        self.summaries = summaries
        self.strategy = strategy
        self.width = math.gcd(slides.length, slides.slide)
        self.open: dict[int, T] = {}
        self.numbers: deque[int] = deque()
        self.queue: Running[T] | TwoStacks[T] | Daba[T]
        if strategy == "subtract":
            self.queue = Running(summaries.empty, put=summaries.put, take=summaries.take)
        else:
            kind: Any = TwoStacks if strategy == "two_stacks" else Daba
            self.queue = kind(summaries.merged)

    def panes_of(self, times: Ints) -> Iterator[tuple[int, npt.NDArray[np.intp]]]:
        """Panes that rows fall into, with the places of their rows in order."""
        numbers = -((-times) // self.width)
        order = np.argsort(numbers, kind="stable")
        ordered = numbers[order]
        cuts = np.flatnonzero(np.diff(ordered)) + 1
        for part in np.split(order, cuts) if len(order) else ():
            yield int(numbers[part[0]]), part

    def close(self, last: int) -> Iterator[tuple[int, T]]:
        """End and merge of each window up to `last` that holds rows; the merge is not a copy."""
        while True:
            end = self._next_end()
            if end is None or end > last:
                break
            self._join(end)
            self._leave(end - self.slides.length)
            self.slides.closed = end
            total = self.queue.total()
            if total is not None:
                yield end, total
        self.slides.closed = last if self.slides.closed is None else max(last, self.slides.closed)
        self._leave(self.slides.closed + self.slides.slide - self.slides.length)

    def current(self) -> T:
        """Merge of the rows seen so far of the next window to close."""
        end = self._next_end()
        whole = self.summaries.empty()
        if end is None:
            return whole
        total = self.queue.total()
        if total is not None:
            whole = self.summaries.copied(total)
        for number in sorted(self.open):
            if end - self.slides.length < number * self.width <= end:
                self.summaries.put(whole, self.open[number])
        return whole

    def _next_end(self) -> int | None:
        if self.numbers:
            assert self.slides.closed is not None
            return self.slides.closed + self.slides.slide
        return self.slides.end_for(min(self.open) * self.width) if self.open else None

    def _join(self, end: int) -> None:
        for number in sorted(number for number in self.open if number * self.width <= end):
            self.queue.push(self.open.pop(number))
            self.numbers.append(number)

    def _leave(self, edge: int) -> None:
        while self.numbers and self.numbers[0] * self.width <= edge:
            self.numbers.popleft()
            self.queue.pop()

    def saved(self) -> tuple[dict[str, Any], list[bytes]]:
        """Layout of the panes, and the bytes of all summaries held."""
        parts, layout = self.queue.parts()
        held = [*parts, *self.open.values()]
        values = {
            "open": list(self.open),
            "numbers": list(self.numbers),
            "layout": layout,
            "watermark": self.slides.watermark,
            "closed": self.slides.closed,
        }
        return values, [self.summaries.to_bytes(part) for part in held]

    def load(self, values: dict[str, Any], data: list[bytes]) -> None:
        """Take state as saved."""
        held = [self.summaries.from_bytes(part) for part in data]
        cut = len(held) - len(values["open"])
        self.queue.restore(held[:cut], values["layout"])
        self.open = dict(zip(values["open"], held[cut:], strict=True))
        self.numbers = deque(values["numbers"])
        self.slides.watermark, self.slides.closed = values["watermark"], values["closed"]
