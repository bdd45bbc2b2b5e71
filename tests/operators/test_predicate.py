"""Conditions in Python: what Python would decide alone is refused, never dropped."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from streamgauge.kernel.errors import BindError
from streamgauge.operators.aggregate import avg
from streamgauge.operators.predicate import col
from streamgauge.plan.query import Query

K, V = col("k"), col("v")
DROPPED: dict[str, Callable[[], object]] = {
    "and": lambda: (K == "a") and (V > 3),
    "or": lambda: (K == "a") or (V > 3),
    "not": lambda: not (K == "a"),  # noqa: SIM201
    "column in list": lambda: K in ("a", "b"),
    "column not in list": lambda: K not in ["a", "b"],
    "chained": lambda: 3 < V < 10,
    "chained equal": lambda: 3 == V == 3,
    "if": lambda: 1 if K == "a" else 2,
    "not column": lambda: not K,
    "column and": lambda: K and (V > 3),
    "all": lambda: all([K == "a", V > 3]),
    "any": lambda: any([K == "a", V > 3]),
    "value in column": lambda: "a" in K,
    "value in condition": lambda: "a" in (K == "a"),
    "iterate column": lambda: list(K),  # type: ignore[call-overload]
    "iterate condition": lambda: [*(K == "a")],  # type: ignore[misc]
    "max": lambda: max(V, col("w")),  # type: ignore[type-var]
    "no parentheses": lambda: K == "a" & (V > 3),  # type: ignore[operator]  # noqa: SIM300
    "column & condition": lambda: K & (V > 3),
    "condition | column": lambda: (V > 3) | K,  # type: ignore[operator]
    "condition & True": lambda: (V > 3) & True,  # type: ignore[operator]
    "~ column": lambda: ~K,
}


@pytest.mark.parametrize("written", DROPPED)
def test_what_python_would_drop_is_refused(written: str) -> None:
    with pytest.raises(BindError) as caught:
        DROPPED[written]()
    assert caught.value.detail
    assert "col(" in str(caught.value.hint)


@pytest.mark.parametrize("where", [True, False, "v > 3", (V > 3,)])
def test_a_filter_that_is_no_condition_is_refused(where: object) -> None:
    with pytest.raises(BindError, match="is not a condition"):
        Query("q", "s", avg("v"), where=where)  # type: ignore[arg-type]


def test_a_column_as_a_filter_is_refused() -> None:
    with pytest.raises(BindError, match="is not a condition"):
        Query("q", "s", avg("v"), where=K)  # type: ignore[arg-type]


def test_a_query_with_a_filter_is_shown_and_stored() -> None:
    query = Query("q", "s", avg("v"), where=(K == "a") & V.between(3, 10))
    assert "where" in query._repr_html_()
    assert str(query).count("(k = 'a') and") == 1
    assert Query.from_dict(query.as_dict()) == query
