"""Dominance lists: the item of smallest rank in any recent window, for many ways to rank.

Each of many hash functions ranks all items anew. The item of smallest rank in a window is a fair
draw from its different items, however often each occurs. A row can be that one later only if no
newer row ranks lower, so a list of rows that rise in time and rank is enough; it is as long as the
logarithm of the number of items. An entry also keeps the last few times of its item. Earlier times
that were forgotten do not matter: they went when a newer row ranked lower, and the item is smallest
again only when that row is too old.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from scipy import special

from streamgauge.kernel.hashing import Hashes, mix64
from streamgauge.kernel.jit import compiled
from streamgauge.synopses.synopsis import Arrays, Floats, Ints
from streamgauge.synopses.windowed.clock import Between

_ROOM = 16


class DominanceLists:
    """For each of `hashes` rankings, the rows that can still become smallest.

    Parameters
    ----------
    window
        Longest window that can be asked for.
    hashes
        Number of rankings.
    kept
        Times kept of each item.
    seed
        Chooses the rankings.
    """

    def __init__(self, window: int, hashes: int, kept: int, seed: int) -> None:
        self.window = window
        self.hashes = hashes
        self.kept = kept
        start = np.uint64(mix64(np.uint64(seed)))
        self.salts = np.array([mix64(start + np.uint64(j)) for j in range(hashes)], np.uint64)
        self.n = np.zeros(hashes, np.int64)
        self.ranks: Hashes = np.zeros((hashes, _ROOM), np.uint64)
        # Newest first; times that are not there are the smallest whole number.
        self.times: Ints = np.zeros((hashes, _ROOM, kept), np.int64)

    def add(self, keys: Hashes, times: Ints) -> None:
        """Fold rows of ascending times."""
        start = 0
        while start < len(keys):
            start = _push(
                *(self.n, self.ranks, self.times, self.salts, keys, times, start, self.window)
            )
            if start < len(keys):
                self._take_room(2 * self.ranks.shape[1])

    def smallest(self, edge: int) -> tuple[Hashes, Ints]:
        """Smallest rank among rows newer than `edge`, and how many kept times of it are newer.

        A count of 0 says that there are no rows.
        """
        ranks = np.zeros(self.hashes, np.uint64)
        counts = np.zeros(self.hashes, np.int64)
        _smallest(self.n, self.ranks, self.times, edge, ranks, counts)
        return ranks, counts

    def merge(self, other: DominanceLists) -> None:
        """Fold the lists of other rows of the same rankings."""
        lists = [_merged(self._list(j), other._list(j)) for j in range(self.hashes)]
        room = max(_ROOM, self.ranks.shape[1], *(len(ranks) for ranks, _ in lists))
        self._take_room(room)
        for j, (ranks, times) in enumerate(lists):
            self.n[j] = len(ranks)
            self.ranks[j, : len(ranks)] = ranks
            self.times[j, : len(ranks)] = times

    def expire(self, edge: int) -> None:
        """Let go entries whose newest time is `edge` or older."""
        _expire_all(self.n, self.ranks, self.times, edge)

    def saved(self) -> Arrays:
        """The lists, one after the other."""
        held = np.arange(self.ranks.shape[1]) < self.n[:, None]
        return {"n": self.n, "ranks": self.ranks[held], "times": self.times[held]}

    def load(self, arrays: Arrays) -> None:
        """Take lists as saved."""
        self.n = arrays["n"]
        room = _ROOM
        while room < self.n.max(initial=0):
            room *= 2
        self.ranks = np.zeros((self.hashes, room), np.uint64)
        self.times = np.zeros((self.hashes, room, self.kept), np.int64)
        held = np.arange(room) < self.n[:, None]
        self.ranks[held] = arrays["ranks"]
        self.times[held] = arrays["times"]

    @property
    def nbytes(self) -> int:
        """Bytes of the lists and of their room."""
        return self.n.nbytes + self.ranks.nbytes + self.times.nbytes

    def validate(self) -> None:
        """Ranks and times rise along each list."""
        for j in range(self.hashes):
            ranks, times = self._list(j)
            assert (ranks[1:] > ranks[:-1]).all()
            assert (np.diff(times[:, 0]) > 0).all()

    def _list(self, j: int) -> tuple[Hashes, Ints]:
        n = int(self.n[j])
        return self.ranks[j, :n], self.times[j, :n]

    def _take_room(self, room: int) -> None:
        ranks = np.zeros((self.hashes, room), np.uint64)
        times = np.zeros((self.hashes, room, self.kept), np.int64)
        ranks[:, : self.ranks.shape[1]] = self.ranks
        times[:, : self.times.shape[1]] = self.times
        self.ranks, self.times = ranks, times


def distinct_items(ranks: Hashes, delta: float) -> Between:
    """How many different items there are, from the smallest rank of each of many rankings.

    The smallest of D uniform ranks is, on a logarithmic scale, exponential with rate D, so the sum
    over the rankings has a gamma law and the bar is exact.
    """
    uniforms: Floats = (ranks.astype(np.float64) + 0.5) / 2.0**64
    total, n = float(-np.log1p(-uniforms).sum()), len(ranks)
    low = float(special.gammaincinv(n, delta / 2.0)) / total
    high = float(special.gammainccinv(n, delta / 2.0)) / total
    value = min(max((n - 1) / total, 1.0), max(high, 1.0))
    return Between(value, max(low, 1.0), max(high, 1.0))


def share_of(hits: int, n: int, delta: float) -> Between:
    """A share, from how many of `n` fair draws have it (Clopper and Pearson's bar)."""
    low = float(special.betaincinv(hits, n - hits + 1, delta / 2.0)) if hits else 0.0
    high = float(special.betaincinv(hits + 1, n - hits, 1.0 - delta / 2.0)) if hits < n else 1.0
    return Between(hits / n, low, high)


def _merged(one: Any, two: Any) -> tuple[Hashes, Ints]:
    ranks = np.concatenate([one[0], two[0]])
    times = np.concatenate([one[1], two[1]])
    lowest = np.iinfo(np.int64).min
    entries: dict[int, Ints] = {}
    for rank, own in zip(ranks.tolist(), times, strict=True):
        known = entries.get(rank, np.empty(0, np.int64))
        entries[rank] = np.sort(np.concatenate([known, own]))[::-1][: len(own)]
    newest_first = sorted(entries.items(), key=lambda entry: (-int(entry[1][0]), entry[0]))
    kept: list[tuple[int, Ints]] = []
    for rank, own in newest_first:
        if not kept or rank < kept[-1][0]:
            kept.append((rank, own))
    kept.reverse()
    for (_, before), (_, own) in itertools.pairwise(kept):
        # A row that ranks lower had put the earlier times out of the list.
        own[own <= before[0]] = lowest
    shape = (len(kept), times.shape[1])
    return (
        np.array([rank for rank, _ in kept], np.uint64),
        np.array([own for _, own in kept], np.int64).reshape(shape),
    )


@compiled
def _expire_list(n, ranks, times, j, edge):  # type: ignore[no-untyped-def]
    old = 0
    while old < n[j] and times[j, old, 0] <= edge:
        old += 1
    if old:
        for i in range(n[j] - old):
            ranks[j, i] = ranks[j, old + i]
            times[j, i] = times[j, old + i]
        n[j] -= old


@compiled
def _expire_all(n, ranks, times, edge):  # type: ignore[no-untyped-def]
    for j in range(len(n)):
        _expire_list(n, ranks, times, j, edge)


@compiled
def _push(n, ranks, times, salts, keys, new_times, start, window):  # type: ignore[no-untyped-def]
    room = ranks.shape[1]
    kept = times.shape[2]
    for i in range(start, len(keys)):
        instant = new_times[i]
        for j in range(len(n)):
            if n[j] == room:
                _expire_list(n, ranks, times, j, instant - window)
                if 2 * n[j] > room:
                    return i
        for j in range(len(n)):
            rank = mix64(keys[i] ^ salts[j])
            last = n[j] - 1
            while last >= 0 and ranks[j, last] > rank:
                last -= 1
            if last >= 0 and ranks[j, last] == rank:
                for q in range(kept - 1, 0, -1):
                    times[j, last, q] = times[j, last, q - 1]
                times[j, last, 0] = instant
            elif last < 0 or times[j, last, 0] < instant:
                last += 1
                ranks[j, last] = rank
                times[j, last, 0] = instant
                for q in range(1, kept):
                    times[j, last, q] = np.iinfo(np.int64).min
            n[j] = last + 1
    return len(keys)


@compiled
def _smallest(n, ranks, times, edge, out_ranks, out_counts):  # type: ignore[no-untyped-def]
    for j in range(len(n)):
        for i in range(n[j]):
            if times[j, i, 0] > edge:
                out_ranks[j] = ranks[j, i]
                for q in range(times.shape[2]):
                    if times[j, i, q] > edge:
                        out_counts[j] += 1
                break
