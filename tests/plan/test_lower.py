"""Lowering: which queries answer numbers, which answer rows, and what is refused."""

from __future__ import annotations

import pytest

from streamgauge.kernel.errors import BindError, ContractUnsatisfiable, StreamgaugeError
from streamgauge.plan.bind import bound
from streamgauge.plan.explain_view import explain_view
from streamgauge.plan.memory import growing, memory_of
from streamgauge.plan.nodes import Windowed
from streamgauge.plan.rewrite import rewrite
from streamgauge.plan.view import View
from tests.goldens import assert_golden
from tests.plan.market import ask_of, market, plan_of, queries_of, view_of

NUMBERS = {
    "SELECT AVG(price) FROM trades [RANGE 5 MINUTES] WHERE size > 10 EVERY 1 MINUTE":
        "avg(price) from trades [range 5 min] where size > 10, every 1 min, exact",
    "SELECT sym, COUNT(*) FROM trades [NOW] GROUP BY sym ON CLOSE":
        "count(*) from trades [now] group by sym, on close, exact",
    "SELECT SUM(price WEIGHT size) FROM trades [ROWS 100]":
        "sum(price weighted by size) from trades [rows 100], on change, exact",
    "SELECT MAX(price) FROM trades ON CHANGE OF 0.5":
        "max(price) from trades [unbounded], on change of 0.5, exact",
    "SELECT CORR(price, size) FROM trades [SINCE '2026-01-01'] FROM NOW":
        "corr(price, size) from trades [since 2026-01-01T00:00:00Z], on change, exact, from now",
    "SELECT AVG(price) FROM trades [recent]":
        "avg(price) from trades [recent], on change, exact",
    "SELECT AVG(price) FROM trades [PARTITION BY sym ROWS 1]":
        "avg(price) of all series of trades, on change, exact",
    "SELECT AVG(price) FROM trades [PARTITION BY sym ROWS 1] WHERE sym IN ('a', 'b')":
        "avg(price) of 2 series of trades, on change, exact",
    "SELECT MIN(price) FROM trades [PARTITION BY sym ROWS 1] WHERE sym = 'a' FRESH 5 SECONDS":
        "min(price) of 1 series of trades, on change, exact, fresh 5 s",
    "SELECT AVG(price) FROM trades [PARTITION BY sym ROWS 1] WHERE size > 1":
        "avg(price) from trades [partition by sym rows 1] where size > 1, on change, exact",
    "SELECT APPROX_COUNT_DISTINCT(sym) FROM trades [RANGE 1 MINUTE]":
        "distinct(sym) from trades [range 1 min], on change, within 0.02 of the value at 95% confidence",  # noqa: E501
    "SELECT APPROX_COUNT_DISTINCT(sym) FROM trades [RANGE 1 MINUTE] EXACT":
        "distinct(sym) from trades [range 1 min], on change, exact",
    "SELECT COUNT(DISTINCT sym) FROM trades [RANGE 1 MINUTE]":
        "distinct(sym) from trades [range 1 min], on change, exact",
    "SELECT F2(sym) FROM trades [RANGE 1 MINUTE]":
        "self_join(sym) from trades [range 1 min], on change, within 0.02 of the value at 95% confidence",  # noqa: E501
    "SELECT MEDIAN(price) FROM trades [RANGE 1 MINUTE]":
        "quantile(price, 0.5) from trades [range 1 min], on change, exact",
    "SELECT APPROX_MEDIAN(price) FROM trades [RANGE 1 MINUTE]":
        "quantile(price, 0.5) from trades [range 1 min], on change, within 0.01 in rank at 99% confidence",  # noqa: E501
    "SELECT QUANTILE(price, 0.9) FROM trades [NOW] WITHIN 0.02 RANK CONFIDENCE 0.9":
        "quantile(price, 0.9) from trades [now], on change, within 0.02 in rank at 90% confidence",
    "SELECT TOP_K(sym, 3) FROM trades [RANGE 1 MINUTE] EVERY 1 MINUTE":
        "top_k(sym, 3) from trades [range 1 min], every 1 min, exact",
    "SELECT FREQUENCY(sym, 'a') FROM trades [NOW]":
        "frequency(sym, 'a') from trades [now], on change, exact",
    "SELECT COUNT(*) FILTER (WHERE buy) FROM trades [RANGE 1 MINUTE] WHERE size > 1":
        "count(*) from trades [range 1 min] where (size > 1) and (buy), on change, exact",
    "SELECT AVG(x.price) FROM (SELECT price, size FROM trades [NOW] WHERE size > 2) x":
        "avg(price) from trades [now] where size > 2, on change, exact",
    "SELECT AVG(price) FROM trades [DECAY 1 MINUTE] EVERY 10 SECONDS":
        "avg(price) from trades [decay 1 min], every 10 s, exact",
    "SELECT COUNT(*) WHEN price > 1.5 * AVG(price) FROM trades [RANGE 1 MINUTE]":
        "count(*) when price > 1.5 * avg(price) from trades [range 1 min], on change, exact",
    "SELECT SUM(size) WHEN 2 * MIN(price) - 1 >= price FROM trades [RANGE 1 MINUTE]":
        "sum(size) when price <= 2 * min(price) + -1 from trades [range 1 min], on change, exact",
    "SELECT AVG(price) FROM trades [NOW] "
    "WHERE NOT (sym = 'a' OR 5 < size) AND size BETWEEN 1 AND 4":
        "avg(price) from trades [now] where (not ((sym = 'a') or (size > 5))) and "
        "((size >= 1) and (size <= 4)), on change, exact",
}  # fmt: skip


