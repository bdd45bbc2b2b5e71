"""What answers of deferred queries rest on."""

from __future__ import annotations

from streamgauge.contracts.causes import BY_TIMER, BY_WATCH

BASES = {True: BY_WATCH, False: BY_TIMER}


def sworn(exact: bool, watched: bool, confidence: float) -> tuple[str, float]:
    """What an answer rests on, and how surely."""
    return "exact" if exact else BASES[watched], confidence
