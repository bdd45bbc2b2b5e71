"""Messages lost, doubled, late, overtaken or spoilt, and contracts that change meanwhile."""

from __future__ import annotations

import pytest

from tests.edge_faults.checks import run_checks
from tests.edge_faults.scenarios import NETWORK, Scenario
from tests.edge_faults.scene import Scene

pytestmark = pytest.mark.kills


@pytest.mark.parametrize("scenario", NETWORK, ids=lambda s: s.__name__)
def test_answers_hold(scene: Scene, scenario: Scenario) -> None:
    scenario(scene)
    run_checks(scene)
