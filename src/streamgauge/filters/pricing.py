"""What a width is worth at the prices of the day, and who is told: kernels over the ledger."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from streamgauge.filters.bound import EVERY_READING, NOTHING
from streamgauge.filters.ledger import Claims, Floats, Ledger, Whole, confirm, grant, room
from streamgauge.kernel.jit import compiled

# A source may know so many grants more than a coordinator that lost its memory.
LOST = 1 << 40
# Seconds after which even an object that never sends is thought of as sending once.
LONGEST = 1000.0


class Bounds(NamedTuple):
    """Per object: every reading asked for, nothing asked for, uniform and least widths."""

    every: npt.NDArray[np.bool_]
    unqueried: npt.NDArray[np.bool_]
    uniform: Floats
    least: Floats


@compiled
def tolls_of(claims: Claims, prices: Floats) -> Floats:
    """What an object is charged for a unit of width."""
    tolls = np.zeros(claims.caps.size)
    for one in range(tolls.size):
        for place in range(claims.starts[one], claims.starts[one + 1]):
            tolls[one] += claims.weights[place] * prices[claims.queries[place]]
    return tolls


@compiled
def over_budget(ledger: Ledger, claims: Claims) -> npt.NDArray[np.bool_]:
    """Objects that are over their cap or in a query that is over its budget."""
    found = ledger.held > claims.caps
    for one in range(found.size):
        for place in range(claims.starts[one], claims.starts[one + 1]):
            if ledger.leftover[claims.queries[place]] < 0.0:
                found[one] = True
    return found


@compiled
def confirm_all(ledger: Ledger, claims: Claims, objects: Whole, versions: Whole) -> int:
    """Confirm versions; how many there never were."""
    wrong = 0
    for rank in range(objects.size):
        if not confirm(ledger, claims, objects[rank], versions[rank]):
            wrong += 1
    return wrong


@compiled
def wanted_width(
    ledger: Ledger,
    claims: Claims,
    one: int,
    toll: float,
    best: float,
    bounds: Bounds,
    pace: float,
) -> float:
    """Width that is worth its price, as far as there is room."""
    if bounds.every[one]:
        return EVERY_READING
    if bounds.unqueried[one]:
        return NOTHING
    rate, power = ledger.rate[one], ledger.power[one]
    wanted: float = best
    if np.isnan(rate):
        wanted = bounds.uniform[one]
    elif toll > 0.0:
        wanted = max((power * rate / toll) ** (1.0 / (power + 1.0)), bounds.least[one])
        if 0.0 < ledger.newest[one] < np.inf:
            wanted = ledger.newest[one] * (wanted / ledger.newest[one]) ** pace
    wanted = min(wanted, claims.caps[one])
    space = room(ledger, claims, one)
    if space < 0.0:
        wanted = min(wanted, max(ledger.newest[one], 0.0))
    most: float = ledger.held[one] + max(space, 0.0)
    return min(wanted, most)


@compiled
def answer(
    ledger: Ledger,
    claims: Claims,
    objects: Whole,
    versions: Whole,
    rates: Floats,
    powers: Floats,
    at: float,
    tolls: Floats,
    best: Floats,
    bounds: Bounds,
    step: float,
    pace: float,
    out: Whole,
) -> tuple[int, int]:
    """Confirm, learn, and grant; how many grants were made and how many versions were wrong."""
    count, wrong = 0, 0
    for rank in range(objects.size):
        one, version = objects[rank], versions[rank]
        lost = False
        if not confirm(ledger, claims, one, version):
            wrong += 1
            lost = ledger.newest_version[one] < version < ledger.newest_version[one] + LOST
            if lost:
                # The source knows a grant that was forgotten here; a newer one replaces it.
                ledger.newest_version[one] = version
        if rates[rank] >= 0.0 and rates[rank] < np.inf and 0.0 < powers[rank] < 10.0:
            ledger.rate[one] = rates[rank]
            ledger.power[one] = powers[rank]
        ledger.heard[one] = max(ledger.heard[one], at)
        wanted = wanted_width(ledger, claims, one, tolls[one], best[one], bounds, pace)
        newest = ledger.newest[one]
        same = wanted == newest or (wanted > 0.0 and abs(wanted - newest) <= step * newest)
        if same and not lost:
            continue
        if grant(ledger, claims, one, wanted, at):
            out[count] = one
            count += 1
    return count, wrong


@compiled
def shrinks(
    ledger: Ledger,
    claims: Claims,
    best: Floats,
    tolls: Floats,
    rate: Floats,
    excess: float,
    gain: float,
) -> Whole:
    """Objects that should be told to shrink: far above their worth, quiet, and room is wanted."""
    found = np.empty(best.size, np.int64)
    count = 0
    missing = np.zeros(ledger.leftover.size)
    for one in range(best.size):
        for place in range(claims.starts[one], claims.starts[one + 1]):
            less = max(best[one] - ledger.held[one], 0.0)
            missing[claims.queries[place]] += claims.weights[place] * less
    for one in range(best.size):
        width = ledger.newest[one]
        if not excess * best[one] < width < np.inf or ledger.under_way[one] > 0:
            continue
        wanted = False
        for place in range(claims.starts[one], claims.starts[one + 1]):
            query = claims.queries[place]
            if missing[query] > ledger.leftover[query]:
                wanted = True
        if not wanted:
            continue
        power = ledger.power[one] if ledger.power[one] > 0.0 else 2.0
        now = rate[one] * width**-power
        then = rate[one] * best[one] ** -power
        saved = tolls[one] * (width - best[one]) - (then - now)
        if not saved < gain * max(now, 1.0 / LONGEST):
            found[count] = one
            count += 1
    return found[:count]
