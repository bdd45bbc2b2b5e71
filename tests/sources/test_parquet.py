"""Parquet files: damage refuses the file, single bad rows are dead letters."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamgauge.kernel.errors import BindError, SourceFailure
from streamgauge.sources.parse import Parsed, parse_file
from streamgauge.streams.stream import Stream
from tests.sources.streams import NOON, instants, parse, reasons, stream, values

DECLARED = stream("parquet")


def table(**columns: Any) -> pa.Table:
    rows: dict[str, Any] = {
        "series": ["a", "b"],
        "ts": pa.array([0, 1_000_000], pa.timestamp("us", "UTC")),
        "value": [1.0, 2.0],
        "n": [1, 2],
        "ok": [True, False],
    }
    return pa.table({**rows, **columns})


def parsed_from(folder: Path, content: pa.Table, declared: Stream = DECLARED) -> Parsed:
    pq.write_table(content, folder / "f")
    return parse_file(str(folder / "f"), declared, arrived=NOON)


@pytest.mark.parametrize(
    "ts",
    [
        pa.array([0, 1], pa.timestamp("s")),
        pa.array([0, 1_000], pa.timestamp("ms", "UTC")),
        pa.array([0, 1_000_000], pa.timestamp("us")),
        pa.array([0, 1_000_000_999], pa.timestamp("ns", "Europe/Berlin")),
        pa.array([0, 1_000_000], pa.int64()),
        pa.array(["1970-01-01", "1970-01-01T01:00:01+01:00"]),
    ],
    ids=lambda array: str(array.type),
)
def test_times_of_every_kind(tmp_path: Path, ts: pa.Array) -> None:
    parsed = parsed_from(tmp_path, table(ts=ts))
    assert instants(parsed) == [0, 1_000_000]
    assert parsed.table.schema == DECLARED.schema.to_arrow()
    assert parsed.rejects.num_rows == 0


def test_an_int_column_as_event_time(tmp_path: Path) -> None:
    declared = stream("parquet", columns={"series": "string", "ts": "int"})
    assert instants(parsed_from(tmp_path, table(), declared)) == [0, 1_000_000]
    scaled = stream("parquet", columns={"series": "string", "ts": "int"}, time_unit="s")
    assert instants(parsed_from(tmp_path, table(ts=[0, 1]), scaled)) == [0, 1_000_000]


@pytest.mark.parametrize("text", [pa.large_string(), pa.string_view(), pa.binary(), pa.string()])
def test_text_of_every_kind(tmp_path: Path, text: pa.DataType) -> None:
    parsed = parsed_from(tmp_path, table(series=pa.array(["a", "b"], text)))
    assert values(parsed, "series") == ["a", "b"]


def test_columns_that_can_be_cast(tmp_path: Path) -> None:
    content = table(
        series=pa.array(["a", "b"]).dictionary_encode(),
        value=pa.array([1, 2**60 + 1]),
        n=pa.array([1.0, 2.0]),
        extra=[[1], [2]],
    )
    parsed = parsed_from(tmp_path, content)
    assert values(parsed, "series") == ["a", "b"]
    assert values(parsed) == [1.0, float(2**60)]
    assert values(parsed, "n") == [1, 2]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (table().drop(["value"]), "column 'value' is not in the file, which has series, ts"),
        (table(value=[[1.0], [2.0]]), "and cannot be cast to float"),
        (table(value=["x", "y"]), "and has no float in it: column 'value': 'x' is not a float"),
        (table(ok=[1, 0]), "column 'ok' is int64 and cannot be cast to bool"),
        (table(series=[1, 2]), "column 'series' is int64 and cannot be cast to string"),
        (table(ts=[0.5, 1.5]), "column 'ts' is double and cannot be cast to time"),
    ],
    ids=lambda case: case if isinstance(case, str) else "",
)
def test_another_schema_refuses_the_file(tmp_path: Path, content: pa.Table, reason: str) -> None:
    parsed = parsed_from(tmp_path, content)
    assert parsed.table.num_rows == 0
    assert parsed.table.schema == DECLARED.schema.to_arrow()
    assert list(reasons(parsed, tmp_path)) == [""]
    assert reason in reasons(parsed, tmp_path)[""]


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    pq.write_table(table(), tmp_path / "whole")
    whole = (tmp_path / "whole").read_bytes()
    middle = len(whole) // 4
    damages = [b"", b"PAR1", whole[:-9], whole[: len(whole) // 2], b"x" * 100]
    damages.append(whole[:4] + b"\xff" * middle + whole[4 + middle :])
    for damaged in damages:
        parsed = parse(tmp_path, damaged, DECLARED)
        assert parsed.table.num_rows == 0
        assert "not a readable parquet file" in reasons(parsed, tmp_path)[""]


def test_flipped_bytes_never_raise(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    series = pa.array(["a", "b"] * 40).dictionary_encode()
    content = pa.concat_tables([table()] * 40).set_column(0, "series", series)
    pq.write_table(content, tmp_path / "whole", compression="none")
    whole = (tmp_path / "whole").read_bytes()
    for place in random.integers(len(whole), size=150).tolist():
        flipped = bytearray(whole)
        flipped[place] ^= int(random.integers(1, 256))
        parsed = parse(tmp_path, bytes(flipped), DECLARED)
        parsed.table.validate(full=True)
        assert parsed.table.num_rows + parsed.rejects.num_rows > 0


def test_a_file_out_of_reach_is_an_error(tmp_path: Path) -> None:
    for format in ("parquet", "csv", "jsonl"):
        with pytest.raises(SourceFailure, match="cannot read"):
            parse_file(str(tmp_path / "none"), stream(format), arrived=NOON)


def test_an_unknown_format(tmp_path: Path) -> None:
    with pytest.raises(BindError, match="unknown format 'xml'"):
        parse_file(str(tmp_path / "f"), stream("xml"), arrived=NOON)


def test_single_rows_are_dead_letters_with_their_values(tmp_path: Path) -> None:
    content = table(
        series=["a", None, "c", "d", "e"],
        ts=pa.array([0, 1, None, NOON + 2 * 86_400_000_000, 4], pa.timestamp("us", "UTC")),
        value=[1.0, 2.0, 3.0, 4.0, math.nan],
        n=pa.array([0.0, 1.0, 2.0, 3.0, 4.0]),
        ok=[True] * 5,
    )
    parsed = parsed_from(tmp_path, content)
    assert values(parsed, "series") == ["a", "e"]
    assert values(parsed) == [1.0, None]
    assert reasons(parsed, tmp_path) == {
        ":2": "column 'series': null in a key column",
        ":3": "column 'ts': null in a time column",
        ":4": "column 'ts': 172800 s ahead of its arrival",
        ":5": "column 'value': value is NaN; the row is kept with a null",
    }
    row = json.loads(parsed.rejects["row"][1].as_py())
    assert row == {"series": "c", "ts": None, "value": 3.0, "n": 2.0, "ok": True}


def test_values_that_do_not_fit_are_single_rows(tmp_path: Path) -> None:
    parsed = parsed_from(tmp_path, table(n=[1.0, 2.5]))
    assert values(parsed, "n") == [1]
    assert reasons(parsed, tmp_path) == {":2": "column 'n': 2.5 is not an int"}


@pytest.mark.parametrize("coded", [False, True])
def test_text_that_is_not_utf8(tmp_path: Path, coded: bool) -> None:
    names = pa.array([b"a", b"\xff"], pa.binary()).view(pa.string())
    parsed = parsed_from(tmp_path, table(series=names.dictionary_encode() if coded else names))
    assert values(parsed, "series") == ["a"]
    assert reasons(parsed, tmp_path) == {":2": "column 'series': '\ufffd' is not a string"}


def test_any_time_is_taken_when_no_future_is_declared(tmp_path: Path) -> None:
    far = pa.array([0, NOON * 2], pa.timestamp("us", "UTC"))
    assert parsed_from(tmp_path, table(ts=far)).table.num_rows == 1
    assert parsed_from(tmp_path, table(ts=far), stream("parquet", future=None)).table.num_rows == 2


def test_an_empty_table(tmp_path: Path) -> None:
    parsed = parsed_from(tmp_path, table().slice(0, 0))
    assert (parsed.table.num_rows, parsed.rejects.num_rows) == (0, 0)
