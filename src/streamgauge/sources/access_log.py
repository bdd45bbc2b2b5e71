"""Access logs of web servers: the common and the combined format of Apache, which nginx has too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamgauge.kernel.jit import compiled
from streamgauge.sources import access_log_scan as scanned
from streamgauge.sources.draft import Draft, Refused, content
from streamgauge.sources.lines import NOT_TEXT, Lines
from streamgauge.streams.schema import TYPES, Schema
from streamgauge.streams.stream import Stream

ACCESS_LOG = Schema.of(
    ts="time", host="string", user="string", method="string", path="string", protocol="string",
    status="int", bytes="int", referer="string", agent="string",
)  # fmt: skip

_TEXTS = {
    "host": scanned.HOST, "user": scanned.USER, "method": scanned.METHOD, "path": scanned.PATH,
    "protocol": scanned.PROTOCOL, "referer": scanned.REFERER, "agent": scanned.AGENT,
}  # fmt: skip
_NUMBERS = {"ts": scanned.TS, "status": scanned.STATUS, "bytes": scanned.BYTES}
_REASONS = {
    scanned.NO_TIME: "a line is: host, identity, user and a time in brackets; these are not there",
    scanned.BAD_TIME: "the time is not like [10/Oct/2000:13:55:36 -0700]",
    scanned.NO_REQUEST: "no request in quotes follows the time",
    scanned.BAD_STATUS: "no status of three digits follows the request",
    scanned.BAD_BYTES: "no count of bytes, nor -, follows the status",
    scanned.BAD_REST: "referer and agent are not two texts in quotes",
}


def read_access_log(path: str, stream: Stream) -> Draft | Refused:
    """Read an access log, a row per request; a line of another shape is broken.

    `-` is null, but for bytes, where it means none. A request that is not method, path and
    protocol is kept as its path. Escapes stay as they are written.
    """
    data = content(path)
    if isinstance(data, Refused):
        return data
    missing = next((n for n in stream.schema.names if n not in ACCESS_LOG.names), None)
    if missing is not None:
        return Refused(f"column {missing!r} is not one of {', '.join(ACCESS_LOG.names)}")
    every = Lines.of(data)
    strange = every.undecodable()
    lines = every.without(strange)
    signs = np.frombuffer(lines.data, np.uint8)
    texts, numbers, faults = scanned.scan(signs, lines.starts, lines.stops)
    rows = np.flatnonzero(faults == scanned.FINE)
    columns = {}
    for name in stream.schema.names:
        if name in _TEXTS:
            columns[name] = _text_column(signs, texts[_TEXTS[name]][rows])
        else:
            column = pa.array(numbers[_NUMBERS[name]][rows])
            columns[name] = column.cast(TYPES["time"]) if name == "ts" else column
    broken = every.entries(strange, NOT_TEXT)
    for at in np.flatnonzero(faults != scanned.FINE).tolist():
        broken.append((int(lines.numbers[at]), _REASONS[int(faults[at])], lines.text(at)))

    def shown(at: NDArray[np.int64]) -> list[str]:
        return [lines.text(int(line)) for line in rows[at]]

    chunked = {name: pa.chunked_array([column]) for name, column in columns.items()}
    return Draft(chunked, lines.numbers[rows], shown, broken)


def _text_column(data: NDArray[np.uint8], places: NDArray[np.int64]) -> pa.Array:
    """Texts at some places, as one column; a start of -1 is a null."""
    valid = places[:, 0] >= 0
    offsets = np.zeros(len(places) + 1, dtype=np.int64)
    np.cumsum(places[:, 1] - places[:, 0], out=offsets[1:])
    values = np.empty(int(offsets[-1]), dtype=np.uint8)
    _copy(data, places, offsets, values)
    bitmap = np.packbits(valid, bitorder="little")
    buffers = [pa.py_buffer(bitmap), pa.py_buffer(offsets), pa.py_buffer(values)]
    return pa.Array.from_buffers(pa.large_string(), len(places), buffers).cast(pa.string())


@compiled
def _copy(data: Any, places: Any, offsets: Any, values: Any) -> None:
    for n in range(len(places)):
        at = places[n, 0]
        for k in range(offsets[n + 1] - offsets[n]):
            values[offsets[n] + k] = data[at + k]
