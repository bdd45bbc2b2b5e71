"""Twenty-five random kills of a Spark driver on one home."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.killing import everything, finish, kill_after_epochs, plant_files

pytestmark = [pytest.mark.nightly, pytest.mark.jvm, pytest.mark.kills]


def test_spark_driver_killed_twenty_five_times(tmp_path: Path) -> None:
    files = plant_files(tmp_path / "files", n_files=90)
    finish(tmp_path / "undisturbed", files, "local")
    home = tmp_path / "home"
    for seed in range(25):
        kill_after_epochs(home, files, "spark", 4, seed, "local[2,4]")
    finish(home, files, "spark", "local[2,4]")
    assert everything(home) == everything(tmp_path / "undisturbed")
