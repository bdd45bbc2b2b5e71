"""Windows over panes of banks hold every row of their panes, late ones too."""

from __future__ import annotations

import numpy as np
import pytest

from streamgauge.synopses.distinct.hll import Hll
from streamgauge.synopses.distinct.theta import Theta
from streamgauge.synopses.exact import Exact
from streamgauge.synopses.frequencies.count_min import CountMin
from streamgauge.synopses.questions import Distinct, Frequency, Question
from streamgauge.synopses.synopsis import Synopsis
from streamgauge.windows.bank_panes import BankPanes

GROUP = np.zeros(1, np.int32)
LENGTH, LATE = 4, 77


@pytest.mark.parametrize("late", range(3, 9))
@pytest.mark.parametrize(
    ("model", "question"),
    [
        (Hll(8), Distinct()),
        (Theta(4), Distinct()),
        (Exact(), Distinct()),
        (CountMin(50, 3, seed=2), Frequency(LATE)),
    ],
    ids=["hll", "theta", "exact", "count_min"],
)
def test_a_late_row_is_in_each_later_window_over_its_pane(
    model: Synopsis, question: Question, late: int
) -> None:
    """Ends 6 to 8 are in one block: panes up to 4 are a suffix, later ones the prefix."""
    for asked in (6, 7, 8):
        panes = BankPanes(model)
        for pane in range(1, asked + 1):
            panes.add(pane, GROUP, np.array([10 * pane]))
            panes.window(pane, LENGTH)
        panes.add(late, GROUP, np.array([LATE]))
        for end in range(asked, 9):
            alive = sum(end - LENGTH < pane <= end for pane in range(1, asked + 1))
            found = int(end - LENGTH < late <= end)
            bank, counts = panes.window(end, LENGTH)
            expected = found if isinstance(question, Frequency) else alive + found
            assert bank.bars(question).value.tolist() == [expected]
            assert counts.tolist() == [alive + found]
