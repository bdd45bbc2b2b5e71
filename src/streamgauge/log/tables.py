"""Stored tables: a file read whole, and the copy that the home keeps of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet as pq

from streamgauge.kernel.errors import SourceFailure
from streamgauge.log.home import Home
from streamgauge.streams.schema import Schema
from streamgauge.streams.table import Table

READERS: dict[str, Callable[[Path], pa.Table]] = {
    ".parquet": pq.read_table,
    ".csv": pyarrow.csv.read_csv,
    ".json": pyarrow.json.read_json,
    ".jsonl": pyarrow.json.read_json,
}


def read_rows(path: Path) -> pa.Table:
    """The rows of a file, in the types that columns have here; nested columns are left out."""
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise SourceFailure(
            f"cannot read {path.name} as a table",
            f"its type is {path.suffix or 'none'}; read are {', '.join(READERS)}",
            "name a parquet, CSV or JSON lines file",
        )
    try:
        found = reader(path)
        schema = Schema.from_arrow(found.schema)
        return found.select(list(schema.names)).cast(schema.to_arrow())
    except OSError as error:
        raise SourceFailure(
            f"cannot read table {path.name}", str(error), "check the path and its permissions"
        ) from None
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise SourceFailure(
            f"cannot read table {path.name}", str(error), "mend the file at that place"
        ) from None


def stored_as(home: Home, name: str, origin: Path, rows: pa.Table) -> Table:
    """What a table will be once its copy is written: a file of a number not used before."""
    directory = home.root / "tables"
    taken = [path.stem.rpartition("-") for path in directory.glob("*.parquet")]
    numbers = [int(number) for of, _, number in taken if of == name and number.isdecimal()]
    path = directory / f"{name}-{max(numbers, default=0) + 1}.parquet"
    return Table(name, Schema.from_arrow(rows.schema), str(path), str(origin))
