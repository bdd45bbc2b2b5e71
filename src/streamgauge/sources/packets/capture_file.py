"""Capture files: pcap and pcapng, of both byte orders, as packets that headers can be read from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamgauge.kernel.time import SECOND
from streamgauge.sources.draft import Refused
from streamgauge.sources.packets.headers import LINKS
from streamgauge.sources.packets.walk import (
    ABSURD,
    CUT,
    DESCRIPTION,
    END,
    FULL,
    SHORT_HEADER,
    SHORT_PACKET,
    TIMELESS,
    walk_blocks,
    walk_records,
)

Ints = NDArray[np.int64]

CHUNK_PACKETS = 1 << 16
CAPTURED_MAX = 1 << 18

_PCAP_HEADER = 24
# Magic of a pcap file in the order of its writer: parts of a second, bytes of a record header.
_MAGICS = {
    0xA1B2C3D4: (1_000_000, 16),
    0xA1B23C4D: (1_000_000_000, 16),
    0xA1B2CD34: (1_000_000, 24),
}
_SECTION = b"\x0a\x0d\x0d\x0a"
_ORDER = 0x1A2B3C4D
_IF_TSRESOL, _IF_TSOFFSET = 9, 14
# A second beyond every calendar, in microseconds that still fit.
_SECONDS_MAX = 1 << 42
_FAULTS = {
    SHORT_HEADER: "the file ends inside the header of a packet",
    SHORT_PACKET: "the file ends inside a packet",
    ABSURD: "the header of a packet has a length that cannot be; what follows is not read",
}


@dataclass(frozen=True)
class Packets:
    """Packets of a capture, a place each in its bytes.

    Parameters
    ----------
    data
        Bytes of the capture.
    at, captured, length
        Where each packet begins, how many of its bytes are there, how many it had on the wire.
    times
        When it was seen, in microseconds since 1970.
    link
        Link type, by the numbers of the capture formats.
    numbers
        Number of each packet in its file, from 1.
    broken
        What could not be read: (number, reason, text).
    """

    data: NDArray[np.uint8]
    at: Ints
    captured: Ints
    length: Ints
    times: Ints
    link: Ints
    numbers: Ints
    broken: list[tuple[int, str, str]]

    def __len__(self) -> int:
        return len(self.at)


def packets_of(content: bytes) -> Packets | Refused:
    r"""Find the packets of a pcap or pcapng file.

    >>> refused = packets_of(b"GET / HTTP/1.0\r\n")
    >>> refused.reason[:40]
    'not a capture: it begins with 47455420, '
    """
    if content[:4] == _SECTION:
        return _Blocks(content).packets()
    for little in (True, False):
        magic = int.from_bytes(content[:4], "little" if little else "big")
        if magic in _MAGICS:
            return _records(content, little, *_MAGICS[magic])
    if not content:
        return Refused("not a capture: the file is empty")
    start = content[:4].hex()
    return Refused(f"not a capture: it begins with {start}, which no pcap or pcapng file does")


def _records(content: bytes, little: bool, parts: int, header: int) -> Packets | Refused:
    if len(content) < _PCAP_HEADER:
        return Refused(f"the file ends inside its header, after {len(content)} of 24 bytes")
    order = "little" if little else "big"
    most = max(CAPTURED_MAX, int.from_bytes(content[16:20], order))  # type: ignore[arg-type]
    # The upper bits say how long a checksum at the end of frames is.
    link = int.from_bytes(content[20:24], order) & 0xFFFF  # type: ignore[arg-type]
    if link not in LINKS:
        return Refused(_unread_link(link))
    data = np.frombuffer(content, np.uint8)
    walk = _Walk(5, lambda at, room: walk_records(data, at, little, header, most, room))
    state = walk.go(_PCAP_HEADER)
    at, captured, length, seconds, fraction = walk.found()
    numbers = np.arange(1, len(at) + 1)
    times = seconds * SECOND + fraction * SECOND // parts
    broken = _fault(state, walk.at, len(at), content)
    return Packets(data, at, captured, length, times, np.full(len(at), link), numbers, broken)


def _fault(state: int, at: int, seen: int, content: bytes) -> list[tuple[int, str, str]]:
    if state not in _FAULTS:
        return []
    left = len(content) - at
    reason = f"{_FAULTS[state]} (byte {at}, {left} bytes are left)"
    return [(seen + 1, reason, content[at : at + 64].hex())]


def _unread_link(link: int) -> str:
    known = ", ".join(f"{number} {name}" for number, name in LINKS.items())
    return f"link type {link} is not read; those that are: {known}"


class _Walk:
    """Calls a walk until it ends; keeps what it found."""

    def __init__(self, columns: int, step: Callable[[int, Ints], tuple[int, int, int]]) -> None:
        self._step = step
        self._columns = columns
        self._chunks: list[Ints] = []
        self.at = 0

    def go(self, start: int) -> int:
        """Walk on from a place; says how it ended."""
        state, self.at = FULL, start
        while state == FULL:
            room = np.empty((self._columns, CHUNK_PACKETS), dtype=np.int64)
            n, self.at, state = self._step(self.at, room)
            self._chunks.append(room[:, :n].copy() if n < CHUNK_PACKETS else room)
        return state

    def found(self) -> Ints:
        """Everything found, a row for each column."""
        empty = np.empty((self._columns, 0), dtype=np.int64)
        found: Ints = np.concatenate([empty, *self._chunks], axis=1)
        return found


@dataclass(frozen=True)
class _Interface:
    """Link type of an interface, and how its clock counts: parts of a second, and an offset."""

    link: int
    binary: bool
    exponent: int
    offset: int

    def micros(self, high: Ints, low: Ints) -> Ints:
        """Times in microseconds; those beyond every calendar are cut there."""
        stamp = (high.astype(np.uint64) << np.uint64(32)) | low.astype(np.uint64)
        parts = np.uint64(2**self.exponent if self.binary else 10**self.exponent)
        seconds = np.minimum(stamp // parts, np.uint64(_SECONDS_MAX)).astype(np.int64)
        rest = stamp % parts
        if int(parts) >= 1 << 43:
            coarser = np.uint64(int(parts) >> 40)
            rest, parts = rest // coarser, parts // coarser
        fraction = (rest * np.uint64(SECOND) // parts).astype(np.int64)
        offset = max(-_SECONDS_MAX, min(_SECONDS_MAX, self.offset))
        micros: Ints = (seconds + offset) * SECOND + fraction
        return micros


class _Blocks:
    """A pcapng file: sections, each with its byte order and its interfaces."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._data = np.frombuffer(content, np.uint8)
        self._little = True
        self._interfaces: list[_Interface | str] = []
        self._first = 0
        self._parts: list[Packets] = []
        self._broken: list[tuple[int, str, str]] = []

    def packets(self) -> Packets | Refused:
        """Walk the whole file."""
        at, state = 0, DESCRIPTION
        while state == DESCRIPTION:
            stop = self._describe(at)
            if stop is None:
                state = ABSURD
                break
            walk = _Walk(6, lambda start, room: walk_blocks(self._data, start, self._little, room))
            state, at = walk.go(stop), walk.at
            self._take(walk.found())
        if state != END:
            self._broken += _fault(state, at, self._first, self._content)
        if not self._parts and not self._interfaces:
            return Refused("a pcapng file whose first section cannot be read")
        return self._joined()

    def _joined(self) -> Packets:
        columns = {
            name: np.concatenate([np.empty(0, np.int64), *(getattr(p, name) for p in self._parts)])
            for name in ("at", "captured", "length", "times", "link", "numbers")
        }
        return Packets(data=self._data, broken=self._broken, **columns)

    def _number(self, at: int, size: int) -> int:
        order = "little" if self._little else "big"
        return int.from_bytes(self._content[at : at + size], order)  # type: ignore[arg-type]

    def _describe(self, at: int) -> int | None:
        """Take in a block that describes a section or an interface; gives where it ends."""
        content = self._content
        section = content[at : at + 4] == _SECTION
        if section:
            little = int.from_bytes(content[at + 8 : at + 12], "little") == _ORDER
            if not little and int.from_bytes(content[at + 8 : at + 12], "big") != _ORDER:
                return None
            self._little = little
            self._interfaces = []
        size = self._number(at + 4, 4)
        least = 28 if section else 20
        if size < least or size % 4 or at + size > len(content):
            return None
        if not section:
            self._interfaces.append(self._interface(at, size))
        return at + size

    def _interface(self, at: int, size: int) -> _Interface | str:
        link, place, stop = self._number(at + 8, 2), at + 16, at + size - 4
        resolution, offset = 6, 0
        while place + 4 <= stop:
            code, length = self._number(place, 2), self._number(place + 2, 2)
            if code == 0 or place + 4 + length > stop:
                break
            if code == _IF_TSRESOL and length == 1:
                resolution = self._content[place + 4]
            elif code == _IF_TSOFFSET and length == 8:
                offset = self._number(place + 4, 8)
                offset -= (offset >> 63) << 64
            place += 4 + (length + 3) // 4 * 4
        if link not in LINKS:
            return _unread_link(link)
        binary, exponent = bool(resolution & 0x80), resolution & 0x7F
        if exponent > (63 if binary else 19):
            return f"its clock counts in parts of a second that are too small ({resolution:#x})"
        return _Interface(link, binary, exponent, offset)

    def _take(self, found: Ints) -> None:
        numbers = np.arange(1, found.shape[1] + 1) + self._first
        self._first += found.shape[1]
        self._lose(found[0] == CUT, numbers, "a packet is longer than its block")
        self._lose(found[0] == TIMELESS, numbers, "a simple packet block has no time")
        whole = found[0] >= 0
        for number in np.unique(found[5][whole]).tolist():
            mine = whole & (found[5] == number)
            known = number < len(self._interfaces)
            face = self._interfaces[number] if known else "its interface is not described"
            if isinstance(face, str):
                self._lose_all(mine, numbers, f"interface {number}: {face}")
                whole &= ~mine
        self._keep(found[:, whole], numbers[whole])

    def _keep(self, found: Ints, numbers: Ints) -> None:
        at, captured, length, high, low, faces = found
        times, links = np.zeros(len(at), np.int64), np.zeros(len(at), np.int64)
        for number in np.unique(faces).tolist():
            face = self._interfaces[number]
            assert isinstance(face, _Interface), "others were left out before"
            mine = faces == number
            times[mine] = face.micros(high[mine], low[mine])
            links[mine] = face.link
        self._parts.append(Packets(self._data, at, captured, length, times, links, numbers, []))

    def _lose(self, which: NDArray[np.bool_], numbers: Ints, reason: str) -> None:
        self._broken += [(number, reason, "") for number in numbers[which].tolist()]

    def _lose_all(self, which: NDArray[np.bool_], numbers: Ints, reason: str) -> None:
        """One entry for all packets of an interface: they share the reason and are many."""
        count = int(which.sum())
        self._broken.append((int(numbers[which][0]), f"{count} packets are left out: {reason}", ""))
