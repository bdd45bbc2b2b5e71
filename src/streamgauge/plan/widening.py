"""Widening: a learned column of whole numbers becomes float when a file brings floats.

Queries over numbers go on with what they hold. Queries over rows, under a budget or across streams
begin as a new version, filled from kept history. A column that tells rows apart (a key, a group, a
join) keeps its type: 1 and 1.0 would be two names of one thing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping
from dataclasses import replace
from typing import Any

from streamgauge.kernel.errors import BindError
from streamgauge.operators.expression import Expr
from streamgauge.plan.bounds import columns_of
from streamgauge.plan.nodes import (
    Combined,
    Distinct,
    Grouped,
    Join,
    Node,
    Numbers,
    Project,
    Resampled,
    Scan,
    Windowed,
)
from streamgauge.plan.query import Query
from streamgauge.plan.view import View
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Stream
from streamgauge.windows.window import Window

# Aggregates whose state is of items: a whole number and a float are hashed as two.
ITEMS = ("distinct", "frequency", "self_join", "top_k")


def declared_again(old: Stream | None, stream: Stream) -> Stream:
    """The declaration that holds when a stream is declared, perhaps once more; or raise."""
    if old is not None and stream.learned and old.learned:
        stream = stream.wider(old.widened)
    if old is not None and old != stream:
        raise BindError(
            f"stream {stream.name!r} exists already with another declaration",
            f"it reads {dict(old.source)}",
            "drop it first, or choose another name",
        )
    return stream


def widen(
    streams: MutableMapping[str, Stream],
    queries: MutableMapping[str, Any],
    change: Mapping[str, Any],
    epoch: int,
) -> None:
    """Make columns of a stream float; queries that hold them as whole numbers begin again."""
    stream, columns = streams.get(change["stream"]), tuple(change["columns"])
    if stream is None or set(columns) <= set(stream.widened):
        return
    streams[stream.name] = wide = stream.wider(columns)
    for standing in list(queries.values()):
        asked = standing.asked
        if not any(_reads(asked, stream, column) for column in columns):
            continue
        if isinstance(asked, View):
            asked = replace(asked, plan=asked.plan.rebuilt(lambda node: _wider_scan(node, wide)))
        elif not asked.parts and asked.promise is None:
            continue
        queries[standing.name] = replace(
            standing, asked=asked, version=standing.version + 1, epoch=epoch, born=epoch
        )


def kept_whole(
    stream: Stream,
    column: str,
    queries: Iterable[Any],
    windows: Mapping[str, Window],
    others: Mapping[str, str],
) -> str | None:
    """Why a column cannot become float, or None.

    Parameters
    ----------
    queries
        What is registered.
    windows
        Windows by name.
    others
        Queries and columns that something else depends on, each with what that is.
    """
    if column in others:
        return f"{others[column]} is kept of it"
    for standing in queries:
        asked = standing.asked
        if not _reads(asked, stream, column):
            continue
        if isinstance(asked, View):
            if asked.name in others:
                return f"{others[asked.name]} delivers query {asked.name!r}, which reads it as int"
            names = _view_names(asked.plan)
        else:
            names = _query_names(asked, stream, windows)
        if column in names:
            return f"query {asked.name!r} tells rows apart by it"
    return None


def _reads(asked: Query | View, stream: Stream, column: str) -> bool:
    if stream.name not in asked.streams:
        return False
    if isinstance(asked, Query):
        window = asked.window
        by = window.by if isinstance(window, Window) else ()
        return column in columns_of(asked, stream) or column in by or isinstance(window, str)
    return any(
        column in node.schema.names
        if isinstance(node, Scan)
        else isinstance(node, Numbers) and column in columns_of(node.asked, stream)
        for node in asked.plan.walk()
        if isinstance(node, (Scan, Numbers)) and node.stream == stream.name
    )


def _query_names(query: Query, stream: Stream, windows: Mapping[str, Window]) -> set[str]:
    """Columns by which a query of numbers tells rows or items apart."""
    computed, found = dict(query.derived), set(query.group_by)
    window = windows.get(query.window) if isinstance(query.window, str) else query.window
    found.update(() if window is None else window.by)
    if query.select.name in ITEMS:
        found.update(filter(None, (query.select.x,)))
    for part in query.parts:
        if part.stream == stream.name:
            found.update(name for expr in part.by for name in expr.columns())
    for name in found & computed.keys():
        found.update(computed[name].columns())
    return found


def _view_names(plan: Node) -> set[str]:
    """Columns of streams by which a plan over rows tells rows apart, whatever they are renamed to.

    Where rows are compared as a whole, that is every column.
    """
    nodes, found = list(plan.walk()), set[str]()
    for node in nodes:
        if isinstance(node, (Distinct, Combined)):
            return {name for scan in nodes if isinstance(scan, Scan) for name in scan.schema.names}
        if isinstance(node, Grouped):
            found.update(name for _, expr in node.by for name in _plain(expr))
        elif isinstance(node, Join) and node.on is not None:
            found.update(_plain(node.on))
        elif isinstance(node, Windowed):
            found.update(node.window.by)
        elif isinstance(node, Resampled):
            found.update(node.by)
        elif isinstance(node, Numbers):
            found.update(node.asked.group_by)
    # A name that is computed below stands for all that it is computed from.
    named = [(n, expr) for p in nodes if isinstance(p, Project) for n, expr in p.items]
    for _ in nodes:
        found.update(name for n, expr in named if n in found for name in _plain(expr))
    return found


def _plain(expr: Expr) -> set[str]:
    """Columns of an expression without the names of the inputs they come from."""
    return {name.rpartition(".")[2] for name in expr.columns()}


def _wider_scan(node: Node, stream: Stream) -> Node:
    if not isinstance(node, Scan) or node.stream != stream.name:
        return node
    pairs = ((name, stream.schema.type(name)) for name in node.schema.names)
    return replace(node, schema=Schema(tuple(pairs)))