@pytest.mark.parametrize("text", NUMBERS)
def test_one_aggregate_of_one_stream_answers_numbers(text: str) -> None:
    (query,) = queries_of(text)
    assert str(query) == NUMBERS[text]
    assert query.name == "q"


@pytest.mark.slow
def test_queries_of_numbers_can_be_registered() -> None:
    registry = market()
    for place, text in enumerate(NUMBERS):
        (query,) = queries_of(text, registry)
        record = {**query.as_dict(), "name": f"q{place}"}
        change = {"do": "register", "queries": [record]}
        refused = registry.apply([change], epoch=place + 1)
        assert not refused, f"{text}: {refused}"


ROWS = (
    "SELECT sym, price FROM trades [NOW]",
    "SELECT AVG(price) - MIN(price) AS d FROM trades [NOW]",
    "SELECT sym, COUNT(*) FROM trades [NOW] GROUP BY sym HAVING COUNT(*) > 1",
    "SELECT sym, COUNT(*) AS n FROM trades [NOW] GROUP BY sym ORDER BY n LIMIT 1",
    "SELECT ISTREAM(COUNT(*)) FROM trades [NOW]",
    "SELECT MAX(ts) FROM trades [NOW]",
    "SELECT MAX(sym) FROM trades [NOW]",
    "SELECT FIRST(price) FROM trades [NOW]",
    "SELECT ratio(price) FROM trades [NOW]",
    "SELECT COUNT(*) FILTER (WHERE buy) FROM trades [ROWS 10]",
    "SELECT COUNT(DISTINCT sym) FROM trades [ROWS 10]",
    "SELECT AVG(price) FROM trades [SESSION 1 MINUTE]",
    "SELECT SUM(size) FROM orders",
    "SELECT AVG(price) FROM trades [NOW] EMIT CHANGES",
    "SELECT COUNT(*) FROM symbols",
    "SELECT AVG(x.price) FROM (SELECT * FROM trades WHERE size > 2) [ROWS 5] x",
    "SELECT JOIN_SIZE(t.sym, q.sym) FROM trades [NOW] t, quotes [NOW] q",
)


@pytest.mark.parametrize("text", ROWS)
def test_the_rest_answers_rows(text: str) -> None:
    view = view_of(text)
    assert View.from_dict(view.as_dict()) == view


def test_several_aggregates_are_several_queries() -> None:
    text = "SELECT AVG(price) AS mean, COUNT(*) FROM trades [NOW]"
    assert [query.name for query in queries_of(text)] == ["q.mean", "q.COUNT(*)"]


def test_several_summaries_share_the_chance_of_failure() -> None:
    text = (
        "SELECT APPROX_COUNT_DISTINCT(sym) AS a, COUNT(DISTINCT size) AS b, COUNT(*) AS c "
        "FROM trades [NOW] WITHIN 5 PERCENT CONFIDENCE 90%"
    )
    shown = [str(query.contract) for query in queries_of(text)]
    assert shown == ["within 0.05 of the value at 95% confidence"] * 2 + ["exact"]


def test_what_is_computed_is_a_column_of_its_own() -> None:
    (query,) = queries_of(
        "SELECT AVG(price * 2) FROM trades [NOW] WHERE price > size GROUP BY size % 2"
    )
    assert query.select.x == "price * 2"
    assert str(query.where) == "price > size"
    assert query.group_by == ("size % 2",)
    names = [name for name, _ in query.derived]
    assert sorted(names) == ["price * 2", "price > size", "size % 2"]


