"""Records: every one is a row or a dead letter, whatever its bytes are."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.kernel.errors import BindError
from streamgauge.kernel.time import instant
from streamgauge.sources.records import check_columns, parse_records
from streamgauge.sources.settle import Parsed
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Stream

pytestmark = pytest.mark.slow

ARRIVED = instant("2026-01-02T00:00:00Z")
COLUMNS = {"sensor": "string", "ts": "time", "value": "float"}
BESIDE = {"kafka_key": ("string",), "kafka_timestamp": ("time",), "kafka_offset": ("int",)}


def stream(format: str = "json", time: str = "ts", key: str = "sensor", **columns: str) -> Stream:
    source = (("kind", "kafka"), ("format", format))
    return Stream("s", Schema.of(**(columns or COLUMNS)), time, (key,), source)


def parse(values: list[bytes | None], declared: Stream, **beside: pa.Array) -> Parsed:
    places = np.arange(100, 100 + len(values))
    return parse_records(
        pa.array(values, pa.binary()), declared, arrived=ARRIVED, origin="kafka:t-0",
        places=places, beside=beside,
    )  # fmt: skip


def row(**changes: Any) -> bytes:
    return json.dumps(
        {"sensor": "a", "ts": "2026-01-01T00:00:00Z", "value": 1.5, **changes}
    ).encode()


def why(parsed: Parsed) -> dict[str, str]:
    rejects = parsed.rejects
    return dict(zip(rejects["origin"].to_pylist(), rejects["reason"].to_pylist(), strict=True))


def test_rows_keep_their_order_and_extra_fields_are_ignored() -> None:
    parsed = parse([row(value=3), row(value=1, more={"x": 1}), row(value=2)], stream())
    assert parsed.table["value"].to_pylist() == [3, 1, 2]
    assert parsed.rejects.num_rows == 0


def test_each_kind_of_bad_record_has_its_place_and_reason() -> None:
    values = [
        row(), None, b"", b"  ", b"\xff\xfe", b"[1]", b'{"sensor": "a"', row(sensor=None),
        row(value="abc"), row(ts="2026-06-01T00:00:00Z"), row(value=7),
    ]  # fmt: skip
    parsed = parse(values, stream())
    assert parsed.table["value"].to_pylist() == [1.5, 7]
    found = why(parsed)
    assert list(found) == [f"kafka:t-0:{place}" for place in range(101, 110)]
    assert found["kafka:t-0:101"] == "the record has no value"
    assert found["kafka:t-0:102"] == found["kafka:t-0:103"] == "the record is empty"
    assert found["kafka:t-0:104"] == "the record is not UTF-8 text"
    assert found["kafka:t-0:105"] == "the record is not a JSON object"
    assert "malformed JSON" in found["kafka:t-0:106"]
    assert "null in a key column" in found["kafka:t-0:107"]
    assert "'abc' is not a float" in found["kafka:t-0:108"]
    assert "ahead of its arrival" in found["kafka:t-0:109"]


def test_line_ends_are_blanks_between_parts_and_wrong_inside_text() -> None:
    pretty = json.dumps(json.loads(row(value=4)), indent=2).encode()
    inside = row(sensor="a").replace(b'"a"', b'"a\nb"')
    two = row() + b"\n" + row()
    parsed = parse([row(), pretty, inside, two, pretty.replace(b"\n", b"\r\n")], stream())
    assert parsed.table["value"].to_pylist() == [1.5, 4, 4]
    assert list(why(parsed)) == ["kafka:t-0:102", "kafka:t-0:103"]


def test_columns_beside_the_value_are_those_of_the_rows_that_stay() -> None:
    declared = stream(
        time="kafka_timestamp", key="kafka_key",
        kafka_key="string", kafka_timestamp="time", kafka_offset="int", value="float",
    )  # fmt: skip
    times = pa.array([1_000_000, 2_000_000, 3_000_000], pa.timestamp("us", tz="UTC"))
    parsed = parse(
        [b'{"value": 1}', b"junk", b'{"value": 3, "kafka_offset": 77}'], declared,
        kafka_key=pa.array([b"a", b"b", b"c"], pa.binary()), kafka_timestamp=times,
        kafka_offset=pa.array([100, 101, 102]), kafka_partition=pa.array([0, 0, 0]),
    )  # fmt: skip
    assert parsed.table["kafka_key"].to_pylist() == ["a", "c"]
    assert parsed.table["kafka_offset"].to_pylist() == [100, 102]
    assert parsed.table["kafka_timestamp"].cast(pa.int64()).to_pylist() == [1_000_000, 3_000_000]


def test_raw_values_fill_the_one_column_that_is_left() -> None:
    declared = stream("raw", time="kafka_timestamp", key="kafka_key",
                      line="string", kafka_key="string", kafka_timestamp="time")  # fmt: skip
    times = pa.array([1, 2, 3, 4], pa.timestamp("us", tz="UTC"))
    keys = pa.array([b"k", b"k", None, b"\xff"], pa.binary())
    parsed = parse([b"GET /\n", None, b"x", b"y"], declared, kafka_key=keys, kafka_timestamp=times)
    assert parsed.table["line"].to_pylist() == ["GET /\n", None]
    assert list(why(parsed)) == ["kafka:t-0:102", "kafka:t-0:103"]


def test_what_a_schema_cannot_be_filled_from_is_refused() -> None:
    with pytest.raises(BindError, match="kafka_timestamp"):
        check_columns(Schema.of(kafka_timestamp="string"), "json", BESIDE)
    with pytest.raises(BindError, match="raw records fill one column"):
        check_columns(Schema.of(a="string", b="string"), "raw", BESIDE)
    with pytest.raises(BindError, match="unknown format 'xml'"):
        parse([b"<a/>"], stream("xml"))


SAMPLES = [row(), row(value=None), row(value="9"), b"{}", b"null", b'{"ts": 5}', b"\r", b"{\n}"]
ANY = st.none() | st.sampled_from(SAMPLES) | st.binary(max_size=30)


@given(st.lists(ANY, max_size=30))
def test_every_record_is_a_row_or_a_dead_letter(values: list[bytes | None]) -> None:
    parsed = parse(values, stream())
    lost = [r for r in parsed.rejects["reason"].to_pylist() if "the row is kept" not in r]
    assert parsed.table.num_rows + len(lost) == len(values)


@given(st.lists(ANY, max_size=30), st.integers(0, 30))
def test_a_record_fares_the_same_in_any_company(values: list[bytes | None], cut: int) -> None:
    together, first, rest = (parse(v, stream()) for v in (values, values[:cut], values[cut:]))
    assert pa.concat_tables([first.table, rest.table]).equals(together.table)
