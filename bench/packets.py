"""Workload `packets`: captures, flows and access logs read by columns, beside loops in Python.

`--data DIR` takes captures of one's own (pcap, pcapng) in place of generated packets.
"""

from __future__ import annotations

import re
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from bench.harness import Outcome, Steps, ratios
from bench.report import Bar, Line, Report
from streamgauge.sources.directory import infer_schema, list_files
from streamgauge.sources.parse import parse_file
from streamgauge.streams.stream import Stream

try:
    import dpkt
except ModuleNotFoundError:
    dpkt = None

NAME = "packets"
START = 1_767_225_600
REPEATED = 3
ROWS_A_SECOND = 300_000.0
LINE = re.compile(
    r'(\S+) \S+ (\S+) \[([^\]]+)\] "(\S+) (\S+) ([^"]*)" (\d{3}) (\d+|-) "([^"]*)" "([^"]*)"'
)

Totals = tuple[int, int]


def run(*, quick: bool, data: Path | None, console: Console) -> Report:
    """Read each format by both ways, in turns, and compare what they found."""
    count, repeated = (20_000, 1) if quick else (500_000, REPEATED)
    report = Report(NAME, quick=quick, origin="generated" if data is None else str(data))
    with tempfile.TemporaryDirectory(prefix="streamgauge-bench-") as name:
        folder = Path(name)
        captures, log = folder / "captures", folder / "access.log"
        captures.mkdir()
        if data is None:
            (captures / "a.pcap").write_bytes(generated_capture(count))
        files = list_files(str(captures if data is None else data), "pcap")
        log.write_text("\n".join(generated_log(count)), encoding="utf-8")
        steps = Steps(console, 3)
        with steps.shown():
            _measure(report, steps, "pcap", files, _dpkt_packets, repeated)
            _measure(report, steps, "flows", files, _dpkt_flows, repeated)
            _measure(report, steps, "access_log", [str(log)], _matched_lines, repeated)
    report.about = f"{count:,} packets and lines; each reader beside a loop over dpkt or re"
    report.checked = "rows and sums of bytes agree" if report.right else "sums differ"
    return report


def _measure(
    report: Report,
    steps: Steps,
    format: str,
    files: list[str],
    loop: Callable[[str], Totals],
    repeated: int,
) -> None:
    ours: list[Outcome] = []
    theirs: list[Outcome] = []
    missing = "dpkt is not installed" if dpkt is None and format != "access_log" else ""
    with steps.step(f"reading {format}"):
        _ours(files, format)
        for _ in range(repeated):
            found, totals = _timed(lambda: _ours(files, format))
            ours.append(found)
            if missing:
                theirs.append(Outcome(missing=missing))
                continue
            found, slow = _timed(lambda: [loop(path) for path in files])
            # Rows of flows are few; packets are what was worked through in both.
            theirs.append(found)
            report.right &= totals == slow
    report.lines += [
        Line(format, f"{format}, by columns", ours),
        Line(f"{format}_loop", f"{format}, a loop in Python", theirs),
    ]
    report.figures[f"{format}_over_loop"] = (ratios(ours, theirs), "x")
    rate = report.lines[-2].rate
    report.bars[f"{format}_rows"] = Bar(rate.value if rate else None, ROWS_A_SECOND)


def _timed(work: Callable[[], list[Totals]]) -> tuple[Outcome, list[Totals]]:
    wall, spent = time.perf_counter(), time.process_time()
    totals = work()
    wall, spent = time.perf_counter() - wall, time.process_time() - spent
    return Outcome(sum(rows for rows, _ in totals), wall, spent), totals


def _ours(files: list[str], format: str) -> list[Totals]:
    source = (("kind", "files"), ("path", ""), ("format", format))
    stream = Stream("s", infer_schema("", format), "ts", (), source, future=None)
    totals = []
    for path in files:
        table = parse_file(path, stream, arrived=0).table
        names = {"pcap": ("length",), "flows": ("bytes", "back_bytes")}.get(format, ("bytes",))
        counted = table.num_rows
        if format == "flows":
            counted = sum(sum(table[n].to_pylist()) for n in ("packets", "back_packets"))
        totals.append((counted, sum(int(table[name].to_numpy().sum()) for name in names)))
    return totals


