"""State of the work on rows in the wire format; tables travel as Arrow streams."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from streamgauge.engine.dataflow import Folded
from streamgauge.engine.number_run import NumberState
from streamgauge.engine.row_work import RowState
from streamgauge.engine.selection_run import SelectionState
from streamgauge.engine.store import Store
from streamgauge.engine.stream_state import pack_stream, unpack_stream
from streamgauge.engine.view_run import ViewState
from streamgauge.kernel.wire import Array
from streamgauge.operators.delta import Delta
from streamgauge.operators.held import Held

Arrays = dict[str, Array]
_STORE = ("ts", "eff", "sign", "page", "segment", "row")


def pack_rows(prefix: str, state: RowState, arrays: Arrays) -> dict[str, Any]:
    """Plain values of the state; its arrays are added to `arrays`."""
    views = {
        key: _pack_view(f"{prefix}/view/{serial}", view, arrays)
        for serial, (key, view) in enumerate(state.views.items())
    }
    selections = {}
    for name, selection in state.selections.items():
        pack_store(f"{prefix}/selection/{name}", selection.waiting, arrays)
        selections[name] = selection.missed
    return {"views": views, "selections": selections}


def unpack_rows(prefix: str, values: dict[str, Any], arrays: Arrays) -> RowState:
    """Read the state back."""
    return RowState(
        {
            key: _unpack_view(f"{prefix}/view/{serial}", view, arrays)
            for serial, (key, view) in enumerate(values["views"].items())
        },
        {
            name: SelectionState(unpack_store(f"{prefix}/selection/{name}", arrays), missed)
            for name, missed in values["selections"].items()
        },
    )


def _pack_view(prefix: str, state: ViewState, arrays: Arrays) -> dict[str, Any]:
    for name, store in state.stores.items():
        pack_store(f"{prefix}/store/{name}", store, arrays)
    for serial, delta in enumerate(state.pending.values()):
        pack_delta(f"{prefix}/pending/{serial}", delta, arrays)
    names: list[list[str]] = []
    for serial, held in enumerate(state.held.values()):
        names.append(_pack_held(prefix, serial, held, arrays))
    numbers = {
        key: _pack_numbers(f"{prefix}/numbers/{serial}", item, arrays)
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


def _unpack_view(prefix: str, values: dict[str, Any], arrays: Arrays) -> ViewState:
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
            key: _unpack_numbers(f"{prefix}/numbers/{serial}", item, arrays)
            for serial, (key, item) in enumerate(values["numbers"].items())
        },
    )


def _pack_numbers(prefix: str, state: NumberState, arrays: Arrays) -> dict[str, Any]:
    for name, delta in (("rows", state.rows), ("ahead", state.ahead)):
        if delta is not None:
            pack_delta(f"{prefix}/{name}", delta, arrays)
    newest = np.array(list(state.newest.values()), np.float64).reshape(len(state.newest), 3)
    arrays[f"{prefix}/newest"] = newest
    return {
        "stream": pack_stream(f"{prefix}/stream", state.stream, arrays),
        "groups": list(state.newest),
        "seated": state.seated,
        "unmet": sorted(state.unmet),
        "breaks": state.breaks,
        "broken": state.broken,
        **({"table": state.table} if state.table else {}),
    }


def _unpack_numbers(prefix: str, values: dict[str, Any], arrays: Arrays) -> NumberState:
    newest = [(value, low, high) for value, low, high in arrays[f"{prefix}/newest"].tolist()]
    return NumberState(
        unpack_stream(f"{prefix}/stream", values["stream"], arrays, 0, 1),
        dict(zip(values["groups"], newest, strict=True)),
        perhaps_delta(f"{prefix}/rows", arrays),
        perhaps_delta(f"{prefix}/ahead", arrays),
        values["seated"],
        set(values["unmet"]),
        [(at, change) for at, change in values["breaks"]],
        values["broken"],
        values.get("table", ""),
    )


def perhaps_delta(prefix: str, arrays: Arrays) -> Delta | None:
    """Read changes back, if there are some."""
    return unpack_delta(prefix, arrays) if f"{prefix}/at" in arrays else None


def pack_store(prefix: str, store: Store, arrays: Arrays) -> None:
    """Add the arrays of a store to `arrays`."""
    for name in _STORE:
        arrays[f"{prefix}/{name}"] = getattr(store, name)
    arrays[f"{prefix}/used"] = store.used.astype(np.uint8)
    arrays[f"{prefix}/rows"] = pack_table(store.rows)


def unpack_store(prefix: str, arrays: Arrays) -> Store:
    """Read a store back."""
    columns = {name: arrays[f"{prefix}/{name}"] for name in _STORE}
    used = arrays[f"{prefix}/used"].astype(np.bool_)
    return Store(rows=unpack_table(arrays[f"{prefix}/rows"]), used=used, **columns)


def store_bytes(store: Store) -> int:
    """Bytes of a store as it is stored."""
    arrays: Arrays = {}
    pack_store("", store, arrays)
    return sum(array.nbytes for array in arrays.values())


def held_bytes(held: Folded) -> int:
    """Bytes of groups as they are stored."""
    arrays: Arrays = {}
    _pack_held("", 0, held, arrays)
    return sum(array.nbytes for array in arrays.values())


def number_bytes(state: NumberState) -> int:
    """Bytes of a query that a view asks about, as they are stored."""
    arrays: Arrays = {}
    _pack_numbers("", state, arrays)
    return sum(array.nbytes for array in arrays.values())


def pack_delta(prefix: str, delta: Delta, arrays: Arrays) -> None:
    """Add the arrays of changes to `arrays`."""
    arrays[f"{prefix}/rows"] = pack_table(delta.rows)
    arrays[f"{prefix}/at"], arrays[f"{prefix}/count"] = delta.at, delta.count


def unpack_delta(prefix: str, arrays: Arrays) -> Delta:
    """Read changes back."""
    rows = unpack_table(arrays[f"{prefix}/rows"])
    return Delta(rows, arrays[f"{prefix}/at"], arrays[f"{prefix}/count"])


def pack_table(table: pa.Table) -> Array:
    """A table as the bytes of an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return np.frombuffer(sink.getvalue(), np.uint8)


def unpack_table(data: Array) -> pa.Table:
    """Read a table back."""
    return pa.ipc.open_stream(pa.py_buffer(data.tobytes())).read_all()
