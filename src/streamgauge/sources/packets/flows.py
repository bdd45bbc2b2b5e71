"""Flows: the packets of one conversation as one row.

A flow is what two ends say to each other by one protocol and one pair of ports, in both
directions. `src` is the end that was heard first. A flow ends when nothing is heard for the idle
time, or when TCP closed it (FIN or RST) and opens it anew (SYN). A file is a world of its own: what
is still going on at its end is cut there, and the next file begins a flow again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamgauge.kernel.jit import compiled
from streamgauge.kernel.time import MINUTE, SECOND, Duration
from streamgauge.sources.packets import headers
from streamgauge.sources.packets.capture_file import Packets
from streamgauge.sources.packets.columns import addresses, flag_names, numbers, protocol_names
from streamgauge.sources.packets.headers import END_BYTES, read_headers
from streamgauge.streams.schema import TYPES, Schema

Ints = NDArray[np.int64]

IDLE: Duration = MINUTE
FLOWS = Schema.of(
    ts="time", start="time", seconds="float", src="string", dst="string", proto="string",
    sport="int", dport="int", packets="int", bytes="int", flags="string", back_packets="int",
    back_bytes="int", back_flags="string", ended="string",
)  # fmt: skip

_ENDINGS = ("file", "idle", "fin", "rst")
_FILE, _IDLE_END, _FIN_END, _RST_END = range(4)
_FIN, _SYN, _RST = 1, 2, 4

# Rows of what is gathered for a flow.
_FIRST, _START, _LAST, _PACKETS, _BYTES, _FLAGS, _BACK = 0, 1, 2, 3, 4, 5, 3
_ENDED, _N_GATHERED = 9, 10


def flow_columns(packets: Packets, idle: Duration = IDLE) -> dict[str, pa.Array]:
    """All columns of flows, by name; rows by the time of their last packet."""
    fields, ends = read_headers(
        packets.data, packets.at, packets.captured, packets.length, packets.link
    )
    conversation, turned = _conversations(fields, ends)
    order = np.argsort(conversation, kind="stable")
    gathered = np.zeros((_N_GATHERED, len(order)), dtype=np.int64)
    final = int(packets.times.max()) if len(order) else 0
    n = _gather(
        order, conversation, turned, packets.times, packets.length, fields[headers.FLAGS],
        idle, final, gathered,
    )  # fmt: skip
    gathered = gathered[:, :n]
    gathered = gathered[:, np.lexsort((gathered[_FIRST], gathered[_LAST]))]
    return _columns(gathered, fields, ends)


def _conversations(
    fields: Ints, ends: NDArray[np.uint8]
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Number the conversations, and say which packets go from the larger end to the smaller."""
    n = len(ends)
    sides = np.zeros((2, n, END_BYTES + 2), dtype=np.uint8)
    for side, port in enumerate((headers.SPORT, headers.DPORT)):
        sides[side, :, :END_BYTES] = ends[:, side]
        sides[side, :, END_BYTES:] = fields[port].astype(">u2").view(np.uint8).reshape(n, 2)
    turned = _larger(sides[0], sides[1])
    low, high = np.where(turned[:, None], sides[1], sides[0]), np.where(turned[:, None], *sides)
    ported = (fields[headers.SPORT] >= 0).astype(np.uint8)[:, None]
    protocol = fields[headers.PROTOCOL].astype(">i4").view(np.uint8).reshape(n, 4)
    keys = np.ascontiguousarray(np.concatenate([low, high, protocol, ported], axis=1))
    fixed = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(keys.shape[1]), n, [None, pa.py_buffer(keys)]
    )
    return fixed.dictionary_encode().indices.to_numpy(), turned


@compiled
def _larger(one: Any, other: Any) -> Any:
    larger = np.zeros(len(one), dtype=np.bool_)
    for n in range(len(one)):
        for k in range(one.shape[1]):
            if one[n, k] != other[n, k]:
                larger[n] = one[n, k] > other[n, k]
                break
    return larger


@compiled
def _gather(
    order: Any, conversation: Any, turned: Any, times: Any, length: Any, flags: Any,
    idle: Any, final: Any, out: Any,
) -> Any:  # fmt: skip
    """Fold packets, sorted by conversation and then as they came, into flows; says how many."""
    n, closed = -1, 0
    for k in range(len(order)):
        at = order[k]
        bits = flags[at] if flags[at] > 0 else 0
        same = k > 0 and conversation[at] == conversation[order[k - 1]]
        silent = same and times[at] - out[_LAST, n] > idle
        anew = same and closed != 0 and bits & _SYN != 0
        if not same or silent or anew:
            if n >= 0:
                gone = silent or (not same and final - out[_LAST, n] > idle)
                out[_ENDED, n] = closed if closed else (_IDLE_END if gone else _FILE)
            n, closed = n + 1, 0
            out[_FIRST, n] = at
            out[_START, n] = out[_LAST, n] = times[at]
        out[_START, n] = min(out[_START, n], times[at])
        out[_LAST, n] = max(out[_LAST, n], times[at])
        back = _BACK if turned[at] != turned[out[_FIRST, n]] else 0
        out[_PACKETS + back, n] += 1
        out[_BYTES + back, n] += length[at]
        out[_FLAGS + back, n] |= bits
        if bits & _RST:
            closed = _RST_END
        elif bits & _FIN and closed == 0:
            closed = _FIN_END
    if n >= 0:
        gone = final - out[_LAST, n] > idle
        out[_ENDED, n] = closed if closed else (_IDLE_END if gone else _FILE)
    return n + 1


def _columns(gathered: Ints, fields: Ints, ends: NDArray[np.uint8]) -> dict[str, pa.Array]:
    first = gathered[_FIRST]
    src, dst = addresses(ends[first])
    tcp = fields[headers.PROTOCOL][first] == 6
    endings = pa.array(_ENDINGS, pa.string())
    span = gathered[_LAST] - gathered[_START]
    back = [gathered[row + _BACK] for row in (_PACKETS, _BYTES, _FLAGS)]
    return {
        "ts": pa.array(gathered[_LAST]).cast(TYPES["time"]),
        "start": pa.array(gathered[_START]).cast(TYPES["time"]),
        "seconds": pa.array(span / SECOND),
        "src": src,
        "dst": dst,
        "proto": protocol_names(fields[headers.PROTOCOL][first]),
        "sport": numbers(fields[headers.SPORT][first]),
        "dport": numbers(fields[headers.DPORT][first]),
        "packets": pa.array(gathered[_PACKETS]),
        "bytes": pa.array(gathered[_BYTES]),
        "flags": flag_names(np.where(tcp, gathered[_FLAGS], -1)),
        "back_packets": pa.array(back[0]),
        "back_bytes": pa.array(back[1]),
        "back_flags": flag_names(np.where(tcp, back[2], -1)),
        "ended": endings.take(pa.array(gathered[_ENDED])),
    }
