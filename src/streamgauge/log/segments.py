"""Segments: parquet files of the log, whole or absent."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from streamgauge.kernel.errors import StreamgaugeError
from streamgauge.kernel.files import damaged, reading


def write_parquet(path: Path, table: pa.Table) -> None:
    """Write a parquet file that is whole or absent, one row group, text as dictionaries."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.tmp")
    words = [column.name for column in table.schema if pa.types.is_string(column.type)]
    size = max(1, table.num_rows)
    pq.write_table(
        table,
        partial,
        compression="zstd",
        row_group_size=size,
        use_dictionary=words,
        write_page_checksum=True,
    )
    with partial.open("rb") as file:
        os.fsync(file.fileno())
    partial.replace(path)


@contextmanager
def reading_arrow(path: Path, what: str) -> Iterator[None]:
    """Turn whatever Arrow says of a damaged file into StateTooOld; `what` says what it is."""
    try:
        with reading(path, what):
            yield
    except (FileNotFoundError, StreamgaugeError):
        raise
    except (OSError, EOFError, pa.ArrowException) as error:
        raise damaged(path, what, str(error)) from error


def read_parquet(path: str | Path, what: str, columns: Sequence[str] | None = None) -> pa.Table:
    """Read a parquet file of the home; StateTooOld where it is damaged or gone."""
    kept, named = Path(path), None if columns is None else list(columns)
    try:
        with reading_arrow(kept, what):
            return pq.read_table(kept, columns=named)
    except FileNotFoundError:
        raise damaged(kept, what, "it is absent") from None


def count_rows(path: Path, what: str) -> int:
    """Rows of a parquet file of the home, by its footer."""
    with reading_arrow(path, what):
        return int(pq.read_metadata(path).num_rows)
