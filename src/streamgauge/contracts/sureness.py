"""Sureness: the two meanings of a confidence in words, a probability and a share of time."""

from __future__ import annotations

from collections.abc import Iterable

DEFERRAL = "deferral"


def sureness(
    confidence: float, over_time: bool = False, space: str = "", *, throughout: bool = False
) -> str:
    """How surely, in words that tell a probability from a share of time.

    Examples
    --------
    >>> sureness(0.95)
    'at 95% confidence'
    >>> sureness(0.9, over_time=True)
    'for 90% of the time'
    >>> sureness(0.9, over_time=True, throughout=True)
    'for 90% of the answers'
    """
    percent = f"{float(f'{100 * confidence:.6g}'):g}{space}%"
    if over_time:
        return f"for {percent} of the {'answers' if throughout else 'time'}"
    return f"at {percent} confidence"


def held_over_time(basis: str, causes: Iterable[str] = ()) -> bool:
    """Whether the confidence of an answer is a share of time: it is where deferral widened it.

    Examples
    --------
    >>> held_over_time("deferral by watch"), held_over_time("kll", ["kll"])
    (True, False)
    >>> held_over_time("interrupted", ["deferral by timer", "interruption"])
    True
    """
    return any(name.startswith(DEFERRAL) for name in (basis, *causes))
