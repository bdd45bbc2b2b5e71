"""Bars that banks of sketches give, with what each cause adds, as columns over groups."""

from __future__ import annotations

import numpy as np

from streamgauge.contracts.bars import sides_of
from streamgauge.operators.emission import Flags, Floats, Ints
from streamgauge.synopses.bank import Bank
from streamgauge.synopses.questions import Quantile, Question


def columns_of(bank: Bank, question: Question, counts: Ints) -> Floats:
    """Bars as a matrix; groups without rows have nothing, or none of what is counted."""
    bars = bank.bars(question)
    out = np.zeros((len(counts), 7))
    out[:, 0], out[:, 1], out[:, 2] = bars.value, bars.low, bars.high
    nothing = np.nan if isinstance(question, Quantile) else 0.0
    out[counts == 0, :3] = nothing
    out[:, 3], out[:, 4] = sides_of(out[:, 0], out[:, 1], out[:, 2])
    return out


def widen(bars: Floats, other: Floats, late: Flags) -> None:
    """Widen bars of groups with late rows to hold those rows too, and charge them with it."""
    there = late & ~np.isnan(other[:, 0]) & ~np.isnan(bars[:, 0])
    low, high = bars[there, 1], bars[there, 2]
    bars[there, 1] = np.minimum(low, other[there, 1])
    bars[there, 2] = np.maximum(high, other[there, 2])
    bars[there, 5], bars[there, 6] = low - bars[there, 1], bars[there, 2] - high
