"""Which queries match a row: two structures over codes, and the compiled walks through them.

`Lists` name, for the code of a row in one column, the queries that may match, each with what it
asks of a second column right beside it. `Bits` hold, for each code of each column, one bit for
every query; the words of a row's codes are joined by AND. Lists are right for queries that few rows
pass, bits for queries that many pass.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.jit import compiled
from streamgauge.operators.cuts import NULL, Codes
from streamgauge.synopses.distinct.bits import trailing_zeros

Ints: TypeAlias = npt.NDArray[np.int64]
Small: TypeAlias = npt.NDArray[np.int32]
Words: TypeAlias = npt.NDArray[np.uint64]

# Queries with a run of codes are listed under blocks of 1, 8, 64 ... codes that make up the run.
_SHIFT = 3
# Where that makes no more than so many places of a query, the first blocks are larger.
_PLACES = 64

# What is left to ask of a query that is listed: nothing; that a second column is at least or at
# most so large; that it lies in one run; more.
SURE, ABOVE, BELOW, WITHIN, MORE = range(5)
# Up to so many places are counted without a search.
_COUNTED = np.uint64(32)


class Terms(NamedTuple):
    """What queries ask of columns: query -> terms, the most selective first; term -> runs."""

    start: Ints
    column: Small
    run: Ints
    low: Small
    high: Small


class Listed(NamedTuple):
    """Runs of codes under which queries are to be listed, and what is left to ask of them."""

    column: Small
    low: Small
    high: Small
    query: Small
    left: Small
    second: Small
    second_low: Small
    second_high: Small


class Lists(NamedTuple):
    """Queries by blocks of codes; list k is about one column (-1: every row) and block size.

    `second`, `low` and `high` belong to the query at the same place. The places of one list are
    alike in what is left to ask. Where that is ABOVE or BELOW they are alike in the second column
    too and ordered by its bound, in `low`, so those that match come first; for BELOW bounds are
    negative.
    """

    column: Small
    shift: Small
    left: Small
    other: Small
    first: Ints
    start: Ints
    query: Small
    second: Small
    low: Small
    high: Small


class Bits(NamedTuple):
    """Bits of the queries for each code; bit k stands for query `name[k]`.

    Not every code has its words: those of the nearest code before it that has are taken, and the
    bits in `flip[after:until]` are flipped. `base` has the bits of queries that can match at all.
    """

    name: Small
    base: Words
    column: Small
    first: Ints
    word: Ints
    after: Ints
    until: Ints
    flip: Small
    words: Words


def lists_of(listed: Listed, tops: Ints) -> Lists:
    """Lists of queries by runs of codes in columns; column -1 has one run, (0, 0)."""
    heads: list[tuple[int, int, int, int]] = []
    firsts, starts, places, at, held = [], [], [], 0, 0
    bounded = (listed.left == ABOVE) | (listed.left == BELOW)
    kinds = np.stack([listed.column, listed.left, np.where(bounded, listed.second, 0)])
    bound = np.where(listed.left == BELOW, -listed.second_high, listed.second_low)
    for column, left, other in np.unique(kinds, axis=1).T.tolist():
        kind = np.array([[column], [left], [other]])
        mine = np.flatnonzero(np.equal(kinds, kind).all(axis=0))
        for shift, blocks, which in _blocks(listed.low[mine], listed.high[mine]):
            n = (int(tops[column]) >> shift) + 1 if column >= 0 else 1
            which = mine[which]
            keys = (listed.query[which], bound[which] if left in (ABOVE, BELOW) else blocks, blocks)
            order = np.lexsort(keys)
            heads.append((column, shift, left, other))
            firsts.append(at)
            starts.append(np.searchsorted(blocks[order], np.arange(n + 1)) + held)
            places.append(which[order])
            at, held = at + n + 1, held + len(which)
    place = np.concatenate([*places, np.empty(0, np.int64)])
    columns, shifts, lefts, others = np.array(heads, np.int32).reshape(-1, 4).T.copy()
    return Lists(
        columns,
        shifts,
        lefts,
        others,
        np.array(firsts, np.int64),
        np.concatenate([*starts, np.empty(0, np.int64)]).astype(np.int64),
        listed.query[place],
        listed.second[place],
        bound[place],
        listed.second_high[place],
    )


def _blocks(low: Small, high: Small) -> list[tuple[int, Ints, Ints]]:
    """Cut runs into blocks, the smallest first: shift, number of each block, of which run."""
    parts, shift = [], 0
    first, last, run = low.astype(np.int64), high.astype(np.int64), np.arange(len(low))
    step = _first_step(first, last)
    while len(first):
        size = 1 << step
        # Whole blocks of the next size are cut out of the middle of a run.
        inner, outer = -(-first // size) * size, (last + 1) // size * size
        whole = inner < outer
        cut, behind = np.where(whole, inner, last + 1), np.where(whole, outer, last + 1)
        before, which = _counted(first, cut, run)
        after, whose = _counted(behind, last + 1, run)
        if len(before) + len(after):
            parts.append((shift, np.concatenate([before, after]), np.concatenate([which, whose])))
        first, last, run = inner[whole] // size, outer[whole] // size - 1, run[whole]
        shift, step = shift + step, _SHIFT
    return parts


def _counted(first: Ints, end: Ints, run: Ints) -> tuple[Ints, Ints]:
    """All numbers from first to before end, for each run, and the run of each number."""
    lengths = end - first
    begun = np.cumsum(lengths) - lengths
    return np.arange(lengths.sum()) + np.repeat(first - begun, lengths), np.repeat(run, lengths)


def _first_step(first: Ints, last: Ints) -> int:
    """How many codes, as a power of two, the runs are listed one by one."""
    lengths = last - first + 1
    for step in (4 * _SHIFT, 3 * _SHIFT, 2 * _SHIFT):
        if np.minimum(lengths, 1 << step).sum() <= _PLACES * len(first):
            return step
    return _SHIFT


def bits_of(terms: Terms, shown: Small, alive: npt.NDArray[np.bool_], tops: Ints) -> Bits:
    """Bits of the queries that are shown, for each column they ask something of."""
    n_words = -(-len(shown) // 64)
    place = np.full(len(terms.start) - 1, -1, np.int32)
    place[shown] = np.arange(len(shown))
    owner = np.repeat(place, np.diff(terms.start))
    run_owner, run_column = (np.repeat(c, np.diff(terms.run)) for c in (owner, terms.column))
    base = _packed(alive[shown], n_words)
    used = np.unique(terms.column[owner >= 0]).astype(np.int32)
    firsts, word, after, until, flips, kept = [], [], [], [], [], []
    at = held = stored = 0
    for column in used.tolist():
        free = np.ones(len(shown), np.bool_)
        free[owner[(terms.column == column) & (owner >= 0)]] = False
        mine = (run_column == column) & (run_owner >= 0)
        start, flip = _flips(terms.low[mine], terms.high[mine], run_owner[mine], int(tops[column]))
        number, since = _numbered(start, max(16, n_words // 8))
        words = np.empty((number[-1] + 1, n_words), np.uint64)
        _fill(_packed(free, n_words), start, flip, number, words)
        firsts.append(at)
        word.append(number + stored)
        after.append(since + held)
        until.append(start[1:] + held)
        flips.append(flip)
        kept.append(words)
        at, held, stored = at + len(number), held + len(flip), stored + len(words)
    none, some = np.empty(0, np.int64), np.empty((0, n_words), np.uint64)
    return Bits(
        shown, base, used, np.array(firsts, np.int64), np.concatenate([*word, none]),
        np.concatenate([*after, none]), np.concatenate([*until, none]),
        np.concatenate([*flips, np.empty(0, np.int32)]), np.concatenate([*kept, some]),
    )  # fmt: skip


def _flips(low: Small, high: Small, owner: Small, top: int) -> tuple[Ints, Small]:
    """Bits that change at each code: runs begin and end there."""
    codes = np.concatenate([low, high + 1])
    both = np.concatenate([owner, owner])
    inside = codes <= top
    codes, both = codes[inside], both[inside]
    order = np.argsort(codes, kind="stable")
    start = np.searchsorted(codes[order], np.arange(top + 2)).astype(np.int64)
    return start, both[order].astype(np.int32)


def _packed(mask: npt.NDArray[np.bool_], n_words: int) -> Words:
    padded = np.zeros(64 * n_words, np.bool_)
    padded[: len(mask)] = mask
    return np.packbits(padded, bitorder="little").view(np.uint64)


@compiled
def _numbered(start: Ints, spacing: int) -> tuple[Ints, Ints]:
    """For each code, the number of its words and from which flip on to go."""
    codes = len(start) - 1
    number, since = np.empty(codes, np.int64), np.empty(codes, np.int64)
    last, begun = -1, 0
    for code in range(codes):
        if code == 0 or start[code + 1] - begun > spacing:
            last += 1
            begun = start[code + 1]
        number[code], since[code] = last, begun
    return number, since


@compiled
def _fill(base: Words, start: Ints, flip: Small, number: Ints, words: Words) -> None:
    state = base.copy()
    last = -1
    for code in range(len(number)):
        for k in range(start[code], start[code + 1]):
            state[flip[k] >> 6] ^= np.uint64(1) << np.uint64(flip[k] & 63)
        if number[code] != last:
            last = number[code]
            words[last] = state


@compiled
def _passes(query: int, codes: Codes, terms: Terms) -> bool:
    """Whether a row passes all terms of a query but the first, by which it was found."""
    for term in range(terms.start[query] + 1, terms.start[query + 1]):
        code = codes[terms.column[term]]
        first, last = terms.run[term], terms.run[term + 1]
        while last - first > 1:
            middle = (first + last) >> 1
            if terms.low[middle] <= code:
                first = middle
            else:
                last = middle
        if code < terms.low[first] or code > terms.high[first]:
            return False
    return True


@compiled
def _join(
    words: Words, which: int, flip: Small, after: int, until: int,
    work: Words, before: Words, out: Words,
) -> None:  # fmt: skip
    """The bits of a row before, and also those of one code of a column."""
    n, number, six = np.uint64(len(out)), np.uint64(which), np.uint64(6)
    for k in range(n):
        work[k] = words[number, k]
    for k in range(np.uint64(after), np.uint64(until)):
        bit = np.uint64(flip[k])
        work[bit >> six] ^= np.uint64(1) << (bit & np.uint64(63))
    for k in range(n):
        out[k] = before[k] & work[k]


@compiled
def bit_matrix(codes: Codes, bits: Bits, out: Words) -> None:
    """Bits of each row."""
    work, none = np.empty(out.shape[1], np.uint64), len(bits.column) == 0
    for row in range(len(codes)):
        before = bits.base
        for c in range(len(bits.column)):
            at = bits.first[c] + codes[row, bits.column[c]]
            _join(
                bits.words, bits.word[at], bits.flip, bits.after[at], bits.until[at],
                work, before, out[row],
            )  # fmt: skip
            before = out[row]
        if none:
            out[row] = bits.base


@compiled
def _first_ones(bound: Small, first: Any, end: Any, code: int) -> Any:
    """Of places in order of their bound, the end of those whose bound is at most the code."""
    while end - first > _COUNTED:
        middle = (first + end) >> np.uint64(1)
        if bound[middle] <= code:
            first = middle
        else:
            end = middle
    n = np.uint64(0)
    for place in range(first, end):
        n += np.uint64(bound[place] <= code)
    return first + n


@compiled
def _copied(query: Small, first: Any, end: Any, out: Small, at: Any) -> Any:
    for k in range(end - first):
        out[at + k] = query[first + k]
    return at + (end - first)


@compiled
def _tried(
    codes: Codes, query: Small, second: Small, low: Small, high: Small,
    first: Any, end: Any, out: Small, at: Any,
) -> Any:  # fmt: skip
    """Write those of some places whose second term a row passes.

    Nobody can foresee which do, so there is no branch on it: each is written, and the next one
    over it.
    """
    for place in range(first, end):
        code, least = codes[np.uint32(second[place])], low[place]
        out[at] = query[place]
        at += np.uint64(np.uint32(code - least) <= np.uint32(high[place] - least))
    return at


@compiled
def _kept(codes: Codes, terms: Terms, out: Small, first: Any, end: Any) -> Any:
    """Keep those of the queries just written of which a row passes all terms."""
    at = first
    for k in range(first, end):
        out[at] = out[k]
        at += np.uint64(_passes(out[k], codes, terms))
    return at


@compiled
def matches(
    codes: Codes,
    row: int,
    bits: Bits,
    lists: Lists,
    terms: Terms,
    out: Small,
    start: Ints,
) -> int:
    """Queries that match the rows from `row` on, written to `out` until it is full.

    Those of row i go from start[i] to start[i + 1]. Returns the next row. Places are numbers
    without a sign: for others it is asked at each whether they count from the end, which takes
    longer than all the rest.
    """
    n_words, most = len(bits.base), np.uint64(len(terms.start) - 1)
    work, found = np.empty(n_words, np.uint64), np.empty(n_words, np.uint64)
    busy = np.empty(n_words + 1, np.uint64)
    at = np.uint64(start[row])
    while row < len(codes) and at + most < np.uint64(len(out)):
        for k in range(len(lists.column)):
            block, code, left = lists.first[k], codes[row, lists.other[k]], lists.left[k]
            if lists.column[k] >= 0:
                block += codes[row, lists.column[k]] >> lists.shift[k]
            first, end = np.uint64(lists.start[block]), np.uint64(lists.start[block + 1])
            if left == ABOVE:
                end = _first_ones(lists.low, first, end, code)
            elif left == BELOW:
                end = _first_ones(lists.low, first, end, -code) if code != NULL else first
            if left < WITHIN:
                at = _copied(lists.query, first, end, out, at)
                continue
            until = _tried(
                codes[row], lists.query, lists.second, lists.low, lists.high, first, end, out, at
            )
            at = _kept(codes[row], terms, out, at, until) if left == MORE else until
        before = bits.base
        for c in range(len(bits.column)):
            cell = bits.first[c] + codes[row, bits.column[c]]
            _join(
                bits.words, bits.word[cell], bits.flip, bits.after[cell], bits.until[cell],
                work, before, found,
            )  # fmt: skip
            before = found
        if n_words:
            at = _write(before, busy, bits.name, out, at)
        row += 1
        start[row] = at
    return row


@compiled
def _write(found: Words, busy: Words, name: Small, out: Small, at: Any) -> Any:
    """Write the queries whose bit is set.

    Which words have bits, and how many, nobody can foresee, so there is no branch on either.
    """
    n, one = np.uint64(0), np.uint64(1)
    for k in range(np.uint64(len(found))):
        busy[n] = k
        n += np.uint64(found[k] != 0)
    busy[n] = 0
    place, word = np.uint64(0), found[busy[0]]
    while place < n:
        out[at] = name[(busy[place] << np.uint64(6)) + np.uint64(trailing_zeros(word))]
        at += one
        word &= word - one
        done = np.uint64(word == 0)
        place += done
        word += found[busy[place]] * done
    return at


@compiled
def numbered(start: Ints) -> Ints:
    """The number of each row as often as it has queries."""
    out = np.empty(start[-1], np.int64)
    for row in range(len(start) - 1):
        for k in range(np.uint64(start[row]), np.uint64(start[row + 1])):
            out[k] = row
    return out


@compiled
def set_bits(rows: Ints, queries: Small, out: Words) -> None:
    """Set the bit of each pair."""
    for k in range(len(rows)):
        out[rows[k], queries[k] >> 6] |= np.uint64(1) << np.uint64(queries[k] & 63)
