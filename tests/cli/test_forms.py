"""Queries, windows and conditions as a project file writes them."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest

import streamgauge as sg
from streamgauge.cli.forms import aggregate_of, predicate_of, query_of, window_of
from streamgauge.kernel.errors import BindError, StreamgaugeError, UnsupportedWindow

pytestmark = pytest.mark.slow

ASK = {"name": "q", "stream": "s", "select": "avg(x)"}


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("avg(x)", sg.avg("x")),
        ("COUNT(*)", sg.count()),
        ("count()", sg.count()),
        ("count(x)", sg.count("x")),
        (" sum ( x ) ", sg.total("x")),
        ("total(x)", sg.total("x")),
        ("minimum(x)", sg.minimum("x")),
        ("max(x)", sg.maximum("x")),
        ("corr(x, y)", sg.corr("x", "y")),
        ("avg(price weighted by volume)", sg.avg("price", weight="volume")),
    ],
)
def test_aggregates(text: str, meant: object) -> None:
    assert aggregate_of(text, "here") == meant


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("avg", "not of the form"),
        ("avg(x) + 1", "not of the form"),
        ("avrg(x)", "did you mean 'avg'"),
        ("corr(x, y, z)", "3 columns"),
        ("avg(x,)", "cannot read"),
        ("avg(x weighted by y weighted by z)", "2 weights"),
    ],
)
def test_aggregates_that_cannot_be_read(text: str, said: str) -> None:
    with pytest.raises(BindError) as caught:
        aggregate_of(text, "here")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("data", "meant"),
    [
        ({"range": "5 minutes", "slide": "1 minute"}, sg.Range("5 minutes", "1 minute")),
        ({"range": 30}, sg.Range("30 s")),
        ({"rows": 100}, sg.Rows(100)),
        ({"partition": ["symbol"], "rows": 10}, sg.Partition(["symbol"], 10)),
        ({"partition": "symbol", "rows": 10}, sg.Partition("symbol", 10)),
        ({"landmark": "2026-01-01"}, sg.Landmark("2026-01-01")),
        ({"landmark": date(2026, 1, 1)}, sg.Landmark("2026-01-01")),
        ({"landmark": datetime(2026, 1, 1, tzinfo=UTC)}, sg.Landmark("2026-01-01")),
        ({"now": True}, sg.Now()),
    ],
)
def test_windows(data: dict[str, Any], meant: sg.Window) -> None:
    assert window_of(data, "here") == meant


@pytest.mark.parametrize(
    "data",
    [
        {},
        3,
        {"rang": "5 s"},
        {"range": "5 s", "rows": 3},
        {"rows": 3, "slide": "1 s"},
        {"slide": "1 s"},
        {"partition": ["a"]},
        {"now": False},
        {"now": 1},
        {"landmark": 5},
        {"rows": True},
        {"range": ["5 s"]},
    ],
)
def test_windows_that_cannot_be_read(data: Any) -> None:
    with pytest.raises(BindError):
        window_of(data, "here")


def test_a_negative_slide_keeps_its_own_error() -> None:
    with pytest.raises(UnsupportedWindow):
        window_of({"range": "5 s", "slide": 0}, "here")


X, KIND = sg.col("x"), sg.col("kind")


@pytest.mark.parametrize(
    ("data", "meant"),
    [
        (["x", ">", 1], X > 1),
        ([["x", ">", 1]], X > 1),
        ([["x", ">=", 1], ["kind", "==", "a"]], (X >= 1) & (KIND == "a")),
        ([["x", "<>", 1], ["x", "<", 2], ["x", "<=", 3]], (X != 1) & (X < 2) & (X <= 3)),
        ({"any": [["x", "=", 1], ["x", "!=", 2]]}, (X == 1) | (X != 2)),
        ({"not": ["x", "=", 1]}, ~(X == 1)),
        ({"all": [["x", "=", 1]]}, X == 1),
        ([{"not": {"any": [["x", "=", 1], ["x", "=", 2]]}}], ~((X == 1) | (X == 2))),
        (["kind", "in", ["a", "b"]], KIND.isin("a", "b")),
        (["kind", "not in", ["a"]], ~KIND.isin("a")),
        (["x", "between", [1, 2]], X.between(1, 2)),
        (["x", "is null"], X.is_null()),
        (["x", "IS NOT NULL"], ~X.is_null()),
    ],
)
def test_conditions(data: Any, meant: object) -> None:
    assert predicate_of(data, "here") == meant


@pytest.mark.parametrize(
    "data",
    [
        [],
        {},
        3,
        "x > 1",
        ["x"],
        ["x", ">"],
        ["x", ">", [1]],
        ["x", "~", 1],
        ["x", "in", 3],
        ["x", "between", [1]],
        ["x", "is null", 3],
        {"any": []},
        {"any": [["x", "=", 1]], "all": []},
        {"some": []},
        [["x", "=", 1], 3],
    ],
)
def test_conditions_that_cannot_be_read(data: Any) -> None:
    with pytest.raises(BindError):
        predicate_of(data, "here")


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ({}, sg.on_change()),
        ({"on_change": True}, sg.on_change()),
        ({"on_change": 0.5}, sg.on_change(0.5)),
        ({"on_change": False}, sg.on_change()),
        ({"every": "1 minute"}, sg.every("1 minute")),
        ({"every": 5}, sg.every("5 s")),
        ({"on_close": True}, sg.on_close()),
    ],
)
def test_cadences(said: dict[str, Any], meant: object) -> None:
    assert query_of({**ASK, **said}, "queries[0]").answer == meant


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"every": "1 s", "on_close": True}, "more than one cadence"),
        ({"every": 0}, "positive period"),
        ({"every": True}, "must be a duration"),
        ({"on_close": 1}, "must be true"),
        ({"on_change": "x"}, "must be a number"),
        ({"on_change": -1}, "0 or more"),
        ({"series": [1]}, "must be a list of texts"),
        ({"weights": ["1"]}, "must be a list of numbers"),
        ({"history": "no"}, "must be true or false"),
        ({"select": 3}, "must be text"),
        ({"window": 3}, "must be a table"),
        ({"groupby": ["x"]}, "unknown key 'groupby'"),
    ],
)
def test_queries_that_cannot_be_read(said: dict[str, Any], message: str) -> None:
    with pytest.raises(StreamgaugeError) as caught:
        query_of({**ASK, **said}, "queries[0]")
    assert message in str(caught.value)


def test_a_query_with_everything() -> None:
    assert query_of(
        {
            **ASK,
            "window": "recent",
            "where": ["x", ">", 1],
            "group_by": "kind",
            "every": "1 minute",
            "history": False,
        },
        "here",
    ) == sg.Query(
        "q",
        "s",
        sg.avg("x"),
        window="recent",
        where=X > 1,
        group_by=("kind",),
        answer=sg.every("1 minute"),
        history=False,
    )


def test_a_query_needs_a_name_a_stream_and_a_question() -> None:
    for key in ASK:
        data = {k: v for k, v in ASK.items() if k != key}
        with pytest.raises(BindError, match=f"has no '{key}'"):
            query_of(data, "queries[0]")
