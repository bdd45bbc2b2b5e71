"""Panes: windows of event time as a ring of small accumulators, shared by many queries.

Pane p of width w covers ((p - 1) * w, p * w]. A window is a run of panes ending at the newest
whole slide, merged from the newest back; queries that differ only in length are all answered by
one such pass. A landmark is a ring of one pane, of width 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from streamgauge.kernel.jit import compiled
from streamgauge.operators.accumulate import (
    AVG,
    FIELDS,
    SUM,
    VAR,
    add_pair,
    add_single,
    clear,
    finish,
    merge_pair,
    merge_single,
)
from streamgauge.operators.emission import (
    CHANGE,
    GIVEN,
    LAST_COVERAGE,
    NEVER,
    Codes,
    Flags,
    Floats,
    Ints,
    beat,
    changed,
    charge_late,
    emptied,
    give,
    is_due,
    next_check,
    run_end,
    silence,
    silent_when_empty,
    write,
)
from streamgauge.operators.limbs import add_limbs, read_limbs


class Shape(NamedTuple):
    """How the queries of a table cut its panes: slide and birth in ticks, length in panes."""

    slide: Ints
    length: Ints
    begun: Ints


class Table(NamedTuple):
    """The panes of a table, those of its late rows, and what they stand for.

    `vouched` is the instant from which the panes are whole; `reach` how far back late rows revise;
    `first` is the instant before the first row, from which a landmark counts as covered. An `exact`
    table has its sums in limbs, from limb `low` of the grid on.
    """

    ring: Floats
    late: Floats
    width: int
    start: int
    vouched: int
    reach: int
    paired: bool
    revise: bool
    grouped: bool
    first: int
    exact: bool
    limbs: Ints
    late_limbs: Ints
    low: int


class Cells(NamedTuple):
    """Rows of a table that were added up before, by tick, each with its pane and group."""

    tick: Ints
    pane: Ints
    late: Flags
    place: Codes
    n: Ints
    least: Floats
    most: Floats
    limbs: Ints


def no_cells() -> Cells:
    """None of them."""
    none, floats = np.empty(0, np.int64), np.empty(0)
    late, place = np.empty(0, np.bool_), np.empty(0, np.int32)
    return Cells(none, none, late, place, none, floats, floats, np.zeros((0, 0), np.int64))


def empty_ring(n_panes: int, n_groups: int) -> Floats:
    """A ring with nothing in it."""
    ring = np.zeros((n_panes, n_groups, FIELDS))
    ring[:, :, 6] = np.inf
    ring[:, :, 7] = -np.inf
    return ring


@compiled
def _open_pane(table, newest, pane):  # type: ignore[no-untyped-def]
    """Move the ring forward so that `pane` is its newest; forget what falls out."""
    n_panes = table.ring.shape[0]
    for p in range(max(newest + 1, pane - n_panes + 1), pane + 1):
        for g in range(table.ring.shape[1]):
            clear(table.ring[p % n_panes, g])
        for g in range(table.late.shape[1]):
            clear(table.late[p % n_panes, g])
        table.limbs[p % n_panes] = 0
        table.late_limbs[p % n_panes] = 0
    return max(newest, pane)


@compiled
def _fold(table, newest, rows, i, stop):  # type: ignore[no-untyped-def]
    """Take rows i..stop-1 into their panes; rows older than the ring are let go."""
    # Columns are taken out of their tuples before the loop: each access in it would cost.
    ring, late_ring, width, start = table.ring, table.late, table.width, table.start
    paired, revise, n_panes = table.paired, table.revise, table.ring.shape[0]
    times, places, lates, xs, ys, ws = rows.ts, rows.place, rows.late, rows.x, rows.y, rows.w
    weighted, exact, low = len(ws) > 0, table.exact, table.low
    summed = exact and table.limbs.shape[2] > 0
    for j in range(i, stop):
        ts, g, x = times[j], places[j], xs[j]
        w = ws[j] if weighted else 1.0
        pane = -((-ts) // width) if width > 0 else np.int64(0)
        if width == 0 and ts < start:
            continue
        if pane > newest:
            newest = _open_pane(table, newest, pane)
        if g < 0 or pane <= newest - n_panes or np.isnan(x) or np.isnan(w):
            continue
        missed = lates[j] and not revise
        into = late_ring if missed else ring
        if exact:
            _count(into[pane % n_panes, g], 1.0, x, x)
            if summed:
                sums = table.late_limbs if missed else table.limbs
                add_limbs(sums[pane % n_panes, g], low, x)
        elif not paired:
            add_single(into[pane % n_panes, g], x, w)
        elif not np.isnan(ys[j]):
            add_pair(into[pane % n_panes, g], x, ys[j])
    return newest


@compiled
def _take(table, newest, cells, i, tick):  # type: ignore[no-untyped-def]
    """Merge the cells from i on that are due at a tick; return where the next ones begin."""
    n_panes, summed = table.ring.shape[0], cells.limbs.shape[1] > 0
    while i < len(cells.tick) and cells.tick[i] <= tick:
        pane, g = cells.pane[i], cells.place[i]
        if pane > newest:
            newest = _open_pane(table, newest, pane)
        if g >= 0 and pane > newest - n_panes:
            ring = table.late if cells.late[i] else table.ring
            _count(ring[pane % n_panes, g], cells.n[i], cells.least[i], cells.most[i])
            if summed:
                limbs = table.late_limbs if cells.late[i] else table.limbs
                for k in range(cells.limbs.shape[1]):
                    limbs[pane % n_panes, g, k] += cells.limbs[i, k]
        i += 1
    return newest, i


@compiled
def _count(acc, n, least, most):  # type: ignore[no-untyped-def]
    """Count rows and their extremes; both zeros are one."""
    acc[0] += n
    acc[6] = min(acc[6], least + 0.0)
    acc[7] = max(acc[7], most + 0.0)


@compiled
def _merge(acc, other, paired, moments):  # type: ignore[no-untyped-def]
    if paired:
        merge_pair(acc, other)
    else:
        merge_single(acc, other, moments)


@compiled
def _join(acc, sums, other, limbs, g):  # type: ignore[no-untyped-def]
    """Merge a pane of a group into what was merged before; what has no sums has no limbs."""
    if other[0] > 0.0:
        _count(acc, other[0], other[6], other[7])
        if len(sums) > 0:
            for i in range(len(sums)):
                sums[i] += limbs[g, i]


@compiled
def _finish(acc, sums, table, op):  # type: ignore[no-untyped-def]
    """Answer an aggregate; sums in limbs are rounded here, once."""
    if table.exact and acc[0] > 0.0 and op in (SUM, AVG):
        total = read_limbs(sums, table.low)
        return total if op == SUM else total / acc[0]
    return finish(acc, op)


@compiled
def _values(table, newest, first, last, end, g, asked, shape, moments, values):  # type: ignore[no-untyped-def]
    """Values of the queries first..last-1 for one group, by one pass from pane `end` back.

    Column 0 is the value, 1 and 2 the bar, 3 the number of rows, 4 the value with late rows.
    """
    acc, missed, n_panes = np.zeros(FIELDS), np.zeros(FIELDS), table.ring.shape[0]
    sums = np.zeros(table.limbs.shape[2], np.int64)
    late_sums = np.zeros(table.limbs.shape[2], np.int64)
    clear(acc)
    clear(missed)
    any_late = table.late.shape[1] > 0
    pane = end
    for q in range(first, last):
        stop = max(end - shape.length[q], newest - n_panes)
        while pane > stop:
            if pane <= newest:
                at = pane % n_panes
                if table.exact:
                    _join(acc, sums, table.ring[at, g], table.limbs[at], g)
                    if any_late:
                        _join(missed, late_sums, table.late[at, g], table.late_limbs[at], g)
                else:
                    _merge(acc, table.ring[at, g], table.paired, moments)
                    if any_late:
                        _merge(missed, table.late[at, g], table.paired, moments)
            pane -= 1
        value = _finish(acc, sums, table, asked.op[q])
        values[q, 0], values[q, 1], values[q, 2], values[q, 3] = value, value, value, acc[0]
        values[q, 4] = value
        if any_late and missed[0] > 0.0:
            whole = acc.copy()
            if table.exact:
                _count(whole, missed[0], missed[6], missed[7])
            else:
                _merge(whole, missed, table.paired, moments)
            other = _finish(whole, sums + late_sums, table, asked.op[q])
            if not np.isnan(value) and not np.isnan(other):
                values[q, 1], values[q, 2] = min(value, other), max(value, other)
                values[q, 4] = other


@compiled
def _due(q, tick, fresh, quiet, asked):  # type: ignore[no-untyped-def]
    return is_due(asked.period[q], asked.patience[q], tick, fresh, quiet)


@compiled
def coverage_of(edge, span, start, vouched, since):  # type: ignore[no-untyped-def]
    """Share of a window that the panes can vouch for; a span of 0 is a landmark."""
    reached = edge - max(vouched, since)
    if span == 0:
        span = edge - start
        reached = edge - vouched
    return max(0.0, min(1.0, reached / span)) if span > 0 else 1.0


@compiled
def _class_end(slide, start):  # type: ignore[no-untyped-def]
    """End of the run of queries that move together."""
    stop = start
    while stop < len(slide) and slide[stop] == slide[start]:
        stop += 1
    return stop


@compiled
def _end_pane(table, edge):  # type: ignore[no-untyped-def]
    return edge // table.width if table.width > 0 else np.int64(0)


@compiled
def _emit(q, g, tick, edge, epoch, table, asked, shape, memory, values, out, n_out):  # type: ignore[no-untyped-def]
    """Give the answer of one query and group, if it is owed."""
    value, low, high, n = values[q, 0], values[q, 1], values[q, 2], values[q, 3]
    span = shape.length[q] * table.width
    start = max(table.start, table.first)
    coverage = coverage_of(edge, span, start, table.vouched, asked.since[q])
    past = memory[q, g]
    if n == 0.0:
        if silent_when_empty(past, value, asked.cadence[q], asked.by[q], low, high, table.grouped):
            return out, n_out
    elif asked.cadence[q] == CHANGE:
        # A window that fills answers once more when it is full, not at each step.
        seen = coverage if coverage == 1.0 else past[LAST_COVERAGE]
        if not changed(past, value, low, high, asked.by[q], seen):
            return out, n_out
    mark = emptied(n, value, table.grouped)
    out = give(past, out, n_out, asked.query[q], g, tick, value, low, high, coverage, mark, epoch)
    charge_late(past, out[n_out], value, values[q, 4])
    if n == 0.0 and table.grouped:
        past[GIVEN] = 0.0
    return out, n_out + 1


@compiled
def _stirs(q, tick, span, table, newest, asked, shape):  # type: ignore[no-untyped-def]
    """Whether a check in a silence may answer: on change only when rows enter or leave."""
    if asked.cadence[q] != CHANGE or tick - shape.slide[q] <= span.tick:
        return True
    edge = tick // shape.slide[q] * shape.slide[q] * span.width
    before = edge - shape.slide[q] * span.width
    length, n_panes = shape.length[q] * table.width, table.ring.shape[0]
    now = coverage_of(edge, length, table.start, table.vouched, asked.since[q])
    if now == 1.0 > coverage_of(before, length, table.start, table.vouched, asked.since[q]):
        return True
    for back in (0, length):
        first, last = _end_pane(table, before - back) + 1, _end_pane(table, edge - back)
        for pane in range(max(first, newest - n_panes + 1), last + 1):
            if table.ring[pane % n_panes, :, 0].any() or table.late[pane % n_panes, :, 0].any():
                return True
    return False


@compiled
def _check(  # type: ignore[no-untyped-def]
    tick, fresh, quiet, span, table, newest, moments, asked, shape, memory, values, out, n_out
):
    """Answer the queries that are due at a tick, one class of slides after the other."""
    start = 0
    while start < len(asked.query):
        stop = _class_end(shape.slide, start)
        any_due = False
        for q in range(start, stop):
            if not any_due and _due(q, tick, fresh, quiet, asked):
                any_due = quiet == 0 or _stirs(q, tick, span, table, newest, asked, shape)
        if any_due:
            edge = (tick // shape.slide[start]) * shape.slide[start] * span.width
            end = _end_pane(table, edge)
            for g in range(memory.shape[1]):
                _values(table, newest, start, stop, end, g, asked, shape, moments, values)
                for q in range(start, stop):
                    if _due(q, tick, fresh, quiet, asked):
                        out, n_out = _emit(
                            q, g, tick, edge, span.epoch, table, asked, shape, memory, values,
                            out, n_out,
                        )  # fmt: skip
        start = stop
    return out, n_out


@compiled
def _past_values(first_tick, tick, span, table, newest, moments, asked, shape, n_groups):  # type: ignore[no-untyped-def]
    """Values of all earlier checks within reach, by check, query and group; NaN without rows."""
    kept = np.empty((tick - first_tick, len(asked.query), n_groups))
    values = np.empty((len(asked.query), 5))
    for t in range(first_tick, tick):
        start = 0
        while start < len(asked.query):
            stop = _class_end(shape.slide, start)
            edge = (t // shape.slide[start]) * shape.slide[start] * span.width
            end = _end_pane(table, edge)
            for g in range(n_groups):
                _values(table, newest, start, stop, end, g, asked, shape, moments, values)
                for q in range(start, stop):
                    kept[t - first_tick, q, g] = values[q, 0] if values[q, 3] > 0 else np.nan
            start = stop
    return kept


@compiled
def _revise(first_tick, tick, span, before, after, table, asked, shape, out, n_out):  # type: ignore[no-untyped-def]
    """Give again the earlier answers whose value late rows changed."""
    for t in range(first_tick, tick):
        for q in range(len(asked.query)):
            if asked.cadence[q] == CHANGE or t <= shape.begun[q]:
                continue
            if not _due(q, t, False, 0, asked):
                continue
            edge = t // shape.slide[q] * shape.slide[q] * span.width
            width = shape.length[q] * table.width
            covered = coverage_of(edge, width, 0, table.vouched, asked.since[q])
            for g in range(before.shape[2]):
                value, old = after[t - first_tick, q, g], before[t - first_tick, q, g]
                if value != old and not np.isnan(value) and not np.isnan(old):
                    out = write(
                        out, n_out, asked.query[q], g, t, value, value, value, covered, 0, tick - t
                    )
                    n_out += 1
    return out, n_out


@compiled
def _brings_revisions(rows, i, tick, table, n_queries):  # type: ignore[no-untyped-def]
    """Whether late rows of a tick may change answers given before."""
    if not table.revise or table.width == 0 or n_queries == 0:
        return False
    while i < len(rows.tick) and rows.tick[i] == tick:
        if rows.late[i] and rows.place[i] >= 0:
            return True
        i += 1
    return False


@compiled
def walk(rows, cells, span, table, newest, asked, shape, memory, out):  # type: ignore[no-untyped-def]
    """Walk from the closed tick to the last tick: fold rows, check what is due, revise."""
    step = beat(asked.period)
    moments, n_groups = bool((asked.op >= VAR).any()), memory.shape[1]
    values = np.empty((len(asked.query), 5))
    tick, awake_until = span.tick, span.awake_until
    n_rows, i, n_out, taken = len(rows.tick), 0, 0, 0
    while True:
        coming = rows.tick[i] if i < n_rows else NEVER
        now = next_check(tick, step, asked.period, asked.patience, awake_until, span.rest, coming)
        if now > span.last:
            return out[:n_out], newest
        tick, fresh = now, coming == now
        revised = fresh and _brings_revisions(rows, i, tick, table, len(asked.query))
        first_tick = tick - table.reach // span.width
        before = np.empty((0, 0, 0))
        if revised:
            before = _past_values(
                first_tick, tick, span, table, newest, moments, asked, shape, n_groups
            )
        stop = run_end(rows.tick, i, tick)
        newest = _fold(table, newest, rows, i, stop)
        newest, taken = _take(table, newest, cells, taken, tick)
        i = stop
        if fresh:
            awake_until = tick + span.rest
        if table.width > 0:
            newest = _open_pane(table, newest, max(newest, tick * span.width // table.width))
        quiet = silence(tick, awake_until, span.rest)
        out, n_out = _check(
            tick, fresh, quiet, span, table, newest, moments, asked, shape, memory, values,
            out, n_out,
        )  # fmt: skip
        if revised:
            after = _past_values(
                first_tick, tick, span, table, newest, moments, asked, shape, n_groups
            )
            out, n_out = _revise(
                first_tick, tick, span, before, after, table, asked, shape, out, n_out
            )
