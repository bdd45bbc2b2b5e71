"""Linear multiwavelets: an orthonormal basis in which a straight line has two terms.

Every dyadic block of cells has a constant and a slope; two halves give those of the whole and two
terms more, one even (a vee) and one odd, which are 0 where the signal is straight. The transform is
made online: only the blocks on the path to the newest cell are open.

The cells behind the newest one, and those skipped, hold a filling: 0 for a signal itself, the total
so far for its running sums.
"""

from __future__ import annotations

import math

import numpy as np

from streamgauge.kernel.jit import compiled
from streamgauge.synopses.histograms.terms import LEVEL, Marks, Terms, find, push
from streamgauge.synopses.synopsis import Arrays, Floats, Ints

_CELL, _TOTAL = 0, 1


class Multiwavelet:
    """The largest multiwavelet terms of a signal that comes in order, or of its running sums.

    Parameters
    ----------
    terms
        Terms that are always among those kept.
    running
        Whether the running sums are transformed in place of the signal.
    """

    def __init__(self, terms: int, *, running: bool) -> None:
        self.running = running
        self.kept = Terms(2 * terms, halving=False)
        self.left = np.zeros((2, LEVEL))
        self.cell = np.zeros(2)
        self.place = np.full(1, -1, np.int64)

    def add(self, positions: Ints, weights: Floats) -> None:
        """Add weights at positions."""
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
            self.running,
        )

    def take(self, other: Multiwavelet) -> None:
        """Add another, which may be changed by it."""
        if other.place[0] < 0:
            return
        # Both are brought to one place, so that their unfinished blocks are the same blocks.
        place = np.array([max(self.place[0], other.place[0])], np.int64)
        self.add(place, np.zeros(1))
        other.add(place, np.zeros(1))
        self.left += other.left
        self.cell += other.cell
        self.kept.take(other.kept)

    @property
    def height(self) -> int:
        """Levels of the tree over all cells so far."""
        return max(1, int(self.place[0]).bit_length() if self.place[0] > 0 else 0)

    def terms(self) -> tuple[Ints, Floats, Marks, float, float]:
        """Words, values and marks of all terms held, and the two terms of the root."""
        words, values, partly = self.kept.held()
        place = max(int(self.place[0]), 0)
        fill = float(self.cell[_TOTAL]) if self.running else 0.0
        more, sizes, constant, slope = _unfinished(
            self.left, self.cell[_CELL], place, self.height, fill
        )
        every, sums = np.append(words, more), np.append(values, sizes)
        order = np.argsort(every)
        marks = np.append(partly, np.zeros(len(more), np.bool_))
        return every[order], sums[order], marks[order], float(constant), float(slope)

    def inner(self, first: int, last: int, ends: tuple[float, float], between: float) -> Bar:
        """Sum of cells `first` and `last` weighted by `ends`, and of those between by `between`."""
        words, values, marks, constant, slope = self.terms()
        value, squares, absolute, gross = _inner(
            words,
            values,
            marks,
            constant,
            slope,
            self.height,
            first,
            last,
            ends[0],
            ends[1],
            between,
            int(self.place[0]),
        )
        loss = min(math.sqrt(squares) * self.kept.error, absolute * self.kept.largest)
        loss += 1e-13 * gross  # rounding
        return float(value), float(value - loss), float(value + loss)

    def cells(self) -> Floats:
        """The signal that the terms held stand for, up to the newest cell."""
        words, values, _, constant, slope = self.terms()
        whole: Floats = _cells(words, values, constant, slope, self.height)
        return whole[: int(self.place[0]) + 1]

    def edges(self) -> Ints:
        """Places where the lines of `cells` may break."""
        words = self.terms()[0]
        levels = words >> LEVEL
        starts = ((words & ((1 << LEVEL) - 1)) >> 1) << levels
        half = np.int64(1) << (levels - 1)
        end = int(self.place[0]) + 1
        every = np.unique(np.concatenate([[0, end], starts, starts + half, starts + 2 * half]))
        found: Ints = every[every <= end].astype(np.int64)
        return found

    def arrays(self) -> Arrays:
        """State."""
        own = {"left": self.left, "cell": self.cell, "place": self.place}
        return {**self.kept.arrays(), **own}

    def load(self, arrays: Arrays) -> None:
        """Take state as given by `arrays`."""
        self.kept.load(arrays)
        self.left, self.cell, self.place = arrays["left"], arrays["cell"], arrays["place"]

    @property
    def nbytes(self) -> int:
        """Bytes of the buffer and of the open path."""
        return self.kept.nbytes + self.left.nbytes + 88


