"""Arasu-Manku: quantiles of the last rows from blocks of many sizes, fine where they are long.

Every level cuts the rows into blocks twice as long as the level below, and all blocks hide the same
number of rows. A window is covered by one block of each level at most: short ones near its old
edge, then ever longer ones. So the errors that add up are few, and so are the values kept.
"""

from __future__ import annotations

from streamgauge.synopses.quantiles.rank_summary import EMPTY
from streamgauge.synopses.quantiles.window_blocks import Level
from streamgauge.synopses.quantiles.window_quantiles import WindowQuantiles


class ArasuManku(WindowQuantiles):
    """Quantiles of a sliding window within `epsilon` of its rows, for certain, in less memory.

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
    >>> window = ArasuManku(0.05, width=1000)
    >>> window.update(np.arange(5000.0))
    >>> bar = window.query(Quantile(0.5))
    >>> bar.low <= 4499 <= bar.high
    True

    References
    ----------
    AM04, GK16: docs/reference/synopses/quantiles_deterministic.md
    """

    name = "arasu_manku"
    cite = "GK16 lem 12"

    def _levels(self, rows: int, size: int, hidden: float) -> list[Level]:
        sizes = [size]
        while sizes[-1] < rows:
            sizes.append(2 * sizes[-1])
        # One block of each level, and the one across the edge.
        gap = hidden / (len(sizes) + 1.0) - 1.0
        last = len(sizes) - 1
        # A cover begins a block only where no longer one begins: at odd multiples of its size. The
        # shortest are all kept, since any of them may lie across the edge.
        return [Level(each, gap, every=i in (0, last)) for i, each in enumerate(sizes)]

    def _widened(self, top: list[Level], wide: list[Level], stop: int) -> list[Level]:
        wide[0] = top[0].paired(wide[0].gap, stop)
        wide[-1] = top[-1].paired(wide[-1].gap, stop)
        for old, new in zip(top[2:], wide[1:-1], strict=True):
            new.done = {begin: part for begin, part in old.done.items() if new.kept(begin)}
            new.open = old.open if new.kept(stop - stop % new.size) else EMPTY
        return wide
