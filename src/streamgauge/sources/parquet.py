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


def open_parquet(path: str) -> pq.ParquetFile | Refused:
    """Read the footer of a file; a damaged one is refused, one out of reach is an error."""
    try:
        return pq.ParquetFile(path, page_checksum_verification=True)
    except (OSError, pa.ArrowException) as error:
        return _damaged(path, error)


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
    with file:
        missing = missing_column(file.schema_arrow, stream)
        if missing is not None:
            return Refused(missing)
        try:
            table = file.read(columns=names)
        except (OSError, pa.ArrowException) as error:
            return _damaged(path, error)

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


def _damaged(path: str, error: Exception) -> Refused:
    # Only trouble of the disk carries an error number; damage inside the file does not.
    if isinstance(error, OSError) and error.errno:
        raise unreachable(path, error) from None
    return Refused(f"not a readable parquet file: {error}")


def _json_text(row: dict[str, object]) -> str:
    return json.dumps(row, default=str, ensure_ascii=False)
