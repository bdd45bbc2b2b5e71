"""Directories of data files: which files they hold, and what schema the first one has."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json

from streamgauge.kernel.errors import BindError, SourceFailure
from streamgauge.kernel.roots import Roots
from streamgauge.kernel.time import MICROSECOND
from streamgauge.sources.access_log import ACCESS_LOG
from streamgauge.sources.convert import caster
from streamgauge.sources.delimited import Dialect
from streamgauge.sources.draft import Refused, content
from streamgauge.sources.formats import FORMATS
from streamgauge.sources.lines import Lines
from streamgauge.sources.packets.columns import PACKETS
from streamgauge.sources.packets.flows import FLOWS
from streamgauge.sources.parquet import open_parquet
from streamgauge.sources.places import ENDINGS, ending
from streamgauge.streams.schema import Schema

SAMPLE_BYTES = 8 << 20

# Formats that are read from the files of another one.
_READ_FROM = {"flows": "pcap"}
# Formats whose columns are the same in every file.
_FIXED = {"pcap": PACKETS, "flows": FLOWS, "access_log": ACCESS_LOG}
_UNFINISHED = (".tmp", ".crc")


def file_format(source: dict[str, Any]) -> str:
    """Format of the files that a source's rows lie in: parquet, unless it is files of another.

    >>> file_format({"kind": "files", "format": "csv"})
    'csv'
    >>> file_format({"kind": "kafka", "format": "json"})
    'parquet'
    """
    return str(source.get("format", "parquet")) if source.get("kind") == "files" else "parquet"


def list_files(directory: str, format: str, within: str | None = None) -> list[str]:
    """List the data files below a directory, sorted by their path in it; a file is itself.

    Names that begin with "_" or "." (folders too) and names that end in .tmp or .crc are left out,
    and so are files whose ending is that of another format. Links to folders are not followed, and
    files that links take out of the directory `within` are left out too.
    """
    _check_format(format)
    allowed = None if within is None else Roots.of([within])
    if Path(directory).is_file():
        return [directory] if allowed is None or allowed.inside(directory) else []
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
                    elif _belongs(entry.name, format) and (
                        allowed is None or not entry.is_symlink() or allowed.inside(entry.path)
                    ):
                        found.append(entry.path)
        except OSError as error:
            raise _no_directory(folder, error) from None
    return sorted(found)


def infer_schema(
    path_or_dir: str,
    format: str,
    *,
    header: bool = True,
    delimiter: str = ",",
    null: Sequence[str] = (),
    within: str | None = None,
) -> Schema:
    """Learn a schema from a file, or from the first file of a directory that can be read.

    Captures and access logs have the same columns everywhere; no file is needed for them.
    """
    _check_format(format)
    if format in _FIXED:
        return _FIXED[format]
    there = Path(path_or_dir).exists()
    files = list_files(path_or_dir, format, within) if there else [path_or_dir]
    dialect = Dialect(header, delimiter, tuple(null))
    refused: Refused | None = None
    for path in files:
        schema = _schema_of(path, format, dialect)
        if isinstance(schema, Schema):
            return schema
        refused = refused or schema
    detail = f"{files[0]}: {refused.reason}" if refused else f"no {format} file in it"
    others = [other for other in FORMATS if there and list_files(path_or_dir, other, within)]
    hint = "put a first file there, or declare the columns in the stream's schema"
    if not files and others:
        detail = f"{detail}, but files that {others[0]} reads"
        hint = f"write format={others[0]!r}; in SQL FORMAT {others[0]}"
    raise SourceFailure(f"no schema can be learned from {path_or_dir}", detail, hint)


def first_times(source: Mapping[str, Any], column: str) -> tuple[int, int] | None:
    """Least and greatest whole number of a column in the first file; None when it has none."""
    path, format = str(source["path"]), str(source["format"])
    if format in _FIXED or not Path(path).exists():
        return None
    for file in list_files(path, format, source.get("within")):
        try:
            values = _column(file, format, column, Dialect.of(dict(source)))
        except (OSError, KeyError, ValueError, pa.ArrowException):
            continue
        if values is None or not pa.types.is_integer(values.type) or not len(values):
            return None
        bounds = pc.min_max(values).as_py()
        return None if bounds["min"] is None else (bounds["min"], bounds["max"])
    return None


def _column(path: str, format: str, column: str, dialect: Dialect) -> pa.ChunkedArray | None:
    """A column of the start of a file, of the type that the file gives it."""
    if format == "parquet":
        file = open_parquet(path)
        if isinstance(file, Refused):
            return None
        with file:
            return file.read_row_group(0, columns=[column])[column] if file.num_row_groups else None
    data = content(path)
    lines = Lines.of(b"" if isinstance(data, Refused) else data[:SAMPLE_BYTES])
    if not len(lines):
        return None
    return (_csv_sample(lines, dialect) if format == "csv" else _json_sample(lines))[column]


def format_of(directory: str, within: str | None = None) -> str:
    """The format of the files in a directory, by their endings; there has to be one."""
    found = [
        format
        for format in dict.fromkeys(ENDINGS.values())
        if any(ENDINGS.get(ending(p)) == format for p in list_files(directory, format, within))
    ]
    if len(found) == 1:
        return found[0]
    raise SourceFailure(
        f"cannot tell what is in {directory}",
        f"its files are of {len(found)} formats: {', '.join(found) or 'none is known'}",
        "keep files of one format there, named .parquet, .csv, .jsonl or .pcap",
    )


def _check_format(format: str) -> None:
    if format not in FORMATS:
        raise BindError(
            f"unknown format {format!r}",
            f"formats are {', '.join(FORMATS)}",
            "write format='parquet', for example",
        )


def _belongs(name: str, format: str) -> bool:
    if name.endswith(_UNFINISHED):
        return False
    wanted = _READ_FROM.get(format, format)
    return ENDINGS.get(ending(name), wanted) == wanted


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
        convert_options=dialect.nulls_of_sample(),
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
