"""How answers and figures look: numbers, bars, bytes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from streamgauge.contracts.answer import Answer


def number(value: float | None) -> str:
    """A value with six digits; a dash when there is none."""
    return "-" if value is None or math.isnan(value) else f"{value:.6g}"


def interval(answer: Answer) -> str:
    """The ends of the bar as text.

    >>> interval(Answer("q", 2.0, 1.0, 3.0, as_of=0))
    '[1, 3]'
    """
    if answer.value is None:
        return "nothing"
    if math.isinf(answer.low) or math.isinf(answer.high):
        return f"[{_end(answer.low)}, {_end(answer.high)}]"
    return f"[{number(answer.low)}, {number(answer.high)}]"


def _end(value: float) -> str:
    return number(value) if math.isfinite(value) else ("-inf" if value < 0 else "inf")


def newest(answers: Sequence[Answer]) -> str:
    """The newest answer of a query in one cell; a grouped query shows its first group.

    >>> newest([Answer("q", 2.0, 2.0, 2.0, as_of=0)]), newest([Answer("q", 2.0, 1.0, 3.0, as_of=0)])
    ('2 ±0', '2 [1, 3]')
    """
    if not answers:
        return "-"
    first = answers[0]
    more = f" and {len(answers) - 1} groups" if len(answers) > 1 else ""
    where = f" at {', '.join(map(str, first.group))}" if first.group else ""
    exact = first.value is not None and first.low == first.high
    return f"{number(first.value)} {'±0' if exact else interval(first)}{where}{more}"


def size(n_bytes: float) -> str:
    """Bytes in the unit that reads best.

    >>> size(430_000), size(3 * 2**30)
    ('420 KiB', '3 GiB')
    """
    units = ["B", "KiB", "MiB", "GiB", "TiB"]
    place = min(int(math.log(max(n_bytes, 1), 1024)), len(units) - 1)
    return f"{n_bytes / 1024**place:.3g} {units[place]}"
