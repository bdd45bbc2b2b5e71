"""Headers: addresses, ports and flags of packets, read in one compiled pass.

Every read is held against the bytes that were captured. A field that the capture does not hold,
or that the packet does not have, is -1 and becomes a null.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamgauge.kernel.jit import compiled

LINKS = {
    0: "BSD loopback", 1: "Ethernet", 9: "PPP", 12: "raw IP", 14: "raw IP", 101: "raw IP",
    108: "OpenBSD loopback", 113: "Linux cooked", 228: "IPv4", 229: "IPv6", 276: "Linux cooked 2",
}  # fmt: skip

# Rows of what is read. PROTOCOL is a number of IP, or OTHER and an Ethernet type.
PROTOCOL, VERSION, SPORT, DPORT, PAYLOAD, FLAGS, TTL, VLAN, FRAGMENT = range(9)
N_FIELDS = 9
OTHER = 1 << 16
# Of an address: 4 or 6, or 0 where there is none, and sixteen bytes.
END_BYTES = 17

_IP4, _IP6, _ARP, _PPPOE, _MPLS = 0x0800, 0x86DD, 0x0806, 0x8864, 0x8847
_TAGS_MAX, _EXTENSIONS_MAX = 8, 16
_TCP, _UDP, _ICMP, _ICMP6, _SCTP, _DCCP, _LITE = 6, 17, 1, 58, 132, 33, 136


def read_headers(
    data: NDArray[np.uint8],
    at: NDArray[np.int64],
    captured: NDArray[np.int64],
    length: NDArray[np.int64],
    link: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Fields of packets (a row each of the names above), and their two ends.

    >>> arp = np.zeros(42, dtype=np.uint8)
    >>> arp[12:14] = 8, 6
    >>> where = np.array([0]), np.array([42]), np.array([42]), np.array([1])
    >>> fields, _ = read_headers(arp, *where)
    >>> hex(int(fields[PROTOCOL, 0])), int(fields[SPORT, 0])
    ('0x10806', -1)
    """
    fields = np.full((N_FIELDS, len(at)), -1, dtype=np.int64)
    fields[FRAGMENT] = 0
    ends = np.zeros((len(at), 2, END_BYTES), dtype=np.uint8)
    _read(data, at, captured, length, link, fields, ends)
    return fields, ends


@compiled
def _read(
    data: Any, at: Any, captured: Any, length: Any, link: Any, fields: Any, ends: Any
) -> None:
    for n in range(len(at)):
        stop = at[n] + captured[n]
        kind, place, vlan = _ether_type(data, at[n], stop, link[n])
        fields[VLAN, n] = vlan
        if kind < 0:
            continue
        # Bytes that the packet had from here on; more than were captured when it was cut.
        left = length[n] - (place - at[n])
        if kind == _IP4:
            _read_ip4(data, place, stop, left, fields, ends, n)
        elif kind == _IP6:
            _read_ip6(data, place, stop, left, fields, ends, n)
        else:
            fields[PROTOCOL, n] = OTHER | kind
            if kind == _ARP:
                _read_arp(data, place, stop, ends, n)


@compiled
def _two(data: Any, at: Any) -> Any:
    return (np.int64(data[at]) << 8) | np.int64(data[at + 1])


@compiled
def _ether_type(data: Any, at: Any, stop: Any, link: Any) -> Any:
    """What a frame carries, where that begins, and its outermost VLAN; -1 for what is not there."""
    if link == 1:
        return _in_ethernet(data, at + 12, stop)
    if link == 113:
        return _in_ethernet(data, at + 14, stop)
    if link == 276:
        if stop - at < 20:
            return -1, at, -1
        kind, place, vlan = _in_ethernet(data, at, stop)
        # The type stands first here, and the rest of the header behind it.
        return (kind, at + 20, vlan) if place == at + 2 else (-1, at, vlan)
    if link in (0, 108):
        return _in_loopback(data, at, stop)
    if link == 9:
        place = at + 2 if stop - at >= 4 and data[at] == 0xFF and data[at + 1] == 3 else at
        return _in_ppp(data, place, stop, -1)
    return _by_version(data, at, stop, -1)


@compiled
def _in_ethernet(data: Any, at: Any, stop: Any) -> Any:
    vlan = -1
    for _ in range(_TAGS_MAX):
        if stop - at < 2:
            return -1, at, vlan
        kind = _two(data, at)
        if kind not in (0x8100, 0x88A8, 0x9100):
            break
        if stop - at < 4:
            return -1, at, vlan
        if vlan < 0:
            vlan = _two(data, at + 2) & 0x0FFF
        at += 4
    if kind == _PPPOE and stop - at >= 8:
        return _in_ppp(data, at + 8, stop, vlan)
    if kind == _MPLS:
        return _in_mpls(data, at + 2, stop, vlan)
    if kind < 1536:
        return _in_llc(data, at + 2, stop, vlan)
    return kind, at + 2, vlan


@compiled
def _in_llc(data: Any, at: Any, stop: Any, vlan: Any) -> Any:
    """A frame with a length instead of a type; some name a type behind it after all."""
    if stop - at >= 8 and data[at] == 0xAA and data[at + 1] == 0xAA and data[at + 2] == 3:
        return _two(data, at + 6), at + 8, vlan
    return 0, at, vlan