def test_a_rewrite_to_a_synopsis_comes_first() -> None:
    (query,) = queries_of(
        "SELECT sym, COUNT(*) AS n FROM trades [RANGE 1 MINUTE] GROUP BY sym "
        "ORDER BY n DESC LIMIT 3 EVERY 1 MINUTE WITHIN 1% RANK FROM NOW"
    )
    assert query.select.name == "top_k"
    assert not query.history


def test_approximate_aggregates_among_rows_are_exact() -> None:
    plan = view_of("SELECT sym, APPROX_COUNT_DISTINCT(size) AS n, FREQUENCY(size, 1) AS f "
                   "FROM trades [ROWS 9] GROUP BY sym HAVING COUNT(*) > 1").plan  # fmt: skip
    shown = [str(expr) for node in plan.walk() for _, expr in getattr(node, "aggregates", ())]
    assert shown == ["COUNT(DISTINCT size)", "COUNT(*) FILTER (WHERE size = 1)", "COUNT(*)"]


REFUSED = {
    "SELECT * FROM trades WITHIN 5": "rows are exact",
    "SELECT sym, AVG(price) FROM trades [NOW] GROUP BY sym HAVING COUNT(*) > 1 WITHIN 5%":
        "rows are exact",
    "SELECT AVG(price) FROM trades [NOW] BUDGET DISK 5": "a budget of disk cannot be held",
    "SELECT sym FROM trades [DECAY 1 MINUTE]": "rows do not fade",
    "SELECT sym, F2(size) FROM trades [ROWS 9] GROUP BY sym": "answers numbers and cannot",
    "SELECT AVG(size) WHEN price > AVG(price) FROM trades [NOW]": "WHEN compares a value",
    "SELECT COUNT(*) WHEN price > AVG(size) FROM trades [NOW]": "WHEN compares a value",
    "SELECT sym FROM trades [NOW] ON CHANGE OF 5": "rows do not change by an amount",
    "SELECT sym FROM trades [NOW] ON CLOSE": "ON CLOSE needs windows",
    "SELECT sym FROM slow [NOW] EVERY 1 SECOND": "is not a whole number of ticks",
    "SELECT sym FROM trades EXCEPT SELECT sym FROM quotes EMIT APPEND": "may be taken back",
    "SELECT COUNT(*) FROM trades EMIT APPEND": "may be taken back",
    "SELECT sym FROM orders EMIT APPEND": "may be taken back",
    "SELECT sym FROM trades t WHERE NOT EXISTS (SELECT 1 FROM quotes [NOW] q "
    "WHERE q.sym = t.sym) EMIT APPEND": "may be taken back",
    "SELECT ISTREAM(sym) FROM trades [NOW] EMIT STORE": "no current rows",
    "SELECT t.sym FROM trades t, quotes q WHERE t.sym = q.sym BUDGET PROBES 5": "would keep every",
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_what_cannot_be_held_is_refused(text: str) -> None:
    with pytest.raises(StreamgaugeError) as caught:
        view_of(text)
    assert REFUSED[text] in caught.value.what
    assert caught.value.detail
    assert caught.value.hint


def test_refused_contracts_name_what_can_be_had() -> None:
    with pytest.raises(ContractUnsatisfiable, match="ask for AVG\\(price\\) of one stream"):
        view_of("SELECT AVG(price) FROM trades [NOW] HAVING COUNT(*) > 1 WITHIN 5%")


def test_a_join_of_whole_streams_is_allowed_when_it_is_written() -> None:
    whole = "[RANGE UNBOUNDED]"
    view = view_of(f"SELECT t.sym FROM trades {whole} t, quotes {whole} q WHERE t.sym = q.sym")
    assert memory_of(view.plan) == ("unbounded", "every row of trades for a join")


def test_a_join_of_groups_keeps_groups_only() -> None:
    text = (
        "WITH n AS (SELECT sym, COUNT(*) AS c FROM trades GROUP BY sym) "
        "SELECT a.sym FROM n a, n b WHERE a.c = b.c"
    )
    assert not bound(ask_of(text).query, market()).kept
    assert memory_of(view_of(text).plan)[0] == "groups"


def test_on_close_is_every_slide() -> None:
    view = view_of("SELECT sym FROM trades [RANGE 5 MINUTES SLIDE 1 MINUTE] ON CLOSE")
    assert str(view.answer) == "every 1 min"


def test_modes_of_views() -> None:
    assert view_of("SELECT sym FROM trades").mode == "append"
    assert view_of("SELECT sym FROM trades [NOW]").mode == "changes"
    assert view_of("SELECT sym FROM trades [NOW] EMIT STORE").mode == "store"
    assert not view_of("SELECT sym FROM trades [NOW] FROM NOW").history


MEMORY = {
    "SELECT sym FROM trades WHERE price > 1": "bounded",
    "SELECT DISTINCT sym FROM trades": "groups",
    "SELECT sym FROM trades [RANGE 1 MINUTE]": "window",
    "SELECT sym FROM trades [ROWS 10]": "bounded",
    "SELECT sym FROM trades [PARTITION BY sym ROWS 2]": "groups",
    "SELECT sym FROM trades [SINCE '2026-01-01']": "unbounded",
    "SELECT sym, MIN(price) FROM trades GROUP BY sym": "groups",
    "SELECT COUNT(*) FROM trades": "bounded",
    "SELECT MEDIAN(price) FROM trades": "unbounded",
    "SELECT MEDIAN(price) FROM trades [RANGE 1 MINUTE]": "window",
    "SELECT sym FROM trades ORDER BY price LIMIT 3": "unbounded",
    "SELECT sym, COUNT(*) AS n FROM trades GROUP BY sym ORDER BY n LIMIT 3": "groups",
    "SELECT sym FROM trades EXCEPT SELECT sym FROM quotes": "groups",
    "SELECT t.sym FROM trades [NOW] t, quotes [RANGE 1 MINUTE] q WHERE t.sym = q.sym": "window",
    "SELECT t.sym FROM trades t, quotes [NOW] q WHERE t.sym = q.sym": "unbounded",
    "SELECT RSTREAM(sym) FROM trades": "unbounded",
    "SELECT sym FROM symbols": "bounded",
}


@pytest.mark.parametrize("text", MEMORY)
def test_the_memory_of_a_plan_is_known_before_it_runs(text: str) -> None:
    kind, reason = memory_of(rewrite(plan_of(text), {}))
    assert kind == MEMORY[text]
    assert reason


def test_the_reasons_are_on_file() -> None:
    lines = [f"{text}\n  {' '.join(memory_of(rewrite(plan_of(text), {})))}" for text in MEMORY]
    assert_golden("cql/memory.txt", "\n".join(lines) + "\n")


def test_a_window_that_does_not_fit_is_refused_wherever_it_is() -> None:
    with pytest.raises(BindError, match="windows are for streams"):
        plan_of("SELECT * FROM (SELECT DISTINCT sym FROM trades) [ROWS 3] x")
    plan = plan_of("SELECT * FROM big [RANGE 1 MINUTE]")
    assert [str(node.window) for node in plan.walk() if isinstance(node, Windowed)] == [
        "range 1 min"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT sym, price FROM trades ORDER BY price",
        "SELECT sym FROM trades WHERE price > 1 ORDER BY size DESC",
        "SELECT sym, price FROM trades [ROWS UNBOUNDED] ORDER BY price",
        "SELECT ISTREAM(sym, price) FROM trades [RANGE 1 MINUTE] ORDER BY price",
    ],
)
def test_an_order_of_an_unbounded_stream_is_refused(text: str) -> None:
    with pytest.raises(BindError, match="ORDER BY cannot sort an unbounded stream") as found:
        view_of(text)
    assert "LIMIT 10" in found.value.hint
    view_of(f"{text} LIMIT 3")


