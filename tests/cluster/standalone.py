"""A real Spark standalone cluster on this machine: a master, and workers that come and go."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyspark

from streamgauge.checks.waiting import wait_until
from tests.java import spark_options

SPARK = Path(pyspark.__file__).parent
LOOPBACK = ("--host", "127.0.0.1", "--webui-port", "0")


@dataclass
class Cluster:
    """A master's address and its worker processes; one core and a gigabyte each."""

    folder: Path
    url: str = ""
    master: subprocess.Popen[bytes] | None = None
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)
    started: int = 0

    @property
    def log(self) -> Path:
        return self.folder / "master.log"

    def start_master(self) -> None:
        """Start a master; a second one has the address of the first."""
        port = self.url.rpartition(":")[2] or "0"
        self.log.write_text("")
        self.master = self._daemon("master.Master", self.log, *LOOPBACK, "--port", port)
        url = wait_until(self._address, 300, what="the master's address")
        assert url is not None
        self.url = url

    def _address(self) -> str | None:
        found = re.search(r"Starting Spark master at (spark://\S+)", self.log.read_text())
        return found[1] if found else None

    def add_worker(self) -> subprocess.Popen[bytes]:
        """Start a worker and wait until the master knows it."""
        before, name = self.registered, f"worker-{self.started}"
        self.started += 1
        self.workers.append(
            self._daemon(
                "worker.Worker",
                self.folder / f"{name}.log",
                *LOOPBACK,
                "--port",
                "0",
                "--cores",
                "1",
                "--memory",
                "1g",
                "--work-dir",
                str(self.folder / name),
                self.url,
            )
        )
        wait_until(lambda: self.registered > before, 300, what="a worker to be registered")
        return self.workers[-1]

    @property
    def registered(self) -> int:
        """Workers that this master has ever registered."""
        return self.log.read_text().count("Registering worker")

    @property
    def alive(self) -> list[subprocess.Popen[bytes]]:
        return [worker for worker in self.workers if worker.poll() is None]

    def kill_worker(self) -> None:
        """Kill -9 on the oldest worker and its executors."""
        end(self.alive[0])

    def fill(self, n: int = 2) -> None:
        """Bring the workers back to a number."""
        while len(self.alive) < n:
            self.add_worker()

    def _daemon(self, kind: str, log: Path, *arguments: str) -> subprocess.Popen[bytes]:
        """Start a master or a worker in a process group of its own."""
        spark_class = str(SPARK / "bin" / "spark-class")
        command = [spark_class, f"org.apache.spark.deploy.{kind}", *arguments]
        env = {
            **os.environ,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "512m",
            "SPARK_DAEMON_JAVA_OPTS": " ".join(spark_options()),
            "PYSPARK_PYTHON": sys.executable,
        }
        with log.open("ab") as out:
            return subprocess.Popen(
                command, stdout=out, stderr=out, env=env, start_new_session=True
            )


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill -9 on a process and all it started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@contextmanager
def running(folder: Path) -> Iterator[Cluster]:
    """A master and two workers until the end of the block."""
    cluster = Cluster(folder)
    try:
        cluster.start_master()
        cluster.fill()
        yield cluster
    finally:
        for process in [*cluster.workers, *([cluster.master] if cluster.master else [])]:
            end(process)
