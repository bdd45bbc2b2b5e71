"""The workload `packets`, quick: both ways find the same."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

import bench
from bench.packets import generated_capture, run
from streamgauge.sources.packets.capture_file import Packets, packets_of

pytestmark = pytest.mark.slow


def test_generated_packets_can_be_read() -> None:
    packets = packets_of(generated_capture(100))
    assert isinstance(packets, Packets)
    assert (len(packets), packets.broken) == (100, [])


def test_a_quick_run_finds_the_same_by_both_ways(tmp_path: Path) -> None:
    console = Console(file=io.StringIO())
    report = run(quick=True, data=None, console=console)
    assert report.right
    assert [line.key for line in report.lines][::2] == ["pcap", "flows", "access_log"]
    assert all(line.rate is not None for line in report.lines)
    report.right = True
    report.write(tmp_path / "found.json")
    assert "packets" in bench.workloads()
