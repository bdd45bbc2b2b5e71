"""Captures as rows: every kind of header, every kind of file, and what damage leaves."""

from __future__ import annotations

import gzip
import socket
import struct
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import dpkt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.kernel.time import instant_text
from streamgauge.sources.parse import infer_schema, list_files
from tests.sources import captures
from tests.sources.captures import (
    START,
    block,
    enhanced,
    frame,
    interface,
    ip4,
    ip6,
    parsed,
    pcap,
    recorded,
    section,
    tcp,
    udp,
)  # fmt: skip

pytestmark = pytest.mark.slow

SYN_ACK = frame(ip4(tcp(443, 5000, 0x12), 6))


def _one(folder: Path, packet: bytes, link: int = 1) -> dict[str, Any]:
    (row,) = parsed(folder, pcap([(START, packet)], link=link)).table.to_pylist()
    return {name: value for name, value in row.items() if value is not None and name != "ts"}


def test_a_packet_of_tcp_has_all_columns(tmp_path: Path) -> None:
    (row,) = parsed(tmp_path, pcap([(START + 7, SYN_ACK)])).table.to_pylist()
    stamp = int(row.pop("ts").timestamp() * 1_000_000 + 0.5)
    assert instant_text(stamp) == instant_text(START + 7)
    assert row == {
        "src": "10.0.0.1", "dst": "10.0.0.2", "proto": "tcp", "sport": 443, "dport": 5000,
        "length": 54, "payload": 0, "flags": "SA", "ttl": 64, "vlan": None, "ip_version": 4,
        "fragment": False,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("packet", "link", "expected"),
    [
        (frame(ip6(udp(53, 99, b"abc"), 17), 0x86DD), 1,
         {"proto": "udp", "src": "fe80::1", "sport": 53, "payload": 3, "ip_version": 6, "ttl": 63}),
        (frame(ip4(udp(1, 2), 17), tags=(0x2064, 7)), 1, {"proto": "udp", "vlan": 100}),
        (frame(ip4(udp(1, 2, b"12345678"), 17, cut=0x2000)), 1,
         {"proto": "udp", "sport": 1, "fragment": True, "payload": 8}),
        (frame(ip4(b"12345678", 17, cut=1)), 1, {"proto": "udp", "fragment": True, "payload": 8}),
        (frame(ip6(b"\x11\x00\x00\x09abcd" + udp(1, 2), 44), 0x86DD), 1,
         {"proto": "udp", "fragment": True, "payload": 8}),
        (frame(ip6(b"\x06\x00" + bytes(6) + tcp(8, 9, 1), 0), 0x86DD), 1,
         {"proto": "tcp", "sport": 8, "flags": "F", "payload": 0}),
        (frame(ip4(bytes(8), 1)), 1, {"proto": "icmp", "payload": 0}),
        (frame(ip4(b"x", 250)), 1, {"proto": "ip-250", "payload": 1}),
        (frame(bytes(dpkt.arp.ARP(spa=b"\x0a\0\0\1", tpa=b"\x0a\0\0\2")), 0x0806), 1,
         {"proto": "arp", "src": "10.0.0.1", "dst": "10.0.0.2"}),
        (frame(b"abc", 0x88CC), 1, {"proto": "lldp"}),
        (frame(b"abc", 0x1234 + 0x1000), 1, {"proto": "ether-2234"}),
        (frame(b"\x42\x42\x03", 38), 1, {"proto": "llc"}),
        (frame(b"\x00\x01\x21\x40" + ip4(udp(1, 2), 17), 0x8847), 1, {"proto": "udp", "sport": 1}),
        (frame(b"\x11\x00\x00\x01\x00\x20\x00\x21" + ip4(udp(1, 2), 17), 0x8864), 1,
         {"proto": "udp", "sport": 1}),
        (ip4(udp(1, 2), 17), 101, {"proto": "udp", "ip_version": 4}),
        (ip6(udp(1, 2), 17), 101, {"proto": "udp", "ip_version": 6}),
        (b"\x02\0\0\0" + ip4(udp(1, 2), 17), 0, {"proto": "udp", "ip_version": 4}),
        (b"\0\0\0\x1e" + ip6(udp(1, 2), 17), 108, {"proto": "udp", "ip_version": 6}),
        (bytes(14) + b"\x08\x00" + ip4(udp(1, 2), 17), 113, {"proto": "udp", "sport": 1}),
        (b"\x08\x00" + bytes(18) + ip4(udp(1, 2), 17), 276, {"proto": "udp", "sport": 1}),
        (b"\xff\x03\x00\x57" + ip6(udp(1, 2), 17), 9, {"proto": "udp", "ip_version": 6}),
    ],
)  # fmt: skip
def test_headers_of_every_kind(
    packet: bytes, link: int, expected: dict[str, Any], tmp_path: Path
) -> None:
    row = _one(tmp_path, packet, link)
    assert {name: row.get(name) for name in expected} == expected
    assert row["length"] == len(packet)
    if expected.get("fragment") and "sport" not in expected:
        assert "sport" not in row, "only the first fragment has ports"


