"""Emission: when a checked value becomes an answer, and the columns answers are made in.

Answers leave the kernels as rows of one float matrix with the columns named here; whole numbers
up to 2**53 are exact in it. Each cause that widens an answer has two columns, how far it moves the
low end and the high end: the technique itself (a sketch, a source bound, a deferral), late rows,
an interruption.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.jit import compiled

QUERY, GROUP, TICK, VALUE, LOW, HIGH, COVERAGE, SILENT, REVISION, SLOPE = range(10)
OWN_BELOW, OWN_ABOVE, LATE_BELOW, LATE_ABOVE, SILENT_BELOW, SILENT_ABOVE = range(10, 16)
WIDTH = 16
EVERY, CLOSE, CHANGE = 0, 1, 2
CADENCES = {"every": EVERY, "close": CLOSE, "change": CHANGE}

# Columns of the memory of what was answered last, per query and group.
GIVEN, LAST, LAST_COVERAGE, LAST_TICK, LAST_LOW, LAST_HIGH, LAST_SILENT, LAST_EPOCH = range(8)
LAST_OWN_BELOW, LAST_OWN_ABOVE, LAST_LATE_BELOW, LAST_LATE_ABOVE = range(8, 12)
MEMORY = 12

# In place of how many members are silent: the window holds no row.
EMPTIED = -1

NEVER = np.int64(2**62)
ALWAYS = np.int64(-(2**62))

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]


class Arrivals(NamedTuple):
    """Rows in effective order, as the kernels take them.

    `place` is the series or the group of a row (-1: not ours, or filtered out), `key` its key in
    a partition. `y` is empty unless two columns are asked for, `w` unless rows are weighted.
    """

    tick: Ints
    ts: Ints
    late: Flags
    place: Codes
    key: Codes
    x: Floats
    y: Floats
    w: Floats


class Span(NamedTuple):
    """From the tick that was closed to the one that is closed now, and how time is cut."""

    tick: int
    last: int
    awake_until: int
    rest: int
    width: int
    epoch: int


class Asked(NamedTuple):
    """What all compiled queries have, as columns; times but `since` are in ticks.

    `period` is 0 when only rows bring checks; `patience` is how long after the last row of the
    stream a query is checked.
    """

    query: Codes
    op: Codes
    cadence: Codes
    period: Ints
    by: Floats
    since: Ints
    patience: Ints


def empty_answers(capacity: int = 1024) -> Floats:
    """A matrix for answers to be written to."""
    return np.empty((capacity, WIDTH))


@compiled
def beat(period: Ints) -> Any:
    """Greatest common divisor of the periods of queries; 0 when only rows bring checks."""
    step = np.int64(0)
    for q in range(len(period)):
        a, b = period[q], step
        while b:
            a, b = b, a % b
        step = a
    return step


@compiled
def next_check(tick, step, period, patience, awake_until, rest, coming):  # type: ignore[no-untyped-def]
    """The next tick with a check: that of the coming row, or the next at which a query is due.

    While the stream is awake that is a multiple of `step`, the common divisor of all periods.
    """
    if step == 0:
        return coming
    due = (tick // step + 1) * step
    if due <= awake_until or due >= coming:
        return min(due, coming)
    soonest, last_row = coming, awake_until - rest
    for q in range(len(period)):
        if period[q] > 0:
            due = (tick // period[q] + 1) * period[q]
            if due < soonest and due - last_row <= patience[q]:
                soonest = due
    return soonest


@compiled
def silence(tick: int, awake_until: int, rest: int) -> Any:
    """Ticks since the last row; 0 while the stream is awake."""
    return np.int64(0) if tick <= awake_until else np.int64(tick - (awake_until - rest))


@compiled
def is_due(period, patience, tick, fresh, quiet):  # type: ignore[no-untyped-def]
    """Whether a query is checked at a tick, after some ticks of silence."""
    if period == 0:
        return fresh
    return tick % period == 0 and quiet <= patience


@compiled
def run_end(ticks: Ints, i: int, tick: int) -> int:
    """End of the run of rows of a tick that begins at row i."""
    while i < len(ticks) and ticks[i] == tick:
        i += 1
    return i


@compiled
def grown(out: Floats, n: int) -> Floats:
    """The same matrix, or a larger copy when it is full."""
    if n < out.shape[0]:
        return out
    larger = np.empty((2 * out.shape[0], out.shape[1]))
    larger[:n] = out[:n]
    return larger


@compiled
def _differ(one: float, other: float) -> bool:
    """Whether two widths differ by more than the noise of their rounding."""
    if one == other:
        return False
    if np.isinf(one) or np.isinf(other):
        return True
    return abs(one - other) > 1e-9 * max(1.0, abs(one), abs(other))


@compiled
def changed(
    memory: Floats, value: float, low: float, high: float, by: float, coverage: float
) -> Any:
    """Whether an on-change query owes an answer, given its memory.

    Owed: a first value, a value that came or went, a move by more than `by`, another coverage, or
    a bar that reaches further or less far to a side.
    """
    last = memory[LAST] if memory[GIVEN] != 0.0 else np.nan
    if np.isnan(value) or np.isnan(last):
        return np.isnan(value) != np.isnan(last)
    if abs(value - last) > by or coverage != memory[LAST_COVERAGE]:
        return True
    return _differ(value - low, last - memory[LAST_LOW]) or _differ(
        high - value, memory[LAST_HIGH] - last
    )


@compiled
def silent_when_empty(past, value, cadence, by, low, high, grouped):  # type: ignore[no-untyped-def]
    """Whether an empty window owes no answer.

    A group that empties answers once. Without groups a count answers 0 at its cadence; what has no
    value answers once that it has none.
    """
    if grouped:
        return past[GIVEN] == 0.0
    if np.isnan(value):
        return past[GIVEN] == 0.0 or np.isnan(past[LAST])
    return cadence == CHANGE and not changed(past, value, low, high, by, past[LAST_COVERAGE])


@compiled
def emptied(n, value, grouped):  # type: ignore[no-untyped-def]
    """The mark of an answer about a window without rows: a group leaves, or there is no value."""
    return EMPTIED if n == 0 and (grouped or np.isnan(value)) else 0


@compiled
def give(memory, out, n_out, query, group, tick, value, low, high, coverage, silent, epoch):  # type: ignore[no-untyped-def]
    """Write an answer and note it as the last one given; return the matrix, perhaps larger.

    An interrupted answer is unbounded; what else widened it is written by `charge`.
    """
    memory[GIVEN] = 1.0
    memory[LAST] = value
    memory[LAST_COVERAGE] = coverage
    memory[LAST_TICK] = tick
    memory[LAST_LOW] = low
    memory[LAST_HIGH] = high
    memory[LAST_SILENT] = silent
    memory[LAST_EPOCH] = epoch
    memory[LAST_OWN_BELOW:] = 0.0
    return write(out, n_out, query, group, tick, value, low, high, coverage, silent, 0.0)


@compiled
def write(out, n_out, query, group, tick, value, low, high, coverage, silent, revision):  # type: ignore[no-untyped-def]
    """Append an answer to the matrix."""
    out = grown(out, n_out)
    row = out[n_out]
    row[QUERY], row[GROUP], row[TICK], row[VALUE] = query, group, tick, value
    row[LOW], row[HIGH], row[COVERAGE] = low, high, coverage
    row[SILENT], row[REVISION] = silent, revision
    row[SLOPE:] = 0.0
    if silent > 0:
        row[SILENT_BELOW] = row[SILENT_ABOVE] = np.inf
    return out


@compiled
def charge(past, row, own_below, own_above, late_below, late_above):  # type: ignore[no-untyped-def]
    """Write what the technique and late rows add to each side of the answer given last."""
    row[OWN_BELOW], row[OWN_ABOVE] = own_below, own_above
    row[LATE_BELOW], row[LATE_ABOVE] = late_below, late_above
    past[LAST_OWN_BELOW], past[LAST_OWN_ABOVE] = own_below, own_above
    past[LAST_LATE_BELOW], past[LAST_LATE_ABOVE] = late_below, late_above


@compiled
def charge_late(past, row, value, other):  # type: ignore[no-untyped-def]
    """Write how far the value with late rows lies from the value without them."""
    if not np.isnan(value) and not np.isnan(other) and other != value:
        charge(past, row, 0.0, 0.0, max(0.0, value - other), max(0.0, other - value))


@compiled
def give_bars(memory, out, n_out, query, cadence, by, tick, epoch, bars, counts, coverage, grouped):  # type: ignore[no-untyped-def]
    """Give the answers that are owed for all groups of a query; return the matrix and its end.

    `bars` has the columns value, low and high, then what the synopsis adds below and above, and
    what late rows add below and above.
    """
    for g in range(len(counts)):
        value, low, high = bars[g, 0], bars[g, 1], bars[g, 2]
        past = memory[g]
        if counts[g] == 0:
            if silent_when_empty(past, value, cadence, by, low, high, grouped):
                continue
        elif cadence == CHANGE:
            # A window that fills answers once more when it is full, not at each step.
            seen = coverage if coverage == 1.0 else past[LAST_COVERAGE]
            if not changed(past, value, low, high, by, seen):
                continue
        mark = emptied(counts[g], value, grouped)
        out = give(past, out, n_out, query, g, tick, value, low, high, coverage, mark, epoch)
        charge(past, out[n_out], bars[g, 3], bars[g, 4], bars[g, 5], bars[g, 6])
        n_out += 1
        if grouped and counts[g] == 0:
            past[GIVEN] = 0.0
    return out, n_out
