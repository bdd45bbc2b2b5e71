"""Directories: which files count, and the schema of the first."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamgauge.kernel.errors import BindError, SourceFailure
from streamgauge.sources.parse import infer_schema, list_files
from streamgauge.streams.schema import Schema

TICKS = Schema.of(series="string", ts="time", value="float", n="int", ok="bool")


def test_data_files_in_the_order_of_their_paths(tmp_path: Path) -> None:
    wanted = ["a.csv", "day=1/b.csv", "day=2/a.csv.gz", "part-7", "z.tsv"]
    others = ["_SUCCESS", ".hidden", "x.csv.tmp", "x.csv.crc", "_temporary/a.csv", "x.parquet"]
    for name in [*reversed(wanted), *others]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert list_files(str(tmp_path), "csv") == [str(tmp_path / name) for name in wanted]


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    for action in (list_files, infer_schema):
        with pytest.raises(SourceFailure) as failure:
            action(str(tmp_path / "none"), "csv")
        assert failure.value.detail
        assert failure.value.hint


def test_an_empty_directory_has_no_schema(tmp_path: Path) -> None:
    assert list_files(str(tmp_path), "parquet") == []
    with pytest.raises(SourceFailure, match="no parquet file in it"):
        infer_schema(str(tmp_path), "parquet")


def test_an_unknown_format(tmp_path: Path) -> None:
    with pytest.raises(BindError, match="unknown format 'xml'"):
        list_files(str(tmp_path), "xml")


def test_schema_of_parquet_skips_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"damaged")
    with pytest.raises(SourceFailure, match="not a readable parquet file"):
        infer_schema(str(tmp_path), "parquet")
    pq.write_table(
        TICKS.to_arrow().append(pa.field("l", pa.list_(pa.int8()))).empty_table(),
        tmp_path / "b.parquet",
    )
    assert infer_schema(str(tmp_path), "parquet") == TICKS


@pytest.mark.parametrize("moment", ["2026-01-31 10:00:00", "2026-01-31T10:00:00.123456789Z"])
def test_schema_of_text_files(tmp_path: Path, moment: str) -> None:
    csv, jsonl = tmp_path / "a.csv", tmp_path / "a.jsonl"
    csv.write_text(f"\nseries,ts,value,n,ok\nbroken\na,{moment},1.5,3,true\n")
    assert infer_schema(str(csv), "csv") == TICKS
    line = f'{{"series":"a","ts":"{moment}","value":1.5,"n":3,"ok":true}}\n'
    jsonl.write_text("null\n{broken\n" + line)
    assert infer_schema(str(jsonl), "jsonl") == TICKS


def test_schema_without_header(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a;1.5\nb;2\n")
    found = infer_schema(str(tmp_path), "csv", header=False, delimiter=";")
    assert found == Schema.of(f0="string", f1="float")


@pytest.mark.parametrize("content", ["", "null\n"])
def test_text_without_a_row_has_no_schema(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.jsonl").write_text(content)
    with pytest.raises(SourceFailure, match=r"a\.jsonl"):
        infer_schema(str(tmp_path), "jsonl")
