"""The ticks at which deferred queries are looked at."""

from __future__ import annotations

import numpy as np

from streamgauge.operators.emission import Ints, Span


def checked_ticks(rows: Ints, span: Span, beat: int) -> Ints:
    """Ticks with rows; in a silence also whole multiples of the expected gap, while awake."""
    with_rows = np.unique(rows)
    if beat <= 0:
        return with_rows
    begins = np.concatenate(([span.tick], with_rows))
    ends = np.concatenate((with_rows, [span.last + 1]))
    awake = np.concatenate(([span.awake_until], with_rows + span.rest))
    parts = [with_rows]
    for begin, end, until in zip(begins.tolist(), ends.tolist(), awake.tolist(), strict=True):
        # Nobody is silent within a gap of the last rows.
        quiet = max(begin, until - span.rest + beat)
        first = (quiet // beat + 1) * beat
        parts.append(np.arange(first, min(end, until + 1), beat))
    return np.unique(np.concatenate(parts)).astype(np.int64)