GROWING = {
    "SELECT t.sym FROM trades t, quotes q WHERE t.sym = q.sym": ("trades", "quotes"),
    "SELECT COUNT(*) FROM trades, quotes WHERE trades.sym = quotes.sym": ("trades", "quotes"),
    "SELECT t.sym FROM trades t, symbols s WHERE t.sym = s.sym": ("trades",),
    "SELECT sym FROM trades WHERE price > (SELECT AVG(bid) FROM quotes)": ("trades",),
    "SELECT t.sym FROM trades t JOIN quotes [NOW] q ON t.sym = q.sym": ("trades",),
    "SELECT t.sym FROM trades [NOW] t JOIN quotes [NOW] q ON t.sym = q.sym": (),
    "SELECT sym, COUNT(*) FROM trades GROUP BY sym ORDER BY 2 DESC LIMIT 100": (),
}


@pytest.mark.parametrize("text", GROWING)
def test_a_join_without_windows_is_of_all_rows_and_tells_that_its_state_grows(text: str) -> None:
    view = view_of(text)
    assert growing(view.plan) == GROWING[text]
    told = explain_view(view, market(), shards=1, epoch=0)
    expected = f"state grows with every row of {', '.join(GROWING[text])};"
    assert (expected in told) == bool(GROWING[text])
