"""State of the bounds of a shard in the wire format."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from streamgauge.engine.old_memory import with_sides
from streamgauge.kernel.wire import Array
from streamgauge.operators.bounds import Bounds
from streamgauge.work.bounds.technique import BoundsKey

if TYPE_CHECKING:
    from streamgauge.work.bounds.operator import BoundsOperator

Arrays = dict[str, Array]


def pack_bounds(prefix: str, piece: BoundsOperator, arrays: Arrays) -> dict[str, Any]:
    """Plain values of a piece; its arrays are added to `arrays`."""
    for name, column in piece.bounds._asdict().items():
        arrays[f"{prefix}/{name}"] = column
    arrays[f"{prefix}/who"] = np.array(piece.who, np.int64).reshape(len(piece.who), 3)
    arrays[f"{prefix}/memory"] = piece.memory
    # Most queries are one cell without a name.
    named = {str(at): text for at, text in enumerate(piece.texts) if text}
    return {"key": piece.key.text(), "texts": named}


def unpack_bounds(prefix: str, values: dict[str, Any], arrays: Arrays) -> dict[str, Any]:
    """Read the fields of an operator back."""
    memory = with_sides(arrays[f"{prefix}/memory"])
    texts = [""] * len(memory)
    for at, text in values["texts"].items():
        texts[int(at)] = text
    return {
        "key": BoundsKey(*json.loads(values["key"])[1:]),
        "bounds": Bounds(**{name: arrays[f"{prefix}/{name}"] for name in Bounds._fields}),
        "who": [
            (number, version, size) for number, version, size in arrays[f"{prefix}/who"].tolist()
        ],
        "texts": texts,
        "memory": memory,
    }
