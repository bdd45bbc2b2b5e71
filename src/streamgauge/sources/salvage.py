"""Salvage: take what can be taken of a range of rows, and find the ones that spoil it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")


@dataclass(frozen=True)
class Salvaged(Generic[T]):
    """Runs (first, stop, result) that went well, in order, and the single rows that are lost."""

    runs: tuple[tuple[int, int, T], ...]
    lost: NDArray[np.int64]


def salvage(n: int, attempt: Callable[[int, int], T | None]) -> Salvaged[T]:
    """Halve the range 0..n where `attempt(first, stop)` gives None, down to single rows.

    One bad row among n costs about 2 log2(n) attempts over ever shorter ranges; a clean range
    costs one.

    >>> salvage(5, lambda first, stop: None if first <= 3 < stop else "ok").lost.tolist()
    [3]
    """
    runs: list[tuple[int, int, T]] = []
    lost: list[int] = []
    pending = [(0, n)] if n else []
    while pending:
        first, stop = pending.pop()
        result = attempt(first, stop)
        if result is not None:
            runs.append((first, stop, result))
        elif stop - first == 1:
            lost.append(first)
        else:
            middle = (first + stop) // 2
            pending += [(middle, stop), (first, middle)]
    return Salvaged(tuple(runs), np.array(lost, dtype=np.int64))
