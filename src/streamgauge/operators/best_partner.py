"""The best partner of each span at every instant: what an ASOF join gives.

Partners are spans too. They come sorted, the best last, and each takes the time of a span that no
better one has; so a partner is the best one while it is there and no better one is.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.jit import compiled

Ints = npt.NDArray[np.int64]


def best_partners(
    low: Ints, high: Ints, spans: tuple[Ints, Ints], partners: tuple[Ints, Ints], *, alone: bool
) -> tuple[Ints, Ints, Ints, Ints]:
    """Numbers of spans and of their best partners, and when each pair is there.

    Parameters
    ----------
    low, high
        The partners of each span are those from `low` up to, not including, `high`.
    spans, partners
        When each enters and leaves.
    alone
        Whether the time of a span without any partner is given too, with the partner -1.

    Examples
    --------
    >>> one, two = (np.array([0]), np.array([100])), (np.array([10, 30]), np.array([90, 50]))
    >>> found = best_partners(np.array([0]), np.array([2]), one, two, alone=True)
    >>> sorted(zip(*(part.tolist() for part in found[1:])))
    [(-1, 0, 10), (-1, 90, 100), (0, 10, 30), (0, 50, 90), (1, 30, 50)]
    """
    found = _walk(low, high, *spans, *partners, alone)
    return found[:, 0], found[:, 1], found[:, 2], found[:, 3]


@compiled
def _walk(low, high, enter, leave, partner_enter, partner_leave, alone):  # type: ignore[no-untyped-def]
    out, n = np.empty((max(2 * len(low), 16), 4), np.int64), 0
    # Pieces of a span's time that no partner has taken yet.
    first, last = np.empty(16, np.int64), np.empty(16, np.int64)
    for i in range(len(low)):
        first[0], last[0] = enter[i], leave[i]
        open_pieces = 1
        j = high[i] - 1
        while j >= low[i] and open_pieces > 0:
            if partner_enter[j] < leave[i] and partner_leave[j] > enter[i]:
                for p in range(open_pieces - 1, -1, -1):
                    start = max(first[p], partner_enter[j])
                    stop = min(last[p], partner_leave[j])
                    if start >= stop:
                        continue
                    out, n = _given(out, n, i, j, start, stop)
                    before, after = start > first[p], stop < last[p]
                    if before and after:
                        if open_pieces == len(first):
                            first = np.concatenate((first, np.empty_like(first)))
                            last = np.concatenate((last, np.empty_like(last)))
                        first[open_pieces], last[open_pieces] = stop, last[p]
                        last[p] = start
                        open_pieces += 1
                    elif before:
                        last[p] = start
                    elif after:
                        first[p] = stop
                    else:
                        open_pieces -= 1
                        first[p], last[p] = first[open_pieces], last[open_pieces]
            j -= 1
        if alone:
            for p in range(open_pieces):
                out, n = _given(out, n, i, -1, first[p], last[p])
    return out[:n]


@compiled
def _given(out, n, i, j, start, stop):  # type: ignore[no-untyped-def]
    if n == len(out):
        out = np.concatenate((out, np.empty_like(out)))
    out[n, 0], out[n, 1], out[n, 2], out[n, 3] = i, j, start, stop
    return out, n + 1
