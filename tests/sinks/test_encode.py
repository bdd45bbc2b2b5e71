"""Encoding by columns says the same as the values themselves do."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.contracts.schema import ANSWERS
from streamgauge.results.change_log import as_answers
from streamgauge.results.row_blocks import HEAD, as_row_changes
from streamgauge.sinks.batch import Batch
from streamgauge.sinks.encode import answers_json, rows_json
from streamgauge.sinks.topic import place_of, read_place, records_of

pytestmark = pytest.mark.slow

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
numbers = st.floats(allow_nan=False)
sides = st.floats(min_value=0.0, allow_nan=False)
charges = st.fixed_dictionaries(
    {"by": texts, "width": st.none(), "delta": st.floats(0, 1), "below": sides, "above": sides}
).map(lambda charge: {**charge, "width": charge["below"] + charge["above"]})
instants = st.integers(0, 4 * 10**15)


@st.composite
def answers(draw: st.DrawFn) -> dict[str, Any]:
    value = draw(st.none() | st.floats(allow_nan=False, allow_infinity=False))
    group = draw(st.lists(st.none() | st.booleans() | st.integers() | texts, max_size=2))
    return {
        "query": draw(texts),
        "version": draw(st.integers(1, 9)),
        "group": json.dumps(group) if group else "",
        "value": value,
        "low": None if value is None else draw(numbers),
        "high": None if value is None else draw(numbers),
        "confidence": draw(st.floats(0, 1)),
        "as_of": draw(instants),
        "epoch": draw(st.integers(0, 2**40)),
        "revision": draw(st.integers(0, 3)),
        "coverage": draw(st.floats(0, 1)),
        "basis": draw(texts),
        "charges": draw(st.lists(charges, max_size=3)),
        "contract_met": draw(st.booleans()),
        "slope": draw(st.floats(-1e9, 1e9)),
        "share": draw(st.floats(0, 1)),
    }


@given(st.lists(answers(), max_size=8), st.integers(0, 8))
def test_answers_are_the_one_json_shape(rows: list[dict[str, Any]], cut: int) -> None:
    table = pa.Table.from_pylist(rows, ANSWERS)
    found = [json.loads(text) for text in answers_json(table).to_pylist()]
    assert found == [answer.as_dict() for answer in as_answers(table)]
    # A slice has its lists in the middle of those of the whole.
    assert answers_json(table.slice(cut)).to_pylist() == answers_json(table).to_pylist()[cut:]


def test_cells_of_rows_are_told_as_they_are() -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    table = pa.table(
        {
            "text": ['a "b" é', None],
            "whole": pa.array([2**62, None]),
            "real": [1.0, math.nan],
            "flag": [True, None],
            "at": pa.array([at, None], pa.timestamp("us", tz="UTC")),
            "many": [[1, 2], None],
        }
    )
    first, second = (json.loads(text) for text in rows_json(table).to_pylist())
    assert first == {"text": 'a "b" é', "whole": 2**62, "real": 1.0, "flag": True,
                     "at": "2026-01-01T00:00:00+00:00", "many": [1, 2]}  # fmt: skip
    assert set(second.values()) == {None}
    assert rows_json(pa.table({"n": pa.array([], pa.int64())})).to_pylist() == []


def test_changes_of_rows_are_the_one_json_shape_in_the_order_of_time() -> None:
    head = {
        "query": ["b", "a"], "version": [1, 2], "epoch": [7, 7], "as_of": [5, 3],
        "count": [1, -2], "missing": [0, 1], "contract_met": [True, False],
        "regions_share": [1.0, 0.5], "rows_unseen": [0.0, 3.5], "window_coverage": [1.0, 0.75],
    }  # fmt: skip
    columns = {name: pa.array(head[name], HEAD.field(name).type) for name in HEAD.names}
    table = pa.table({**columns, "room": ["x", "y"], "heat": [1.5, None]})
    made = records_of(Batch(7, ANSWERS.empty_table(), (table,)))
    assert made["key"].to_pylist() == [b"a", b"b"]
    told = [json.loads(text) for text in made["value"].to_pylist()]
    assert told == [change.as_dict() for change in as_row_changes(table)][::-1]


def test_an_epoch_without_anything_is_no_record() -> None:
    assert records_of(Batch(7, ANSWERS.empty_table())).num_rows == 0


@given(st.integers(0, 2**40), st.integers(0, 2**20 - 1))
def test_a_place_is_one_number_that_grows(epoch: int, parts: int) -> None:
    assert read_place(place_of(epoch, parts)) == (epoch, parts)
    assert place_of(epoch, parts) < place_of(epoch + 1) < 2**63
