"""Contracts that change while agents are away: each answer keeps the one it was given under."""

from __future__ import annotations

import pytest

import streamgauge as sg
from tests.edge_faults.scene import Scene
from tests.edge_faults.truth import marked

pytestmark = pytest.mark.chaos
TOTAL = """
ALTER QUERY total AS
SELECT SUM(value) FROM tags [PARTITION BY site, tag ROWS 1] WHERE site <> 'liar'
GUARANTEED WITHIN {within};
"""


def alter(scene: Scene, within: float, version: int) -> None:
    """Ask for another width, and wait for an answer that has it."""

    def kept() -> bool:
        answer = scene.newest("total")
        return answer is not None and answer.version == version and not marked(answer)

    with sg.connect(scene.home, engine="local") as gauge:
        gauge.sql(TOTAL.format(within=within))
    scene.wait(kept, f"an answer within {within:g}")


def test_a_contract_is_narrowed_and_widened(scene: Scene) -> None:
    alter(scene, 3.0, 2)
    scene.wait_ticks(3)
    scene.kill_agent("west")
    # Widths that the dead agent holds are not given to others; it confirms when it is back.
    with sg.connect(scene.home, engine="local") as gauge:
        gauge.sql(TOTAL.format(within=20.0))
    scene.wait_marked("total")
    scene.start_agent("west")
    scene.wait_kept()
    alter(scene, 12.0, 4)
    scene.wait_kept()
    scene.assert_right()