Bar = tuple[float, float, float]


@compiled
def transform(left_constant, left_slope, right_constant, right_slope, half):  # type: ignore[no-untyped-def]
    """Constant, slope, vee and odd of a block, from those of its halves of `half` cells."""
    a = math.sqrt(3.0 * half * half / (4.0 * half * half - 1.0))
    b = math.sqrt((half * half - 1.0) / (4.0 * half * half - 1.0))
    root = math.sqrt(0.5)
    constant = (left_constant + right_constant) * root
    slope = (a * (right_constant - left_constant) + b * (left_slope + right_slope)) * root
    vee = (right_slope - left_slope) * root
    odd = (b * (left_constant - right_constant) + a * (left_slope + right_slope)) * root
    return constant, slope, vee, odd


@compiled
def _add_rows(  # type: ignore[no-untyped-def]
    ids, values, late, counts, losses, scales, left, cell, place, positions, weights, running
):
    for row in range(len(positions)):
        at, weight = positions[row], weights[row]
        now = place[0]
        if now < 0:
            now = at
        if at > now:
            fill = cell[_TOTAL] if running else 0.0
            _close(ids, values, late, counts, losses, scales, left, cell[_CELL], now, at, fill)
            cell[_CELL] = fill
            now = at
        place[0] = now
        if at < now:
            level = _add_late(
                ids, values, late, counts, losses, scales, left, now, at, weight, running
            )
            if running:
                for below in range(level):
                    if (now >> below) & 1:
                        left[0, below] += weight * 2.0 ** (below / 2)
        if at == now or running:
            cell[_CELL] += weight
        cell[_TOTAL] += weight


@compiled
def _close(ids, values, late, counts, losses, scales, left, cell, now, then, fill):  # type: ignore[no-untyped-def]
    constant, slope = cell, 0.0
    level = 0
    while now >> level != then >> level:
        half = 2.0**level
        if now >> (level + 1) == then >> (level + 1):
            left[0, level] = constant
            left[1, level] = slope
        else:
            if (now >> level) & 1:
                constant, slope, vee, odd = transform(
                    left[0, level], left[1, level], constant, slope, half
                )
                left[:, level] = 0.0
            else:
                constant, slope, vee, odd = transform(
                    constant, slope, fill * math.sqrt(half), 0.0, half
                )
            word = ((level + 1) << LEVEL) | ((now >> (level + 1)) << 1)
            push(ids, values, late, counts, losses, scales, word, vee, False)
            push(ids, values, late, counts, losses, scales, word | 1, odd, False)
        level += 1
    for below in range(level - 1):
        if (then >> below) & 1:
            left[0, below] = fill * 2.0 ** (below / 2)


@compiled
def _add_late(ids, values, late, counts, losses, scales, left, now, at, weight, running):  # type: ignore[no-untyped-def]
    """Change the finished terms of a late row; return the level where its block is open."""
    constant, slope = weight, 0.0
    level = 0
    while at >> (level + 1) != now >> (level + 1):
        half = 2.0**level
        if (at >> level) & 1:
            constant, slope, vee, odd = transform(0.0, 0.0, constant, slope, half)
        else:
            beside = weight * math.sqrt(half) if running else 0.0
            constant, slope, vee, odd = transform(constant, slope, beside, 0.0, half)
        word = ((level + 1) << LEVEL) | ((at >> (level + 1)) << 1)
        push(ids, values, late, counts, losses, scales, word, vee, True)
        push(ids, values, late, counts, losses, scales, word | 1, odd, True)
        level += 1
    left[0, level] += constant
    left[1, level] += slope
    return level


