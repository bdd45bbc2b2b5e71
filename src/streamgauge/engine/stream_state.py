"""State of one stream of a shard in the wire format.

Compiled queries are not state: they follow from the registry.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from streamgauge.engine.calendar import Calendar
from streamgauge.engine.distribution import REPLICATED, SINGLE, input_of
from streamgauge.engine.naming import Series, pack_combiner, unpack_combiner
from streamgauge.engine.operator import Arrays, Operator, fed_module
from streamgauge.engine.rows import Rows
from streamgauge.engine.stalled import Stalled
from streamgauge.engine.stream_inputs import InputState, StreamState
from streamgauge.engine.unusable import Tally
from streamgauge.kernel.columns import Combiner, Interner
from streamgauge.kernel.errors import StateTooOld
from streamgauge.kernel.passing_names import PassingNames
from streamgauge.kernel.wire import Packed, pack
from streamgauge.plan.table_key import TableKey
from streamgauge.plan.technique import Columns, Key, technique_of_state

_TALLY = ("total", "fine", "coarse")
_ROWS = ("eff", "tick", "ts")
_SUMMED = ("panes", "landmark")


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
    stalled = {
        text: one.pack(f"{prefix}/stalled/{serial}", arrays)
        for serial, (text, one) in enumerate(held.stalled.items())
    }
    return {
        **({"stalled": stalled} if stalled else {}),
        "words": {name: interner.listed() for name, interner in held.words.items()},
        "passing": [n for n, names in held.words.items() if isinstance(names, PassingNames)],
        "series": held.series.names.values,
        "numbers": list(held.waiting.numbers),
        "codes": list(held.waiting.words),
        "pieces": [
            piece.pack(f"{prefix}/{serial}", arrays)
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
        state.inputs = _apart(held, rounded=True)
        return state
    state.coming = Calendar(arrays[f"{prefix}/coming/ticks"], arrays[f"{prefix}/coming/rows"])
    for serial, (name, item) in enumerate(values["inputs"].items()):
        held = _unpack_input(f"{prefix}/{serial}", item, arrays, shard, shards)
        if name == REPLICATED:
            # Sums over all rows were once with the work that reads all rows.
            state.inputs = {**_apart(held), **state.inputs}
        else:
            state.inputs[name] = held
    return state


def _unpack_input(
    prefix: str, values: dict[str, Any], arrays: Arrays, shard: int, shards: int
) -> InputState:
    pieces: dict[str, Operator] = {}
    lost: dict[str, str] = {}
    for serial, item in enumerate(values["pieces"]):
        try:
            piece = _restored(f"{prefix}/{serial}", item, arrays, shard, shards)
            pieces[piece.key.text()] = piece
        except StateTooOld as error:
            lost[item["key"]] = error.what
    passing = values.get("passing", ())
    return InputState(
        words={
            name: PassingNames(names) if name in passing else Interner.of(names)
            for name, names in values["words"].items()
        },
        series=Series(
            Interner.of(values["series"]),
            unpack_combiner(f"{prefix}/series", arrays),
            arrays[f"{prefix}/series/local"].tolist(),
        ),
        waiting=_unpack_rows(f"{prefix}/waiting", values["numbers"], values["codes"], arrays),
        pieces=pieces,
        lost=lost,
        stalled={
            text: _stalled(f"{prefix}/stalled/{serial}", item, arrays, shard, shards)
            for serial, (text, item) in enumerate(values.get("stalled", {}).items())
        },
    )


def _stalled(
    prefix: str, values: dict[str, Any], arrays: Arrays, shard: int, shards: int
) -> Stalled:
    operator = _restored(f"{prefix}/piece", values["piece"], arrays, shard, shards)
    return Stalled.unpack(prefix, values, arrays, operator)


def _apart(held: InputState, *, rounded: bool = False) -> dict[str, InputState]:
    """The work of one input given to those that bring its rows now; names are copied for each.

    Rows that wait are those of all groups, which work on some of them passes over. Where sums were
    `rounded`, they may go on in a table that does not round them.
    """
    found = {REPLICATED: replace(held, pieces={})}
    for text, piece in held.pieces.items():
        name = input_of(piece.key)
        for into in (name, SINGLE) if rounded and _sums_all(piece.key) else (name,):
            if into not in found:
                found[into] = _copied(held)
        found[name].pieces[text] = piece
    return found


def _copied(held: InputState) -> InputState:
    """The names of an input, and its rows that wait, without its work."""
    words = {column: Interner.of(known.values) for column, known in held.words.items()}
    series = Series(
        Interner.of(held.series.names.values),
        Combiner(Interner.of(held.series.combiner.interner.values)),
        list(held.series.local),
    )
    return InputState(words, series, held.waiting.take(slice(None)))


def _sums_all(key: Key) -> bool:
    """Whether a table may go on as one of exact sums over all rows."""
    return isinstance(key, TableKey) and not key.group_by and key.kind in _SUMMED


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


def _restored(
    prefix: str, values: dict[str, Any], arrays: Arrays, shard: int, shards: int
) -> Operator:
    try:
        technique = technique_of_state(values["key"])
    except (StopIteration, ValueError, LookupError, TypeError):
        raise unknown_technique(values["key"]) from None
    module = fed_module(technique)
    return module.restored(prefix, values, arrays, shard, shards)


def unknown_technique(name: str) -> StateTooOld:
    """The error of state that no technique of this release has."""
    return StateTooOld(
        "no technique of this release has such state",
        f"it is named {name[:100]!r}",
        "run the release that wrote it",
    )


def operator_bytes(held: InputState, text: str, read: Columns) -> int:
    """Bytes of an operator as it is stored, with the names and the waiting rows that it reads."""
    operator, arrays = held.pieces[text], Arrays()
    values = operator.pack("", arrays)
    columns = {*read.numbers, *read.words}
    if operator.key.keyed:
        pack_combiner("series", held.series.combiner, arrays)
        values["series"] = [held.series.names.values, held.series.local]
        columns |= {*held.words, *held.waiting.numbers}
    values["words"] = [n.listed() for name, n in held.words.items() if name in columns]
    narrow = [
        [n for n in one if n in columns] for one in (held.waiting.numbers, held.waiting.words)
    ]
    _pack_rows("waiting", held.waiting.narrowed(*narrow), arrays)
    return len(pack(Packed("operator", 1, values, arrays)))
