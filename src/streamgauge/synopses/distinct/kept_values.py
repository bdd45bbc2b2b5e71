"""Kept values: the items themselves that a sample holds, of any one type, as Arrow and as bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamgauge.kernel.errors import BindError

Ints = npt.NDArray[np.int64]

NO_VALUES: pa.Array = pa.array([], pa.null())


def plain_values(values: pa.Array) -> pa.Array:
    """Values without a dictionary, so that parts can be put together."""
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values


def gathered(held: pa.Array, new: pa.Array, rows: Ints) -> pa.Array:
    """Rows of two arrays put one after the other; a new one of another type is refused."""
    if not len(held):
        return new.take(pa.array(rows - len(held)))
    if held.type != new.type:
        raise BindError(
            "a sample holds items of one type",
            f"it holds {held.type}, the column has {new.type}",
            "cast the column to one type",
        )
    return pa.concat_arrays([held, new]).take(pa.array(rows))


def values_to_bytes(values: pa.Array) -> npt.NDArray[np.uint8]:
    """Values in Arrow's stream format."""
    sink = pa.BufferOutputStream()
    batch = pa.record_batch([values], names=["value"])
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return np.frombuffer(sink.getvalue(), np.uint8)


def values_from_bytes(data: npt.NDArray[Any]) -> pa.Array:
    """Read what `values_to_bytes` wrote."""
    with pa.ipc.open_stream(pa.py_buffer(data.tobytes())) as reader:
        return reader.read_all().column(0).combine_chunks()
