"""kill -9 of a local engine at random moments: nothing is lost or doubled, the bytes are the same.

The moments between its durable steps are in tests/engine/test_crashes.py, one by one.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.killing import everything, finish_forked, kill_forked, plant_files
from tests.chaos.victim import VIEWS, main

pytestmark = pytest.mark.kills


def undisturbed(home: Path, files: Path) -> list[str]:
    """What a run that nobody kills answers."""
    finish_forked(main, home, files, "local")
    answers = everything(home)
    assert len(answers) > 1000
    for name in VIEWS:
        assert sum(f"query='{name}'" in answer for answer in answers) > 50
    return answers


@pytest.mark.parametrize(
    ("kills", "n_files"), [(2, 20), pytest.param(8, 100, marks=pytest.mark.nightly)]
)
def test_answers_are_the_same_bytes(tmp_path: Path, kills: int, n_files: int) -> None:
    files = plant_files(tmp_path / "files", n_files=n_files)
    home = tmp_path / "home"
    for seed in range(kills):
        kill_forked(main, home, files, "local", most=4, seed=seed)
    finish_forked(main, home, files, "local")
    assert everything(home) == undisturbed(tmp_path / "undisturbed", files)
