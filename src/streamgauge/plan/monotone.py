"""Which plans only ever add rows, so that their answers can be a stream by themselves."""

from __future__ import annotations

from streamgauge.plan.nodes import (
    Combined,
    Filter,
    Grouped,
    Join,
    Node,
    Numbers,
    Ordered,
    Project,
    Resampled,
    Scan,
    Stored,
    Streamed,
    Windowed,
)


def monotone(node: Node, changing: frozenset[str] = frozenset()) -> bool:
    """Whether a row that is in the result stays in it; `changing` streams take rows back."""
    return why_not_monotone(node, changing) is None


def why_not_monotone(node: Node, changing: frozenset[str] = frozenset()) -> str | None:
    """What may take a row back, in words; None when nothing does."""
    own = _own_reason(node, changing)
    if own is not None or isinstance(node, Streamed):
        return own
    return next((r for part in node.inputs() if (r := why_not_monotone(part, changing))), None)


def _own_reason(node: Node, changing: frozenset[str]) -> str | None:
    match node:
        case Scan(stream=stream) if stream in changing:
            return f"stream {stream!r} takes rows back itself"
        case Windowed(window=window) if window.kind != "landmark":
            return f"rows leave the window [{window}]"
        case Numbers(asked=asked):
            return f"{asked.name} answers anew"
        case Stored(table=table):
            return f"table {table!r} may be read again"
        case Grouped(aggregates=aggregates) if aggregates:
            return f"{aggregates[0][1]} changes with every row"
        case Combined(kind=kind) if kind == "except":
            return "EXCEPT takes rows back when they turn up on the right"
        case Join(kind="left" | "full" as kind):
            return f"a {kind.upper()} JOIN takes a padded row back when its partner comes"
        case Join(kind="asof" | "asof left" as kind):
            return f"an {kind.upper()} JOIN takes a pair back when a nearer partner comes"
        case Join(kind="anti"):
            return "an ANTI JOIN takes a row back when its partner comes"
        case Ordered(limit=limit) if limit is not None:
            return "LIMIT takes rows back when others rank before them"
        case _:
            return None


def endless_base(node: Node) -> Node | None:
    """The scan at the bottom, when a plan is filters and columns of one whole stream."""
    if isinstance(node, (Filter, Project)):
        return endless_base(node.input)
    if isinstance(node, Windowed) and node.window.unbounded:
        below: Node = node.input
        while isinstance(below, Filter):
            below = below.input
        return below if isinstance(below, (Scan, Resampled)) else None
    return None
