"""What attempts leave behind says who was at work when a process died."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamgauge.log.attempts import Marker, died_at, forget_attempts, marker_path
from streamgauge.log.home import Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.open(tmp_path / "home", shards=16)


def died(home: Home, shard: int, epoch: int, attempt: str, name: str) -> Marker:
    """The marker of an attempt that nobody removed."""
    marker = Marker(marker_path(home, shard, attempt), epoch)
    marker.write(name)
    return marker


def test_deaths_count_for_their_shard_and_epoch_alone(home: Home) -> None:
    left = [
        died(home, 1, 7, "a-0", "plant/one"),
        died(home, 1, 7, "b-0", "plant/one"),
        died(home, 1, 7, "c-0", "plant/two"),
        died(home, 1, 7, "d-0", ""),
        died(home, 1, 6, "e-0", "plant/one"),
        died(home, 10, 7, "f-0", "plant/one"),
    ]
    left[2].overran()
    assert died_at(home, 1, 7) == ({"plant/one": 2, "plant/two": 1}, {"plant/two"})
    assert died_at(home, 1, 6) == ({"plant/one": 1}, set())
    assert died_at(home, 0, 7) == ({}, set())
    forget_attempts(home, 6)
    assert died_at(home, 1, 6) == ({}, set())
    assert died_at(home, 10, 7) == ({"plant/one": 1}, set())
    for marker in left:
        marker.remove()
    assert died_at(home, 1, 7) == ({}, set())
