"""Paths: what is known of each series, its latest value and how it moves.

A series is taken for a Brownian motion with drift between the ticks at which it has rows. The
sums that drift and variance follow from are kept in blocks of 25 increments; an estimate rests on
the last 100 to 124 of them, however far apart they were.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from streamgauge.kernel.jit import compiled
from streamgauge.operators.emission import ALWAYS, Floats, Ints

BLOCK = 25
BLOCKS = 5
# Sums of one block of increments: how many, over how long, by how much, squares per time.
COUNT, TIME, MOVE, SQUARE = range(4)
# A series is silent after so many of its mean gaps, where no gap is declared.
SILENT_AFTER = 8.0
# Longest time between two estimates, in increments of the series.
LONGEST = 50.0


class Paths(NamedTuple):
    """Series as columns.

    `value`, `tick`, `ts` are the newest row; `missed` is what a late row that came too late would
    have made of the value. `sums` has the blocks of increments, `block` the one being filled.
    `mu` and `var` are drift and variance per tick as of `estimated`, from `span` ticks and `items`
    increments; `due` is when they are estimated again; `gap` is how long a series may be silent.
    """

    value: Floats
    tick: Ints
    ts: Ints
    missed: Floats
    missed_ts: Ints
    sums: Floats
    block: Ints
    mu: Floats
    var: Floats
    span: Floats
    items: Floats
    gap: Floats
    estimated: Ints
    due: Ints


def no_paths() -> Paths:
    """No series yet."""
    none: Any = np.empty(0)
    empty = dict.fromkeys(_NAMES, none)
    return with_room(Paths(**{**empty, "sums": np.empty((0, BLOCKS, 4))}), 0)


_NAMES = Paths._fields
_WHOLE = {
    "tick": ALWAYS, "ts": ALWAYS, "missed_ts": ALWAYS, "block": 0, "estimated": ALWAYS,
    "due": ALWAYS,
}  # fmt: skip
_REAL = {"value": np.nan, "missed": np.nan, "gap": np.inf}


def with_room(paths: Paths, n_series: int) -> Paths:
    """The same series with room for more."""
    more = n_series - len(paths.value)
    if more < 0:
        return paths
    columns: dict[str, Any] = {}
    for name, column in zip(_NAMES, paths, strict=True):
        if name in _WHOLE:
            new: Any = np.full(more, _WHOLE[name], np.int64)
        elif name == "sums":
            new = np.zeros((more, BLOCKS, 4))
        else:
            new = np.full(more, _REAL.get(name, 0.0))
        columns[name] = np.concatenate((column.astype(new.dtype), new))
    return Paths(**columns)


@compiled
def take_in(paths, s, tick, value):  # type: ignore[no-untyped-def]
    """Count the move of a series to its value at a tick; the value itself is set by the caller."""
    before, at = paths.value[s], paths.tick[s]
    if np.isnan(before) or at >= tick:
        return
    gap, move = float(tick - at), value - before
    sums = paths.sums[s]
    held = paths.block[s]
    if sums[held, COUNT] >= BLOCK:
        held = (held + 1) % BLOCKS
        paths.block[s] = held
        sums[held, :] = 0.0
    sums[held, COUNT] += 1.0
    sums[held, TIME] += gap
    sums[held, MOVE] += move
    sums[held, SQUARE] += move * move / gap


@compiled
def estimate(paths, s, now, declared_gap):  # type: ignore[no-untyped-def]
    """Estimate drift and variance of a series anew, and say when to do so again."""
    n, time, move, square = 0.0, 0.0, 0.0, 0.0
    for b in range(BLOCKS):
        n += paths.sums[s, b, COUNT]
        time += paths.sums[s, b, TIME]
        move += paths.sums[s, b, MOVE]
        square += paths.sums[s, b, SQUARE]
    if n < 2.0:
        return
    mu = move / time
    var = max(0.0, square - mu * mu * time) / (n - 1.0)
    longest = LONGEST * time / n
    wait = longest
    if paths.estimated[s] != ALWAYS and var > 0.0:
        wait = min(np.sqrt(paths.var[s] / var) * (now - paths.estimated[s]), longest)
    if n < 100.0:
        # As much again as is known: the first estimates are rough.
        wait = min(wait, 0.5 * time)
    paths.mu[s], paths.var[s], paths.span[s], paths.items[s] = mu, var, time, n
    paths.gap[s] = declared_gap if declared_gap > 0.0 else SILENT_AFTER * time / n
    paths.estimated[s] = now
    paths.due[s] = now + np.int64(wait)


@compiled
def estimate_due(paths, now, declared_gap):  # type: ignore[no-untyped-def]
    """Estimate the series anew whose time has come."""
    for s in range(len(paths.value)):
        if paths.due[s] <= now and not np.isnan(paths.value[s]):
            estimate(paths, s, now, declared_gap)


def drift_of(ticks: Ints, values: Floats) -> tuple[float, float]:
    """Drift and deviation per tick of one series, by the printed formulas.

    Examples
    --------
    >>> mu, sigma = drift_of(np.array([0, 1, 3, 4]), np.array([0.0, 1.0, 3.0, 4.0]))
    >>> mu, sigma
    (1.0, 0.0)
    """
    gaps = np.diff(ticks).astype(np.float64)
    moves = np.diff(values)
    moves, gaps = moves[gaps > 0.0], gaps[gaps > 0.0]
    if len(moves) < 2:
        return 0.0, np.inf
    mu = float(moves.sum() / gaps.sum())
    var = float(((moves - gaps * mu) ** 2 / gaps).sum() / (len(moves) - 1))
    return mu, float(np.sqrt(var))