@compiled
def _unfinished(left, cell, place, height, fill):  # type: ignore[no-untyped-def]
    words = np.empty(2 * height, np.int64)
    values = np.empty(2 * height)
    constant, slope = cell, 0.0
    for level in range(height):
        half = 2.0**level
        if (place >> level) & 1:
            constant, slope, vee, odd = transform(
                left[0, level], left[1, level], constant, slope, half
            )
        else:
            constant, slope, vee, odd = transform(
                constant, slope, fill * math.sqrt(half), 0.0, half
            )
        word = ((level + 1) << LEVEL) | ((place >> (level + 1)) << 1)
        words[2 * level], words[2 * level + 1] = word, word | 1
        values[2 * level], values[2 * level + 1] = vee, odd
    return words, values, constant, slope


@compiled
def _side(child, first, last, one, two, between, size):  # type: ignore[no-untyped-def]
    """Constant and slope, within a block, of the weights of a question."""
    if child == first:
        return one
    if child == last:
        return two
    if first < child < last:
        return between * math.sqrt(size), 0.0
    return 0.0, 0.0


@compiled
def _inner(  # type: ignore[no-untyped-def]
    words, values, partly, constant, slope, height, first, last, one_end, two_end, between, place
):
    one, two = (one_end, 0.0), (two_end, 0.0)
    value, gross, squares, absolute = 0.0, 0.0, 0.0, 0.0
    for level in range(height):
        half = 2.0**level
        parents = (first >> 1, last >> 1)
        found = (one, two)
        for side in range(2 if parents[0] != parents[1] else 1):
            parent = parents[side]
            left = _side(2 * parent, first, last, one, two, between, half)
            right = _side(2 * parent + 1, first, last, one, two, between, half)
            c, s, vee, odd = transform(left[0], left[1], right[0], right[1], half)
            found = ((c, s), found[1]) if side == 0 else (found[0], (c, s))
            is_open = parent == place >> (level + 1)
            for kind in range(2):
                share = vee if kind == 0 else odd
                at = find(words, ((level + 1) << LEVEL) | (parent << 1) | kind)
                if at >= 0:
                    value += share * values[at]
                    gross += abs(share * values[at])
                if (at >= 0 and partly[at]) or (at < 0 and not is_open):
                    squares += share * share
                    absolute += abs(share)
        one, two = found
        first, last = parents
    value += one[0] * constant + one[1] * slope
    gross += abs(one[0] * constant) + abs(one[1] * slope)
    return value, squares, absolute, gross


@compiled
def _cells(words, values, constant, slope, height):  # type: ignore[no-untyped-def]
    constants, slopes = np.full(1, constant), np.full(1, slope)
    root = math.sqrt(0.5)
    for level in range(height, 0, -1):
        half = 2.0 ** (level - 1)
        a = math.sqrt(3.0 * half * half / (4.0 * half * half - 1.0))
        b = math.sqrt((half * half - 1.0) / (4.0 * half * half - 1.0))
        n = len(constants)
        below, tilts = np.empty(2 * n), np.empty(2 * n)
        for block in range(n):
            place = find(words, (level << LEVEL) | (block << 1))
            vee = values[place] if place >= 0 else 0.0
            place = find(words, (level << LEVEL) | (block << 1) | 1)
            odd = values[place] if place >= 0 else 0.0
            c, s = constants[block], slopes[block]
            below[2 * block] = (c - a * s + b * odd) * root
            below[2 * block + 1] = (c + a * s - b * odd) * root
            tilts[2 * block] = (b * s - vee + a * odd) * root
            tilts[2 * block + 1] = (b * s + vee + a * odd) * root
        constants, slopes = below, tilts
    return constants
