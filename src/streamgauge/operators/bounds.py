"""Bounds: standing queries over series that are known to within a width.

Each series has a centre and a full width; its true value lies within half of it until the next
row. Members of a query are a *team*; queries with the same members share it. Only teams with a
member that changed are worked out again, from all their members in one order, so that no answer
depends on how rows fell into batches. Ends of bars are rounded outwards.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.jit import compiled
from streamgauge.operators.accumulate import AVG, COUNT, MAX, MIN, SUM
from streamgauge.operators.emission import (
    ALWAYS,
    CHANGE,
    GIVEN,
    NEVER,
    Codes,
    Flags,
    Floats,
    Ints,
    beat,
    changed,
    charge,
    emptied,
    give,
    is_due,
    next_check,
    run_end,
    silence,
)
from streamgauge.operators.rounding import (
    TINY,
    UNIT,
    ceiling_of,
    floor_of,
    multiplied,
    quotient_floor,
    summed,
)

# What is known of a team: members with a value, gone, interrupted, and with a late row; the sum of
# their centres, its carry and what it may be off; the same of their weights and of the widths.
N, GONE, QUIET, MISSED, TOTAL, CARRY, OFF, MASS, MASS_OFF, REACH, REACH_CARRY = range(11)
LEAST, LEAST_LOW, LEAST_HIGH, MOST, MOST_LOW, MOST_HIGH = range(11, 17)
FIELDS = 17


class Bounds(NamedTuple):
    """Newest bound of each series, and what late rows would have made of it.

    A value of NaN is a series that is gone, a width of NaN one that is interrupted, a time of
    `ALWAYS` one that has had no row.
    """

    value: Floats
    width: Floats
    ts: Ints
    missed: Floats
    missed_width: Floats
    missed_ts: Ints


class Teams(NamedTuple):
    """Members of the teams; `pointer` cuts `member`, `readers` are the teams of each series.

    `stale` marks teams that must be worked out, `owing` those whose cells must be looked at.
    """

    pointer: Ints
    member: Codes
    weight: Floats
    weighted: npt.NDArray[np.uint8]
    since: Ints
    readers_pointer: Ints
    readers: Codes
    cells_pointer: Ints
    known: Floats
    stale: Flags
    owing: Flags


class Cells(NamedTuple):
    """What is asked: one cell for each query, or for each of its groups, in order of teams."""

    query: Codes
    op: Codes
    cadence: Codes
    period: Ints
    patience: Ints
    by: Floats
    team: Codes
    group: Codes
    listed: Floats
    grouped: Flags


def no_bounds() -> Bounds:
    """No series yet."""
    floats, ints = np.empty(0), np.empty(0, np.int64)
    return Bounds(floats, floats.copy(), ints, floats.copy(), floats.copy(), ints.copy())


def with_room(bounds: Bounds, n_series: int) -> Bounds:
    """The same bounds with room for more series."""
    more = n_series - len(bounds.value)
    if more <= 0:
        return bounds
    rest = [
        np.full(more, ALWAYS) if column.dtype == np.int64 else np.full(more, np.nan)
        for column in bounds
    ]
    return Bounds(*(np.concatenate(pair) for pair in zip(bounds, rest, strict=True)))


@compiled
def _fold(bounds, rows, i, stop, touched):  # type: ignore[no-untyped-def]
    """Take rows i..stop-1 in; `touched` are the series they change, each perhaps more than once."""
    n = 0
    for j in range(i, stop):
        sid, ts = rows.place[j], rows.ts[j]
        if ts < bounds.ts[sid]:
            continue
        width = rows.w[j] if rows.w[j] >= 0.0 else np.nan
        if not rows.late[j]:
            bounds.value[sid], bounds.width[sid], bounds.ts[sid] = rows.x[j], width, ts
            bounds.missed_ts[sid] = ALWAYS
        elif ts >= bounds.missed_ts[sid]:
            bounds.missed[sid], bounds.missed_width[sid] = rows.x[j], width
            bounds.missed_ts[sid] = ts
        else:
            continue
        touched[n] = sid
        n += 1
    return n


@compiled
def _ends(centre, half):  # type: ignore[no-untyped-def]
    """Ends of a bound, rounded outwards, and how far its source may have rounded them."""
    low, under = summed(centre, -half)
    high, over = summed(centre, half)
    return floor_of(low, under), ceiling_of(high, over), max(abs(under), abs(over))


@compiled
def _work_out(t, teams, value, width, ts, known):  # type: ignore[no-untyped-def]
    """Sums and extremes of the members of a team that have a value."""
    n, gone, quiet = 0, 0, 0
    total, carry, lost = 0.0, 0.0, 0.0
    mass, mass_carry, mass_lost = 0.0, 0.0, 0.0
    reach, reach_carry, reach_lost, slip = 0.0, 0.0, 0.0, 0.0
    least, least_low, least_high = np.inf, np.inf, np.inf
    most, most_low, most_high = -np.inf, -np.inf, -np.inf
    since, weighted = teams.since[t], teams.weighted[t]
    for j in range(teams.pointer[t], teams.pointer[t + 1]):
        s = teams.member[j]
        if ts[s] == ALWAYS or (since != ALWAYS and ts[s] <= since):
            continue
        centre = value[s]
        if np.isnan(centre):
            gone += 1
            continue
        n += 1
        half = 0.5 * width[s]
        if np.isnan(half):
            quiet += 1
            half = 0.0
        low, high, off = _ends(centre, half)
        size = 1.0
        part, wide = centre, half
        if weighted:
            weight = teams.weight[j]
            size = abs(weight)
            part, e = multiplied(weight, centre)
            wide, r = multiplied(size, half)
            carry += e
            reach_carry += r
            lost, reach_lost = lost + abs(e), reach_lost + abs(r)
            if (abs(part) < TINY and centre != 0.0) or (wide < TINY and half != 0.0):
                slip += 2.0 * TINY
            mass, e = summed(mass, weight)
            mass_carry += e
            mass_lost += abs(e)
        total, e = summed(total, part)
        reach, r = summed(reach, wide)
        carry += e
        reach_carry += r
        lost, reach_lost = lost + abs(e), reach_lost + abs(r)
        slip += size * off
        least, most = min(least, centre), max(most, centre)
        least_low, least_high = min(least_low, low), min(least_high, high)
        most_low, most_high = max(most_low, low), max(most_high, high)
    noise = (8.0 * n + 16.0) * UNIT
    known[N], known[GONE], known[QUIET] = n, gone, quiet
    known[TOTAL], known[CARRY] = total, carry
    known[OFF] = noise * (lost + reach_lost) + (1.0 + noise) * slip
    known[MASS], known[MASS_OFF] = float(n), 0.0
    if weighted:
        known[MASS] = mass + mass_carry
        if mass_lost > 0.0:
            known[MASS_OFF] = noise * mass_lost + 2.0 * UNIT * abs(known[MASS])
    known[REACH], known[REACH_CARRY] = reach, reach_carry
    known[LEAST], known[LEAST_LOW], known[LEAST_HIGH] = least, least_low, least_high
    known[MOST], known[MOST_LOW], known[MOST_HIGH] = most, most_low, most_high


@compiled
def _lower(known, sign):  # type: ignore[no-untyped-def]
    """Lower end of `sign` times the sum, as a double and what is to be added to it."""
    total, carry = sign * known[TOTAL], sign * known[CARRY]
    whole, e = summed(total, -known[REACH])
    rest = e + (carry - known[REACH_CARRY])
    off = known[OFF] + 4.0 * UNIT * (abs(e) + abs(carry) + abs(known[REACH_CARRY]))
    end, e = summed(whole, rest)
    return end, e - off


@compiled
def _linear(known, divisor, off):  # type: ignore[no-untyped-def]
    """Value and ends of a sum over a divisor that is known to within `off`."""
    value = (known[TOTAL] + known[CARRY]) / divisor
    if known[REACH] == 0.0:
        return value, value, value
    sign = 1.0 if divisor > 0.0 else -1.0
    end, rest = _lower(known, sign)
    low = quotient_floor(end, rest, abs(divisor), off)
    end, rest = _lower(known, -sign)
    high = -quotient_floor(end, rest, abs(divisor), off)
    if not (np.isfinite(low) and np.isfinite(high)):
        return value, -np.inf, np.inf
    return value, min(low, value), max(high, value)


@compiled
def _bar(op, known):  # type: ignore[no-untyped-def]
    """Value, low and high of an aggregate over a team, as far as its members have bounds."""
    if op == COUNT:
        return known[N], known[N], known[N]
    if known[N] == 0.0:
        return np.nan, np.nan, np.nan
    if op == MIN:
        value, low, high = known[LEAST], known[LEAST_LOW], known[LEAST_HIGH]
    elif op == MAX:
        value, low, high = known[MOST], known[MOST_LOW], known[MOST_HIGH]
    elif op == SUM:
        value, low, high = _linear(known, 1.0, 0.0)
    elif op == AVG and abs(known[MASS]) > known[MASS_OFF]:
        value, low, high = _linear(known, known[MASS], known[MASS_OFF])
    else:
        return np.nan, np.nan, np.nan
    return value, low, high


@compiled
def _as_if_on_time(bounds):  # type: ignore[no-untyped-def]
    """Values, widths and times had no row been late."""
    late = bounds.missed_ts != ALWAYS
    value = np.where(late, bounds.missed, bounds.value)
    width = np.where(late, bounds.missed_width, bounds.width)
    return value, width, np.maximum(bounds.ts, bounds.missed_ts)


@compiled
def _any_missed(t, teams, missed_ts):  # type: ignore[no-untyped-def]
    for j in range(teams.pointer[t], teams.pointer[t + 1]):
        if missed_ts[teams.member[j]] != ALWAYS:
            return True
    return False


@compiled
def _refresh(t, teams, bounds, late, on_time):  # type: ignore[no-untyped-def]
    """Work a stale team out: as it is, and as it would be had no row been late."""
    if not teams.stale[t]:
        return
    known = teams.known[t]
    _work_out(t, teams, bounds.value, bounds.width, bounds.ts, known[0])
    known[0, MISSED] = 0.0
    if late and _any_missed(t, teams, bounds.missed_ts):
        _work_out(t, teams, on_time[0], on_time[1], on_time[2], known[1])
        known[0, MISSED] = 1.0
    teams.stale[t] = False


@compiled
def _answer(c, cells, teams, past, tick, epoch, out, n_out):  # type: ignore[no-untyped-def]
    """Give the answer of a cell if it is owed."""
    known, op = teams.known[cells.team[c]], cells.op[c]
    value, low, high = _bar(op, known[0])
    gone, grouped = known[0, N] == 0.0, cells.grouped[c]
    if gone and past[GIVEN] == 0.0:
        return out, n_out
    quiet, there = known[0, QUIET], not np.isnan(value)
    own_below, own_above = (value - low, high - value) if there else (0.0, 0.0)
    late_below = late_above = 0.0
    if known[0, MISSED] != 0.0:
        other, other_low, other_high = _bar(op, known[1])
        if there and not np.isnan(other):
            late_below, late_above = max(0.0, low - other_low), max(0.0, other_high - high)
            low, high = min(low, other_low), max(high, other_high)
            quiet = max(quiet, known[1, QUIET])
    if quiet > 0.0 and there:
        low, high = -np.inf, np.inf
    listed = cells.listed[c] - known[0, GONE]
    coverage = 1.0 if cells.listed[c] == 0.0 or listed <= 0.0 else known[0, N] / listed
    leaves = gone and grouped
    on_change = cells.cadence[c] == CHANGE and not leaves
    if on_change and not changed(past, value, low, high, cells.by[c], coverage):
        return out, n_out
    quiet += emptied(known[0, N], value, grouped)
    out = give(
        past, out, n_out, cells.query[c], cells.group[c], tick, value, low, high, coverage, quiet,
        epoch,
    )  # fmt: skip
    charge(past, out[n_out], own_below, own_above, late_below, late_above)
    if leaves:
        past[GIVEN] = 0.0
    return out, n_out + 1


@compiled
def _mark(touched, n_touched, teams, marked, queue):  # type: ignore[no-untyped-def]
    """Queue the teams of the series that changed, and those that owe a look, in their order."""
    n = 0
    for k in range(n_touched):
        s = touched[k]
        if s + 1 >= len(teams.readers_pointer):
            continue
        for j in range(teams.readers_pointer[s], teams.readers_pointer[s + 1]):
            t = teams.readers[j]
            teams.stale[t] = True
            if not marked[t]:
                marked[t] = True
                queue[n] = t
                n += 1
    return n


@compiled
def _queue(touched, n_touched, teams, owed, marked, queue):  # type: ignore[no-untyped-def]
    n = _mark(touched, n_touched, teams, marked, queue)
    if owed:
        for t in range(len(teams.owing)):
            if teams.owing[t] and not marked[t]:
                marked[t] = True
                queue[n] = t
                n += 1
    queue[:n].sort()
    for k in range(n):
        marked[queue[k]] = False
        teams.owing[queue[k]] = False
    return n


@compiled
def walk(rows, span, bounds, cells, teams, memory, out):  # type: ignore[no-untyped-def]
    """Walk from the closed tick to the last tick: fold rows, look at cells, give answers."""
    step = beat(cells.period)
    periodic = np.flatnonzero(cells.period > 0)
    tick, awake_until = span.tick, span.awake_until
    n_rows, i, n_out = len(rows.tick), 0, 0
    n_teams = len(teams.owing)
    marked, queue = np.zeros(n_teams, np.bool_), np.empty(n_teams, np.int64)
    touched, owed = np.empty(n_rows, np.int64), True
    on_time = (bounds.value, bounds.width, bounds.ts)
    while True:
        coming = rows.tick[i] if i < n_rows else NEVER
        now = next_check(tick, step, cells.period, cells.patience, awake_until, span.rest, coming)
        if now > span.last:
            return out[:n_out]
        tick = now
        late = False
        if coming == now:
            stop = run_end(rows.tick, i, tick)
            n_touched = _fold(bounds, rows, i, stop, touched)
            i = stop
            awake_until = tick + span.rest
            n = _queue(touched, n_touched, teams, owed, marked, queue)
            owed = False
            late = (bounds.missed_ts != ALWAYS).any()
            if late:
                on_time = _as_if_on_time(bounds)
            for k in range(n):
                t = queue[k]
                _refresh(t, teams, bounds, late, on_time)
                for c in range(teams.cells_pointer[t], teams.cells_pointer[t + 1]):
                    if cells.cadence[c] == CHANGE:
                        out, n_out = _answer(
                            c, cells, teams, memory[c], tick, span.epoch, out, n_out
                        )
        quiet = silence(tick, awake_until, span.rest)
        for p in range(len(periodic)):
            c = periodic[p]
            if is_due(cells.period[c], cells.patience[c], tick, False, quiet):
                if teams.stale[cells.team[c]]:
                    late = (bounds.missed_ts != ALWAYS).any()
                    on_time = _as_if_on_time(bounds)
                    _refresh(cells.team[c], teams, bounds, late, on_time)
                out, n_out = _answer(c, cells, teams, memory[c], tick, span.epoch, out, n_out)
