"""Which cells are watched, and what becomes of those that change."""

from __future__ import annotations

import numpy as np
import pytest

from streamgauge.drift.cells import ASKED, TIMER, WATCH, Links, fresh
from streamgauge.drift.paths import no_paths, with_room
from streamgauge.drift.regime import choose, watched_share
from streamgauge.operators.emission import ALWAYS

pytestmark = pytest.mark.slow


def test_nothing_is_shared_out_where_all_cells_ask_to_be_watched() -> None:
    """However many they are: 20,000 cells by watch cost more than a tick has."""
    assert watched_share(10.0, 140_000.0, 0.0) == 1.0
    assert watched_share(10.0, 140_000.0, 70.0) == 0.0


@pytest.mark.parametrize(("share", "regime", "due"), [(1.0, WATCH, int(ALWAYS)), (0.0, TIMER, 500)])
def test_a_cell_that_is_to_be_watched_is_due_from_now_on(
    share: float, regime: int, due: int
) -> None:
    memory, cells = fresh(1), np.zeros(1, ASKED)
    memory.cell["regime"], memory.cell["evaluations"], memory.cell["usual"] = TIMER, 3, 1e6
    memory.due[:] = 500
    cells["width"], cells["confidence"] = 1.0, 0.9
    links = Links(np.array([0, 1]), np.zeros(1, np.int32), np.empty(0))
    choose(memory, cells, links, with_room(no_paths(), 1), share, False, True)
    assert memory.cell["regime"][0] == regime
    assert memory.due[0] == due
