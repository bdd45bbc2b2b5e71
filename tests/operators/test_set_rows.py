"""Sets and bags of rows against counting copies at every instant."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.operators.delta import Delta
from streamgauge.operators.set_rows import combined, distinct
from tests.operators.bags import Bag, bag_at, deltas, equal, expect, recut

pytestmark = pytest.mark.slow

few = settings(max_examples=25)

KINDS = [(kind, every) for kind in ("union", "except", "intersect") for every in (True, False)]


def by_counting(one: Bag, two: Bag, kind: str, *, every: bool) -> Bag:
    if not every and kind != "union":
        one, two = Counter(set(one)), Counter(set(two))
    if kind == "union":
        both = one + two
        return both if every else Counter(set(both))
    return one - two if kind == "except" else one & two


@few
@given(deltas())
def test_distinct_rows(delta: Delta) -> None:
    expect(distinct(delta), lambda at: Counter(set(bag_at(delta, at))))


@pytest.mark.parametrize(("kind", "every"), KINDS)
@few
@given(left=deltas(), right=deltas())
def test_bags_combined(kind: str, every: bool, left: Delta, right: Delta) -> None:
    result = combined(left, right, kind, all=every)
    expect(result, lambda at: by_counting(bag_at(left, at), bag_at(right, at), kind, every=every))


@pytest.mark.parametrize(("kind", "every"), KINDS)
@few
@given(data=st.data(), left=deltas(5), right=deltas(5))
def test_order_and_pieces_do_not_matter(
    kind: str, every: bool, data: st.DataObject, left: Delta, right: Delta
) -> None:
    again = combined(data.draw(recut(left)), data.draw(recut(right)), kind, all=every)
    assert equal(combined(left, right, kind, all=every), again)


def test_a_row_taken_away_too_often_counts_as_absent() -> None:
    rows = pa.table({"k": ["a", "a", "a"]})
    delta = Delta(rows, np.array([1, 2, 3]), np.array([-1, 1, 1]))
    floor = combined(delta, Delta.none(rows.schema), "except", all=True)
    assert (floor.at.tolist(), floor.count.tolist()) == ([3], [1])


def test_whole_numbers_become_floats_beside_floats() -> None:
    one, two = Delta.of(pa.table({"a": [1, 2]}), 0), Delta.of(pa.table({"b": [2.0]}), 0)
    rest = combined(one, two, "except")
    assert rest.rows.schema == pa.schema([("a", pa.float64())])
    assert rest.rows["a"].to_pylist() == [1.0]
    assert combined(two, one, "union", all=True).rows.column_names == ["b"]
