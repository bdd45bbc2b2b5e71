"""Answer: whether a cell owes one at a tick, what its bar is, and what it remembers of it."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from streamgauge.drift.block import Block
from streamgauge.drift.cells import TIMER, WATCH, Cells, Links, Memory
from streamgauge.drift.paths import Paths
from streamgauge.kernel.jit import compiled
from streamgauge.operators.emission import (
    COVERAGE,
    GROUP,
    HIGH,
    LOW,
    NEVER,
    QUERY,
    REVISION,
    SILENT,
    SLOPE,
    SPENT,
    TICK,
    VALUE,
    Floats,
    grown,
)

# Tolerated misses are saved up over so many ticks at most.
PATIENCE = 10_000
# A tolerated tick in an account; whole numbers, so that no sum depends on how it was cut.
ONE = 1 << 32


class Scene(NamedTuple):
    """All that a walk over a block reads, and the memory it writes.

    `tables` are those of the deadlines, by law; ticks are `spacing` apart as a rule, and an
    interrupted answer is given again after `again` ticks.
    """

    block: Block
    paths: Paths
    cells: Cells
    links: Links
    memory: Memory
    tables: Floats
    spacing: float
    again: int
    epoch: int


@compiled
def tolerance(c, scene):  # type: ignore[no-untyped-def]
    """Width that is owed around the published value."""
    width = scene.cells.width[c]
    return width * abs(scene.memory.value[c]) if scene.cells.relative[c] else width


@compiled
def published(c, tick, scene):  # type: ignore[no-untyped-def]
    """What a reader holds at a tick."""
    memory = scene.memory
    return memory.value[c] + memory.slope[c] * (tick - memory.since[c])


@compiled
def outside(c, tick, value, scene):  # type: ignore[no-untyped-def]
    """Whether a value is further from what was published than is owed."""
    return abs(value - published(c, tick, scene)) > tolerance(c, scene)


@compiled
def covered(c, tick, found, scene):  # type: ignore[no-untyped-def]
    """Share of its members, and of its window, that a cell answers from."""
    listed, window = scene.cells.listed[c], scene.cells.window[c]
    share = 1.0 if listed == 0 else found.known / listed
    known = tick - scene.memory.begun[c]
    if 0 < window < NEVER and known < window:
        share *= known / window
    return np.float32(share)


@compiled
def publish(c, tick, value, slope, found, scene, out, n_out):  # type: ignore[no-untyped-def]
    """Give an answer and remember it; return the matrix, perhaps larger, and its end."""
    memory, cells = scene.memory, scene.cells
    memory.value[c], memory.since[c], memory.slope[c] = value, tick, slope
    doubt = cells.spread[c] * math.sqrt(found.unsure) if found.unsure > 0.0 else 0.0
    late = found.other - found.value
    memory.below[c], memory.above[c] = doubt + max(0.0, -late), doubt + max(0.0, late)
    memory.coverage[c] = covered(c, tick, found, scene)
    memory.silent[c], memory.epoch[c] = found.silent, scene.epoch
    memory.given[c] = TIMER if memory.regime[c] == TIMER else WATCH
    memory.evaluations[c] += 1
    eps = tolerance(c, scene)
    out = grown(out, n_out)
    row = out[n_out]
    row[QUERY], row[GROUP], row[TICK], row[VALUE] = cells.query[c], c, tick, value
    row[LOW], row[HIGH] = value - eps - memory.below[c], value + eps + memory.above[c]
    row[COVERAGE], row[SILENT] = memory.coverage[c], found.silent
    # Which regime gave it; revisions are not made here.
    row[REVISION] = memory.given[c]
    row[SPENT], row[SLOPE] = 2.0 * eps, slope
    return out, n_out + 1


@compiled
def owed(c, tick, value, found, scene):  # type: ignore[no-untyped-def]
    """Whether something other than a move asks for an answer: members, silence, lateness."""
    memory = scene.memory
    if memory.evaluations[c] == 0:
        return True
    if np.isnan(value) or np.isnan(memory.value[c]):
        return np.isnan(value) != np.isnan(memory.value[c])
    share = covered(c, tick, found, scene)
    # A window that fills answers once more when it is full, not at each step.
    if share != memory.coverage[c] and (scene.cells.window[c] == 0 or share == 1.0):
        return True
    if found.silent != memory.silent[c]:
        return True
    if found.silent > 0:
        return tick - memory.since[c] >= scene.again
    late = found.other - found.value
    if late == 0.0:
        return memory.below[c] > 0.0 or memory.above[c] > 0.0
    return max(0.0, -late) > memory.below[c] or max(0.0, late) > memory.above[c]


@compiled
def save_up(c, n, scene):  # type: ignore[no-untyped-def]
    """Pay in what so many ticks allow of misses."""
    share = np.int64((1.0 - scene.cells.confidence[c]) * ONE)
    memory = scene.memory
    memory.credit[c] = min(memory.credit[c] + n * share, PATIENCE * share)


@compiled
def watched(c, tick, value, found, scene):  # type: ignore[no-untyped-def]
    """Whether a watched cell answers at a tick; a miss that its credit pays for is let pass."""
    save_up(c, 1, scene)
    if owed(c, tick, value, found, scene):
        return True
    if not outside(c, tick, value, scene):
        return False
    memory = scene.memory
    if memory.credit[c] >= ONE and not scene.cells.throughout[c] and found.silent == 0:
        memory.credit[c] -= ONE
        return False
    return True
