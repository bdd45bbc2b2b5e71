"""kill -9 on drivers of Spark and their Python workers: nothing is lost, nothing comes twice."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest

from tests.chaos.killing import (
    MASTER,
    Undisturbed,
    epochs,
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
    return undisturbed_run(tmp_path_factory.mktemp("undisturbed"), n_files=22)


@pytest.mark.budget(300, "three drivers, each with a JVM of its own")
@pytest.mark.parametrize("seed", [0, *MORE])
def test_python_workers_and_drivers_are_killed(
    undisturbed: Undisturbed, tmp_path: Path, seed: int
) -> None:
    home, dice = tmp_path / "home", np.random.default_rng(seed)
    with while_it_runs(home, undisturbed.files, MASTER) as victim:
        for _ in range(2):
            epochs(home, victim, int(dice.integers(1, 3)))
            os.kill(int(dice.choice(python_workers(victim))), signal.SIGKILL)
        epochs(home, victim, 1)
    # What was killed above was a driver, too.
    with while_it_runs(home, undisturbed.files, MASTER) as victim:
        epochs(home, victim, int(dice.integers(1, 3)))
    assert len(everything(home)) < len(undisturbed.answers), "killed before its end"
    finish(home, undisturbed.files, "spark", MASTER)
    assert everything(home) == undisturbed.answers
