"""Leaving: groups and names go with their last row, so that state is as large as its windows.

A group that no pane and no ring has rows of, and that no query remembers an answer about, is as one
that never came. Groups and names are let go in bulk, when half of them are of no use: what is left
keeps its order. No answer depends on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamgauge.engine.decay_piece import DecayPiece
from streamgauge.engine.naming import Groups, Series, Words
from streamgauge.engine.pane_piece import PanePiece
from streamgauge.engine.pieces import Piece, Seats
from streamgauge.engine.ring_piece import RingPiece
from streamgauge.engine.rows import Rows
from streamgauge.engine.summary_names import CODED, coding, held_words
from streamgauge.engine.summary_piece import SummaryPiece
from streamgauge.kernel.columns import Combiner, Interner
from streamgauge.kernel.passing_names import PassingNames
from streamgauge.operators.emission import GIVEN, Codes, Flags, Ints
from streamgauge.plan.sharing import StreamPlan
from streamgauge.synopses.exact import Exact
from streamgauge.windows.bank_panes import BankPanes
from streamgauge.windows.panes import empty_ring

LEAST = 4_096
"""So many groups or names that are of no use are let go together."""

Array = npt.NDArray[Any]
Grouped: TypeAlias = PanePiece | RingPiece | SummaryPiece


class Held(Protocol):
    """What one input of a stream has brought."""

    words: Words
    series: Series
    waiting: Rows
    pieces: dict[str, Piece]


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
        if isinstance(piece, PanePiece | RingPiece | SummaryPiece):
            _release_groups(piece)
        if isinstance(piece, SummaryPiece) and len(piece.names.listed.known) >= LEAST:
            _release_texts(piece)
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
    """Columns of names whose numbers are kept in the state of some work."""
    schema = plan.stream.schema
    found = _fixed(held, plan) | {n for n in plan.words() if schema.type(n) != "string"}
    for key in plan.tables:
        found |= {*key.group_by, *key.by}
        if key.synopsis and key.x and coding(key.model(), schema.type(key.x)) == CODED:
            found.add(key.x)
    return found


def _fixed(held: Held, plan: StreamPlan) -> set[str]:
    """Columns whose names stay: those of series and of families, and items of other releases."""
    found = set(plan.families)
    if plan.keyed or len(held.series.combiner.interner):
        found |= set(plan.stream.key)
    for piece in held.pieces.values():
        if isinstance(piece, SummaryPiece) and piece.key.x and not _renumbers(piece):
            found.add(piece.key.x)
    return found


def _renumbers(piece: SummaryPiece) -> bool:
    """Whether no item of a summary is a number of a name, or each can be given another."""
    if coding(piece.model, "string") == CODED:
        return isinstance(piece.model, Exact)
    return not piece.names.coded


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
        if isinstance(piece, SummaryPiece) and piece.key.x == column:
            piece.names.forget_numbers()


# Groups.


def _release_groups(piece: Grouped) -> None:
    groups, key = piece.groups, piece.key
    if not groups.columns or len(groups.local) < LEAST or key.kind == "landmark":
        return
    there = _remembered(piece.seats, len(groups.texts))
    _HOLDING[type(piece)](piece, there)
    gone = len(groups.local) - int(there.sum())
    if gone < LEAST or 2 * gone < len(groups.local):
        return
    kept = np.flatnonzero(there)
    piece.groups = _some_groups(groups, there, kept)
    cells = piece.seats.memory.cells
    piece.seats.memory.cells = _room(cells[:, kept[kept < cells.shape[1]]])
    _KEEP[type(piece)](piece, kept)


def _remembered(seats: Seats, n_groups: int) -> Flags:
    """Groups that some query has an answer about."""
    there = np.zeros(n_groups, np.bool_)
    given = (seats.memory.cells[:, :n_groups, GIVEN] != 0.0).any(axis=0)
    there[: len(given)] = given
    return there


def _some_groups(groups: Groups, there: Flags, kept: Ints) -> Groups:
    local = np.array(groups.local, np.int64)
    mine = np.flatnonzero(local >= 0)
    values = groups.combiner.interner.values
    combos = Interner.of(values[at] for at in mine[there[local[mine]]].tolist())
    texts = [groups.texts[group] for group in kept.tolist()]
    return replace(groups, combiner=Combiner(combos), local=list(range(len(texts))), texts=texts)


def _room(cells: Array) -> Array:
    """The same columns, or an empty one where there is none."""
    if cells.shape[1]:
        return np.ascontiguousarray(cells)
    return np.zeros((cells.shape[0], 1, *cells.shape[2:]), cells.dtype)


def _in_panes(piece: PanePiece, there: Flags) -> None:
    for ring in (piece.ring, piece.late_ring):
        held = (ring[:, : len(there), 0] != 0.0).any(axis=0)
        there[: len(held)] |= held


def _keep_panes(piece: PanePiece, kept: Ints) -> None:
    for ring, limbs in (("ring", "limbs"), ("late_ring", "late_limbs")):
        cells, sums = getattr(piece, ring), getattr(piece, limbs)
        here = kept[kept < cells.shape[1]]
        chosen = np.ascontiguousarray(cells[:, here])
        if ring == "ring" and not len(here):
            chosen = empty_ring(len(cells), 1)
        setattr(piece, ring, chosen)
        if piece.key.exact:
            few = np.zeros((*chosen.shape[:2], sums.shape[2]), np.int64)
            few[:, : len(here)] = sums[:, here]
            setattr(piece, limbs, few)


def _in_rings(piece: RingPiece, there: Flags) -> None:
    held = np.unique(piece.rings.group)
    there[held[held >= 0]] = True


def _keep_rings(piece: RingPiece, kept: Ints) -> None:
    held = piece.rings.group
    number = np.full(int(kept.max(initial=-1)) + 2, -1, np.int32)
    number[kept] = np.arange(len(kept), dtype=np.int32)
    piece.rings = piece.rings._replace(group=number[held])


def _in_summaries(piece: SummaryPiece, there: Flags) -> None:
    for panes in (piece.panes, piece.late):
        for pane in panes.panes.values():
            there[: len(pane.counts)] |= pane.counts != 0


def _keep_summaries(piece: SummaryPiece, kept: Ints) -> None:
    piece.panes.keep(kept)
    piece.late.keep(kept)


_HOLDING: dict[type, Any] = {
    PanePiece: _in_panes,
    RingPiece: _in_rings,
    SummaryPiece: _in_summaries,
}
_KEEP: dict[type, Any] = {
    PanePiece: _keep_panes,
    RingPiece: _keep_rings,
    SummaryPiece: _keep_summaries,
}


# Names.


def _release_texts(piece: SummaryPiece) -> None:
    """Let go texts of items that no pane lists."""
    held: list[Array] = []
    for panes in (piece.panes, piece.late):
        for pane in panes.panes.values():
            held += [pane.raw()[1]] if pane.n_raw else []
            held += [] if pane.bank is None else held_words(pane.bank)
    piece.names.narrow(held)


def _release_names(held: Held, column: str) -> None:
    """Number the names of a column anew when half of them are in no group, row or item."""
    names, waiting = held.words[column], held.waiting.words
    codes = waiting.get(column, np.empty(0, np.int32))
    combos = [pair for piece in held.pieces.values() for pair in _combos(piece, column)]
    items = [panes for piece in held.pieces.values() for panes in _items(piece, column)]
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
        keys.interner = Interner.of(map(tuple, table.tolist()))
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


def _combos(piece: Piece, column: str) -> list[tuple[Combiner, int]]:
    """Where numbers of names of a column are parts of keys."""
    if not isinstance(piece, PanePiece | RingPiece | SummaryPiece | DecayPiece):
        return []
    found = [(piece.groups.combiner, at) for at, n in enumerate(piece.key.group_by) if n == column]
    if isinstance(piece, RingPiece):
        found += [(piece.keys, at) for at, name in enumerate(piece.key.by) if name == column]
    return found


def _items(piece: Piece, column: str) -> list[BankPanes]:
    """Panes whose items are numbers of names of a column."""
    if not isinstance(piece, SummaryPiece) or piece.key.x != column:
        return []
    return [piece.panes, piece.late] if isinstance(piece.model, Exact) else []


def _table(combiner: Combiner) -> Codes:
    values = combiner.interner.values
    width = len(values[0]) if values else 1
    return np.array(values, np.int32).reshape(len(values), width)
