"""Regime: whether a cell is watched at every tick or left to a timer, by what either costs.

The costs were measured with `bench deferral` and are written down here, so that a choice depends
on the data alone and is the same in every replay. Watching may take a stated share of the time that
taking the rows in does; it then saves answers, and holds its promise by construction.
"""

from __future__ import annotations

from streamgauge.drift.cells import TIMER, WATCH
from streamgauge.kernel.jit import compiled
from streamgauge.operators.emission import ALWAYS

# Nanoseconds: to take in a row; to watch a cell for a tick, and a member of it; to evaluate a cell.
ROW = 60.0
WATCHED, WATCHED_MEMBER = 6.0, 1.0
EVALUATED, EVALUATED_MEMBER = 1000.0, 60.0
# Share of the time for rows that watching may take, and what it may take at a tick anyway: a
# thousand cells are watched wherever they are.
SHARE, LEAST = 0.3, 20_000.0
# A timer evaluates about so often in the time that a watched answer lasts.
TIMER_RATE = 4.0


@compiled
def choose(memory, cells, links, rows_per_tick, scarce, anew):  # type: ignore[no-untyped-def]
    """Choose the regime of the cells that have none yet, or of all of them anew.

    Where capacity is scarce nobody is watched unasked: a watched cell is due at every tick.
    """
    left = 0.0 if scarce else max(LEAST, SHARE * ROW * rows_per_tick)
    for c in range(len(cells)):
        mine, asked = memory.cell[c], cells[c]
        if mine.evaluations == 0:
            # Looked at until it has answered: it may be a group without rows yet.
            continue
        n = links.pointer[c + 1] - links.pointer[c]
        price = WATCHED + WATCHED_MEMBER * n
        exact = asked.width == 0.0 or asked.confidence >= 1.0
        if asked.asked != 0:
            mine.regime = asked.asked
        elif exact or (asked.window > 0 and (asked.throughout or not scarce)):
            mine.regime = WATCH
        elif anew or mine.regime == 0:
            usual = float(mine.usual) / (1.0 if mine.regime == TIMER else TIMER_RATE)
            evaluated = (EVALUATED + EVALUATED_MEMBER * n) / max(1.0, usual)
            cheaper = usual > 0.0 and evaluated >= price and not scarce
            mine.regime = WATCH if cheaper or price <= left else TIMER
        if mine.regime == WATCH:
            left -= price
            memory.due[c] = ALWAYS
