"""Memory: what a plan has to keep, told before it runs."""

from __future__ import annotations

from streamgauge.kernel.errors import BindError
from streamgauge.operators.expression import Expr
from streamgauge.plan.monotone import endless_base
from streamgauge.plan.names import Bound
from streamgauge.plan.nodes import (
    Combined,
    Distinct,
    Filter,
    Grouped,
    Join,
    Node,
    Ordered,
    Project,
    Scan,
    Stored,
    Streamed,
    Windowed,
)

Memory = tuple[str, str]
# From little to much; a plan needs what its neediest node needs.
KINDS = ("bounded", "groups", "window", "unbounded")
_FOLDED = (
    "count", "sum", "avg", "min", "max", "var", "stddev", "covar", "corr", "first", "last",
)  # fmt: skip


def memory_of(node: Node) -> Memory:
    """What a plan keeps: bounded, groups, window or unbounded, and why.

    >>> from streamgauge.streams.schema import Schema
    >>> from streamgauge.windows.window import Range
    >>> memory_of(Windowed(Scan("s", Schema.of(ts="time")), Range("1 minute")))
    ('window', 'rows of s for range 1 min')
    """
    if endless_base(node) is not None or isinstance(node, (Streamed, Project, Filter)):
        return _selected(node)
    own = own_memory(node)
    # Groups and windows of groups take in every row below, so nothing else is kept of it.
    folded = isinstance(node, (Grouped, Distinct, Combined)) and own[0] != "unbounded"
    below = [memory_of(part) for part in node.inputs() if not folded or not _endless(part)]
    return max([own, *below], key=lambda memory: KINDS.index(memory[0]))


def _selected(node: Node) -> Memory:
    if endless_base(node) is not None:
        return "bounded", "each row is looked at once"
    below = node.inputs()[0]
    if isinstance(node, Streamed) and node.kind == "rstream" and _endless(below):
        return "unbounded", "every row is given again at each instant"
    return memory_of(below)


def _endless(node: Node) -> bool:
    return endless_base(node) is not None


def own_memory(node: Node) -> Memory:
    """What one node keeps by itself."""
    match node:
        case Windowed(window=window) if window.unbounded:
            return "bounded", "each row is looked at once"
        case Windowed(window=window):
            return _window(node)
        case Stored(table=table):
            return "bounded", f"rows of table {table}"
        case Join():
            endless = [part for part in node.parts if _endless(part)]
            if endless:
                return "unbounded", f"a join keeps every row of {_streams(endless[0])}"
            return "bounded", "rows of its inputs"
        case Grouped():
            return _groups(node)
        case Distinct() | Combined():
            return "groups", "each different row with its count"
        case Ordered(limit=limit):
            if limit is not None and _endless(node.input):
                return "unbounded", "any row may come among the first later"
            return "bounded", "nothing of its own"
        case _:
            return "bounded", "nothing"


def _window(node: Windowed) -> Memory:
    window = node.window
    if window.kind == "landmark":
        return "unbounded", f"rows of {_streams(node)} {window}"
    if window.kind == "rows":
        return "bounded", f"{window.rows} rows of {_streams(node)}"
    if window.kind == "partition":
        by = ", ".join(window.by)
        return "groups", f"{window.rows} rows of {_streams(node)} for each {by}"
    return "window", f"rows of {_streams(node)} for {window}"


def _groups(node: Grouped) -> Memory:
    whole = [str(e) for _, e in node.aggregates if not _folds(e)]
    if whole and _endless(node.input):
        return "unbounded", f"{whole[0]} needs every value"
    if not node.by:
        return "bounded", "one row"
    return "groups", f"one row for each {', '.join(name for name, _ in node.by)}"


def _folds(aggregate: Expr) -> bool:
    if aggregate.op == "filter":
        return _folds(aggregate.args[0])
    if aggregate.op != "aggregate" or any(arg.op == "distinct" for arg in aggregate.args):
        return False
    return aggregate.value in _FOLDED


def _streams(node: Node) -> str:
    found = {part.stream for part in node.walk() if isinstance(part, Scan)}
    return ", ".join(sorted(found))


def check_joins(bound: Bound) -> None:
    """Refuse a join that would keep a stream for ever, unless that was written."""
    if not bound.kept:
        return
    name = bound.kept[0]
    raise BindError(
        f"a join would keep every row of stream {name!r} for ever",
        f"no window is written after {name}",
        f"write {name} [RANGE 5 MINUTES], or {name} [RANGE UNBOUNDED] if every row is to stay",
    )
