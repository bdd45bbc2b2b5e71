"""Waiting for a condition, with a deadline: what tests do instead of sleeping."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(
    condition: Callable[[], T], seconds: float, *, what: str = "", every: float = 0.02
) -> T:
    """Ask `condition` until it gives something true, and return that.

    Parameters
    ----------
    condition
        Asked at once, then again and again, the last time when the deadline has passed.
    seconds
        The deadline. Choose it generously; a condition that holds returns at once.
    what
        What is being waited for, to be read in the failure.
    every
        Seconds between two questions.

    Raises
    ------
    AssertionError
        When the deadline has passed; says what was waited for and the last thing seen.

    Examples
    --------
    >>> rows = iter([0, 0, 7])
    >>> wait_until(lambda: next(rows), 5, what="the first rows")
    7
    >>> wait_until(lambda: [], 0, what="the first answer")
    Traceback (most recent call last):
        ...
    AssertionError: waited 0 s for the first answer; last seen: []
    """
    never = threading.Event()
    deadline = time.monotonic() + seconds
    while not (seen := condition()):
        left = deadline - time.monotonic()
        if left <= 0:
            named = what or getattr(condition, "__qualname__", repr(condition))
            raise AssertionError(f"waited {seconds:g} s for {named}; last seen: {seen!r}")
        never.wait(min(every, left))
    return seen
