"""Distinct counts: intervals hold as stated, and kept sketches miss independently."""

from __future__ import annotations

import numpy as np
import pytest

from bench.distinct import Column, covered, generated
from streamgauge.checks.trials import cutoff


@pytest.mark.slow
def test_intervals_hold_and_misses_are_independent() -> None:
    """Four checks, each at a false-alarm rate of one in a million.

    One seed for all made every sketch of a column miss or none: 40 misses of one column, not 11.
    """
    counts = [column for column in generated(40) if len(column.values) <= 20_000]
    found = covered([*counts, Column("four", np.arange(4.0).view(np.int64))], 20)
    missed, chance = found.missed, 1.0 - found.promised
    assert missed.sum() <= cutoff(missed.size, chance)
    assert missed.sum(axis=(1, 2)).max() <= cutoff(40, chance, 1e-6 / len(missed))
    assert missed.sum(axis=(0, 2)).max() <= cutoff(2 * len(missed), chance, 1e-6 / 20)
    assert missed.all(axis=2).sum() <= cutoff(20 * len(missed), chance**2)
    assert not missed[-1].any(), "four values are counted exactly"
