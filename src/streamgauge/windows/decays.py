"""Decays: one accumulator a group over all rows, in which a row's weight halves and halves again.

An accumulator stands at the instant of its newest row. A newer row first fades what is there; an
older one comes in faded. Rows come in one order however they are cut into pages, so the sums do
not depend on pages.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from streamgauge.kernel.jit import compiled
from streamgauge.operators.accumulate import COUNT, FIELDS, SUM, add_single, finish, merge_single
from streamgauge.operators.emission import (
    ALWAYS,
    NEVER,
    Floats,
    Ints,
    beat,
    charge_late,
    give,
    is_due,
    next_check,
    run_end,
    silence,
)


class Fading(NamedTuple):
    """Accumulators and the instants they stand at, for rows on time and for late ones.

    `vouched` is the instant from which no row is missing.
    """

    sums: Floats
    at: Ints
    late: Floats
    late_at: Ints
    half_life: int
    vouched: int
    revise: bool


def empty_sums(n_groups: int) -> Floats:
    """Accumulators with nothing in them."""
    sums = np.zeros((n_groups, FIELDS))
    sums[:, 6] = np.inf
    sums[:, 7] = -np.inf
    return sums


@compiled
def _fade(acc, age, half_life):  # type: ignore[no-untyped-def]
    """Let an accumulator grow older."""
    share = 2.0 ** (-age / half_life)
    acc[1] *= share
    acc[2] *= share
    acc[3] *= share
    acc[5] *= share


@compiled
def _fold(fading, rows, i, stop):  # type: ignore[no-untyped-def]
    weighted = len(rows.w) > 0
    for j in range(i, stop):
        ts, g, x = rows.ts[j], rows.place[j], rows.x[j]
        w = rows.w[j] if weighted else 1.0
        if g < 0 or np.isnan(x) or np.isnan(w):
            continue
        missed = rows.late[j] and not fading.revise
        sums, at = (fading.late, fading.late_at) if missed else (fading.sums, fading.at)
        if sums[g, 0] == 0.0:
            at[g] = ts
        if ts > at[g]:
            _fade(sums[g], ts - at[g], fading.half_life)
            at[g] = ts
        add_single(sums[g], x, w * 2.0 ** (-(at[g] - ts) / fading.half_life))


@compiled
def _value(acc, at, now, half_life, op):  # type: ignore[no-untyped-def]
    """An aggregate now; averages do not fade, so they are taken where the sums stand."""
    share = 2.0 ** (-(now - at) / half_life)
    if op == COUNT:
        return acc[1] * share
    value = finish(acc, op)
    return value * share if op == SUM else value


@compiled
def _with_late(fading, g):  # type: ignore[no-untyped-def]
    """All rows of a group in one accumulator, and the instant it stands at."""
    whole, missed = fading.sums[g].copy(), fading.late[g].copy()
    at = max(fading.at[g], fading.late_at[g])
    _fade(whole, at - fading.at[g], fading.half_life)
    _fade(missed, at - fading.late_at[g], fading.half_life)
    merge_single(whole, missed, True)
    return whole, at


@compiled
def _coverage(fading, now):  # type: ignore[no-untyped-def]
    """Share of the weight of an even stream that lies where no row is missing."""
    if fading.vouched == ALWAYS:
        return 1.0
    return max(0.0, 1.0 - 2.0 ** (-(now - fading.vouched) / fading.half_life))


@compiled
def _check(tick, quiet, span, fading, asked, memory, out, n_out):  # type: ignore[no-untyped-def]
    """Answer the queries that are due at a tick, for each group that ever had a row."""
    now = tick * span.width
    covered = _coverage(fading, now)
    for q in range(len(asked.query)):
        if not is_due(asked.period[q], asked.patience[q], tick, False, quiet):
            continue
        for g in range(memory.shape[1]):
            acc, at = fading.sums[g], fading.at[g]
            if acc[0] == 0.0:
                continue
            value = _value(acc, at, now, fading.half_life, asked.op[q])
            low, high, other = value, value, value
            if g < len(fading.late) and fading.late[g, 0] > 0.0:
                whole, newest = _with_late(fading, g)
                other = _value(whole, newest, now, fading.half_life, asked.op[q])
                if not np.isnan(value) and not np.isnan(other):
                    low, high = min(value, other), max(value, other)
            out = give(
                memory[q, g], out, n_out, asked.query[q], g, tick, value, low, high, covered, 0,
                span.epoch,
            )  # fmt: skip
            charge_late(memory[q, g], out[n_out], value, other)
            n_out += 1
    return out, n_out


@compiled
def walk(rows, span, fading, asked, memory, out):  # type: ignore[no-untyped-def]
    """Walk from the closed tick to the last tick: fold rows, check what is due."""
    step = beat(asked.period)
    tick, awake_until = span.tick, span.awake_until
    n_rows, i, n_out = len(rows.tick), 0, 0
    while True:
        coming = rows.tick[i] if i < n_rows else NEVER
        now = next_check(tick, step, asked.period, asked.patience, awake_until, span.rest, coming)
        if now > span.last:
            return out[:n_out]
        tick = now
        stop = run_end(rows.tick, i, tick)
        if stop > i:
            awake_until = tick + span.rest
        _fold(fading, rows, i, stop)
        i = stop
        quiet = silence(tick, awake_until, span.rest)
        out, n_out = _check(tick, quiet, span, fading, asked, memory, out, n_out)
