"""Directories of data files: which files they hold, and what schema the first one has."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.json

from streamgauge.kernel.errors import BindError, SourceFailure
from streamgauge.kernel.time import MICROSECOND
from streamgauge.sources.convert import caster
from streamgauge.sources.delimited import Dialect
from streamgauge.sources.draft import Refused, content
from streamgauge.sources.lines import Lines
from streamgauge.sources.parquet import open_parquet
from streamgauge.streams.schema import Schema

SAMPLE_BYTES = 8 << 20

_ENDINGS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
}
_PACKED = (".gz", ".bz2", ".zst")
_UNFINISHED = (".tmp", ".crc")


def file_format(source: dict[str, Any]) -> str:
    """Format of the files that a source's rows lie in: parquet, unless it is files of another.

    >>> file_format({"kind": "files", "format": "csv"})
    'csv'
    >>> file_format({"kind": "kafka", "format": "json"})
    'parquet'
    """
    return str(source.get("format", "parquet")) if source.get("kind") == "files" else "parquet"


def list_files(directory: str, format: str) -> list[str]:
    """List the data files below a directory, sorted by their path in it.

    Names that begin with "_" or "." (folders too) and names that end in .tmp or .crc are left out,
    and so are files whose ending is that of another format. Links to folders are not followed.
    """
    _check_format(format)
    found: list[str] = []
    pending = [directory]
    while pending:
        folder = pending.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.name.startswith(("_", ".")):
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
                    elif _belongs(entry.name, format):
                        found.append(entry.path)
        except OSError as error:
            raise _no_directory(folder, error) from None
    return sorted(found)


def infer_schema(
    path_or_dir: str, format: str, *, header: bool = True, delimiter: str = ","
) -> Schema:
    """Learn a schema from a file, or from the first file of a directory that can be read."""
    _check_format(format)
    files = list_files(path_or_dir, format) if Path(path_or_dir).is_dir() else [path_or_dir]
    dialect = Dialect(header, delimiter)
    refused: Refused | None = None
    for path in files:
        schema = _schema_of(path, format, dialect)
        if isinstance(schema, Schema):
            return schema
        refused = refused or schema
    detail = f"{files[0]}: {refused.reason}" if refused else f"no {format} file in it"
    raise SourceFailure(
        f"no schema can be learned from {path_or_dir}",
        detail,
        "put a first file there, or declare the columns in the stream's schema",
    )


def _check_format(format: str) -> None:
    known = sorted(set(_ENDINGS.values()))
    if format not in known:
        raise BindError(
            f"unknown format {format!r}",
            f"formats are {', '.join(known)}",
            "write format='parquet', for example",
        )


def _belongs(name: str, format: str) -> bool:
    if name.endswith(_UNFINISHED):
        return False
    for packed in _PACKED:
        name = name.removesuffix(packed)
    return _ENDINGS.get(name[name.rfind(".") :], format) == format


def _no_directory(folder: str, error: OSError) -> SourceFailure:
    return SourceFailure(
        f"cannot list {folder}",
        error.strerror or str(error),
        "create the directory, or correct the path in the stream's source",
    )


def _schema_of(path: str, format: str, dialect: Dialect) -> Schema | Refused:
    if format == "parquet":
        file = open_parquet(path)
        if isinstance(file, Refused):
            return file
        with file:
            return Schema.from_arrow(file.schema_arrow)
    data = content(path)
    if isinstance(data, Refused):
        return data
    sample = data[:SAMPLE_BYTES]
    if len(sample) < len(data):
        sample = sample[: sample.rfind(b"\n") + 1]
    lines = Lines.of(sample)
    if not len(lines):
        return Refused("the file has no lines")
    try:
        table = _csv_sample(lines, dialect) if format == "csv" else _json_sample(lines)
    except (pa.ArrowException, ValueError) as error:
        return Refused(str(error))
    return Schema.from_arrow(pa.schema([(n, _nearest(table[n])) for n in table.column_names]))


def _csv_sample(lines: Lines, dialect: Dialect) -> pa.Table:
    names = dialect.names(lines.text(0))
    if not dialect.header:
        names = [f"f{i}" for i in range(len(names))]
    return pyarrow.csv.read_csv(
        pa.BufferReader(lines.data),
        read_options=pyarrow.csv.ReadOptions(
            column_names=names, skip_rows=int(lines.numbers[0]) if dialect.header else 0
        ),
        parse_options=pyarrow.csv.ParseOptions(
            delimiter=dialect.delimiter, invalid_row_handler=lambda _: "skip"
        ),
    )


def _json_sample(lines: Lines) -> pa.Table:
    sound = [line for line in map(lines.text, range(min(len(lines), 1_000))) if _object(line)]
    if not sound:
        raise ValueError("none of its first 1,000 lines is a JSON object")
    return pyarrow.json.read_json(pa.BufferReader("\n".join(sound).encode()))


def _object(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _nearest(column: pa.ChunkedArray) -> pa.DataType:
    """Type to declare: text in which every value is a time is a time."""
    arrow = column.type
    if pa.types.is_time(arrow):
        return pa.string()
    if not pa.types.is_string(arrow) or column.null_count == len(column):
        return arrow
    cast = caster(arrow, "time", unit=MICROSECOND, clock=True)
    assert cast is not None, "text is always castable in principle"
    try:
        return cast(column).type
    except pa.ArrowInvalid:
        return arrow
