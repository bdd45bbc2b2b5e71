"""Terms: the largest of many coefficients, and how much the others weighed.

A buffer of twice the terms to keep; when it is full the smaller half goes, found by selection and
not by sorting, so a coefficient costs constant time. What goes is not forgotten: the coefficients
are those of an orthonormal basis, so the squares of what went add up to the squared error.

A coefficient may be pushed again after it went (a late row, a merge). Such a one is marked late,
because two losses of one coefficient do not add up by Pythagoras; they add up by the triangle
inequality, in a second account.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.jit import compiled
from streamgauge.synopses.synopsis import Arrays, Floats, Ints

Marks = npt.NDArray[np.bool_]

LEVEL = 48
"""A term's word holds its level above this bit and its place in the level below."""

_HELD, _LATE, _LOST = 0, 1, 2
_SQUARES, _LARGEST, _LATE_NORM, _LATE_LARGEST = 0, 1, 2, 3


class Terms:
    """The `keep` largest terms at least, of all that were pushed.

    Parameters
    ----------
    keep
        Terms that remain when the buffer of twice as many is full.
    halving
        Whether values of level `l` are to be divided by the root of `2^l` to be coefficients;
        sums and differences of whole numbers then stay whole.
    """

    def __init__(self, keep: int, *, halving: bool) -> None:
        self.keep = keep
        self.ids = np.zeros(2 * keep, np.int64)
        self.values = np.zeros(2 * keep)
        self.late = np.zeros(2 * keep, np.uint8)
        self.counts = np.zeros(3, np.int64)
        self.losses = np.zeros(4)
        levels = np.arange(64.0)
        self.scales: Floats = 2.0 ** (-levels / 2) if halving else np.ones(64)

    @property
    def lost(self) -> int:
        """How many terms went."""
        return int(self.counts[_LOST])

    @property
    def error(self) -> float:
        """Most that the norm of all lost terms together can be; exact if no row was late."""
        return math.sqrt(self.losses[_SQUARES]) + float(self.losses[_LATE_NORM])

    @property
    def largest(self) -> float:
        """Most that one lost term can be."""
        return float(self.losses[_LARGEST] + self.losses[_LATE_LARGEST])

    @property
    def exact(self) -> bool:
        """Whether `error` is the norm itself and not only a bound."""
        return not self.losses[_LATE_NORM]

    @property
    def nbytes(self) -> int:
        """Bytes of the buffer."""
        return self.ids.nbytes + self.values.nbytes + self.late.nbytes

    def held(self) -> tuple[Ints, Floats, Marks]:
        """Words of the terms in order, each once, their values, and whether a part may be lost."""
        n = int(self.counts[_HELD])
        words, inverse = np.unique(self.ids[:n], return_inverse=True)
        sums = np.zeros(len(words))
        np.add.at(sums, inverse, self.values[:n])
        sure = np.zeros(len(words), np.bool_)
        sure[inverse[self.late[:n] == 0]] = True
        return words, sums, ~sure

    def take(self, other: Terms) -> None:
        """Add the terms and the losses of another."""
        n = int(other.counts[_HELD])
        push_all(
            self.ids,
            self.values,
            self.late,
            self.counts,
            self.losses,
            self.scales,
            other.ids[:n].copy(),
            other.values[:n].copy(),
        )
        self.losses[_LATE_NORM] += other.error
        self.losses[_LATE_LARGEST] += other.largest
        self.counts[_LOST] += other.lost
        if other.lost:
            self.late[: self.counts[_HELD]] = 1

    def arrays(self) -> Arrays:
        """State, without the empty part of the buffer."""
        n = int(self.counts[_HELD])
        return {
            "ids": self.ids[:n],
            "values": self.values[:n],
            "late": self.late[:n],
            "counts": self.counts,
            "losses": self.losses,
        }

    def load(self, arrays: Arrays) -> None:
        """Take state as given by `arrays`."""
        self.counts, self.losses = arrays["counts"], arrays["losses"]
        n = int(self.counts[_HELD])
        self.ids[:n], self.values[:n] = arrays["ids"], arrays["values"]
        self.late[:n] = arrays["late"]


@compiled
def push(ids, values, late, counts, losses, scales, word, value, is_late):  # type: ignore[no-untyped-def]
    """Add a value to a term; `is_late` when the term may have been pushed before."""
    if value == 0.0:
        return
    if counts[_HELD] == len(ids):
        _make_room(ids, values, late, counts, losses, scales)
    n = counts[_HELD]
    ids[n] = word
    values[n] = value
    late[n] = 1 if is_late and counts[_LOST] > 0 else 0
    counts[_HELD] = n + 1
    if is_late:
        counts[_LATE] += 1


@compiled
def push_all(ids, values, late, counts, losses, scales, words, given):  # type: ignore[no-untyped-def]
    """Add many values to terms that may have been pushed before."""
    for i in range(len(words)):
        push(ids, values, late, counts, losses, scales, words[i], given[i], True)


@compiled
def _make_room(ids, values, late, counts, losses, scales):  # type: ignore[no-untyped-def]
    keep = len(ids) // 2
    if counts[_LATE] > 0:
        _sum_repeats(ids, values, late, counts)
        if 4 * counts[_HELD] <= 3 * len(ids):
            return
    n = counts[_HELD]
    sizes = np.empty(n)
    for i in range(n):
        sizes[i] = abs(values[i]) * scales[ids[i] >> LEVEL]
    cut = np.partition(sizes, n - keep)[n - keep]
    ties = keep
    for i in range(n):
        if sizes[i] > cut:
            ties -= 1
    kept = 0
    squares = 0.0
    largest = 0.0
    for i in range(n):
        stays = sizes[i] > cut
        if sizes[i] == cut and ties > 0:
            ties -= 1
            stays = True
        if stays:
            ids[kept] = ids[i]
            values[kept] = values[i]
            late[kept] = late[i]
            kept += 1
        elif late[i]:
            squares += sizes[i] ** 2
            largest = max(largest, sizes[i])
        else:
            losses[_SQUARES] += sizes[i] ** 2
            losses[_LARGEST] = max(losses[_LARGEST], sizes[i])
    losses[_LATE_NORM] += math.sqrt(squares)
    losses[_LATE_LARGEST] += largest
    counts[_LOST] += n - kept
    counts[_HELD] = kept


@compiled
def _sum_repeats(ids, values, late, counts):  # type: ignore[no-untyped-def]
    n = counts[_HELD]
    order = np.argsort(ids[:n], kind="mergesort")
    words = ids[:n][order]
    given = values[:n][order]
    marks = late[:n][order]
    kept = 0
    i = 0
    while i < n:
        word, total, mark = words[i], 0.0, 1
        while i < n and words[i] == word:
            total += given[i]
            # A term that was never lost stays one, whatever is added to it.
            mark = min(mark, marks[i])
            i += 1
        if total != 0.0:
            ids[kept] = word
            values[kept] = total
            late[kept] = mark
            kept += 1
    counts[_HELD] = kept
    counts[_LATE] = 0


@compiled
def find(words, word):  # type: ignore[no-untyped-def]
    """Place of a word among sorted words, or -1."""
    place = np.searchsorted(words, word)
    return place if place < len(words) and words[place] == word else -1
