"""Parquet files: their columns as a draft."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from streamgauge.sources.convert import plain
from streamgauge.sources.draft import Draft, Refused, unreachable
from streamgauge.streams.stream import Stream

# What comes of damaged bytes: names that are not UTF-8, columns that the footer lost.
DAMAGE = (OSError, ValueError, LookupError, pa.ArrowException)


def open_parquet(path: str) -> pq.ParquetFile | Refused:
    """Read the footer of a file; a damaged one is refused, one out of reach is an error."""
    try:
        return pq.ParquetFile(path, page_checksum_verification=True)
    except DAMAGE as error:
        return damaged(path, error)


def damaged(path: str, error: Exception) -> Refused:
    """Refuse a file for what is in it; trouble of the disk is raised instead."""
    # Only the disk gives its errors a number.
    if isinstance(error, OSError) and error.errno:
        raise unreachable(path, error) from None
    return Refused(f"not a readable parquet file: {error}")


def missing_column(arrow: pa.Schema, stream: Stream) -> str | None:
    """Name the first column of a stream that a file lacks, or has twice."""
    for name in stream.schema.names:
        count = len(arrow.get_all_field_indices(name))
        if count != 1:
            fault = "is not in" if count == 0 else "appears more than once in"
            return f"column {name!r} {fault} the file, which has {', '.join(arrow.names)}"
    return None


def read_parquet(path: str, stream: Stream) -> Draft | Refused:
    """Read the stream's columns; a damaged file or one without a column is refused."""
    file = open_parquet(path)
    if isinstance(file, Refused):
        return file
    names = list(stream.schema.names)
    try:
        with file:
            missing = missing_column(file.schema_arrow, stream)
            if missing is not None:
                return Refused(missing, rows=file.metadata.num_rows)
            table = _decoded(file.read(columns=names))
    except DAMAGE as error:
        return damaged(path, error)

    def texts(at: NDArray[np.int64]) -> list[str]:
        taken = table.take(at)
        rows = zip(*(plain(taken[name]) for name in names), strict=True)
        return [_json_text(dict(zip(names, row, strict=True))) for row in rows]

    return Draft(
        columns={name: table[name] for name in names},
        places=np.arange(1, table.num_rows + 1),
        texts=texts,
        broken=[],
        typed=True,
    )


def _decoded(table: pa.Table) -> pa.Table:
    """Write dictionary codes out, which is when codes that point nowhere come to light."""
    fields = [
        field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields))


def _json_text(row: dict[str, object]) -> str:
    return json.dumps(row, default=str, ensure_ascii=False)
