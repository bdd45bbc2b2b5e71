"""Haar: the largest wavelet terms of a signal that comes in order.

Neighbouring cells are added and subtracted, the sums again, and so on up a binary tree; the
differences, scaled, are the terms of an orthonormal basis. Only the sums on the path to the newest
cell are open. Of the finished terms the largest stay; the squares of the others are the squared
error, so every answer knows how far off it can be.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.jit import compiled
from streamgauge.synopses.histograms.signal import Signal, cells_for, need_at_least
from streamgauge.synopses.histograms.terms import LEVEL, Marks, Terms, find, push
from streamgauge.synopses.questions import Count, Frequency
from streamgauge.synopses.synopsis import Arrays, Floats, Ints, Need, Trial, Values

_POINT = 1.0 / (math.sqrt(2.0) - 1.0)
"""Sum over all levels of what a term of size 1 can add to one cell."""


@dataclass(frozen=True, slots=True)
class Expansion:
    """A signal as wavelet terms.

    `words` are sorted, `values` are sums of the right halves less sums of the left halves,
    `partly` marks terms of which a part may be missing; `total` is the sum of all cells, of which
    there are `2^height`; `error` is the L2 norm of what is missing, or a bound of it if not
    `exact`; no missing term is larger than `largest`.
    """

    words: Ints
    values: Floats
    partly: Marks
    total: float
    height: int
    error: float
    largest: float = 0.0
    exact: bool = True

    @property
    def coefficients(self) -> Floats:
        """Values as coefficients of the orthonormal basis, without that of the total."""
        scaled: Floats = self.values * 2.0 ** (-(self.words >> LEVEL) / 2)
        return scaled

    def best(self, terms: int) -> Expansion:
        """The best expansion of so many terms, the total counting as one of them if it is large."""
        sizes = np.abs(self.coefficients)
        whole = abs(self.total) * 2.0 ** (-self.height / 2)
        with_total = int((sizes > whole).sum()) < terms
        room = terms - 1 if with_total else terms
        order = np.argsort(-sizes, kind="stable")
        kept = np.sort(order[:room])
        gone = float((sizes[order[room:]] ** 2).sum()) + (0.0 if with_total else whole**2)
        total = self.total if with_total else 0.0
        error = math.sqrt(self.error**2 + gone)
        gone_sizes = np.append(sizes[order[room:]], 0.0 if with_total else whole)
        return Expansion(
            self.words[kept],
            self.values[kept],
            self.partly[kept],
            total,
            self.height,
            error,
            max(self.largest, float(gone_sizes.max())),
            self.exact,
        )

    def pieces(self) -> tuple[Ints, Floats]:
        """The same signal as steps: where each begins, with the end at last, and how high it is."""
        levels = self.words >> LEVEL
        starts = (self.words & ((1 << LEVEL) - 1)) << levels
        steps = self.values / 2.0**levels
        half = np.int64(1) << np.maximum(levels - 1, 0)
        places = np.concatenate([[0], starts, starts + half, starts + 2 * half])
        base = self.total / 2.0**self.height
        jumps = np.concatenate([[base], -steps, 2 * steps, -steps])
        edges, inverse = np.unique(np.append(places, 1 << self.height), return_inverse=True)
        steps_at = np.zeros(len(edges))
        np.add.at(steps_at, inverse[:-1], jumps)
        return edges, np.cumsum(steps_at)[:-1]


class Haar(Signal):
    """The largest wavelet terms of a signal, with the exact L2 error of leaving out the others.

    Parameters
    ----------
    terms
        Terms that are always among those kept, the largest; memory is four times as many.
    seed
        Unused; there is no chance in it.

    Examples
    --------
    >>> picture = Haar(terms=4)
    >>> picture.update([0, 1, 2, 3, 6], weights=[2, 2, 2, 2, 8])
    >>> print(picture.query(Frequency(6)))
    8 in [8, 8], haar
    >>> picture.expansion().best(2).error
    4.0

    References
    ----------
    GKMS01: docs/references.md
    """

    name = "haar"
    small: ClassVar[tuple[Any, ...]] = (16,)

    def __init__(self, terms: int, *, seed: int = 0) -> None:
        need_at_least(self.name, terms, 1, "terms")
        super().__init__(seed=seed)
        self.terms = terms
        self.kept = Terms(2 * terms, halving=True)
        self.left = np.zeros(LEVEL)
        self.cell = np.zeros(1)
        self.place = np.full(1, -1, np.int64)

    @property
    def whole(self) -> int:
        """As many as there are terms."""
        return self.terms

    @property
    def guarantee(self) -> Guarantee:
        """One cell within a share of the L2 norm, which is at most the weight."""
        return Guarantee(
            "additive",
            _POINT / math.sqrt(2 * self.terms),
            assumes=(
                "one cell is asked for; bars of ranges are computed from the rows",
                "rows in order of position, no negative cell; without it the bars still hold",
            ),
            cite="GKMS01",
        )

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """From the tolerance for single cells; ranges need every cell of a known universe."""
        if isinstance(need.question, Count):
            return cls(1, seed=seed)
        return cls(_terms(need, cls.name), seed=seed)

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """More equal spikes than there are terms, and a question about one that is left out."""
        far = np.arange(100, dtype=np.int64) * 4096 + seed % 4096
        return Trial(far, Frequency(int(far[50])), weights=np.where(far == far[50], 0.9, 1.0))

    def expansion(self) -> Expansion:
        """All terms that are held, those of unfinished blocks included."""
        words, values, partly = self.kept.held()
        place = int(self.place[0])
        height = max(place, 0).bit_length()
        open_words, open_values = _unfinished(self.left, self.cell[0], max(place, 0), height)
        every, sums = np.append(words, open_words), np.append(values, open_values)
        marks = np.append(partly, np.zeros(height, np.bool_))
        order = np.argsort(every)
        kept = self.kept
        return Expansion(
            every[order],
            sums[order],
            marks[order],
            self.mass,
            height,
            kept.error,
            kept.largest,
            kept.exact,
        )

    def _fold(self, positions: Ints, weights: Floats) -> None:
        kept = self.kept
        _add_rows(
            kept.ids,
            kept.values,
            kept.late,
            kept.counts,
            kept.losses,
            kept.scales,
            self.left,
            self.cell,
            self.place,
            positions,
            weights,
        )

    def _advance(self, place: int) -> None:
        self._fold(np.array([place], np.int64), np.zeros(1))

    def _merge(self, other: Self) -> None:
        if other.place[0] < 0:
            return
        # Both are brought to one place, so that their unfinished blocks are the same blocks.
        place = max(int(self.place[0]), int(other.place[0]))
        theirs = other.copy()
        self._advance(place)
        theirs._advance(place)
        self.left += theirs.left
        self.cell += theirs.cell
        self.kept.take(theirs.kept)
        self.negative = self.negative or other.negative

    def _sum(self, start: int, stop: int) -> tuple[float, float, float]:
        place = int(self.place[0])
        picture = self.expansion()
        start, stop = min(start, 1 << picture.height), min(stop, 1 << picture.height)
        value, squares, absolute, gross = _inner(
            picture.words,
            picture.values,
            picture.partly,
            picture.total,
            picture.height,
            start,
            stop,
            place,
        )
        loss = min(math.sqrt(squares) * self.kept.error, absolute * self.kept.largest)
        if self.kept.lost:
            loss += 1e-14 * gross  # rounding
        return value, value - loss, value + loss

    def _state(self) -> tuple[Values, Arrays]:
        own = {"left": self.left, "cell": self.cell, "place": self.place}
        return {}, {**self.kept.arrays(), **own}

    def _restore(self, values: Values, arrays: Arrays) -> None:
        self.kept.load(arrays)
        self.left, self.cell, self.place = arrays["left"], arrays["cell"], arrays["place"]

    @property
    def nbytes(self) -> int:
        """Bytes of the buffer and of the open path."""
        return self.kept.nbytes + self.left.nbytes + 88

    def validate(self) -> None:
        """Open sums and the newest cell add up to the weight where nothing was taken back."""
        place = int(self.place[0])
        bits = [level for level in range(LEVEL) if place >= 0 and place >> level & 1]
        assert np.isclose(sum(self.left[bits]) + self.cell[0], self.mass, atol=1e-6)


def _terms(need: Need, name: str) -> int:
    """Terms that hold single cells within a share of the weight, else every cell."""
    if isinstance(need.question, Frequency) and need.contract.tolerance == "rank":
        terms = math.ceil((_POINT / need.contract.within) ** 2 / 2)
        need.afford(name, 68.0 * terms)
        return terms
    return cells_for(need, name, 68)


@compiled
def _add_rows(  # type: ignore[no-untyped-def]
    ids, values, late, counts, losses, scales, left, cell, place, positions, weights
):
    for row in range(len(positions)):
        at = positions[row]
        now = place[0]
        if now < 0:
            # Nothing came before, so the blocks to the left are empty.
            place[0] = at
            now = at
        if at > now:
            _close(ids, values, late, counts, losses, scales, left, cell, now, at)
            place[0] = at
            now = at
        if at == now:
            cell[0] += weights[row]
        else:
            # A late row: its finished terms change; the first open block has it on its left.
            level = 1
            while at >> level != now >> level:
                sign = 1.0 if (at >> (level - 1)) & 1 else -1.0
                word = (level << LEVEL) | (at >> level)
                push(ids, values, late, counts, losses, scales, word, sign * weights[row], True)
                level += 1
            left[level - 1] += weights[row]


@compiled
def _close(ids, values, late, counts, losses, scales, left, cell, now, then):  # type: ignore[no-untyped-def]
    total = cell[0]
    level = 0
    while now >> level != then >> level:
        word = ((level + 1) << LEVEL) | (now >> (level + 1))
        if (now >> level) & 1:
            push(ids, values, late, counts, losses, scales, word, total - left[level], False)
            total += left[level]
            left[level] = 0.0
        elif now >> (level + 1) == then >> (level + 1):
            left[level] = total
        else:
            push(ids, values, late, counts, losses, scales, word, -total, False)
        level += 1
    cell[0] = 0.0


@compiled
def _unfinished(left, cell, place, height):  # type: ignore[no-untyped-def]
    words = np.empty(height, np.int64)
    values = np.empty(height)
    total = cell
    for level in range(height):
        words[level] = ((level + 1) << LEVEL) | (place >> (level + 1))
        if (place >> level) & 1:
            values[level] = total - left[level]
            total += left[level]
        else:
            values[level] = -total
    return words, values


@compiled
def _inner(words, values, partly, total, height, start, stop, place):  # type: ignore[no-untyped-def]
    """Sum over a range; squares and sizes of the share of lost terms in it; size of all added."""
    value = total * (stop - start) / 2.0**height
    gross = abs(value)
    squares = 0.0
    absolute = 0.0
    for level in range(1, height + 1):
        first = start >> level
        last = (stop - 1) >> level
        for block in (first, last):
            begin = block << level
            middle = begin + (1 << (level - 1))
            end = begin + (1 << level)
            right = max(0, min(stop, end) - max(start, middle))
            over = right - max(0, min(stop, middle) - max(start, begin))
            if over != 0:
                at = find(words, (level << LEVEL) | block)
                if at >= 0:
                    value += values[at] * over / 2.0**level
                    gross += abs(values[at] * over / 2.0**level)
                if (at >= 0 and partly[at]) or (at < 0 and not begin <= place < end):
                    squares += over * over / 2.0**level
                    absolute += abs(over) / 2.0 ** (level / 2)
            if first == last:
                break
    return value, squares, absolute, gross
