"""Capture on the loopback interface, with traffic that the tests make themselves."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamgauge.checks.waiting import wait_until
from streamgauge.kernel.errors import BindError, SourceFailure
from streamgauge.kernel.time import MINUTE, SECOND
from streamgauge.sources.packets.capture import Capture, Filter, prepare
from streamgauge.sources.packets.capture_file import Packets, packets_of
from streamgauge.sources.packets.columns import PACKETS, packet_columns
from streamgauge.sources.packets.flows import FLOWS
from streamgauge.sources.packets.rates import RATES, rate_columns
from streamgauge.sources.packets.ring import BLOCK_BYTES, Ring, packets_in
from streamgauge.streams.schema import Schema
from tests.sources.captures import START, frame, ip4, pcap, tcp, udp

pytestmark = pytest.mark.slow


def _now() -> int:
    return time.time_ns() // 1000


def _may_capture() -> bool:
    try:
        Ring("lo", blocks=2).__exit__(None, None, None)
    except (SourceFailure, OSError):
        return False
    return True


allowed = pytest.mark.skipif(not _may_capture(), reason="this user may not capture packets on lo")


@pytest.fixture
def receiver() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as opened:
        opened.bind(("127.0.0.1", 0))
        yield opened


def _send(port: int, count: int, size: int = 100) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for number in range(count):
            sender.sendto(number.to_bytes(4, "big") + bytes(size - 4), ("127.0.0.1", port))


def _captured(folder: Path, kind: str, port: int, sent: int, *, proto: str = "udp") -> pa.Table:
    """Capture what is sent to a port meanwhile, in files of half a second."""
    stop = threading.Event()
    chosen = Filter.read(f"{proto} and port {port}")
    prepare()
    with Ring("lo", blocks=64) as ring:
        capture = Capture(ring, folder, kind=kind, every=SECOND // 2, chosen=chosen, now=_now)
        sender = threading.Thread(target=_send, args=(port, sent))
        sender.start()
        seen = 0
        for written in capture.run(stop):
            seen += written.packets
            if seen == sent:
                stop.set()
        sender.join()
    assert seen == sent
    assert not list(folder.glob(".*"))
    return pa.concat_tables([pq.read_table(path) for path in sorted(folder.glob("*.parquet"))])


@allowed
def test_packets_on_loopback_are_seen_once(receiver: socket.socket, tmp_path: Path) -> None:
    port = receiver.getsockname()[1]
    table = _captured(tmp_path, "packets", port, 500)
    assert Schema.from_arrow(table.schema) == PACKETS
    assert set(table["dport"].to_pylist()) == {port}
    assert set(table["src"].to_pylist()) == {"127.0.0.1"}
    assert set(table["payload"].to_pylist()) == {100}
    times = table["ts"].cast(pa.int64()).to_numpy()
    assert (np.diff(times) >= 0).all()


@allowed
def test_flows_and_rates_count_the_same_packets(receiver: socket.socket, tmp_path: Path) -> None:
    port = receiver.getsockname()[1]
    flows = _captured(tmp_path / "flows", "flows", port, 300)
    assert Schema.from_arrow(flows.schema) == FLOWS
    assert sum(flows["packets"].to_pylist()) == 300
    rates = _captured(tmp_path / "rates", "rates", port, 300)
    assert Schema.from_arrow(rates.schema) == RATES
    assert sum(rates["sent_packets"].to_pylist()) == 300
    assert sum(rates["received_bytes"].to_pylist()) == 300 * 142
    pairs = list(zip(rates["ts"].to_pylist(), rates["host"].to_pylist(), strict=True))
    assert len(set(pairs)) == len(pairs), "a second is one row for each host"


@allowed
def test_what_finds_no_room_in_the_ring_is_counted(receiver: socket.socket, tmp_path: Path) -> None:
    port = receiver.getsockname()[1]
    with Ring("lo", blocks=2) as ring:
        # Nobody reads the ring: two blocks are full after a few thousand packets.
        _send(port, 4_000, 1_200)
        lost = wait_until(lambda: ring.counted().dropped, 60, what="drops of a full ring")
        assert lost > 0
        stop = threading.Event()
        stop.set()
        capture = Capture(ring, tmp_path, kind="rates", every=MINUTE, chosen=Filter(), now=_now)
        capture._dropped = lost
        (written,) = capture.run(stop)
    assert written.dropped >= lost
    noted = pq.read_schema(written.path).metadata[b"streamgauge.dropped"]
    assert int(noted) == written.dropped


@allowed
def test_an_interface_that_is_not_there() -> None:
    with pytest.raises(SourceFailure, match="cannot hear interface 'nope0'"):
        Ring("nope0")


def test_filters_are_read_and_refused() -> None:
    assert Filter.read("host ::1 and UDP and port 53") == Filter("::1", 53, "udp")
    assert Filter.read(" ") == Filter()
    for text in ("host nowhere", "port x", "tcp or udp", "net 10.0.0.0/8"):
        with pytest.raises(BindError, match="cannot filter"):
            Filter.read(text)


def test_a_filter_fits_either_end() -> None:
    seen = [
        (START, frame(ip4(udp(53, 9), 17))),
        (START, frame(ip4(tcp(9, 53, 2), 6, "10.0.0.7"))),
        (START, frame(b"", 0x88CC)),
    ]
    packets = packets_of(pcap(seen))
    assert isinstance(packets, Packets)
    columns = packet_columns(packets)
    for text, kept in {"port 53": [0, 1], "tcp": [1], "host 10.0.0.7": [1], "": [0, 1, 2]}.items():
        assert np.flatnonzero(Filter.read(text).fitting(columns)).tolist() == kept


def test_rates_by_second_and_host() -> None:
    seen = [
        (START, frame(ip4(udp(1, 2), 17))),
        (START + 10, frame(ip4(udp(1, 2, b"abc"), 17))),
        (START + SECOND, frame(ip4(udp(2, 1), 17, "10.0.0.2", "10.0.0.1"))),
        (START + SECOND, frame(b"", 0x88CC)),
    ]
    packets = packets_of(pcap(seen))
    assert isinstance(packets, Packets)
    rows = pa.table(rate_columns(packets, dropped=5)).to_pylist()
    found = {
        (row["ts"].second, row["host"]): (
            row["sent_packets"], row["sent_bytes"], row["received_packets"], row["received_bytes"],
        )
        for row in rows
    }  # fmt: skip
    first = rows[0]["ts"].second
    assert found == {
        (first, "10.0.0.1"): (2, 87, 0, 0), (first, "10.0.0.2"): (0, 0, 2, 87),
        (first + 1, "10.0.0.1"): (0, 0, 1, 42), (first + 1, "10.0.0.2"): (1, 42, 0, 0),
        (first + 1, None): (1, 14, 1, 14),
    }  # fmt: skip
    assert sum(row["dropped"] for row in rows) == 5
    nothing = packets_of(pcap([]))
    assert isinstance(nothing, Packets)
    assert pa.table(rate_columns(nothing)).num_rows == 0


def test_a_block_that_points_outside_itself() -> None:
    block = np.zeros(BLOCK_BYTES, np.uint8)
    block[:20] = np.frombuffer(struct.pack("=5I", 3, 48, 1, 7, BLOCK_BYTES - 4), np.uint8)
    assert len(packets_in(block, 1, inbound_only=False)) == 0
    block[16:20] = np.frombuffer(struct.pack("=I", 48), np.uint8)
    block[48:72] = np.frombuffer(struct.pack("=6I", 1 << 30, 5, 0, 1 << 30, 9, 0), np.uint8)
    assert len(packets_in(block, 1, inbound_only=False)) == 0
