"""Readers of captures: one row per packet, or one per flow."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamgauge.kernel.errors import BindError
from streamgauge.kernel.time import Duration, duration
from streamgauge.sources.convert import plain
from streamgauge.sources.draft import Draft, Refused, content
from streamgauge.sources.packets.capture_file import Packets, packets_of
from streamgauge.sources.packets.columns import packet_columns
from streamgauge.sources.packets.flows import IDLE, flow_columns
from streamgauge.streams.stream import Stream


def read_packets(path: str, stream: Stream) -> Draft | Refused:
    """Read a pcap or pcapng file, a row per packet.

    A packet that is whole in the file is a row; what its headers do not say, or what was not
    captured of them, is null. A file that is cut or damaged gives the packets before the damage,
    and one dead letter that says where it is.
    """
    return _read(path, stream, packet_columns, lambda packets: packets.numbers)


def read_flows(path: str, stream: Stream) -> Draft | Refused:
    """Read a pcap or pcapng file, a row per flow. Each packet is counted in one flow."""
    idle = idle_of(stream.source_dict().get("idle", IDLE))
    return _read(path, stream, lambda packets: flow_columns(packets, idle), None)


def idle_of(given: object) -> Duration:
    """How long a flow may be silent, as a source says it: a text, or microseconds.

    >>> idle_of("30 s")
    30000000
    """
    span = duration(given) if isinstance(given, str) else given
    if not isinstance(span, int) or span <= 0:
        raise BindError(
            "the idle time of flows must be positive", f"got {given!r}", "write idle='60 s'"
        )
    return span


def _read(
    path: str,
    stream: Stream,
    columns_of: Callable[[Packets], dict[str, pa.Array]],
    places_of: Callable[[Packets], NDArray[np.int64]] | None,
) -> Draft | Refused:
    data = content(path)
    if isinstance(data, Refused):
        return data
    packets = packets_of(data)
    if isinstance(packets, Refused):
        return packets
    made = columns_of(packets)
    missing = next((name for name in stream.schema.names if name not in made), None)
    if missing is not None:
        return Refused(f"column {missing!r} is not one of {', '.join(made)}")
    columns = {name: pa.chunked_array([made[name]]) for name in stream.schema.names}
    n_rows = len(made["ts"])
    places = np.arange(1, n_rows + 1) if places_of is None else places_of(packets)

    def texts(at: NDArray[np.int64]) -> list[str]:
        rows = zip(*(plain(column.take(at)) for column in columns.values()), strict=True)
        return [json.dumps(dict(zip(columns, row, strict=True)), default=str) for row in rows]

    return Draft(columns, places, texts, packets.broken, typed=True)
