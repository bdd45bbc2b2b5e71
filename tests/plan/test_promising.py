"""Promising plans: what the engine is told, the promise of each kind of query, what is refused."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.contracts.contract import Contract
from streamgauge.kernel.errors import BindError, QueryNotFound, StreamgaugeError
from streamgauge.kernel.time import MINUTE
from streamgauge.language.parse import parse
from streamgauge.language.statements import CreateSummary
from streamgauge.operators.aggregate import maximum, total
from streamgauge.operators.expression import Expr
from streamgauge.operators.predicate import Predicate, col
from streamgauge.plan.bidding import taken
from streamgauge.plan.preference import estimate
from streamgauge.plan.promising import (
    Reach,
    column_of,
    join_plan,
    key_classes,
    selection_plan,
    spans_of,
)
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Registry
from streamgauge.plan.view import View
from streamgauge.promise.promise import Promise
from streamgauge.promise.summary import Summary
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Stream
from streamgauge.windows.window import Partition, Range
from tests.plan.market import market, queries_of, view_of

JOIN = "SELECT t.sym FROM trades [RANGE 1 MINUTE] t, quotes [RANGE 1 MINUTE] q WHERE t.sym = q.sym"


@pytest.fixture
def registry() -> Registry:
    """The market with summaries of some columns."""
    found = market()
    for name, stream, column in (
        ("syms", "trades", "sym"),
        ("prices", "trades", "price"),
        ("quoted", "quotes", "sym"),
        ("bids", "quotes", "bid"),
    ):
        found.summaries[name] = Summary(name, stream, column, MINUTE, 2, 3)
    return found


def promise_of(asked: View | Query) -> Promise:
    """The promise that a question has."""
    assert asked.promise is not None
    return asked.promise


# What the engine is told


def test_a_join_is_taken_apart(registry: Registry) -> None:
    text = (
        "SELECT t.price, q.bid FROM trades [RANGE 1 MINUTE] t JOIN quotes [RANGE 2 MINUTES] q "
        "USING (sym) WHERE t.size > 3 AND t.price > q.bid BUDGET PROBES 5"
    )
    plan = join_plan(view_of(text, registry))
    assert plan is not None
    left, right = plan.sides
    assert (left.alias, left.stream, str(left.window), str(left.key)) == (
        "t", "trades", "range 1 min", "sym",
    )  # fmt: skip
    assert [str(part) for part in left.where] == ["size > 3"]
    assert (right.alias, str(right.window), right.where) == ("q", "range 2 min", ())
    assert [str(part) for part in plan.on] == ["t.price > q.bid"]
    assert [(name, str(expr)) for name, expr in plan.items] == [
        ("price", "t.price"), ("bid", "q.bid"),
    ]  # fmt: skip
    assert plan.kind == ""


def test_all_equalities_of_the_key_are_taken(registry: Registry) -> None:
    text = (
        "SELECT ISTREAM(t.sym) FROM trades [RANGE 1 MINUTE] t, quotes [RANGE 1 MINUTE] q, "
        "trades [RANGE UNBOUNDED] u WHERE t.sym = q.sym AND u.sym = q.sym AND u.price = q.bid"
    )
    plan = join_plan(view_of(f"{text} BUDGET PROBES 5", registry))
    assert plan is not None
    assert [str(side.key) for side in plan.sides] == ["sym", "sym", "sym"]
    assert [str(part) for part in plan.on] == ["u.price = q.bid"]
    assert plan.kind == "istream"


def test_the_preference_says_in_which_column_streams_meet(registry: Registry) -> None:
    text = f"{JOIN} AND t.price = q.bid"
    assert key_classes(view_of(text, registry)) == [("sym", "sym"), ("price", "bid")]
    view = view_of(f"{text} WITH PREFERENCE COUNT(q.bid)", registry)
    plan = join_plan(view)
    assert plan is not None
    assert [str(side.key) for side in plan.sides] == ["price", "bid"]
    assert [str(part) for part in plan.on] == ["t.sym = q.sym"]
    assert promise_of(view).summaries == (("t", "prices"), ("q", "bids"))


def test_a_budget_alone_meets_where_there_are_summaries(registry: Registry) -> None:
    del registry.summaries["quoted"]
    view = view_of(f"{JOIN} AND t.price = q.bid BUDGET PROBES 5", registry)
    assert promise_of(view).summaries == (("t", "prices"), ("q", "bids"))


def test_numbers_of_two_types_meet_as_floats_and_are_compared_again(registry: Registry) -> None:
    registry.summaries["sizes"] = Summary("sizes", "trades", "size", MINUTE)
    text = "SELECT t.sym FROM trades [RANGE 1 MINUTE] t, quotes [RANGE 1 MINUTE] q"
    plan = join_plan(view_of(f"{text} WHERE t.size = q.bid BUDGET PROBES 5", registry))
    assert plan is not None
    assert [str(side.key) for side in plan.sides] == ["CAST(size AS FLOAT)", "CAST(bid AS FLOAT)"]
    assert [str(part) for part in plan.on] == ["t.size = q.bid"]


def test_a_selection_says_where_rows_may_match(registry: Registry) -> None:
    view = view_of(
        "SELECT sym FROM trades WHERE price > 3 AND price <= 5 BUDGET PROBES 5", registry
    )
    plan = selection_plan(view)
    assert plan is not None
    assert (plan.stream, plan.window, plan.column, plan.kind) == (
        "trades",
        None,
        "price",
        "istream",
    )
    assert plan.spans == ((math.nextafter(3.0, 4.0), 5.0),)
    assert plan.whole
    assert join_plan(view) is None


def test_a_selection_by_texts_with_a_window(registry: Registry) -> None:
    text = "SELECT price FROM trades [RANGE 1 MINUTE] WHERE sym IN ('B', 'A') AND size > 3"
    plan = selection_plan(view_of(f"{text} BUDGET PROBES 5", registry))
    assert plan is not None
    assert (plan.words, plan.spans, plan.whole) == (("A", "B"), None, False)
    assert (plan.window, plan.kind) == (Range("1 minute"), "")
    assert [str(part) for part in plan.where] == ["sym IN ('B', 'A')", "size > 3"]


def test_other_views_are_neither() -> None:
    for text in (
        "SELECT sym FROM trades [ROWS 3]",
        "SELECT sym, COUNT(*) + 1 FROM trades [RANGE 1 MINUTE] GROUP BY sym",
        "SELECT RSTREAM(sym) FROM trades [RANGE 1 MINUTE]",
        "SELECT sym FROM orders",
    ):
        view = view_of(text)
        assert join_plan(view) is None
        assert selection_plan(view) is None


# Spans

NUMBERS = (-2.0, -1.0, 0.0, 0.5, 1.0, 2.0, 3.0)
_LEAVES = st.one_of(
    st.builds(
        lambda op, value: Predicate(op, "x", (value,)),
        st.sampled_from(("=", "!=", "<", "<=", ">", ">=")),
        st.sampled_from(NUMBERS),
    ),
    st.builds(
        lambda values: Predicate("in", "x", tuple(values)), st.lists(st.sampled_from(NUMBERS))
    ),
    st.builds(lambda value: Predicate("=", "y", (value,)), st.sampled_from(NUMBERS)),
    st.just(Predicate("is null", "x")),
)
PREDICATES = st.recursive(
    _LEAVES,
    lambda inner: (
        st.builds(lambda a, b: a & b, inner, inner)
        | st.builds(lambda a, b: a | b, inner, inner)
        | inner.map(lambda part: ~part)
    ),
    max_leaves=6,
)


@given(PREDICATES)
def test_no_row_outside_its_spans_passes_and_all_inside_do_where_nothing_else_is_asked(
    predicate: Predicate,
) -> None:
    steps = [v for n in NUMBERS for v in (n, math.nextafter(n, 9.0), math.nextafter(n, -9.0))]
    x = np.repeat(np.array(steps), len(NUMBERS))
    y = np.tile(np.array(NUMBERS), len(steps))
    passes = predicate.mask({"x": x, "y": y}, {})
    reach = spans_of(predicate, "x")
    if reach.spans is None:
        return
    inside = np.zeros(len(x), bool)
    for low, high in reach.spans:
        inside |= (x >= low) & (x <= high)
    assert not (passes & ~inside).any()
    if reach.whole:
        assert passes[inside].all()


@pytest.mark.parametrize(
    ("predicate", "reach"),
    [
        (col("w") == "a", Reach(None, ("a",), True)),
        (~(col("w") != "a"), Reach(None, ("a",), True)),
        ((col("w") == "a") | (col("w") == "b"), Reach(None, ("a", "b"), True)),
        (col("w").isin("a", "b") & (col("w") != "b"), Reach(None, ("a",), True)),
        (col("w").isin("a", "b") & (col("x") > 1), Reach(None, ("a", "b"), False)),
        ((col("w") == "a") | (col("x") > 1), Reach(None, None, False)),
        (col("w") != "a", Reach(None, None, True)),
        (col("w") > "a", Reach(None, None, False)),
        (col("x") > 1, Reach(None, None, False)),
    ],
    ids=str,
)
def test_texts_that_may_pass(predicate: Predicate, reach: Reach) -> None:
    assert spans_of(predicate, "w") == reach


BIG = 2**60


@pytest.mark.parametrize(
    "condition",
    [
        col("x") > BIG + 900,
        col("x") >= BIG + 900,
        col("x") < BIG + 300,
        col("x") == BIG + 501,
        col("x") != BIG + 501,
        ~col("x").isin(BIG + 1, BIG + 2, 5),
        (col("x") > BIG + 100) & (col("x") <= BIG + 900),
    ],
)
def test_whole_numbers_that_are_one_float_are_told_apart_by_looking(condition: Predicate) -> None:
    whole = np.arange(BIG - 600, BIG + 1400)
    passes = condition.mask({"x": whole}, {})  # type: ignore[dict-item]
    reach = spans_of(condition, "x")
    floats = whole.astype(np.float64)
    spans = reach.spans or ((-math.inf, math.inf),)
    inside = np.any([(floats >= low) & (floats <= high) for low, high in spans], axis=0)
    assert not reach.whole
    assert not (passes & ~inside).any()


# The promise of each kind


@pytest.mark.parametrize(
    ("text", "order", "expr"),
    [
        ("SELECT sym FROM trades WHERE price > 3", "desc", "COUNT(price)"),
        ("SELECT sym FROM trades WHERE size > 3", "desc", "COUNT(sym)"),
        ("SELECT AVG(price) FROM trades [RANGE 1 MINUTE]", "weighted", "COUNT(price)"),
        ("SELECT MEDIAN(price) FROM trades [RANGE 1 MINUTE]", "weighted", "COUNT(price)"),
        ("SELECT COUNT(*) FROM trades [RANGE 1 MINUTE]", "weighted", "COUNT(sym)"),
        ("SELECT SUM(price) FROM trades [RANGE 1 MINUTE]", "desc", "COUNT(price) * price"),
        ("SELECT SUM(size) FROM trades [RANGE 1 MINUTE]", "desc", "COUNT(sym) * size"),
    ],
)
def test_a_budget_alone_has_a_preference(
    text: str, order: str, expr: str, registry: Registry
) -> None:
    asked = f"{text} BUDGET PROBES 7"
    one = queries_of(asked, registry)[0] if "(" in text else view_of(asked, registry)
    promise = promise_of(one)
    assert (promise.order, [str(e) for e in promise.exprs]) == (order, [expr])
    assert (promise.probes, promise.cpu, promise.fade) == (7, None, 1.0)
    assert column_of(promise) == expr.split(")")[0].removeprefix("COUNT(")


def test_aggregates_owe_a_bar_and_share_a_budget(registry: Registry) -> None:
    text = "SELECT SUM(price) AS s, AVG(price) AS a FROM trades [RANGE 1 MINUTE]"
    both = queries_of(f"{text} BUDGET PROBES 9, CPU 0.5", registry)
    assert [query.contract for query in both] == [Contract.best(confidence=0.95)] * 2
    assert [promise_of(query).probes for query in both] == [4, 4]
    assert [promise_of(query).cpu for query in both] == [0.25, 0.25]
    sure = queries_of(f"{text} BUDGET PROBES 9 CONFIDENCE 90%", registry)
    assert [query.contract.confidence for query in sure] == [pytest.approx(0.95)] * 2
    assert taken(both[0]).technique == "aggregates under a work budget"


@pytest.mark.parametrize(
    ("text", "least"),
    [
        ("SELECT SUM(price) AS s, AVG(price) AS a FROM trades [RANGE 1 MINUTE]", 2),
        (
            "SELECT t.sym FROM trades [RANGE 1 MINUTE] t, quotes [RANGE 1 MINUTE] q, "
            "trades [RANGE 1 MINUTE] u WHERE t.sym = q.sym AND q.sym = u.sym",
            2,
        ),
    ],
)
def test_a_budget_with_which_nothing_is_ever_done(
    text: str, least: int, registry: Registry
) -> None:
    def plan(probes: int) -> None:
        asked = f"{text} BUDGET PROBES {probes}"
        _ = queries_of(asked, registry) if "SUM" in text else view_of(asked, registry)

    with pytest.raises(BindError, match="nothing would ever be done"):
        plan(least - 1)
    plan(least)


@pytest.mark.parametrize(("probes", "cpu"), [(10**13, None), (None, 1e300), (None, math.inf)])
def test_a_budget_that_bounds_nothing(probes: int | None, cpu: float | None) -> None:
    with pytest.raises(BindError, match="bounds what is done"):
        Promise("desc", (), probes=probes, cpu=cpu)


@pytest.mark.parametrize(
    ("rate", "depth", "buckets", "what"),
    [
        (2, 4, 10**8, "too many cells"),
        (10**6, 3, 16, "too many cells"),
        (2, 1000, 16, "beyond all time"),
    ],
)
def test_a_summary_that_no_machine_holds(rate: int, depth: int, buckets: int, what: str) -> None:
    with pytest.raises(BindError, match=what):
        Summary("s", "trades", "sym", MINUTE, rate, depth, buckets=buckets)


def test_the_shortest_summary_that_reaches_is_taken(registry: Registry) -> None:
    registry.summaries["long"] = Summary("long", "trades", "price", MINUTE, 2, 6)
    registry.summaries["longer"] = Summary("longer", "trades", "price", MINUTE, 2, 8)
    for length, name in (("1 MINUTE", "prices"), ("10 MINUTES", "long"), ("2 HOURS", "longer")):
        text = f"SELECT AVG(price) FROM trades [RANGE {length}] BUDGET PROBES 5"
        assert promise_of(queries_of(text, registry)[0]).summaries == (("trades", name),)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT s.sym FROM slow [RANGE 10 MINUTES] s, quotes [RANGE 10 MINUTES] q "
        "WHERE s.price = q.bid BUDGET PROBES 5",
        "SELECT sym FROM slow WHERE price > 3 BUDGET PROBES 5",
        "SELECT SUM(size) FROM slow [RANGE 10 MINUTES] BUDGET PROBES 5",
    ],
)
def test_the_summary_that_is_proposed_is_enough(text: str, registry: Registry) -> None:
    def plan() -> None:
        found = view_of(text, registry) if "SUM" not in text else queries_of(text, registry)[0]
        registry.take("register", found, epoch=3)

    registry.summaries["bids"] = Summary("bids", "quotes", "bid", MINUTE, 2, 4)
    with pytest.raises(BindError, match="no summary tells") as caught:
        plan()
    made = parse(caught.value.hint.removeprefix("write "))
    assert isinstance(made, CreateSummary)
    summary = Summary(made.name, made.stream, made.column, made.granularity, made.rate, made.depth)
    assert registry.apply([{"do": "summary", "summary": summary.as_dict()}], epoch=2) == []
    plan()


# As values, from Python

DESC = Promise("desc", (estimate("price"),), probes=10, summaries=(("trades", "prices"),))
SUM = Query("q", "trades", total("price"), window=Range("1 minute"), promise=DESC)


def refusal(query: Query, registry: Registry) -> StreamgaugeError:
    """Why a query is not registered."""
    (error,) = registry.apply([{"do": "register", "queries": [query.as_dict()]}], epoch=2)
    return error


def test_a_query_with_a_promise_is_registered(registry: Registry) -> None:
    assert registry.apply([{"do": "register", "queries": [SUM.as_dict()]}], epoch=2) == []
    again = Registry.from_dict(registry.as_dict())
    assert again.query("q").query == SUM
    assert again.query("q").model == ""


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"window": Partition("sym", 1)}, "is of a window of time"),
        ({"group_by": ("sym",)}, "has no groups"),
        ({"select": maximum("price")}, "cannot be estimated"),
        ({"memory": 100}, "no budget of memory"),
        ({"promise": replace(DESC, summaries=(("trades", "syms"),))}, "is of trades\\(sym\\)"),
        ({"window": Range("1 hour")}, "does not reach back"),
    ],
)
def test_a_query_that_cannot_be_worked_on_by_promise(
    changed: dict[str, object], what: str, registry: Registry
) -> None:
    error = refusal(replace(SUM, **changed), registry)  # type: ignore[arg-type]
    with pytest.raises(StreamgaugeError, match=what):
        raise error


def test_a_summary_that_is_not_there(registry: Registry) -> None:
    error = refusal(replace(SUM, promise=replace(DESC, summaries=())), registry)
    assert isinstance(error, QueryNotFound)


def test_rows_of_bounds_are_not_chosen(registry: Registry) -> None:
    schema = Schema.of(object="string", ts="time", value="float", width="float")
    source = (("kind", "files"), ("path", "in"))
    registry.streams["hosts"] = Stream("hosts", schema, "ts", ("object",), source, width="width")
    with pytest.raises(BindError, match="cannot be chosen by their promise"):
        view_of(
            "SELECT object FROM hosts [RANGE 1 MINUTE] WHERE value > 3 BUDGET PROBES 5", registry
        )


def test_an_estimate_reads_as_it_is_written() -> None:
    twice = Expr("*", (estimate("a.item", "frequency"), Expr("literal", value=2)))
    assert str(twice) == "FREQUENCY(a.item) * 2"
