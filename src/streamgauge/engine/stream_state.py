"""State of one stream of a shard in the wire format.

Compiled queries are not state: they follow from the registry.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np

from streamgauge.engine.bounds_piece import BoundsPiece
from streamgauge.engine.bounds_state import pack_bounds, unpack_bounds
from streamgauge.engine.calendar import Calendar
from streamgauge.engine.decay_piece import DecayPiece
from streamgauge.engine.deferral_piece import DeferralPiece
from streamgauge.engine.deferral_state import pack_deferral, unpack_deferral
from streamgauge.engine.distribution import REPLICATED, input_name
from streamgauge.engine.memory import Memories
from streamgauge.engine.naming import Groups, Series, pack_combiner, unpack_combiner
from streamgauge.engine.old_memory import listed_with_sides, with_sides
from streamgauge.engine.pane_piece import PanePiece
from streamgauge.engine.pieces import Piece, Seats
from streamgauge.engine.portfolio_piece import PortfolioPiece
from streamgauge.engine.progress import InputState, StreamState
from streamgauge.engine.ring_piece import RingPiece
from streamgauge.engine.rows import Rows
from streamgauge.engine.summary_piece import SummaryPiece, Top
from streamgauge.engine.unusable import Tally
from streamgauge.kernel.columns import Interner
from streamgauge.kernel.wire import Array
from streamgauge.operators.portfolio import Latest
from streamgauge.plan.sharing import PortfolioKey, TableKey
from streamgauge.synopses.bank import bank_of
from streamgauge.windows.bank_panes import BankPanes, Pane
from streamgauge.windows.rings import Rings

_LATEST = ("value", "ts", "missed", "missed_ts")
_FADING = ("sums", "at", "late", "late_at")
_RINGS = ("x", "y", "w", "ts", "group", "total")
_TALLY = ("total", "fine", "coarse")
_ROWS = ("eff", "tick", "ts")

Arrays = dict[str, Array]


def pack_stream(prefix: str, state: StreamState, arrays: Arrays) -> dict[str, Any]:
    """Plain values of a stream's state; its arrays are added to `arrays`."""
    for name in _TALLY:
        arrays[f"{prefix}/tally/{name}"] = getattr(state.tally, name)
    arrays[f"{prefix}/coming/ticks"] = state.coming.ticks
    arrays[f"{prefix}/coming/rows"] = state.coming.rows
    return {
        "closed": state.closed,
        "awake_until": state.awake_until,
        "first": state.first,
        "births": {str(epoch): at for epoch, at in state.births.items()},
        "edge": state.tally.edge,
        "inputs": {
            name: _pack_input(f"{prefix}/{serial}", held, arrays)
            for serial, (name, held) in enumerate(state.inputs.items())
        },
    }


def _pack_input(prefix: str, held: InputState, arrays: Arrays) -> dict[str, Any]:
    _pack_rows(f"{prefix}/waiting", held.waiting, arrays)
    pack_combiner(f"{prefix}/series", held.series.combiner, arrays)
    arrays[f"{prefix}/series/local"] = np.array(held.series.local, np.int32)
    return {
        "words": {name: interner.values for name, interner in held.words.items()},
        "series": held.series.names.values,
        "numbers": list(held.waiting.numbers),
        "codes": list(held.waiting.words),
        "pieces": [
            _pack_piece(f"{prefix}/{serial}", piece, arrays)
            for serial, piece in enumerate(held.pieces.values())
        ],
    }


def unpack_stream(
    prefix: str, values: dict[str, Any], arrays: Arrays, shard: int, shards: int
) -> StreamState:
    """Read a stream's state back."""
    state = StreamState(
        closed=values["closed"],
        awake_until=values["awake_until"],
        first=values["first"],
        births={int(epoch): at for epoch, at in values["births"].items()},
        tally=_unpack_tally(f"{prefix}/tally", values, arrays),
    )
    if "inputs" not in values:
        # Written when one input brought all rows to all work.
        held = _unpack_input(prefix, values, arrays, shard, shards)
        state.coming = Calendar.of(np.sort(held.waiting.tick))
        state.inputs = _apart(held)
        return state
    state.coming = Calendar(arrays[f"{prefix}/coming/ticks"], arrays[f"{prefix}/coming/rows"])
    for serial, (name, item) in enumerate(values["inputs"].items()):
        state.inputs[name] = _unpack_input(f"{prefix}/{serial}", item, arrays, shard, shards)
    return state


def _unpack_input(
    prefix: str, values: dict[str, Any], arrays: Arrays, shard: int, shards: int
) -> InputState:
    pieces = [
        _unpack_piece(f"{prefix}/{serial}", item, arrays, shard, shards)
        for serial, item in enumerate(values["pieces"])
    ]
    return InputState(
        words={name: Interner.of(words) for name, words in values["words"].items()},
        series=Series(
            Interner.of(values["series"]),
            unpack_combiner(f"{prefix}/series", arrays),
            arrays[f"{prefix}/series/local"].tolist(),
        ),
        waiting=_unpack_rows(f"{prefix}/waiting", values["numbers"], values["codes"], arrays),
        pieces={piece.key.text(): piece for piece in pieces},  # type: ignore[attr-defined]
    )


