"""Numbers of combinations of codes."""

from __future__ import annotations

import numpy as np

from streamgauge.kernel.columns import Combiner


def test_a_null_in_a_later_column_is_a_combination_of_its_own() -> None:
    first, second = np.array([0, 1], np.int32), np.array([1, -1], np.int32)
    combiner = Combiner()
    assert combiner.encode([first, second]).tolist() == [0, 1]
    assert combiner.interner.values == [(0, 1), (1, -1)]
