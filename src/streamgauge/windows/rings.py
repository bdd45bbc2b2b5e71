"""Rings: windows of the newest n rows, whole or per key.

A ring holds the n newest rows of each key in the order they took effect; a check reads them all.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from streamgauge.kernel.jit import compiled
from streamgauge.operators.accumulate import FIELDS, add_pair, add_single, clear, finish
from streamgauge.operators.emission import (
    CHANGE,
    EVERY,
    GIVEN,
    NEVER,
    Codes,
    Floats,
    Ints,
    beat,
    changed,
    give,
    next_check,
    run_end,
)


class Rings(NamedTuple):
    """Rows of each key: their numbers, times, groups (-1: filtered out), and how many ever came."""

    x: Floats
    y: Floats
    w: Floats
    ts: Ints
    group: Codes
    total: Ints


def empty_rings(n_keys: int, n: int) -> Rings:
    """Rings of n rows for some keys."""
    shape = (n_keys, n)
    return Rings(
        np.full(shape, np.nan),
        np.full(shape, np.nan),
        np.full(shape, np.nan),
        np.zeros(shape, np.int64),
        np.full(shape, -1, np.int32),
        np.zeros(n_keys, np.int64),
    )


def with_room(rings: Rings, n_keys: int) -> Rings:
    """The same rings with room for more keys."""
    have, n = rings.x.shape
    if n_keys <= have:
        return rings
    more = empty_rings(max(n_keys, 2 * have) - have, n)
    pairs: Any = zip(rings, more, strict=True)
    return Rings(*(np.concatenate(pair) for pair in pairs))


@compiled
def _append(rings, rows, i, stop):  # type: ignore[no-untyped-def]
    """Append rows i..stop-1 to the rings of their keys."""
    x, y, w, ts, group, total = rings.x, rings.y, rings.w, rings.ts, rings.group, rings.total
    keys, lates, n = rows.key, rows.late, rings.x.shape[1]
    paired, weighted = len(rows.y) > 0, len(rows.w) > 0
    for j in range(i, stop):
        key = keys[j]
        if lates[j] or key < 0:
            continue
        slot = total[key] % n
        x[key, slot] = rows.x[j]
        y[key, slot] = rows.y[j] if paired else np.nan
        w[key, slot] = rows.w[j] if weighted else 1.0
        ts[key, slot], group[key, slot] = rows.ts[j], rows.place[j]
        total[key] += 1


@compiled
def _content(rings, paired, since, accs):  # type: ignore[no-untyped-def]
    """Accumulate the rows of all keys, oldest first, per group."""
    for g in range(accs.shape[0]):
        clear(accs[g])
    n = rings.x.shape[1]
    for key in range(len(rings.total)):
        held = min(rings.total[key], n)
        for j in range(rings.total[key] - held, rings.total[key]):
            slot = j % n
            g = rings.group[key, slot]
            if g < 0 or rings.ts[key, slot] <= since:
                continue
            x, y, w = rings.x[key, slot], rings.y[key, slot], rings.w[key, slot]
            if paired:
                if not np.isnan(x) and not np.isnan(y):
                    add_pair(accs[g], x, y)
            elif not np.isnan(x) and not np.isnan(w):
                add_single(accs[g], x, w)


@compiled
def _check(tick, fresh, epoch, rings, paired, asked, memory, accs, out, n_out):  # type: ignore[no-untyped-def]
    """Answer the queries that are due at a tick."""
    counted_since = NEVER
    for q in range(len(asked.query)):
        if not (tick % asked.every[q] == 0 if asked.cadence[q] == EVERY else fresh):
            continue
        if asked.since[q] != counted_since:
            _content(rings, paired, asked.since[q], accs)
            counted_since = asked.since[q]
        for g in range(memory.shape[1]):
            value, n, past = finish(accs[g], asked.op[q]), accs[g, 0], memory[q, g]
            if n == 0.0 and (asked.cadence[q] != CHANGE or past[GIVEN] == 0.0):
                continue
            if asked.cadence[q] == CHANGE and not changed(
                past, value, value, value, asked.by[q], 1.0
            ):
                continue
            out = give(
                past, out, n_out, asked.query[q], g, tick, value, value, value, 1.0, 0, epoch
            )
            n_out += 1
    return out, n_out


@compiled
def walk(rows, span, rings, paired, asked, memory, out):  # type: ignore[no-untyped-def]
    """Walk from the closed tick to the last tick: append rows, check what is due."""
    step = beat(asked.cadence, asked.every, EVERY)
    accs = np.zeros((memory.shape[1], FIELDS))
    tick, awake_until = span.tick, span.awake_until
    n_rows, i, n_out = len(rows.tick), 0, 0
    while True:
        coming = rows.tick[i] if i < n_rows else NEVER
        now = next_check(tick, step, awake_until, coming)
        if now > span.last:
            return out[:n_out]
        tick, fresh = now, coming == now
        stop = run_end(rows.tick, i, tick)
        _append(rings, rows, i, stop)
        i = stop
        if fresh:
            awake_until = tick + span.rest
        out, n_out = _check(tick, fresh, span.epoch, rings, paired, asked, memory, accs, out, n_out)
