"""The first rows by some order, as rows come and go.

Rows have ranks in the order. All copies before a border are in, those behind it are out. When rows
change, the border moves, and only the rows between its old and its new place are looked at.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamgauge.kernel.jit import compiled
from streamgauge.operators.codes import Codes, codes_of, table_codes
from streamgauge.operators.counted_tree import add, find, up_to
from streamgauge.operators.delta import Delta
from streamgauge.operators.evaluate import evaluate
from streamgauge.operators.expression import Expr
from streamgauge.operators.functions import Functions
from streamgauge.operators.steps import steps_of

Ints = npt.NDArray[np.int64]


def ordered(
    delta: Delta, by: tuple[tuple[Expr, bool], ...], limit: int | None, functions: Functions
) -> Delta:
    """The rows that are among the first `limit` at each instant, copies counted.

    Parameters
    ----------
    delta
        The rows.
    by
        Expressions to order by, each with whether it descends. Nulls come last in any case; ties
        go by all columns, ascending.
    limit
        How many; None for all.
    functions
        Functions of one's own.

    Examples
    --------
    >>> from streamgauge.operators.expression import column
    >>> delta = Delta(pa.table({"x": [1, 5, 3]}), np.array([1, 2, 3]), np.ones(3, np.int64))
    >>> first = ordered(delta, ((column("x"), True),), 1, {})
    >>> first.rows["x"].to_pylist(), first.at, first.count
    ([1, 5, 1], array([1, 2, 2]), array([ 1,  1, -1]))
    """
    if limit is None or not len(delta):
        return delta
    codes = places(delta.rows, by, functions)
    # Per instant, each row once with its net change.
    steps = steps_of(codes, delta.at)
    net = steps.totals(delta.count)
    order = np.argsort(steps.at, kind="stable")
    rank, at, change = _moves(
        steps.thing[order], steps.at[order], net[order], codes.width, np.int64(limit)
    )
    rows = delta.rows.take(pa.array(steps.change[steps.firsts][rank]))
    return Delta(rows, at, change)


def places(rows: pa.Table, by: tuple[tuple[Expr, bool], ...], functions: Functions) -> Codes:
    """Where each row comes in the order; equal rows come at one place."""
    codes = Codes(np.zeros(rows.num_rows, np.int64), 1)
    for expr, descending in by:
        codes = codes.then(codes_of(evaluate(expr, rows, functions), descending=descending))
    return codes.then(table_codes(rows.columns, rows.num_rows)).dense()


@compiled
def _settle(
    place: int, at: int, border: int, rest: int, there: Ints, given: Ints, out: Ints, size: int
) -> tuple[int, Ints]:
    """Bring what was given of a row to what is due: all before the border, the rest at it."""
    copies = max(there[place], 0)
    due = copies if place < border else min(copies, rest) if place == border else 0
    if due == given[place]:
        return size, out
    if size == out.shape[1]:
        wider = np.empty((3, 2 * size), np.int64)
        wider[:, :size] = out
        out = wider
    out[0, size] = place
    out[1, size] = at
    out[2, size] = due - given[place]
    given[place] = due
    return size + 1, out


@compiled
def _moves(rank: Ints, at: Ints, change: Ints, n_ranks: int, limit: int) -> tuple[Ints, Ints, Ints]:
    """Changes of the first `limit`, from changes sorted by instant."""
    tree = np.zeros(n_ranks + 1, np.int64)
    there = np.zeros(n_ranks + 1, np.int64)
    given = np.zeros(n_ranks + 1, np.int64)
    out = np.empty((3, 2 * len(rank) + 16), np.int64)
    size = 0
    border = n_ranks
    start = 0
    while start < len(rank):
        stop = start
        while stop < len(rank) and at[stop] == at[start]:
            place = rank[stop]
            copies = there[place] + change[stop]
            # A row that was taken away too often is not there; its tree count is 0.
            add(tree, place, max(copies, 0) - max(there[place], 0))
            there[place] = copies
            stop += 1
        fresh = find(tree, limit) if limit > 0 else -1
        inside = up_to(tree, fresh - 1) if fresh > 0 else 0
        for i in range(start, stop):
            size, out = _settle(rank[i], at[start], fresh, limit - inside, there, given, out, size)
        place = min(border, fresh)
        last = max(border, fresh)
        while 0 <= place <= last and place < n_ranks:
            size, out = _settle(place, at[start], fresh, limit - inside, there, given, out, size)
            place = find(tree, up_to(tree, place) + 1)
        border = fresh
        start = stop
    return out[0, :size], out[1, :size], out[2, :size]
