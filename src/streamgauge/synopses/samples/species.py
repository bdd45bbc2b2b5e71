"""Species: how many different items there are, judged from a sample.

No sample of a small share of the rows can tell one million rows of one item from one item and a
few hundred seen once (CCMN00): the error of any estimator is at least of order sqrt(n / k). So the
bar is wide and honest: what was seen is below; above stands what the second half of the sample
proves about rows that the first half does not know.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from streamgauge.synopses.samples.designs import Drawn, Replaced, Simple, Span, Unsized, shuffled
from streamgauge.synopses.samples.limits import binomial_limits, hypergeometric_limits, share_limits

Floats = npt.NDArray[np.float64]


def distinct_span(drawn: Drawn, delta: float) -> Span:
    """Different items among all rows; only the upper end can fail."""
    values, design = drawn.values, drawn.design
    seen = float(len(np.unique(values)))
    if design.exhaustive:
        return Span(seen, seen, seen)
    rows = design.n.high if isinstance(design, Unsized) else design.mass
    most = max(seen, rows)
    if not isinstance(design, Replaced):
        most = max(seen, rows - len(values) + seen)
    if isinstance(design, Simple | Replaced | Unsized) and len(values) > 1:
        half = len(values) // 2
        order = shuffled(values, design.seed)
        known, test = np.unique(order[:half]), order[half:]
        new = len(test) - int(np.isin(test, known).sum())
        most = min(most, len(known) + _unknown_rows(design, new, half, len(test), delta))
    most = max(seen, math.floor(most + 1e-9))
    return Span(min(max(guaranteed_error(values, rows), seen), most), seen, most)


def _unknown_rows(
    design: Simple | Replaced | Unsized, new: int, half: int, tested: int, delta: float
) -> float:
    """Upper limit of the rows whose item the first half of the sample does not hold."""
    if isinstance(design, Simple):
        return float(hypergeometric_limits(new, tested, design.n - half, delta)[1])
    if isinstance(design, Replaced):
        return binomial_limits(new, tested, delta)[1] * design.n
    # Half the chance is spent on the number of rows.
    return float(share_limits(new / tested, tested, delta / 2.0)[1]) * design.n.high


def guaranteed_error(values: Floats, rows: float) -> float:
    """Estimate within about sqrt(n / k) of the truth: items seen once count for sqrt(n / k) each.

    >>> guaranteed_error(np.array([1.0, 1.0, 2.0, 3.0]), 16.0)
    5.0
    """
    if not len(values):
        return 0.0
    _, times = np.unique(values, return_counts=True)
    once = int((times == 1).sum())
    return math.sqrt(max(1.0, rows / len(values))) * once + float(len(times) - once)
