"""Columns of packets: the names that people know them by, from what headers say."""

from __future__ import annotations

import socket
from collections.abc import Callable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamgauge.sources.packets import headers
from streamgauge.sources.packets.capture_file import Packets
from streamgauge.sources.packets.headers import END_BYTES, OTHER, read_headers
from streamgauge.streams.schema import TYPES, Schema

PACKETS = Schema.of(
    ts="time", src="string", dst="string", proto="string", sport="int", dport="int",
    length="int", payload="int", flags="string", ttl="int", vlan="int", ip_version="int",
    fragment="bool",
)  # fmt: skip

_PROTOCOLS = {
    0: "hopopt", 1: "icmp", 2: "igmp", 4: "ipip", 6: "tcp", 17: "udp", 33: "dccp", 41: "ipv6",
    46: "rsvp", 47: "gre", 50: "esp", 51: "ah", 58: "icmp6", 59: "none", 88: "eigrp", 89: "ospf",
    103: "pim", 112: "vrrp", 132: "sctp", 136: "udplite",
}  # fmt: skip
_ETHER_TYPES = {
    0: "llc", 0x0806: "arp", 0x0842: "wol", 0x8035: "rarp", 0x8100: "vlan", 0x8847: "mpls",
    0x8863: "pppoe", 0x8864: "ppp", 0x888E: "eapol", 0x88CC: "lldp", 0x88F7: "ptp", 0x9000: "loop",
}  # fmt: skip
_FLAG_LETTERS = "FSRPAUEC"


def packet_columns(packets: Packets) -> dict[str, pa.Array]:
    """All columns of packets, by name."""
    fields, ends = read_headers(
        packets.data, packets.at, packets.captured, packets.length, packets.link
    )
    src, dst = addresses(ends)
    return {
        "ts": pa.array(packets.times).cast(TYPES["time"]),
        "src": src,
        "dst": dst,
        "proto": protocol_names(fields[headers.PROTOCOL]),
        "sport": numbers(fields[headers.SPORT]),
        "dport": numbers(fields[headers.DPORT]),
        "length": pa.array(packets.length),
        "payload": numbers(fields[headers.PAYLOAD]),
        "flags": flag_names(fields[headers.FLAGS]),
        "ttl": numbers(fields[headers.TTL]),
        "vlan": numbers(fields[headers.VLAN]),
        "ip_version": numbers(fields[headers.VERSION]),
        "fragment": pa.array(fields[headers.FRAGMENT] == 1),
    }


def numbers(values: NDArray[np.int64]) -> pa.Array:
    """Whole numbers, -1 as null."""
    return pa.array(values, mask=values < 0)


def addresses(ends: NDArray[np.uint8]) -> tuple[pa.Array, pa.Array]:
    """Both ends of packets as text; each different address is written once."""
    flat = np.ascontiguousarray(ends.reshape(-1, END_BYTES))
    fixed = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(END_BYTES), len(flat), [None, pa.py_buffer(flat)]
    )
    coded = fixed.dictionary_encode()
    words = pa.array([_address(end) for end in coded.dictionary.to_pylist()], pa.string())
    codes = coded.indices.to_numpy().reshape(-1, 2)
    src, dst = (words.take(pa.array(codes[:, side].copy())) for side in (0, 1))
    return src, dst


def _address(end: bytes) -> str | None:
    if end[0] == 0:
        return None
    if end[0] == 4:
        return socket.inet_ntop(socket.AF_INET, end[1:5])
    return socket.inet_ntop(socket.AF_INET6, end[1:])


def protocol_names(values: NDArray[np.int64]) -> pa.Array:
    """Protocols by their names; those without one by their number."""
    return _named(values, _protocol)


def flag_names(values: NDArray[np.int64]) -> pa.Array:
    """Flags of TCP as letters in the order of their bits: SYN with ACK is SA."""
    return _named(values, _flags)


def _named(values: NDArray[np.int64], name: Callable[[int], str]) -> pa.Array:
    different, codes = np.unique(values, return_inverse=True)
    words = [None if value < 0 else name(value) for value in different.tolist()]
    return pa.array(words, pa.string()).take(pa.array(codes))


def _protocol(number: int) -> str:
    if number < OTHER:
        return _PROTOCOLS.get(number, f"ip-{number}")
    kind = number - OTHER
    return _ETHER_TYPES.get(kind, f"ether-{kind:04x}")


def _flags(bits: int) -> str:
    return "".join(letter for k, letter in enumerate(_FLAG_LETTERS) if bits >> k & 1)
