"""Selections: views that pick rows of one stream as they come; all of them share one index."""

from __future__ import annotations

import json
from dataclasses import dataclass

from streamgauge.kernel.hashing import stable_hash
from streamgauge.operators.expression import Expr, conjuncts
from streamgauge.plan.nodes import (
    Filter,
    Named,
    Project,
    Scan,
    Streamed,
    Windowed,
    to_json,
)
from streamgauge.plan.standing import Standing
from streamgauge.plan.view import View


@dataclass(frozen=True, slots=True)
class Selection:
    """What a selection asks: rows of a stream that meet all conditions, and columns of them."""

    stream: str
    where: tuple[Expr, ...]
    items: Named


def selection_of(view: View) -> Selection | None:
    """The view as a selection, or None when it is more than that.

    Rows that come for ever and are given as they come need no memory: a window over all rows,
    conditions, one list of columns, and the stream of what comes.
    """
    plan = view.plan
    if not (isinstance(plan, Streamed) and plan.kind == "istream" and view.answer.kind == "change"):
        return None
    node, items = plan.input, None
    if isinstance(node, Project):
        items = node.items
        node = node.input
    where: tuple[Expr, ...] = ()
    while isinstance(node, (Filter, Windowed)):
        if isinstance(node, Filter):
            where = (*conjuncts(node.where), *where)
        elif not node.window.unbounded:
            return None
        node = node.input
    if not isinstance(node, Scan) or node.changes:
        return None
    if items is None:
        items = tuple((name, Expr("column", value=name)) for name in node.schema.names)
    return Selection(node.stream, where, items)


def group_of(view: View) -> str:
    """Name of the group of views that keep their rows together: those over the same streams."""
    return json.dumps(view.streams)


def shard_of(standing: Standing, shards: int) -> int:
    """The shard that a view lives on; views over the same windows live together."""
    return shard_with(standing, selection_of(standing.view), shards)


def shard_with(standing: Standing, selection: Selection | None, shards: int) -> int:
    """The same where it is known already what selection the view is, if any."""
    if selection is not None:
        return standing.id % shards
    view = standing.view
    windows = {json.dumps(to_json(node)) for node in view.plan.walk() if isinstance(node, Windowed)}
    return stable_hash(json.dumps([view.streams, sorted(windows)])) % shards
