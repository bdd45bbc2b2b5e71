"""Which queries match a row: two structures over codes, and the compiled walks through them.

`Lists` name, for the code of a row in one column, the queries that may match; their other terms are
then looked at one by one. `Bits` hold, for each code of each column, one bit for every query; the
words of a row's codes are joined by AND. Lists are right for queries that few rows pass, bits for
queries that many pass.
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


class Terms(NamedTuple):
    """What queries ask of columns: query -> terms, the most selective first; term -> runs."""

    start: Ints
    column: Small
    run: Ints
    low: Small
    high: Small


class Lists(NamedTuple):
    """Queries by blocks of codes; entry k is about one column (-1: every row) and block size."""

    column: Small
    shift: Small
    first: Ints
    start: Ints
    query: Small


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


def lists_of(column: Small, low: Small, high: Small, query: Small, tops: Ints) -> Lists:
    """Lists of queries by runs of codes in columns; column -1 has one run, (0, 0)."""
    parts: list[tuple[int, int, Ints, Small]] = []
    for one in np.unique(column).tolist():
        mine = column == one
        parts += _blocks(one, low[mine].astype(np.int64), high[mine].astype(np.int64), query[mine])
    firsts, starts, queries, at, held = [], [], [], 0, 0
    for one, shift, blocks, names in parts:
        n = (int(tops[one]) >> shift) + 1 if one >= 0 else 1
        order = np.lexsort((names, blocks))
        start = np.searchsorted(blocks[order], np.arange(n + 1)) + held
        firsts.append(at)
        starts.append(start)
        queries.append(names[order])
        at, held = at + n + 1, held + len(names)
    return Lists(
        np.array([part[0] for part in parts], np.int32),
        np.array([part[1] for part in parts], np.int32),
        np.array(firsts, np.int64),
        np.concatenate([*starts, np.empty(0, np.int64)]).astype(np.int64),
        np.concatenate([*queries, np.empty(0, np.int32)]).astype(np.int32),
    )


def _blocks(column: int, low: Ints, high: Ints, query: Small) -> list[tuple[int, int, Ints, Small]]:
    """Cut runs into blocks, the smallest first: column, shift, number of each block, query."""
    parts, shift, size = [], 0, 1 << _SHIFT
    while len(low):
        numbers, names = [], []
        for _ in range(size - 1):
            odd = (low <= high) & (low % size != 0)
            numbers.append(low[odd])
            names.append(query[odd])
            low = low + odd
            odd = (low <= high) & ((high + 1) % size != 0)
            numbers.append(high[odd])
            names.append(query[odd])
            high = high - odd
        if sum(map(len, numbers)):
            parts.append((column, shift, np.concatenate(numbers), np.concatenate(names)))
        left = low <= high
        low, high, query = low[left] // size, high[left] // size, query[left]
        shift += _SHIFT
    return parts


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
    """Write the listed queries that match one row, in order; how far `out` is filled."""
    begun = at
    for entry in range(len(lists.column)):
        place = lists.first[entry]
        if lists.column[entry] >= 0:
            place += codes[lists.column[entry]] >> lists.shift[entry]
        for k in range(lists.start[place], lists.start[place + 1]):
            if _passes(lists.query[k], codes, terms):
                out[at] = lists.query[k]
                at += 1
    _sort(out, begun, at)
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
    busy, listed = np.empty(n_words + 1, np.int64), np.empty(most, np.int32)
    while row < len(codes) and at + most <= len(out):
        begun = at
        if n_words == 0:
            at = _row_list(codes[row], lists, terms, out, at)
        else:
            n = _row_list(codes[row], lists, terms, listed, 0)
            _row_bits(codes[row], bits, work, found)
            at = _write(found, busy, bits.name, out, at)
            at = _insert(listed[:n], out, begun, at)
        counts[row] = at - begun
        row += 1
    return row, at


@compiled
def _write(found: Words, busy: Ints, name: Small, out: Small, at: int) -> int:
    """Write the queries whose bit is set, in order.

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
def _insert(listed: Small, out: Small, first: int, last: int) -> int:
    """Put listed queries among those written from `first` to `last`, all in order."""
    read, write = last - 1, last + len(listed) - 1
    for k in range(len(listed) - 1, -1, -1):
        while read >= first and out[read] > listed[k]:
            out[write] = out[read]
            read -= 1
            write -= 1
        out[write] = listed[k]
        write -= 1
    return last + len(listed)


@compiled
def _sort(out: Small, first: int, last: int) -> None:
    if last - first > 24:
        out[first:last].sort()
        return
    for i in range(first + 1, last):
        moved, j = out[i], i - 1
        while j >= first and out[j] > moved:
            out[j + 1] = out[j]
            j -= 1
        out[j + 1] = moved


@compiled
def set_bits(rows: Ints, queries: Small, out: Words) -> None:
    """Set the bit of each pair."""
    for k in range(len(rows)):
        out[rows[k], queries[k] >> 6] |= np.uint64(1) << np.uint64(queries[k] & 63)
