"""Quantiles of a sliding window: what the block schemes have in common.

A fixed window of rows has one rung of blocks. With `any_width` a ladder of rungs and the newest
rows themselves are kept: then windows of time, windows that grow and shrink, and any shorter window
asked for later are all answered within the same error of the rows they hold.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from itertools import pairwise
from typing import Any, Self

import numpy as np

from streamgauge.contracts.estimate import Estimate
from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.errors import BindError, ContractUnsatisfiable
from streamgauge.synopses.quantiles.rank_summary import (
    ASKED,
    EMPTY,
    RankSummary,
    combine,
    of_rows,
    owed,
    stacked,
    unstacked,
)
from streamgauge.synopses.quantiles.window_blocks import (
    LONG_CHUNK,
    Level,
    Rung,
    WindowSummary,
    grid,
)
from streamgauge.synopses.questions import Quantile, Question
from streamgauge.synopses.synopsis import (
    Arrays,
    Expiring,
    Floats,
    Ints,
    Need,
    Synopsis,
    Trial,
    Values,
)

FIRST_BLOCK = 16


class WindowQuantiles(Synopsis, Expiring):
    """Quantiles of the rows later than `now - width`; see its two kinds for how."""

    cite = ""
    answers = ASKED
    takes = "numbers"
    weights = "none"
    merging = "none"

    def __init__(
        self, epsilon: float, width: int, any_width: bool = False, *, seed: int = 0
    ) -> None:
        super().__init__(seed=seed)
        if not 0.0 < epsilon <= 0.5 or width < 1:
            raise BindError(
                f"{self.name} needs an epsilon in (0, 0.5] and a width of 1 or more",
                f"got epsilon={epsilon}, width={width}",
                f"write {type(self).__name__}(0.01, width=1_000_000)",
            )
        self.epsilon, self.width, self.any_width = float(epsilon), int(width), bool(any_width)
        self.now = 0
        self._strict = True
        self._last: int | None = None
        rows = math.ceil(2 * FIRST_BLOCK / epsilon) if any_width else self.width
        size, self._chunk = grid(FIRST_BLOCK if any_width else epsilon * rows)
        self._tail_rows = math.ceil(rows / 2) if any_width else 0
        self._rungs = [self._rung(rows, size)]
        self._tail = np.empty(0)
        self._tail_times = np.empty(0, np.int64)
        self._flushed = 0

    @abstractmethod
    def _levels(self, rows: int, size: int, hidden: float) -> list[Level]:
        """Levels that cover `rows` rows, of blocks from `size` rows, hiding `hidden` in all."""

    @abstractmethod
    def _widened(self, top: list[Level], wide: list[Level], stop: int) -> list[Level]:
        """The levels of a rung twice as wide, from those of the top one, up to row `stop`."""

    def _rung(self, rows: int, size: int) -> Rung:
        # Half the gap is the error: twice epsilon of the rows may hide, less what the edge takes.
        # A window on a rung of a ladder holds more than half its rows, and marks are not exact.
        allowed, edge = (1.0, 0.625) if self.any_width else (2.0, 0.5)
        return Rung(rows, self._levels(rows, size, allowed * self.epsilon * rows - edge * size))

    @property
    def guarantee(self) -> Guarantee:
        """Rank within `epsilon` of the rows in the window."""
        fixed = ("one row in each unit of time (any_width needs nothing)",)
        return Guarantee(
            "rank", self.epsilon, assumes=() if self.any_width else fixed, cite=self.cite
        )

    @property
    def nbytes(self) -> int:
        """Bytes of all blocks, marks and waiting rows."""
        held = sum(
            part.nbytes
            for rung in self._rungs
            for level in rung.levels
            for part in (*level.done.values(), level.open)
        )
        marks = sum(rung.marks.nbytes for rung in self._rungs)
        return held + marks + self._tail.nbytes + self._tail_times.nbytes

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """A window of time, as wide as the need says."""
        epsilon = owed(need, cls.name, sure=True)
        if need.window is None or need.deletions:
            raise ContractUnsatisfiable(
                f"{cls.name} needs a window, and rows that stay until they expire",
                f"window={need.window}, deletions={need.deletions}",
                "give the length of the window, or use gk",
            )
        return cls(epsilon, need.window, True, seed=seed)

    @classmethod
    def specimen(cls, seed: int) -> Self:
        """A tenth of the last 700 rows; every other one serves any width."""
        return cls(0.1, 700, bool(seed % 2), seed=seed)

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Rows that change level while the window's edge lies in the middle of a block."""
        rng = np.random.default_rng(seed)
        rows = 1400 + int(rng.integers(0, 140))
        items = rng.normal(0.0, 1.0, rows) + np.arange(rows) // 233 * 3.0 * rng.choice([-1.0, 1.0])
        return Trial(items, Quantile(0.5), times=np.arange(rows), now=rows - 1)

    # Rows in.

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        last = self.now - 1 if self._last is None else self._last
        given = np.arange(last + 1, last + 1 + len(column)) if times is None else times
        steps = np.diff(given, prepend=given[0] if self._last is None else self._last)
        if (steps < 0).any() or given[0] < self.now:
            raise BindError(
                f"times given to {self.name} must not fall",
                f"{int(given[0])} to {int(given[-1])} after {max(self.now, last)}",
                "sort the rows by time, and leave out those that come too late",
            )
        inner = steps[1:] if self._last is None else steps
        self._strict = self._strict and bool((inner > 0).all())
        self._last = int(given[-1])
        self.now = max(self.now, self._last)
        self._tail = np.concatenate([self._tail, column])
        self._tail_times = np.concatenate([self._tail_times, given])
        self._flush()
        self._forget()

    @property
    def _kept(self) -> int:
        """Rows of the tail that are in blocks already."""
        return self._flushed - self._tail_start

    @property
    def _tail_start(self) -> int:
        return self.rows - len(self._tail)

    def _flush(self) -> None:
        """Put whole chunks of waiting rows into the blocks."""
        alive = self.rows - int((self._tail_times > self.now - self.width).sum())
        start = self._kept
        while start + self._chunk <= len(self._tail):
            length = self._length(len(self._tail) - start)
            rows = self._tail[start : start + length]
            times = self._tail_times[start : start + length]
            ordered = np.sort(rows)
            for rung in self._rungs:
                rung.mark(self._flushed, times)
                top = rung is self._rungs[-1]
                needed = alive if top else max(alive, self.rows - rung.rows)
                # A block that begins this early is out of the window by the end of the column. The
                # top of a ladder keeps even those: a wider rung may be made from them meanwhile.
                far = self._flushed + 2 * length <= needed - 2 * rung.longest
                if far and not (top and self.any_width):
                    rung.skip()
                    continue
                rung.fold(self._flushed, rows, ordered, self.epsilon)
            self._flushed += length
            start += length
            self._climb(int(times[-1]))
        # What is in blocks stays in the tail only where short windows are asked for.
        spare = min(start, max(0, len(self._tail) - self._tail_rows))
        self._tail, self._tail_times = self._tail[spare:].copy(), self._tail_times[spare:].copy()

    def _length(self, waiting: int) -> int:
        """Rows to take at once: a chunk, or more where blocks and chunks still fit together."""
        length = self._chunk
        sizes = [rung.levels[0].size for rung in self._rungs]
        while (
            2 * length <= min(waiting, LONG_CHUNK)
            and self._flushed % (2 * length) == 0
            and all(size % (2 * length) == 0 or 2 * length % size == 0 for size in sizes)
        ):
            length *= 2
        return length

    def _climb(self, now: int) -> None:
        """Forget by rows and by time; add a rung when the window outgrows the top one."""
        stop = self._flushed
        top = self._rungs[-1]
        for rung in self._rungs:
            first = rung.edge(now - self.width, stop, strict=self._strict).first
            rung.drop(first if rung is top else max(first, stop - rung.rows))
        if not self.any_width:
            return
        alive = stop - top.edge(now - self.width, stop, strict=self._strict).first
        if alive > top.rows:
            wide = self._rung(2 * top.rows, 2 * top.levels[0].size)
            wide.levels = self._widened(top.levels, wide.levels, stop)
            wide.take_marks(top)
            self._rungs.append(wide)

    def _forget(self) -> None:
        """Forget by the clock; drop rungs that the window has shrunk away from."""
        cutoff = self.now - self.width
        for rung in self._rungs:
            rung.drop(rung.edge(cutoff, self._flushed, strict=self._strict).first)
        while len(self._rungs) > 1:
            alive = self._flushed - self._rungs[-1].begins
            if 4 * alive >= self._rungs[-1].rows:
                break
            self._rungs.pop()

    # The clock.

    def advance(self, now: int) -> None:
        """Move the clock; blocks that lie before the window go."""
        self.now = max(self.now, int(now))
        self._forget()

    def weights_at(self, times: Ints, now: int) -> Floats:
        """1 for rows in the window, else 0."""
        inside = (times > now - self.width) & (times <= now)
        return inside.astype(np.float64)

    # Answers.

    def window(self, width: int | None = None) -> WindowSummary:
        """The rows of the last `width` units of time (or rows), at most the width it was made for.

        A shorter one than that is within `epsilon` only with `any_width`.
        """
        wide = self.width if width is None else width
        if not 0 < wide <= self.width:
            raise BindError(
                f"a width of {wide} cannot be answered",
                f"this window keeps {self.width}",
                "ask for a width from 1 to that",
            )
        cutoff = self.now - wide
        if self._last is None or self._last <= cutoff:
            return WindowSummary(EMPTY)
        if self._tail_start == 0 or (len(self._tail) and self._tail_times[0] <= cutoff):
            return WindowSummary(of_rows(self._tail[self._tail_times > cutoff]))
        stop = self._flushed
        waiting = of_rows(self._tail[self._kept :])
        # All waiting rows are later than the tail's first, which is in the window.
        later = self._tail_start if len(self._tail) else stop
        rung = next((r for r in self._rungs if self._reaches(r, cutoff)), self._rungs[-1])
        edge = rung.edge(cutoff, later, strict=self._strict)
        size = rung.levels[0].size
        begin = edge.first - edge.first % size
        if edge.last == begin:
            return WindowSummary(combine(*rung.cover(begin, stop), waiting))
        block = rung.block(edge.first, stop)
        whole = combine(*rung.cover(begin + size, stop), waiting)
        return WindowSummary(
            whole, block, block.mass - (edge.last - begin), block.mass - (edge.first - begin)
        )

    def _reaches(self, rung: Rung, cutoff: int) -> bool:
        return rung.begins == 0 or bool(len(rung.marks) and rung.marks[0] <= cutoff)

    def query_over(self, question: Question, width: int) -> Estimate:
        """Answer a question about the last `width` units of time (or rows)."""
        return self._told(self.window(width), question)

    def _answer(self, question: Any) -> Any:
        return self._told(self.window(), question)

    def _told(self, window: WindowSummary, question: Question) -> Estimate:
        value, low, high = window.ask(question)
        if math.isnan(value):
            return Estimate(value, low, high, basis=self.name)
        return self._bar(value, low, high, 0.0)

    # Bytes.

    def _save(self) -> tuple[Values, Arrays]:
        parts: list[RankSummary] = []
        places = []
        for i, rung in enumerate(self._rungs):
            for j, level in enumerate(rung.levels):
                blocks = [*level.done.items(), (-1, level.open)]
                places += [[i, j, begin] for begin, _ in blocks]
                parts += [part for _, part in blocks]
        columns, table = stacked(parts)
        own = {
            "now": self.now,
            "last": self._last,
            "strict": self._strict,
            "flushed": self._flushed,
            "rungs": [[rung.begins, len(rung.marks)] for rung in self._rungs],
        }
        return own, {
            "columns": columns,
            "table": table,
            "places": np.array(places, np.int64).reshape(len(places), 3),
            "marks": np.concatenate([rung.marks for rung in self._rungs]),
            "tail": self._tail,
            "tail_times": self._tail_times,
        }

    def _load(self, values: Values, arrays: Arrays) -> None:
        self.now, self._last = values["now"], values["last"]
        self._strict, self._flushed = values["strict"], values["flushed"]
        self._tail, self._tail_times = arrays["tail"], arrays["tail_times"]
        marks = 0
        for i, (begins, count) in enumerate(values["rungs"]):
            if i:
                below = self._rungs[-1]
                self._rungs.append(self._rung(2 * below.rows, 2 * below.levels[0].size))
            self._rungs[i].begins = begins
            self._rungs[i].marks = arrays["marks"][marks : marks + count]
            marks += count
        for (i, j, begin), part in zip(
            arrays["places"], unstacked(arrays["columns"], arrays["table"]), strict=True
        ):
            level = self._rungs[i].levels[j]
            if begin < 0:
                level.open = part if part.mass else EMPTY
            else:
                level.done[int(begin)] = part

    def validate(self) -> None:
        """Blocks of the smallest size lie end to end, and hide no more than they may."""
        for rung in self._rungs:
            level = rung.levels[0]
            begins = sorted(level.done)
            assert all(b - a == level.size for a, b in pairwise(begins))
            for each in rung.levels if not self.any_width else []:
                assert all(part.gap <= max(0.0, each.gap) for part in each.done.values())