def _frames(path: str) -> Iterator[tuple[float, bytes, int, Any]]:
    with Path(path).open("rb") as file:
        for stamp, data in dpkt.pcap.UniversalReader(file):
            try:
                yield stamp, data, len(data), dpkt.ethernet.Ethernet(data).data
            except dpkt.dpkt.UnpackError:
                yield stamp, data, len(data), None


def _ends(ip: Any) -> tuple[Any, ...]:
    if not isinstance(ip, dpkt.ip.IP | dpkt.ip6.IP6):
        return (None, None, None, None, None)
    family = socket.AF_INET if isinstance(ip, dpkt.ip.IP) else socket.AF_INET6
    src, dst = socket.inet_ntop(family, ip.src), socket.inet_ntop(family, ip.dst)
    ported = isinstance(ip.data, dpkt.tcp.TCP | dpkt.udp.UDP)
    sport, dport = (ip.data.sport, ip.data.dport) if ported else (None, None)
    return src, dst, ip.p, sport, dport


def _dpkt_packets(path: str) -> Totals:
    rows = [(stamp, size, *_ends(ip)) for stamp, _, size, ip in _frames(path)]
    return len(rows), sum(row[1] for row in rows)


def _dpkt_flows(path: str) -> Totals:
    flows: dict[tuple[Any, ...], list[Any]] = {}
    for stamp, _, size, ip in _frames(path):
        src, dst, protocol, sport, dport = _ends(ip)
        key = (frozenset(((src, sport), (dst, dport))), protocol)
        flow = flows.setdefault(key, [stamp, stamp, 0, 0])
        flow[1], flow[2], flow[3] = stamp, flow[2] + 1, flow[3] + size
    return sum(flow[2] for flow in flows.values()), sum(flow[3] for flow in flows.values())


def _matched_lines(path: str) -> Totals:
    rows = []
    with Path(path).open(encoding="utf-8") as file:
        for line in file:
            match = LINE.match(line)
            if match is not None:
                stamp = datetime.strptime(match[3], "%d/%b/%Y:%H:%M:%S %z")
                rows.append((stamp, *match.groups()[:6], int(match[7]), int(match[8])))
    return len(rows), sum(row[-1] for row in rows)


def generated_capture(count: int) -> bytes:
    """A pcap file: packets of TCP among a thousand hosts, 64 bytes of each captured.

    >>> len(generated_capture(3))
    264
    """
    rng = np.random.default_rng(3)
    record = np.zeros((count, 80), dtype=np.uint8)
    stamps = np.arange(count) * 100
    words = np.stack([START + stamps // 10**6, stamps % 10**6, np.full(count, 64)], axis=1)
    record[:, :12] = words.astype("<u4").view(np.uint8).reshape(count, 12)
    record[:, 12:16] = np.full(count, 64).astype("<u4").view(np.uint8).reshape(count, 4)
    frame = record[:, 16:]
    frame[:, 12:14] = 8, 0
    frame[:, 14], frame[:, 17], frame[:, 22], frame[:, 23] = 0x45, 50, 64, 6
    hosts = rng.integers(0, 1000, (count, 2))
    for side, at in enumerate((26, 30)):
        frame[:, at], frame[:, at + 2], frame[:, at + 3] = 10, hosts[:, side] // 250, side + 1
        frame[:, at + 1] = hosts[:, side] % 250
    ports = np.stack([1024 + hosts[:, 0], np.full(count, 443)], axis=1)
    frame[:, 34:38] = ports.astype(">u2").view(np.uint8).reshape(count, 4)
    frame[:, 46], frame[:, 47] = 0x50, 0x10
    head = np.array([0xA1B2C3D4, 0x00040002, 0, 0, 65535, 1], dtype="<u4")
    return head.tobytes() + record.tobytes()


def generated_log(count: int) -> Iterator[str]:
    """Lines of the combined format.

    >>> next(generated_log(1))[:40]
    '10.0.0.0 - - [01/Jan/2026:00:00:00 +0000'
    """
    agent = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Safari/537.36"
    for number in range(count):
        at = datetime.fromtimestamp(START + number // 50, UTC)
        yield (
            f"10.0.{number % 200}.{number % 7} - - [{at:%d/%b/%Y:%H:%M:%S} +0000] "
            f'"GET /articles/{number % 5000}?page={number % 9} HTTP/1.1" 200 {number % 90_000} '
            f'"https://example.org/articles/{number % 31}" "{agent}"'
        )
