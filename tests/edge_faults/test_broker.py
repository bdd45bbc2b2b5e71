"""A broker between agents and job that goes away and comes back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.edge_faults.checks import run_checks
from tests.edge_faults.scene import Scene
from tests.mosquitto_broker import Mosquitto

pytestmark = [pytest.mark.kills, pytest.mark.broker]


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Mosquitto]:
    with Mosquitto(tmp_path) as found:
        yield found


@pytest.mark.parametrize("ticks", [4, pytest.param(240, marks=pytest.mark.nightly)])
def test_a_broker_is_away_and_comes_back(tmp_path: Path, broker: Mosquitto, ticks: int) -> None:
    with Scene(tmp_path, broker=broker.url) as scene:
        scene.begin()
        broker.kill()
        scene.wait_marked("total")
        scene.wait_ticks(ticks)
        assert "total" in scene.marked()
        broker.start()
        run_checks(scene)
