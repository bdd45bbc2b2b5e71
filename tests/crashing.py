"""Crashes inside one process: a function that dies at a named point, as kill -9 would have it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Killed(BaseException):
    """Stands for kill -9: nothing of ours catches it."""


def dying(real: Callable[..., Any], calls: int, *, after: bool) -> Callable[..., Any]:
    """The same function, dying at its n-th call, before or after its work."""
    left = [calls]

    def die(*args: Any, **options: Any) -> Any:
        left[0] -= 1
        if left[0] == 0 and not after:
            raise Killed
        result = real(*args, **options)
        if left[0] == 0:
            raise Killed
        return result

    return die
