"""Rings: windows of the newest n rows, whole or per key.

A ring holds the n newest rows of each key in the order they took effect; a check reads them all.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.jit import compiled
from streamgauge.operators.accumulate import FIELDS, add_pair, add_single, clear, finish
from streamgauge.operators.emission import (
    CHANGE,
    EVERY,
    GIVEN,
    changed,
    give,
)

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
NEVER = np.int64(2**62)


@dataclass(slots=True)
class RingQueries:
    """Compiled queries of one ring, as columns."""

    query: Codes
    op: Codes
    cadence: Codes
    every: Ints
    by: Floats
    since: Ints


@dataclass(slots=True)
class Rings:
    """Rows of each key: their numbers, groups (-1: filtered out) and times."""

    n: int
    x: Floats = field(default_factory=lambda: np.empty((0, 0)))
    y: Floats = field(default_factory=lambda: np.empty((0, 0)))
    w: Floats = field(default_factory=lambda: np.empty((0, 0)))
    ts: Ints = field(default_factory=lambda: np.empty((0, 0), np.int64))
    group: Codes = field(default_factory=lambda: np.empty((0, 0), np.int32))
    count: Ints = field(default_factory=lambda: np.empty(0, np.int64))

    def grow(self, n_keys: int) -> None:
        """Make room for more keys."""
        more = n_keys - len(self.count)
        if more <= 0:
            return
        for name, fill in (("x", np.nan), ("y", np.nan), ("w", np.nan), ("ts", 0), ("group", -1)):
            old = getattr(self, name)
            fresh = np.full((more, self.n), fill, dtype=old.dtype)
            setattr(self, name, fresh if len(old) == 0 else np.concatenate((old, fresh)))
        self.count = np.concatenate((self.count, np.zeros(more, np.int64)))


@compiled
def _content(x, y, w, ts, group, count, paired, since, accs):  # type: ignore[no-untyped-def]
    """Accumulate the rows of all keys, oldest first, per group."""
    for g in range(accs.shape[0]):
        clear(accs[g])
    n = x.shape[1]
    for key in range(len(count)):
        held = min(count[key], n)
        for j in range(count[key] - held, count[key]):
            slot = j % n
            g = group[key, slot]
            if g < 0 or ts[key, slot] <= since:
                continue
            a, b, c = x[key, slot], y[key, slot], w[key, slot]
            if paired:
                if not np.isnan(a) and not np.isnan(b):
                    add_pair(accs[g], a, b)
            elif not np.isnan(a) and not np.isnan(c):
                add_single(accs[g], a, c)


@compiled
def walk(  # type: ignore[no-untyped-def]
    rows_tick, rows_ts, rows_key, rows_group, rows_x, rows_y, rows_w, rows_late,
    tick, last_tick, awake_until, rest, paired,
    x, y, w, ts, group, count,
    query, op, cadence, every, by, since, memory, epoch, out, n_out,
):  # fmt: skip
    """Walk from the closed tick to the last tick: append rows, check what is due."""
    n_rows, n_queries, n_groups = len(rows_tick), len(query), memory.shape[1]
    n = x.shape[1]
    step = np.int64(0)
    for q in range(n_queries):
        if cadence[q] == EVERY:
            a, b = every[q], step
            while b:
                a, b = b, a % b
            step = a
    accs = np.zeros((n_groups, FIELDS))
    i = 0
    while True:
        due = NEVER
        if step > 0:
            due = (tick // step + 1) * step
            if due > awake_until:
                due = NEVER
        coming = rows_tick[i] if i < n_rows else NEVER
        now = min(due, coming)
        if now > last_tick:
            break
        tick = now
        fresh = coming == now
        while i < n_rows and rows_tick[i] == tick:
            key = rows_key[i]
            if not rows_late[i] and key >= 0:
                slot = count[key] % n
                x[key, slot], y[key, slot], w[key, slot] = rows_x[i], rows_y[i], rows_w[i]
                ts[key, slot], group[key, slot] = rows_ts[i], rows_group[i]
                count[key] += 1
            i += 1
        if fresh:
            awake_until = tick + rest
        counted_since = NEVER
        for q in range(n_queries):
            if not (tick % every[q] == 0 if cadence[q] == EVERY else fresh):
                continue
            if since[q] != counted_since:
                _content(x, y, w, ts, group, count, paired, since[q], accs)
                counted_since = since[q]
            for g in range(n_groups):
                value, rows = finish(accs[g], op[q]), accs[g, 0]
                past = memory[q, g]
                if cadence[q] == CHANGE:
                    if past[GIVEN] == 0.0 and rows == 0.0:
                        continue
                    if not changed(past, value, value, value, by[q], 1.0):
                        continue
                elif rows == 0.0:
                    continue
                out = give(
                    past, out, n_out, query[q], g, tick, value, value, value, 1.0, 0, epoch
                )
                n_out += 1
    return out, n_out
