"""Shapes of windows in panes: how many panes long, how far they slide, how many must be kept."""

from __future__ import annotations

from collections.abc import Sequence

from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.table_key import TableKey
from streamgauge.plan.technique import Load
from streamgauge.streams.stream import Stream

# The instant up to which panes are whole is not known before the stream has begun.
UNSET = 2**62


def shape_of(
    registry: Registry, stream: Stream, key: TableKey, standing: Standing
) -> tuple[int, int]:
    """Slide of a query's window in ticks, and its length in panes."""
    window = registry.window_of(standing.query)
    assert window is not None, "a query without a window is no table's"
    if window.kind == "landmark":
        return 1, 1
    if window.kind == "now":
        return 1, 1
    slide = window.slide_for(stream.tick, standing.query.answer.period or None)
    return slide // stream.tick, window.length // key.width


def needed_panes(
    registry: Registry, stream: Stream, key: TableKey, queries: Sequence[Standing]
) -> int:
    """Panes a ring must hold: the longest window, a slide, the reach of revisions, an open one."""
    if key.kind == "landmark":
        return 1
    shapes = [shape_of(registry, stream, key, standing) for standing in queries]
    longest = max(slide * stream.tick + length * key.width for slide, length in shapes)
    return (longest + stream.late.reach) // key.width + 3


def window_load(
    kind: str, registry: Registry, standing: Standing, key: TableKey, groups: int
) -> Load:
    """What a query over a window asks: its groups, the length of its window, and its slide."""
    stream = registry.stream(standing.query.stream)
    slide, panes = shape_of(registry, stream, key, standing) if key.width else (1, 1)
    moved = slide * stream.tick
    return Load(kind, groups=max(1, groups), window=max(moved, panes * key.width), slide=moved)
