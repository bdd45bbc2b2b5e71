"""Avro: columns as fastavro reads them, schemas that evolve, and bytes that are no record."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.kernel.errors import SourceFailure
from streamgauge.sources.records import parse_records
from streamgauge.sources.registry import registered_schema
from streamgauge.sources.settle import Parsed
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Stream

pytestmark = pytest.mark.slow

COLUMNS = {"ts": "time", "sensor": "string", "value": "float"}
TIME = {"type": "long", "logicalType": "timestamp-micros"}


def schema(*more: dict[str, Any], without: str = "") -> dict[str, Any]:
    fields = [
        {"name": "ts", "type": TIME},
        {"name": "sensor", "type": "string"},
        {"name": "value", "type": ["null", "double"]},
        *more,
    ]
    kept = [field for field in fields if field["name"] != without]
    return {"type": "record", "name": "reading", "fields": kept}


def written(value: dict[str, Any], by: dict[str, Any], number: int | None = None) -> bytes:
    file = io.BytesIO()
    fastavro.schemaless_writer(file, fastavro.parse_schema(by), value)
    head = b"" if number is None else b"\0" + number.to_bytes(4, "big")
    return head + file.getvalue()


def parse(values: list[bytes | None], columns: dict[str, str] = COLUMNS, **source: Any) -> Parsed:
    pairs = (("kind", "kafka"), ("format", "avro"), *source.items())
    stream = Stream("s", Schema.of(**columns), "ts", (), pairs, future=None)
    return parse_records(
        pa.array(values, pa.binary()), stream, arrived=0, origin="k", places=np.arange(len(values))
    )


def row(number: int, **more: Any) -> dict[str, Any]:
    return {"ts": number, "sensor": f"s{number}", "value": number / 2, **more}


class Registry(BaseHTTPRequestHandler):
    schemas: dict[int, Any] = {}  # noqa: RUF012
    asked: list[str] = []  # noqa: RUF012

    def do_GET(self) -> None:
        self.asked.append(self.path)
        number = int(self.path.rsplit("/", 1)[1])
        found = self.schemas.get(number)
        self.send_response(404 if found is None else 200)
        self.end_headers()
        if found is not None:
            self.wfile.write(json.dumps({"schema": json.dumps(found)}).encode())

    def log_message(self, *_said: Any) -> None:
        pass


@pytest.fixture
def registry() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Registry)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    Registry.schemas, Registry.asked = {}, []
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_values_of_a_file_s_schema() -> None:
    by = schema()
    values = [written(row(n), by) for n in range(4)] + [written(row(9, value=None), by)]
    parsed = parse(values, schema=by)
    assert parsed.table["value"].to_pylist() == [0, 0.5, 1, 1.5, None]
    assert parsed.table["sensor"].to_pylist() == ["s0", "s1", "s2", "s3", "s9"]
    assert parsed.table["ts"].cast(pa.int64()).to_pylist() == [0, 1, 2, 3, 9]


def test_poison_is_told_apart_and_spoils_nothing() -> None:
    by = schema()
    good = written(row(1), by)
    values = [good, good[:-1], good + b"x", b"\xff" * 12, None, b"", good]
    parsed = parse(values, schema=by)
    assert parsed.table.num_rows == 2
    reasons = parsed.rejects["reason"].to_pylist()
    assert reasons[:2] == ["the Avro record ends too early", "bytes are left after the Avro record"]
    assert reasons[3:] == ["the record has no value", "the record is empty"]
    assert parsed.rejects["row"][0].as_py() == good[:-1].hex()


def test_a_registry_has_the_schema_of_each_value(registry: str) -> None:
    old = schema(without="value")
    new = schema({"name": "site", "type": "string"})
    Registry.schemas = {1: old, 70_000: new}
    values = [
        written(row(0), old, 1), written(row(1, site="n"), new, 70_000), written(row(2), old, 1),
        written(row(3), old, 5), b"\x01no head",
    ]  # fmt: skip
    parsed = parse(values, registry=registry)
    assert parsed.table["sensor"].to_pylist() == ["s0", "s1", "s2"]
    assert parsed.table["value"].to_pylist() == [None, 0.5, None]
    assert parsed.rejects["reason"].to_pylist() == [
        "the registry has no schema 5", "the record does not begin with the number of its schema",
    ]  # fmt: skip
    assert len(Registry.asked) == 3, "each schema is asked for once"


def test_the_declared_schema_is_what_values_are_read_as(registry: str) -> None:
    Registry.schemas = {1: schema(without="value")}
    field = {"name": "value", "type": "double", "default": 7.5}
    reader = schema(field, without="value")
    reader["fields"] = [*schema(without="value")["fields"], field]
    parsed = parse([written(row(1), Registry.schemas[1], 1)], registry=registry, schema=reader)
    assert parsed.table["value"].to_pylist() == [7.5]


def test_a_registry_that_does_not_answer_is_no_fault_of_the_records() -> None:
    with pytest.raises(SourceFailure, match="does not tell"):
        registered_schema("http://127.0.0.1:9", 1)


def test_nested_records_are_read_and_their_plain_fields_taken() -> None:
    by = schema({"name": "tags", "type": {"type": "array", "items": "string"}})
    values = [written(row(n, tags=["a", "b"]), by) for n in range(3)]
    parsed = parse([*values, values[0][:-2], values[1] + b"z"], schema=by)
    assert parsed.table["value"].to_pylist() == [0, 0.5, 1]
    assert parsed.rejects.num_rows == 2


OTHERS = {
    "kind": ("string", {"type": "enum", "name": "k", "symbols": ["A", "B"]}, st.sampled_from("AB")),
    "flag": ("bool", "boolean", st.booleans()),
    "count": ("int", ["long", "null"], st.none() | st.integers(-(2**63), 2**63 - 1)),
    "small": ("float", "float", st.floats(width=32, allow_nan=False, allow_infinity=False)),
    "label": ("string", ["null", "string"], st.none() | st.text(max_size=5)),
}
ROWS = st.fixed_dictionaries(
    {name: values for name, (_, _, values) in OTHERS.items()}
    | {"ts": st.integers(0, 10**15), "sensor": st.text(max_size=4), "value": st.none()}
)


@given(st.lists(ROWS, max_size=8))
def test_columns_are_what_was_written(rows: list[dict[str, Any]]) -> None:
    by = schema(*({"name": name, "type": kind} for name, (_, kind, _) in OTHERS.items()))
    columns = COLUMNS | {name: kind for name, (kind, _, _) in OTHERS.items()}
    parsed = parse([written(item, by) for item in rows], columns, schema=by)
    assert parsed.rejects.num_rows == 0
    for name in (*OTHERS, "sensor"):
        assert parsed.table[name].to_pylist() == [item[name] for item in rows]


@given(st.lists(st.binary(max_size=24) | st.just(written(row(3), schema())), max_size=12))
def test_any_bytes_are_rows_or_dead_letters(values: list[bytes]) -> None:
    parsed = parse(list(values), schema=schema())
    lost = [r for r in parsed.rejects["reason"].to_pylist() if "the row is kept" not in r]
    assert parsed.table.num_rows + len(lost) == len(values)
