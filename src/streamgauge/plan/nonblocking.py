"""Non-blocking: rows can be given for good only when nothing later can take them back."""

from __future__ import annotations

from streamgauge.kernel.errors import BindError
from streamgauge.plan.monotone import why_not_monotone
from streamgauge.plan.nodes import Filter, Node, Ordered, Project, Streamed, Windowed


def check(node: Node, mode: str, changing: frozenset[str] = frozenset()) -> None:
    """Raise when a plan cannot be given in this mode.

    Parameters
    ----------
    node
        The plan.
    mode
        changes, append or store.
    changing
        Streams that take rows back by themselves.
    """
    if isinstance(node, Streamed):
        if mode == "store":
            raise BindError(
                "a stream of rows has no current rows to store",
                f"{node.kind.upper()} gives rows as they come or go",
                f"leave {node.kind.upper()} out, or write EMIT APPEND",
            )
        return
    reason = why_not_monotone(node, changing) if mode == "append" else None
    if reason is not None:
        raise BindError(
            "rows of this query may be taken back, so they cannot be appended for good",
            reason,
            "write EMIT CHANGES for rows that come and go, or SELECT ISTREAM(...) for what comes",
        )


def check_order(node: Node) -> None:
    """Refuse ORDER BY without LIMIT of rows that never end: none of them could be given first."""
    streamed = isinstance(node, Streamed)
    for part in node.walk():
        if not isinstance(part, Ordered) or part.limit is not None:
            continue
        endless = _endless(part.input)
        if not streamed and endless is None:
            continue
        order = ", ".join(f"{expr}{' DESC' if down else ''}" for expr, down in part.by)
        rows = "its rows are a stream" if endless is None else f"[{endless.window}] never ends"
        raise BindError(
            "ORDER BY cannot sort an unbounded stream",
            f"ORDER BY {order}, and {rows}: a later row may rank before all that were given",
            "add LIMIT 10, write a window such as [RANGE 5 MINUTES], or leave ORDER BY out",
        )


def _endless(node: Node) -> Windowed | None:
    """The window of rows that only ever come, below filters and columns."""
    while isinstance(node, (Filter, Project)):
        node = node.input
    return node if isinstance(node, Windowed) and node.window.kind == "landmark" else None
