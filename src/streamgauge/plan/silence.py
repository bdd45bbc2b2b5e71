"""How long a query is checked after the last row of its stream.

A silence may last a year, and a query of each second must not answer for all of it. A query is
therefore checked until its window has emptied and for a number of checks, whichever is longer; one
whose period is an hour or more is always checked.
"""

from __future__ import annotations

from streamgauge.kernel.time import HOUR, Duration
from streamgauge.plan.query import Query
from streamgauge.windows.window import Window

CHECKS = 3600
ALWAYS_FROM: Duration = HOUR
# Longer than any silence, and far from the ends of 64 bits.
FOR_EVER: Duration = 2**61


def period_of(query: Query, window: Window | None, tick: Duration) -> Duration:
    """Time between two checks at ticks without rows; 0 when only rows bring checks."""
    if query.answer.kind == "every":
        return query.answer.period
    if window is None or window.kind not in ("range", "now"):
        return 0
    return window.slide_for(tick, None) if window.kind == "range" else tick


def patience(period: Duration, reach: Duration) -> Duration:
    """How long after the last row a query is checked whose windows reach back so far.

    Examples
    --------
    >>> patience(1_000_000, 60_000_000) == HOUR
    True
    >>> patience(1_000_000, 2 * HOUR) == 2 * HOUR + 1_000_000
    True
    >>> patience(HOUR, HOUR) == FOR_EVER
    True
    """
    if period >= ALWAYS_FROM:
        return FOR_EVER
    return max(CHECKS * period, reach + period)


def patience_of(query: Query, window: Window | None, tick: Duration) -> Duration:
    """How long after the last row a query over one stream is checked."""
    reach = 0
    if window is not None and window.kind in ("range", "now"):
        # The edge of a window lies up to a slide behind the check.
        slide = window.slide_for(tick, query.answer.period or None)
        reach = window.length + slide if window.kind == "range" else tick
    return patience(period_of(query, window, tick), reach)
