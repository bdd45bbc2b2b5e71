"""Footers: what can be known of a parquet file without reading a row."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamgauge.kernel.errors import SourceFailure
from streamgauge.sources.parse import Footer, RowGroup, inspect_parquet
from tests.sources.streams import stream

DECLARED = stream("parquet", columns={"series": "string", "ts": "time", "value": "float"})


def footer(folder: Path, *, options: dict[str, Any] | None = None, **columns: Any) -> Footer:
    rows: dict[str, Any] = {
        "series": ["a", "b", "c"],
        "ts": pa.array([2_000_000, 0, 1_000_000], pa.timestamp("us", "UTC")),
        "value": [1.0, None, -1.0],
    }
    pq.write_table(pa.table({**rows, **columns}), folder / "f", **(options or {}))
    found = inspect_parquet(str(folder / "f"), DECLARED)
    assert found is not None
    return found


def test_a_clean_file(tmp_path: Path) -> None:
    found = footer(tmp_path, options={"row_group_size": 2})
    assert found == Footer(3, (RowGroup(2, 0, 2_000_000), RowGroup(1, 1_000_000, 1_000_000)), True)
    assert (found.low, found.high) == (0, 2_000_000)


@pytest.mark.parametrize(
    "columns",
    [
        {"series": pa.array(["a", "b", "c"]).dictionary_encode()},
        {"series": pa.array(["a", "b", "c"], pa.large_string())},
        {"value": pa.array([1, 2, 3], pa.int32())},
        {"value": pa.array([1, 2, 3], pa.float32())},
        {"value": pa.array([None, None, None], pa.float64())},
        {"ts": pa.array([2, 0, 1], pa.timestamp("s"))},
        {"ts": pa.array([2_000, 0, 1_000], pa.timestamp("ms"))},
        {"ts": pa.array([2_000_000_999, 0, 1_000], pa.timestamp("ns"))},
        {"extra": [[1], [2], [3]]},
    ],
)
def test_types_that_fit_are_clean(tmp_path: Path, columns: dict[str, Any]) -> None:
    found = footer(tmp_path, **columns)
    assert (found.clean, found.why) == (True, "")
    assert (found.low, found.high) == (0, 2_000_000)


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ({"series": [1, 2, 3]}, "column 'series' is int64 and has to be cast to string"),
        ({"value": ["1", "2", "3"]}, "column 'value' is string and has to be cast to float"),
        ({"ts": [0, 1, 2]}, "column 'ts' is int64 and has to be cast to time"),
        ({"series": ["a", None, "c"]}, "column 'series' has nulls"),
        ({"ts": pa.array([0, None, 1], pa.timestamp("us"))}, "column 'ts' has nulls"),
        ({"ts": pa.array([0, 1, 2**60], pa.timestamp("us"))}, "outside the years 1 to 9999"),
        ({"value": [1.0, math.inf, 2.0]}, "column 'value' has infinite values"),
        ({"value": [math.nan] * 3}, "column 'value' has infinite values, or does not say"),
    ],
)
def test_what_needs_a_look_at_the_rows(tmp_path: Path, columns: dict[str, Any], why: str) -> None:
    found = footer(tmp_path, **columns)
    assert not found.clean
    assert why in found.why


def test_without_statistics_the_times_are_not_known(tmp_path: Path) -> None:
    found = footer(tmp_path, options={"write_statistics": False})
    assert (found.rows, found.groups, found.clean, found.low) == (3, (), False, None)
    assert found.why == "row group 0 has no statistics of 'ts'"
    old = footer(tmp_path, options={"use_deprecated_int96_timestamps": True})
    assert not old.clean


def test_a_missing_column(tmp_path: Path) -> None:
    pq.write_table(pa.table({"series": ["a"], "value": [1.0]}), tmp_path / "f")
    found = inspect_parquet(str(tmp_path / "f"), DECLARED)
    assert found is not None
    assert found.why == "column 'ts' is not in the file, which has series, value"


def test_a_whole_number_time_is_clean_in_microseconds_only(tmp_path: Path) -> None:
    pq.write_table(pa.table({"series": ["a", "b"], "ts": [5, 7]}), tmp_path / "f")
    columns = {"series": "string", "ts": "int"}
    found = inspect_parquet(str(tmp_path / "f"), stream("parquet", columns=columns))
    assert found == Footer(2, (RowGroup(2, 5, 7),), True)
    scaled = stream("parquet", columns=columns, time_unit="s")
    found = inspect_parquet(str(tmp_path / "f"), scaled)
    assert found is not None
    assert not found.clean


def test_a_damaged_file_has_no_footer_and_a_missing_one_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"PAR1 and nothing else")
    assert inspect_parquet(str(tmp_path / "f"), DECLARED) is None
    with pytest.raises(SourceFailure):
        inspect_parquet(str(tmp_path / "none"), DECLARED)


def test_an_empty_file_is_clean(tmp_path: Path) -> None:
    pq.write_table(DECLARED.schema.to_arrow().empty_table(), tmp_path / "f")
    found = inspect_parquet(str(tmp_path / "f"), DECLARED)
    assert found is not None
    assert (found.rows, found.low) == (0, None)
