"""Times in another unit, one file, addresses of other schemes, strays far in the future."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streamgauge as sg
from streamgauge.kernel.errors import BindError
from streamgauge.log.journal import Journal
from streamgauge.sources.parse import inspect_parquet, parse_file
from streamgauge.sources.records import parse_records
from streamgauge.sources.settle import strays
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Stream

NOW = 1_790_000_000_000_000
SECONDS, MILLIS = 1_700_000_000, 1_700_000_000_000


def _stream(kind: str = "int", **source: object) -> Stream:
    options = {"kind": "files", "path": "", "format": "csv", **source}
    schema = Schema.of(ts=kind, v="float")
    return Stream("s", schema, "ts", (), tuple(options.items()))


@pytest.mark.parametrize("kind", ["int", "time"])
@pytest.mark.parametrize(("value", "unit"), [(SECONDS, "s"), (MILLIS, "ms")])
def test_numbers_of_another_unit_are_dead_letters_that_say_so(
    tmp_path: Path, kind: str, value: int, unit: str
) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"ts,v\n{value},1\n0,2\n{SECONDS * 1_000_000},3\n")
    parsed = parse_file(str(path), _stream(kind), arrived=NOW)
    assert parsed.table["v"].to_pylist() == [2.0, 3.0]
    assert f"declare TIME UNIT {unit}" in parsed.rejects["reason"][0].as_py()
    declared = parse_file(str(path), _stream(kind, time_unit="us"), arrived=NOW)
    assert declared.table.num_rows == 3


def test_times_that_are_written_as_dates_of_1970_are_taken(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("ts,v\n1970-01-01T00:30:00Z,1\n")
    assert parse_file(str(path), _stream("time"), arrived=NOW).table.num_rows == 1


def test_parquet_and_records_are_held_to_the_same(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"ts": [SECONDS], "v": [1.0]}), path)
    stream = _stream(format="parquet")
    footer = inspect_parquet(str(path), stream)
    assert footer is not None
    assert not footer.clean
    assert parse_file(str(path), stream, arrived=NOW).rejects.num_rows == 1
    kafka = Stream("s", stream.schema, "ts", (), (("kind", "kafka"), ("format", "json")))
    values = pa.array([b'{"ts": 1700000000, "v": 1}'])
    parsed = parse_records(values, kafka, arrived=NOW, origin="k", places=np.array([0]))
    assert "declare TIME UNIT s" in parsed.rejects["reason"][0].as_py()


def test_a_stream_of_seconds_is_refused_and_with_its_unit_answers(tmp_path: Path) -> None:
    rows = tmp_path / "one.csv"
    rows.write_text("ts;v\n" + "".join(f"{SECONDS + i};{i if i else '-'}\n" for i in range(9)))
    gauge = sg.connect(tmp_path / "home", engine="local")
    options = f"FROM FILES '{rows}' DELIMITER ';' HEADER TRUE NULL '-' TIME ts"
    with pytest.raises(BindError, match="holds seconds, not microseconds"):
        gauge.sql(f"CREATE STREAM s {options}")
    with pytest.raises(BindError, match="holds seconds"):
        gauge.stream("s", sg.files(rows, delimiter=";", null="-"), time="ts")
    gauge.sql(f"CREATE STREAM s {options} TIME UNIT s")
    gauge.sql("CREATE QUERY n AS SELECT COUNT(v) FROM s [RANGE 1 MINUTE] EVERY 1 SECOND")
    gauge.step()
    assert gauge.latest("n")[0].value == 7.0


def test_every_time_of_a_row_is_in_the_declared_unit(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"ts,sent,n\n{MILLIS},{MILLIS - 1},7\n")
    source = (("kind", "files"), ("path", ""), ("format", "csv"), ("time_unit", "ms"))
    stream = Stream("s", Schema.of(ts="time", sent="time", n="int"), "ts", (), source)
    (row,) = parse_file(str(path), stream, arrived=NOW).table.to_pylist()
    assert row["ts"] - row["sent"] == timedelta(milliseconds=1)
    assert (row["ts"].timestamp(), row["n"]) == (SECONDS, 7)


@pytest.mark.parametrize("path", ["s3://bucket/rows", "hdfs://a/b", "gs://x"])
def test_addresses_of_other_schemes_are_refused(tmp_path: Path, path: str) -> None:
    gauge = sg.connect(tmp_path / "home", engine="local")
    for text in (
        f"CREATE STREAM s FROM FILES '{path}' TIME ts",
        f"CREATE STREAM s FROM REPLAY '{path}' TIME ts",
        f"CREATE TABLE t FROM '{path}'",
    ):
        with pytest.raises(BindError, match="got the scheme"):
            gauge.sql(text)
    with pytest.raises(BindError, match="got the scheme"):
        sg.files(Path(path))


def test_options_of_csv_are_refused_elsewhere() -> None:
    with pytest.raises(BindError, match="is for CSV"):
        sg.files("rows", "jsonl", delimiter=";")
    with pytest.raises(TypeError):
        sg.files("rows", "csv", delimeter=";")  # type: ignore[call-arg]


def test_one_row_far_ahead_makes_no_other_late(tmp_path: Path) -> None:
    start, day = NOW - 900 * 86_400_000_000, 86_400_000_000
    times = [start, start + 300 * day, *(start + i * 1_000_000 for i in range(1, 30))]
    table = pa.table({"ts": pa.array(times, pa.timestamp("us", tz="UTC")), "v": [1.0] * 31})
    (tmp_path / "rows").mkdir()
    pq.write_table(table, tmp_path / "rows" / "a.parquet")
    gauge = sg.connect(tmp_path / "home", engine="local")
    gauge.stream("s", sg.files(tmp_path / "rows"), time="ts")
    gauge.sql("CREATE QUERY n AS SELECT COUNT(*) FROM s [RANGE 1 MINUTE] EVERY 1 SECOND")
    gauge.step()
    assert gauge.latest("n")[0].value == 29.0
    assert "ahead of all other rows" in gauge.dead_letters("s")["reason"][0].as_py()


def test_a_pause_and_files_by_series_have_no_strays() -> None:
    day = 86_400_000_000
    month = np.array([d * day for d in range(30) if d % 7 < 5])
    assert not len(strays(np.tile(month, 20), day))
    assert not len(strays(np.append(np.arange(1000) * 1_000_000, 900 * day), day))


@pytest.mark.parametrize("kind", ["int", "time"])
def test_seconds_that_were_parsed_before_are_not_scaled_twice(tmp_path: Path, kind: str) -> None:
    gauge = sg.connect(tmp_path / "home", engine="local")
    gauge.stream("s", sg.push(time_unit="s"), time="ts", schema=Schema.of(ts=kind, v="float"))
    gauge.step()
    stream = gauge.registry().streams["s"]
    values = pa.array([b'{"ts": 1700000000, "v": 1}', b'{"ts": 1700000009, "v": 1}'])
    parsed = parse_records(values, stream, arrived=NOW, origin="p", places=np.array([0, 1]))
    folder = gauge.home.incoming("s")
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(parsed.table, folder / "a.parquet")
    gauge.step()
    journal = Journal(gauge.home)
    assert journal.page(journal.last()).reach("s") == 1_700_000_009_000_000
