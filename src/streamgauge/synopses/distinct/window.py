"""Windows of the counters that expire: half-open, the last `window` of time up to now."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.errors import BindError, ContractUnsatisfiable
from streamgauge.synopses.synopsis import Need

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

LONG_AGO = -(1 << 62)
"""Before all times, with room for a window before it."""


def in_window(times: Ints, now: int, window: int) -> Floats:
    """One for times in (now - window, now], zero for others."""
    return ((times > now - window) & (times <= now)).astype(np.float64)


def check_times(name: str, times: Ints | None) -> Ints:
    """Refuse rows without times."""
    if times is None:
        raise BindError(
            f"{name} needs the time of every row",
            "update was given no times",
            "write update(column, times=...); row numbers will do",
        )
    return np.ascontiguousarray(times, np.int64)


def check_within(name: str, window: int, longest: int = 1 << 61) -> None:
    """Refuse a window that is empty or longer than what is kept."""
    if not 0 < window <= longest:
        raise BindError(
            f"{name} answers for windows above 0 and up to {longest}",
            f"got a window of {window}",
            f"ask for at most {longest}, or keep a longer window",
        )


def window_of(need: Need, name: str) -> int:
    """The window a need is for."""
    if need.window is None:
        raise ContractUnsatisfiable(
            f"{name} is for a sliding window",
            "the need has none",
            "give Need(window=...), or use hll",
        )
    return need.window
