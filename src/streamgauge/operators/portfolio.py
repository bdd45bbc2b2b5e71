"""Portfolio: standing queries over the latest values of series.

One pass over the rows in effective order; at each checked tick every query is computed afresh
from the latest values, members in their listed order, so that no answer depends on how rows fell
into batches.
"""

from __future__ import annotations

from dataclasses import dataclass, field

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
    CHANGE,
    EVERY,
    changed,
    give,
)

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
_NEVER = np.int64(2**62)
_ALWAYS = np.int64(-(2**62))


@dataclass(slots=True)
class Latest:
    """Latest values of the series of one column, and what late rows would have made of them."""

    value: Floats = field(default_factory=lambda: np.empty(0))
    ts: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    missed: Floats = field(default_factory=lambda: np.empty(0))
    missed_ts: Ints = field(default_factory=lambda: np.empty(0, np.int64))

    def grow(self, n_series: int) -> None:
        """Make room for more series."""
        more = n_series - len(self.value)
        if more > 0:
            self.value = np.concatenate((self.value, np.full(more, np.nan)))
            self.missed = np.concatenate((self.missed, np.full(more, np.nan)))
            self.ts = np.concatenate((self.ts, np.full(more, _ALWAYS)))
            self.missed_ts = np.concatenate((self.missed_ts, np.full(more, _ALWAYS)))


@dataclass(slots=True)
class Members:
    """Compiled queries of one portfolio, as columns; `pointer` cuts `member` into queries."""

    query: Codes
    pointer: Ints
    member: Codes
    weight: Floats
    weighted: npt.NDArray[np.uint8]
    listed: Floats
    op: Codes
    cadence: Codes
    every: Ints
    by: Floats
    since: Ints


@compiled
def _update(value, value_ts, missed, missed_ts, sid, x, ts, late, revise):  # type: ignore[no-untyped-def]
    if np.isnan(x) or ts < value_ts[sid]:
        return
    if late and not revise:
        if ts >= missed_ts[sid]:
            missed[sid] = x
            missed_ts[sid] = ts
        return
    value[sid] = x
    value_ts[sid] = ts
    missed[sid] = np.nan
    missed_ts[sid] = _ALWAYS


@compiled
def _plain(start, stop, member, x):  # type: ignore[no-untyped-def]
    total = 0.0
    for j in range(start, stop):
        total += x[member[j]]
    return total


