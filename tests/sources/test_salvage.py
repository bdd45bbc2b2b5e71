"""Salvage: every bad row is found, and few attempts are made."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from streamgauge.sources.salvage import salvage


@given(n=st.integers(0, 300), bad=st.sets(st.integers(0, 299), max_size=20))
def test_runs_and_lost_rows_tile_the_range(n: int, bad: set[int]) -> None:
    bad = {row for row in bad if row < n}
    attempts = 0

    def attempt(first: int, stop: int) -> list[int] | None:
        nonlocal attempts
        attempts += 1
        return None if bad & set(range(first, stop)) else list(range(first, stop))

    salvaged = salvage(n, attempt)
    assert salvaged.lost.tolist() == sorted(bad)
    kept = [row for _, _, run in salvaged.runs for row in run]
    assert kept == [row for row in range(n) if row not in bad]
    assert attempts <= 1 + 2 * len(bad) * math.ceil(math.log2(n + 1))
