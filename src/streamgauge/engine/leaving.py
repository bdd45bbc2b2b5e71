"""Leaving: groups and names go with their last row, so that state is as large as its windows.

A group that no pane and no ring has rows of, and that no query remembers an answer about, is as one
that never came. Groups and names are let go in bulk, when half of them are of no use: what is left
keeps its order. No answer depends on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamgauge.engine.naming import Series, Words
from streamgauge.engine.operator import Operator
from streamgauge.engine.rows import Rows
from streamgauge.engine.stalled import Stalled
from streamgauge.kernel.columns import Combiner, Interner
from streamgauge.kernel.passing_names import PassingNames
from streamgauge.operators.emission import Codes, Ints
from streamgauge.plan.sharing import StreamPlan

LEAST = 4_096
"""So many groups or names that are of no use are let go together."""

Array = npt.NDArray[Any]


class Held(Protocol):
    """What one input of a stream has brought."""

    words: Words
    series: Series
    waiting: Rows
    pieces: dict[str, Operator]
    stalled: dict[str, Stalled]


def settle_names(held: Held, plan: StreamPlan) -> None:
    """Have names for the columns of a plan: for good where numbers of names are kept."""
    lasting = _lasting(held, plan)
    for column in plan.words():
        old = held.words.get(column)
        if old is not None and isinstance(old, PassingNames) != (column in lasting):
            continue
        new = held.words[column] = Interner() if column in lasting else PassingNames()
        if old is not None and column in held.waiting.words:
            held.waiting.words[column] = _renamed(old, new, held.waiting.words[column])
        _forget_numbers(held, column)


def release(held: Held, plan: StreamPlan) -> None:
    """Let go what the rows that were read last leave without use."""
    for piece in held.pieces.values():
        piece.release(LEAST)
    fixed, codes = _fixed(held, plan), held.waiting.words
    for column, names in held.words.items():
        if isinstance(names, PassingNames):
            if column in codes:
                codes[column] = names.narrow(codes[column])
            else:
                names.narrow(np.empty(0, np.int32))
        elif column not in fixed and len(names) >= LEAST:
            _release_names(held, column)


def _lasting(held: Held, plan: StreamPlan) -> set[str]:
    """Columns of names whose numbers are kept in the state of some operator."""
    schema = plan.stream.schema
    found = _fixed(held, plan) | {n for n in plan.words() if schema.type(n) != "string"}
    for key in plan.operators:
        found |= set(key.lasting(schema))
    return found


def _fixed(held: Held, plan: StreamPlan) -> set[str]:
    """Columns whose names stay: those of series and of what they are grouped by."""
    found = {name for piece in held.pieces.values() for name in piece.fixed()}
    found |= {name for one in held.stalled.values() for name in one.columns}
    found |= set(plan.fixed)
    if plan.keyed or len(held.series.combiner.interner):
        found |= set(plan.stream.key)
    return found


def _renamed(old: Interner, new: Interner, codes: Codes) -> Codes:
    """Numbers of names among others."""
    used = np.unique(codes)
    used = used[used >= 0]
    known = old.listed()
    numbers = new.encode(pa.array([known[code] for code in used.tolist()], pa.string()))
    places = np.searchsorted(used, codes)
    return np.append(numbers, np.int32(-1))[np.where(codes < 0, -1, places)].astype(np.int32)


def _forget_numbers(held: Held, column: str) -> None:
    for piece in held.pieces.values():
        piece.forget_numbers(column)


# Names.


def _release_names(held: Held, column: str) -> None:
    """Number the names of a column anew when half of them are in no group, row or item."""
    names, waiting = held.words[column], held.waiting.words
    codes = waiting.get(column, np.empty(0, np.int32))
    combos = [pair for piece in held.pieces.values() for pair in piece.combos(column)]
    items = [panes for piece in held.pieces.values() for panes in piece.numbered(column)]
    if 2 * max((len(keys.interner) for keys, _ in combos), default=0) > len(names):
        # Names are as few as keys; which of them are in use would take a pass over all keys.
        return
    parts = [_table(keys)[:, at] for keys, at in combos]
    parts += [values.astype(np.int64) for panes in items for values in panes.items()]
    number, kept = _numbers(len(names), [codes, *parts])
    if len(names) - len(kept) < LEAST or 2 * len(kept) > len(names):
        return
    held.words[column] = Interner.of(names.values[code] for code in kept.tolist())
    if column in waiting:
        waiting[column] = number[codes]
    for keys, at in combos:
        table = _table(keys)
        table[:, at] = number[table[:, at]]
        keys.renumber(map(tuple, table.tolist()))
    for panes in items:
        panes.renumber(number.astype(np.float64))
    _forget_numbers(held, column)


def _numbers(size: int, used: Sequence[Array]) -> tuple[Codes, Ints]:
    """A new number for each that is used, -1 for the others and for null; and who is used."""
    there = np.zeros(size + 1, np.bool_)
    for codes in used:
        there[codes] = True
    kept = np.flatnonzero(there[:-1])
    number = np.full(size + 1, -1, np.int32)
    number[kept] = np.arange(len(kept), dtype=np.int32)
    return number, kept


def _table(combiner: Combiner) -> Codes:
    values = combiner.interner.values
    width = len(values[0]) if values else 1
    return np.array(values, np.int32).reshape(len(values), width)
