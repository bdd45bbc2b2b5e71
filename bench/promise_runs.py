"""Joins of two stores under a budget, run by the operators themselves."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bench.promise_data import Stores, keys_of, zipf
from bench.promise_measures import WINDOW_TICKS, Clock, Line, line_of
from streamgauge.operators.expression import Expr, column
from streamgauge.promise.arrivals import Arrivals, FoundPairs, Tally
from streamgauge.promise.costs import Allowance, Spent
from streamgauge.promise.join import PromisingJoin, SymmetricHashJoin
from streamgauge.promise.promise import Promise
from streamgauge.promise.summary import Summary

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
ALIASES = ("a", "b")


@dataclass(frozen=True, slots=True)
class Case:
    """Two stores made ready: rows in order of meeting, and as the operators take them."""

    stores: Stores
    clock: Clock
    line: Line
    arrivals: tuple[Arrivals, ...]
    places: tuple[Ints, ...]
    numbers: Ints

    @classmethod
    def of(cls, stores: Stores, clock: Clock | None = None) -> Case:
        """Make two stores ready."""
        used = clock or Clock.of(stores)
        line = line_of(stores, used)
        places = tuple(np.flatnonzero(line.side == side) for side in range(2))
        arrivals = tuple(
            Arrivals(
                keys_of(store.item),
                used.enter(store.ts),
                used.leave(store.ts),
                np.ones(len(store.ts), np.bool_),
            )
            for store in stores.sides
        )
        numbers = np.unique(np.concatenate([store.item for store in stores.sides]))
        return cls(stores, used, line, arrivals, places, numbers)

    @property
    def name(self) -> str:
        """Of the stores."""
        return self.stores.name

    @property
    def exact(self) -> int:
        """Rows of the exact output."""
        return int(self.line.matches.sum())

    @property
    def end(self) -> int:
        """The last tick at which a row comes."""
        return int(self.line.enter[-1])

    @property
    def arrivals_a_tick(self) -> float:
        """Rows of both stores that come in a tick with rows."""
        return len(self.line.item) / len(np.unique(self.line.enter))

    def summary(self, rate: int = 2) -> Summary:
        """What is kept of each store: granularities from one window on, as far back as it goes."""
        length = self.clock.window or WINDOW_TICKS * self.clock.tick
        depth = 2
        while not self.clock.window and length * sum(rate**k for k in range(depth)) < self.end:
            depth += 1
        return Summary("items", "stores", "item", length, rate=rate, depth=depth)


@dataclass(frozen=True, slots=True)
class Trial:
    """What one way found in a case.

    Parameters
    ----------
    last, gap
        For each output row: its last row, by its place in the line, and the time between the two
        rows of it, in seconds.
    at
        The tick at which it was found.
    probes, cpu
        Probes used, and seconds of processor time.
    tally
        What the operator says of its ticks.
    spent
        Nanoseconds by kind of work.
    wrong
        Output rows that are not in the exact output, or are there twice.
    """

    case: Case
    last: Ints
    gap: Floats
    at: Ints
    probes: int
    cpu: float
    tally: Tally
    spent: Spent
    wrong: int

    @property
    def output(self) -> int:
        """Rows found."""
        return len(self.last)

    @property
    def share(self) -> float:
        """Rows found, of the exact output."""
        return self.output / max(1, self.case.exact)

    @property
    def freshness(self) -> float:
        """Mean time between the two rows of an output row, in seconds."""
        return float(self.gap.mean()) if len(self.gap) else 0.0

    @property
    def counts(self) -> Floats:
        """Rows found of each item."""
        line = self.case.line
        return np.bincount(line.item[self.last], minlength=line.items).astype(np.float64)


def preferring(order: str, fade: float = 1.0, kind: str = "count") -> Promise:
    """The paper's preference: counts of an item in both stores."""
    exprs = tuple(Expr("estimate", (column(f"{alias}.item"),), kind) for alias in ALIASES)
    return Promise(order, exprs, fade, summaries=tuple((alias, "items") for alias in ALIASES))


def promising(
    case: Case,
    promise: Promise,
    allowance: Allowance,
    summary: Summary | None = None,
) -> Trial:
    """The join by promising tuples."""
    kept = summary or case.summary()
    join = PromisingJoin(2, promise, ALIASES, (kept, kept), tick=case.clock.tick)
    join.spent = Spent(time.thread_time_ns)
    return _trial(case, join, allowance)


def symmetric(case: Case, allowance: Allowance) -> Trial:
    """The symmetric hash join: rows in order of arrival as long as there are probes."""
    return _trial(case, SymmetricHashJoin(2, tick=case.clock.tick), allowance)


def _trial(case: Case, join: PromisingJoin | SymmetricHashJoin, allowance: Allowance) -> Trial:
    begun = time.thread_time()
    found, tally = join.advance(list(case.arrivals), case.end, allowance)
    cpu = time.thread_time() - begun
    return _judged(case, found, tally, cpu, getattr(join, "spent", Spent()))


def _judged(case: Case, found: FoundPairs, tally: Tally, cpu: float, spent: Spent) -> Trial:
    """Compare output rows with what the rows say: same item, both alive, each pair once."""
    line = case.line
    left, right = (place[rows] for place, rows in zip(case.places, found.rows, strict=True))
    last, first = np.maximum(left, right), np.minimum(left, right)
    ts = [store.ts[rows] for store, rows in zip(case.stores.sides, found.rows, strict=True)]
    bad = line.item[left] != line.item[right]
    bad |= (line.enter[last] > found.at) | (line.leave[first] <= found.at)
    bad |= line.leave[last] <= found.at
    pairs = np.sort(left * len(line.item) + right)
    wrong = int(bad.sum()) + int((np.diff(pairs) == 0).sum())
    gap = np.abs(ts[0] - ts[1]) / 1e6
    probes = int(np.sum(tally.probes))
    return Trial(case, last, gap, found.at, probes, cpu, tally, spent, wrong)


def warm() -> None:
    """Have kernels compiled or loaded before anything is timed."""
    case = Case.of(zipf(2000, items=300))
    for order in ("desc", "asc", "weighted"):
        for allowance in (Allowance(3), Allowance()):
            promising(case, preferring(order), allowance)
    symmetric(case, Allowance(3))
