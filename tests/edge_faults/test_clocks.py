"""Clocks that are wrong: labels are on the coordinator's clock, so nothing is."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.edge_faults.scene import Scene
from tests.edge_faults.truth import Readings

pytestmark = pytest.mark.chaos


def test_agents_whose_clocks_are_minutes_off(tmp_path: Path) -> None:
    with Scene(tmp_path) as scene:
        scene.start_job()
        scene.start_agent("east", skew=300.0)
        scene.start_agent("west", skew=-3600.0)
        scene.start_agent("north")
        scene.wait_kept(n=6)
        scene.assert_right()
        now = time.time_ns() // 1_000
        for site in ("east", "west", "north"):
            newest = Readings.of(scene.log(site)).upto()
            # Corrected to within half of a message's way; a minute is generous for any machine.
            assert abs(newest - now) < 60_000_000


def test_an_agent_whose_clock_is_set_while_it_is_away(scene: Scene) -> None:
    scene.kill_agent("east")
    scene.start_agent("east", skew=-120.0)
    scene.wait_kept()
    scene.kill_agent("east")
    scene.start_agent("east", skew=120.0)
    scene.wait_kept()
    scene.assert_right()
