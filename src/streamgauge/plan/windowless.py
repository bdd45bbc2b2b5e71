"""Queries without a window: what they read is said, not guessed.

In the language a stream without a window is all its rows, as in CQL. A query as a value reads the
latest value of each series where it has none. One that says neither is refused, so that the same
words never come to two numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from streamgauge.kernel.errors import BindError
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Registry


def stored_form(queries: Iterable[Query], registry: Registry) -> list[dict[str, Any]]:
    """The stored form of queries, or BindError where one does not say which rows it reads."""
    given = list(queries)
    for query in given:
        stream = registry.streams.get(query.stream)
        # A bound holds until the next of its series: the language reads the newest ones too.
        if unsaid(query) and (stream is None or stream.width is None):
            raise BindError(
                f"query {query.name!r} does not say which rows it reads",
                f"got no window and no series of {query.stream!r}, expected one of them",
                "write window=sg.Latest() for the latest value of each series, or "
                "window=sg.Unbounded() for all rows, as SQL reads a stream without a window",
            )
    return [query.as_dict() for query in given]


def unsaid(query: Query) -> bool:
    """Whether neither a window nor anything about series is given.

    Examples
    --------
    >>> from streamgauge.operators.aggregate import avg
    >>> from streamgauge.windows.window import Latest
    >>> unsaid(Query("heat", "plant", avg("value")))
    True
    >>> unsaid(Query("heat", "plant", avg("value"), window=Latest()))
    False
    >>> unsaid(Query("heat", "plant", avg("value"), series=("s1",)))
    False
    """
    if query.window is not None or query.parts or query.latest:
        return False
    of_series = (query.series, query.weights, query.members, query.over)
    said_so = query.group_by or query.regime or query.trend
    return all(each is None for each in of_series) and not said_so