@pytest.mark.parametrize("captured", range(0, len(SYN_ACK) + 1, 3))
def test_what_was_not_captured_is_null(captured: int, tmp_path: Path) -> None:
    found = parsed(tmp_path, pcap([(START, SYN_ACK)], snap=captured))
    (row,) = found.table.to_pylist()
    assert row["length"] == len(SYN_ACK)
    assert (row["src"] == "10.0.0.1") == (captured >= 34)
    assert (row["sport"] == 443) == (captured >= 38)
    assert (row["flags"] == "SA") == (captured >= 48)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("nano", [False, True])
def test_both_byte_orders_and_both_clocks(order: str, nano: bool, tmp_path: Path) -> None:
    seen = [(START + k, SYN_ACK) for k in range(3)]
    plain = parsed(tmp_path, pcap(seen)).table
    assert parsed(tmp_path, pcap(seen, order=order, nano=nano)).table.equals(plain)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(
    ("resolution", "stamp"),
    [(None, START), (9, START * 1000), (3, START // 1000), (0x80, START // 1_000_000),
     (0x80 | 20, (START << 20) // 1_000_000), (12, 5 * 10**12)],
)  # fmt: skip
def test_blocks_with_clocks_of_their_own(
    order: str, resolution: int | None, stamp: int, tmp_path: Path
) -> None:
    content = section(order) + interface(order, resolution=resolution)
    content += block(5, b"statistics, which are passed over", order)
    content += enhanced(stamp, SYN_ACK, order)
    found = parsed(tmp_path, content)
    (row,) = found.table.to_pylist()
    expected = 5_000_000 if resolution == 12 else START
    assert abs(row["ts"].timestamp() * 1_000_000 - expected) < 2
    assert (row["dport"], found.rejects.num_rows) == (5000, 0)


def test_sections_and_interfaces_that_differ(tmp_path: Path) -> None:
    content = section() + interface() + interface(link=101) + interface(link=127)
    content += enhanced(START, SYN_ACK) + enhanced(START + 1, SYN_ACK[14:], face=1)
    content += enhanced(START + 2, b"radio", face=2) + enhanced(START + 3, b"radio", face=2)
    content += enhanced(START + 4, SYN_ACK, face=9)
    content += block(3, struct.pack("<I", 3) + b"abc")
    content += section(">") + interface(">") + enhanced(START + 5, SYN_ACK, ">")
    found = parsed(tmp_path, content)
    assert found.table["sport"].to_pylist() == [443, 443, 443]
    assert found.table["length"].to_pylist() == [54, 40, 54]
    places = {origin.rsplit(":", 1)[1] for origin in found.rejects["origin"].to_pylist()}
    reasons = " ".join(found.rejects["reason"].to_pylist())
    assert places == {"3", "5", "6"}
    assert "2 packets are left out: interface 2: link type 127" in reasons
    assert "interface 9: its interface is not described" in reasons
    assert "no time" in reasons


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "the file is empty"),
        (b"hello world, this is text", "begins with 68656c6c"),
        (pcap([])[:20], "after 20 of 24 bytes"),
        (pcap([(START, b"x")], link=105), "link type 105 is not read"),
        (section()[:16], "first section cannot be read"),
    ],
)
def test_files_that_are_no_captures_are_refused(
    content: bytes, reason: str, tmp_path: Path
) -> None:
    found = parsed(tmp_path, content)
    assert found.table.num_rows == 0
    (told,) = found.rejects["reason"].to_pylist()
    assert reason in told


TWO = pcap([(START, SYN_ACK), (START, SYN_ACK)])
ABSURD = struct.pack("<IIII", 0, 0, 1 << 30, 1 << 30)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (TWO[:-10], "inside a packet"),
        (TWO[: 24 + 70 + 5], "inside the header"),
        (TWO[: 24 + 70] + ABSURD + bytes(90), "cannot be"),
    ],
)
def test_a_cut_file_gives_what_was_before_the_cut(
    content: bytes, reason: str, tmp_path: Path
) -> None:
    found = parsed(tmp_path, content)
    assert found.table.num_rows == 1
    (told,) = found.rejects["reason"].to_pylist()
    assert reason in told
    assert found.rejects["origin"].to_pylist()[0].endswith(":2")


