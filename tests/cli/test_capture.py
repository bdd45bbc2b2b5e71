"""The command `capture`, on the loopback interface."""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from streamgauge.cli.app import main
from streamgauge.kernel.errors import SourceFailure
from streamgauge.sources.packets.ring import Ring

pytestmark = pytest.mark.slow


def test_it_writes_what_it_hears(tmp_path: Path) -> None:
    try:
        Ring("lo", blocks=2).__exit__(None, None, None)
    except SourceFailure as error:
        pytest.skip(str(error))
    done = threading.Event()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        port = receiver.getsockname()[1]

        def speak() -> None:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
                while not done.wait(0.02):
                    sender.sendto(b"x", ("127.0.0.1", port))

        speaker = threading.Thread(target=speak)
        speaker.start()
        asked = ["capture", "lo", str(tmp_path), "--every", "500 ms", "--for", "3 s", "--json"]
        found = CliRunner().invoke(main, [*asked, "--filter", f"udp and port {port}"])
        done.set()
        speaker.join()
    assert found.exit_code == 0, found.output
    told = [json.loads(line) for line in found.stdout.splitlines()]
    assert len(told) >= 2
    assert sum(line["rows"] for line in told) > 10
    for line in told:
        assert pq.read_metadata(line["file"]).num_rows == line["rows"]
    assert "dropped by the kernel" in found.stderr


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--filter", "net 10/8"], "cannot filter packets"),
        (["--every", "0 s"], "a file needs time"),
        (["--every", "soon"], "not a duration"),
    ],
)
def test_mistakes_are_told_before_anything_is_heard(
    given: list[str], said: str, tmp_path: Path
) -> None:
    found = CliRunner().invoke(main, ["capture", "lo", str(tmp_path / "out"), *given])
    assert found.exit_code == 2
    assert said in found.stderr
    assert not (tmp_path / "out").exists()
