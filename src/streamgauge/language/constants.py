"""Constants as they are written: numbers, texts, durations, instants, types."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from lark import Token

from streamgauge.kernel.errors import BindError
from streamgauge.kernel.time import Duration, Instant
from streamgauge.kernel.time import duration as read_duration
from streamgauge.kernel.time import instant as read_instant
from streamgauge.language.mistakes import Misuse

LARGEST = 2**63 - 1
LONGEST: Duration = 2**53

TYPES = {
    "float": "float", "double": "float", "real": "float",
    "int": "int", "integer": "int", "bigint": "int",
    "string": "string", "text": "string", "varchar": "string",
    "bool": "bool", "boolean": "bool",
    "time": "time", "timestamp": "time",
}  # fmt: skip


def number(token: Token) -> int | float:
    """A whole number where no point and no exponent is written, else a float.

    >>> number(Token("NUMBER", "12")), number(Token("NUMBER", "1e3"))
    (12, 1000.0)
    """
    text = str(token)
    if text.isdigit():
        digits = text.lstrip("0") or "0"
        if len(digits) > 19 or int(digits) > LARGEST:
            raise Misuse(
                "number too large", f"whole numbers end at {LARGEST}; write 1e19 for a float"
            )
        return int(digits)
    value = float(text)
    if not math.isfinite(value):
        raise Misuse("number too large", "floats end near 1.8e308")
    return value


def whole(token: Token) -> int:
    """A whole number."""
    value = number(token)
    if not isinstance(value, int):
        raise Misuse(f"{token} is not a whole number", f"write {round(value)}")
    return value


def text(token: Token) -> str:
    """A text without its quotes."""
    return str(token)[1:-1].replace("''", "'")


def duration(*parts: Any) -> Duration:
    """Numbers and units in turn, such as 1 HOUR 30 MIN."""
    total = 0
    for value, unit in zip(parts[::2], parts[1::2], strict=True):
        total += _bounded(value * _width(str(unit)))
    return _bounded(total)


def duration_text(written: str) -> Duration:
    """A duration inside quotes."""
    try:
        return _bounded(read_duration(written))
    except (BindError, OverflowError):
        raise Misuse(f"not a duration: {written!r}", "write '30 minutes' or '250 ms'") from None


def interval_text(written: str, unit: Token) -> Duration:
    """INTERVAL '5' MINUTE."""
    return duration_text(f"{written} {unit}")


def positive(span: Duration, clause: str) -> Duration:
    """A duration that must not be 0."""
    if span <= 0:
        raise Misuse(f"{clause} needs a positive duration", f"write {clause} 1 SECOND")
    return span


def moment(written: str) -> Instant:
    """An instant from ISO text."""
    try:
        return read_instant(written)
    except (BindError, OverflowError):
        raise Misuse(
            f"not an instant: {written!r}", "write ISO 8601, '2026-01-31T12:00:00Z'"
        ) from None


def type_name(name: str) -> str:
    """The type of a column, by any of its names."""
    if name.lower() not in TYPES:
        raise Misuse(f"unknown type {name!r}", "types are float, int, string, bool and time")
    return TYPES[name.lower()]


def _bounded(span: float) -> Duration:
    if span > LONGEST:
        raise Misuse("duration too long", f"the longest is {LONGEST} microseconds, 285 years")
    return round(span)


@lru_cache(maxsize=64)
def _width(unit: str) -> Duration:
    try:
        return read_duration(f"1 {unit}")
    except BindError:
        raise Misuse(
            f"unknown unit {unit!r}", "units are us, ms, seconds, minutes, hours, days and weeks"
        ) from None


BUILDERS: dict[str, Callable[..., Any]] = {
    "number": number,
    "whole": whole,
    "text": text,
    "duration": duration,
    "duration_text": duration_text,
    "moment": moment,
    "type": type_name,
}
