"""kill -9 at random moments: nothing is lost, nothing comes twice, the bytes are the same."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest

from streamgauge.testing.waiting import wait_until
from tests.chaos.killing import (
    committed,
    everything,
    finish,
    kill_after_epochs,
    kill_group,
    plant_files,
    python_workers,
    start,
)
from tests.chaos.victim import VIEWS


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """Files, and what an undisturbed local run answers of them."""
    root = tmp_path_factory.mktemp("undisturbed")
    files = plant_files(root / "files", n_files=30)
    finish(root / "home", files, "local")
    answers = everything(root / "home")
    assert len(answers) > 1000
    for name in VIEWS:
        assert sum(f"query='{name}'" in answer for answer in answers) > 50
    return files, answers


def test_spark_driver_killed_three_times(
    undisturbed: tuple[Path, list[str]], tmp_path: Path
) -> None:
    files, expected = undisturbed
    home = tmp_path / "home"
    for seed in range(3):
        kill_after_epochs(home, files, "spark", 6, seed, "local[2,4]")
    finish(home, files, "spark", "local[2,4]")
    assert everything(home) == expected


def test_python_workers_killed_while_spark_runs(
    undisturbed: tuple[Path, list[str]], tmp_path: Path
) -> None:
    files, expected = undisturbed
    home = tmp_path / "home"
    victim = start(home, files, "spark", "local[2,4]")
    dice = np.random.default_rng(1)
    killed = 0
    try:
        for _ in range(3):
            target = committed(home) + 2
            wait_until(
                lambda t=target: committed(home) >= t or victim.poll() is not None,
                120,
                what="some epochs",
            )
            workers = python_workers(victim)
            if victim.poll() is None and workers:
                os.kill(int(dice.choice(workers)), signal.SIGKILL)
                killed += 1
        wait_until(lambda: victim.poll() is not None, 240, what="the end")
    finally:
        if victim.poll() is None:
            kill_group(victim)
    if victim.returncode != 0:
        finish(home, files, "spark", "local[2,4]")
    assert killed
    assert everything(home) == expected
