"""Capture: what an interface carries, written as parquet files that a stream of files takes."""

from __future__ import annotations

import ipaddress
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from streamgauge.kernel.errors import BindError
from streamgauge.kernel.time import SECOND, Duration, Instant
from streamgauge.sources.packets.capture_file import Packets
from streamgauge.sources.packets.columns import packet_columns
from streamgauge.sources.packets.flows import IDLE, flow_columns
from streamgauge.sources.packets.rates import rate_columns
from streamgauge.sources.packets.ring import BLOCK_BYTES, Ring, packets_in

KINDS = ("packets", "flows", "rates")
PACKETS_MAX = 500_000
HEADER_BYTES = 256
POLL_SECONDS = 0.1

_DROPPED = b"streamgauge.dropped"


@dataclass(frozen=True, slots=True)
class Filter:
    """Which packets are kept: those that fit all the words of a text.

    Examples
    --------
    >>> Filter.read("tcp and port 443")
    Filter(host=None, port=443, proto='tcp')
    """

    host: str | None = None
    port: int | None = None
    proto: str | None = None

    @classmethod
    def read(cls, text: str) -> Filter:
        """Read `host ADDRESS`, `port NUMBER` and a protocol, joined by `and`."""
        found = cls()
        for part in text.split(" and ") if text.strip() else ():
            words = part.split()
            if len(words) == 1 and words[0].isalnum():
                found = replace(found, proto=words[0].lower())
            elif len(words) == 2 and words[0] == "port" and words[1].isdigit():
                found = replace(found, port=int(words[1]))
            elif len(words) == 2 and words[0] == "host":
                found = replace(found, host=_address(words[1], text))
            else:
                raise _no_filter(text, f"{part.strip()!r} is neither")
        return found

    def fitting(self, columns: dict[str, pa.Array]) -> NDArray[np.bool_]:
        """Which packets fit."""
        keep = np.ones(len(columns["ts"]), dtype=bool)
        if self.proto is not None:
            keep &= _equal(columns["proto"], self.proto)
        for value, one, other in ((self.host, "src", "dst"), (self.port, "sport", "dport")):
            if value is not None:
                keep &= _equal(columns[one], value) | _equal(columns[other], value)
        return keep


def _equal(column: pa.Array, value: str | int) -> NDArray[np.bool_]:
    same: NDArray[np.bool_] = pc.fill_null(pc.equal(column, value), False).to_numpy(
        zero_copy_only=False
    )
    return same


def _address(word: str, text: str) -> str:
    try:
        return str(ipaddress.ip_address(word))
    except ValueError:
        raise _no_filter(text, f"{word!r} is no address") from None


def _no_filter(text: str, detail: str) -> BindError:
    return BindError(
        f"cannot filter packets by {text!r}",
        f"{detail}; a filter is host ADDRESS, port NUMBER, a protocol, or some of them with and",
        "write for example 'host 10.0.0.7 and tcp and port 443'",
    )


@dataclass(frozen=True, slots=True)
class Written:
    """A file that was written: its rows, the packets they stand for, and those the kernel lost."""

    path: Path
    rows: int
    packets: int
    dropped: int


