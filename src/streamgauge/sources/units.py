"""Units of event times that are whole numbers, and numbers that are not of the declared unit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.kernel.errors import BindError
from streamgauge.kernel.time import MICROSECOND, MILLISECOND, SECOND, Duration

UNITS = {"s": SECOND, "ms": MILLISECOND, "us": MICROSECOND}
_WORDS = {"s": "seconds", "ms": "milliseconds"}
# The years 2001 to 2099 in seconds. Read as microseconds they are one hour of 1970, in
# milliseconds one month of it.
_LOW, _HIGH = 1_000_000_000, 4_102_444_800


def time_unit(source: Mapping[str, Any]) -> Duration:
    """Microseconds in one step of a time given as a whole number.

    >>> time_unit({"time_unit": "ms"}), time_unit({})
    (1000, 1)
    """
    name = source.get("time_unit", "us")
    if name not in UNITS:
        raise BindError(
            f"unknown time unit {name!r}",
            f"expected one of {', '.join(UNITS)}",
            "write TIME UNIT ms; in Python time_unit='ms'",
        )
    return UNITS[name]


def likely_unit(low: int, high: int) -> str | None:
    """Unit in which a range touches the years 2001 to 2099, if microseconds is unlikely.

    >>> likely_unit(1_700_000_000, 1_700_000_060), likely_unit(1_700_000_000_000, 1 << 60)
    ('s', 'ms')
    >>> likely_unit(0, 60_000_000), likely_unit(1_700_000_000_000_000, 1_700_000_000_000_001)
    (None, None)
    """
    for unit, scale in (("s", 1), ("ms", 1000)):
        if low < _HIGH * scale and high >= _LOW * scale:
            return unit
    return None


def another_unit(times: pa.ChunkedArray) -> list[tuple[pa.ChunkedArray, str]]:
    """Masks of whole numbers that are seconds or milliseconds, each with the reason."""
    found = []
    for unit, scale in (("s", 1), ("ms", 1000)):
        mask = pc.and_(pc.greater_equal(times, _LOW * scale), pc.less(times, _HIGH * scale))
        found.append((mask, f"looks like {_WORDS[unit]} since 1970; declare TIME UNIT {unit}"))
    return found


def refuse_unit(stream: str, column: str, low: int, high: int) -> None:
    """Raise when the first times of a stream are of another unit than microseconds."""
    unit = likely_unit(low, high)
    if unit is not None:
        raise BindError(
            f"column {column!r} of stream {stream!r} holds {_WORDS[unit]}, not microseconds",
            f"its first times are {low} to {high}, which as microseconds are in 1970",
            f"write TIME UNIT {unit}; in Python sg.files(..., time_unit={unit!r}). "
            "If they are microseconds, write TIME UNIT us",
        )
