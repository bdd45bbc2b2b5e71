"""Groups of rows that come and go: one row for each group, with its keys and aggregates.

At every instant at which rows of a group change, its old row goes and its new row comes, unless
they are equal. For rows that only ever come, `grouped_held` does the same with a little state for
each group instead of the rows before.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamgauge.operators.aggregate_rows import Before, Call, Changes, Outcome, aggregate
from streamgauge.operators.codes import Codes, concatenated, plain, table_codes, unchanged
from streamgauge.operators.delta import Delta
from streamgauge.operators.evaluate import evaluate
from streamgauge.operators.expression import Expr
from streamgauge.operators.functions import Functions
from streamgauge.operators.held import Held, Partial, changed
from streamgauge.operators.steps import Steps, steps_of

__all__ = ["Held", "Named", "grouped", "grouped_held", "holdable"]

Named = tuple[tuple[str, Expr], ...]
Ints = npt.NDArray[np.int64]


def grouped(
    delta: Delta, by: Named, aggregates: Named, functions: Functions, *, since: int
) -> Delta:
    """One row for each group while it has rows; without keys one row always.

    Parameters
    ----------
    delta
        The rows.
    by, aggregates
        Names and expressions of the keys and of the aggregates.
    functions
        Functions of one's own.
    since
        The earliest instant there is; a row without keys is there from then on.

    Examples
    --------
    >>> from streamgauge.operators.expression import column
    >>> total = (("total", Expr("aggregate", (column("x"),), "sum")),)
    >>> rows = pa.table({"k": ["a", "b", "a"], "x": [1.5, 2.0, 3.0]})
    >>> delta = Delta(rows, np.array([10, 10, 20]), np.ones(3, np.int64))
    >>> out = grouped(delta, (("k", column("k")),), total, {}, since=0)
    >>> list(zip(*out.rows.to_pydict().values(), out.at.tolist(), out.count.tolist()))
    [('a', 1.5, 10, 1), ('a', 4.5, 20, 1), ('b', 2.0, 10, 1), ('a', 1.5, 20, -1)]
    """
    work = _Work.of(None, delta, by, functions, since)
    calls = [Call.of(expr) for _, expr in aggregates]
    outcomes = [aggregate(call, work.changes, None) for call in calls]
    return work.given(by, aggregates, outcomes)


def grouped_held(
    held: Held | None,
    delta: Delta,
    by: Named,
    aggregates: Named,
    functions: Functions,
    *,
    since: int,
) -> tuple[Delta, Held]:
    """Changes of `grouped` that new rows bring, given what was held of all rows before.

    Parameters
    ----------
    held
        What was kept; None at the start.
    delta
        New rows only, none of which goes.
    by, aggregates, functions, since
        As for `grouped`; the aggregates must be `holdable`.
    """
    assert (delta.count > 0).all(), "rows that go cannot be taken out of what is held"
    work = _Work.of(held, delta, by, functions, since)
    calls = [Call.of(expr) for _, expr in aggregates]
    outcomes = [
        aggregate(call, work.changes, work.before(held, i, call)) for i, call in enumerate(calls)
    ]
    return work.given(by, aggregates, outcomes), work.held(held, outcomes)


def holdable(aggregates: Named) -> bool:
    """Whether a little state for each group is enough while rows only come.

    >>> from streamgauge.operators.expression import column
    >>> holdable((("m", Expr("aggregate", (column("x"),), "max")),))
    True
    >>> holdable((("m", Expr("aggregate", (column("x"),), "median")),))
    False
    """
    return all(Call.of(expr).holdable for _, expr in aggregates)


@dataclass(frozen=True, slots=True)
class _Work:
    """Changes of groups, and which of them were there before.

    `known` has for each group its place among those held, or -1. Steps at `past` only say what was
    before and are not given.
    """

    keys: list[pa.Array]
    changes: Changes
    rows: Ints
    known: Ints
    past: int

    @property
    def steps(self) -> Steps:
        return self.changes.steps

    @classmethod
    def of(
        cls, held: Held | None, delta: Delta, by: Named, functions: Functions, since: int
    ) -> _Work:
        """Sort changes into steps, with a stand-in for each group that was there before."""
        n = len(delta)
        keys = [plain(evaluate(expr, delta.rows, functions)) for _, expr in by]
        past = int(min(delta.at.min(initial=since), since)) - 1
        old = np.empty(0, np.int64)
        if held is not None:
            keys = [concatenated([new, kept]) for new, kept in zip(keys, held.keys, strict=True)]
            codes = table_codes(keys, n + len(held))
            old = np.flatnonzero(np.isin(codes.codes[n:], codes.codes[:n])) if by else old
            old = np.arange(len(held)) if not by else old
            which = np.concatenate((np.arange(n), n + old))
            codes = Codes(codes.codes[which], codes.width)
            keys = [column.take(pa.array(which)) for column in keys]
        else:
            codes = table_codes(keys, n)
        # Without keys there is a row even if there is nothing; its group begins at `since`.
        lone = 0 if by or len(old) else 1
        n_before = len(old) + lone
        at = np.concatenate((delta.at, np.full(n_before, since if lone else past, np.int64)))
        count = np.concatenate((delta.count, np.zeros(n_before, np.int64)))
        if lone:
            codes = Codes(np.zeros(n + 1, np.int64), 1)
        steps = steps_of(codes, at)
        changes = Changes(delta.rows, at, count, steps, steps.of_changes, n_before, functions)
        known = np.full(len(steps.firsts), -1, np.int64)
        known[steps.thing[changes.step[n : n + len(old)]]] = old
        rows = steps.running(count)
        if held is not None and len(old):
            rows += np.where(known >= 0, held.rows[known], 0)[steps.thing]
        return cls(keys, changes, rows, known, past)

    def before(self, held: Held | None, place: int, call: Call) -> Before:
        """What was kept for one aggregate, for the groups at hand."""
        lines = np.zeros((len(self.known), call.width), np.int64)
        fresh = len(self.changes.at) - self.changes.n_before
        values: tuple[pa.Array, ...] = ()
        if held is not None and len(held):
            there = self.known >= 0
            lines[there] = held.partials[place].whole(self.known[there])
            stand_ins = self.known[self.steps.thing[self.changes.step[fresh:]]]
            values = tuple(column.take(pa.array(stand_ins)) for column in held.values[place])
        elif self.changes.n_before:
            values = (pa.nulls(self.changes.n_before),) * call.n_values
        return Before(lines, values)

    def given(self, by: Named, aggregates: Named, outcomes: list[Outcome]) -> Delta:
        """Rows of groups as changes: the old one goes, the new one comes."""
        steps = self.steps
        columns = [outcome.column for outcome in outcomes]
        there = self.rows > 0 if by else np.ones(len(steps), np.bool_)
        was = steps.previous(there.astype(np.int64)) > 0
        same = was & there & unchanged(columns, len(steps))
        told = steps.at != self.past
        comes = np.flatnonzero(there & ~same & told)
        goes = np.flatnonzero(was & ~same & told)
        places = pa.array(np.concatenate((comes, goes - 1)))
        owners = pa.array(steps.change).take(places)
        arrays = [column.take(owners) for column in self.keys]
        arrays += [column.take(places) for column in columns]
        names = [name for name, _ in (*by, *aggregates)]
        at = np.concatenate((steps.at[comes], steps.at[goes]))
        count = np.concatenate((np.ones(len(comes), np.int64), np.full(len(goes), -1, np.int64)))
        return Delta(pa.table(arrays, names=names), at, count)

    def held(self, held: Held | None, outcomes: list[Outcome]) -> Held:
        """What is kept of all groups from now on."""
        steps, lasts = self.steps, self.steps.lasts
        owners = pa.array(steps.change[lasts])
        keys = tuple(column.take(owners) for column in self.keys)
        rows, lines = self.rows[lasts], [outcome.lines for outcome in outcomes]
        values = tuple(outcome.values for outcome in outcomes)
        if held is None:
            return Held(keys, rows, tuple(map(Partial.of, lines)), values)
        old, new = self.known >= 0, np.flatnonzero(self.known < 0)
        places, fresh = self.known[old], pa.array(new)
        here = pa.array(np.flatnonzero(old))

        def merged(kept: pa.Array, column: pa.Array) -> pa.Array:
            return changed(kept, places, column.take(here), column.take(fresh))

        all_rows = np.concatenate((held.rows, rows[new]))
        all_rows[places] = rows[old]
        return Held(
            tuple(merged(one, two) for one, two in zip(held.keys, keys, strict=True)),
            all_rows,
            tuple(
                kept.changed(places, part[old], part[new])
                for kept, part in zip(held.partials, lines, strict=True)
            ),
            tuple(
                tuple(merged(one, two) for one, two in zip(kept, found, strict=True))
                for kept, found in zip(held.values, values, strict=True)
            ),
        )
