"""Stored tables: files and lakes read whole, and the copy that the home keeps of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet as pq

from streamgauge.kernel.errors import SourceFailure
from streamgauge.kernel.files import read_json, reading, write_json
from streamgauge.log.home import Home
from streamgauge.log.lake import read_delta
from streamgauge.streams.origin import Origin
from streamgauge.streams.schema import Schema
from streamgauge.streams.table import Table

READERS: dict[str, Callable[[Path], pa.Table]] = {
    ".parquet": pq.read_table,
    ".csv": pyarrow.csv.read_csv,
    ".json": pyarrow.json.read_json,
    ".jsonl": pyarrow.json.read_json,
}
AGAIN = ".again"


def read_rows(path: Path) -> pa.Table:
    """The rows of a file or a directory of parquet files, in the types that columns have here."""
    if path.is_dir():
        return _plain(path, _read_directory)
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise SourceFailure(
            f"cannot read {path.name} as a table",
            f"its type is {path.suffix or 'none'}; read are {', '.join(READERS)}",
            "name a parquet, CSV or JSON lines file",
        )
    return _plain(path, reader)


def read_lake(origin: Origin) -> pa.Table:
    """The rows of a Delta table, in the types that columns have here and in an order of their own.

    Files of a lake are rewritten without a change of rows.
    """
    return ordered(_plain(Path(origin.place), lambda _: read_delta(origin.place)))


def _read_directory(path: Path) -> pa.Table:
    if (path / "_delta_log").is_dir():
        raise SourceFailure(
            f"cannot read directory {path.name} as files",
            "it is a Delta table, whose files also hold rows that are gone",
            f"write FROM DELTA '{path.name}'",
        )
    if not any(path.rglob("*.parquet")):
        raise SourceFailure(
            f"cannot read directory {path.name} as a table",
            "it has no parquet files",
            "name a directory of parquet files, or one file",
        )
    return pq.read_table(path)


def _plain(path: Path, reader: Callable[[Path], pa.Table]) -> pa.Table:
    try:
        return in_our_types(reader(path))
    except OSError as error:
        if isinstance(error, SourceFailure):
            raise
        raise SourceFailure(
            f"cannot read table {path.name}", str(error), "check the path and its permissions"
        ) from None
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise SourceFailure(
            f"cannot read table {path.name}", str(error), "mend the file at that place"
        ) from None


def in_our_types(found: pa.Table) -> pa.Table:
    """Columns as float, int, string, bool and time; nested ones are left out."""
    schema = Schema.from_arrow(found.schema)
    return found.select(list(schema.names)).cast(schema.to_arrow())


def ordered(rows: pa.Table) -> pa.Table:
    """The same rows in an order that follows from them alone."""
    if not rows.num_columns:
        return rows
    return rows.sort_by([(name, "ascending") for name in rows.column_names])


def same_rows(one: pa.Table, other: pa.Table) -> bool:
    """Whether two tables hold the same columns and rows in the same order; NaN is itself."""
    if one.schema != other.schema or one.num_rows != other.num_rows:
        return False
    return all(_same(one[name], other[name]) for name in one.column_names)


def _same(one: pa.ChunkedArray, other: pa.ChunkedArray) -> bool:
    if pa.types.is_floating(one.type):
        nan, others = pc.is_nan(one), pc.is_nan(other)
        if not nan.equals(others):
            return False
        one, other = pc.if_else(nan, 0.0, one), pc.if_else(others, 0.0, other)
    return bool(one.equals(other))


def stored_as(
    home: Home, name: str, origin: Origin, rows: pa.Table, every: int | None = None
) -> Table:
    """What a table will be once its copy is written: a file of a number not used before."""
    path = next_copy(home, name)
    schema = Schema.from_arrow(rows.schema)
    source = None if origin.kind == "file" else origin
    return Table(name, schema, str(path), str(origin), source, rows.num_rows, every)


def next_copy(home: Home, name: str, mark: str = "") -> Path:
    """Where the next copy of a table goes.

    What the running job reads again has a mark of its own, so that a copy that another process
    makes in the same moment does not get the same name.
    """
    directory = home.root / "tables"
    taken = [path.stem.removesuffix(AGAIN).rpartition("-") for path in directory.glob("*.parquet")]
    numbers = [int(number) for of, _, number in taken if of == name and number.isdecimal()]
    return directory / f"{name}-{max(numbers, default=0) + 1}{mark}.parquet"


def note_reading(home: Home, name: str, told: dict[str, Any]) -> None:
    """Write down how reading a table again goes."""
    write_json(_notes(home, name), told)


def reading_of(home: Home, name: str) -> dict[str, Any]:
    """How reading a table again goes; empty before anything was written down."""
    try:
        path, what = _notes(home, name), f"the note of how table {name!r} is read again"
        with reading(path, what):
            return dict(read_json(path, what))
    except FileNotFoundError:
        return {}


def _notes(home: Home, name: str) -> Path:
    return home.root / "tables" / f"{name}.json"
