"""Queries, windows and conditions as a project file writes them."""

from __future__ import annotations

import re
from datetime import date, datetime, time
from typing import Any

from streamgauge.cli.table import Table, unknown
from streamgauge.kernel.errors import BindError
from streamgauge.operators.aggregate import CODES, Aggregate
from streamgauge.operators.predicate import Predicate, Scalar, col
from streamgauge.plan.query import Cadence, Query, every, on_change, on_close
from streamgauge.windows.window import Landmark, Now, Partition, Range, Rows, Window

QUERY_KEYS = (
    "name", "stream", "select", "series", "weights", "window", "where", "group_by",
    "every", "on_change", "on_close", "history",
)  # fmt: skip
WINDOW_KEYS = ("range", "slide", "rows", "partition", "landmark", "now")
CADENCES = ("every", "on_change", "on_close")
COMPARISONS = ("=", "==", "!=", "<>", "<", "<=", ">", ">=")
OTHER_TESTS = ("in", "not in", "between", "is null", "is not null")
# The names that the Python functions have, where SQL's are taken.
ALIASES = {"total": "sum", "minimum": "min", "maximum": "max"}

_CALL = re.compile(r"\s*([A-Za-z_]\w*)\s*\(\s*(.*?)\s*\)\s*")
_WEIGHTED = re.compile(r"\s+weighted\s+by\s+", re.IGNORECASE)


def query_of(data: Any, place: str) -> Query:
    """A query from its table.

    >>> print(query_of({"name": "heat", "stream": "plant", "select": "avg(value)",
    ...                 "window": {"range": "5 min"}, "every": "1 min"}, "queries[0]"))
    avg(value) from plant [range 5 min], every 1 min, exact
    """
    table = Table(data, place, QUERY_KEYS)
    name = table.need("name")
    table.place = f"query {name!r}"
    history = table.flag("history")
    return Query(
        name=name,
        stream=table.need("stream"),
        select=aggregate_of(table.need("select"), table.place),
        series=table.texts("series"),
        weights=table.numbers("weights"),
        window=_window_or_name(table),
        where=predicate_of(table.data["where"], table.place) if "where" in table else None,
        group_by=table.texts("group_by") or (),
        answer=cadence_of(table),
        history=True if history is None else history,
    )


def aggregate_of(text: str, place: str) -> Aggregate:
    """An aggregate from its text.

    >>> print(aggregate_of("avg(price weighted by volume)", "here"), aggregate_of("count(*)", ""))
    avg(price weighted by volume) count(*)
    """
    call = _CALL.fullmatch(text)
    if call is None:
        raise BindError(
            f"cannot read select = {text!r} in {place}",
            "it is not of the form name(column)",
            "write avg(value), count(*), corr(x, y) or avg(price weighted by volume)",
        )
    name = ALIASES.get(call[1].lower(), call[1].lower())
    if name not in CODES:
        raise unknown("aggregate", call[1], list(CODES), place)
    inside, *weight = _WEIGHTED.split(call[2])
    columns = [part.strip() for part in inside.split(",")] if inside not in ("", "*") else []
    if len(columns) > 2 or len(weight) > 1 or "" in columns:
        raise BindError(
            f"cannot read select = {text!r} in {place}",
            f"{len(columns)} columns, {len(weight)} weights",
            "avg takes one column and at most one weight, covar and corr take two columns",
        )
    x, y = [*columns, None, None][:2]
    return Aggregate(name, x, y, weight[0] if weight else None)


def window_of(data: Any, place: str) -> Window:
    """A window from its table.

    >>> print(window_of({"partition": ["symbol"], "rows": 10}, "windows.recent"))
    partition by symbol rows 10
    """
    table = Table(data, place, WINDOW_KEYS)
    kinds = [kind for kind in ("range", "partition", "landmark", "now") if kind in table]
    kinds += ["rows"] if "rows" in table and "partition" not in table else []
    if len(kinds) != 1 or ("slide" in table and kinds != ["range"]):
        raise BindError(
            f"{place} must be one window",
            f"it has {', '.join(table.data) or 'nothing'}",
            'write {range = "5 minutes", slide = "1 minute"}, {rows = 100}, '
            '{partition = ["symbol"], rows = 10}, {landmark = "2026-01-01"} or {now = true}',
        )
    if kinds == ["now"]:
        if table.flag("now") is not True:
            raise table.wrong("now", "true")
        return Now()
    if kinds == ["landmark"]:
        return Landmark(_start(table))
    if kinds == ["range"]:
        length = table.duration("range")
        assert length is not None, "the key was just seen"
        return Range(length, table.duration("slide"))
    rows = table.whole("rows")
    if rows is None:
        raise table.wrong("rows", "a whole number of rows")
    return Rows(rows) if kinds == ["rows"] else Partition(table.texts("partition") or (), rows)


