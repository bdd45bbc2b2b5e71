"""Sets of rows that come and go: each row once, and bags combined by union, except, intersect."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamgauge.operators.codes import concatenated, table_codes
from streamgauge.operators.delta import Delta
from streamgauge.operators.steps import Steps, steps_of

Ints = npt.NDArray[np.int64]


def distinct(delta: Delta) -> Delta:
    """Each row once, while there is at least one copy of it.

    >>> rows = pa.table({"k": ["a", "a", "a"]})
    >>> once = distinct(Delta(rows, np.array([1, 2, 5]), np.array([1, 1, -2])))
    >>> once.at, once.count
    (array([1, 5]), array([ 1, -1]))
    """
    steps = steps_of(table_codes(delta.rows.columns, len(delta)), delta.at)
    return _changes(delta.rows, steps, (steps.running(delta.count) > 0).astype(np.int64))


def combined(left: Delta, right: Delta, kind: str, *, all: bool = False) -> Delta:
    """Bags combined by position of columns, with the names of the left one.

    Parameters
    ----------
    left, right
        Two relations with as many columns; int with float becomes float.
    kind
        union, except or intersect.
    all
        Whether copies count: their sum, their difference (at least 0), the smaller number. If
        not, each row counts once on either side.

    Examples
    --------
    >>> one = Delta.of(pa.table({"k": ["a", "a", "b"]}), 1)
    >>> two = Delta.of(pa.table({"other": ["a"]}), 2)
    >>> rest = combined(one, two, "except", all=True)
    >>> rest.rows["k"].to_pylist(), rest.at, rest.count
    (['a', 'a', 'b'], array([1, 2, 1]), array([ 2, -1,  1]))
    """
    both = _stacked(left, right)
    if kind == "union":
        return both if all else distinct(both)
    steps = steps_of(table_codes(both.rows.columns, len(both)), both.at)
    from_left = np.arange(len(both)) < len(left)
    one = steps.running(np.where(from_left, both.count, 0))
    two = steps.running(np.where(from_left, 0, both.count))
    return _changes(both.rows, steps, _COPIES[kind, all](np.maximum(one, 0), np.maximum(two, 0)))


_COPIES: dict[tuple[str, bool], Callable[[Ints, Ints], Ints]] = {
    ("except", True): lambda one, two: np.maximum(one - two, 0),
    ("except", False): lambda one, two: ((one > 0) & (two == 0)).astype(np.int64),
    ("intersect", True): np.minimum,
    ("intersect", False): lambda one, two: ((one > 0) & (two > 0)).astype(np.int64),
}


def _changes(rows: pa.Table, steps: Steps, copies: Ints) -> Delta:
    """The changes that give each row its number of copies at each step."""
    change = copies - steps.previous(copies)
    moved = np.flatnonzero(change)
    return Delta(rows.take(pa.array(steps.change[moved])), steps.at[moved], change[moved])


def _stacked(left: Delta, right: Delta) -> Delta:
    """The changes of both, under the names of the left and in types that hold both."""
    fields, columns = [], []
    for name, one, two in zip(
        left.rows.column_names, left.rows.columns, right.rows.columns, strict=True
    ):
        column = concatenated([one, two])
        fields.append(pa.field(name, column.type))
        columns.append(column)
    rows = pa.Table.from_arrays(columns, schema=pa.schema(fields))
    return Delta(
        rows,
        np.concatenate((left.at, right.at)),
        np.concatenate((left.count, right.count)),
    )
