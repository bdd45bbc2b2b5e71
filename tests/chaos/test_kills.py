"""kill -9 at random moments: nothing is lost, nothing comes twice, the bytes are the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.killing import everything, finish, kill_after_epochs, plant_files
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


def test_local_engine_killed_eight_times(
    undisturbed: tuple[Path, list[str]], tmp_path: Path
) -> None:
    files, expected = undisturbed
    home = tmp_path / "home"
    for seed in range(8):
        kill_after_epochs(home, files, "local", 4, seed)
    finish(home, files, "local")
    assert everything(home) == expected