def test_packed_captures_and_their_endings(tmp_path: Path) -> None:
    content = pcap([(START, SYN_ACK)])
    assert parsed(tmp_path, gzip.compress(content), name="c.pcap.gz").table.num_rows == 1
    for name in ("a.pcapng", "b.cap", "c.csv", "d.parquet"):
        (tmp_path / name).write_bytes(content)
    names = [Path(path).name for path in list_files(str(tmp_path), "pcap")]
    assert names == ["a.pcapng", "b.cap", "c.pcap.gz"]
    assert list_files(str(tmp_path), "flows") == list_files(str(tmp_path), "pcap")


def test_a_column_that_packets_do_not_have(tmp_path: Path) -> None:
    path = tmp_path / "c.pcap"
    path.write_bytes(pcap([(START, SYN_ACK)]))
    declared = captures.stream("access_log")
    assert infer_schema("nowhere", "pcap").names[0] == "ts"
    read = captures.Stream(
        "s", declared.schema, "ts", (), (("kind", "files"), ("path", "x"), ("format", "pcap"))
    )
    (reason,) = captures.parse_file(str(path), read, arrived=0).rejects["reason"].to_pylist()
    assert "column 'host' is not one of ts, src" in reason


GOOD = pcap([(START + k, SYN_ACK) for k in range(6)])
BLOCKS = section() + interface() + b"".join(enhanced(START + k, SYN_ACK) for k in range(6))


@given(
    st.sampled_from([GOOD, BLOCKS]),
    st.integers(0, 600),
    st.lists(st.tuples(st.integers(0, 599), st.integers(0, 255)), max_size=6),
    st.sampled_from(["pcap", "flows"]),
)
def test_damage_never_stops_a_reader(
    content: bytes, kept: int, flips: list[tuple[int, int]], format: str
) -> None:
    damaged = bytearray(content[:kept])
    for at, value in flips:
        if at < len(damaged):
            damaged[at] = value
    with tempfile.TemporaryDirectory() as folder:
        found = parsed(Path(folder), bytes(damaged), format)
    if format == "pcap":
        assert found.table.num_rows <= 40
        if not flips and kept < len(content):
            whole = found.table.num_rows
            assert whole <= 5
            assert found.rejects.num_rows <= 1
    for reason in found.rejects["reason"].to_pylist():
        assert reason


@given(st.binary(max_size=120), st.sampled_from([0, 1, 9, 101, 108, 113, 228, 276]))
def test_any_bytes_are_a_packet(packet: bytes, link: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = parsed(Path(folder), pcap([(START, packet)], link=link))
    assert found.table["length"].to_pylist() == [len(packet)]


def _by_dpkt(data: bytes) -> tuple[Any, ...] | None:
    try:
        ip = dpkt.ethernet.Ethernet(data).data
    except dpkt.dpkt.UnpackError:
        return None
    if not isinstance(ip, dpkt.ip.IP | dpkt.ip6.IP6):
        return None
    family = socket.AF_INET if isinstance(ip, dpkt.ip.IP) else socket.AF_INET6
    ends = (socket.inet_ntop(family, ip.src), socket.inet_ntop(family, ip.dst))
    inner = ip.data
    ported = isinstance(inner, dpkt.tcp.TCP | dpkt.udp.UDP)
    ports = (inner.sport, inner.dport) if ported else (None, None)
    flags = inner.flags if isinstance(inner, dpkt.tcp.TCP) else None
    ttl = ip.ttl if isinstance(ip, dpkt.ip.IP) else ip.hlim
    return (*ends, *ports, _letters(flags), ttl)


def _letters(flags: int | None) -> str | None:
    if flags is None:
        return None
    return "".join(letter for bit, letter in enumerate("FSRPAUEC") if flags >> bit & 1)


@recorded
def test_recorded_captures_agree_with_dpkt() -> None:
    compared: Counter[str] = Counter()
    for path in sorted((captures.RECORDED / "pcap").glob("*.pcap")):
        found = captures.parse_file(str(path), captures.stream("pcap"), arrived=0)
        assert found.rejects.num_rows == 0, path.name
        with path.open("rb") as file:
            seen = list(dpkt.pcap.UniversalReader(file))
        assert len(seen) == found.table.num_rows, path.name
        for row, (stamp, data) in zip(found.table.to_pylist(), seen, strict=True):
            assert abs(row["ts"].timestamp() - float(stamp)) < 2e-6
            expected = _by_dpkt(data)
            if expected is not None and row["ip_version"] is not None:
                names = ("src", "dst", "sport", "dport", "flags", "ttl")
                assert tuple(row[name] for name in names) == expected, path.name
                compared[path.name] += 1
    assert sum(compared.values()) > 25_000
