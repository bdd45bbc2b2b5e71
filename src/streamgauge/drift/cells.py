"""Cells: one answer each, what it is asked and what it remembers, as columns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from streamgauge.operators.emission import ALWAYS, Codes, Floats, Ints

Small = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.uint8]
Counts = npt.NDArray[np.int32]

TIMER, WATCH = 1, 2
REGIMES = {"": 0, "timer": TIMER, "watch": WATCH}


class Cells(NamedTuple):
    """What is asked.

    `width` is the width that is owed, times the value where `relative`; `confidence` the share of
    ticks it is owed at; `law` the number of its table of deadlines. `born` is the tick after which
    rows are seen, `window` the ticks of a window that an extreme is taken over (0: none), which
    opens at the tick `opened`, `sign`
    +1 for a maximum and -1 for a minimum, `deque` the number of its deque (-1: none). `spread` is
    how many deviations hold a normal error at the confidence; `draw` seeds the cell's own draws.
    """

    query: Codes
    group: Codes
    op: Bytes
    width: Floats
    relative: Bytes
    confidence: Floats
    law: Codes
    asked: Bytes
    born: Ints
    window: Ints
    opened: Ints
    sign: Floats
    trend: Bytes
    throughout: Bytes
    paused: Bytes
    listed: Codes
    deque: Codes
    spread: Floats
    draw: npt.NDArray[np.uint64]


class Links(NamedTuple):
    """Members: `pointer` cuts `member` into cells; `weight` is empty where all weigh the same."""

    pointer: Ints
    member: Codes
    weight: Floats


class Memory(NamedTuple):
    """What cells remember.

    `value` was published as of `since`, to be extended by `slope` a tick; `below` and `above` say
    how far the bar reaches beyond the owed width. `due` is the deadline of the next evaluation,
    `begun` the tick after which an extreme knows all values, `started` how many ticks had been
    walked before the cell came.
    `seen`, `moved` and `ratio` are what a cell has learned of its own drift and variance, `trust`
    corrects its waits by hits and misses. `wait` is the wait that was planned, negative when it was
    cut short to look; `usual` its mean. `credit` is the account of tolerated misses of a watched
    cell, in parts of a tick. `regime` is how the cell is brought up to date, `given` how its last
    answer was.
    """

    value: Floats
    since: Ints
    due: Ints
    begun: Ints
    credit: Ints
    slope: Floats
    below: Floats
    above: Floats
    seen: Small
    moved: Small
    ratio: Small
    trust: Small
    wait: Small
    usual: Small
    coverage: Small
    penalty: Small
    silent: Counts
    epoch: Counts
    evaluations: Counts
    missed: Counts
    started: Counts
    regime: Bytes
    given: Bytes


_START: dict[str, Any] = {
    "value": np.nan,
    "since": ALWAYS,
    "due": ALWAYS,
    "begun": ALWAYS,
    "ratio": 1.0,
}
_TYPES: dict[str, Any] = {
    **dict.fromkeys(("value", "slope", "below", "above"), np.float64),
    **dict.fromkeys(("since", "due", "begun", "credit"), np.int64),
    **dict.fromkeys(
        ("seen", "moved", "ratio", "trust", "wait", "usual", "coverage", "penalty"), np.float32
    ),
    **dict.fromkeys(("silent", "epoch", "evaluations", "missed", "started"), np.int32),
    **dict.fromkeys(("regime", "given"), np.uint8),
}


def fresh(n: int) -> Memory:
    """The memory of cells that have not answered yet."""
    return Memory(*(np.full(n, _START.get(name, 0), _TYPES[name]) for name in Memory._fields))


def picked(memory: Memory, cells: Ints) -> Memory:
    """The memory of some cells in a new order; -1 stands for a new one."""
    new = fresh(len(cells))
    old = cells >= 0
    for name in Memory._fields:
        getattr(new, name)[old] = getattr(memory, name)[cells[old]]
    return new
