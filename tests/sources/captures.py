"""Captures to read: packets made with dpkt, written as pcap and pcapng, and recorded ones."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterable
from pathlib import Path

import dpkt
import pytest

from streamgauge.sources.parse import Parsed, infer_schema, parse_file
from streamgauge.streams.stream import Stream

START = 1_769_860_000_000_000
RECORDED = Path(os.environ.get("STREAMGAUGE_DATA", Path(__file__).parents[3] / "shared" / "data"))
recorded = pytest.mark.skipif(
    not (RECORDED / "pcap").is_dir(), reason=f"no recorded captures in {RECORDED / 'pcap'}"
)

Seen = tuple[int, bytes]


def frame(inside: bytes, kind: int = dpkt.ethernet.ETH_TYPE_IP, tags: Iterable[int] = ()) -> bytes:
    """An Ethernet frame, with VLAN tags from the outermost."""
    marks = b"".join(struct.pack(">HH", 0x8100, tag) for tag in tags)
    return bytes(6) + bytes([2] * 6) + marks + struct.pack(">H", kind) + inside


def ip4(
    inside: bytes, protocol: int, src: str = "10.0.0.1", dst: str = "10.0.0.2", **more: int
) -> bytes:
    return bytes(
        dpkt.ip.IP(
            src=socket.inet_aton(src), dst=socket.inet_aton(dst), p=protocol, data=inside,
            len=20 + len(inside), ttl=more.get("ttl", 64), _flags_offset=more.get("cut", 0),
        )
    )  # fmt: skip


def ip6(inside: bytes, protocol: int, src: str = "fe80::1", dst: str = "fe80::2") -> bytes:
    head = struct.pack(">IHBB", 6 << 28, len(inside), protocol, 63)
    ends = (socket.inet_pton(socket.AF_INET6, end) for end in (src, dst))
    return head + b"".join(ends) + inside


def tcp(sport: int, dport: int, flags: int, payload: bytes = b"") -> bytes:
    head = struct.pack(">HHIIBBHHH", sport, dport, 1, 2, 5 << 4, flags, 1000, 0, 0)
    return head + payload


def udp(sport: int, dport: int, payload: bytes = b"") -> bytes:
    return struct.pack(">HHHH", sport, dport, 8 + len(payload), 0) + payload


def pcap(
    seen: Iterable[Seen], *, order: str = "<", nano: bool = False, link: int = 1, snap: int = 65535
) -> bytes:
    """A pcap file of packets (microseconds, bytes)."""
    magic, parts = (0xA1B23C4D, 1_000) if nano else (0xA1B2C3D4, 1)
    out = [struct.pack(f"{order}IHHIIII", magic, 2, 4, 0, 0, snap, link)]
    for time, data in seen:
        kept = data[:snap]
        second, rest = divmod(time, 1_000_000)
        out.append(struct.pack(f"{order}IIII", second, rest * parts, len(kept), len(data)) + kept)
    return b"".join(out)


def block(kind: int, body: bytes, order: str = "<") -> bytes:
    body += bytes(-len(body) % 4)
    size = struct.pack(f"{order}I", len(body) + 12)
    return struct.pack(f"{order}I", kind) + size + body + size


def section(order: str = "<") -> bytes:
    return block(0x0A0D0D0A, struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1), order)


def interface(order: str = "<", *, link: int = 1, resolution: int | None = None) -> bytes:
    options = b""
    if resolution is not None:
        options = struct.pack(f"{order}HHBxxx", 9, 1, resolution) + bytes(4)
    return block(1, struct.pack(f"{order}HHI", link, 0, 0) + options, order)


def enhanced(stamp: int, data: bytes, order: str = "<", face: int = 0) -> bytes:
    head = struct.pack(f"{order}IIIII", face, stamp >> 32, stamp & 0xFFFFFFFF, len(data), len(data))
    return block(6, head + data, order)


def stream(format: str, **options: object) -> Stream:
    source = {"kind": "files", "path": "data", "format": format, **options}
    schema = infer_schema("data", format)
    return Stream("s", schema, "ts", (), tuple(source.items()), future=None)


def parsed(
    folder: Path, content: bytes, format: str = "pcap", name: str = "c.pcap", **options: object
) -> Parsed:
    path = folder / name
    path.write_bytes(content)
    return parse_file(str(path), stream(format, **options), arrived=0)
