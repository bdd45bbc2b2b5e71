"""Which queries match a row: two structures over codes, and the compiled walks through them.

`Lists` name, for the code of a row in one column, the queries that may match, each with what it
asks of a second column right beside it. `Bits` hold, for each code of each column, one bit for
every query; the words of a row's codes are joined by AND. Lists are right for queries that few rows
pass, bits for queries that many pass.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.jit import compiled
from streamgauge.operators.cuts import Codes
from streamgauge.synopses.distinct.bits import trailing_zeros

Ints: TypeAlias = npt.NDArray[np.int64]
Small: TypeAlias = npt.NDArray[np.int32]
Words: TypeAlias = npt.NDArray[np.uint64]

# Queries with a run of codes are listed under blocks of 1, 8, 64 ... codes that make up the run.
_SHIFT = 3
# Where that makes no more than so many places of a query, the first blocks are larger.
_PLACES = 64

# What is left to ask of a query that is listed: nothing, one run of a second column, more.
SURE, SECOND, MORE = 0, 1, 2


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

    `second` and the run beside it belong to the query at the same place. Places of one list are
    all alike in what is left to ask.
    """

    column: Small
    shift: Small
    left: Small
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
    heads: list[tuple[int, int, int]] = []
    firsts, starts, places, at, held = [], [], [], 0, 0
    for column, left in sorted(set(zip(listed.column.tolist(), listed.left.tolist(), strict=True))):
        mine = np.flatnonzero((listed.column == column) & (listed.left == left))
        for shift, blocks, which in _blocks(listed.low[mine], listed.high[mine]):
            n = (int(tops[column]) >> shift) + 1 if column >= 0 else 1
            order = np.lexsort((listed.query[mine[which]], blocks))
            start = np.searchsorted(blocks[order], np.arange(n + 1)) + held
            heads.append((column, shift, left))
            firsts.append(at)
            starts.append(start)
            places.append(mine[which[order]])
            at, held = at + n + 1, held + len(which)
    columns, shifts, lefts = np.array(heads, np.int32).reshape(-1, 3).T.copy()
    place = np.concatenate([*places, np.empty(0, np.int64)])
    return Lists(
        columns,
        shifts,
        lefts,
        np.array(firsts, np.int64),
        np.concatenate([*starts, np.empty(0, np.int64)]).astype(np.int64),
        listed.query[place],
        listed.second[place],
        listed.second_low[place],
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
def _row_bits(codes: Codes, bits: Bits, work: Words, out: Words) -> None:
    """Bits of the queries that match one row."""
    n = len(out)
    for k in range(n):
        out[k] = bits.base[k]
    for c in range(len(bits.column)):
        at = bits.first[c] + codes[bits.column[c]]
        words = bits.words[bits.word[at]]
        if bits.after[at] == bits.until[at]:
            for k in range(n):
                out[k] &= words[k]
            continue
        for k in range(n):
            work[k] = words[k]
        for k in range(bits.after[at], bits.until[at]):
            flip = bits.flip[k]
            work[flip >> 6] ^= np.uint64(1) << np.uint64(flip & 63)
        for k in range(n):
            out[k] &= work[k]


@compiled
def bit_matrix(codes: Codes, bits: Bits, out: Words) -> None:
    """Bits of each row."""
    work = np.empty(out.shape[1], np.uint64)
    for row in range(len(codes)):
        _row_bits(codes[row], bits, work, out[row])


@compiled
def _row_list(codes: Codes, lists: Lists, terms: Terms, out: Small, at: int) -> int:
    """Write the listed queries that match one row; how far `out` is filled.

    Every second query that is met fails, so there is no branch on whether it does: it is written
    in any case, and the next one over it.
    """
    for k in range(len(lists.column)):
        place = lists.first[k]
        if lists.column[k] >= 0:
            place += codes[lists.column[k]] >> lists.shift[k]
        first, end = lists.start[place], lists.start[place + 1]
        if lists.left[k] == SURE:
            for one in range(first, end):
                out[at + one - first] = lists.query[one]
            at += end - first
            continue
        more = lists.left[k] == MORE
        for one in range(first, end):
            code = codes[lists.second[one]]
            out[at] = lists.query[one]
            inside = (lists.low[one] <= code) & (code <= lists.high[one])
            if more and inside:
                inside = _passes(lists.query[one], codes, terms)
            at += inside
    return at


@compiled
def matches(
    codes: Codes,
    row: int,
    bits: Bits,
    lists: Lists,
    terms: Terms,
    out: Small,
    at: int,
    counts: Ints,
) -> tuple[int, int]:
    """Queries that match the rows from `row` on, written to `out` from `at` on until it is full.

    Returns the next row and how far `out` is filled.
    """
    n_words, most = len(bits.base), len(terms.start) - 1
    work, found = np.empty(n_words, np.uint64), np.empty(n_words, np.uint64)
    busy = np.empty(n_words + 1, np.int64)
    while row < len(codes) and at + most < len(out):
        begun = at
        at = _row_list(codes[row], lists, terms, out, at)
        if n_words:
            _row_bits(codes[row], bits, work, found)
            at = _write(found, busy, bits.name, out, at)
        counts[row] = at - begun
        row += 1
    return row, at


@compiled
def _write(found: Words, busy: Ints, name: Small, out: Small, at: int) -> int:
    """Write the queries whose bit is set.

    Which words have bits, and how many, nobody can foresee, so there is no branch on either.
    """
    n = 0
    for k in range(len(found)):
        busy[n] = k
        n += found[k] != 0
    busy[n] = 0
    place, word = 0, found[busy[0]]
    while place < n:
        out[at] = name[64 * busy[place] + trailing_zeros(word)]
        at += 1
        word &= word - np.uint64(1)
        done = int(word == 0)
        place += done
        word += found[busy[place]] * np.uint64(done)
    return at


@compiled
def repeated(counts: Ints, out: Ints) -> None:
    """Each number as often as its count says."""
    at = 0
    for number in range(len(counts)):
        for k in range(at, at + counts[number]):
            out[k] = number
        at += counts[number]


@compiled
def set_bits(rows: Ints, queries: Small, out: Words) -> None:
    """Set the bit of each pair."""
    for k in range(len(rows)):
        out[rows[k], queries[k] >> 6] |= np.uint64(1) << np.uint64(queries[k] & 63)
