"""Alive: when each row enters a window and when it leaves it, as whole ticks.

`docs/reference/semantics.md` says which rows a window holds at an instant. Here the same is said
row by row, so that a window over stored rows has no state of its own.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.errors import UnsupportedWindow
from streamgauge.kernel.jit import compiled
from streamgauge.kernel.time import Duration, Instant
from streamgauge.windows.window import Window

Ints = npt.NDArray[np.int64]
NEVER = 2**62


def alive(
    window: Window, tick: Duration, ts: Ints, eff: Ints, keys: Ints | None = None
) -> tuple[Ints, Ints]:
    """Instants at which rows enter and leave a window; a row with enter >= leave is never in it.

    Parameters
    ----------
    window
        The window.
    tick
        Tick of the stream; all instants are multiples of it.
    ts, eff
        Time and effective time of the rows, which come in the order in which they take effect.
        Rows of one time come in the order of their arrival.
    keys
        Code of each row's key, for windows by key; any whole numbers.

    Returns
    -------
    enter, leave
        `leave` is 2**62 for rows that stay as long as no other row comes. A run that may go on
        leaves a gap after its last row: with more rows, ask again before that instant. A run that
        is over stays over, whatever turns up late.

    Examples
    --------
    >>> from streamgauge.windows.window import Range, Rows
    >>> ts = np.array([1, 12, 14, 25])
    >>> alive(Range(0.00002), 10, ts, ts)
    (array([10, 20, 20, 30]), array([30, 40, 40, 50]))
    >>> alive(Rows(2), 10, ts, ts)[1][:2]
    array([20, 30])
    """
    enter = _up(eff, tick)
    if window.kind == "now":
        return enter, np.where(_up(ts, tick) == enter, enter + tick, enter)
    if window.kind == "range":
        slide = window.slide_for(tick, None)
        return np.maximum(_up(ts, slide), enter), _up(ts + window.length, slide)
    if window.kind == "landmark":
        return enter, np.where(ts >= window.start, NEVER, enter)
    codes = _codes(keys if window.by else None, len(ts))
    if window.kind in ("rows", "partition"):
        return enter, _displaced(window.rows, ts, enter, codes)
    if window.kind == "session":
        return enter, _run_ends(window.length, tick, ts, enter, codes)
    raise UnsupportedWindow(
        f"window {window} weighs rows and holds none",
        "a decay has no instant at which a row leaves",
        "ask for an aggregate of it, or use a range of some half-lives",
    )


def needed(
    window: Window, tick: Duration, ts: Ints, eff: Ints, now: Instant, keys: Ints | None = None
) -> npt.NDArray[np.bool_]:
    """Rows that the window holds or may yet hold after `now`; the others can be let go.

    >>> from streamgauge.windows.window import Rows
    >>> ts = np.array([1, 12, 14, 25])
    >>> needed(Rows(2), 10, ts, ts, 20)
    array([False,  True,  True,  True])
    """
    enter, leave = alive(window, tick, ts, eff, keys)
    return (leave > now) & (leave > enter)


def _up(instants: Ints, step: Duration) -> Ints:
    return -(-instants // step) * step


def _codes(keys: Ints | None, n: int) -> Ints:
    if keys is None or not n:
        return np.zeros(n, np.int64)
    codes: Ints = np.unique(keys, return_inverse=True)[1].astype(np.int64)
    return codes


def _displaced(n: int, ts: Ints, enter: Ints, keys: Ints) -> Ints:
    """When `n` newer rows of the same key have taken effect."""
    leave = np.full(len(ts), NEVER, np.int64)
    order = np.argsort(keys, kind="stable")
    grouped = keys[order]
    if (np.diff(ts[order])[grouped[1:] == grouped[:-1]] >= 0).all():
        later = order[n:]
        earlier = order[: max(len(order) - n, 0)]
        same = keys[later] == keys[earlier]
        leave[earlier[same]] = enter[later[same]]
        return leave
    newest = np.empty(len(ts), np.int64)
    newest[np.argsort(ts, kind="stable")] = np.arange(len(ts))
    starts = np.searchsorted(grouped, np.arange(int(keys.max()) + 2))
    _displace(n, order, starts, newest, enter, leave)
    return leave


@compiled
def _displace(n: int, order: Ints, starts: Ints, newest: Ints, enter: Ints, leave: Ints) -> None:
    """Keep the `n` newest rows of each key in a heap; the oldest goes when a newer one comes."""
    heap = np.empty(min(n, len(order)), np.int64)
    row_of = np.empty(len(order), np.int64)
    for row in range(len(order)):
        row_of[newest[row]] = row
    for key in range(len(starts) - 1):
        size = 0
        for place in range(starts[key], starts[key + 1]):
            row = order[place]
            rank = newest[row]
            if size < n:
                child = size
                size += 1
                while child > 0 and heap[(child - 1) // 2] > rank:
                    heap[child] = heap[(child - 1) // 2]
                    child = (child - 1) // 2
                heap[child] = rank
                continue
            if rank < heap[0]:
                leave[row] = enter[row]
                continue
            leave[row_of[heap[0]]] = enter[row]
            spot = 0
            while 2 * spot + 1 < size:
                child = 2 * spot + 1
                if child + 1 < size and heap[child + 1] < heap[child]:
                    child += 1
                if heap[child] >= rank:
                    break
                heap[spot] = heap[child]
                spot = child
            heap[spot] = rank


def _run_ends(gap: Duration, tick: Duration, ts: Ints, enter: Ints, keys: Ints) -> Ints:
    """A gap after the last row of each row's run."""
    run, lasts = np.empty(len(ts), np.int64), np.empty(len(ts), np.int64)
    n = _join_runs(gap, tick, ts, enter, keys, run, lasts)
    ends = np.append(_up(lasts[:n] + gap, tick), NEVER)
    return np.where(run >= 0, ends[run], enter)


@compiled
def _join_runs(
    gap: int, tick: int, ts: Ints, enter: Ints, keys: Ints, run: Ints, lasts: Ints
) -> int:
    """Number the run of each row, -1 for none, and note its last time; return how many there are.

    A run that is over stays over: a late row that would have kept it going begins one of its own.
    So what a row does depends on runs that are alive, whose rows are all at hand.
    """
    current = np.full(len(keys) + 1, -1, np.int64)
    starts = np.empty(len(ts), np.int64)
    n = 0
    for row in range(len(ts)):
        key, when = keys[row], ts[row]
        found = current[key]
        if found >= 0:
            end = -(-(lasts[found] + gap) // tick) * tick
            if end < enter[row] or when >= lasts[found] + gap:
                found = -1
        if found < 0:
            run[row] = current[key] = n
            starts[n] = lasts[n] = when
            n += 1
        elif when <= starts[found] - gap:
            run[row] = -1
        else:
            run[row] = found
            starts[found] = min(starts[found], when)
            lasts[found] = max(lasts[found], when)
    return n
