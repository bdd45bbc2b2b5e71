"""A long stream with ever new groups and texts leaves state as large as a short one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.test_state_size import ALL, as_large_as, sizes

pytestmark = pytest.mark.nightly


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", [name for name in ALL if name != "rings"])
def test_two_hundred_thousand_groups_pass(tmp_path: Path, name: str) -> None:
    """200 windows of 1,000 new groups each; fifty pass before state is compared."""
    found = sizes(tmp_path, ALL[name], 200, 1_000)
    as_large_as(found[125:], found[50:125])


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("name", ["sums", "hll"])
def test_a_week_passes(tmp_path: Path, name: str) -> None:
    """60,480 windows of ten seconds."""
    found = sizes(tmp_path, ALL[name], 60_480, 50)
    as_large_as(found[30_000:], found[2_000:30_000])
