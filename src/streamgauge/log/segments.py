"""Segments: parquet files of the log, whole or absent."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq


def write_parquet(path: Path, table: pa.Table) -> None:
    """Write a parquet file that is whole or absent, one row group, text as dictionaries."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.tmp")
    words = [column.name for column in table.schema if pa.types.is_string(column.type)]
    size = max(1, table.num_rows)
    pq.write_table(table, partial, compression="zstd", row_group_size=size, use_dictionary=words)
    with partial.open("rb") as file:
        os.fsync(file.fileno())
    partial.replace(path)
