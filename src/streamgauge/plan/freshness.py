"""Freshness: how far the newest answer may lie behind the newest row, and who spends it.

All of it is event time. A tick closes when a row beyond it has come and late rows were waited for;
a query that answers every so often, or when its window moves, lets more time pass.
"""

from __future__ import annotations

from collections.abc import Iterable

from streamgauge.kernel.errors import ContractUnsatisfiable
from streamgauge.kernel.time import Duration, duration_text
from streamgauge.plan.nodes import Windowed
from streamgauge.plan.query import Query
from streamgauge.plan.view import View
from streamgauge.streams.stream import Stream
from streamgauge.windows.window import Window

Spent = tuple[tuple[str, Duration], ...]


def spent_on(asked: Query | View, streams: Iterable[Stream], windows: dict[str, Window]) -> Spent:
    """What passes at most between the newest row and the instant of the newest answer.

    >>> from streamgauge.operators.aggregate import avg
    >>> from streamgauge.plan.query import every
    >>> from streamgauge.streams.schema import Schema
    >>> plant = Stream("plant", Schema.of(ts="time", v="float"), "ts", (), ())
    >>> query = Query("heat", "plant", avg("v"), window=Window("now"), answer=every("1 minute"))
    >>> spent_on(query, [plant], {})
    (('tick', 1000000), ('cadence', 60000000))
    """
    read = list(streams)
    moves = [window.slide or 0 for window in _windows(asked, windows)]
    step = max([asked.answer.period, *moves])
    parts = (
        ("late rows waited for", max(stream.late.allowed for stream in read)),
        ("tick", max(stream.tick for stream in read)),
        ("cadence" if step == asked.answer.period else "slide", step),
    )
    return tuple((who, width) for who, width in parts if width)


def check_freshness(
    asked: Query | View, streams: Iterable[Stream], windows: dict[str, Window]
) -> None:
    """Raise when answers can be older than is owed."""
    owed = asked.contract.freshness
    if owed is None:
        return
    parts = spent_on(asked, streams, windows)
    total = sum(width for _, width in parts)
    if total <= owed:
        return
    most = max(parts, key=lambda part: part[1])[0]
    raise ContractUnsatisfiable(
        f"answers of {asked.name!r} cannot be as fresh as {duration_text(owed)}",
        ", ".join(f"{who} takes {duration_text(width)}" for who, width in parts),
        f"FRESH {duration_text(total)} can be held; {most} takes most, make it smaller",
    )


def told(asked: Query | View, streams: Iterable[Stream], windows: dict[str, Window]) -> str:
    """The line of EXPLAIN about freshness; empty when nothing is owed."""
    owed = asked.contract.freshness
    if owed is None:
        return ""
    parts = spent_on(asked, streams, windows)
    total = sum(width for _, width in parts)
    spent = " + ".join(f"{who} {duration_text(width)}" for who, width in parts)
    return f"fresh within {duration_text(total)} of {duration_text(owed)}: {spent}"


def _windows(asked: Query | View, windows: dict[str, Window]) -> list[Window]:
    if isinstance(asked, View):
        return [node.window for node in asked.plan.walk() if isinstance(node, Windowed)]
    if asked.parts:
        return [part.window for part in asked.parts]
    return [] if asked.window is None else [asked.resolve(windows)]
