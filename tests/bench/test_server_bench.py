"""The workload `server` without a server: how delays and losses are told."""

from __future__ import annotations

import subprocess
import sys

import pytest

from bench import server
from bench.harness import ROOT
from bench.server_load import Seen

pytestmark = pytest.mark.slow


def seen() -> Seen:
    """Two lots and a last row; two subscribers, both answers each."""
    return Seen(
        sent=[(10.0, 100), (10.1, 100), (11.0, 200), (12.0, 300)],
        acknowledged=[0.1, 0.2, 0.3],
        rows=31,
        measured=30,
        begun=9.0,
        seconds=2.0,
        opened={100: 10.0, 200: 11.0, 300: 12.0},
        received=[{b"1.0": 11.5, b"2.0": 12.5}, {b"1.0": 11.7, b"2.0": 12.7}],
        instants={b"1.0": 100, b"2.0": 200},
    )


TOLD = {"landed": 31, "counted": 30.0, "dead": 0, "epochs": 3, "files": 3}


def test_delays_count_from_the_push_and_from_the_close() -> None:
    from_push, from_close = seen().delays()
    assert from_push == pytest.approx([1.7, 1.6, 1.7])
    assert from_close == pytest.approx([0.7, 0.7])


def test_a_run_without_loss_is_right() -> None:
    report = server._report(server.QUICK, True, seen(), TOLD, 1.0)
    assert report.right
    assert {name for name, bar in report.bars.items() if not bar.met} == {"rows_per_second"}


@pytest.mark.parametrize(
    ("told", "bar"), [({"landed": 30}, "rows_lost"), ({"counted": 31.0}, "rows_doubled")]
)
def test_lost_and_doubled_rows_are_told(told: dict[str, float], bar: str) -> None:
    report = server._report(server.QUICK, True, seen(), {**TOLD, **told}, None)
    assert not report.right
    assert not report.bars[bar].met


def test_an_answer_that_one_subscriber_lacks_is_told() -> None:
    found = seen()
    del found.received[1][b"2.0"]
    assert not server._report(server.QUICK, True, found, TOLD, None).right


def test_the_workloads_are_listed_without_the_server() -> None:
    """What serves is loaded in the process that serves."""
    code = "import bench, sys; assert 'uvicorn' not in sys.modules and 'fastapi' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
