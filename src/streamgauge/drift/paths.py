"""Paths: what is known of each series, its latest value and how it moves.

A series is taken for a Brownian motion with drift between the ticks at which it has rows. The
sums that drift and variance follow from are kept in blocks of 25 increments; an estimate rests on
the last 100 to 124 of them, however far apart they were.
"""

from __future__ import annotations

import numpy as np

from streamgauge.drift.cells import Records
from streamgauge.kernel.jit import compiled
from streamgauge.operators.emission import ALWAYS

BLOCK = 25
BLOCKS = 5
# Sums of one block of increments: how many, over how long, by how much, squares per time.
COUNT, TIME, MOVE, SQUARE = range(4)
# Where no gap is declared, a series is silent after so many of its usual gaps. The usual gap is the
# second largest of the longest gaps of its blocks, about the 98th percentile of its last hundred:
# one silence does not make the next one usual, and is forgotten with its block.
USUAL_GAPS = 2.0
# Until there are four blocks: so many mean gaps, and of the longest as many as of usual ones.
MEAN_GAPS, ENOUGH_GAPS = 8.0, 100.0
# Longest time between two estimates, in increments of the series.
LONGEST = 50.0


# What is known of a series. `value`, `tick`, `ts` are its newest row; `missed` is what a late row
# that came too late would have made of the value. `sums` has the blocks of increments, `block` the
# one being filled, `widths` the longest gap of each. `mu` and `var` are drift and variance per tick
# as of `estimated`, from `span` ticks and `items` increments; `due` is when they are estimated
# again; `gap` is how long it may be silent.
_REAL = "value missed mu var span items gap"
_WHOLE = "tick ts missed_ts block estimated due"
PATH = np.dtype(
    [
        *((name, "f8") for name in _REAL.split()),
        *((name, "i8") for name in _WHOLE.split()),
        ("sums", "f8", (BLOCKS, 4)),
        ("widths", "f8", (BLOCKS,)),
    ]
)


def with_room(paths: Records, n_series: int) -> Records:
    """The same series with room for more."""
    more = np.zeros(max(0, n_series - len(paths)), PATH)
    more["value"] = more["missed"] = np.nan
    more["gap"] = np.inf
    for name in ("tick", "ts", "missed_ts", "estimated", "due"):
        more[name] = ALWAYS
    return np.concatenate((paths, more)) if len(more) else paths


def no_paths() -> Records:
    """No series yet."""
    return np.zeros(0, PATH)


@compiled
def take_in(paths, s, tick, value):  # type: ignore[no-untyped-def]
    """Count the move of a series to its value at a tick; the value itself is set by the caller."""
    before, at = paths[s].value, paths[s].tick
    if np.isnan(before) or at >= tick:
        return
    gap, move = float(tick - at), value - before
    sums, widths = paths[s].sums, paths[s].widths
    held = paths[s].block
    if sums[held, COUNT] >= BLOCK:
        held = (held + 1) % BLOCKS
        paths[s].block = held
        sums[held, :] = 0.0
        widths[held] = 0.0
    sums[held, COUNT] += 1.0
    sums[held, TIME] += gap
    sums[held, MOVE] += move
    sums[held, SQUARE] += move * move / gap
    widths[held] = max(gap, widths[held])


@compiled
def learned_gap(widths, time, n):  # type: ignore[no-untyped-def]
    """Longest gap that is no silence yet, in ticks, from `n` gaps of `time` ticks in all."""
    largest, second, known = 0.0, 0.0, 0
    for width in widths:
        known += width > 0.0
        if width > largest:
            largest, second = width, largest
        elif width > second:
            second = width
    # Blocks of a state that did not keep their longest gaps have none.
    if n < ENOUGH_GAPS or known * BLOCK < ENOUGH_GAPS:
        return max(MEAN_GAPS * time / n, USUAL_GAPS * largest)
    return USUAL_GAPS * second


@compiled
def estimate(paths, s, now, declared_gap):  # type: ignore[no-untyped-def]
    """Estimate drift and variance of a series anew, and say when to do so again."""
    n, time, move, square = 0.0, 0.0, 0.0, 0.0
    for b in range(BLOCKS):
        n += paths[s].sums[b, COUNT]
        time += paths[s].sums[b, TIME]
        move += paths[s].sums[b, MOVE]
        square += paths[s].sums[b, SQUARE]
    if n < 2.0:
        return
    mu = move / time
    var = max(0.0, square - mu * mu * time) / (n - 1.0)
    longest = LONGEST * time / n
    wait = longest
    if paths[s].estimated != ALWAYS and var > 0.0:
        wait = min(np.sqrt(paths[s].var / var) * (now - paths[s].estimated), longest)
    if n < 100.0:
        # As much again as is known: the first estimates are rough.
        wait = min(wait, 0.5 * time)
    paths[s].mu, paths[s].var, paths[s].span, paths[s].items = mu, var, time, n
    learned = learned_gap(paths[s].widths, time, n)
    paths[s].gap = declared_gap if declared_gap > 0.0 else learned
    paths[s].estimated = now
    paths[s].due = now + np.int64(wait)


@compiled
def estimate_due(paths, now, declared_gap):  # type: ignore[no-untyped-def]
    """Estimate the series anew whose time has come."""
    for s in range(len(paths)):
        if paths[s].due <= now and not np.isnan(paths[s].value):
            estimate(paths, s, now, declared_gap)
