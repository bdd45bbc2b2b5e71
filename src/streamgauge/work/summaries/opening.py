"""Operators of sketches over windows: new ones, and those that were stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from streamgauge.engine.bank_state import unpack_panes
from streamgauge.engine.naming import Groups
from streamgauge.engine.old_memory import listed_with_sides
from streamgauge.engine.operator import Arrays, Operator
from streamgauge.engine.pane_shapes import window_load
from streamgauge.engine.pieces import Bench
from streamgauge.engine.table_state import unpack_groups, unpack_seats
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.technique import Load
from streamgauge.work.summaries.answers import (
    Top,
)
from streamgauge.work.summaries.operator import SummaryOperator
from streamgauge.work.summaries.technique import TECHNIQUE, SketchKey


def opened(
    key: SketchKey, bench: Bench, registry: Registry, queries: Sequence[Standing]
) -> SummaryOperator:
    """A new operator."""
    return SummaryOperator.of(key, Groups(key.group_by, bench.shard, bench.shards))


def restored(
    prefix: str, values: dict[str, Any], arrays: Arrays, shard: int, shards: int
) -> SummaryOperator:
    """An operator from its stored state."""
    key = SketchKey.from_text(values["key"])
    made = SummaryOperator.of(key, unpack_groups(prefix, key, values, arrays, shard, shards))
    made.newest, made.vouched = values["newest"], values["vouched"]
    made.n_panes, made.seats = values["n_panes"], unpack_seats(prefix, arrays)
    found = (Top(*top) for top in values["tops"])
    made.tops = {top.query: top._replace(rows=listed_with_sides(top.rows)) for top in found}
    # Earlier releases counted numbers of names.
    listed = values.get("listed")
    made.names.coded = listed is None
    made.names.listed.load({name: arrays[f"{prefix}/listed/{name}"] for name in listed or ()})
    unpack_panes(f"{prefix}/pane", values["panes"], arrays, made.panes)
    unpack_panes(f"{prefix}/late", values["late"], arrays, made.late)
    return made


def load_of(registry: Registry, standing: Standing, held: Sequence[Operator], series: int) -> Load:
    """A window over the groups that are known."""
    groups = sum(len(one.groups.texts) for one in held if isinstance(one, SummaryOperator))
    key = TECHNIQUE.key(registry, standing)
    return window_load("summary", registry, standing, key, groups)
