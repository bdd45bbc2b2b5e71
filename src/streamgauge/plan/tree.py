"""A plan as lines of text, outermost first, each node on a line of its own."""

from __future__ import annotations

from collections.abc import Iterator

from streamgauge.kernel.time import duration_text
from streamgauge.plan.nodes import (
    Combined,
    Distinct,
    Filter,
    Grouped,
    Join,
    Named,
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


def lines(node: Node, depth: int = 0) -> Iterator[tuple[int, str, Node]]:
    """Depth, text and node of each line."""
    yield depth, line(node), node
    for part in node.inputs():
        yield from lines(part, depth + 1)


def drawn(node: Node) -> str:
    """The whole plan as text.

    >>> from streamgauge.streams.schema import Schema
    >>> from streamgauge.windows.window import Now
    >>> print(drawn(Windowed(Scan("s", Schema.of(ts="time")), Now())))
    Window now
      Scan s (ts)
    """
    return "\n".join("  " * depth + text for depth, text, _ in lines(node))


def line(node: Node) -> str:
    """One node in words."""
    match node:
        case Scan(stream=name, schema=schema):
            return f"Scan {name} ({', '.join(schema.names)})"
        case Stored(table=name, schema=schema):
            return f"Table {name} ({', '.join(schema.names)})"
        case Numbers(asked=asked):
            return f"Answers of {asked.name}"
        case Resampled(column=column, period=period, method=method):
            return f"Resample {column} each {duration_text(period)} by {method}"
        case Windowed(window=window):
            return f"Window {window}"
        case Filter(where=where):
            return f"Where {where}"
        case Project(items=items):
            return f"Select {_named(items)}"
        case Join(names=names, on=on, kind=kind):
            left = "Join" if kind == "inner" else f"{kind.capitalize()} join"
            listed = ", ".join(name or "the rows" for name in names)
            return f"{left} {listed}" + (f" on {on}" if on is not None else "")
        case _:
            return _folded(node)


def _folded(node: Node) -> str:
    match node:
        case Grouped(by=by, aggregates=aggregates):
            keys = f" by {_named(by)}" if by else ""
            return f"Group {_named(aggregates)}{keys}".replace("Group  by", "Group by")
        case Distinct():
            return "Distinct"
        case Combined(kind=kind, all=all_rows):
            return f"{kind.capitalize()}{' all' if all_rows else ''}"
        case Ordered(by=by, limit=limit):
            order = ", ".join(f"{expr}{' desc' if down else ''}" for expr, down in by)
            first = f"First {limit}" if limit is not None else "Order"
            return first + (f" by {order}" if order else "")
        case Streamed(kind=kind):
            return {"istream": "Stream of what comes", "dstream": "Stream of what goes"}.get(
                kind, "Stream of what is there"
            )
        case _:
            return type(node).__name__


def _named(items: Named) -> str:
    return ", ".join(
        str(expr) if str(expr) == name else f"{expr} as {name}" for name, expr in items
    )
