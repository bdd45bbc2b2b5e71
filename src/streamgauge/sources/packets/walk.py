"""Walk: where each packet lies in the bytes of a capture, found in one compiled pass.

A walk fills arrays of a fixed size and is called again until it says that it is done, so memory
follows the number of packets and not the size of the file.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from streamgauge.kernel.jit import compiled

# How a walk ended.
FULL, END, SHORT_HEADER, SHORT_PACKET, ABSURD, DESCRIPTION = range(6)

# What stands in place of an offset when a block holds no packet that can be used.
CUT, TIMELESS = -1, -2

_SECTION, _INTERFACE, _OLD_PACKET, _SIMPLE, _ENHANCED = 0x0A0D0D0A, 1, 2, 3, 6


@compiled
def u16(data: Any, at: Any, little: Any) -> Any:
    """A number of two bytes."""
    one, two = np.int64(data[at]), np.int64(data[at + 1])
    return (two << 8) | one if little else (one << 8) | two


@compiled
def u32(data: Any, at: Any, little: Any) -> Any:
    """A number of four bytes."""
    one, two = u16(data, at, little), u16(data, at + 2, little)
    return (two << 16) | one if little else (one << 16) | two


@compiled
def walk_records(data: Any, start: Any, little: Any, header: Any, most: Any, found: Any) -> Any:
    """Fill `found` (at, captured, length, seconds, fraction; a column each) from a pcap file.

    Returns how many, where to go on, and how it ended.
    """
    at, n, room = start, 0, found.shape[1]
    while n < room:
        left = len(data) - at
        if left == 0:
            return n, at, END
        if left < header:
            return n, at, SHORT_HEADER
        captured = u32(data, at + 8, little)
        if captured > most:
            return n, at, ABSURD
        if captured > left - header:
            return n, at, SHORT_PACKET
        found[0, n] = at + header
        found[1, n] = captured
        found[2, n] = u32(data, at + 12, little)
        found[3, n] = u32(data, at, little)
        found[4, n] = u32(data, at + 4, little)
        n += 1
        at += header + captured
    return n, at, FULL


@compiled
def walk_blocks(data: Any, start: Any, little: Any, found: Any) -> Any:
    """Fill `found` (at, captured, length, high, low, interface) from blocks of a pcapng file.

    It stops before a block that describes a section or an interface.
    """
    at, n, room = start, 0, found.shape[1]
    while n < room:
        left = len(data) - at
        if left == 0:
            return n, at, END
        if left < 12:
            return n, at, SHORT_HEADER
        kind, size = u32(data, at, little), u32(data, at + 4, little)
        if kind in (_SECTION, _INTERFACE):
            return n, at, DESCRIPTION
        if size < 12 or size % 4 != 0:
            return n, at, ABSURD
        if size > left:
            return n, at, SHORT_PACKET
        if u32(data, at + size - 4, little) != size:
            return n, at, ABSURD
        if kind in (_ENHANCED, _OLD_PACKET, _SIMPLE):
            _note_packet(data, at, kind, size, little, found, n)
            n += 1
        at += size
    return n, at, FULL


@compiled
def _note_packet(data: Any, at: Any, kind: Any, size: Any, little: Any, found: Any, n: Any) -> None:
    found[:, n] = 0
    head = 12 if kind == _SIMPLE else 28
    if kind == _SIMPLE or size < head + 4:
        found[0, n] = TIMELESS if kind == _SIMPLE else CUT
        return
    captured = u32(data, at + 20, little)
    found[0, n] = at + head if captured <= size - head - 4 else CUT
    found[1, n] = captured
    found[2, n] = u32(data, at + 24, little)
    found[3, n] = u32(data, at + 12, little)
    found[4, n] = u32(data, at + 16, little)
    old = kind == _OLD_PACKET
    found[5, n] = u16(data, at + 8, little) if old else u32(data, at + 8, little)
