"""Chain: samples of the last n rows that know who comes after them.

Each of k samplers holds one row of the window, and when it takes a row it also draws which of the
next n rows will replace it on expiry; that one, when it comes, draws its own heir, and so on. The
samplers are independent: a sample with replacement. Only the few rows at which something happens
to a sampler are looked at, in the order of a heap.
"""

from __future__ import annotations

import numpy as np

from streamgauge.kernel.jit import compiled
from streamgauge.synopses.samples.designs import Drawn, Replaced
from streamgauge.synopses.samples.dice import geometric_gap, reservoir_gap, roll_below, stir
from streamgauge.synopses.samples.oversampling import without_repeats
from streamgauge.synopses.samples.rows_window import DrawnWindow
from streamgauge.synopses.synopsis import Floats, Ints

_NEVER = np.int64(1) << np.int64(62)


class Chain(DrawnWindow):
    """`k` independent draws from the last `n` rows.

    Parameters
    ----------
    k
        Samplers.
    n
        Rows in the window.
    delta
        Chance that a bar fails.
    seed
        Chooses the rows.

    Examples
    --------
    >>> sample = Chain(k=4, n=100, seed=1)
    >>> sample.update(range(1000))
    >>> bool((sample.sample().rows >= 900).all())
    True

    References
    ----------
    BDM02: docs/reference/synopses/samples.md
    """

    name = "chain"
    fields = ("values", "places", "events", "heap", "seen")

    def __init__(self, k: int, n: int, delta: float = 0.05, *, seed: int = 0) -> None:
        super().__init__(k, n, delta, seed=seed)
        # Of each sampler: its rows, the sampled one first and then its heirs in order.
        self.values = np.zeros((k, 4))
        self.places = np.zeros((k, 4), np.int64)
        # Rows held; row that is the next heir; row that next enters by itself; next of all events.
        self.events = np.zeros((k, 4), np.int64)
        self.heap = np.arange(k, dtype=np.int64)
        self.seen = np.zeros(1, np.int64)

    @property
    def stored(self) -> int:
        """Rows held by all samplers."""
        return int(self.events[:, 0].sum())

    def _check_window(self, n: int, k: int) -> None:
        # Rows may be drawn more than once, so there may be more draws than rows.
        super()._check_window(max(n, k), k)
        super()._check_window(n, 1)

    def sample(self) -> Drawn:
        """The row of each sampler; a row of the window may be there more than once."""
        seen = int(self.seen[0])
        size = self.k if seen else 0
        design = Replaced(min(seen, self.n), size, self.seed)
        return Drawn(self.values[:size, 0].copy(), design, self.places[:size, 0].copy())

    def distinct_sample(self, size: int) -> Drawn:
        """A sample without repeats of `size` rows, or of fewer when the draws repeat too much."""
        return without_repeats(self.sample(), size, self.seed)

    def _take(self, column: Floats, weights: Floats | None, times: Ints | None) -> None:
        if not self.seen[0]:
            _begin(self.events, self.dice, column.view(np.uint64))
        start = int(self.seen[0])
        while True:
            full = _run_events(
                self.values,
                self.places,
                self.events,
                self.heap,
                self.dice,
                self.n,
                column,
                column.view(np.uint64),
                start,
            )
            if not full:
                break
            self.values = np.hstack([self.values, np.zeros_like(self.values)])
            self.places = np.hstack([self.places, np.zeros_like(self.places)])
        self.seen += len(column)

    def validate(self) -> None:
        """Samples are in the window, heirs come after them, and all events are yet to come."""
        seen = int(self.seen[0])
        if not seen:
            return
        assert (self.places[:, 0] >= seen - self.n).all()
        for sampler in range(self.k):
            chain = self.places[sampler, : self.events[sampler, 0]]
            assert (np.diff(chain) > 0).all()
            assert chain[-1] < seen
        assert (self.events[:, 1:] >= seen).all()


@compiled
def _begin(events, dice, words):  # type: ignore[no-untyped-def]
    """Let the first row enter every sampler."""
    stir(dice, words[0])
    for sampler in range(len(events)):
        events[sampler, 1] = _NEVER


@compiled
def _run_events(  # type: ignore[no-untyped-def]
    values, places, events, heap, dice, n, column, words, start
):
    """Handle every event of a batch; stop and return True when a chain needs more room."""
    stop = start + len(column)
    while events[heap[0], 3] < stop:
        sampler = heap[0]
        held, heir, entry, row = events[sampler]
        expires = held > 0 and row == places[sampler, 0] + n
        if row == heir:
            if held == values.shape[1]:
                return True
            values[sampler, held], places[sampler, held] = column[row - start], row
            held += 1
            heir = row + 1 + roll_below(dice, n)
        if expires:
            for j in range(1, held):
                values[sampler, j - 1] = values[sampler, j]
                places[sampler, j - 1] = places[sampler, j]
            held -= 1
        elif row == entry:
            values[sampler, 0], places[sampler, 0] = column[row - start], row
            held = 1
            heir = row + 1 + roll_below(dice, n)
        if row == entry:
            # A row at which a sample expires is not offered; gaps do not remember it.
            stir(dice, words[row - start])
            entry = _next_entry(dice, row + 1, n)
        events[sampler, 0], events[sampler, 1], events[sampler, 2] = held, heir, entry
        events[sampler, 3] = min(heir, entry, places[sampler, 0] + n)
        _sift(heap, events)
    return False


@compiled
def _next_entry(dice, seen, n):  # type: ignore[no-untyped-def]
    """Next row (from 0) that enters by itself: the i-th row does with chance 1 / min(i, n)."""
    if seen < n:
        entry = seen + reservoir_gap(dice, seen, 1)
        if entry < n:
            return entry
        seen = n
    return seen + geometric_gap(dice, 1.0 / n)


@compiled
def _sift(heap, events):  # type: ignore[no-untyped-def]
    """Put the first of the heap where its next event belongs."""
    at = 0
    moved = heap[0]
    while 2 * at + 1 < len(heap):
        child = 2 * at + 1
        if child + 1 < len(heap) and events[heap[child + 1], 3] < events[heap[child], 3]:
            child += 1
        if events[heap[child], 3] >= events[moved, 3]:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = moved
