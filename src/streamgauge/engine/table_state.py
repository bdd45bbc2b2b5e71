"""What all tables of groups store: the numbers of their groups, and what queries answered last."""

from __future__ import annotations

from typing import Any

import numpy as np

from streamgauge.engine.memory import pack_memory, unpack_memory
from streamgauge.engine.naming import Groups, pack_combiner, unpack_combiner
from streamgauge.engine.operator import Arrays
from streamgauge.engine.pieces import Seats
from streamgauge.plan.table_key import TableKey


def pack_table_of_groups(
    prefix: str, key: TableKey, groups: Groups, seats: Seats, arrays: Arrays
) -> dict[str, Any]:
    """Plain values of a table; its arrays are added to `arrays`."""
    pack_combiner(f"{prefix}/groups", groups.combiner, arrays)
    arrays[f"{prefix}/local"] = np.array(groups.local, np.int32)
    pack_memory(prefix, seats.memory, arrays, max(1, len(groups.texts)))
    return {"key": key.text(), "texts": groups.texts}


def unpack_groups(
    prefix: str, key: TableKey, values: dict[str, Any], arrays: Arrays, shard: int, shards: int
) -> Groups:
    """Read the groups of a table back."""
    return Groups(
        key.group_by,
        shard,
        shards,
        unpack_combiner(f"{prefix}/groups", arrays),
        arrays[f"{prefix}/local"].tolist(),
        values["texts"],
    )


def unpack_seats(prefix: str, arrays: Arrays) -> Seats:
    """Read what queries of a table answered last."""
    return Seats(unpack_memory(prefix, arrays))
