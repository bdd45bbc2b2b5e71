"""Block window: quantiles of the last rows from blocks of equal size, the simplest scheme.

The window is cut into blocks of a small share of its rows; each has its own summary, all are
combined for an answer, and the oldest goes when the window has passed it.
"""

from __future__ import annotations

from streamgauge.synopses.quantiles.window_blocks import Level
from streamgauge.synopses.quantiles.window_quantiles import WindowQuantiles


class BlockWindow(WindowQuantiles):
    """Quantiles of a sliding window within `epsilon` of its rows, for certain.

    Parameters
    ----------
    epsilon
        Error in rank, as a share of the rows in the window.
    width
        Rows later than `now - width` count. Times are row numbers for a window of rows.
    any_width
        Serve windows of time, of any number of rows, and any shorter width asked for later; about
        log2 of the rows as much memory. Without it, `epsilon` supposes one row per unit of time.
    seed
        Not used: nothing here is random.

    Examples
    --------
    >>> import numpy as np
    >>> from streamgauge.synopses.questions import Quantile
    >>> window = BlockWindow(0.05, width=1000)
    >>> window.update(np.arange(5000.0))
    >>> bar = window.query(Quantile(0.5))
    >>> bar.low <= 4499 <= bar.high
    True
    >>> any_window = BlockWindow(0.05, width=1000, any_width=True)
    >>> any_window.update(np.arange(5000.0))
    >>> any_window.query_over(Quantile(0.5), width=100).holds(4949)
    True

    References
    ----------
    GK16, LLXY04: docs/reference/synopses/quantiles_deterministic.md
    """

    name = "block_window"
    cite = "GK16 sec 5.2"

    def _levels(self, rows: int, size: int, hidden: float) -> list[Level]:
        # Whole blocks in the window, the open one and the one across the edge.
        gap = hidden / (rows / size + 2.0) - 1.0
        return [Level(size, gap, every=True)]

    def _widened(self, top: list[Level], wide: list[Level], stop: int) -> list[Level]:
        return [top[0].paired(wide[0].gap, stop)]
