"""Steps: the instants at which things change, thing by thing; and spans, the times between.

A thing is a row or a group, told by a code. All its changes at one instant are one step, so what
is read at a step does not depend on the order of changes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from streamgauge.operators.codes import Codes, table_codes
from streamgauge.operators.delta import Delta

Ints = npt.NDArray[np.int64]
NEVER = 2**62


@dataclass(frozen=True, slots=True)
class Steps:
    """Changes sorted by thing and instant.

    Parameters
    ----------
    order
        Numbers of the changes, sorted.
    starts
        Where each step starts in `order`.
    firsts
        First step of each thing.
    thing
        Number of the thing of each step, from 0, in the order of codes.
    at
        Instant of each step.

    Examples
    --------
    >>> steps = steps_of(Codes(np.array([1, 0, 1, 1]), 2), np.array([5, 2, 5, 3]))
    >>> steps.thing, steps.at
    (array([0, 1, 1]), array([2, 3, 5]))
    >>> steps.running(np.array([1, 1, -3, 4]))
    array([1, 4, 2])
    """

    order: Ints
    starts: Ints
    firsts: Ints
    thing: Ints
    at: Ints

    def __len__(self) -> int:
        return len(self.at)

    @property
    def change(self) -> Ints:
        """One change of each step."""
        return self.order[self.starts]

    @property
    def ends(self) -> Ints:
        """Where each step ends in `order`."""
        return _until_next(self.starts, len(self.order))

    @property
    def begins(self) -> Ints:
        """Where the changes of each thing start in `order`."""
        return self.starts[self.firsts]

    @property
    def lasts(self) -> Ints:
        """Last step of each thing."""
        return _until_next(self.firsts, len(self.at)) - 1

    @property
    def of_changes(self) -> Ints:
        """The step of each change."""
        numbers = np.empty(len(self.order), np.int64)
        numbers[self.order] = np.repeat(np.arange(len(self.at)), self.ends - self.starts)
        return numbers

    def totals(self, amounts: Ints) -> Ints:
        """Sum of the amounts of each step's changes."""
        if not len(self.at):
            return np.empty(0, np.int64)
        return np.add.reduceat(amounts[self.order], self.starts)

    def running(self, amounts: Ints) -> Ints:
        """Sum of the amounts of a thing's changes up to each step."""
        totals = self.totals(amounts)
        sums = np.cumsum(totals)
        before = (sums - totals)[self.firsts]
        return sums - before[self.thing]

    def previous(self, values: Ints) -> Ints:
        """The value of the same thing at its step before; 0 at its first."""
        shifted = np.empty_like(values)
        shifted[1:] = values[:-1]
        shifted[self.firsts] = 0
        return shifted

    def until(self) -> Ints:
        """Instant of the same thing's next step; NEVER after its last."""
        after = np.full(len(self.at), NEVER, np.int64)
        after[:-1] = self.at[1:]
        after[self.lasts] = NEVER
        return after


def _until_next(starts: Ints, end: int) -> Ints:
    ends = np.full(len(starts), end, np.int64)
    ends[:-1] = starts[1:]
    return ends


def steps_of(codes: Codes, at: Ints) -> Steps:
    """Sort changes by the code of their thing and by instant."""
    n = len(at)
    if not n:
        none = np.empty(0, np.int64)
        return Steps(none, none, none, none, none)
    low = int(at.min())
    pairs = codes.then(Codes(at - low, int(at.max()) - low + 1)).codes
    order = np.argsort(pairs)
    pairs = pairs[order]
    fresh = np.ones(n, np.bool_)
    fresh[1:] = pairs[1:] != pairs[:-1]
    starts = np.flatnonzero(fresh)
    things = codes.codes[order[starts]]
    other = np.ones(len(starts), np.bool_)
    other[1:] = things[1:] != things[:-1]
    return Steps(order, starts, np.flatnonzero(other), np.cumsum(other) - 1, at[order[starts]])


@dataclass(frozen=True, slots=True)
class Spans:
    """Times during which a row is there, with its number of copies.

    `row` is the number of a change with that row; a span is from `enter` up to before `leave`.
    """

    row: Ints
    enter: Ints
    leave: Ints
    count: Ints

    def __len__(self) -> int:
        return len(self.row)

    def take(self, which: Ints | npt.NDArray[np.bool_]) -> Spans:
        """Some of the spans."""
        return Spans(self.row[which], self.enter[which], self.leave[which], self.count[which])


def spans_of(delta: Delta) -> Spans:
    """The times between changes of each row at which it is there."""
    if (delta.count > 0).all():
        forever = np.full(len(delta), NEVER, np.int64)
        return Spans(np.arange(len(delta), dtype=np.int64), delta.at, forever, delta.count)
    steps = steps_of(table_codes(delta.rows.columns, len(delta)), delta.at)
    copies = steps.running(delta.count)
    spans = Spans(steps.change, steps.at, steps.until(), copies)
    return spans.take(copies != 0)
