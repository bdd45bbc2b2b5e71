"""The command `streamgauge edge`, as a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bench.filters_agent import run_command, walk_lines
from streamgauge.checks.waiting import wait_until
from tests.edge.doors import HttpDoor, refusal

pytestmark = pytest.mark.kills
ROOT = Path(__file__).resolve().parents[2]
HEAVY = {"numpy", "pandas", "pyarrow", "pyspark", "scipy", "numba", "rich", "lark"}


def command(*args: str) -> list[str]:
    return [sys.executable, "-m", "streamgauge", "edge", *args]


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(ROOT / "src")}


def run(*args: str, text: str = "", seconds: float = 120) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*args),
        input=text,
        capture_output=True,
        text=True,
        env=environment(),
        timeout=seconds,
        check=False,
    )


def test_the_agent_needs_nothing_but_python() -> None:
    script = (
        "import sys, streamgauge.edge.agent, streamgauge.edge.link_http, streamgauge.cli.edge,"
        "streamgauge.edge.readings_lines, streamgauge.edge.readings_tail,"
        "streamgauge.edge.readings_host, streamgauge.edge.readings_simulated;"
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    found = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env=environment(),
        check=True,
    )
    assert not HEAVY & set(found.stdout.split())


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_the_agent_stays_below_forty_megabytes() -> None:
    used, updates = run_command(walk_lines(20_000), ["--once", "--grace", "60s"])
    assert updates > 0
    assert used["resident_mb"] < 40.0


def test_once_sends_what_is_there_and_waits_for_its_receipt(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("s3cret\n")
    with HttpDoor() as door:
        ended = run(
            door.url,
            *("--stream", "hosts", "--agent", "pump", "--once", "--grace", "60s"),
            *("--state", str(tmp_path / "state"), "--token-file", str(token), "--log", "json"),
            text="pump/flow 1.5\npump/temp 70\npump/flow 2.5\n",
        )
        assert ended.returncode == 0, ended.stderr
        assert door.desk.values() == [1.5, 70.0, 2.5]
        assert door.headers[0]["Authorization"] == "Bearer s3cret"
    events = [json.loads(line) for line in ended.stderr.splitlines()]
    assert [event["event"] for event in events] == ["start", "reached", "stop"]
    assert events[-1]["told"] is True
    assert events[-1]["readings"] == 3


def test_a_signal_delivers_what_is_left_and_ends_well(tmp_path: Path) -> None:
    with HttpDoor() as door:
        args = [door.url, "--stream", "hosts", "--agent", "pump", "--read", "stdin"]
        with subprocess.Popen(
            command(*args, "--grace", "60s", "--log", "none"),
            stdin=subprocess.PIPE,
            env=environment(),
        ) as agent:
            assert agent.stdin is not None
            agent.stdin.write(b"pump/flow 1\n")
            agent.stdin.flush()
            wait_until(lambda: door.desk.values() == [1.0], 90, what="the first value")
            agent.stdin.write(b"pump/flow 2\n")
            agent.stdin.flush()
            agent.send_signal(signal.SIGTERM)
            assert agent.wait(90) == 0


def test_a_kill_loses_nothing_that_was_in_a_report(tmp_path: Path) -> None:
    with HttpDoor() as door:
        args = [door.url, "--stream", "hosts", "--agent", "pump", "--log", "none"]
        args += ["--state", str(tmp_path), "--grace", "60s"]
        with subprocess.Popen(command(*args), stdin=subprocess.PIPE, env=environment()) as agent:
            assert agent.stdin is not None
            agent.stdin.write(b"pump/flow 1\n")
            agent.stdin.flush()
            wait_until(lambda: door.desk.values() == [1.0], 90, what="the first value")
            agent.send_signal(signal.SIGKILL)
        again = run(*args, "--once", text="pump/flow 1\n")
        assert again.returncode == 0, again.stderr
        assert len(door.desk.boots) == 1, "the same boot"
        assert door.desk.values() == [1.0, 1.0], "after a restart a first value is always sent"


def test_nobody_there_is_an_error_in_three_parts() -> None:
    with HttpDoor() as door:
        url = door.url
    ended = run(url, "--stream", "hosts", "--once", "--grace", "1s", "--log", "none", text="a 1\n")
    assert ended.returncode == 5
    assert "error: not everything was delivered" in ended.stderr
    assert "detail:" in ended.stderr
    assert "hint:" in ended.stderr


def test_a_refusal_ends_it_with_what_the_coordinator_said() -> None:
    with HttpDoor() as door:
        door.script = [refusal(404)] * 5
        ended = run(door.url, "--stream", "hosts", "--log", "none", text="")
    assert ended.returncode == 5
    assert "error: not now" in ended.stderr


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["ftp://x", "--stream", "hosts"], 2, "no way to the coordinator"),
        (["http://x", "--stream", "hosts", "--read", "pigeon"], 2, "no readings of kind"),
        (["http://x"], 2, "--stream"),
        (["http://x", "--stream", "hosts", "--cert", __file__], 2, "go together"),
        (["http://x", "--stream", "hosts", "--beat", "often"], 2, "not a duration"),
    ],
)
def test_wrong_usage_is_told(args: list[str], code: int, said: str) -> None:
    ended = run(*args)
    assert ended.returncode == code
    assert said in ended.stderr
