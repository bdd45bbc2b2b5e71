"""Turns of operators, as a process that dies leaves them."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamgauge.engine.turns import Turns, turn
from streamgauge.log.attempts import died_at
from streamgauge.log.home import Home

EPOCH = 4


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.open(tmp_path / "home", shards=2)


def named(home: Home) -> dict[str, int]:
    """Who would be named if the process died now."""
    return dict(died_at(home, 1, EPOCH)[0])


def test_a_death_between_turns_is_laid_to_nobody(home: Home) -> None:
    with Turns(home, 1, EPOCH, "a-0", since=EPOCH):
        assert named(home) == {}
        for name in ("one", "two"):
            with turn(name, list):
                assert named(home) == {name: 1}
            assert named(home) == {}
    assert named(home) == {}
