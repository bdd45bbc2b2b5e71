"""Stores, changes and tables in the wire format; tables travel as Arrow streams."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from streamgauge.engine.store import Store
from streamgauge.kernel.wire import Array
from streamgauge.operators.delta import Delta

Arrays = dict[str, Array]
_STORE = ("ts", "eff", "sign", "page", "segment", "row")


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
