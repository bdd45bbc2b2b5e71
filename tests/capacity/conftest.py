"""Costs that do not change when a machine is measured anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamgauge.capacity.costs import Costs

FIXED = Path(__file__).parent / "fixed_costs.json"


@pytest.fixture(scope="session")
def costs() -> Costs:
    """Costs with round numbers."""
    return Costs.read(FIXED)
