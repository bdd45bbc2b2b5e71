"""Frequent items of a sliding window: counters for blocks of rows, at every scale.

Rows are summarised in blocks whose sizes double from level to level. The window is covered by a few
blocks, large ones in the middle and small ones at its old end, so that only a small block lies
across the boundary. A block need only be as exact as a window that is long enough to reach it, so
counters are given back as it grows old, and blocks too small for their age are dropped.
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple, Self

import numpy as np

from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.errors import BindError
from streamgauge.kernel.keys import Column
from streamgauge.synopses.frequencies.listed import HASHED_TEXT, Entries, Listed, share_owed
from streamgauge.synopses.frequencies.vocabulary import Vocabulary, Words
from streamgauge.synopses.questions import Count, Frequency, HeavyHitters
from streamgauge.synopses.synopsis import Array, Arrays, Expiring, Floats, Ints, Need, Trial, Values

TIME_BLOCK = 128


class Block(NamedTuple):
    """Counters of consecutive rows: words ascending, upper ends, errors, and what was dropped."""

    words: Words
    counts: Floats
    errors: Floats
    floor: float
    rows: int
    first: int
    last: int


class Cover(NamedTuple):
    """Blocks inside the window, perhaps one across its boundary, and the newest rows."""

    inside: list[tuple[int, Block]]
    across: tuple[int, Block] | None
    newest: Words


class WindowFrequent(Listed, Expiring):
    """Frequent items of the last `window`, each off by at most `epsilon` of its rows.

    Parameters
    ----------
    window
        Length of the window: rows, or units of the times that rows come with.
    epsilon
        Share of the window's rows by which a frequency may be off.
    by
        "rows" when times are row numbers, "time" when any number of rows may share an instant.
    seed
        Chooses the hash of texts.

    Examples
    --------
    >>> recent = WindowFrequent(window=100, epsilon=0.1, by="rows")
    >>> recent.update(["old"] * 500 + ["new"] * 90, times=np.arange(590))
    >>> print(recent.query(Frequency("new")))
    90 in [90, 90], window_frequent
    >>> [found.item for found in recent.query(HeavyHitters(0.5))]
    ['new']

    References
    ----------
    AM04: docs/reference/synopses/frequencies.md
    """

    name = "window_frequent"
    weights = "none"
    merging = "none"
    small = (600, 0.1, "rows")

    def __init__(
        self,
        window: int,
        epsilon: float,
        by: Literal["rows", "time"] = "time",
        *,
        seed: int = 0,
    ) -> None:
        super().__init__(seed=seed)
        if window < 1 or not 0.0 < epsilon < 1.0 or by not in ("rows", "time"):
            raise BindError(
                "window_frequent needs a window, a share between 0 and 1, and rows or time",
                f"window={window}, epsilon={epsilon}, by={by!r}",
                'write WindowFrequent(1_000_000, 0.01, by="rows")',
            )
        self.window, self.epsilon, self.by = window, epsilon, by
        scales = math.log2(4.0 / epsilon) + 1.0
        if by == "rows":
            # A quarter of the error for the block across the boundary; the rest for the cover,
            # which on its old side has one block of each scale, each off by window / finest.
            self.block, self.raw = max(1, int(epsilon * window / 4.0)), 0
            self.finest = math.ceil(4.0 * scales / (3.0 * epsilon))
        else:
            # How many rows a window will have is not known: raw rows are kept as far back as the
            # smallest block is too coarse, and half of the error is for the block across, which
            # grows with the age; on both sides of a cover is one block of each scale.
            self.block, self.raw = TIME_BLOCK, math.ceil(4.0 / epsilon) * TIME_BLOCK
            self.finest = math.ceil(4.0 * scales / epsilon)
        self.now = np.iinfo(np.int64).min
        self.seen = 0
        self.recent: Words = np.empty(0, np.uint64)
        self.recent_times: Ints = np.empty(0, np.int64)
        self.levels: list[dict[int, Block]] = []
        self.vocabulary = Vocabulary(seed=seed, room=8 * self.finest)

    @property
    def guarantee(self) -> Guarantee:
        """Off by at most `epsilon` of the rows in the window; it cannot fail."""
        assumes = (HASHED_TEXT, "the mass is the rows in the window", "times do not fall")
        return Guarantee("additive", self.epsilon, 0.0, assumes, "AM04")

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """The window of the need, and its tolerance as epsilon."""
        if need.window is None:
            raise BindError(
                "window_frequent needs a window", "the need names none", "use space_saving"
            )
        epsilon = share_owed(need, cls.name)
        if isinstance(need.question, HeavyHitters):
            epsilon = min(epsilon, need.question.share / 2.0)
        return cls(need.window, min(epsilon, 0.5), seed=seed)

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """One item just left the window, and the others are too many for the counters."""
        rows = np.arange(1600, dtype=np.int64) + 10
        rows[400:1010] = seed % 10
        times = np.arange(1600, dtype=np.int64)
        return Trial(rows, Frequency(seed % 10), times=times, now=1599)

    # The clock and the rows.

    @property
    def boundary(self) -> int:
        """Rows of later times are in the window."""
        return max(self.now, np.iinfo(np.int64).min + self.window) - self.window

    def advance(self, now: int) -> None:
        """Move the clock; blocks that are wholly too old go."""
        self.now = max(self.now, int(now))
        for level, blocks in enumerate(self.levels):
            self.levels[level] = {
                place: block for place, block in blocks.items() if block.last > self.boundary
            }

    def weights_at(self, times: Ints, now: int) -> Floats:
        """One within the window, else zero."""
        return ((times > now - self.window) & (times <= now)).astype(np.float64)

    def update(
        self, column: Column, weights: Column | None = None, times: Column | None = None
    ) -> None:
        """Fold a column of items with their times, which do not fall."""
        instants: Ints = np.asarray([] if times is None else times, np.int64)
        rising = bool((instants >= self.now).all() and (np.diff(instants) >= 0).all())
        if instants.shape != (len(column),) or not rising:
            raise BindError(
                "window_frequent needs times that do not fall, one for each item",
                f"{instants.size} times for {len(column)} items, the last before was {self.now}",
                "give times=, in ascending order; row numbers for a window of rows",
            )
        super().update(column, weights, instants)

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        assert times is not None
        self.recent = np.concatenate([self.recent, column])
        self.recent_times = np.concatenate([self.recent_times, times])
        start = self.seen + len(column) - len(self.recent)
        closed = self.seen // self.block
        self.seen += len(column)
        for place in range(closed, self.seen // self.block):
            self._close(place, place * self.block - start)
        keep = self.seen % self.block + min(self.raw, self.seen // self.block * self.block)
        self.recent = self.recent[-keep:] if keep else self.recent[:0]
        self.recent_times = self.recent_times[-keep:] if keep else self.recent_times[:0]
        self.advance(int(times[-1]))
        self.vocabulary.keep(self._held_words())

    def _close(self, place: int, start: int) -> None:
        """Summarise a full block of recent rows, and larger ones that it completes."""
        rows = slice(start, start + self.block)
        first, last = self.recent_times[rows][[0, -1]].tolist()
        new = _counted(self.recent[rows], first, last)
        self.now = last
        for level in range(place.bit_length() + 1):
            if level == len(self.levels):
                self.levels.append({})
            blocks = self.levels[level]
            blocks[place] = new = _cut(new, self.finest)
            sibling = blocks.get(place - 1)
            self._age(level, place)
            if place % 2 == 0:
                break
            # What is too old by now does not count, whether or not it has been cleared away.
            if sibling is not None and sibling.last > self.boundary:
                new = _joined(sibling, new)
            place //= 2

    def _age(self, level: int, newest: int) -> None:
        """Drop blocks that are too old for their size; give back counters of aging ones."""
        blocks = self.levels[level]
        if self.raw:
            blocks.pop(newest - self.raw // self.block - 2, None)
        oldest = next(iter(blocks))
        if blocks[oldest].last <= self.boundary:
            del blocks[oldest]
        step = 1
        while step <= newest - oldest:
            old = blocks.get(newest - step)
            if old is not None and len(old.words) > math.ceil(self.finest / step):
                blocks[newest - step] = _cut(old, math.ceil(self.finest / step))
            step *= 2

    # Answers.

    def _cover(self) -> Cover:
        alive = int(np.searchsorted(self.recent_times, self.boundary, side="right"))
        place = self.seen - len(self.recent)
        inside: list[tuple[int, Block]] = []
        if alive:
            return Cover(inside, None, self.recent[alive:])
        while True:
            fits = [
                (level, self.levels[level][place // size - 1])
                for level in range(len(self.levels))
                for size in [self.block << level]
                if place % size == 0 and place // size - 1 in self.levels[level]
            ]
            whole = [(level, block) for level, block in fits if block.first > self.boundary]
            if not whole:
                across = [pair for pair in fits if pair[1].last > self.boundary]
                return Cover(inside, across[0] if across else None, self.recent)
            inside.append(whole[-1])
            place -= self.block << whole[-1][0]

    @property
    def total(self) -> float:
        """Rows surely in the window."""
        inside, _, newest = self._cover()
        return float(len(newest) + sum(block.rows for _, block in inside))

    @property
    def unlisted(self) -> float:
        """What all blocks of the cover may have dropped of one item."""
        inside, across, _ = self._cover()
        return sum(block.floor for _, block in inside) + (across[1].floor if across else 0.0)

    def _answer(self, question: Any) -> Any:
        if isinstance(question, Count):
            across = self._cover().across
            low = self.total
            return self._bar(low, low, low + (across[1].rows if across else 0))
        return super()._answer(question)

    def _entries(self) -> Entries:
        inside, across, newest = self._cover()
        sums = _counted(newest, 0, 0)
        for _, block in inside:
            sums = _joined(block, sums)
        if across is not None:
            # Any part of the block may be outside: what it counted is all error.
            loose = across[1]._replace(errors=across[1].counts)
            sums = _joined(loose, sums)
        return Entries(sums.words, sums.counts - sums.errors, sums.counts)

    # State.

    @property
    def nbytes(self) -> int:
        """Bytes of all blocks, the newest rows and the kept texts."""
        arrays: list[Array] = [self.recent, self.recent_times]
        for blocks in self.levels:
            for block in blocks.values():
                arrays += [block.words, block.counts, block.errors]
        return sum(array.nbytes for array in arrays) + self.vocabulary.nbytes

    def _held_words(self) -> Words:
        if not self.vocabulary.textual:
            return self.recent
        held = [block.words for blocks in self.levels for block in blocks.values()]
        return np.unique(np.concatenate([self.recent, *held]))

    def _save(self) -> tuple[Values, Arrays]:
        blocks = [
            (level, place, block)
            for level, here in enumerate(self.levels)
            for place, block in here.items()
        ]
        heads = [[lv, at, len(b.words), b.rows, b.first, b.last] for lv, at, b in blocks]
        arrays: Arrays = {
            "recent": self.recent,
            "recent_times": self.recent_times,
            "heads": np.array(heads, np.int64).reshape(-1, 6),
            "floors": np.array([block.floor for _, _, block in blocks], np.float64),
        }
        empty: dict[str, Any] = {"words": np.uint64, "counts": np.float64, "errors": np.float64}
        for name, dtype in empty.items():
            parts = [getattr(block, name) for _, _, block in blocks]
            arrays[name] = np.concatenate([np.empty(0, dtype), *parts])
        values = {"now": self.now, "seen": self.seen, "levels": len(self.levels)}
        return values, {**arrays, **self.vocabulary.save(self._held_words())}

    def _load(self, values: Values, arrays: Arrays) -> None:
        self.now, self.seen = values["now"], values["seen"]
        self.recent, self.recent_times = arrays["recent"], arrays["recent_times"]
        self.levels = [{} for _ in range(values["levels"])]
        start = 0
        for head, floor in zip(arrays["heads"].tolist(), arrays["floors"].tolist(), strict=True):
            level, place, size, rows, first, last = head
            words, counts, errors = (
                arrays[name][start : start + size] for name in ("words", "counts", "errors")
            )
            self.levels[level][place] = Block(words, counts, errors, floor, rows, first, last)
            start += size
        self.vocabulary.load(arrays)

    def validate(self) -> None:
        """Blocks hold no more than they should, and their floors are paid for."""
        assert self.seen == self.rows
        for level, blocks in enumerate(self.levels):
            for block in blocks.values():
                assert len(block.words) <= self.finest
                assert float((block.counts - block.errors).sum()) <= block.rows
                assert block.rows <= self.block << level
                assert (block.errors <= block.floor).all()


def _counted(rows: Words, first: int, last: int) -> Block:
    """Exact counters of some rows."""
    words, counts = np.unique(rows, return_counts=True)
    exact = counts.astype(np.float64)
    return Block(words, exact, np.zeros(len(words)), 0.0, len(rows), first, last)


def _joined(one: Block, two: Block) -> Block:
    """Counters of the rows of two blocks, the older first."""
    words = np.union1d(one.words, two.words)
    counts, errors = np.zeros(len(words)), np.zeros(len(words))
    for block in (one, two):
        here = np.searchsorted(words, block.words)
        more, wrong = np.full(len(words), block.floor), np.full(len(words), block.floor)
        more[here], wrong[here] = block.counts, block.errors
        counts += more
        errors += wrong
    floor, rows = one.floor + two.floor, one.rows + two.rows
    return Block(words, counts, errors, floor, rows, one.first, two.last)


def _cut(block: Block, capacity: int) -> Block:
    """The block with its `capacity` largest counters."""
    if len(block.words) <= capacity:
        return block
    place = len(block.words) - capacity - 1
    floor = float(np.partition(block.counts, place)[place])
    held = block.counts > floor
    return block._replace(
        words=block.words[held],
        counts=block.counts[held],
        errors=block.errors[held],
        floor=floor,
    )
