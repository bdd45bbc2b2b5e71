"""Non-blocking: rows can be given for good only when nothing later can take them back."""

from __future__ import annotations

from streamgauge.kernel.errors import BindError
from streamgauge.plan.monotone import why_not_monotone
from streamgauge.plan.nodes import Node, Streamed


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
