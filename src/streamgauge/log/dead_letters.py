"""Dead letters: rows and values that could not be used, with their origin and the reason."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from streamgauge.log.home import Home
from streamgauge.log.journal import Segment
from streamgauge.log.segments import write_parquet

SCHEMA = pa.schema([("origin", pa.string()), ("reason", pa.string()), ("row", pa.string())])


def bury(home: Home, stream: str, stem: str, letters: pa.Table) -> None:
    """Keep dead letters under a name that a replay gives them again."""
    write_parquet(home.dead(stream) / f"{stem}.parquet", letters)


def report_unusable(
    home: Home, segment: Segment, place: tuple[int, int], table: pa.Table, numbers: Sequence[str]
) -> None:
    """Bury a note of each NaN or infinite value in columns read in place; the row stays in use."""
    letters = []
    for name in numbers:
        column = table[name]
        if not pa.types.is_floating(column.type):
            continue
        finite = pc.fill_null(pc.is_finite(column), True).to_numpy()
        if finite.all():
            continue
        for row in np.flatnonzero(~finite):
            value = column[int(row)].as_py()
            letters.append(
                {
                    "origin": f"{segment.origin}:{row}",
                    "reason": f"column {name!r} is {value}, which is no number; the row is kept "
                    "with a null",
                    "row": json.dumps({name: str(value)}),
                }
            )
    if letters:
        stem = f"{place[0]:012d}-{place[1]:06d}-values"
        bury(home, segment.stream, stem, pa.Table.from_pylist(letters, schema=SCHEMA))


def dead_letters(home: Home, stream: str) -> pa.Table:
    """All dead letters of a stream."""
    folder = home.dead(stream)
    paths = sorted(path for path in folder.glob("*.parquet") if path.name[0] != ".")
    tables = [pq.read_table(path).select(SCHEMA.names) for path in paths]
    return pa.concat_tables(tables) if tables else SCHEMA.empty_table()
