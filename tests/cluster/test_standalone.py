"""A cluster that loses workers, drivers and its master answers as one undisturbed process does."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from streamgauge.testing.waiting import wait_until
from tests.chaos.killing import committed, everything, finish, kill_group, start
from tests.cluster.conftest import Undisturbed
from tests.cluster.standalone import Cluster, end


@contextmanager
def job(home: Path, files: Path, cluster: Cluster) -> Iterator[subprocess.Popen[bytes]]:
    """A driver on the cluster that is gone after the block."""
    victim = start(home, files, "spark", cluster.url)
    try:
        yield victim
    finally:
        if victim.poll() is None:
            kill_group(victim)


def wait_for_epoch(home: Path, victim: subprocess.Popen[bytes], epoch: int) -> None:
    wait_until(
        lambda: committed(home) >= epoch or victim.poll() is not None,
        600,
        what=f"epoch {epoch}",
    )


def to_the_end(home: Path, victim: subprocess.Popen[bytes]) -> None:
    wait_until(lambda: victim.poll() is not None, 600, what="the end")
    log = (home.parent / f"{home.name}.log").read_text(errors="replace")
    assert victim.returncode == 0, log[-3000:]


def test_a_worker_is_killed_and_another_joins(
    cluster: Cluster, undisturbed: Undisturbed, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    with job(home, undisturbed.files, cluster) as victim:
        wait_for_epoch(home, victim, 3)
        cluster.kill_worker()
        wait_for_epoch(home, victim, 6)
        cluster.add_worker()
        to_the_end(home, victim)
    assert everything(home) == undisturbed.answers


def test_the_driver_is_killed_and_started_again(
    cluster: Cluster, undisturbed: Undisturbed, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    with job(home, undisturbed.files, cluster) as victim:
        wait_for_epoch(home, victim, 4)
        assert victim.poll() is None
    seen = everything(home)
    finish(home, undisturbed.files, "spark", cluster.url)
    assert len(seen) < len(undisturbed.answers)
    assert everything(home) == undisturbed.answers


def test_the_master_dies_and_the_job_goes_on(
    cluster: Cluster, undisturbed: Undisturbed, tmp_path: Path
) -> None:
    """Executors that run need no master; a driver that is killed then waits for the new one."""
    home = tmp_path / "home"
    with job(home, undisturbed.files, cluster) as victim:
        wait_for_epoch(home, victim, 2)
        assert cluster.master is not None
        end(cluster.master)
        wait_for_epoch(home, victim, committed(home) + 2)
    for worker in cluster.alive:
        end(worker)
    cluster.start_master()
    cluster.fill()
    finish(home, undisturbed.files, "spark", cluster.url)
    assert everything(home) == undisturbed.answers


def killed_at_random(
    cluster: Cluster, undisturbed: Undisturbed, home: Path, times: int, seed: int
) -> None:
    """Kill a worker or the driver at random moments, then let it finish."""
    dice = np.random.default_rng(seed)
    left = times
    while left:
        with job(home, undisturbed.files, cluster) as victim:
            while left and victim.poll() is None:
                wait_for_epoch(home, victim, committed(home) + int(dice.integers(1, 3)))
                left -= 1
                if dice.random() < 0.5:
                    break
                cluster.kill_worker()
                cluster.fill()
        if (home / "done").exists():
            break
    finish(home, undisturbed.files, "spark", cluster.url)


def test_workers_and_drivers_killed_at_random(
    cluster: Cluster, undisturbed: Undisturbed, tmp_path: Path
) -> None:
    killed_at_random(cluster, undisturbed, tmp_path / "home", 4, seed=2)
    assert everything(tmp_path / "home") == undisturbed.answers


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(5))
def test_many_kills_at_random(
    cluster: Cluster, undisturbed: Undisturbed, tmp_path: Path, seed: int
) -> None:
    killed_at_random(cluster, undisturbed, tmp_path / "home", 5, seed=100 + seed)
    assert everything(tmp_path / "home") == undisturbed.answers