def _apart(held: InputState) -> dict[str, InputState]:
    """The work of one input given to those that bring its rows now; names are copied for each.

    Rows that wait are those of all groups, which work on some of them passes over.
    """
    found = {REPLICATED: replace(held, pieces={})}
    for text, piece in held.pieces.items():
        key = piece.key  # type: ignore[attr-defined]
        name = input_name(key.hashed_by) if isinstance(key, TableKey) else REPLICATED
        if name not in found:
            words = {column: Interner.of(known.values) for column, known in held.words.items()}
            found[name] = InputState(words, waiting=held.waiting.take(slice(None)))
        found[name].pieces[text] = piece
    return found


def _unpack_tally(prefix: str, values: dict[str, Any], arrays: Arrays) -> Tally:
    if "edge" not in values:
        # Written before rows were counted by tick.
        return Tally()
    total, fine, coarse = (arrays[f"{prefix}/{name}"] for name in _TALLY)
    return Tally(total, fine, coarse, values["edge"])


def _pack_rows(prefix: str, rows: Rows, arrays: Arrays) -> None:
    for name in _ROWS:
        arrays[f"{prefix}/{name}"] = getattr(rows, name)
    arrays[f"{prefix}/late"] = rows.late.astype(np.uint8)
    for name, column in rows.numbers.items():
        arrays[f"{prefix}/number/{name}"] = column
    for name, codes in rows.words.items():
        arrays[f"{prefix}/word/{name}"] = codes


def _unpack_rows(prefix: str, numbers: list[str], words: list[str], arrays: Arrays) -> Rows:
    return Rows(
        **{name: arrays[f"{prefix}/{name}"] for name in _ROWS},
        late=arrays[f"{prefix}/late"].astype(np.bool_),
        numbers={name: arrays[f"{prefix}/number/{name}"] for name in numbers},
        words={name: arrays[f"{prefix}/word/{name}"] for name in words},
    )


def _pack_memory(prefix: str, memory: Memories, arrays: Arrays) -> None:
    arrays[f"{prefix}/who"] = np.array(memory.who, np.int64).reshape(len(memory.who), 2)
    arrays[f"{prefix}/memory"] = memory.cells


def _unpack_memory(prefix: str, arrays: Arrays) -> Memories:
    who = [(number, version) for number, version in arrays[f"{prefix}/who"].tolist()]
    return Memories(who, with_sides(arrays[f"{prefix}/memory"]))


def _pack_piece(prefix: str, piece: Piece, arrays: Arrays) -> dict[str, Any]:
    if isinstance(piece, PortfolioPiece):
        for side, latest in (("x", piece.x), ("y", piece.y)):
            for name in _LATEST:
                arrays[f"{prefix}/{side}/{name}"] = getattr(latest, name)
        _pack_memory(prefix, piece.seats.memory, arrays)
        return {"key": piece.key.text()}
    if isinstance(piece, DeferralPiece):
        return pack_deferral(prefix, piece, arrays)
    if isinstance(piece, BoundsPiece):
        return pack_bounds(prefix, piece, arrays)
    assert isinstance(piece, (PanePiece, RingPiece, SummaryPiece, DecayPiece))
    groups = piece.groups
    pack_combiner(f"{prefix}/groups", groups.combiner, arrays)
    arrays[f"{prefix}/local"] = np.array(groups.local, np.int32)
    _pack_memory(prefix, piece.seats.memory, arrays)
    values: dict[str, Any] = {"key": piece.key.text(), "texts": groups.texts}
    if isinstance(piece, PanePiece):
        arrays[f"{prefix}/ring"] = piece.ring
        arrays[f"{prefix}/late_ring"] = piece.late_ring
        if piece.key.exact:
            arrays[f"{prefix}/limbs"] = piece.limbs
            arrays[f"{prefix}/late_limbs"] = piece.late_limbs
        more = {"newest": piece.newest, "vouched": piece.vouched, "low": piece.low}
        return {**values, **more}
    if isinstance(piece, DecayPiece):
        for name in _FADING:
            arrays[f"{prefix}/{name}"] = getattr(piece, name)
        return {**values, "vouched": piece.vouched}
    if isinstance(piece, SummaryPiece):
        return {**values, **_pack_summaries(prefix, piece, arrays)}
    for name in _RINGS:
        arrays[f"{prefix}/ring/{name}"] = getattr(piece.rings, name)
    pack_combiner(f"{prefix}/keys", piece.keys, arrays)
    return values


def piece_bytes(piece: Piece) -> int:
    """Bytes of a piece of work as it is stored."""
    arrays: Arrays = {}
    _pack_piece("", piece, arrays)
    return sum(array.nbytes for array in arrays.values())


