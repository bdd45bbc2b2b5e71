"""Demand: what standing queries together ask of a source, as a period and a region of values.

`region_of` finds the values that may pass a condition, `demand_of` puts queries together. Queries
are looked at by their fields, since this folder stands below the one that defines them.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from streamgauge.filters.regions import ALL, NONE, Region, union
from streamgauge.kernel.time import SECOND
from streamgauge.operators.predicate import Predicate, Scalar

# Windows that choose rows by their time alone, so that a row which no condition lets through can
# be absent. In a window of rows it would take the place of another.
BY_TIME = ("now", "range", "landmark", "decay")

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class Wanted(NamedTuple):
    """What is asked of an object.

    Parameters
    ----------
    sample
        Seconds between readings that will do, at whole multiples; None: as many as there are.
    region
        Values that some query wants; nothing when no query reads the object.

    Examples
    --------
    >>> Wanted(10.0, Region.above(30.0)).pairs
    [(30.0, inf)]
    >>> Wanted(None, ALL).pairs is None
    True
    """

    sample: float | None
    region: Region

    @property
    def pairs(self) -> list[tuple[float, float]] | None:
        """The region as it travels to an agent; None: all values."""
        return None if self.region == ALL else list(self.region.intervals)


def demand_of(
    queries: Iterable[Any],
    column: str,
    *,
    known: Mapping[str, Scalar | None] | None = None,
    windows: Mapping[str, Any] | None = None,
) -> Wanted:
    """What the standing queries that read an object ask of it together.

    Readings may be as rare as the answers when every query answers of latest values at whole
    multiples of a period. Values may be left out when every query reads a window of time and lets
    only some values through. What is not understood asks for everything.

    Parameters
    ----------
    queries
        Those that read the object and are not paused.
    column
        The value column.
    known
        Columns that are the same in all rows of the object: its key.
    windows
        Windows that queries name instead of holding them.

    Examples
    --------
    >>> from types import SimpleNamespace as Asked
    >>> from streamgauge.operators.predicate import col
    >>> every = Asked(kind="every", period=10 * SECOND)
    >>> heat = Asked(window=None, where=None, answer=every)
    >>> demand_of([heat], "value").sample
    10.0
    >>> hot = Asked(window=Asked(kind="range"), where=col("value") > 30, answer=every)
    >>> demand = demand_of([hot], "value")
    >>> demand.sample, str(demand.region)
    (None, '> 30')
    >>> print(demand_of([heat, hot], "value").region)
    everything
    """
    asked = list(queries)
    if not asked:
        return Wanted(None, NONE)
    periods = [_period(query) for query in asked]
    region = union(_region(query, column, known or {}, windows or {}) for query in asked)
    if None in periods:
        return Wanted(None, region)
    return Wanted(math.gcd(*(period for period in periods if period)) / SECOND, region)


def _period(query: Any) -> int | None:
    """Time between readings that a query can do with, None if it wants all."""
    latest = getattr(query, "window", "") is None
    if not latest or getattr(query, "over", None) or getattr(query, "parts", None):
        return None
    return query.answer.period if query.answer.kind == "every" else None


def _region(
    query: Any, column: str, known: Mapping[str, Scalar | None], windows: Mapping[str, Any]
) -> Region:
    """Values that can make a difference to a query."""
    window = getattr(query, "window", None)
    window = windows.get(window) if isinstance(window, str) else window
    if window is None or window.kind not in BY_TIME or getattr(query, "parts", None):
        return ALL
    return region_of(query.where, column, known)


def region_of(
    predicate: Predicate | None, column: str, known: Mapping[str, Scalar | None] | None = None
) -> Region:
    """Values of a column with which a condition may hold.

    Exact if the condition reads this column and `known` ones only; with others, values that pass
    for some of theirs.

    Examples
    --------
    >>> from streamgauge.operators.predicate import col
    >>> print(region_of(col("value").between(5, 8) | (col("value") > 30), "value"))
    5 .. 8 or > 30
    >>> where = (col("host") == "a") & (col("value") < 0)
    >>> for host in ("a", "b"):
    ...     print(host, region_of(where, "value", {"host": host}))
    a < 0
    b nothing
    """
    return ALL if predicate is None else _true_and_false(predicate, column, known or {})[0]


def _true_and_false(
    predicate: Predicate, column: str, known: Mapping[str, Scalar | None]
) -> tuple[Region, Region]:
    """Values with which a condition may be true, and those with which it may be false."""
    if predicate.op == "not":
        true, false = _true_and_false(predicate.parts[0], column, known)
        return false, true
    if predicate.parts:
        (one, not_one), (two, not_two) = (
            _true_and_false(part, column, known) for part in predicate.parts
        )
        if predicate.op == "and":
            return one & two, not_one | not_two
        return one | two, not_one & not_two
    if predicate.column == column:
        region = _passing(predicate)
        return (ALL, ALL) if region is None else (region, ~region)
    if predicate.column in known:
        return _settled(predicate, known[predicate.column])
    return ALL, ALL


def _passing(predicate: Predicate) -> Region | None:
    """Numbers that a comparison lets through; None if it is not one of numbers."""
    if predicate.op == "is null":
        return NONE
    try:
        values = [float(value) for value in predicate.values if not isinstance(value, str)]
    except OverflowError:
        return None
    if len(values) < len(predicate.values):
        return None
    if predicate.op == "in":
        return Region.of(*values)
    (value,) = values
    if math.isnan(value):
        return ALL if predicate.op == "!=" else NONE
    if predicate.op in ("=", "!="):
        return Region.of(value) if predicate.op == "=" else ~Region.of(value)
    strictly = predicate.op in ("<", ">")
    if predicate.op in ("<", "<="):
        return Region.below(value, strictly=strictly)
    return Region.above(value, strictly=strictly)


def _settled(predicate: Predicate, value: Scalar | None) -> tuple[Region, Region]:
    """A comparison whose outcome is known before there is a reading."""
    if predicate.op == "is null":
        holds = value is None
    elif value is None:
        return NONE, NONE
    elif predicate.op == "in":
        holds = value in predicate.values
    else:
        other = predicate.values[0]
        if isinstance(value, str) != isinstance(other, str):
            return ALL, ALL
        holds = _COMPARE[predicate.op](value, other)
    return (ALL, NONE) if holds else (NONE, ALL)
