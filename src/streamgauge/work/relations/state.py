"""State of views of rows in the wire format."""

from __future__ import annotations

from typing import Any

from streamgauge.engine.store_state import (
    pack_delta,
    pack_store,
    pack_table,
    unpack_delta,
    unpack_store,
    unpack_table,
)
from streamgauge.kernel.wire import Array
from streamgauge.operators.held import Held
from streamgauge.work.relations.answer_source import AnswerState
from streamgauge.work.relations.answer_state import pack_answers, unpack_answers
from streamgauge.work.relations.dataflow import Folded
from streamgauge.work.relations.view_run import ViewState

Arrays = dict[str, Array]


def pack_view(prefix: str, state: ViewState, arrays: Arrays) -> dict[str, Any]:
    """Plain values of views; their arrays are added to `arrays`."""
    for name, store in state.stores.items():
        pack_store(f"{prefix}/store/{name}", store, arrays)
    for serial, delta in enumerate(state.pending.values()):
        pack_delta(f"{prefix}/pending/{serial}", delta, arrays)
    names: list[list[str]] = []
    for serial, held in enumerate(state.held.values()):
        names.append(_pack_held(prefix, serial, held, arrays))
    numbers = {
        key: pack_answers(f"{prefix}/numbers/{serial}", item, arrays)
        for serial, (key, item) in enumerate(state.numbers.items())
    }
    return {
        "prev": state.prev,
        "first": state.first,
        "numbers": numbers,
        "stores": list(state.stores),
        "tables": state.tables,
        "held": [[key, columns] for key, columns in zip(state.held, names, strict=True)],
        "born": [[*who, at] for who, at in state.born.items()],
        "pending": [list(who) for who in state.pending],
        "whole": [[*who, instants] for who, instants in state.whole.items()],
    }


def _pack_held(prefix: str, serial: int, held: Folded, arrays: Arrays) -> list[str]:
    """Add the arrays of groups; return the names of those with whole numbers."""
    table, columns = held.groups.to_arrays()
    pack_delta(f"{prefix}/given/{serial}", held.given, arrays)
    arrays[f"{prefix}/held/{serial}/table"] = pack_table(table)
    arrays.update({f"{prefix}/held/{serial}/{n}": column for n, column in columns.items()})
    return list(columns)


def unpack_view(prefix: str, values: dict[str, Any], arrays: Arrays) -> ViewState:
    """Read views back."""
    held = {}
    for serial, (key, names) in enumerate(values["held"]):
        place = f"{prefix}/held/{serial}"
        columns = {name: arrays[f"{place}/{name}"] for name in names}
        groups = Held.from_arrays(unpack_table(arrays[f"{place}/table"]), columns)
        held[key] = Folded(groups, unpack_delta(f"{prefix}/given/{serial}", arrays))
    return ViewState(
        values["prev"],
        values["first"],
        {name: unpack_store(f"{prefix}/store/{name}", arrays) for name in values["stores"]},
        {name: [(at, path) for at, path in items] for name, items in values["tables"].items()},
        held,
        {(number, version): at for number, version, at in values["born"]},
        {
            (number, version): unpack_delta(f"{prefix}/pending/{serial}", arrays)
            for serial, (number, version) in enumerate(values["pending"])
        },
        {(number, version): instants for number, version, instants in values["whole"]},
        {
            key: unpack_answers(f"{prefix}/numbers/{serial}", key, item, arrays, values["prev"])
            for serial, (key, item) in enumerate(values["numbers"].items())
        },
    )


def held_bytes(held: Folded) -> int:
    """Bytes of groups as they are stored."""
    arrays: Arrays = {}
    _pack_held("", 0, held, arrays)
    return sum(array.nbytes for array in arrays.values())


def answer_bytes(state: AnswerState) -> int:
    """Bytes of a query whose answers a view reads, as they are stored."""
    arrays: Arrays = {}
    pack_answers("", state, arrays)
    return sum(array.nbytes for array in arrays.values())
