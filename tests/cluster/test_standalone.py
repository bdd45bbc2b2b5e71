"""A real Spark standalone cluster of two workers on this machine, one of which is killed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyspark
import pytest

from streamgauge.testing.waiting import wait_until
from tests.chaos.killing import committed, everything, finish, kill_group, plant_files, start

SPARK = Path(pyspark.__file__).parent


@dataclass
class Cluster:
    """A master's address and its worker processes."""

    url: str
    workers: list[subprocess.Popen[bytes]]


def daemon(kind: str, log: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """Start a master or a worker in a process group of its own."""
    command = [str(SPARK / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}", *arguments]
    env = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    with log.open("wb") as out:
        return subprocess.Popen(command, stdout=out, stderr=out, env=env, start_new_session=True)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A master and two workers of one core each, on loopback."""
    log = tmp_path / "master.log"
    here = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
    started = [daemon("master.Master", log, *here)]

    def address() -> str | None:
        found = re.search(r"Starting Spark master at (spark://\S+)", log.read_text())
        return found[1] if found else None

    try:
        url = wait_until(address, 60, what="the master's address")
        assert url is not None
        for number in range(2):
            folder = str(tmp_path / f"worker-{number}")
            more = ("--cores", "1", "--memory", "1g", "--work-dir", folder, url)
            started.append(daemon("worker.Worker", tmp_path / f"worker-{number}.log", *here, *more))
        text = "Registering worker"
        wait_until(lambda: log.read_text().count(text) == 2, 60, what="two workers")
        yield Cluster(url, started[1:])
    finally:
        for process in started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def test_the_same_job_on_two_workers_one_of_them_killed(cluster: Cluster, tmp_path: Path) -> None:
    files = plant_files(tmp_path / "files", n_files=16)
    finish(tmp_path / "local", files, "local")
    home = tmp_path / "home"
    victim = start(home, files, "spark", cluster.url)
    try:
        wait_until(
            lambda: committed(home) >= 3 or victim.poll() is not None, 120, what="three epochs"
        )
        kill_group(cluster.workers[0])
        wait_until(lambda: victim.poll() is not None, 240, what="the end on one worker")
    finally:
        if victim.poll() is None:
            kill_group(victim)
    log = (tmp_path / "home.log").read_text(errors="replace")
    assert victim.returncode == 0, log[-3000:]
    assert everything(home) == everything(tmp_path / "local")
