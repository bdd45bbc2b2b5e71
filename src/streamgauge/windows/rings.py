"""Rings: windows of the newest n rows, whole or per key.

A ring holds the n newest rows of each key in the order they took effect; a check reads them all.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from streamgauge.kernel.jit import compiled
from streamgauge.kernel.memory import ask_for
from streamgauge.operators.accumulate import FIELDS, add_pair, add_single, clear, finish
from streamgauge.operators.emission import (
    CHANGE,
    GIVEN,
    LAST_COVERAGE,
    NEVER,
    Codes,
    Floats,
    Ints,
    beat,
    changed,
    emptied,
    give,
    is_due,
    next_check,
    run_end,
    silence,
    silent_when_empty,
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
    row = sum(column.nbytes for column in rings) // max(have, 1)
    ask_for(row * (have + max(n_keys, 2 * have)))
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
def _check(  # type: ignore[no-untyped-def]
    tick, fresh, quiet, epoch, rings, paired, grouped, asked, needed, memory, accs, out, n_out
):
    """Answer the queries that are due at a tick."""
    counted_since = NEVER
    for q in range(len(asked.query)):
        if not is_due(asked.period[q], asked.patience[q], tick, fresh, quiet):
            continue
        if asked.since[q] != counted_since:
            _content(rings, paired, asked.since[q], accs)
            counted_since = asked.since[q]
        coverage = 1.0
        if needed[q] > 0:
            coverage = min(1.0, rings.total[0] / needed[q])
        for g in range(memory.shape[1]):
            value, n, past = finish(accs[g], asked.op[q]), accs[g, 0], memory[q, g]
            # A window that fills answers once more when it is full, not at each step.
            seen = coverage if coverage == 1.0 else past[LAST_COVERAGE]
            if n == 0.0:
                if silent_when_empty(
                    past, value, asked.cadence[q], asked.by[q], value, value, grouped
                ):
                    continue
            elif asked.cadence[q] == CHANGE and not changed(
                past, value, value, value, asked.by[q], seen
            ):
                continue
            mark = emptied(n, value, grouped)
            out = give(
                past,
                out,
                n_out,
                asked.query[q],
                g,
                tick,
                value,
                value,
                value,
                coverage,
                mark,
                epoch,
            )
            n_out += 1
            if grouped and n == 0.0:
                past[GIVEN] = 0.0
    return out, n_out


@compiled
def walk(rows, span, rings, paired, grouped, asked, needed, memory, out):  # type: ignore[no-untyped-def]
    """Walk from the closed tick to the last tick: append rows, check what is due.

    `needed` is how many rows a query's window must hold to be whole; 0: it always is.
    """
    step = beat(asked.period)
    accs = np.zeros((memory.shape[1], FIELDS))
    tick, awake_until = span.tick, span.awake_until
    n_rows, i, n_out = len(rows.tick), 0, 0
    while True:
        coming = rows.tick[i] if i < n_rows else NEVER
        now = next_check(tick, step, asked.period, asked.patience, awake_until, span.rest, coming)
        if now > span.last:
            return out[:n_out]
        tick, fresh = now, coming == now
        stop = run_end(rows.tick, i, tick)
        _append(rings, rows, i, stop)
        i = stop
        if fresh:
            awake_until = tick + span.rest
        quiet = silence(tick, awake_until, span.rest)
        out, n_out = _check(
            tick,
            fresh,
            quiet,
            span.epoch,
            rings,
            paired,
            grouped,
            asked,
            needed,
            memory,
            accs,
            out,
            n_out,
        )
