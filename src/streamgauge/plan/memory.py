"""Memory: what a plan has to keep, told before it runs."""

from __future__ import annotations

from collections.abc import Mapping

from streamgauge.kernel.errors import BindError
from streamgauge.plan.keeping import Changing, holds, retained, scan_of
from streamgauge.plan.names import Bound
from streamgauge.plan.nodes import (
    Combined,
    Distinct,
    Grouped,
    Join,
    Node,
    Numbers,
    Stored,
    Windowed,
)

Memory = tuple[str, str]
# From little to much; a plan needs what its neediest node needs.
KINDS = ("bounded", "groups", "window", "unbounded")


def memory_of(node: Node, changing: Changing = frozenset()) -> Memory:
    """What a plan keeps: bounded, groups, window or unbounded, and why.

    `changing` streams take rows back.

    >>> from streamgauge.plan.nodes import Scan
    >>> from streamgauge.streams.schema import Schema
    >>> from streamgauge.windows.window import Range
    >>> memory_of(Windowed(Scan("s", Schema.of(ts="time")), Range("1 minute")))
    ('window', 'rows of s for range 1 min')
    """
    kept = retained(node, changing)
    parts = (
        part for part in node.walk() if isinstance(part, (Stored, Numbers)) or holds(part, changing)
    )
    found = [own_memory(part, kept) for part in (*kept, *parts)]
    if not found:
        return "bounded", "each row is looked at once"
    return max(found, key=lambda memory: KINDS.index(memory[0]))


def own_memory(node: Node, kept: Mapping[Windowed, str]) -> Memory:
    """What one node keeps by itself, in a plan that keeps the rows of some windows."""
    match node:
        case Windowed():
            return _window(node, kept[node]) if node in kept else ("bounded", "nothing")
        case Stored(table=table):
            return "bounded", f"rows of table {table}"
        case Numbers(asked=asked):
            return "groups" if asked.group_by else "bounded", f"newest answers of {asked.name}"
        case Join() | Combined():
            return "bounded", "rows of its inputs"
        case Grouped(by=by):
            keys = ", ".join(name for name, _ in by)
            return ("groups", f"one row for each {keys}") if keys else ("bounded", "one row")
        case Distinct():
            return "groups", "each different row with its count"
        case _:
            return "bounded", "nothing"


def _window(node: Windowed, why: str) -> Memory:
    window, stream = node.window, scan_of(node).stream
    if window.unbounded:
        return "unbounded", f"every row of {stream} {why}"
    if window.kind == "landmark":
        return "unbounded", f"rows of {stream} {window}"
    if window.kind == "rows":
        return "bounded", f"{window.rows} rows of {stream}"
    if window.kind == "partition":
        return "groups", f"{window.rows} rows of {stream} for each {', '.join(window.by)}"
    return "window", f"rows of {stream} for {window}"


def growing(node: Node, changing: Changing = frozenset()) -> tuple[str, ...]:
    """Streams of which a plan keeps every row, so that its state grows with each of them.

    >>> from streamgauge.plan.nodes import Scan
    >>> from streamgauge.streams.schema import Schema
    >>> from streamgauge.windows.window import Unbounded
    >>> every = Windowed(Scan("s", Schema.of(ts="time")), Unbounded())
    >>> growing(Join((every, every), ("a", "b")))
    ('s',)
    """
    kept = (part for part in retained(node, changing) if part.window.kind == "landmark")
    # Rows of a stream of changes leave when they are taken back.
    found = dict.fromkeys(scan_of(part).stream for part in kept)
    return tuple(name for name in found if name not in changing)


def growth(streams: tuple[str, ...]) -> str:
    """That state grows, in words; empty when it does not.

    >>> growth(("a", "b"))
    'grows with every row of a, b'
    """
    return f"grows with every row of {', '.join(streams)}" if streams else ""


def check_joins(bound: Bound) -> None:
    """Refuse a join under a budget that would keep a stream for ever, unless that was written."""
    if not bound.kept:
        return
    name = bound.kept[0]
    raise BindError(
        f"a join would keep every row of stream {name!r} for ever",
        f"no window is written after {name}",
        f"write {name} [RANGE 5 MINUTES], or {name} [RANGE UNBOUNDED] if every row is to stay",
    )
