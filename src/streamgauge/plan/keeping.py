"""Keeping: which rows a plan must have kept to go on, and where one small state a group will do.

The engine keeps what is said here, and EXPLAIN says it.
"""

from __future__ import annotations

from collections.abc import Mapping

from streamgauge.operators.group_rows import holdable
from streamgauge.plan.nodes import (
    Combined,
    Distinct,
    Filter,
    Grouped,
    Join,
    Named,
    Node,
    Ordered,
    Project,
    Scan,
    Streamed,
    Windowed,
)
from streamgauge.streams.stream import Stream

Changing = frozenset[str]
STAYS = "as the answer is all of them"


def changing_in(streams: Mapping[str, Stream]) -> Changing:
    """Streams that take rows back by themselves."""
    return frozenset(name for name, stream in streams.items() if stream.changes is not None)


def scan_of(node: Node) -> Scan:
    """The scan below a window."""
    while not isinstance(node, Scan):
        node = node.inputs()[0]
    return node


def append_only(node: Node, changing: Changing) -> bool:
    """Whether rows only ever come."""
    if isinstance(node, Windowed):
        return scan_of(node).stream not in changing and node.window.kind == "landmark"
    if isinstance(node, (Filter, Project, Distinct)):
        return append_only(node.input, changing)
    if isinstance(node, Join):
        return node.kind == "inner" and all(append_only(part, changing) for part in node.parts)
    if isinstance(node, Combined) and node.kind == "union":
        return append_only(node.left, changing) and append_only(node.right, changing)
    return False


def holds(node: Node, changing: Changing) -> bool:
    """Whether a node keeps one small state for each group instead of the rows below it.

    >>> from streamgauge.streams.schema import Schema
    >>> from streamgauge.windows.window import Unbounded
    >>> every = Windowed(Scan("s", Schema.of(ts="time", k="int")), Unbounded())
    >>> holds(Distinct(every), frozenset()), holds(Distinct(every), frozenset({"s"}))
    (True, False)
    """
    if isinstance(node, Grouped):
        return holdable(node.aggregates) and append_only(node.input, changing)
    return isinstance(node, Distinct) and append_only(node.input, changing)


def retained(node: Node, changing: Changing, why: str = STAYS) -> dict[Windowed, str]:
    """Windows whose rows must be kept while they are alive, each with what they are kept for.

    `why` says what the node's relation as it was is known for; it is empty when only its changes
    count.

    >>> from streamgauge.streams.schema import Schema
    >>> from streamgauge.windows.window import Unbounded
    >>> every = Windowed(Scan("s", Schema.of(ts="time", k="int")), Unbounded())
    >>> list(retained(Join((every, every), ("a", "b")), frozenset()).values())
    ['for a join']
    >>> retained(Streamed(every, "istream"), frozenset())
    {}
    """
    if isinstance(node, Windowed):
        why = "as it takes rows back" if scan_of(node).stream in changing else why
        return {node: why} if why or not append_only(node, changing) else {}
    why = _reason(node, changing, why)
    found: dict[Windowed, str] = {}
    for below in node.inputs():
        for window, reason in retained(below, changing, why).items():
            found.setdefault(window, reason)
    return found


def _reason(node: Node, changing: Changing, why: str) -> str:
    """What the inputs of a node as they were are known for, or nothing."""
    if holds(node, changing):
        return ""
    match node:
        case Streamed(kind=kind):
            return "as all are given again at each instant" if kind == "rstream" else ""
        case Join():
            return "for a join"
        case Grouped(aggregates=aggregates):
            return f"for {_unheld(aggregates)}"
        case Distinct():
            return "for DISTINCT"
        case Combined(kind=kind, all=True) if kind == "union":
            return why
        case Combined(kind=kind):
            return f"for {kind.upper()}"
        case Ordered(limit=limit) if limit is not None:
            return "as any may come among the first later"
        case Ordered():
            return why or STAYS
        case _:
            return why


def _unheld(aggregates: Named) -> str:
    """The first aggregate that needs the rows, else any: it changes as they go."""
    found = [str(e) for name, e in aggregates if not holdable(((name, e),))]
    return (found or [str(e) for _, e in aggregates] or ["GROUP BY"])[0]
