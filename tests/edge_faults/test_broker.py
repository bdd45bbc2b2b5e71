"""A broker between agents and job that goes away and comes back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.edge_faults.scene import Scene
from tests.mosquitto_broker import Mosquitto

pytestmark = pytest.mark.chaos


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Mosquitto]:
    with Mosquitto(tmp_path) as found:
        yield found


def away(tmp_path: Path, broker: Mosquitto, ticks: int) -> None:
    """Take the broker away for so many ticks, and see what became of the answers."""
    with Scene(tmp_path, broker=broker.url) as scene:
        scene.mend()
        scene.wait_kept()
        broker.kill()
        scene.wait_marked("total")
        scene.wait_ticks(ticks)
        assert "total" in scene.marked()
        broker.start()
        scene.wait_kept()
        scene.assert_right()


def test_a_broker_is_away_for_seconds(tmp_path: Path, broker: Mosquitto) -> None:
    away(tmp_path, broker, 1)


@pytest.mark.nightly
def test_a_broker_is_away_for_a_minute(tmp_path: Path, broker: Mosquitto) -> None:
    away(tmp_path, broker, 60)
