"""Times written as text, against the standard library's reading of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.kernel.time import instant
from streamgauge.sources.convert import caster, convert

OFFSETS = st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
MOMENTS = st.datetimes(
    min_value=datetime(1900, 1, 1),
    max_value=datetime(2200, 1, 1),
    timezones=st.one_of(st.none(), st.just(UTC), OFFSETS),
)


def times(texts: list[str]) -> tuple[list[int | None], list[int]]:
    column = pa.chunked_array([pa.array(texts, pa.string())])
    cast = caster(pa.string(), "time", unit=1, clock=True)
    assert cast is not None
    found, bad = convert(column, cast, "time")
    return found.cast(pa.int64()).to_pylist(), bad.tolist()


@given(st.lists(st.tuples(MOMENTS, st.sampled_from("T ")), max_size=8))
def test_iso_texts_mixed_as_they_come(moments: list[tuple[datetime, str]]) -> None:
    texts = [moment.isoformat(separator) for moment, separator in moments]
    assert times(texts) == ([instant(moment) for moment, _ in moments], [])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01T00:00:01Z", 1_000_000),
        ("1970-01-01T00:00:01.5", 1_500_000),
        ("1970-01-01T00:00:01.123456789Z", 1_123_456),
        ("1970-01-01T00:00:01.1234567+00:00", 1_123_456),
        ("1970-01-01 01:00:01+01", 1_000_000),
        ("1970-01-01 01:00:01+0100", 1_000_000),
        ("1970-01-01 00:01", 60_000_000),
        ("1970-01-02", 86_400_000_000),
        ("  17 ", 17),
        ("-17", -17),
        ("", None),
    ],
)
def test_forms_of_time(text: str, expected: int | None) -> None:
    assert times([text]) == ([expected], [])


@pytest.mark.parametrize("text", ["1970-01-01Z", "01/02/1970", "12:00", "1.5", "1970-13-01", "x"])
def test_what_is_no_time(text: str) -> None:
    assert times(["1970-01-02", text, "17"]) == ([86_400_000_000, None, 17], [1])
