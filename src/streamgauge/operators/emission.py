"""Emission: when a checked value becomes an answer, and the columns answers are made in.

Answers leave the kernels as rows of one float matrix with the columns named here; whole numbers
up to 2**53 are exact in it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

QUERY, GROUP, TICK, VALUE, LOW, HIGH, COVERAGE, SILENT, REVISION = range(9)
WIDTH = 9
EVERY, CLOSE, CHANGE = 0, 1, 2
CADENCES = {"every": EVERY, "close": CLOSE, "change": CHANGE}

# Columns of the memory of what was answered last, per query and group.
GIVEN, LAST, LAST_COVERAGE, LAST_WIDTH, LAST_TICK, LAST_LOW, LAST_HIGH, LAST_SILENT = range(8)
LAST_EPOCH = 8
MEMORY = 9

Floats = npt.NDArray[np.float64]


def empty_answers(capacity: int = 1024) -> Floats:
    """A matrix for answers to be written to."""
    return np.empty((capacity, WIDTH))


@njit(cache=True)
def grown(out: Floats, n: int) -> Floats:
    """The same matrix, or a larger copy when it is full."""
    if n < out.shape[0]:
        return out
    larger = np.empty((2 * out.shape[0], out.shape[1]))
    larger[:n] = out[:n]
    return larger


@njit(cache=True)
def bar_width(value: float, low: float, high: float) -> float:
    """Width of a bar; 0 when there is no value."""
    return 0.0 if np.isnan(value) else high - low


@njit(cache=True)
def changed(memory: Floats, value: float, by: float, coverage: float, width: float) -> bool:
    """Whether an on-change query owes an answer, given its memory."""
    if memory[GIVEN] == 0.0:
        return not np.isnan(value)
    last = memory[LAST]
    if np.isnan(value) != np.isnan(last):
        return True
    if not np.isnan(value) and abs(value - last) > by:
        return True
    return coverage != memory[LAST_COVERAGE] or width != memory[LAST_WIDTH]


@njit(cache=True)
def give(memory, out, n_out, query, group, tick, value, low, high, coverage, silent, epoch):  # type: ignore[no-untyped-def]
    """Write an answer and note it as the last one given; return the matrix, perhaps larger."""
    memory[GIVEN] = 1.0
    memory[LAST] = value
    memory[LAST_COVERAGE] = coverage
    memory[LAST_WIDTH] = bar_width(value, low, high)
    memory[LAST_TICK] = tick
    memory[LAST_LOW] = low
    memory[LAST_HIGH] = high
    memory[LAST_SILENT] = silent
    memory[LAST_EPOCH] = epoch
    return write(out, n_out, query, group, tick, value, low, high, coverage, silent, 0.0)


@njit(cache=True)
def write(out, n_out, query, group, tick, value, low, high, coverage, silent, revision):  # type: ignore[no-untyped-def]
    """Append an answer to the matrix."""
    out = grown(out, n_out)
    row = out[n_out]
    row[QUERY], row[GROUP], row[TICK], row[VALUE] = query, group, tick, value
    row[LOW], row[HIGH], row[COVERAGE] = low, high, coverage
    row[SILENT], row[REVISION] = silent, revision
    return out
