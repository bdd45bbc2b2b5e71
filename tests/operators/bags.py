"""Random rows that come and go, and what they are at an instant, worked out row by row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from streamgauge.operators.delta import Delta, consolidated, joined

SCHEMA = pa.schema([("k", pa.string()), ("n", pa.int64()), ("x", pa.float64())])
INSTANTS = tuple(range(0, 70, 10))
Bag = Counter[tuple[Any, ...]]
Change = tuple[tuple[Any, ...], int, int]

texts = st.sampled_from([None, "", "a", "b", "é"])
wholes = st.sampled_from([None, -2, 0, 1, 3])
halves = st.sampled_from([None, -1.5, 0.0, 0.25, 3.0, 1e16])
rows = st.tuples(texts, wholes, halves)


@st.composite
def changes(
    draw: st.DrawFn, row: st.SearchStrategy[tuple[Any, ...]] = rows, most: int = 8
) -> list[Change]:
    """Changes of a bag that is never negative, some of them in pieces that cancel out."""
    found: list[Change] = []
    for one in draw(st.lists(row, max_size=most)):
        copies = draw(st.integers(1, 2))
        enter = draw(st.sampled_from(INSTANTS))
        found.append((one, enter, copies))
        leave = draw(st.sampled_from([None, *INSTANTS]))
        if leave is not None and leave >= enter:
            found.append((one, leave, -draw(st.integers(1, copies))))
        if draw(st.integers(0, 4)) == 0:
            at = draw(st.sampled_from(INSTANTS))
            found += [(one, at, -1), (one, at, 1)]
    return draw(st.permutations(found))


def delta_of(found: Iterable[Change], schema: pa.Schema = SCHEMA) -> Delta:
    found = list(found)
    columns = list(zip(*(row for row, _, _ in found), strict=True)) or [()] * len(schema)
    rows = pa.Table.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)],
        schema=schema,
    )
    at = np.array([at for _, at, _ in found], np.int64)
    return Delta(rows, at, np.array([count for _, _, count in found], np.int64))


def deltas(most: int = 8) -> st.SearchStrategy[Delta]:
    return changes(most=most).map(delta_of)


def tuples(delta: Delta) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in delta.rows.to_pylist()]


def bag_at(delta: Delta, at: int) -> Bag:
    """How often each row is there."""
    bag: Bag = Counter()
    for row, when, count in zip(tuples(delta), delta.at, delta.count, strict=True):
        if when <= at:
            bag[row] += int(count)
    return Counter({row: count for row, count in bag.items() if count})


def expect(result: Delta, at_instant: Callable[[int], Bag]) -> None:
    """The result holds what is expected at every instant."""
    assert set(result.at.tolist()) <= set(INSTANTS)
    for at in INSTANTS:
        assert bag_at(result, at) == at_instant(at), f"at {at}"


def equal(one: Delta, two: Delta) -> bool:
    """Whether two bags of changes are the same, to the last byte."""
    one, two = consolidated(one), consolidated(two)
    return (
        one.rows.equals(two.rows)
        and np.array_equal(one.at, two.at)
        and np.array_equal(one.count, two.count)
    )


@st.composite
def recut(draw: st.DrawFn, delta: Delta) -> Delta:
    """The same changes in another order and in other pieces."""
    order = np.array(draw(st.permutations(range(len(delta)))), np.int64)
    mixed = delta.take(order)
    cut = draw(st.integers(0, len(delta)))
    again = Delta(mixed.rows, mixed.at, mixed.count + 1)
    back = Delta(mixed.rows, mixed.at, np.full(len(delta), -1, np.int64))
    first = np.arange(len(delta)) < cut
    parts = [mixed.take(~first), again.take(first), back.take(first)]
    return joined(parts, delta.rows.schema)
