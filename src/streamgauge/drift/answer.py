"""Answer: whether a cell owes one at a tick, what its bar is, and what it remembers of it."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from streamgauge.drift.block import Block
from streamgauge.drift.cells import TIMER, WATCH, Links, Memory, Records
from streamgauge.kernel.jit import compiled
from streamgauge.operators.accumulate import COUNT
from streamgauge.operators.emission import (
    ALWAYS,
    COVERAGE,
    EMPTIED,
    GROUP,
    HIGH,
    LATE_ABOVE,
    LATE_BELOW,
    LOW,
    NEVER,
    OWN_ABOVE,
    OWN_BELOW,
    QUERY,
    REVISION,
    SILENT,
    SILENT_ABOVE,
    SILENT_BELOW,
    SLOPE,
    TICK,
    VALUE,
    Floats,
    Ints,
    grown,
)

# Tolerated misses are saved up over so many ticks at most.
PATIENCE = 10_000
# A tolerated tick in an account; whole numbers, so that no sum depends on how it was cut.
ONE = 1 << 32


class Scene(NamedTuple):
    """All that a walk over a block reads, and the memory it writes.

    `tables` are those of the deadlines, by law; ticks are `spacing` apart as a rule, and an
    interrupted answer is given again after `again` ticks. `groups` are the cells that are groups.
    """

    block: Block
    paths: Records
    cells: Records
    links: Links
    memory: Memory
    tables: Floats
    spacing: float
    again: int
    epoch: int
    groups: Ints = np.empty(0, np.int64)


@compiled
def tolerance(mine, asked):  # type: ignore[no-untyped-def]
    """Width that is owed around the published value."""
    return asked.width * abs(mine.value) if asked.relative else asked.width


@compiled
def outside(mine, asked, tick, value):  # type: ignore[no-untyped-def]
    """Whether a value is further from what a reader holds at a tick than is owed."""
    held = mine.value + mine.slope * (tick - mine.since)
    return abs(value - held) > tolerance(mine, asked)


@compiled
def covered(mine, asked, tick, found):  # type: ignore[no-untyped-def]
    """Share of its members, and of its window, that a cell answers from."""
    share = 1.0 if asked.listed == 0 else found.known / asked.listed
    known = tick - mine.begun
    if 0 < asked.window < NEVER and known < asked.window:
        share *= known / asked.window
    return np.float32(share)


@compiled
def publish(c, mine, asked, tick, value, slope, found, epoch, out, n_out):  # type: ignore[no-untyped-def]
    """Give an answer and remember it; return the matrix, perhaps larger, and its end."""
    mine.value = value
    mine.since = tick
    mine.slope = slope
    doubt = asked.spread * math.sqrt(found.unsure) if found.unsure > 0.0 else 0.0
    late = found.other - found.value
    mine.below = doubt + max(0.0, -late)
    mine.above = doubt + max(0.0, late)
    mine.coverage = covered(mine, asked, tick, found)
    mine.silent = found.silent
    mine.epoch = epoch
    mine.given = TIMER if mine.regime == TIMER else WATCH
    mine.evaluations += 1
    eps = tolerance(mine, asked)
    out = grown(out, n_out)
    row = out[n_out]
    row[QUERY], row[GROUP], row[TICK], row[VALUE] = asked.query, c, tick, value
    charge_cell(row, value, eps, mine)
    row[COVERAGE], row[SILENT] = mine.coverage, found.silent
    # Which regime gave it; revisions are not made here.
    row[REVISION] = mine.given
    row[SLOPE] = slope
    return out, n_out + 1


@compiled
def charge_cell(row, value, eps, mine):  # type: ignore[no-untyped-def]
    """Write the interval and what each cause adds; without a value only a silence is told.

    The owed width and the doubt of silent members are on both sides. Late rows are on one side
    alone, so that the smaller of what goes beyond the owed width is doubt.
    """
    row[SLOPE:] = 0.0
    row[LOW], row[HIGH] = value, value
    if np.isnan(value):
        if mine.silent > 0:
            row[SILENT_BELOW] = row[SILENT_ABOVE] = np.inf
        return
    doubt = min(mine.below, mine.above)
    late_below = mine.below - doubt if mine.below > doubt else 0.0
    late_above = mine.above - doubt if mine.above > doubt else 0.0
    row[OWN_BELOW] = row[OWN_ABOVE] = eps
    row[LATE_BELOW], row[LATE_ABOVE] = late_below, late_above
    row[SILENT_BELOW] = row[SILENT_ABOVE] = doubt
    row[LOW], row[HIGH] = value - eps - late_below - doubt, value + eps + late_above + doubt


@compiled
def leave(c, tick, found, scene, out, n_out):  # type: ignore[no-untyped-def]
    """Say that a group has nothing to answer from; it begins anew with its next value.

    Said once: of a group that has answered.
    """
    mine, asked = scene.memory.cell[c], scene.cells[c]
    if not asked.grouped or mine.evaluations == 0:
        return out, n_out
    counted = asked.op == COUNT and asked.window == 0
    value = 0.0 if counted else np.nan
    out = grown(out, n_out)
    row = out[n_out]
    row[QUERY], row[GROUP], row[TICK], row[VALUE] = asked.query, c, tick, value
    row[LOW], row[HIGH] = value, value
    row[COVERAGE], row[SILENT] = covered(mine, asked, tick, found), EMPTIED
    row[REVISION] = TIMER if mine.regime == TIMER else WATCH
    row[SLOPE:] = 0.0
    mine.value, mine.since = np.nan, ALWAYS
    mine.slope = mine.below = mine.above = 0.0
    mine.seen = mine.moved = mine.squares = mine.foretold = 0.0
    mine.trust = mine.wait = mine.usual = mine.coverage = 0.0
    mine.credit, mine.silent, mine.epoch, mine.evaluations, mine.given = 0, 0, 0, 0, 0
    return out, n_out + 1


@compiled
def owed(mine, asked, tick, value, found, again):  # type: ignore[no-untyped-def]
    """Whether something other than a move asks for an answer: members, silence, lateness."""
    if mine.evaluations == 0:
        return True
    if np.isnan(value) or np.isnan(mine.value):
        return np.isnan(value) != np.isnan(mine.value)
    share = covered(mine, asked, tick, found)
    # A window that fills answers once more when it is full, not at each step.
    if share != mine.coverage and (asked.window == 0 or share == 1.0):
        return True
    if found.silent != mine.silent:
        return True
    if found.silent > 0:
        return tick - mine.since >= again
    late = found.other - found.value
    if late == 0.0:
        return mine.below > 0.0 or mine.above > 0.0
    return max(0.0, -late) > mine.below or max(0.0, late) > mine.above


@compiled
def note_wait(mine, tick):  # type: ignore[no-untyped-def]
    """Remember how long the answers of a cell last."""
    if mine.evaluations > 0:
        lasted = float(tick - mine.since)
        mine.usual = lasted if mine.usual == 0.0 else mine.usual + (lasted - mine.usual) / 8.0


@compiled
def watched(mine, asked, tick, value, found, again):  # type: ignore[no-untyped-def]
    """Whether a watched cell answers at a tick; a miss that its credit pays for is let pass."""
    share = np.int64((1.0 - asked.confidence) * ONE)
    # A tick at which a member is silent shows no truth that could be missed, so it pays for none.
    if found.silent == 0:
        mine.credit = min(mine.credit + share, PATIENCE * share)
    if owed(mine, asked, tick, value, found, again):
        return True
    if not outside(mine, asked, tick, value):
        return False
    if mine.credit >= ONE and not asked.throughout and found.silent == 0:
        mine.credit -= ONE
        return False
    return True