class Capture:
    """Hears a ring and writes a file for each stretch of time.

    Parameters
    ----------
    ring
        What is heard.
    directory
        Where files appear, whole.
    kind
        packets, flows or rates.
    every
        How long a file is gathered; a busy one is written sooner, at 500,000 packets.
    chosen
        Which packets are kept.
    now
        The clock that the kernel stamps packets by.
    """

    def __init__(
        self,
        ring: Ring,
        directory: Path,
        *,
        kind: str,
        every: Duration,
        chosen: Filter,
        now: Callable[[], Instant],
    ) -> None:
        self._now = now
        self._ring, self._directory, self._kind = ring, directory, kind
        self._every, self._chosen = every, chosen
        self._held: list[Packets] = []
        self._count = 0
        self._number = 0
        self._dropped = 0
        directory.mkdir(parents=True, exist_ok=True)

    def run(
        self, stop: threading.Event, *, clock: Callable[[], float] = time.monotonic
    ) -> Iterator[Written]:
        """Capture until told to stop; gives each file when it is there, the last one at the end."""
        begin = clock()
        while not stop.is_set():
            found = self._ring.packets(min(POLL_SECONDS, self._every / SECOND))
            if found is not None and len(found):
                self._held.append(_headers_only(found))
                self._count += len(found)
            due = clock() - begin >= self._every / SECOND
            if due or self._count >= PACKETS_MAX:
                begin = clock() if due else begin
                yield from self._written(last=False)
        yield from self._written(last=True)

    def _written(self, *, last: bool) -> Iterator[Written]:
        self._dropped += self._ring.counted().dropped
        packets = _joined(self._held)
        self._held, self._count = [], 0
        if self._kind == "rates" and not last:
            # A second that goes on is told when it is over, so that it is one row for each host.
            going = packets.times >= (self._now() - SECOND // 2) // SECOND * SECOND
            self._held, self._count = [_chosen(packets, going)], int(going.sum())
            packets = _chosen(packets, ~going)
        columns = packet_columns(packets)
        packets = _chosen(packets, self._chosen.fitting(columns))
        table = self._table(packets, self._dropped)
        # Drops are told with the next rows there are, or at the end without any.
        if table.num_rows or (last and self._dropped):
            yield self._write(table, len(packets), self._dropped)
            self._dropped = 0

    def _table(self, packets: Packets, dropped: int) -> pa.Table:
        if self._kind == "packets":
            return pa.table(packet_columns(packets))
        if self._kind == "flows":
            return pa.table(flow_columns(packets, IDLE))
        return pa.table(rate_columns(packets, dropped))

    def _write(self, table: pa.Table, packets: int, dropped: int) -> Written:
        path = self._directory / f"{self._kind}-{self._now():020d}-{self._number:06d}.parquet"
        self._number += 1
        partial = path.with_name(f".{path.name}.tmp")
        noted = table.replace_schema_metadata({_DROPPED: str(dropped)})
        pq.write_table(noted, partial, compression="zstd", row_group_size=max(1, table.num_rows))
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        partial.replace(path)
        return Written(path, table.num_rows, packets, dropped)


def prepare() -> None:
    """Compile what a capture needs; a ring that waits for that would run over meanwhile."""
    nothing = packets_in(np.zeros(BLOCK_BYTES, np.uint8), 1, inbound_only=False)
    packet_columns(nothing)
    flow_columns(nothing)


def _chosen(packets: Packets, which: NDArray[np.bool_]) -> Packets:
    names = ("at", "captured", "length", "times", "link", "numbers")
    return replace(packets, **{name: getattr(packets, name)[which] for name in names})


def _headers_only(packets: Packets) -> Packets:
    """Copy the first bytes of each packet, so that what is held does not grow with payloads."""
    size = np.minimum(packets.captured, HEADER_BYTES)
    at = np.concatenate([[0], np.cumsum(size)[:-1]]).astype(np.int64)
    source = np.repeat(packets.at - at, size) + np.arange(int(size.sum()))
    return replace(packets, data=packets.data[source], at=at, captured=size)


def _joined(parts: list[Packets]) -> Packets:
    base, moved = 0, []
    for part in parts:
        moved.append(part.at + base)
        base += len(part.data)
    none = np.empty(0, np.int64)
    joined = {
        name: np.concatenate([none, *(getattr(part, name) for part in parts)])
        for name in ("captured", "length", "times", "link")
    }
    at = np.concatenate([none, *moved])
    data = np.concatenate([np.empty(0, np.uint8), *(part.data for part in parts)])
    return Packets(data, at, numbers=np.arange(1, len(at) + 1), broken=[], **joined)
