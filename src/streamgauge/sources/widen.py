"""Which whole columns of a learned schema have to become float for a file to be taken."""

from __future__ import annotations

import pyarrow.compute as pc

from streamgauge.kernel.time import Instant
from streamgauge.sources.parse import Parsed, parse_file
from streamgauge.streams.stream import Stream


def wider_columns(
    path: str, stream: Stream, parsed: Parsed, *, arrived: Instant
) -> tuple[str, ...]:
    """Columns without whose widening fewer rows of a file can be used.

    Parameters
    ----------
    path
        The file.
    stream
        The stream as it is.
    parsed
        What became of the file so far.
    arrived
        When the file was seen.
    """
    columns = stream.widenable
    if not columns or _lost(parsed) == 0:
        return ()

    def lost(chosen: tuple[str, ...]) -> int:
        return _lost(parse_file(path, stream.wider(chosen), arrived=arrived))

    least = lost(columns)
    if least >= _lost(parsed):
        return ()
    if len(columns) == 1:
        return columns
    return tuple(c for c in columns if lost(tuple(n for n in columns if n != c)) > least)


def _lost(parsed: Parsed) -> int:
    """Rows left out; one that is kept without its value is no better than one left out."""
    counts = parsed.rejects["rows"]
    kept = pc.sum(pc.equal(counts, 0)).as_py() or 0
    return int((pc.sum(counts).as_py() or 0) + kept)
