"""Latest values: which of their queries are deferred, and what keeps a query from being asked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from streamgauge.kernel.errors import BindError
from streamgauge.plan.bounds import bind_bounds, bounded
from streamgauge.plan.members import check_named
from streamgauge.streams.stream import Stream
from streamgauge.streams.table import Table

if TYPE_CHECKING:
    from streamgauge.plan.query import Query

LINEAR = ("sum", "avg")
DEFERRED = (*LINEAR, "count", "min", "max")
REGIMES = ("timer", "watch")


def deferred(query: Query) -> bool:
    """Whether a query over latest values is brought up to date only when a model says so.

    Examples
    --------
    >>> from streamgauge.contracts.contract import Contract
    >>> from streamgauge.operators.aggregate import avg
    >>> from streamgauge.plan.query import Query
    >>> owed = Contract.absolute(0.5, confidence=0.9)
    >>> deferred(Query("heat", "plant", avg("value"), contract=owed))
    True
    >>> deferred(Query("heat", "plant", avg("value")))
    False
    """
    if query.window is not None or query.parts or query.where is not None or query.derived:
        return False
    select, contract = query.select, query.contract
    if select.name not in DEFERRED or select.y is not None or select.weight is not None:
        return False
    if query.answer.kind != "change" or query.answer.by or contract.tolerance == "rank":
        return False
    return _of_cells(query) or (contract.tolerance != "exact" and contract.confidence < 1.0)


def _of_cells(query: Query) -> bool:
    """Whether a query asks what only deferred evaluation answers, under any contract."""
    return query.over is not None or query.members is not None or bool(query.group_by)


def refuse_latest_terms(query: Query) -> None:
    """Raise when a query over a window asks what only latest values give."""
    given = {
        "over": query.over is not None,
        "members": query.members is not None,
        "regime": bool(query.regime),
        "trend": query.trend,
    }
    wrong = next((name for name, there in given.items() if there), None)
    if wrong is not None:
        raise BindError(
            f"{wrong} is for queries over latest values",
            f"query {query.name!r} asks {query}",
            "leave the window out: latest values are [PARTITION BY key ROWS 1] of a stream",
        )


def bind_latest(query: Query, stream: Stream, tables: Mapping[str, Table]) -> None:
    """Check a query over latest values; raise what a user can act on."""
    if bounded(query, stream):
        bind_bounds(query, stream)
        _bind_series(query)
        if query.members is not None:
            _bind_members(query, stream, tables)
        return
    if query.where is not None or query.answer.kind == "close":
        raise BindError(
            f"query {query.name!r} has a filter or 'on close' but no window",
            "latest values are chosen by series, not by rows",
            "add window=Range('1 minute'), or leave where and on_close out",
        )
    if not stream.key:
        raise BindError(
            f"stream {stream.name!r} has no key, so it has no series",
            f"query {query.name!r} asks for latest values",
            "declare key='...' on the stream, or add a window to the query",
        )
    if query.select.weight is not None:
        raise BindError(
            "a weight column needs a window",
            f"query {query.name!r} asks {query.select} of latest values",
            "give weights=(...) with series=(...), or add a window",
        )
    _bind_series(query)
    _bind_cells(query, stream, tables)
    _bind_regime(query)


def _bind_series(query: Query) -> None:
    if query.weights is not None:
        n_series = len(query.series or ())
        if len(query.weights) != n_series or query.select.name not in LINEAR:
            raise BindError(
                "weights must match the series of a sum or an avg",
                f"{len(query.weights)} weights, {n_series} series, {query.select}",
                "give one weight per series",
            )
    if query.weights and query.select.name == "avg" and math.fsum(query.weights) == 0.0:
        raise BindError(
            "weights of an avg that add up to nothing",
            f"query {query.name!r} has {len(query.weights)} weights whose sum is 0",
            "ask the sum: weights such as 1 and -1 give the difference",
        )
    wrong = next((name for name in query.series or () if not isinstance(name, str)), None)
    if wrong is not None:
        raise BindError(
            f"query {query.name!r} names a series that is no text",
            f"got {wrong!r}",
            "a series of one key column is its value as text; choose by more columns with where=",
        )
    if query.series is not None and len(set(query.series)) < len(query.series):
        twice = next(name for name in query.series if query.series.count(name) > 1)
        raise BindError(
            f"query {query.name!r} names series {twice!r} twice",
            f"{len(query.series)} names, {len(set(query.series))} series",
            "name it once; weights=(...) make it count for more",
        )
    if query.series is not None and not query.series:
        raise BindError(
            f"query {query.name!r} names no series", "series=() is empty", "name at least one"
        )


def _bind_cells(query: Query, stream: Stream, tables: Mapping[str, Table]) -> None:
    """Extremes, families and groups of latest values are answered by deferred evaluation alone."""
    if query.over is not None:
        query.over.window.bind(stream.tick)
        if query.select.name not in LINEAR:
            raise BindError(
                f"the {query.over.kind} over a window is of a sum or an avg of latest values",
                f"query {query.name!r} asks {query.select}",
                f"ask {query.select} over the window itself: window={query.over.window}",
            )
    if query.members is not None:
        _bind_members(query, stream, tables)
    if query.group_by:
        types = {name: stream.schema.type(name) for name in query.group_by}
        check_named(query.group_by, types, f"stream {stream.name!r}")
    if _of_cells(query) and not deferred(query):
        raise BindError(
            f"query {query.name!r} has groups, members or an extreme but no window",
            f"it asks {query.select}, answers {query.answer} and is owed {query.owed}",
            f"ask {', '.join(DEFERRED)} of one column, on change and not in rank; or add a window",
        )


def _bind_members(query: Query, stream: Stream, tables: Mapping[str, Table]) -> None:
    assert query.members is not None
    if query.series is not None or query.weights is not None or query.group_by:
        raise BindError(
            f"query {query.name!r} has members and names series or groups besides",
            f"members are {query.members}",
            "the table says which series, weights and groups there are: leave the others out",
        )
    query.members.bind(stream, tables)
    if query.members.weight is not None and query.select.name not in LINEAR:
        raise BindError(
            f"{query.select.name} takes no weight",
            f"members are {query.members}",
            "weights go with sum and avg",
        )


def _bind_regime(query: Query) -> None:
    if query.regime not in ("", *REGIMES):
        raise BindError(
            f"unknown regime {query.regime!r}",
            f"regimes are {', '.join(REGIMES)}",
            "leave it out and the cheaper one is taken",
        )
    if query.regime and not deferred(query):
        raise BindError(
            f"query {query.name!r} is not deferred, so it has no regime",
            f"it asks {query.select}, answers {query.answer} and is owed {query.owed}",
            "write WITHIN 0.5 CONFIDENCE 0.9, or leave the regime out",
        )
    if query.regime == "timer" and query.contract.confidence == 1.0:
        raise BindError(
            "a timer lets values pass unseen, which an answer that is always right does not",
            f"query {query.name!r} is owed {query.owed}",
            "write WITHIN 0.5 CONFIDENCE 0.9, or BY WATCH",
        )
    linear = query.select.name in LINEAR and query.over is None
    if query.trend and not (linear and deferred(query)):
        raise BindError(
            f"query {query.name!r} has no trend to carry on",
            f"it asks {query}",
            "a trend is of a sum or an avg of latest values, WITHIN 0.5 CONFIDENCE 0.9",
        )
