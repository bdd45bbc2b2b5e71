"""Tables read whole: files, directories and Delta tables, and when two of them are the same."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamgauge.kernel.errors import MissingRuntime, SourceFailure
from streamgauge.log import lake
from streamgauge.log.home import Home
from streamgauge.log.tables import (
    AGAIN,
    next_copy,
    ordered,
    read_lake,
    read_rows,
    same_rows,
    stored_as,
)
from streamgauge.streams.origin import delta, file, jdbc
from streamgauge.streams.table import Table

SIGNS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


def test_a_directory_of_parquet_files_is_one_table(tmp_path: Path) -> None:
    (tmp_path / "day=2").mkdir()
    (tmp_path / "day=1").mkdir()
    pq.write_table(pa.table({"a": [3]}), tmp_path / "day=2" / "x.parquet")
    pq.write_table(pa.table({"a": [1, 2]}), tmp_path / "day=1" / "x.parquet")
    (tmp_path / "_SUCCESS").touch()
    assert read_rows(tmp_path).to_pydict() == {"a": [1, 2, 3], "day": [1, 1, 2]}


def test_directories_that_are_no_table_of_files(tmp_path: Path) -> None:
    with pytest.raises(SourceFailure, match="no parquet files"):
        read_rows(tmp_path)
    deltalake.write_deltalake(tmp_path / "lake", pa.table({"a": [1]}))
    with pytest.raises(SourceFailure, match="write FROM DELTA 'lake'"):
        read_rows(tmp_path / "lake")


def test_a_delta_table_is_read_as_it_stands(tmp_path: Path) -> None:
    place = tmp_path / "lake"
    deltalake.write_deltalake(place, pa.table({"a": [2, 1], "b": ["x", "y"], "nested": [[1], [2]]}))
    deltalake.write_deltalake(
        place, pa.table({"a": [0], "b": ["z"], "nested": [[3]]}), mode="append"
    )
    deltalake.DeltaTable(place).delete("a = 2")
    found = read_lake(delta(place))
    assert found.to_pydict() == {"a": [0, 1], "b": ["z", "y"]}, (
        "in order, without what is gone or nested"
    )
    deltalake.DeltaTable(place).optimize.compact()
    assert same_rows(read_lake(delta(place)), found), "other files, the same rows"


def test_rows_that_a_delta_table_marks_as_deleted_are_gone(tmp_path: Path) -> None:
    place, log = tmp_path / "lake", tmp_path / "lake" / "_delta_log"
    settings = {"delta.enableDeletionVectors": "true"}
    deltalake.write_deltalake(place, pa.table({"a": [10, 20, 30]}), configuration=settings)
    lines = [json.loads(line) for line in (log / f"{0:020d}.json").read_text().splitlines()]
    (add,) = [line["add"] for line in lines if "add" in line]
    gone = {key: add[key] for key in ("path", "size", "partitionValues")}
    marked = {**add, "deletionVector": marks(1)}
    changes = ({"remove": {**gone, "deletionTimestamp": 1, "dataChange": True}}, {"add": marked})
    (log / f"{1:020d}.json").write_text("\n".join(map(json.dumps, changes)))
    assert read_lake(delta(place)).to_pydict() == {"a": [10, 30]}


def marks(row: int) -> dict[str, object]:
    """One row as a deletion vector inside the log: a roaring bitmap, spelled in base 85."""
    bitmap = struct.pack("<IIHHIH", 12346, 1, 0, 0, 16, row)
    data = struct.pack("<IQI", 1681511377, 1, 0) + bitmap
    words = struct.unpack(f">{(len(data) + 3) // 4}I", data + bytes(-len(data) % 4))
    text = "".join(SIGNS[word // 85**k % 85] for word in words for k in range(4, -1, -1))
    size = {"sizeInBytes": len(data), "cardinality": 1}
    return {"storageType": "i", "pathOrInlineDv": text, **size}


def test_a_delta_table_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SourceFailure, match=r"cannot read Delta table (?s:.*)_delta_log"):
        read_lake(delta(tmp_path))
    monkeypatch.setattr(lake, "deltalake", None)
    with pytest.raises(MissingRuntime, match=r"streamgauge\[tables\]"):
        read_lake(delta(tmp_path))


def test_when_rows_are_the_same() -> None:
    rows = pa.table({"a": [1.0, float("nan"), None], "b": ["x", None, "z"]})
    assert same_rows(rows, pa.concat_tables([rows.slice(0, 1), rows.slice(1)]))
    assert not same_rows(rows, rows.set_column(0, "a", [[1.0, None, None]]))
    assert not same_rows(rows, rows.set_column(0, "a", [[1.0, float("nan"), 0.0]]))
    assert not same_rows(rows, rows.slice(1))
    assert not same_rows(rows, rows.rename_columns(["a", "c"]))
    turned = rows.take([2, 0, 1])
    assert not same_rows(rows, turned)
    assert same_rows(ordered(rows), ordered(turned))


def test_copies_have_numbers_and_marks_of_their_own(tmp_path: Path) -> None:
    home = Home.open(tmp_path, shards=1)
    (home.root / "tables").mkdir()
    for name in ("t-1", "t-7.again", "t-x", "other-9", "t-2-8"):
        (home.root / "tables" / f"{name}.parquet").touch()
    assert next_copy(home, "t").name == "t-8.parquet"
    assert next_copy(home, "t", AGAIN).name == "t-8.again.parquet"


def test_a_table_goes_to_json_and_back(tmp_path: Path) -> None:
    home = Home.open(tmp_path, shards=1)
    rows = pa.table({"a": [1]})
    origins = (file("a.csv"), delta("lake"), jdbc("jdbc:postgresql://h/d", table="t", user="u"))
    for origin in origins:
        table = stored_as(home, "t", origin, rows, 30)
        assert Table.from_dict(json.loads(json.dumps(table.as_dict()))) == table
        assert table.read_from == origin
    early = {"name": "t", "schema": {"a": "int"}, "path": "p", "origin": "a.csv"}
    assert Table.from_dict(early).as_dict() == early
