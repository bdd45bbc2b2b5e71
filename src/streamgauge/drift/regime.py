"""Regime: whether a cell is watched at every tick or left to a timer, by what either costs.

The costs were measured with `bench deferral` and are written down here, so that a choice depends
on the data alone and is the same in every replay. Watching may take a stated share of the time that
taking the rows in does; it then saves answers, and holds its promise by construction.

A cell is chosen for itself. Where watching all cells of a stream would cost too much, each is
watched with the same probability, by a draw of its own. So the choice does not depend on the order
of cells, nor on which of them lie on the same shard.
"""

from __future__ import annotations

import numpy as np

from streamgauge.drift.cells import TIMER, WATCH
from streamgauge.kernel.hashing import uniform
from streamgauge.kernel.jit import compiled
from streamgauge.operators.emission import ALWAYS

# Nanoseconds: to take in a row; to watch a cell for a tick, and a member of it; to evaluate a cell.
ROW = 60.0
WATCHED, WATCHED_MEMBER = 6.0, 1.0
EVALUATED, EVALUATED_MEMBER = 1000.0, 60.0
# Share of the time for rows that watching may take, and what it may take at a tick anyway: two
# thousand small cells are watched whatever the rows are.
SHARE, LEAST = 0.3, 20_000.0
# A timer evaluates about so often in the time that a watched answer lasts.
TIMER_RATE = 4.0
# Number of the draw of a cell that its regime is chosen by; timers draw others (`next_due`).
DRAW = 3


def watched_share(rows_per_tick: float, asked: float, open_to_choice: float) -> float:
    """Share of the cells that may choose which are watched, by what watching costs a tick.

    `asked` is the price of the cells that are watched anyway, `open_to_choice` that of the others,
    both over all shards.

    >>> watched_share(10.0, 5_000.0, 15_000.0), watched_share(10.0, 5_000.0, 60_000.0)
    (1.0, 0.25)
    """
    left = max(LEAST, SHARE * ROW * rows_per_tick) - asked
    if open_to_choice == 0.0 or left >= open_to_choice:
        return 1.0
    return max(0.0, left / open_to_choice)


@compiled
def choose(memory, cells, links, paths, share, scarce, anew):  # type: ignore[no-untyped-def]
    """Choose the regime of the cells that have none yet, or of all of them anew.

    A `share` of the cells is watched unasked, and those for which a timer would cost more. Where
    capacity is scarce nobody is: a watched cell is due at every tick.
    """
    for c in range(len(cells)):
        mine, asked = memory.cell[c], cells[c]
        if mine.evaluations == 0:
            # Looked at until it has answered: it may be a group without rows yet.
            continue
        exact = asked.width == 0.0 or asked.confidence >= 1.0
        if asked.asked != 0:
            mine.regime = asked.asked
        elif exact or (asked.window > 0 and (asked.throughout or not scarce)):
            mine.regime = WATCH
        elif scarce:
            mine.regime = TIMER
        elif anew or mine.regime == 0:
            n = 0
            for i in range(links.pointer[c], links.pointer[c + 1]):
                # Series of rows to come in the same page are members already.
                n += paths[links.member[i]].tick != ALWAYS
            usual = float(mine.usual) / (1.0 if mine.regime == TIMER else TIMER_RATE)
            evaluated = (EVALUATED + EVALUATED_MEMBER * n) / max(1.0, usual)
            cheaper = usual > 0.0 and evaluated >= WATCHED + WATCHED_MEMBER * n
            drawn = uniform(asked.draw, np.uint64(DRAW)) < share
            mine.regime = WATCH if cheaper or drawn else TIMER
        if mine.regime == WATCH:
            memory.due[c] = ALWAYS
