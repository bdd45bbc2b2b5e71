"""Landing: closed ticks as one parquet file of rows, and the stream's clock moved on.

A file is named by the last tick it closes, so writing it again changes nothing, and a file that
the job has taken is not taken twice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from streamgauge.coordinator.cache import Bound, Row
from streamgauge.engine.landed_files import source_directory
from streamgauge.kernel.time import Instant
from streamgauge.log import inbox
from streamgauge.log.home import Home
from streamgauge.log.segments import write_parquet
from streamgauge.streams.stream import Stream


class Landing:
    """Where the rows of a stream go.

    Parameters
    ----------
    home
        The home whose job takes them.
    stream
        The stream that they are of.
    """

    def __init__(self, home: Home, stream: Stream) -> None:
        self.home = home
        self.stream = stream
        self.directory = Path(source_directory(home, stream))
        self._advance = ""
        self.files = 0
        self.rows = 0

    def land(self, upto: Instant, rows: Sequence[Row], bounds: Sequence[Bound]) -> None:
        """Write the rows of all ticks up to one, then say that no earlier row is to come."""
        if rows:
            path = self.path(upto)
            if not path.exists():
                write_parquet(path, self.table(rows, bounds))
            self.files += 1
            self.rows += len(rows)
        self.advance(upto)

    def advance(self, upto: Instant) -> None:
        """Close ticks up to one: the stream's clock is just past it."""
        record = {"do": "advance", "stream": self.stream.name, "instant": upto + 1}
        self._advance = inbox.submit(self.home, record)

    @property
    def behind(self) -> bool:
        """Whether the job has not yet taken what was landed last."""
        return bool(self._advance) and (self.home.control / self._advance).exists()

    def path(self, upto: Instant) -> Path:
        """File of the ticks up to one."""
        return self.directory / f"{upto // self.stream.tick:016d}.parquet"

    def table(self, rows: Sequence[Row], bounds: Sequence[Bound]) -> pa.Table:
        """Rows as columns of the stream; a width that is not known is null, as is a value."""
        schema = self.stream.schema.to_arrow()
        columns: dict[str, pa.Array] = {}
        for part, name in enumerate(self.stream.key):
            texts = pa.array([bounds[row.place].key[part] for row in rows], pa.string())
            columns[name] = texts.cast(schema.field(name).type)
        columns[self.stream.time] = pa.array([row.at for row in rows], pa.int64())
        if self.stream.value is not None and self.stream.width is not None:
            values = [None if math.isnan(row.value) else row.value for row in rows]
            widths = [row.width if math.isfinite(row.width) else None for row in rows]
            columns[self.stream.value] = pa.array(values, pa.float64())
            columns[self.stream.width] = pa.array(widths, pa.float64())
        parts = [
            columns[field.name].cast(field.type)
            if field.name in columns
            else pa.nulls(len(rows), field.type)
            for field in schema
        ]
        return pa.Table.from_arrays(parts, schema=schema)