@compiled
def _general(start, stop, member, weight, weighted, op, x, x_ts, y, y_ts, since, acc):  # type: ignore[no-untyped-def]
    """Aggregate of the members that have a value; how many have one."""
    clear(acc)
    n = 0
    paired = len(y) > 0
    total, mass = 0.0, 0.0
    for j in range(start, stop):
        sid = member[j]
        v = x[sid]
        if np.isnan(v) or (since != _ALWAYS and x_ts[sid] <= since):
            continue
        if paired and (np.isnan(y[sid]) or (since != _ALWAYS and y_ts[sid] <= since)):
            continue
        n += 1
        if paired:
            add_pair(acc, v, y[sid])
        elif op == SUM or op == AVG:
            w = weight[j] if weighted else 1.0
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
def walk(  # type: ignore[no-untyped-def]
    rows_tick, rows_sid, rows_x, rows_y, rows_ts, rows_late, revise,
    tick, last_tick, awake_until, rest, tick_width, gap,
    x, x_ts, x_missed, x_missed_ts, y, y_ts, y_missed, y_missed_ts,
    query, pointer, member, weight, weighted, listed, op, cadence, every, by, since,
    memory, epoch, out, n_out,
):  # fmt: skip
    """Walk from the closed tick to the last tick; append answers; return them and the rest point."""
    n_rows, n_queries, n_series = len(rows_tick), len(query), len(x)
    paired = len(y) > 0
    step = np.int64(0)
    for q in range(n_queries):
        if cadence[q] == EVERY:
            a, b = every[q], step
            while b:
                a, b = b, a % b
            step = a
    absent = 0
    n_missed = 0
    for s in range(n_series):
        absent += np.isnan(x[s]) or (paired and np.isnan(y[s]))
        n_missed += not np.isnan(x_missed[s]) or (paired and not np.isnan(y_missed[s]))
    silent = np.zeros(n_series, np.uint8)
    with_x, with_y = np.empty(0), np.empty(0)
    with_x_ts, with_y_ts = x_ts, y_ts
    acc = np.zeros(FIELDS)
    i = 0
    while True:
        due = _NEVER
        if step > 0:
            due = (tick // step + 1) * step
            if due > awake_until:
                due = _NEVER
        coming = rows_tick[i] if i < n_rows else _NEVER
        now = min(due, coming)
        if now > last_tick:
            break
        tick = now
        fresh = coming == now
        recount = False
        while i < n_rows and rows_tick[i] == tick:
            sid = rows_sid[i]
            recount |= np.isnan(x[sid]) or rows_late[i] or not np.isnan(x_missed[sid])
            _update(
                x, x_ts, x_missed, x_missed_ts, sid, rows_x[i], rows_ts[i], rows_late[i], revise
            )
            if paired:
                recount = True
                _update(
                    y, y_ts, y_missed, y_missed_ts, sid, rows_y[i], rows_ts[i], rows_late[i], revise
                )
            i += 1
        if fresh:
            awake_until = tick + rest
        if recount:
            absent, n_missed = 0, 0
            for s in range(n_series):
                absent += np.isnan(x[s]) or (paired and np.isnan(y[s]))
                n_missed += not np.isnan(x_missed[s]) or (paired and not np.isnan(y_missed[s]))
        any_silent = 0
        if gap > 0:
            edge = tick * tick_width - gap
            for s in range(n_series):
                silent[s] = not np.isnan(x[s]) and x_ts[s] < edge
                if paired:
                    silent[s] |= not np.isnan(y[s]) and y_ts[s] < edge
                any_silent += silent[s]
        if n_missed > 0:
            with_x = np.where(np.isnan(x_missed), x, x_missed)
            with_x_ts = np.maximum(x_ts, x_missed_ts)
            if paired:
                with_y = np.where(np.isnan(y_missed), y, y_missed)
                with_y_ts = np.maximum(y_ts, y_missed_ts)
        for q in range(n_queries):
            if cadence[q] == EVERY:
                if tick % every[q] != 0:
                    continue
            elif not fresh:
                continue
            start, stop = pointer[q], pointer[q + 1]
            if absent == 0 and since[q] == _ALWAYS and not weighted[q] and (op[q] == AVG or op[q] == SUM):
                n = stop - start
                value = _plain(start, stop, member, x)
                if op[q] == AVG:
                    value /= n
            else:
                value, n = _general(
                    start, stop, member, weight, weighted[q], op[q], x, x_ts, y, y_ts,
                    since[q], acc,
                )
            if n == 0:
                continue
            low, high, n_silent = value, value, 0
            if n_missed > 0:
                other, _ = _general(
                    start, stop, member, weight, weighted[q], op[q], with_x, with_x_ts, with_y,
                    with_y_ts, since[q], acc,
                )  # fmt: skip
                if not np.isnan(value) and not np.isnan(other):
                    low, high = min(value, other), max(value, other)
            if any_silent > 0:
                for j in range(start, stop):
                    sid = member[j]
                    if silent[sid] and (since[q] == _ALWAYS or x_ts[sid] > since[q]):
                        n_silent += not paired or not np.isnan(x[sid] + y[sid])
                if n_silent > 0:
                    low, high = -np.inf, np.inf
            coverage = 1.0 if listed[q] == 0.0 else n / listed[q]
            if cadence[q] == CHANGE and not changed(
                memory[q], value, low, high, by[q], coverage
            ):
                continue
            out = give(
                memory[q], out, n_out, query[q], -1, tick, value, low, high, coverage, n_silent,
                epoch,
            )  # fmt: skip
            n_out += 1
    return out, n_out