def _start(table: Table) -> str | datetime:
    found = table.data["landmark"]
    if isinstance(found, datetime | str):
        return found
    if isinstance(found, date):
        return datetime.combine(found, time())
    raise table.wrong("landmark", 'an instant, such as "2026-01-01T00:00:00Z"')


def _window_or_name(table: Table) -> Window | str | None:
    found = table.data.get("window")
    if found is None or isinstance(found, str):
        return found
    return window_of(found, f"window of {table.place}")


def cadence_of(table: Table) -> Cadence:
    """When a query answers; on change unless it says otherwise."""
    said = [key for key in CADENCES if key in table and table.data[key] is not False]
    if len(said) > 1:
        raise BindError(
            f"{table.place} has more than one cadence",
            f"it has {' and '.join(said)}",
            "keep one of every, on_change and on_close",
        )
    if said == ["every"]:
        period = table.duration("every")
        assert period is not None, "the key was just seen"
        return every(period)
    if said == ["on_close"]:
        if table.flag("on_close") is not True:
            raise table.wrong("on_close", "true")
        return on_close()
    if said == ["on_change"] and table.data["on_change"] is not True:
        return on_change(table.number("on_change") or 0.0)
    return on_change()


def predicate_of(data: Any, place: str) -> Predicate:
    """A condition: [column, test, value], a list of them, or a table of any, all or not.

    >>> print(predicate_of([["value", ">", 10], {"not": ["kind", "in", ["temp", "flow"]]}], ""))
    (value > 10) and (not (kind in ('temp', 'flow')))
    """
    if isinstance(data, list) and data and isinstance(data[0], str):
        return _condition(data, place)
    if isinstance(data, list) and data:
        return _joined(data, "all", place)
    table = Table(data if data != [] else None, f"where of {place}", ("any", "all", "not"))
    if len(table.data) != 1:
        raise BindError(
            f"{table.place} must have one of any, all and not",
            f"it has {', '.join(table.data) or 'nothing'}",
            'write {any = [["kind", "=", "temp"], ["value", ">", 10]]}',
        )
    ((word, inside),) = table.data.items()
    if word == "not":
        return ~predicate_of(inside, place)
    return _joined(inside, word, place)


def _joined(items: Any, word: str, place: str) -> Predicate:
    if not isinstance(items, list) or not items:
        raise BindError(
            f"{word!r} in where of {place} must be a list of conditions",
            f"got {items!r}",
            'write [["kind", "=", "temp"], ["value", ">", 10]]',
        )
    joined, *rest = [predicate_of(item, place) for item in items]
    for part in rest:
        joined = joined & part if word == "all" else joined | part
    return joined


def _condition(data: list[Any], place: str) -> Predicate:
    test = str(data[1]).lower() if len(data) > 1 else ""
    if test not in COMPARISONS + OTHER_TESTS:
        raise unknown("test", test, [*COMPARISONS, *OTHER_TESTS], f"where of {place}: {data!r}")
    column, values = col(data[0]), data[2:]
    if test in ("is null", "is not null") and not values:
        return column.is_null() if test == "is null" else ~column.is_null()
    if test in ("in", "not in") and len(values) == 1 and _scalars(values[0]):
        return column.isin(*values[0]) if test == "in" else ~column.isin(*values[0])
    if test == "between" and len(values) == 1 and _scalars(values[0]) and len(values[0]) == 2:
        return column.between(*values[0])
    if test in COMPARISONS and _scalars(values) and len(values) == 1:
        return Predicate({"==": "=", "<>": "!="}.get(test, test), data[0], (values[0],))
    raise BindError(
        f"cannot read the condition {data!r} in {place}",
        f"{test!r} does not go with {values!r}",
        'write ["value", ">", 10], ["kind", "in", ["temp"]], ["value", "between", [1, 2]] '
        'or ["value", "is null"]',
    )


def _scalars(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, Scalar) for value in values)