def _unpack_piece(
    prefix: str, values: dict[str, Any], arrays: Arrays, shard: int, shards: int
) -> Piece:
    parts = json.loads(values["key"])
    if parts[0] == "latest":
        x, y = (
            Latest(**{name: arrays[f"{prefix}/{side}/{name}"] for name in _LATEST})
            for side in ("x", "y")
        )
        seats = Seats(_unpack_memory(prefix, arrays))
        return PortfolioPiece(PortfolioKey(*parts[1:]), x, y, seats)
    if parts[0] == "drift":
        return unpack_deferral(prefix, values, arrays, shard, shards)
    if parts[0] == "bounds":
        return unpack_bounds(prefix, values, arrays)
    key = TableKey.from_text(values["key"])
    groups = Groups(
        key.group_by,
        shard,
        shards,
        unpack_combiner(f"{prefix}/groups", arrays),
        arrays[f"{prefix}/local"].tolist(),
        values["texts"],
    )
    seats = Seats(_unpack_memory(prefix, arrays))
    if key.synopsis:
        return _unpack_summaries(prefix, values, arrays, SummaryPiece.of(key, groups), seats)
    if key.kind == "decay":
        sums, at, late, late_at = (arrays[f"{prefix}/{name}"] for name in _FADING)
        return DecayPiece(key, groups, sums, at, late, late_at, values["vouched"], seats)
    if key.kind != "ring":
        ring, late_ring = arrays[f"{prefix}/ring"], arrays[f"{prefix}/late_ring"]
        piece = PanePiece(key, groups, ring, late_ring, values["newest"], values["vouched"], seats)
        if key.exact:
            piece.limbs, piece.late_limbs = (
                arrays[f"{prefix}/limbs"],
                arrays[f"{prefix}/late_limbs"],
            )
            piece.low = values["low"]
        return piece
    held = Rings(**{name: arrays[f"{prefix}/ring/{name}"] for name in _RINGS})
    return RingPiece(key, groups, held, unpack_combiner(f"{prefix}/keys", arrays), seats)


def _pack_summaries(prefix: str, piece: SummaryPiece, arrays: Arrays) -> dict[str, Any]:
    return {
        "newest": piece.newest,
        "vouched": piece.vouched,
        "n_panes": piece.n_panes,
        "tops": [list(top) for top in piece.tops.values()],
        "panes": pack_panes(f"{prefix}/pane", piece.panes, arrays),
        "late": pack_panes(f"{prefix}/late", piece.late, arrays),
    }


def _unpack_summaries(
    prefix: str, values: dict[str, Any], arrays: Arrays, piece: SummaryPiece, seats: Seats
) -> SummaryPiece:
    piece.newest, piece.vouched = values["newest"], values["vouched"]
    piece.n_panes, piece.seats = values["n_panes"], seats
    piece.tops = _unpack_tops(values["tops"])
    unpack_panes(f"{prefix}/pane", values["panes"], arrays, piece.panes)
    unpack_panes(f"{prefix}/late", values["late"], arrays, piece.late)
    return piece


def _unpack_tops(tops: list[list[Any]]) -> dict[int, Top]:
    found = (Top(*top) for top in tops)
    return {top.query: top._replace(rows=listed_with_sides(top.rows)) for top in found}


def pack_panes(prefix: str, panes: BankPanes, arrays: Arrays) -> dict[str, Any]:
    """Rows of all panes in one pair of columns, then the banks of those that have one."""
    numbers = sorted(panes.panes)
    rows = [panes.panes[n].raw() for n in numbers if panes.panes[n].n_raw]
    if rows:
        arrays[f"{prefix}/groups"] = np.concatenate([group for group, _ in rows])
        arrays[f"{prefix}/items"] = np.concatenate([item for _, item in rows])
    banks = []
    for number in numbers:
        pane = panes.panes[number]
        arrays[f"{prefix}/{number}/counts"] = pane.counts
        if pane.bank is not None:
            saved = pane.bank.save()
            banks.append([number, sorted(saved)])
            arrays.update({f"{prefix}/{number}/bank/{n}": saved[n] for n in sorted(saved)})
    held = [[number, panes.panes[number].n_raw] for number in numbers]
    return {"n_groups": panes.n_groups, "panes": held, "banks": banks}


def unpack_panes(prefix: str, values: dict[str, Any], arrays: Arrays, panes: BankPanes) -> None:
    """Read the panes back."""
    panes.n_groups = values["n_groups"]
    done = 0
    for number, n_raw in values["panes"]:
        pane = panes.panes[number] = Pane(n_raw=n_raw, counts=arrays[f"{prefix}/{number}/counts"])
        if n_raw:
            pane.groups = [arrays[f"{prefix}/groups"][done : done + n_raw]]
            pane.items = [arrays[f"{prefix}/items"][done : done + n_raw]]
            done += n_raw
    for number, names in values["banks"]:
        bank = bank_of(panes.model, 0)
        bank.restore({name: arrays[f"{prefix}/{number}/bank/{name}"] for name in names})
        panes.panes[number].bank = bank
