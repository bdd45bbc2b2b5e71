"""Changes added up, and the codes and steps they are sorted by."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.operators.codes import codes_of, row_codes
from streamgauge.operators.delta import Delta, consolidated, joined
from streamgauge.operators.steps import spans_of
from tests.operators.bags import (
    SCHEMA,
    bag_at,
    deltas,
    equal,
    expect,
    recut,
    rows,
    tuples,
)

pytestmark = pytest.mark.slow

few = settings(max_examples=50)


def sort_key(row: tuple[object, ...]) -> list[tuple[bool, object]]:
    return [(cell is None, cell) for cell in row]


@few
@given(deltas())
def test_consolidated_keeps_the_relation(delta: Delta) -> None:
    once = consolidated(delta)
    expect(once, lambda at: bag_at(delta, at))
    pairs = list(zip(once.at.tolist(), tuples(once), strict=True))
    assert len(set(pairs)) == len(pairs)
    assert (once.count != 0).all()
    assert pairs == sorted(pairs, key=lambda pair: (pair[0], sort_key(pair[1])))


@few
@given(st.data(), deltas())
def test_consolidated_does_not_know_order_or_pieces(data: st.DataObject, delta: Delta) -> None:
    assert equal(delta, data.draw(recut(delta)))


@few
@given(st.lists(rows, max_size=9), st.lists(rows, max_size=9))
def test_row_codes_are_equal_and_ordered_as_rows(one: list, two: list) -> None:
    tables = [
        pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in part], SCHEMA)
        for part in (one, two)
    ]
    codes = np.concatenate(row_codes(tables)).tolist()
    keyed = [sort_key(row) for row in one + two]
    for a, code in zip(keyed, codes, strict=True):
        for b, other in zip(keyed, codes, strict=True):
            assert (a < b) == (code < other)
            assert (a == b) == (code == other)


@few
@given(st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)), max_size=12))
def test_codes_hold_the_whole_range_of_numbers(values: list) -> None:
    ascending = codes_of(pa.array(values, pa.int64())).codes
    descending = codes_of(pa.array(values, pa.int64()), descending=True).codes
    there = [i for i, value in enumerate(values) if value is not None]
    for i in there:
        for j in there:
            assert (ascending[i] < ascending[j]) == (values[i] < values[j])
            assert (descending[i] < descending[j]) == (values[i] > values[j])
    for i in set(range(len(values))) - set(there):
        assert all(ascending[i] > ascending[j] and descending[i] > descending[j] for j in there)


def test_many_wide_columns_still_fit() -> None:
    rng = np.random.default_rng(5)
    table = pa.table({f"c{i}": rng.normal(size=300) for i in range(6)})
    codes = row_codes([table, table.slice(0, 10)])
    assert len(set(codes[0].tolist())) == 300
    assert codes[1].tolist() == codes[0][:10].tolist()


def test_both_zeros_are_one_row() -> None:
    delta = Delta.of(pa.table({"x": [0.0, -0.0]}), 1)
    assert consolidated(delta).count.tolist() == [2]
    assert str(consolidated(delta).rows["x"][0].as_py()) == "0.0"


def test_numbers_compare_with_floats_and_nulls_with_anything() -> None:
    whole, half = pa.table({"a": [1, 2]}), pa.table({"b": [2.0, 1.5]})
    nothing = pa.table({"c": pa.nulls(1)})
    one, two, three = row_codes([whole, half, nothing])
    assert one[1] == two[0]
    assert one[0] < two[1] < two[0] < three[0]


def test_nothing_at_all() -> None:
    assert len(consolidated(Delta.none(SCHEMA))) == 0
    assert len(joined([], SCHEMA)) == 0
    assert row_codes([SCHEMA.empty_table()])[0].tolist() == []


@few
@given(deltas())
def test_spans_are_the_times_a_row_is_there(delta: Delta) -> None:
    spans = spans_of(delta)
    cells = tuples(delta)
    for at in range(0, 70, 10):
        found: dict = {}
        for row, enter, leave, count in zip(
            spans.row, spans.enter, spans.leave, spans.count, strict=True
        ):
            if enter <= at < leave:
                found[cells[row]] = found.get(cells[row], 0) + int(count)
        assert found == dict(bag_at(delta, at))
