"""What keeps a query from being worked on by promise, and what to write instead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from streamgauge.kernel.errors import (
    BindError,
    ContractUnsatisfiable,
    QueryNotFound,
    UnsupportedWindow,
)
from streamgauge.kernel.time import duration_text
from streamgauge.plan.promising import column_of, join_plan, selection_plan
from streamgauge.plan.query import Query
from streamgauge.plan.view import View
from streamgauge.promise.promise import Promise
from streamgauge.promise.summary import Summary
from streamgauge.streams.stream import Stream
from streamgauge.windows.window import Window

AGGREGATES = ("count", "sum", "avg", "quantile")
SHAPES = "a preference is for a join of streams, a selection or an aggregate of one stream"
# Granularities that a hint may propose.
DEEPEST = 24


@dataclass(frozen=True, slots=True)
class Source:
    """A stream of a promising query: its name there, its window, and the summarised column."""

    alias: str
    stream: str
    window: Window | None
    column: str


def check_promise(
    asked: Query | View,
    streams: Mapping[str, Stream],
    summaries: Mapping[str, Summary],
    windows: dict[str, Window],
) -> None:
    """Raise unless a query can be worked on by promise, with the summaries it names."""
    promise = asked.promise
    if promise is None:
        return
    named = dict(promise.summaries)
    for source in sources_of(asked, promise, windows):
        refuse_stream(streams[source.stream])
        name = named.get(source.alias, "")
        if name not in summaries:
            raise QueryNotFound(
                f"no summary named {name!r}",
                f"there are {', '.join(sorted(summaries)) or 'none'}",
                f"create one ON {source.stream}({source.column}) first",
            )
        _check_summary(summaries[name], source)


def sources_of(
    asked: Query | View, promise: Promise, windows: dict[str, Window]
) -> tuple[Source, ...]:
    """The streams of a promising query; raises when it has another shape."""
    if isinstance(asked, Query):
        return (_source_of(asked, promise, windows),)
    if asked.mode == "store":
        raise BindError(
            "a promising query tells what came and went, also what it has not seen",
            f"query {asked.name!r} has EMIT STORE, which keeps the current rows only",
            "leave EMIT STORE out",
        )
    join = join_plan(asked)
    if join is not None:
        return tuple(
            Source(side.alias, side.stream, side.window, side.key.columns()[0])
            for side in join.sides
        )
    selection = selection_plan(asked)
    if selection is None:
        raise not_promising(asked.name, "it is another kind of query")
    column = column_of(promise)
    return (Source(selection.stream, selection.stream, selection.window, column),)


def not_promising(name: str, why: str) -> BindError:
    """The error about a query of another shape."""
    return BindError(
        SHAPES,
        f"query {name!r}: {why}",
        "write SELECT ... FROM a [RANGE 1 MINUTE], b [RANGE 1 MINUTE] WHERE a.k = b.k, "
        "SELECT ... FROM s WHERE ..., or SELECT SUM(x) FROM s [RANGE 1 MINUTE]",
    )


def _source_of(query: Query, promise: Promise, windows: dict[str, Window]) -> Source:
    """The one stream of an aggregate."""
    window = None if query.window is None else query.resolve(windows)
    if window is None or window.kind != "range":
        raise UnsupportedWindow(
            "a promising aggregate is of a window of time",
            f"query {query.name!r} of {query.stream} has {window or 'no window'}",
            "write [RANGE 1 MINUTE] after the stream",
        )
    refuse_aggregate(query)
    if query.memory is not None:
        raise ContractUnsatisfiable(
            "promising rows are looked at in their window, which no budget of memory bounds",
            f"query {query.name!r} has BUDGET MEMORY {query.memory:,}",
            "leave BUDGET MEMORY out; BUDGET PROBES and CPU bound the work",
        )
    return Source(query.stream, query.stream, window, column_of(promise))


def refuse_aggregate(query: Query) -> None:
    """Raise unless an aggregate can be estimated from the rows that were looked at."""
    select = query.select
    if query.group_by:
        raise BindError(
            "a promising aggregate has no groups",
            f"query {query.name!r} groups by {', '.join(query.group_by)}",
            "leave GROUP BY out; FOR EACH makes one query for each value",
        )
    plain = select.name in AGGREGATES and select.weight is None and select.y is None
    if not plain or query.parts or query.over is not None:
        raise BindError(
            f"{select} cannot be estimated from the most promising rows",
            f"query {query.name!r}; COUNT, SUM, AVG, MEDIAN and QUANTILE of a column can",
            "leave the preference and the budget out, or ask for one of those",
        )


def refuse_stream(stream: Stream) -> None:
    """Raise when the rows of a stream are more than rows that come once."""
    reasons = {
        f"it takes rows back in column {stream.changes!r}": stream.changes is not None,
        f"its rows are bounds, as wide as column {stream.width!r}": stream.width is not None,
        "its late rows revise what was given": stream.late.policy == "revise",
    }
    why = next((reason for reason, there in reasons.items() if there), None)
    if why is not None:
        raise BindError(
            f"the rows of stream {stream.name!r} cannot be chosen by their promise",
            why,
            "leave the preference and the budget out, or read a stream whose rows come once",
        )


def _check_summary(summary: Summary, source: Source) -> None:
    if (summary.stream, summary.column) != (source.stream, source.column):
        raise BindError(
            f"summary {summary.name!r} is of {summary.stream}({summary.column})",
            f"{source.alias!r} is judged by {source.stream}({source.column})",
            f"create a summary ON {source.stream}({source.column})",
        )
    window = source.window
    if window is None or window.unbounded or window.length <= summary.span:
        return
    raise BindError(
        f"summary {summary.name!r} does not reach back over the window",
        f"[{window}] of stream {source.stream!r}, and it reaches {duration_text(summary.span)}",
        f"{_reaching(summary, window.length)}; or write [RANGE {duration_text(summary.span)}]",
    )


def _reaching(summary: Summary, length: int) -> str:
    """The smallest change of a summary with which it reaches back far enough."""
    for depth in range(summary.depth + 1, DEEPEST + 1):
        longer = replace(summary, depth=depth)
        if longer.span >= length:
            reach = duration_text(longer.span)
            return f"create it with COLLAPSE({summary.rate}, {depth}), which reaches {reach}"
    width = -(-length // summary.depth)
    return f"create it with GRANULARITY {duration_text(width)}"
