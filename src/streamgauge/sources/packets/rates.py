"""Rates: what each host sent and received in each second."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamgauge.kernel.time import SECOND
from streamgauge.sources.packets.capture_file import Packets
from streamgauge.sources.packets.columns import addresses
from streamgauge.sources.packets.headers import read_headers
from streamgauge.streams.schema import TYPES, Schema

RATES = Schema.of(
    ts="time", host="string", sent_packets="int", sent_bytes="int", received_packets="int",
    received_bytes="int", dropped="int",
)  # fmt: skip


def rate_columns(packets: Packets, dropped: int = 0) -> dict[str, pa.Array]:
    """Columns of rates, by second and host; packets without an address are of the host null.

    `dropped` is what the kernel lost meanwhile. Nobody knows whose packets these were: they stand
    on the last row, so that their sum is right.
    """
    _, ends = read_headers(packets.data, packets.at, packets.captured, packets.length, packets.link)
    src, dst = addresses(ends)
    hosts = pa.chunked_array([src, dst]).combine_chunks().dictionary_encode(null_encoding="encode")
    codes = hosts.indices.to_numpy().astype(np.int64)
    seconds = np.tile(packets.times // SECOND, 2)
    order = np.unique(np.stack([seconds, codes]), axis=1, return_inverse=True)
    (second, code), inverse = order[0], order[1].reshape(-1)
    n, half = len(second), len(packets)
    weights = packets.length.astype(np.float64)
    sums = [
        _counted(np.bincount(part, weight, n))
        for part in (inverse[:half], inverse[half:])
        for weight in (None, weights)
    ]
    lost = np.zeros(n, dtype=np.int64)
    if n:
        lost[-1] = dropped
    columns = dict(zip(RATES.names[2:6], sums, strict=True))
    return {
        "ts": pa.array(second * SECOND).cast(TYPES["time"]),
        "host": hosts.dictionary.take(pa.array(code)),
        **columns,
        "dropped": pa.array(lost),
    }


def _counted(sums: NDArray[Any]) -> pa.Array:
    return pa.array(sums.astype(np.int64))
