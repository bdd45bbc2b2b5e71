"""How answers and figures look: numbers, bars, ages, bytes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from streamgauge.contracts.answer import Answer
from streamgauge.kernel.time import SECOND, Instant, duration_text

TRACK = 18


def number(value: float | None) -> str:
    """A value with six digits; a dash when there is none."""
    return "-" if value is None or math.isnan(value) else f"{value:.6g}"


def named(answer: Answer) -> str:
    """The name of the query with its group."""
    group = ", ".join("null" if part is None else str(part) for part in answer.group)
    return f"{answer.query}[{group}]" if group else answer.query


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


def bar(answer: Answer, low: float, high: float, width: int = TRACK) -> str:
    """The bar drawn over a scale from low to high: a dot for the value, dashes for its width.

    >>> bar(Answer("q", 5.0, 4.0, 7.0, as_of=0), 0.0, 10.0, width=11)
    '····├●─┤···'
    >>> bar(Answer("q", 5.0, 5.0, 5.0, as_of=0), 0.0, 10.0, width=11)
    '·····●·····'
    >>> bar(Answer("q", 5.0, float("-inf"), float("inf"), as_of=0), 0.0, 10.0, width=11)
    '◄────●────►'
    """
    if answer.value is None:
        return "·" * width
    first, last, dot = (
        _cell(value, low, high, width) for value in (answer.low, answer.high, answer.value)
    )
    cells = ["·"] * width
    if answer.low < answer.high:
        cells[first : last + 1] = "─" * (last - first + 1)
        cells[first] = "◄" if math.isinf(answer.low) else "├"
        cells[last] = "►" if math.isinf(answer.high) else "┤"
    cells[dot] = "●"
    return "".join(cells)


def _cell(value: float, low: float, high: float, width: int) -> int:
    if math.isinf(value):
        return 0 if value < 0 else width - 1
    share = (value - low) / (high - low) if high > low else 0.5
    return round(min(max(share, 0.0), 1.0) * (width - 1))


def standing_of(answer: Answer) -> str:
    """How it was made, what it rests on and who widened it."""
    parts = [answer.basis]
    if answer.coverage < 1.0:
        parts.append(f"covers {100 * answer.coverage:.3g}%")
    if answer.share < 1.0:
        parts.append(f"looked at {100 * answer.share:.3g}%")
    parts += [f"{charge.by} {_end(charge.width)}" for charge in answer.charges]
    if answer.revision:
        parts.append(f"revision {answer.revision}")
    return ", ".join(parts)


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


def age(answer: Answer, now: Instant) -> str:
    """How far behind event time an answer is."""
    return duration_text(max(now - answer.as_of, 0) // SECOND * SECOND)


def size(n_bytes: float) -> str:
    """Bytes in the unit that reads best.

    >>> size(430_000), size(3 * 2**30)
    ('420 KiB', '3 GiB')
    """
    units = ["B", "KiB", "MiB", "GiB", "TiB"]
    place = min(int(math.log(max(n_bytes, 1), 1024)), len(units) - 1)
    return f"{n_bytes / 1024**place:.3g} {units[place]}"
