"""Seeds of kept sketches: drawn once for a data directory, stored in a record, one for each sketch.

The first query that is answered from a sketch brings a drawn seed in its record. Each kept sketch
derives its own seed from that one and from what it keeps. Queries that share a sketch, the streams
of a join, all shards and every replay therefore agree, and two data directories err independently.
"""

from __future__ import annotations

import json
import os
import uuid
from typing import Any

from streamgauge.kernel.hashing import stable_hash
from streamgauge.plan.query import Query
from streamgauge.windows.window import Window

VARIABLE = "STREAMGAUGE_SEED"
_BITS = 53
"""Seeds are whole in JSON as JavaScript reads it."""
_EXACT = ("exact", "kept_pairs")


def draw_seed() -> int:
    """Draw the seed of a data directory, or take that of the environment, for repeatable runs."""
    given = os.environ.get(VARIABLE, "")
    return max(1, int(given) if given.isdigit() else uuid.uuid4().int >> (128 - _BITS))


def seeded(model: str, seed: int | None, kept: str) -> str:
    """Name of a model with the seed of what it keeps; as it is without a seed or an error.

    >>> seeded('["hll", {}, 9001]', None, "a") == seeded('["exact", {}, 9001]', 7, "a")
    False
    >>> seeded('["hll", {}, 9001]', 7, "a") == seeded('["hll", {}, 9001]', 7, "b")
    False
    """
    if seed is None or not model:
        return model
    if kept_whole(model):
        return model
    kind, parameters, _ = json.loads(model)
    own = stable_hash(json.dumps([kind, parameters, kept]), seed=seed) >> (64 - _BITS)
    return json.dumps([kind, parameters, own])


def kept_by(query: Query, window: Window | None, tick: int) -> str:
    """Name what the sketch of a query keeps: equal for queries that share panes."""
    if query.parts:
        return json.dumps(query.as_dict()["parts"], sort_keys=True)
    shape: list[Any] = []
    if window is not None:
        paned = window.kind in ("now", "range", "landmark", "decay")
        width = window.pane_width(tick, query.answer.period or None) if paned else 0
        shape = [window.kind == "landmark", width, window.start, window.rows, window.by]
    where = query.where.as_dict() if query.where is not None else None
    select = query.select
    read = [query.stream, where, query.group_by, select.x, select.y, select.weight]
    return json.dumps([*read, shape], sort_keys=True)


def kept_whole(model: str) -> bool:
    """Whether a model keeps every value, and so neither errs nor hashes.

    >>> kept_whole('["exact", {}, 9001]'), kept_whole('["hll", {}, 9001]')
    (True, False)
    """
    return json.loads(model)[0] in _EXACT
