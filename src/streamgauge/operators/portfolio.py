"""Portfolio: standing queries over the latest values of series.

One pass over the rows in effective order; at each checked tick every query is computed afresh
from the latest values, members in their listed order, so that no answer depends on how rows fell
into batches.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.jit import compiled
from streamgauge.operators.accumulate import (
    AVG,
    COUNT,
    FIELDS,
    SUM,
    add_pair,
    add_single,
    clear,
    finish,
)
from streamgauge.operators.emission import (
    ALWAYS,
    CHANGE,
    GIVEN,
    LAST,
    LAST_COVERAGE,
    LAST_HIGH,
    LAST_LOW,
    NEVER,
    Codes,
    Floats,
    Ints,
    beat,
    changed,
    charge_late,
    give,
    is_due,
    next_check,
    run_end,
    silence,
)


class Latest(NamedTuple):
    """Latest values of the series of one column, and what late rows would have made of them."""

    value: Floats
    ts: Ints
    missed: Floats
    missed_ts: Ints


class Members(NamedTuple):
    """Members of the queries: `pointer` cuts `member` into queries; 0 `listed` means all series."""

    pointer: Ints
    member: Codes
    weight: Floats
    weighted: npt.NDArray[np.uint8]
    listed: Floats


def no_values() -> Latest:
    """No series yet."""
    return Latest(np.empty(0), np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64))


def with_room(latest: Latest, n_series: int) -> Latest:
    """The same values with room for more series."""
    more = n_series - len(latest.value)
    if more <= 0:
        return latest
    unknown, never = np.full(more, np.nan), np.full(more, ALWAYS)
    return Latest(
        np.concatenate((latest.value, unknown)),
        np.concatenate((latest.ts, never)),
        np.concatenate((latest.missed, unknown)),
        np.concatenate((latest.missed_ts, never)),
    )


@compiled
def _fold(latest, rows, column, i, stop, revise):  # type: ignore[no-untyped-def]
    """Take the values of rows i..stop-1 in; a late one that is not used counts as missed."""
    # Columns are taken out of their tuples before the loop: each access in it would cost.
    value, value_ts = latest.value, latest.ts
    missed, missed_ts = latest.missed, latest.missed_ts
    sids, times, lates = rows.place, rows.ts, rows.late
    for j in range(i, stop):
        sid, x, ts = sids[j], column[j], times[j]
        if np.isnan(x) or ts < value_ts[sid]:
            continue
        if not lates[j] or revise:
            value[sid] = x
            value_ts[sid] = ts
            missed[sid] = np.nan
            missed_ts[sid] = ALWAYS
        elif ts >= missed_ts[sid]:
            missed[sid] = x
            missed_ts[sid] = ts


@compiled
def _survey(latest, edge, silent):  # type: ignore[no-untyped-def]
    """Count series without a value, with a missed one, and silent ones, which are marked."""
    absent, missed, n_silent = 0, 0, 0
    for s in range(len(latest.value)):
        unknown = np.isnan(latest.value[s])
        absent += unknown
        missed += not np.isnan(latest.missed[s])
        if not unknown and latest.ts[s] < edge:
            silent[s] = 1
            n_silent += 1
    return absent, missed, n_silent


@compiled
def _as_if_on_time(latest):  # type: ignore[no-untyped-def]
    """The latest values had no row been late."""
    value = np.where(np.isnan(latest.missed), latest.value, latest.missed)
    ts = np.maximum(latest.ts, latest.missed_ts)
    return Latest(value, ts, latest.missed, latest.missed_ts)


@compiled
def _known(latest, sid, since):  # type: ignore[no-untyped-def]
    """Whether a series has a value that a query may see."""
    return not np.isnan(latest.value[sid]) and (since == ALWAYS or latest.ts[sid] > since)


@compiled
def _general(q, m, op, x, y, since, acc):  # type: ignore[no-untyped-def]
    """Aggregate of the members that have a value; how many have one."""
    clear(acc)
    n, total, mass = 0, 0.0, 0.0
    paired = len(y.value) > 0
    for j in range(m.pointer[q], m.pointer[q + 1]):
        sid = m.member[j]
        if not _known(x, sid, since) or (paired and not _known(y, sid, since)):
            continue
        n += 1
        v = x.value[sid]
        if paired:
            add_pair(acc, v, y.value[sid])
        elif op in (SUM, AVG):
            w = m.weight[j] if m.weighted[q] else 1.0
            total += w * v
            mass += w
        else:
            add_single(acc, v, 1.0)
    if op == COUNT:
        return float(n), n
    if n == 0:
        return np.nan, n
    if op == SUM:
        return total, n
    if op == AVG:
        return (total / mass if mass != 0.0 else np.nan), n
    return finish(acc, op), n


@compiled
def _silent_members(q, m, x, y, since, silent):  # type: ignore[no-untyped-def]
    n, paired = 0, len(y.value) > 0
    for j in range(m.pointer[q], m.pointer[q + 1]):
        sid = m.member[j]
        if silent[sid] and _known(x, sid, since) and (not paired or _known(y, sid, since)):
            n += 1
    return n


@compiled
def _bar(q, m, op, since, value, x, y, x_all, y_all, silent, acc):  # type: ignore[no-untyped-def]
    """The bar of a value where some rows were late or some series are silent.

    The last of it is the value with the late rows.
    """
    low, high = value, value
    other, _ = _general(q, m, op, x_all, y_all, since, acc)
    if not np.isnan(value) and not np.isnan(other):
        low, high = min(value, other), max(value, other)
    quiet = _silent_members(q, m, x, y, since, silent)
    if quiet > 0:
        low, high = -np.inf, np.inf
    return low, high, quiet, other


@compiled
def _quick(asked, m):  # type: ignore[no-untyped-def]
    """Which queries are plain sums or averages of all their members: the common case."""
    quick = np.empty(len(asked.query), np.bool_)
    for q in range(len(quick)):
        linear = asked.op[q] == AVG or asked.op[q] == SUM
        quick[q] = linear and asked.since[q] == ALWAYS and not m.weighted[q]
    return quick


@compiled
def _plain_values(pointer, member, value, op, values):  # type: ignore[no-untyped-def]
    """Sums and averages of members that all have a value; nothing else in the loop."""
    for q in range(len(values)):
        start, stop = pointer[q], pointer[q + 1]
        total = 0.0
        for j in range(start, stop):
            total += value[member[j]]
        values[q] = total / max(1, stop - start) if op[q] == AVG else total


@compiled
def _calm(memory, calm, last):  # type: ignore[no-untyped-def]
    """Whose last answer was exact and whole: for these only a moved value can owe another."""
    for q in range(len(calm)):
        past = memory[q]
        last[q] = past[LAST]
        calm[q] = (
            past[GIVEN] != 0.0 and past[LAST_COVERAGE] == 1.0 and past[LAST_LOW] == past[LAST_HIGH]
        )


@compiled
def _check(  # type: ignore[no-untyped-def]
    tick, fresh, still, epoch, x, y, edge, asked, m, quick, calm, last, memory, out, n_out
):
    """Answer the queries that are due at a tick."""
    acc, silent = np.zeros(FIELDS), np.zeros(len(x.value), np.uint8)
    absent, missed, n_silent = _survey(x, edge, silent)
    if len(y.value) > 0:
        more = _survey(y, edge, silent)
        absent, missed, n_silent = absent + more[0], missed + more[1], n_silent + more[2]
    x_all, y_all = x, y
    if missed > 0:
        x_all, y_all = _as_if_on_time(x), _as_if_on_time(y)
    whole, exact = absent == 0, missed == 0 and n_silent == 0
    query, ops, cadence, by = asked.query, asked.op, asked.cadence, asked.by
    period, patience = asked.period, asked.patience
    values = np.empty(len(query))
    if whole:
        _plain_values(m.pointer, m.member, x.value, ops, values)
    simple = whole and exact and fresh
    for q in range(len(query)):
        if simple and quick[q] and calm[q] and cadence[q] == CHANGE:
            if abs(values[q] - last[q]) <= by[q]:
                continue
        elif not is_due(period[q], patience[q], tick, fresh, still):
            continue
        op, since = ops[q], asked.since[q]
        value, n = values[q], m.pointer[q + 1] - m.pointer[q]
        if not (whole and quick[q]):
            value, n = _general(q, m, op, x, y, since, acc)
        if n == 0:
            continue
        coverage = 1.0 if m.listed[q] == 0.0 else n / m.listed[q]
        low, high, quiet, other = value, value, 0, value
        if not exact:
            low, high, quiet, other = _bar(q, m, op, since, value, x, y, x_all, y_all, silent, acc)
        if cadence[q] != CHANGE or changed(memory[q], value, low, high, by[q], coverage):
            out = give(
                memory[q], out, n_out, query[q], -1, tick, value, low, high, coverage, quiet, epoch
            )
            charge_late(memory[q], out[n_out], value, other)
            n_out += 1
            last[q] = value
            calm[q] = coverage == 1.0 and low == high
    return out, n_out


@compiled
def walk(rows, span, revise, gap, x, y, asked, members, memory, out):  # type: ignore[no-untyped-def]
    """Walk from the closed tick to the last tick: fold rows, check what is due, give answers."""
    step = beat(asked.period)
    tick, awake_until = span.tick, span.awake_until
    n_rows, i, n_out = len(rows.tick), 0, 0
    quick = _quick(asked, members)
    calm, last = np.empty(len(quick), np.bool_), np.empty(len(quick))
    _calm(memory, calm, last)
    while True:
        coming = rows.tick[i] if i < n_rows else NEVER
        now = next_check(tick, step, asked.period, asked.patience, awake_until, span.rest, coming)
        if now > span.last:
            return out[:n_out]
        tick, fresh = now, coming == now
        stop = run_end(rows.tick, i, tick)
        _fold(x, rows, rows.x, i, stop, revise)
        if len(y.value) > 0:
            _fold(y, rows, rows.y, i, stop, revise)
        i = stop
        if fresh:
            awake_until = tick + span.rest
        if len(asked.query) > 0:
            edge = tick * span.width - gap if gap > 0 else ALWAYS
            still = silence(tick, awake_until, span.rest)
            out, n_out = _check(
                tick, fresh, still, span.epoch, x, y, edge, asked, members, quick, calm, last,
                memory, out, n_out,
            )  # fmt: skip
