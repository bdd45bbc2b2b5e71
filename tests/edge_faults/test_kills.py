"""Agents and the job killed or frozen, and clocks that are wrong: what was not read is marked."""

from __future__ import annotations

import pytest

from tests.edge_faults.checks import run_checks
from tests.edge_faults.scenarios import CLOCKS, KILLS, MORE_KILLS, Scenario
from tests.edge_faults.scene import Scene

pytestmark = pytest.mark.kills
NIGHTLY = [pytest.param(scenario, marks=pytest.mark.nightly) for scenario in MORE_KILLS]


@pytest.mark.parametrize("scenario", [*KILLS, *CLOCKS, *NIGHTLY], ids=lambda s: s.__name__)
def test_answers_hold(scene: Scene, scenario: Scenario) -> None:
    scenario(scene)
    run_checks(scene)
