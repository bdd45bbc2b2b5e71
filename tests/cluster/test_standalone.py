"""A cluster that loses workers, drivers and its master answers as one undisturbed process does."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from streamgauge.checks.waiting import wait_until
from tests.chaos.killing import (
    Given,
    Undisturbed,
    committed,
    everything,
    finish,
    while_it_runs,
)
from tests.cluster.standalone import Cluster, end

pytestmark = [pytest.mark.jvm, pytest.mark.kills]


@pytest.mark.budget(400, "a cluster of JVMs, and two drivers one after another")
def test_workers_a_driver_and_the_master_are_killed(
    cluster: Cluster, undisturbed: Undisturbed, tmp_path: Path
) -> None:
    home, files = tmp_path / "home", Given(undisturbed.files, tmp_path / "files")
    with while_it_runs(home, files.folder, cluster.url) as driver:
        files.epochs(home, driver, 1)
        cluster.kill_worker()
        files.epochs(home, driver, 1)
        cluster.add_worker()
        cluster.kill_worker()
        files.epochs(home, driver, 1)
        cluster.add_worker()
        assert cluster.master is not None
        end(cluster.master)
        # Executors that run need no master.
        files.epochs(home, driver, 2)
    # A driver that is started again goes on where the one before it was killed.
    for worker in cluster.alive:
        end(worker)
    cluster.start_master()
    cluster.fill()
    finish(home, files.rest(), "spark", cluster.url)
    assert everything(home) == undisturbed.answers


@pytest.mark.nightly
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(6))
def test_workers_and_drivers_killed_at_random(
    cluster: Cluster, undisturbed: Undisturbed, tmp_path: Path, seed: int
) -> None:
    home, dice = tmp_path / "home", np.random.default_rng(100 + seed)
    left = 5
    while left and not (home / "done").exists():
        with while_it_runs(home, undisturbed.files, cluster.url) as driver:
            while left and driver.poll() is None:
                wait_for_more(home, driver, int(dice.integers(1, 3)))
                left -= 1
                if dice.random() < 0.5:
                    break
                cluster.kill_worker()
                cluster.fill()
    finish(home, undisturbed.files, "spark", cluster.url)
    assert everything(home) == undisturbed.answers


def wait_for_more(home: Path, driver: subprocess.Popen[bytes], n: int) -> None:
    """Wait for some more epochs, or for the end of the driver."""
    target = committed(home) + n
    wait_until(
        lambda: committed(home) >= target or driver.poll() is not None, 600, what=f"epoch {target}"
    )
