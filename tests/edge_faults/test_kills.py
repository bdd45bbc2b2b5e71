"""Agents and the job killed at any moment: what was not read is marked, what was read is right."""

from __future__ import annotations

import time

import pytest

from streamgauge.kernel.time import SECOND
from streamgauge.testing.waiting import wait_until
from tests.edge_faults.scene import Scene
from tests.edge_faults.truth import Readings
from tests.relay import FAULTS, SPOIL, mixed

pytestmark = pytest.mark.chaos

# How far labels may be from the clock of this machine: half of a message's way, and then some.
APART = 1_000_000


def now() -> int:
    return time.time_ns() // 1_000


def let_pass(seconds: float) -> None:
    """Wait for time itself, where nobody is left who could say that it has passed."""
    end = now() + seconds * SECOND
    wait_until(lambda: now() >= end, seconds + 30.0, what="time to pass")


def dead(scene: Scene, site: str, seconds: float) -> int:
    """Kill an agent and let it be dead for a while; when it died."""
    scene.kill_agent(site)
    died = now()
    let_pass(seconds)
    return died


def missed(scene: Scene, site: str, died: int) -> set[int]:
    """Ticks between the death of an agent and the first reading after it."""
    labels = Readings.of(scene.log(site)).labels[site, "a"]
    back = next(label for label in labels if label > died + APART)
    return {tick for tick in scene.ticks(scene.answers()) if died + APART < tick < back}


def test_an_agent_is_killed_and_comes_back(scene: Scene) -> None:
    died = dead(scene, "east", 0.0)
    scene.wait_marked("east")
    scene.wait_ticks(2)
    scene.wait_kept("west")
    scene.start_agent("east")
    scene.wait_kept()
    verdict = scene.assert_right()
    away = missed(scene, "east", died)
    assert len(away) >= 2
    assert away <= set(verdict.marked_ticks["east"])


def test_an_agent_that_is_back_soon_does_not_vouch_for_what_it_missed(scene: Scene) -> None:
    deaths = []
    for _ in range(2):
        # Less than the latency: its first word comes before the ticks that it missed are closed.
        deaths.append(dead(scene, "east", 2.1))
        scene.start_agent("east")
        scene.wait_kept("east")
    verdict = scene.assert_right()
    for died in deaths:
        away = missed(scene, "east", died)
        assert away
        assert away <= set(verdict.marked_ticks["east"])


def test_an_agent_that_forgot_everything(scene: Scene) -> None:
    scene.kill_agent("east")
    (scene.directory / "east.state" / "spool").unlink()
    scene.start_agent("east")
    scene.wait_kept()
    scene.assert_right()


def test_the_job_is_killed_and_comes_back(scene: Scene) -> None:
    for _ in range(2):
        scene.kill_job()
        scene.start_job()
        scene.wait_kept()
    scene.assert_right()


def test_everything_is_killed(scene: Scene) -> None:
    scene.kill_agent("north")
    scene.kill_job()
    scene.kill_agent("east")
    scene.start_agent("east")
    scene.start_job()
    scene.start_agent("north")
    scene.wait_kept()
    scene.assert_right()


def test_an_agent_is_frozen(scene: Scene) -> None:
    scene.freeze("east")
    scene.wait_marked("east")
    scene.wait_kept("west")
    scene.thaw("east")
    scene.wait_kept()
    scene.assert_right()


def test_the_job_is_frozen(scene: Scene) -> None:
    scene.freeze("job")
    let_pass(5.0)
    scene.thaw("job")
    scene.wait_kept()
    scene.assert_right(kept=5)


@pytest.mark.nightly
def test_many_kills_in_a_bad_network(scene: Scene) -> None:
    # An agent ends when its very first word is refused as unreadable, so none is spoilt here.
    faults = tuple(fault for fault in FAULTS if fault != SPOIL)
    for seed, relay in enumerate(scene.relays.values()):
        relay.fate = mixed(0.2, seed, faults)
    for site in ("east", "west", "north", "east"):
        scene.kill_agent(site)
        scene.start_agent(site)
        scene.wait_ticks(2)
        scene.kill_job()
        scene.start_job()
        scene.wait_ticks(4)
    scene.mend()
    scene.wait_kept()
    scene.assert_right()
