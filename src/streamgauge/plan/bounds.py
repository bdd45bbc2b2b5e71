"""Queries over the bounds of a stream: what can be asked of them, and what EXPLAIN says.

A stream with a width has a bound for each series: its true value lies within half of the width of
the value, until the next row. Aggregates of the newest bounds are bars that hold for sure.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from streamgauge.kernel.errors import BindError
from streamgauge.plan.members import check_named
from streamgauge.streams.stream import Stream

if TYPE_CHECKING:
    from streamgauge.plan.query import Query
    from streamgauge.plan.registry import Standing

ANSWERED = ("sum", "avg", "count", "min", "max")


def bounded(query: Query, stream: Stream) -> bool:
    """Whether a query is answered from the newest bounds of a stream.

    Examples
    --------
    >>> from streamgauge.operators.aggregate import avg
    >>> from streamgauge.plan.query import Query
    >>> from streamgauge.streams.schema import Schema
    >>> schema = Schema.of(host="string", ts="time", load="float", width="float")
    >>> hosts = Stream("hosts", schema, "ts", ("host",), (), width="width")
    >>> bounded(Query("load", "hosts", avg("load")), hosts)
    True
    """
    return stream.width is not None and query.window is None and not query.parts


def bind_bounds(query: Query, stream: Stream) -> None:
    """Check what a query asks of bounds; raise what a user can act on."""
    select = query.select
    of = select.x is None if select.name == "count" else False
    plain = select.y is None and select.weight is None and (of or select.x == stream.value)
    if select.name not in ANSWERED or not plain:
        raise BindError(
            f"bounds of stream {stream.name!r} do not tell {select}",
            f"query {query.name!r} asks {query}",
            f"ask {', '.join(ANSWERED)} of {stream.value!r}, or add a window and read the width",
        )
    if query.answer.kind == "close" or query.contract.tolerance == "rank":
        raise BindError(
            f"query {query.name!r} cannot be answered from bounds",
            f"it answers {query.answer} and is owed {query.owed}",
            "answer on change or every so often, within a width or a share of the value",
        )
    _refuse_deferral(query, stream)
    if query.over is not None:
        raise BindError(
            f"the {query.over.kind} over a window is not kept of bounds",
            f"query {query.name!r} asks {query}",
            "ask for the value itself: its answers tell how its ends moved",
        )
    _bind_choice(query, stream)


def _refuse_deferral(query: Query, stream: Stream) -> None:
    if query.regime or query.trend:
        asked = f"by {query.regime}" if query.regime else "with trend"
        raise BindError(
            f"query {query.name!r} is not deferred: stream {stream.name!r} has bounds",
            f"it asks to be brought up to date {asked}",
            "leave it out: an answer is given whenever a bound it rests on has changed",
        )


def _bind_choice(query: Query, stream: Stream) -> None:
    """Series are chosen by name, by a condition on their key, or by a table."""
    where = () if query.where is None else query.where.columns()
    computed = dict(query.derived)
    read = [computed[n].columns() if n in computed else (n,) for n in where]
    for name in [*(name for names in read for name in names), *query.group_by]:
        if name not in stream.key:
            raise BindError(
                f"bounds of stream {stream.name!r} are chosen and grouped by key",
                f"query {query.name!r} names {name!r}, the key is {', '.join(stream.key)}",
                "use columns of the key only; declare others as part of the key",
            )
    types = dict(stream.schema.columns)
    check_named(tuple(name for names in read for name in names), types, f"stream {stream.name!r}")
    check_named(query.group_by, types, f"stream {stream.name!r}")
    if query.where is not None:
        query.where.bind(stream.schema)
    if query.where is not None and (query.series is not None or query.members is not None):
        raise BindError(
            f"query {query.name!r} chooses its series twice",
            f"by {query.where} and by a list or a table",
            "leave one of them out",
        )
    unused = [name for name in computed if name not in where]
    if unused or (query.series is not None and query.group_by):
        raise BindError(
            f"query {query.name!r} cannot be answered from bounds",
            f"it computes {unused[0]}" if unused else "it lists series and groups them",
            "name the value itself, and choose series by a condition on the key",
        )


def columns_of(query: Query, stream: Stream) -> set[str]:
    """Columns of a stream that a query of numbers reads from its rows."""
    if query.parts:
        parts = [part for part in query.parts if part.stream == stream.name]
        return {name for part in parts for name in part.columns}
    select, computed = query.select, dict(query.derived)
    where = () if query.where is None else query.where.columns()
    named: Iterable[str | None] = (select.x, select.y, select.weight, *where, *query.group_by)
    found: set[str] = set()
    for name in named:
        if name is not None:
            found.update(computed[name].columns() if name in computed else (name,))
    return found


def refuse_bare_values(name: str, read: Iterable[str], stream: Stream) -> None:
    """Raise when rows of a stream are read for their values and not for their widths."""
    value, width = stream.value, stream.width
    if value is None or value not in (read := set(read)) or width in read:
        return
    raise BindError(
        f"{value!r} of stream {stream.name!r} is right to within {width!r} only",
        f"query {name!r} reads the values of rows without their widths",
        # A hint in English.
        f"ask an aggregate of the newest bounds by itself, without a window, and select from its "  # nosec B608
        f"answers; or read both, as in MAX({value} + {width} / 2)",
    )


def bounds_lines(standing: Standing, shared: str, place: str) -> list[tuple[str, str]]:
    """Steps between the answer and the scan, outermost first."""
    query = standing.query
    return [
        (f"Bound {query.select} of {_series(query)}", f"spends {_spends(query)}, {place}, {shared}")
    ]


def bounds_budget(query: Query) -> str:
    """What becomes of the error that is owed."""
    if query.contract.tolerance == "exact":
        return "kept back 0 of the error: sources send every change"
    if query.select.name == "count":
        return f"kept back {query.contract.within:g} of {query.contract.within:g}: counts are exact"
    return f"kept back 0 of {query.contract.within:g}: filters at the sources take all of it"


def _spends(query: Query) -> str:
    contract = query.contract
    if contract.tolerance == "exact" or query.select.name == "count":
        return "0"
    if contract.tolerance == "relative":
        owed = f"{100.0 * contract.within:g}% of the value"
    else:
        owed = f"{contract.within:g}"
    return f"filters at the sources, at most {owed} each side"


def _series(query: Query) -> str:
    if query.members is not None:
        return f"the series of {query.members}"
    by = f" by {', '.join(query.group_by)}" if query.group_by else ""
    if query.where is not None:
        return f"series where {query.where}{by}"
    if query.series is None:
        return f"all series{by}"
    return f"{len(query.series)}{' weighted' if query.weights else ''} series"