@compiled
def _in_mpls(data: Any, at: Any, stop: Any, vlan: Any) -> Any:
    while stop - at >= 4:
        last = data[at + 2] & 1
        at += 4
        if last:
            return _by_version(data, at, stop, vlan)
    return _MPLS, at, vlan


@compiled
def _in_ppp(data: Any, at: Any, stop: Any, vlan: Any) -> Any:
    if stop - at < 2:
        return -1, at, vlan
    kind = _two(data, at)
    if kind == 0x0021:
        return _IP4, at + 2, vlan
    if kind == 0x0057:
        return _IP6, at + 2, vlan
    return _PPPOE, at + 2, vlan


@compiled
def _in_loopback(data: Any, at: Any, stop: Any) -> Any:
    """Four bytes of address family, in the byte order of whoever captured."""
    if stop - at < 4:
        return -1, at, -1
    family = np.int64(data[at]) | np.int64(data[at + 3])
    if family == 2:
        return _IP4, at + 4, -1
    if family in (10, 24, 28, 30):
        return _IP6, at + 4, -1
    return -1, at, -1


@compiled
def _by_version(data: Any, at: Any, stop: Any, vlan: Any) -> Any:
    if stop > at and data[at] >> 4 == 4:
        return _IP4, at, vlan
    if stop > at and data[at] >> 4 == 6:
        return _IP6, at, vlan
    return -1, at, vlan


@compiled
def _set_end(data: Any, at: Any, size: Any, ends: Any, n: Any, side: Any) -> None:
    ends[n, side, 0] = 4 if size == 4 else 6
    for k in range(size):
        ends[n, side, 1 + k] = data[at + k]


@compiled
def _read_arp(data: Any, at: Any, stop: Any, ends: Any, n: Any) -> None:
    if stop - at < 8 or _two(data, at + 2) != _IP4 or data[at + 5] != 4:
        return
    width = np.int64(data[at + 4])
    if stop - at < 8 + 2 * width + 8:
        return
    _set_end(data, at + 8 + width, 4, ends, n, 0)
    _set_end(data, at + 8 + 2 * width + 4, 4, ends, n, 1)


@compiled
def _read_ip4(data: Any, at: Any, stop: Any, left: Any, fields: Any, ends: Any, n: Any) -> None:
    if stop - at < 20 or data[at] >> 4 != 4:
        return
    head = (np.int64(data[at]) & 15) * 4
    if head < 20:
        return
    fields[VERSION, n] = 4
    fields[TTL, n] = data[at + 8]
    fields[PROTOCOL, n] = data[at + 9]
    _set_end(data, at + 12, 4, ends, n, 0)
    _set_end(data, at + 16, 4, ends, n, 1)
    total = _two(data, at + 2)
    # A length of 0 is what the sender leaves to its network card.
    left = (total if total else left) - head
    cut = _two(data, at + 6)
    fields[FRAGMENT, n] = 1 if cut & 0x3FFF else 0
    _read_transport(
        data, at + head, stop, left, np.int64(data[at + 9]), cut & 0x1FFF == 0, fields, n
    )


@compiled
def _read_ip6(data: Any, at: Any, stop: Any, left: Any, fields: Any, ends: Any, n: Any) -> None:
    if stop - at < 40 or data[at] >> 4 != 6:
        return
    fields[VERSION, n] = 6
    fields[TTL, n] = data[at + 7]
    _set_end(data, at + 8, 16, ends, n, 0)
    _set_end(data, at + 24, 16, ends, n, 1)
    total, protocol, first = _two(data, at + 4), np.int64(data[at + 6]), True
    left = total if total else left - 40
    at += 40
    for _ in range(_EXTENSIONS_MAX):
        if protocol not in (0, 43, 44, 51, 60):
            break
        if stop - at < 8:
            return
        size = (np.int64(data[at + 1]) + 1) * 8
        if protocol == 44:
            size = np.int64(8)
            fields[FRAGMENT, n] = 1 if _two(data, at + 2) & 0xFFF9 else 0
            first = _two(data, at + 2) & 0xFFF8 == 0
        elif protocol == 51:
            size = (np.int64(data[at + 1]) + 2) * 4
        protocol = np.int64(data[at])
        at, left = at + size, left - size
        if not first:
            break
    fields[PROTOCOL, n] = protocol
    _read_transport(data, at, stop, left, protocol, first, fields, n)


@compiled
def _read_transport(
    data: Any, at: Any, stop: Any, left: Any, protocol: Any, first: Any, fields: Any, n: Any
) -> None:
    """Ports, flags and what is left for the application; only the first fragment has a header."""
    head = np.int64(0)
    if first:
        if protocol in (_TCP, _UDP, _SCTP, _DCCP, _LITE) and stop - at >= 4:
            fields[SPORT, n] = _two(data, at)
            fields[DPORT, n] = _two(data, at + 2)
        if protocol == _TCP:
            if stop - at < 14:
                return
            fields[FLAGS, n] = data[at + 13]
            head = (np.int64(data[at + 12]) >> 4) * 4
        elif protocol in (_UDP, _ICMP, _ICMP6, _LITE):
            head = np.int64(8)
        elif protocol == _SCTP:
            head = np.int64(12)
    if left >= head:
        fields[PAYLOAD, n] = left - head
