"""Extremes: the maximum of a value over a sliding window, for many cells in one pool.

A value can be the maximum later only if every newer one is smaller; the others are forgotten at
once. What is left of a cell falls in value and rises in tick, so its oldest entry is the maximum
and the order in which maxima will leave is known beforehand. For minima push the opposite sign.

Each cell owns a piece of the pool, used as a ring, so neither end ever moves the rest. A cell that
outgrows its piece takes one of twice the room behind all others. When the pool is used up, all
cells move to a fresh one in their order: no piece is ever given up but for one twice as large,
hence less than half of the used pool is waste at any time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.jit import compiled

LANDMARK = 2**62
"""A window that never lets go: only the maximum itself is kept."""
_LEAST = 8

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Extremes(NamedTuple):
    """What may still become the maximum of each cell.

    Cell `c` has `length[c]` entries in a ring of `room[c]` places (a power of two, or none) from
    `start[c]` of the pool; the oldest is `head[c]` places into it. The first `end[0]` places of
    the pool are given out. A window at `now` holds the ticks in (now - window, now].

    `push` and `run` return the store to go on with: another one when the pool was used up, and the
    one they were given is out of date then. Ticks of a cell rise. NaN is no value: it lets time
    pass and nothing more.

    Examples
    --------
    >>> peaks = np.empty(4)
    >>> ticks, values = np.array([1, 2, 3, 5]), np.array([4.0, 9.0, 7.0, 6.0])
    >>> extremes = run(fresh(2), 0, ticks, values, 3, peaks)
    >>> peaks
    array([4., 9., 9., 7.])
    >>> top(extremes, 0, 6, 3), top(extremes, 1, 6, 3)
    (6.0, nan)
    """

    start: Ints
    head: Ints
    length: Ints
    room: Ints
    tick: Ints
    value: Floats
    end: Ints


class Packed(NamedTuple):
    """Entries of all cells, oldest first, cell after cell, and how many each cell has."""

    length: Ints
    tick: Ints
    value: Floats


class _Ring(NamedTuple):
    """The piece of one cell."""

    start: int
    head: int
    length: int
    room: int


def fresh(n_cells: int) -> Extremes:
    """A store of so many empty cells."""
    return unpack(np.zeros(n_cells, np.int64), np.zeros(0, np.int64), np.zeros(0))


@compiled
def push(extremes: Extremes, cell: int, tick: int, value: float, window: int) -> Any:
    """Give a cell its value at a tick; return the store to go on with."""
    roomy = _roomy(extremes, cell, 1)
    ring = _pushed(roomy.tick, roomy.value, roomy.end, _ring(roomy, cell), tick, value, window)
    _settle(roomy, cell, ring)
    return roomy


@compiled
def run(
    extremes: Extremes, cell: int, ticks: Ints, values: Floats, window: int, out: Floats
) -> Any:
    """Give a cell a block of values and write the maximum after each tick to `out`.

    Returns the store to go on with. The same as a `push` and a `top` for each tick.
    """
    roomy = _roomy(extremes, cell, len(ticks))
    ring = _ring(roomy, cell)
    ring = _folded(roomy.tick, roomy.value, roomy.end, ring, ticks, values, window, out)
    _settle(roomy, cell, ring)
    return roomy


@compiled
def top(extremes: Extremes, cell: int, now: int, window: int) -> float:
    """Maximum of a cell over the window at `now`; NaN when nothing is in it."""
    ring = _dropped(extremes.tick, _ring(extremes, cell), now - window)
    _settle(extremes, cell, ring)
    return extremes.value[ring.start + ring.head] if ring.length > 0 else np.nan


@compiled
def phi1(extremes: Extremes, cell: int, now: int, window: int, eps: float) -> Any:
    """Ticks from `now` until what is left of the window has a maximum `eps` below the present one.

    As the window moves on entries leave it, oldest first, the maximum before all. It is the whole
    window if the newest entry is still above that bound, or if there is none.
    """
    maximum = top(extremes, cell, now, window)
    ring = _ring(extremes, cell)
    above, below = 0, ring.length
    while below - above > 1:
        middle = (above + below) // 2
        if extremes.value[_place(ring, middle)] <= maximum - eps:
            below = middle
        else:
            above = middle
    if below == ring.length:
        return window
    return extremes.tick[_place(ring, above)] + window - now


def take(extremes: Extremes, cells: Ints) -> Extremes:
    """The store of chosen cells, in this order; -1 is a new one without entries.

    >>> extremes = take(push(fresh(1), 0, 7, 3.5, 60), np.array([-1, 0]))
    >>> top(extremes, 0, 9, 60), top(extremes, 1, 9, 60)
    (nan, 3.5)
    """
    moved: Extremes = _moved(extremes, np.ascontiguousarray(cells, np.int64), 0)
    return moved


def pack(extremes: Extremes) -> Packed:
    """The entries alone; equal entries give equal arrays, however the pool came about.

    >>> pack(push(push(fresh(2), 1, 7, 3.5, 60), 1, 8, 2.5, 60))
    Packed(length=array([0, 2]), tick=array([7, 8]), value=array([3.5, 2.5]))
    """
    tick, value = _listed(extremes)
    return Packed(extremes.length.copy(), tick, value)


def unpack(length: Ints, tick: Ints, value: Floats) -> Extremes:
    """The store that `pack` made these arrays of.

    >>> top(unpack(*pack(push(fresh(1), 0, 7, 3.5, 60))), 0, 9, 60)
    3.5
    """
    lengths = np.array(length, np.int64)
    ends = np.cumsum(lengths)
    assert lengths.sum() == len(tick) == len(value), "lengths and entries of extremes disagree"
    given = Extremes(
        start=ends - lengths,
        head=np.zeros_like(lengths),
        length=lengths,
        room=lengths,
        tick=np.array(tick, np.int64),
        value=np.array(value, np.float64),
        end=np.array([len(tick)]),
    )
    # Moving makes the rooms powers of two; until then nothing is read around the end of a ring.
    return take(given, np.arange(len(lengths)))


@compiled
def _ring(extremes, cell):  # type: ignore[no-untyped-def]
    return _Ring(
        extremes.start[cell], extremes.head[cell], extremes.length[cell], extremes.room[cell]
    )


@compiled
def _settle(extremes, cell, ring):  # type: ignore[no-untyped-def]
    extremes.start[cell], extremes.head[cell] = ring.start, ring.head
    extremes.length[cell], extremes.room[cell] = ring.length, ring.room


@compiled
def _place(ring, i):  # type: ignore[no-untyped-def]
    """Where in the pool an entry is."""
    return ring.start + ((ring.head + i) & (ring.room - 1))


@compiled
def _dropped(tick, ring, edge):  # type: ignore[no-untyped-def]
    """The ring without its entries up to the tick `edge`."""
    n = 0
    while n < ring.length and tick[_place(ring, n)] <= edge:
        n += 1
    head = (ring.head + n) & (ring.room - 1)
    return _Ring(ring.start, head, ring.length - n, ring.room)


@compiled
def _outliving(value, ring, rival):  # type: ignore[no-untyped-def]
    """The ring without its entries that are not greater than a newer value."""
    n = ring.length
    while n > 0 and value[_place(ring, n - 1)] <= rival:
        n -= 1
    return _Ring(ring.start, ring.head, n, ring.room)


@compiled
def _pushed(tick, value, end, ring, now, entry, window):  # type: ignore[no-untyped-def]
    """The ring with one more entry."""
    ring = _dropped(tick, ring, now - window)
    if entry != entry:
        return ring
    ring = _outliving(value, ring, entry)
    if window >= LANDMARK and ring.length > 0:
        return ring
    ring = _longer(tick, value, end, ring, 1, window)
    place = _place(ring, ring.length - 1)
    tick[place], value[place] = now, entry
    return ring


@compiled
def _folded(tick, value, end, ring, ticks, values, window, out):  # type: ignore[no-untyped-def]
    """The ring after a block of values, whose maxima are written to `out`."""
    n, first = len(ticks), 0
    while first < n:
        # Within a stretch shorter than the window only entries from before it can leave: its own
        # part of the maximum is a running one, and what does not outlive it is never entered.
        last = n
        while last - first > 1 and ticks[last - 1] - ticks[first] >= window:
            last = first + (last - first) // 2
        best, ring = _peaks(tick, value, ring, ticks, values, window, first, last, out)
        if best == best:
            i = last - 1
            if window >= LANDMARK:
                while values[i] != best:
                    i -= 1
                ring = _pushed(tick, value, end, ring, ticks[i], best, window)
            else:
                more = _survivors(values, i, best)
                ring = _outliving(value, ring, best)
                ring = _longer(tick, value, end, ring, more, window)
                _enter(tick, value, ring, more, ticks, values, i)
        first = last
    return ring


@compiled
def _peaks(tick, value, ring, ticks, values, window, first, last, out):  # type: ignore[no-untyped-def]
    """Write the maxima of a stretch; return its own, NaN without any, and the ring it leaves."""
    best = np.nan
    while first < last:
        ring = _dropped(tick, ring, ticks[first] - window)
        before, until = np.nan, last
        if ring.length > 0:
            before = value[ring.start + ring.head]
            leaves = tick[ring.start + ring.head] + window
            if ticks[last - 1] >= leaves:
                until = first + 1
                while ticks[until] < leaves:
                    until += 1
        for i in range(first, until):
            # Of equals the newer one wins, as in the entries: zeros have two signs.
            best = values[i] if values[i] >= best or best != best else best
            out[i] = before if before > best or best != best else best
        first = until
    return best, ring


@compiled
def _survivors(values, i, best):  # type: ignore[no-untyped-def]
    """How many values up to place `i`, back to the greatest, are greater than all newer ones."""
    n, highest = 0, np.nan
    while not highest >= best:
        if values[i] > highest or (n == 0 and values[i] == values[i]):
            highest = values[i]
            n += 1
        i -= 1
    return n


@compiled
def _enter(tick, value, ring, more, ticks, values, i):  # type: ignore[no-untyped-def]
    """Write the last `more` entries of a ring: survivors up to place `i`."""
    n, highest = 0, np.nan
    while n < more:
        if values[i] > highest or (n == 0 and values[i] == values[i]):
            highest = values[i]
            n += 1
            place = _place(ring, ring.length - n)
            tick[place], value[place] = ticks[i], highest
        i -= 1


@compiled
def _longer(tick, value, end, ring, more, window):  # type: ignore[no-untyped-def]
    """The ring with so many entries more, yet to be written; in a larger piece if need be."""
    length = ring.length + more
    if length <= ring.room:
        return _Ring(ring.start, ring.head, length, ring.room)
    room = max(2 * ring.room, 1 if window >= LANDMARK else _LEAST)
    while room < length:
        room *= 2
    start = end[0]
    _copy(tick, value, ring, tick, value, start)
    end[0] = start + room
    return _Ring(start, 0, length, room)


@compiled
def _roomy(extremes, cell, more):  # type: ignore[no-untyped-def]
    """The store, or one with a larger pool where a cell might not find its place in this one."""
    length = extremes.length[cell] + more
    # A power of two that holds the length, and twice a room that does not, are both within this.
    claim = 2 * length + _LEAST
    missing = min(length - extremes.room[cell], extremes.end[0] + claim - len(extremes.tick))
    if missing > 0:
        return _moved(extremes, np.arange(len(extremes.start)), claim)
    return extremes


@compiled
def _moved(extremes, cells, spare):  # type: ignore[no-untyped-def]
    """Chosen cells in a fresh pool with as many free places as used ones, and `spare` at least."""
    n = len(cells)
    start, length, room = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64)
    end = np.zeros(1, np.int64)
    for c in range(n):
        if cells[c] >= 0:
            length[c] = extremes.length[cells[c]]
            room[c] = _fitting(length[c], extremes.room[cells[c]])
        start[c] = end[0]
        end[0] += room[c]
    size = 2 * end[0] + max(spare, n)
    tick, value = np.empty(size, np.int64), np.empty(size, np.float64)
    for c in range(n):
        if length[c] > 0:
            ring = _ring(extremes, cells[c])
            _copy(extremes.tick, extremes.value, ring, tick, value, start[c])
    return Extremes(start, np.zeros(n, np.int64), length, room, tick, value, end)


@compiled
def _fitting(length, room):  # type: ignore[no-untyped-def]
    """Room, a power of two, for so many entries that had `room` before."""
    if room == 0:
        return 0
    fitting = 1
    while fitting < room:
        fitting *= 2
    # Halved where it is a quarter full, not fitted: it would have to grow again at once.
    while fitting > _LEAST and 4 * length <= fitting:
        fitting //= 2
    return fitting


@compiled
def _copy(tick, value, ring, to_tick, to_value, start):  # type: ignore[no-untyped-def]
    """Copy the entries of a ring, oldest first, to a place in a pool."""
    for i in range(ring.length):
        place = ring.head + i
        place += ring.start if place < ring.room else ring.start - ring.room
        to_tick[start + i], to_value[start + i] = tick[place], value[place]


@compiled
def _listed(extremes):  # type: ignore[no-untyped-def]
    """The entries of all cells, in their order."""
    n = extremes.length.sum()
    tick, value = np.empty(n, np.int64), np.empty(n, np.float64)
    start = 0
    for cell in range(len(extremes.length)):
        _copy(extremes.tick, extremes.value, _ring(extremes, cell), tick, value, start)
        start += extremes.length[cell]
    return tick, value
