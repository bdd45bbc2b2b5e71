"""Flows: who spoke to whom, how much, and how it ended; every packet counted once."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.kernel.errors import BindError
from streamgauge.sources.packets.capture_file import Packets, packets_of
from streamgauge.sources.packets.columns import packet_columns
from streamgauge.sources.packets.flows import flow_columns
from tests.sources import captures
from tests.sources.captures import START, Seen, frame, ip4, parsed, pcap, recorded, tcp, udp

pytestmark = pytest.mark.slow

SECOND = 1_000_000
FIN, SYN, RST, ACK = 1, 2, 4, 16


def said(
    at: int, flags: int, *, back: bool = False, payload: bytes = b"", port: int = 5000
) -> Seen:
    """A packet between 10.0.0.1:port and 10.0.0.2:443, `at` seconds after the start."""
    ends = ("10.0.0.2", "10.0.0.1") if back else ("10.0.0.1", "10.0.0.2")
    ports = (443, port) if back else (port, 443)
    return START + at * SECOND, frame(ip4(tcp(*ports, flags, payload), 6, *ends))


def _flows(folder: Path, seen: list[Seen], **options: object) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = parsed(folder, pcap(seen), "flows", **options).table.to_pylist()
    return rows


def test_both_directions_are_one_flow(tmp_path: Path) -> None:
    seen = [
        said(0, SYN, back=True), said(1, SYN | ACK), said(2, ACK, back=True, payload=b"x" * 10),
        said(3, FIN | ACK), said(3, FIN | ACK, back=True), said(4, ACK),
    ]  # fmt: skip
    (flow,) = _flows(tmp_path, seen)
    assert (flow["src"], flow["sport"], flow["dport"]) == ("10.0.0.2", 443, 5000)
    assert (flow["packets"], flow["back_packets"]) == (3, 3)
    assert (flow["bytes"], flow["back_bytes"]) == (3 * 54 + 10, 3 * 54)
    assert (flow["flags"], flow["back_flags"], flow["ended"]) == ("FSA", "FSA", "fin")
    assert (flow["seconds"], flow["ts"] > flow["start"]) == (4.0, True)


@pytest.mark.parametrize(
    ("seen", "ended"),
    [
        ([said(0, SYN), said(1, RST)], ["rst"]),
        ([said(0, SYN), said(1, RST), said(2, SYN)], ["rst", "file"]),
        ([said(0, SYN), said(1, FIN), said(2, ACK), said(3, SYN), said(4, FIN)], ["fin", "fin"]),
        ([said(0, ACK), said(61, ACK)], ["idle", "file"]),
        ([said(0, ACK), said(60, ACK)], ["file"]),
        ([said(0, ACK), said(100, ACK, port=9)], ["idle", "file"]),
        ([said(0, SYN), said(1, SYN)], ["file"]),
    ],
)
def test_how_a_flow_ends(seen: list[Seen], ended: list[str], tmp_path: Path) -> None:
    assert [flow["ended"] for flow in _flows(tmp_path, seen)] == ended


def test_the_idle_time_is_an_option_of_the_source(tmp_path: Path) -> None:
    seen = [said(0, ACK), said(20, ACK)]
    assert len(_flows(tmp_path, seen, idle="10 s")) == 2
    with pytest.raises(BindError, match="idle time"):
        _flows(tmp_path, seen, idle="0 s")


def test_what_has_no_ports_is_a_flow_of_its_ends(tmp_path: Path) -> None:
    ping = frame(ip4(bytes(8), 1))
    piece = frame(ip4(b"12345678", 17, cut=1))
    first = frame(ip4(udp(0, 0), 17))
    seen = [(START + k, packet) for k, packet in enumerate([ping, piece, first, ping])]
    flows = _flows(tmp_path, seen)
    found = [(flow["proto"], flow["sport"], flow["packets"]) for flow in flows]
    assert found == [("udp", None, 1), ("udp", 0, 1), ("icmp", None, 2)]
    assert {flow["flags"] for flow in flows} == {None}


def _slowly(packets: Packets, idle: int) -> list[tuple[Any, ...]]:
    """Flows by a dictionary, packet by packet."""
    columns = {name: column.to_pylist() for name, column in packet_columns(packets).items()}
    going: dict[Any, dict[str, Any]] = {}
    done: list[dict[str, Any]] = []
    final = max(packets.times.tolist(), default=0)
    for n in range(len(packets)):
        row = {name: column[n] for name, column in columns.items()}
        time, ends = int(packets.times[n]), [(row["src"], row["sport"]), (row["dst"], row["dport"])]
        key = (frozenset(ends), ends[0] == ends[1], row["proto"], row["sport"] is None)
        flow, flags = going.get(key), set(row["flags"] or "")
        quiet = flow is not None and time - flow["last"] > idle
        if flow is None or quiet or (flow["closed"] and "S" in flags):
            if flow is not None:
                flow["ended"] = flow["closed"] or ("idle" if quiet else "file")
            flow = going[key] = {
                "from": ends[0], "to": ends[1], "proto": row["proto"], "start": time, "last": time,
                "closed": "", "n": n, "ended": None,
            } | defaultdict(int)  # fmt: skip
            done.append(flow)
        flow["start"], flow["last"] = min(flow["start"], time), max(flow["last"], time)
        way = "" if ends[0] == flow["from"] else "back_"
        flow[way + "packets"] = flow.get(way + "packets", 0) + 1
        flow[way + "bytes"] = flow.get(way + "bytes", 0) + row["length"]
        if "R" in flags:
            flow["closed"] = "rst"
        elif "F" in flags and not flow["closed"]:
            flow["closed"] = "fin"
    for flow in done:
        if flow["ended"] is None:
            gone = final - flow["last"] > idle
            flow["ended"] = flow["closed"] or ("idle" if gone else "file")
    done.sort(key=lambda flow: (flow["last"], flow["n"]))
    counts = ("packets", "bytes", "back_packets", "back_bytes")
    return [
        (*f["from"], *f["to"], f["proto"], *(f.get(name, 0) for name in counts), f["ended"])
        for f in done
    ]


def _quickly(packets: Packets, idle: int) -> list[tuple[Any, ...]]:
    made = flow_columns(packets, idle)
    names = (
        "src", "sport", "dst", "dport", "proto", "packets", "bytes", "back_packets", "back_bytes",
        "ended",
    )  # fmt: skip
    return list(zip(*(made[name].to_pylist() for name in names), strict=True))


@st.composite
def _talks(draw: st.DrawFn) -> list[Seen]:
    packet = st.tuples(
        st.integers(0, 12), st.sampled_from([0, FIN, SYN, RST, ACK, SYN | ACK]), st.booleans(),
        st.sampled_from([443, 5000, 5001]),
    )  # fmt: skip
    clock, seen = 0, []
    for step, flags, back, port in draw(st.lists(packet, max_size=30)):
        clock += step - 2
        seen.append(said(max(clock, 0), flags, back=back, port=port))
    return seen


@given(_talks(), st.sampled_from([1, 5, 60]))
def test_flows_are_what_a_dictionary_makes_of_the_packets(seen: list[Seen], idle: int) -> None:
    packets = packets_of(pcap(seen))
    assert isinstance(packets, Packets)
    found = _quickly(packets, idle * SECOND)
    assert found == _slowly(packets, idle * SECOND)
    assert sum(flow[5] + flow[7] for flow in found) == len(seen)


@recorded
def test_flows_of_recorded_captures() -> None:
    for path in sorted((captures.RECORDED / "pcap").glob("*.pcap")):
        packets = packets_of(path.read_bytes())
        assert isinstance(packets, Packets)
        assert _quickly(packets, 60 * SECOND) == _slowly(packets, 60 * SECOND), path.name
