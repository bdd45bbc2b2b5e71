"""Distribution: which shard works on which rows of a stream.

Tables of groups need only the rows of the groups that a shard owns: their rows are hashed by the
columns they group by. Sums over all rows are needed by one shard. Everything else reads all rows.
"""

from __future__ import annotations

import json
from dataclasses import replace

from streamgauge.plan.registry import Standing
from streamgauge.plan.sharing import StreamPlan
from streamgauge.plan.technique import Key

# The input of a stream that brings all its rows.
REPLICATED = ""
# The input of ungrouped tables that take sums: the rows of each go to the one shard that has it.
SINGLE = "[]"


def input_of(key: Key) -> str:
    """The name of the input that brings the rows of an operator."""
    if key.hashed_by:
        return json.dumps(list(key.hashed_by))
    return SINGLE if key.single else REPLICATED


def columns_of(name: str) -> tuple[str, ...]:
    """The columns that an input is hashed by."""
    return tuple(json.loads(name)) if name else ()


def inputs_of(plan: StreamPlan) -> dict[str, StreamPlan]:
    """The plan of a stream, cut into the inputs that bring its rows to their operators.

    The one that brings all rows is always there, without work if nothing needs it.
    """
    parts: dict[str, dict[Key, list[Standing]]] = {REPLICATED: {}}
    for key, queries in plan.operators.items():
        parts.setdefault(input_of(key), {})[key] = queries
    return {name: replace(plan, operators=found) for name, found in parts.items()}
