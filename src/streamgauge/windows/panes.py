"""Panes: windows of event time as a ring of small accumulators, shared by many queries.

Pane p of width w covers ((p - 1) * w, p * w]. A window is a run of panes ending at the newest
whole slide, merged from the newest back; queries that differ only in length are all answered by
one such pass. A landmark is a ring of one pane.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.jit import compiled
from streamgauge.operators.accumulate import (
    FIELDS,
    add_pair,
    add_single,
    clear,
    finish,
    merge_pair,
    merge_single,
)
from streamgauge.operators.emission import (
    CHANGE,
    EVERY,
    GIVEN,
    LAST_COVERAGE,
    changed,
    give,
    write,
)

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
NEVER = np.int64(2**62)


@dataclass(slots=True)
class PaneQueries:
    """Compiled queries of one pane table, sorted by slide, then by length; all in ticks or panes."""

    query: Codes
    op: Codes
    cadence: Codes
    every: Ints
    by: Floats
    since: Ints
    slide: Ints
    length: Ints


def empty_ring(n_panes: int, n_groups: int) -> Floats:
    """A ring with nothing in it."""
    ring = np.zeros((n_panes, n_groups, FIELDS))
    ring[:, :, 6] = np.inf
    ring[:, :, 7] = -np.inf
    return ring


@compiled
def _open_pane(ring, late_ring, newest, pane):  # type: ignore[no-untyped-def]
    """Move the ring forward so that `pane` is its newest; forget what falls out."""
    n_panes = ring.shape[0]
    first = max(newest + 1, pane - n_panes + 1)
    for p in range(first, pane + 1):
        for g in range(ring.shape[1]):
            clear(ring[p % n_panes, g])
        for g in range(late_ring.shape[1]):
            clear(late_ring[p % n_panes, g])
    return max(newest, pane)


@compiled
def _add(acc, x, y, w, paired):  # type: ignore[no-untyped-def]
    if paired:
        if not np.isnan(x) and not np.isnan(y):
            add_pair(acc, x, y)
    elif not np.isnan(x) and not np.isnan(w):
        add_single(acc, x, w)


@compiled
def fold(ring, late_ring, newest, pane, g, x, y, w, late, revise, paired):  # type: ignore[no-untyped-def]
    """Take one row into its pane; rows older than the ring are let go."""
    if pane > newest:
        newest = _open_pane(ring, late_ring, newest, pane)
    if g >= 0 and pane > newest - ring.shape[0]:
        if late and not revise:
            _add(late_ring[pane % ring.shape[0], g], x, y, w, paired)
        else:
            _add(ring[pane % ring.shape[0], g], x, y, w, paired)
    return newest


@compiled
def _merge(acc, other, paired, moments):  # type: ignore[no-untyped-def]
    if paired:
        merge_pair(acc, other)
    else:
        merge_single(acc, other, moments)


@compiled
def _values(ring, late_ring, newest, first, last, end, g, length, op, paired, moments, values):  # type: ignore[no-untyped-def]
    """Values of the queries first..last-1 for one group, by one pass from pane `end` back.

    Column 0 is the value, 1 and 2 the bar, 3 the number of rows.
    """
    acc, both = np.zeros(FIELDS), np.zeros(FIELDS)
    clear(acc)
    clear(both)
    n_panes = ring.shape[0]
    any_late = late_ring.shape[1] > 0
    pane, q = end, first
    while q < last:
        stop = end - length[q]
        while pane > stop:
            if newest - n_panes < pane <= newest:
                _merge(acc, ring[pane % n_panes, g], paired, moments)
                if any_late:
                    _merge(both, late_ring[pane % n_panes, g], paired, moments)
            elif pane <= newest - n_panes:
                pane = stop + 1
            pane -= 1
        value = finish(acc, op[q])
        row = values[q]
        row[0], row[1], row[2], row[3] = value, value, value, acc[0]
        if any_late and both[0] > 0.0:
            whole = acc.copy()
            _merge(whole, both, paired, moments)
            other = finish(whole, op[q])
            if not np.isnan(value) and not np.isnan(other):
                row[1], row[2] = min(value, other), max(value, other)
        q += 1


@compiled
def _due(cadence, every, slide, tick, fresh, landmark):  # type: ignore[no-untyped-def]
    if cadence == EVERY:
        return tick % every == 0
    if landmark:
        return fresh
    return tick % slide == 0


@compiled
def _coverage(edge, span, landmark_start, vouched, since):  # type: ignore[no-untyped-def]
    """Share of a window that the panes can vouch for; a span of 0 is a landmark."""
    reached = edge - max(vouched, since)
    if span == 0:
        span = edge - landmark_start
        reached = edge - vouched
    return max(0.0, min(1.0, reached / span)) if span > 0 else 1.0


@compiled
def _class_end(slide, start):  # type: ignore[no-untyped-def]
    stop = start
    while stop < len(slide) and slide[stop] == slide[start]:
        stop += 1
    return stop


@compiled
def _check(  # type: ignore[no-untyped-def]
    tick, fresh, ring, late_ring, newest, width, tick_width, landmark_start, vouched, paired,
    moments, query, op, cadence, every, by, since, slide, length, memory, epoch, values, out,
    n_out,
):  # fmt: skip
    """Answer the queries that are due at a tick."""
    landmark = width == 0
    n_groups, n_queries = memory.shape[1], len(query)
    start = 0
    while start < n_queries:
        stop = _class_end(slide, start)
        any_due = False
        for q in range(start, stop):
            any_due |= _due(cadence[q], every[q], slide[q], tick, fresh, landmark)
        if any_due:
            edge = (tick // slide[start]) * slide[start]
            end = 0 if landmark else edge * tick_width // width
            for g in range(n_groups):
                _values(
                    ring, late_ring, newest, start, stop, end, g, length, op, paired, moments,
                    values,
                )  # fmt: skip
                for q in range(start, stop):
                    if not _due(cadence[q], every[q], slide[q], tick, fresh, landmark):
                        continue
                    value, low, high, n = values[q, 0], values[q, 1], values[q, 2], values[q, 3]
                    coverage = _coverage(
                        edge * tick_width, length[q] * width, landmark_start, vouched, since[q]
                    )
                    past = memory[q, g]
                    if cadence[q] == CHANGE:
                        if past[GIVEN] == 0.0 and n == 0.0:
                            continue
                        # A window that fills answers once more when it is full, not at each step.
                        seen = coverage if coverage == 1.0 else past[LAST_COVERAGE]
                        if not changed(past, value, low, high, by[q], seen):
                            continue
                    elif n == 0.0:
                        continue
                    out = give(
                        past, out, n_out, query[q], g, tick, value, low, high, coverage, 0, epoch
                    )
                    n_out += 1
        start = stop
    return out, n_out


@compiled
def _past_values(  # type: ignore[no-untyped-def]
    first_tick, tick, reach, ring, late_ring, newest, width, tick_width, paired, moments,
    op, cadence, slide, length, kept,
):  # fmt: skip
    """Values of all earlier checks within reach: kept[t - first_tick, q, g]."""
    values = np.empty((len(op), 4))
    for t in range(first_tick, tick):
        start = 0
        while start < len(op):
            stop = _class_end(slide, start)
            edge = (t // slide[start]) * slide[start]
            end = 0 if width == 0 else edge * tick_width // width
            for g in range(kept.shape[2]):
                _values(
                    ring, late_ring, newest, start, stop, end, g, length, op, paired, moments,
                    values,
                )  # fmt: skip
                for q in range(start, stop):
                    kept[t - first_tick, q, g] = values[q, 0] if values[q, 3] > 0 else np.nan
            start = stop


@compiled
def _revise(  # type: ignore[no-untyped-def]
    first_tick, tick, before, after, query, cadence, every, since, slide, length, begun,
    tick_width, width, vouched, out, n_out,
):  # fmt: skip
    """Give again the earlier answers whose value a late row changed."""
    for t in range(first_tick, tick):
        for q in range(len(query)):
            if cadence[q] == CHANGE or t <= begun[q]:
                continue
            if not _due(cadence[q], every[q], slide[q], t, False, False):
                continue
            for g in range(before.shape[2]):
                value = after[t - first_tick, q, g]
                old = before[t - first_tick, q, g]
                if value == old or np.isnan(value) or np.isnan(old):
                    continue
                edge = t // slide[q] * slide[q] * tick_width
                covered = _coverage(edge, length[q] * width, 0, vouched, since[q])
                out = write(out, n_out, query[q], g, t, value, value, value, covered, 0, tick - t)
                n_out += 1
    return out, n_out


@compiled
def walk(  # type: ignore[no-untyped-def]
    rows_tick, rows_ts, rows_group, rows_x, rows_y, rows_w, rows_late, revise, reach,
    tick, last_tick, awake_until, rest, tick_width, width, landmark_start, vouched, paired,
    ring, late_ring, newest,
    query, op, cadence, every, by, since, slide, length, begun, memory, epoch, out,
    n_out,
):  # fmt: skip
    """Walk from the closed tick to the last tick: fold rows, check what is due."""
    n_rows, n_queries = len(rows_tick), len(query)
    landmark = width == 0
    moments = False
    step = np.int64(0)
    for q in range(n_queries):
        moments |= op[q] >= 5
        beat = every[q] if cadence[q] == EVERY else (np.int64(0) if landmark else slide[q])
        a, b = beat, step
        while b:
            a, b = b, a % b
        step = a
    values = np.empty((n_queries, 4))
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
        revised = False
        if revise and fresh and n_queries > 0 and not landmark:
            j = i
            while j < n_rows and rows_tick[j] == tick:
                revised |= rows_late[j] and rows_group[j] >= 0
                j += 1
        first_tick = tick - reach // tick_width
        before = np.empty((0, 0, 0))
        if revised:
            before = np.empty((tick - first_tick, n_queries, memory.shape[1]))
            _past_values(
                first_tick, tick, reach, ring, late_ring, newest, width, tick_width, paired,
                moments, op, cadence, slide, length, before,
            )  # fmt: skip
        while i < n_rows and rows_tick[i] == tick:
            ts = rows_ts[i]
            if landmark:
                if ts >= landmark_start:
                    newest = fold(
                        ring, late_ring, newest, 0, rows_group[i], rows_x[i], rows_y[i],
                        rows_w[i], rows_late[i], revise, paired,
                    )  # fmt: skip
            else:
                newest = fold(
                    ring, late_ring, newest, -((-ts) // width), rows_group[i], rows_x[i],
                    rows_y[i], rows_w[i], rows_late[i], revise, paired,
                )  # fmt: skip
            i += 1
        if fresh:
            awake_until = tick + rest
        if not landmark:
            now_pane = (tick * tick_width) // width
            if now_pane > newest:
                newest = _open_pane(ring, late_ring, newest, now_pane)
        out, n_out = _check(
            tick, fresh, ring, late_ring, newest, width, tick_width, landmark_start, vouched,
            paired, moments, query, op, cadence, every, by, since, slide, length, memory,
            epoch, values, out, n_out,
        )  # fmt: skip
        if revised:
            after = np.empty(before.shape)
            _past_values(
                first_tick, tick, reach, ring, late_ring, newest, width, tick_width, paired,
                moments, op, cadence, slide, length, after,
            )  # fmt: skip
            out, n_out = _revise(
                first_tick, tick, before, after, query, cadence, every, since, slide, length,
                begun, tick_width, width, vouched, out, n_out,
            )  # fmt: skip
    return out, n_out, newest
