"""Index: the rows of the windows of a join, each key's rows chained from newest to oldest.

Rows of all sides stand in one order, that of entering, so a row may meet exactly those that stand
before it. A table leads from a key to its newest row on each side, a chain from there to older
ones, and a second, longer link on each row passes over many at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.hashing import mix64
from streamgauge.kernel.jit import compiled

Ints = npt.NDArray[np.int64]
UInts64 = npt.NDArray[np.uint64]
Bools = npt.NDArray[np.bool_]

# Lines of the facts of rows.
ENTER, LEAVE, SIDE, SERIAL, MINE = range(5)
# Columns of the links of a row; what a walk needs stands side by side.
OLDER, JUMP, UNTIL, NUMBER, DEPTH = range(5)
_FREE = -2
_LEAST = 64


@dataclass(slots=True)
class Rows:
    """Rows of one or more sides, in order of entering.

    Parameters
    ----------
    key
        What they are joined by.
    facts
        A line each of: instant of entering, instant of leaving, side, serial number on that side,
        and whether this shard owns the key.
    """

    key: UInts64
    facts: Ints

    def __len__(self) -> int:
        return len(self.key)

    def some(self, which: Bools | Ints | slice) -> Rows:
        """Some of them, in the same order or in the one given."""
        return Rows(self.key[which], self.facts[:, which])


class WindowIndex:
    """Rows that may yet be met, by key.

    Parameters
    ----------
    sides
        How many windows are joined.

    Examples
    --------
    >>> index = WindowIndex(2)
    >>> facts = np.array([[1, 2, 3], [9, 9, 9], [0, 1, 1], [0, 0, 1], [1, 1, 1]])
    >>> index.append(Rows(np.array([7, 7, 7], np.uint64), facts))
    >>> index.join(3)
    array([[0, 0, 2, 9],
           [0, 1, 3, 9]])
    """

    def __init__(self, sides: int) -> None:
        self.sides = sides
        self.size = 0
        self.chained = 0
        self.floors = np.zeros(sides, np.int64)
        self._key = np.empty(_LEAST, np.uint64)
        self._facts = np.empty((5, _LEAST), np.int64)
        self._links = np.empty((_LEAST, 5), np.int64)
        self._used = 0
        self._table_keys, self._heads = _table(_LEAST, sides)

    @property
    def rows(self) -> Rows:
        """All rows it has, the oldest first."""
        return Rows(self._key[: self.size], self._facts[:, : self.size])

    @property
    def nbytes(self) -> int:
        """Bytes that it takes."""
        arrays = (self._key, self._facts, self._links, self._table_keys, self._heads)
        return sum(array.nbytes for array in arrays)

    def append(self, rows: Rows) -> None:
        """Add rows that come after all others; they are met once they are chained."""
        size = self.size + len(rows)
        if size > len(self._key):
            room = max(size, 2 * len(self._key))
            key, facts = np.empty(room, np.uint64), np.empty((5, room), np.int64)
            links = np.empty((room, 5), np.int64)
            key[: self.size] = self._key[: self.size]
            facts[:, : self.size] = self._facts[:, : self.size]
            links[: self.size] = self._links[: self.size]
            self._key, self._facts, self._links = key, facts, links
        self._key[self.size : size] = rows.key
        self._facts[:, self.size : size] = rows.facts
        self.size = size

    def chain(self, stop: int) -> None:
        """Let rows before position `stop` be met; they look up nothing themselves."""
        self.join(stop, np.zeros(stop - self.chained, np.bool_))

    def join(self, stop: int, look: Bools | None = None) -> Ints:
        """Let rows before `stop` look up those before them as they enter, and be met from then on.

        Parameters
        ----------
        stop
            Position of the first row that is not to enter.
        look
            Which of them look up; all when None.

        Returns
        -------
        found
            A line for each combination: a serial number for each side, the instant from which it
            holds, and the instant at which its first row leaves.
        """
        start = self.chained
        if look is None:
            look = np.ones(stop - start, np.bool_)
        found: Ints = np.empty((_LEAST, self.sides + 2), np.int64)
        count = 0
        while True:
            self.chained, self._used, found, count = _enter(
                self._key,
                self._facts,
                self._links,
                self._table_keys,
                self._heads,
                self.floors,
                look[self.chained - start :],
                np.array([self.chained, stop, self._used, count]),
                found,
            )
            if self.chained >= stop:
                lines: Ints = found[:count]
                return lines
            self._widen()

    def probe(self, rows: Ints, spans: Ints, others: Ints, now: int) -> Ints:
        """Look rows up among those that entered before them and are in their window at `now`.

        Parameters
        ----------
        rows
            Positions of the rows.
        spans
            For each the positions between which the rows it meets stand.
        others
            Side that is looked at, where there are two; with more all others are.
        now
            The instant.
        """
        found, count = _probe(
            self._key,
            self._facts,
            self._links,
            self._table_keys,
            self._heads,
            self.floors,
            np.stack([rows, spans[0], spans[1], others]),
            np.int64(now),
            np.empty((_LEAST, self.sides + 2), np.int64),
        )
        lines: Ints = found[:count]
        return lines

    def settle(self, now: int) -> None:
        """Pass over rows that have left every window by an instant."""
        _settle(self._facts, self.floors, np.int64(self.chained), np.int64(now))

    def position(self, instants: Ints) -> Ints:
        """For each instant the position of the first row that enters after it."""
        enter = self._facts[ENTER, : self.size]
        places: Ints = np.searchsorted(enter, instants, side="right").astype(np.int64)
        return places

    def compacted(self, now: int) -> tuple[WindowIndex, Ints]:
        """Without the rows that have left; also the old positions of those that stay."""
        kept: Ints = np.flatnonzero(self._facts[LEAVE, : self.size] > now)
        index = WindowIndex(self.sides)
        index.append(self.rows.some(kept))
        index.chain(int(np.searchsorted(kept, self.chained)))
        index.settle(now)
        return index, kept

    def _widen(self) -> None:
        keys, heads = _table(2 * len(self._table_keys), self.sides)
        _rehash(self._table_keys, self._heads, keys, heads)
        self._table_keys, self._heads = keys, heads


def _table(room: int, sides: int) -> tuple[UInts64, Ints]:
    return np.zeros(room, np.uint64), np.full((room, sides), _FREE, np.int64)


@compiled
def _place(table_keys, heads, key):  # type: ignore[no-untyped-def]
    """Where a key stands in the table, or would."""
    mask = np.uint64(len(table_keys) - 1)
    place = mix64(key) & mask
    while heads[np.int64(place), 0] != _FREE and table_keys[np.int64(place)] != key:
        place = (place + np.uint64(1)) & mask
    return np.int64(place)


@compiled
def _rehash(old_keys, old_heads, keys, heads):  # type: ignore[no-untyped-def]
    for old in range(len(old_keys)):
        if old_heads[old, 0] != _FREE:
            place = _place(keys, heads, old_keys[old])
            keys[place] = old_keys[old]
            heads[place] = old_heads[old]


@compiled
def _settle(facts, floors, stop, now):  # type: ignore[no-untyped-def]
    """Bring the first row of each side that is in its window at `now` up to date."""
    for side in range(len(floors)):
        row = floors[side]
        while row < stop and (facts[SIDE, row] != side or facts[LEAVE, row] <= now):
            row += 1
        floors[side] = row


@compiled
def _link(facts, links, heads, place, row):  # type: ignore[no-untyped-def]
    """Put a row at the head of its chain."""
    side = facts[SIDE, row]
    older = heads[place, side]
    links[row, OLDER] = older
    links[row, UNTIL] = facts[LEAVE, row]
    links[row, NUMBER] = facts[SERIAL, row]
    if older < 0:
        links[row, JUMP] = row
        links[row, DEPTH] = 0
    else:
        # Jump pointers of Myers: two equal jumps in a row become one, so any row of a chain is
        # reached in a logarithm of steps.
        jump = links[older, JUMP]
        far = links[jump, JUMP]
        equal = links[older, DEPTH] - links[jump, DEPTH] == links[jump, DEPTH] - links[far, DEPTH]
        links[row, JUMP] = far if equal else older
        links[row, DEPTH] = links[older, DEPTH] + 1
    heads[place, side] = row


@compiled
def _below(links, row, limit):  # type: ignore[no-untyped-def]
    """The newest row of a chain that stands before a position."""
    while row >= limit:
        jump = links[row, JUMP]
        row = jump if limit <= jump < row else links[row, OLDER]
    return row


@compiled
def _grown(found):  # type: ignore[no-untyped-def]
    more = np.empty((2 * len(found), found.shape[1]), np.int64)
    more[: len(found)] = found
    return more


@compiled
def _meet_other(facts, links, head, floor, row, span, now, found, count):  # type: ignore[no-untyped-def]
    """Pairs of a row with rows of one other side."""
    side = facts[SIDE, row]
    serial = facts[SERIAL, row]
    leave = facts[LEAVE, row]
    first = max(span[0], floor)
    other = _below(links, head, span[1])
    while other >= first:
        until = links[other, UNTIL]
        if until > now:
            if count == len(found):
                found = _grown(found)
            found[count, side] = serial
            found[count, 1 - side] = links[other, NUMBER]
            found[count, 2] = now
            found[count, 3] = min(leave, until)
            count += 1
        other = links[other, OLDER]
    return found, count


@compiled
def _candidates(facts, links, heads, floors, row, now):  # type: ignore[no-untyped-def]
    """Rows of every side that a row may be combined with, side after side, and where each ends."""
    sides = len(heads)
    ends = np.zeros(sides + 1, np.int64)
    members = np.empty(16, np.int64)
    count = 0
    for side in range(sides):
        own = side == facts[SIDE, row]
        other = row if own else _below(links, heads[side], row)
        while own or other >= floors[side]:
            if own or links[other, UNTIL] > now:
                if count == len(members):
                    more = np.empty(2 * count, np.int64)
                    more[:count] = members
                    members = more
                members[count] = other
                count += 1
            if own:
                break
            other = links[other, OLDER]
        ends[side + 1] = count
        if ends[side + 1] == ends[side]:
            ends[sides] = 0
            break
    return members, ends


@compiled
def _meet_all(facts, links, heads, floors, row, now, found, count):  # type: ignore[no-untyped-def]
    """Combinations of a row with one row of each other side."""
    sides = len(heads)
    members, ends = _candidates(facts, links, heads, floors, row, now)
    if ends[sides] == 0:
        return found, count
    at = ends[:sides].copy()
    while True:
        if count == len(found):
            found = _grown(found)
        leave = facts[LEAVE, row]
        for side in range(sides):
            member = members[at[side]]
            found[count, side] = facts[SERIAL, member]
            leave = min(leave, facts[LEAVE, member])
        found[count, sides] = now
        found[count, sides + 1] = leave
        count += 1
        side = sides - 1
        while side >= 0 and at[side] + 1 == ends[side + 1]:
            at[side] = ends[side]
            side -= 1
        if side < 0:
            return found, count
        at[side] += 1


@compiled
def _enter(  # type: ignore[no-untyped-def]
    key, facts, links, table_keys, heads, floors, look, state, found
):
    """Rows look up and are chained, one after the other; stops where the table is half full."""
    start, stop, used, count = state
    sides = heads.shape[1]
    settled = np.int64(-(2**62))
    span = np.zeros(2, np.int64)
    for row in range(start, stop):
        now = facts[ENTER, row]
        if now != settled:
            _settle(facts, floors, row, now)
            settled = now
        if facts[MINE, row] == 0 or facts[LEAVE, row] <= now:
            continue
        place = _place(table_keys, heads, key[row])
        if heads[place, 0] == _FREE:
            if 2 * used >= len(table_keys):
                return row, used, found, count
            used += 1
            table_keys[place] = key[row]
            heads[place] = -1
        elif look[row - start]:
            if sides == 2:
                other = 1 - facts[SIDE, row]
                span[1] = row
                found, count = _meet_other(
                    facts, links, heads[place, other], floors[other], row, span, now, found, count
                )
            else:
                found, count = _meet_all(facts, links, heads[place], floors, row, now, found, count)
        _link(facts, links, heads, place, row)
    return stop, used, found, count


@compiled
def _probe(  # type: ignore[no-untyped-def]
    key, facts, links, table_keys, heads, floors, asked, now, found
):
    """Rows look up what is left of the spans that were put off."""
    count = 0
    sides = heads.shape[1]
    for i in range(asked.shape[1]):
        row = asked[0, i]
        if facts[MINE, row] == 0:
            continue
        place = _place(table_keys, heads, key[row])
        if sides == 2:
            other = asked[3, i]
            found, count = _meet_other(
                facts,
                links,
                heads[place, other],
                floors[other],
                row,
                asked[1:3, i],
                now,
                found,
                count,
            )
        else:
            found, count = _meet_all(facts, links, heads[place], floors, row, now, found, count)
    return found, count
