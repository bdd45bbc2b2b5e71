"""Due: the ticks at which a periodic query is checked."""

from __future__ import annotations

import numpy as np

from streamgauge.operators.emission import Ints, Span


def due_ticks(with_rows: Ints, span: Span, period: int, patience: int) -> list[int]:
    """Multiples of a period in the span that lie within the patience of a query after a row."""
    lasting = max(span.rest, patience)
    starts = np.concatenate(([span.tick + 1], with_rows))
    until = np.concatenate(([span.awake_until - span.rest], with_rows)) + lasting
    stops = np.minimum(until, span.last)
    # Rows that follow within the patience make one stretch.
    apart = starts[1:] > stops[:-1] + 1
    first = starts[np.concatenate(([True], apart))]
    last = np.maximum.accumulate(stops)[np.concatenate((apart, [True]))]
    return [
        tick
        for start, stop in zip(first.tolist(), last.tolist(), strict=True)
        for tick in range(-(-start // period) * period, stop + 1, period)
    ]
