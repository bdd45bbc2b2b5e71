"""A broker between agents and job that goes away and comes back."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from streamgauge.testing.waiting import wait_until
from tests.edge_faults.scene import PATIENCE, Scene

MOSQUITTO = shutil.which("mosquitto", path=os.pathsep.join([os.environ["PATH"], "/usr/sbin"]))
pytestmark = [
    pytest.mark.chaos,
    pytest.mark.skipif(MOSQUITTO is None, reason="no mosquitto on this machine"),
]


class Broker:
    """A broker on a port that stays the same when it is started again."""

    def __init__(self, directory: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = int(free.getsockname()[1])
        self.settings = directory / "mosquitto.conf"
        self.settings.write_text(
            f"listener {self.port} 127.0.0.1\nallow_anonymous true\npersistence false\n"
        )
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        assert MOSQUITTO is not None
        with self.settings.with_suffix(".log").open("ab") as log:
            command = [MOSQUITTO, "-c", str(self.settings)]
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        wait_until(self._listens, PATIENCE, what="the broker")

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def _listens(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=5).close()
        except OSError:
            return False
        return True


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    found = Broker(tmp_path)
    found.start()
    yield found
    found.kill()


def away(tmp_path: Path, broker: Broker, ticks: int) -> None:
    """Take the broker away for so many ticks, and see what became of the answers."""
    with Scene(tmp_path, broker=f"mqtt://127.0.0.1:{broker.port}") as scene:
        scene.mend()
        scene.wait_kept()
        broker.kill()
        scene.wait_marked("total")
        scene.wait_ticks(ticks)
        assert "total" in scene.marked()
        broker.start()
        scene.wait_kept()
        scene.assert_right()


def test_a_broker_is_away_for_seconds(tmp_path: Path, broker: Broker) -> None:
    away(tmp_path, broker, 1)


@pytest.mark.nightly
def test_a_broker_is_away_for_a_minute(tmp_path: Path, broker: Broker) -> None:
    away(tmp_path, broker, 60)
