"""Instants and durations: whole microseconds, UTC, never a float.

An instant is an int of microseconds since 1970-01-01 UTC. A duration is an int of microseconds.
A tick is the number of a check: the instant `tick * width`.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

from streamgauge.kernel.errors import BindError

Instant: TypeAlias = int
Duration: TypeAlias = int
DurationLike: TypeAlias = int | float | str | timedelta
InstantLike: TypeAlias = int | str | datetime

MICROSECOND = 1
MILLISECOND = 1_000
SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

_UNITS = {
    "us": MICROSECOND,
    "microsecond": MICROSECOND,
    "ms": MILLISECOND,
    "millisecond": MILLISECOND,
    "s": SECOND,
    "sec": SECOND,
    "second": SECOND,
    "m": MINUTE,
    "min": MINUTE,
    "minute": MINUTE,
    "h": HOUR,
    "hour": HOUR,
    "d": DAY,
    "day": DAY,
    "week": 7 * DAY,
}
_PART = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-zA-Z]+)\s*")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def duration(value: DurationLike) -> Duration:
    """Read a duration: text such as '30 minutes' or '1h 30m', a timedelta, or seconds as a number.

    >>> duration("1h 30m") == 90 * MINUTE, duration(2) == 2 * SECOND, duration("250 ms")
    (True, True, 250000)
    """
    if isinstance(value, timedelta):
        return round(value / timedelta(microseconds=1))
    if isinstance(value, (int, float)):
        return round(value * SECOND)
    total, end = 0.0, 0
    for part in _PART.finditer(value):
        unit = part[2].lower()
        width = _UNITS.get(unit, _UNITS.get(unit.rstrip("s")))
        if width is None or part.start() != end:
            break
        total, end = total + float(part[1]) * width, part.end()
    if end == 0 or end != len(value):
        raise BindError(
            f"not a duration: {value!r}",
            "units are us, ms, s, min, h, days, weeks",
            "write for example '30 minutes', '1h 30m' or '250 ms'",
        )
    return round(total)


def instant(value: InstantLike) -> Instant:
    """Read an instant: ISO text, a datetime (naive means UTC), or microseconds since 1970.

    >>> instant("1970-01-01T00:00:01Z")
    1000000
    """
    if isinstance(value, int):
        return value
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError as error:
            raise BindError(
                f"not an instant: {value!r}", str(error), "write ISO 8601, 2026-01-31T12:00:00Z"
            ) from None
    aware = value if value.tzinfo else value.replace(tzinfo=UTC)
    return (aware - _EPOCH) // timedelta(microseconds=1)


def instant_text(value: Instant) -> str:
    """Write an instant as ISO 8601 in UTC, without needless digits.

    >>> instant_text(1_500_000)
    '1970-01-01T00:00:01.500000Z'
    """
    return (_EPOCH + timedelta(microseconds=value)).isoformat().replace("+00:00", "Z")


def duration_text(value: Duration) -> str:
    """Write a duration in the largest units that fit.

    >>> duration_text(90 * MINUTE), duration_text(1_500_000)
    ('1 h 30 min', '1 s 500 ms')
    """
    parts = []
    for name, width in (
        ("d", DAY),
        ("h", HOUR),
        ("min", MINUTE),
        ("s", SECOND),
        ("ms", MILLISECOND),
        ("us", MICROSECOND),
    ):
        count, value = divmod(value, width)
        if count:
            parts.append(f"{count} {name}")
    return " ".join(parts) or "0 s"
