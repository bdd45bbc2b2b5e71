"""kill -9 on drivers of Spark and their Python workers: nothing is lost, nothing comes twice."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest

from tests.chaos.killing import (
    MASTER,
    Given,
    Undisturbed,
    everything,
    finish,
    python_workers,
    undisturbed_run,
    while_it_runs,
)

pytestmark = [pytest.mark.jvm, pytest.mark.kills]
MORE = [pytest.param(seed, marks=pytest.mark.nightly) for seed in range(1, 5)]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    return undisturbed_run(tmp_path_factory.mktemp("undisturbed"), n_files=8)


@pytest.mark.budget(300, "two drivers, each with a JVM of its own")
@pytest.mark.parametrize("seed", [0, *MORE])
def test_python_workers_and_drivers_are_killed(
    undisturbed: Undisturbed, tmp_path: Path, seed: int
) -> None:
    home, dice = tmp_path / "home", np.random.default_rng(seed)
    files = Given(undisturbed.files, tmp_path / "files")
    with while_it_runs(home, files.folder, MASTER) as victim:
        for _ in range(2):
            files.epochs(home, victim, int(dice.integers(1, 3)))
            os.kill(int(dice.choice(python_workers(victim))), signal.SIGKILL)
        files.epochs(home, victim, 1)
    # What was killed last was the driver, with all it had started.
    finish(home, files.rest(), "spark", MASTER)
    assert everything(home) == undisturbed.answers
