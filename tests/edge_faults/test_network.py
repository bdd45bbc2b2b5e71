"""Messages that are lost, doubled, late, overtaken or spoilt: no unmarked answer is wrong."""

from __future__ import annotations

import pytest

from tests.edge_faults.scene import Scene
from tests.relay import DELAY, PASS, SWALLOW, always, mixed

pytestmark = pytest.mark.chaos


def test_a_network_that_works(scene: Scene) -> None:
    scene.wait_kept(n=8)
    scene.assert_right(kept=20)


def test_a_third_of_all_messages_go_wrong(scene: Scene) -> None:
    for seed, relay in enumerate(scene.relays.values()):
        relay.fate = mixed(0.33, seed)
    scene.wait_ticks(12)
    for relay in scene.relays.values():
        relay.fate = always(PASS)
    scene.wait_kept()
    scene.assert_right(kept=20)


def test_a_hole_in_the_network(scene: Scene) -> None:
    scene.relays["east"].fate = always(SWALLOW)
    scene.wait_marked("east")
    scene.wait_ticks(2)
    assert {"east", "total", "highest", "lowest"} <= scene.marked()
    scene.relays["east"].fate = always(PASS)
    scene.wait_kept()
    scene.assert_right()
    scene.wait_kept("west")


def test_messages_later_than_the_latency(scene: Scene) -> None:
    """The agent gives up on them and sends them again; the job hears them late, and twice."""
    relay = scene.relays["west"]
    relay.seconds = 4.0
    relay.fate = always(DELAY)
    scene.wait_marked("west")
    scene.wait_ticks(5)
    relay.fate = always(PASS)
    scene.wait_kept()
    relay.seconds = 0.3
    scene.assert_right()
