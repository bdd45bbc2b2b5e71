"""Recording: rows that were kept, to be played again: a directory of files, or a stream of a home.

A recording is listed once. Its pieces are row groups of parquet files, which tell their times
without being read, or whole files of other formats, which are read once to learn theirs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from streamgauge.kernel.columns import as_instants
from streamgauge.kernel.errors import BindError, SourceFailure
from streamgauge.kernel.files import numbered
from streamgauge.kernel.roots import Roots
from streamgauge.kernel.time import Instant
from streamgauge.log.home import Home
from streamgauge.log.journal import Journal, Segment
from streamgauge.log.reader import read_segment
from streamgauge.sources.declare import Source
from streamgauge.sources.directory import format_of, infer_schema
from streamgauge.sources.parse import inspect_parquet, list_files, parse_file
from streamgauge.sources.rejects import REJECTS, Rejects
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Stream

CARD = "gauge.json"


@dataclass(frozen=True, slots=True)
class Piece:
    """Some rows of a recording: row groups first..stop of a parquet file, or a whole file.

    Examples
    --------
    >>> Piece.from_list(Piece("a.csv", "csv", 0, 0, 3, 10, 20).as_list()).high
    20
    """

    path: str
    format: str
    first: int
    stop: int
    rows: int
    low: Instant
    high: Instant

    def as_list(self) -> list[Any]:
        """JSON form, short because there may be many."""
        return [self.path, self.format, self.first, self.stop, self.rows, self.low, self.high]

    @classmethod
    def from_list(cls, data: list[Any]) -> Piece:
        """Read the JSON form."""
        return cls(*data)


def columns_of(source: Source) -> Schema:
    """The columns of a recording, which are in its first file."""
    path, named = source.options["of"], source.options.get("stream")
    within = source.options.get("within")
    if named is None:
        return infer_schema(path, format_of(path, within), within=within)
    for piece in _kept(path, named, within):
        return Schema.from_arrow(pq.read_schema(piece.path))
    raise _nothing_kept(path, named)


def pieces_of(stream: Stream) -> list[Piece]:
    """List the recording that a stream replays, in the order its rows arrived."""
    source = stream.source_dict()
    path, named, within = source["of"], source.get("stream"), source.get("within")
    if named is not None:
        found = list(_kept(path, named, within))
        if not found:
            raise _nothing_kept(path, named)
        return found
    format = format_of(path, within)
    read = _as_files(stream, format)
    files = list_files(path, format, within)
    return [piece for file in files for piece in _pieces(file, format, read)]


def rows_of(piece: Piece, stream: Stream) -> tuple[pa.Table, pa.Table]:
    """Rows of a piece with the columns of a stream, and what could not be used of it."""
    if piece.stop == 0:
        parsed = parse_file(piece.path, _as_files(stream, piece.format), arrived=0)
        return parsed.table, parsed.rejects
    groups = (piece.first, piece.stop)
    segment = Segment(
        stream.name, piece.path, groups, piece.rows, piece.low, piece.high, 0, piece.path
    )
    schema = stream.schema.to_arrow()
    try:
        table = read_segment(segment, schema.names, ()).select(schema.names)
        return table.cast(schema, safe=False), REJECTS.empty_table()
    except (OSError, KeyError, pa.ArrowException) as error:
        reason = f"cannot be replayed: {error.args[0] if error.args else error}"
        return schema.empty_table(), Rejects.whole(piece.path, reason).rows


def _as_files(stream: Stream, format: str) -> Stream:
    told = stream.source_dict()
    unit = (("time_unit", told["time_unit"]),) if "time_unit" in told else ()
    source = (("kind", "files"), ("path", ""), ("format", format), *unit)
    return replace(stream, source=source, future=None)


def _pieces(path: str, format: str, stream: Stream) -> Iterator[Piece]:
    footer = inspect_parquet(path, stream) if format == "parquet" else None
    if footer is not None and footer.clean:
        for number, group in enumerate(footer.groups):
            if group.rows:
                yield Piece(path, format, number, number + 1, group.rows, group.low, group.high)
        return
    parsed = parse_file(path, stream, arrived=0)
    times = as_instants(parsed.table[stream.time])
    # A file of dead letters alone is a piece too, at a time that is always played.
    low, high = (int(times.min()), int(times.max())) if len(times) else (0, 0)
    yield Piece(path, format, 0, 0, len(times), low, high)


def _kept(path: str, stream: str, within: str | None = None) -> Iterator[Piece]:
    """Segments of a stream of a home whose files are still there, and in a directory if given."""
    allowed = None if within is None else Roots.of([within])
    if not (Path(path) / CARD).is_file():
        raise SourceFailure(
            f"{path} is no home of a gauge",
            f"there is no {CARD} in it",
            "give the directory of a home, or leave the stream out to replay a directory of files",
        )
    home = Home.open(path, shards=1)
    journal = Journal(home)
    for number in numbered(home.journal, ".json"):
        for segment in journal.page(number).segments:
            if segment.stream != stream or not Path(segment.path).is_file():
                continue
            # A journal is only a file: one that a client wrote names any path.
            if allowed is None or allowed.inside(segment.path):
                yield Piece(
                    segment.path,
                    "parquet",
                    *segment.groups,
                    segment.rows,
                    segment.low,
                    segment.high,
                )


def _nothing_kept(path: str, stream: str) -> BindError:
    return BindError(
        f"home {path} keeps no rows of stream {stream!r}",
        "no page of its journal refers to a file that is still there",
        "check the name with streamgauge streams --home; a stream with a longer KEEP keeps more",
    )
