"""Dead letters: rows and values that could not be used, with their origin and the reason."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from streamgauge.kernel.hashing import stable_hash
from streamgauge.kernel.time import Duration, Instant
from streamgauge.log.home import Home
from streamgauge.log.journal import Segment
from streamgauge.log.segments import count_rows, reading_arrow, write_parquet

SCHEMA = pa.schema([("origin", pa.string()), ("reason", pa.string()), ("row", pa.string())])

LETTERS = "a file of dead letters"


def bury(home: Home, stream: str, stem: str, letters: pa.Table) -> None:
    """Keep dead letters under a name that a replay gives them again."""
    write_parquet(home.dead(stream) / f"{stem}.parquet", letters)


def unusable_rows(letters: pa.Table, tick: Duration, peak: Instant) -> dict[int, int]:
    """How many rows dead letters stand for, by the tick that would have seen them first.

    A row without a time of its own counts at `peak`, the newest time before it; where there is
    none either, at -2**60, which stands for the first row to come.
    """
    if "rows" not in letters.column_names:
        return {}
    counts = letters["rows"].to_numpy()
    instants = pc.fill_null(letters["at"], peak).to_numpy()[counts > 0]
    seen = np.where(instants < -(2**60), -(2**60), -((-instants) // tick))
    ticks, places = np.unique(seen, return_inverse=True)
    totals = np.bincount(places, counts[counts > 0], len(ticks)).astype(np.int64)
    return dict(zip(ticks.tolist(), totals.tolist(), strict=True))


def report_unusable(
    home: Home, segment: Segment, place: Sequence[int], table: pa.Table, numbers: Sequence[str]
) -> None:
    """Bury a note of each NaN or infinite value in columns read in place; the row stays in use.

    Each column has a file of its own, named by the `place` of its rows in the journal, so that all
    who read it write the same one.
    """
    for name in numbers:
        column = table[name]
        if not pa.types.is_floating(column.type):
            continue
        finite = pc.fill_null(pc.is_finite(column), True).to_numpy()
        if finite.all():
            continue
        letters = [_no_number(segment, name, int(row), column) for row in np.flatnonzero(~finite)]
        numbered = "-".join(f"{n:06d}" for n in place[1:])
        stem = f"{place[0]:012d}-{numbered}-{stable_hash(name):016x}-values"
        bury(home, segment.stream, stem, pa.Table.from_pylist(letters, schema=SCHEMA))


def _no_number(segment: Segment, name: str, row: int, column: pa.ChunkedArray) -> dict[str, str]:
    value = column[row].as_py()
    groups = f", row groups from {segment.groups[0]}" if segment.groups[0] else ""
    return {
        "origin": f"{segment.origin}:{row}{groups}",
        "reason": f"column {name!r} is {value}, which is no number; the row is kept with a null",
        "row": json.dumps({name: str(value)}),
    }


def dead_letters(home: Home, stream: str) -> pa.Table:
    """All dead letters of a stream."""
    tables = [read_letters(path).select(SCHEMA.names) for path in _files(home, stream)]
    return pa.concat_tables(tables) if tables else SCHEMA.empty_table()


def count_dead_letters(home: Home, stream: str) -> int:
    """How many dead letters a stream has, by what the ends of their files say."""
    return sum(count_letters(path) for path in _files(home, stream))


def _files(home: Home, stream: str) -> list[Path]:
    return sorted(path for path in home.dead(stream).glob("*.parquet") if path.name[0] != ".")


def read_letters(path: Path) -> pa.Table:
    """The dead letters of one file, with the times and numbers of rows that it has."""
    with reading_arrow(path, LETTERS):
        return pq.read_table(path, page_checksum_verification=True)


def read_losses(path: str) -> pa.Table:
    """Times and numbers of rows that the dead letters of one file stand for, without the rows."""
    with reading_arrow(Path(path), LETTERS):
        return pq.ParquetFile(path, page_checksum_verification=True).read(["at", "rows"])


def count_letters(path: Path) -> int:
    """How many dead letters a file holds."""
    return count_rows(path, LETTERS)
