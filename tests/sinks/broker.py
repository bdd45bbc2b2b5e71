"""A real Kafka broker that can be stopped and started again over the same data."""

from __future__ import annotations

import base64
import shutil
import socket
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from streamgauge.testing.waiting import wait_until
from tests.kafka_broker import SETTINGS, jars


@dataclass
class Broker:
    """A broker: where it is, and how it is run."""

    port: int
    folder: Path
    program: tuple[str, ...]
    _process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        command = [*self.program, "kafka.Kafka", str(self.folder / "server.properties")]
        with (self.folder / "kafka.log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        wait_until(self._listens, 120, what="the Kafka broker")

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _listens(self) -> bool:
        with socket.socket() as probe:
            probe.settimeout(1)
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


@contextmanager
def restartable(folder: Path) -> Iterator[Broker]:
    """Run a broker; it may be stopped and started inside of the block."""
    java = shutil.which("java")
    if java is None:
        pytest.skip("Java is not here to run a Kafka broker")
    port, controller = _free_ports(2)
    settings = folder / "server.properties"
    text = SETTINGS.format(port=port, controller=controller, logs=folder / "kafka-logs")
    settings.write_text(text)
    program = (java, "-Xmx384m", "-cp", f"{jars()}/*")
    number = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    tool = [*program, "kafka.tools.StorageTool", "format", "-t", number, "-c", str(settings)]
    subprocess.run(tool, check=True, capture_output=True, timeout=120)
    broker = Broker(port, folder, program)
    try:
        broker.start()
        yield broker
    finally:
        broker.stop()


def _free_ports(n: int) -> list[int]:
    probes = [socket.socket() for _ in range(n)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [int(probe.getsockname()[1]) for probe in probes]
    for probe in probes:
        probe.close()
    return ports
