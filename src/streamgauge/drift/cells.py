"""Cells: one answer each, what it is asked and what it remembers, a record each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.moves import Moves
from streamgauge.operators.emission import ALWAYS, Codes, Floats, Ints

Records = npt.NDArray[np.void]

TIMER, WATCH = 1, 2
REGIMES = {"": 0, "timer": TIMER, "watch": WATCH}


def _record(**kinds: str) -> np.dtype[Any]:
    """A record type: names by the kind of their numbers."""
    fields = [(name, kind) for kind, names in kinds.items() for name in names.split()]
    return np.dtype(fields, align=True)


# What is asked of a cell. `width` is the width that is owed, times the value where `relative`;
# `confidence` the share of ticks it is owed at; `law` the number of its table of deadlines. `born`
# is the tick after which rows are seen; `window` the ticks of a window that an extreme is taken
# over (0: none), which opens at the tick `opened`; `sign` +1 for a maximum and -1 for a minimum;
# `deque` the number of its deque (-1: none). `listed` members are named (0: they follow the
# series), `grouped` that the cell is a group, which ends with its series: `ends` is the first tick
# of the block in hand without any. `spread` is how many deviations hold a normal error at the
# confidence; `draw` seeds the cell's own draws.
ASKED = _record(
    f8="width confidence sign spread",
    i8="born window opened ends",
    u8="draw",
    i4="query law listed deque",
    u1="op relative asked trend throughout paused grouped",
)

# What a cell remembers. `value` was published as of `since`, to be extended by `slope` a tick;
# `below` and `above` say how far the bar reaches beyond the owed width. `begun` is the tick after
# which an extreme knows all values, `started` how many ticks had been walked before the cell came.
# `seen`, `moved`, `squares` and `foretold` are what it has learned of its own drift and variance:
# sums over its waits of their ticks, of its moves, of their squares and of what its members let
# expect of these. `trust` corrects its waits by hits and misses. `wait` is the wait that was
# planned, negative when it was cut short to look; `usual` its mean. `credit` is the account of
# tolerated misses of a watched cell, in parts of a tick. `regime` is how it is brought up to date,
# `given` how its last answer was; `missed` deadlines came too late, at a `penalty`.
REMEMBERED = _record(
    f8="value slope below above",
    i8="since begun credit",
    f4="seen moved squares foretold trust wait usual coverage penalty",
    i4="silent epoch evaluations missed started",
    u1="regime given",
)


class Links(NamedTuple):
    """Members: `pointer` cuts `member` into cells; `weight` is empty where all weigh the same."""

    pointer: Ints
    member: Codes
    weight: Floats


class Memory(NamedTuple):
    """Deadlines of cells, side by side as most are only compared, and all else they remember."""

    due: Ints
    cell: Records


def fresh(n: int) -> Memory:
    """The memory of cells that have not answered yet."""
    cell = np.zeros(n, REMEMBERED)
    cell["value"] = np.nan
    cell["since"] = cell["begun"] = ALWAYS
    return Memory(np.full(n, ALWAYS, np.int64), cell)


def picked(memory: Memory, cells: Ints) -> Memory:
    """The memory of some cells in a new order; -1 stands for a new one."""
    new = fresh(len(cells))
    old = cells >= 0
    new.due[old] = memory.due[cells[old]]
    new.cell[old] = memory.cell[cells[old]]
    return new


def moved(memory: Memory, moves: Moves, kept: Sequence[int]) -> Memory:
    """The memory after some cells have left and others come.

    `kept` says for each that comes which of those that leave it is, as another; -1: it is new.
    """
    new = picked(memory, np.append(moves.gone, -1)[np.array(kept, np.int64)])
    return Memory(moves.column(memory.due, new.due), moves.column(memory.cell, new.cell))
