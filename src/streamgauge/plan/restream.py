"""A window over a selection of a stream: the window moves to the stream inside."""

from __future__ import annotations

from dataclasses import replace

from streamgauge.operators.expression import Expr, column
from streamgauge.plan.monotone import endless_base
from streamgauge.plan.nodes import Filter, Node, Project, Scan, Streamed, Windowed
from streamgauge.plan.substitute import filtered, through, through_named
from streamgauge.streams.stream import Stream
from streamgauge.windows.window import Unbounded, Window

OF_TIME = ("now", "range", "landmark")


def rewindowed(node: Node, window: Window) -> Node | None:
    """The plan with another window, or None when it is more than filters and columns of a stream.

    A window of time may stand below the filters. One of rows counts what has passed them, so they
    go below it and the columns that are computed go above.
    """
    if endless_base(node) is None:
        return None
    if window.kind in OF_TIME:
        return _swapped(node, window)
    items, conditions, base = _flat(node)
    if items is None:
        return Windowed(filtered(base, conditions), window)
    inside = []
    for name in window.by:
        source = dict(items).get(name)
        if source is None or source.op != "column":
            return None
        inside.append(source.value)
    below = Windowed(filtered(base, conditions), replace(window, by=tuple(inside)))
    return Project(below, items)


def arriving(node: Streamed, stream: Stream) -> Node | None:
    """The selection of all rows that gives what a stream of the newest tick gives, if any does.

    RSTREAM gives all rows of [NOW]; ISTREAM leaves out those that are equal to one of the tick
    before, which none is that has its time. A late row that counts is never among those of [NOW].
    """
    if node.kind not in ("rstream", "istream") or stream.late.policy == "revise":
        return None
    selected = node.input
    while isinstance(selected, (Filter, Project)):
        selected = selected.input
    if not isinstance(selected, Windowed) or selected.window.kind != "now":
        return None
    items, _, base = _flat(node.input)
    while isinstance(base, Filter):
        base = base.input
    timed = items is None or any(expr == column(stream.time) for _, expr in items)
    if not isinstance(base, Scan) or not (node.kind == "rstream" or timed):
        return None
    return _swapped(node.input, Unbounded())


def _swapped(node: Node, window: Window) -> Node:
    if isinstance(node, Windowed):
        return replace(node, window=window)
    assert isinstance(node, (Filter, Project)), "endless_base saw filters and columns only"
    return replace(node, input=_swapped(node.input, window))


def _flat(node: Node) -> tuple[tuple[tuple[str, Expr], ...] | None, tuple[Expr, ...], Node]:
    """Columns, conditions and base of a selection, all in terms of the base."""
    if isinstance(node, Windowed):
        return None, (), node.input
    assert isinstance(node, (Filter, Project)), "endless_base saw filters and columns only"
    items, conditions, base = _flat(node.input)
    inside = dict(items or ())
    if isinstance(node, Filter):
        return items, (*conditions, through(node.where, inside)), base
    return through_named(node.items, inside), conditions, base


def identity(names: tuple[str, ...]) -> tuple[tuple[str, Expr], ...]:
    """Columns as they are."""
    return tuple((name, column(name)) for name in names)
