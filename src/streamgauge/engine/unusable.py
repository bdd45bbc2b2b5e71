"""Rows that could not be used, held against those that could: what answers then cover.

Rows are counted by the tick that first sees them, finely for a while and coarsely for longer, so
that the counts of a window depend on event time alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from streamgauge.plan.nodes import Numbers, Scan, Windowed
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Registry
from streamgauge.plan.view import View
from streamgauge.streams.stream import Stream
from streamgauge.windows.window import BEGINNING, Window

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

# Windows of so many steps are counted by it: of ticks, then of so many ticks, then all rows.
STEPS = 1024
COARSE = 256
# Stands for the tick of rows that came before any time was known.
EVER = 2**60
# A row weighs less than the rounding of a sum after so many half-lives.
HALF_LIVES = 64


def _nothing() -> Ints:
    return np.empty((3, 0), np.int64)


@dataclass(slots=True)
class Tally:
    """Rows of a stream by tick: those in use, and those that could not be used.

    `fine` and `coarse` have three rows: the step, rows in use, rows lost. `total` has the rows in
    use and lost since the stream began. Windows that end after `edge` are counted exactly.

    Examples
    --------
    >>> tally = Tally()
    >>> tally.use(np.array([1, 2]), np.array([2, 1]))
    >>> tally.lose(np.array([2]), np.array([3]))
    >>> tally.within(np.array([1, 1, 2]), np.array([1, 2, 2])).tolist()
    [[2, 3, 1], [0, 3, 3]]
    """

    total: Ints = field(default_factory=lambda: np.zeros(2, np.int64))
    fine: Ints = field(default_factory=_nothing)
    coarse: Ints = field(default_factory=_nothing)
    edge: int = -EVER

    @property
    def lost(self) -> int:
        """Rows that could not be used so far."""
        return int(self.total[1])

    def use(self, ticks: Ints, counts: Ints) -> None:
        """Count rows in use."""
        self._add(1, ticks, counts)

    def lose(self, ticks: Ints, counts: Ints) -> None:
        """Count rows that could not be used."""
        self._add(2, ticks, counts)

    def _add(self, column: int, ticks: Ints, counts: Ints) -> None:
        if not len(ticks):
            return
        here = np.zeros((3, len(ticks)), np.int64)
        here[0], here[column] = ticks, counts
        self.total += here[1:].sum(axis=1)
        self.fine = _added(self.fine, here)
        here[0] = np.where(here[0] == -EVER, -EVER, here[0] // COARSE)
        self.coarse = _added(self.coarse, here)

    def begin(self, first: int) -> None:
        """Count what was lost before the first row as lost with it."""
        early = self.fine[0] == -EVER
        if early.any():
            lost = self.fine[2, early].sum()
            for name in ("fine", "coarse"):
                counts = getattr(self, name)
                setattr(self, name, counts[:, counts[0] > -EVER])
            self.total[1] -= lost
            self.lose(np.array([first]), np.array([lost]))

    def forget(self, before: int) -> None:
        """Let go of what no window that ends after a tick is counted by."""
        self.edge = before
        self.fine = self.fine[:, self.fine[0] > before - STEPS]
        self.coarse = self.coarse[:, self.coarse[0] > before // COARSE - STEPS - 1]

    def within(self, start: Ints, stop: Ints) -> Ints:
        """Rows in use and lost at the ticks from `start` to `stop`, both included.

        Of windows that ended long ago rather too many are counted than too few.
        """
        upto, width = _upto(self.fine, stop, self.total), stop - start
        finely = (width < STEPS) & (start > self.edge - STEPS)
        begun = start // COARSE
        roughly = (width < STEPS * COARSE) & (begun > self.edge // COARSE - STEPS - 1)
        before = np.where(roughly, _upto(self.coarse, begun - 1, self.total), 0)
        before = np.where(finely, _upto(self.fine, start - 1, self.total), before)
        return np.maximum(upto - before, 0)

    def held_by(self, rows: int, stop: Ints) -> Ints:
        """The tick from which on there are so many rows in use, up to each of some ticks."""
        upto = _upto(self.fine, stop, self.total)[0]
        base = self.total[0] - self.fine[1].sum()
        places = np.searchsorted(base + np.cumsum(self.fine[1]), upto - rows, side="right")
        found = np.append(self.fine[0], stop.max(initial=0))[places]
        near = (upto - rows >= base) & (found > stop - STEPS)
        return np.where(near, np.minimum(found, stop), BEGINNING)


def _added(known: Ints, here: Ints) -> Ints:
    both = np.concatenate((known, here), axis=1)
    steps, places = np.unique(both[0], return_inverse=True)
    out = np.zeros((3, len(steps)), np.int64)
    out[0] = steps
    for column in (1, 2):
        np.add.at(out[column], places, both[column])
    return out


def _upto(counts: Ints, steps: Ints, total: Ints) -> Ints:
    """Rows in use and lost up to each step, when `total` is that of all steps."""
    sums = np.cumsum(counts[1:], axis=1)
    before = total - (sums[:, -1] if counts.shape[1] else 0)
    sums = np.concatenate((np.zeros((2, 1), np.int64), sums), axis=1) + before[:, None]
    return sums[:, np.searchsorted(counts[0], steps, side="right")]


@dataclass(frozen=True, slots=True)
class Reach:
    """How far back a query looks into a stream."""

    stream: str
    window: Window | None
    slide: int = 0

    def lost(self, tally: Tally, stream: Stream, instants: Ints) -> Ints:
        """Rows in use and lost in the window, at some instants."""
        edges = instants // self.slide * self.slide if self.slide else instants
        stop = edges // stream.tick
        return tally.within(self._start(tally, stream, edges, stop), stop)

    def _start(self, tally: Tally, stream: Stream, edges: Ints, stop: Ints) -> Ints:
        window, tick = self.window, stream.tick
        kind = "latest" if window is None else window.kind
        if window is None or kind in ("partition", "session"):
            # A series that is silent for longer is interrupted, or nothing is said of its age.
            length = max(stream.keep, stream.expected_gap or 0, window.length if window else 0)
            return (edges - length) // tick + 1
        if kind == "landmark":
            start = BEGINNING if window.start == BEGINNING else -(-window.start // tick)
            return np.full(len(stop), start, np.int64)
        if kind == "rows":
            return tally.held_by(window.rows, stop)
        length = {"now": tick, "decay": HALF_LIVES * window.length}.get(kind, window.length)
        return (edges - length) // tick + 1


def reaches(asked: Query | View, registry: Registry) -> tuple[Reach, ...]:
    """The streams that a query reads, with how far back."""
    if isinstance(asked, Query):
        return tuple(_of_query(asked, registry))
    found: list[Reach] = []
    for node in asked.plan.walk():
        if isinstance(node, Windowed):
            streams = [scan.stream for scan in node.walk() if isinstance(scan, Scan)]
            found += [Reach(name, node.window) for name in streams]
        elif isinstance(node, Numbers):
            found += _of_query(node.asked, registry)
    seen = {reach.stream for reach in found}
    # Rows that no window holds are looked at as they come, and none comes back.
    endless = Window("landmark", start=BEGINNING)
    found += [Reach(name, endless) for name in asked.streams if name not in seen]
    return tuple(found)


def _of_query(query: Query, registry: Registry) -> Iterable[Reach]:
    period = query.answer.period or None
    for part in query.parts:
        tick = registry.stream(part.stream).tick
        yield Reach(part.stream, part.window, _slide(part.window, tick, period))
    if not query.parts:
        window = registry.window_of(query)
        if query.over is not None and query.over.window.kind == "landmark":
            window = query.over.window
        elif query.over is not None:
            window = Window("session", length=query.over.window.length)
        yield Reach(
            query.stream, window, _slide(window, registry.stream(query.stream).tick, period)
        )


def _slide(window: Window | None, tick: int, period: int | None) -> int:
    if window is None or window.kind != "range":
        return 0
    return window.slide_for(tick, period)


# How far back the query of a number looks.
Looks = Callable[[int], tuple[Reach, ...]]


@dataclass(frozen=True, slots=True)
class Losses:
    """What all streams of a shard have lost, for whoever answers from them."""

    registry: Registry
    tallies: dict[str, Tally]

    def coverage(self, found: Iterable[Reach], instants: Ints) -> Floats:
        """Share of the rows of windows that could be used, at some instants."""
        covered = np.ones(len(instants))
        for used, lost in self._each(found, instants):
            here = np.where(lost > 0, used / np.maximum(used + lost, 1), 1.0)
            covered = np.minimum(covered, here)
        return covered

    def coverage_of_each(self, looks: Looks, who: npt.NDArray[np.int32], instants: Ints) -> Floats:
        """The same of answers of many queries, given the number of each one's query."""
        numbers, places = np.unique(who, return_inverse=True)
        alike: dict[tuple[Reach, ...], int] = {}
        kinds = [alike.setdefault(looks(number), len(alike)) for number in numbers.tolist()]
        kind = np.array(kinds, np.int64)[places]
        covered = np.ones(len(instants))
        for found, number in alike.items():
            here = kind == number
            covered[here] = self.coverage(found, instants[here])
        return covered

    def rows(self, found: Iterable[Reach], instants: Ints) -> Ints:
        """Rows that windows should hold and could not use, at some instants."""
        total = np.zeros(len(instants), np.int64)
        for _, lost in self._each(found, instants):
            total += lost
        return total

    def _each(self, found: Iterable[Reach], instants: Ints) -> Iterable[Ints]:
        for reach in found:
            if self._known(reach.stream):
                stream = self.registry.stream(reach.stream)
                yield reach.lost(self.tallies[reach.stream], stream, instants)

    def __bool__(self) -> bool:
        return any(tally.lost for tally in self.tallies.values())

    def _known(self, name: str) -> bool:
        return name in self.tallies and self.tallies[name].lost > 0


class Counted(Protocol):
    """Whoever brings a stream forward and counts its rows."""

    @property
    def tally(self) -> Tally:
        """Rows in use and lost."""


def losses_of(registry: Registry, runs: Mapping[str, Counted]) -> Losses:
    """What the streams of a shard have lost."""
    return Losses(registry, {name: run.tally for name, run in runs.items()})
