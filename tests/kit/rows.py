"""Bags of rows for tests: from columns to tuples, and equal but for the rounding of doubles."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.types as pt

from streamgauge.kernel.time import Instant
from streamgauge.operators.delta import Delta
from streamgauge.streams.schema import Schema

Bag: TypeAlias = Counter[tuple[Any, ...]]

# No sum of small fractions lies halfway between two multiples of it, so rounding never decides.
_QUANTUM = math.pi * 1e-9


def tuples_of(rows: pa.Table) -> list[tuple[Any, ...]]:
    """Rows as tuples; times and durations are whole microseconds.

    >>> tuples_of(pa.table({"a": [1, None], "b": ["x", "y"]}))
    [(1, 'x'), (None, 'y')]
    """
    columns = [_plain(column) for column in rows.columns]
    return list(zip(*columns, strict=True)) if columns else [()] * rows.num_rows


def _plain(column: pa.ChunkedArray) -> list[Any]:
    if pt.is_timestamp(column.type) or pt.is_duration(column.type):
        column = column.cast(pa.int64())
    cells: list[Any] = column.to_pylist()
    return cells


def bag_at(delta: Delta, instant: Instant) -> Bag:
    """The relation that changes up to an instant add up to; rows that net to nothing are absent."""
    bag: Bag = Counter()
    for row, at, count in zip(
        tuples_of(delta.rows), delta.at.tolist(), delta.count.tolist(), strict=True
    ):
        if at <= instant:
            bag[row] += count
    return Counter({row: count for row, count in bag.items() if count})


def alike(bag: Mapping[tuple[Any, ...], int]) -> Bag:
    """A bag in a form that is equal for bags that differ in the rounding of doubles only.

    >>> alike({(0.1 + 0.2, "a"): 1}) == alike({(0.3, "a"): 1})
    True
    """
    out: Bag = Counter()
    for row, count in bag.items():
        out[tuple(map(_cell, row))] += count
    return Counter({row: count for row, count in out.items() if count})


def _cell(cell: Any) -> Any:
    if isinstance(cell, bool) or not isinstance(cell, (float, int)):
        return cell
    return round(cell / _QUANTUM)


def table_of(rows: Iterable[Mapping[str, Any]], schema: Schema) -> pa.Table:
    """Rows as an Arrow table with the columns of a schema.

    >>> table_of([{"a": 1}], Schema.of(a="int", b="string")).to_pylist()
    [{'a': 1, 'b': None}]
    """
    cells = list(rows)
    arrow = schema.to_arrow()
    return pa.table(
        [pa.array([row.get(item.name) for row in cells], item.type) for item in arrow],
        schema=arrow,
    )
