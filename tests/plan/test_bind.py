"""Binding: plans on file, and every mistake with what to do about it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamgauge.contracts.contract import Contract
from streamgauge.kernel.errors import BindError, StreamgaugeError
from streamgauge.language.statements import Select
from streamgauge.operators.aggregate import avg, distinct, top_k
from streamgauge.plan.bind import bind
from streamgauge.plan.nodes import Numbers, Streamed
from streamgauge.plan.query import Query, on_close
from streamgauge.plan.registry import Registry
from streamgauge.plan.schema_of import schema_of
from streamgauge.plan.tree import drawn
from streamgauge.windows.window import Range
from tests.goldens import assert_golden
from tests.plan.market import market, plan_of, query_of, view_of

pytestmark = pytest.mark.slow

PLANS = {
    "selection": "SELECT * FROM trades WHERE price > 10",
    "two_windows": "SELECT * FROM trades [ROWS 1000], quotes [RANGE 2 MINUTES] "
    "WHERE trades.sym = quotes.sym AND trades.price > 10",
    "enriched": "SELECT RSTREAM(trades.sym, s.sector) FROM trades [NOW], symbols s "
    "WHERE trades.sym = s.sym",
    "grouped": "SELECT sym, MAX(price) AS top FROM trades [ROWS 200] GROUP BY sym "
    "HAVING COUNT(*) > 1 ORDER BY MAX(price) DESC LIMIT 3",
    "hidden_order": "SELECT sym FROM trades [NOW] ORDER BY price DESC LIMIT 2",
    "top_share": "WITH load AS (SELECT saddr, daddr, SUM(length) AS traffic FROM packets "
    "GROUP BY saddr, daddr) SELECT saddr, daddr, traffic FROM load l1 "
    "WHERE (SELECT COUNT(*) FROM load l2 WHERE l2.traffic < l1.traffic) > "
    "(SELECT 0.95 * COUNT(*) FROM load) ORDER BY traffic",
    "joins": "SELECT sym, t.price, q.bid, s.sector FROM trades [NOW] t "
    "JOIN quotes [PARTITION BY sym ROWS 1] q USING (sym) LEFT JOIN symbols s USING (sym)",
    "window_over_selection": "SELECT sym FROM (SELECT * FROM trades WHERE size > 10) [ROWS 5] x",
    "window_over_view": "SELECT AVG(worth) FROM big [PARTITION BY sym ROWS 3] "
    "HAVING AVG(worth) > 1",
    "resampled": "SELECT sym, price FROM RESAMPLE(trades, price, 1 MINUTE, LINEAR) r",
    "changes": "SELECT sym, size FROM orders WHERE size > 10",
    "sets": "SELECT sym FROM trades [NOW] UNION SELECT sym FROM symbols ORDER BY sym LIMIT 5",
    "time_text": "SELECT sym FROM trades [NOW] WHERE ts BETWEEN '2026-01-01' AND '2026-02-01'",
    "first_and_last": "SELECT sym, LAST(price) - FIRST(price) AS moved "
    "FROM trades [RANGE 1 MINUTE] GROUP BY sym",
    "not_in": "SELECT sym FROM trades [NOW] WHERE sym NOT IN (SELECT sym FROM symbols)",
    "own_functions": "SELECT ratio(price), hypot(AVG(price), 1.0) AS h "
    "FROM trades [RANGE 1 MINUTE]",
}


@pytest.mark.parametrize("name", PLANS)
def test_the_plan_of_a_query_is_on_file(name: str) -> None:
    assert_golden(f"cql/bind/{name}.txt", f"{PLANS[name]}\n\n{drawn(plan_of(PLANS[name]))}\n")


@pytest.mark.parametrize("name", PLANS)
def test_the_rewritten_plan_of_a_query_is_on_file(name: str) -> None:
    found = view_of(PLANS[name])
    assert_golden(f"cql/rewrite/{name}.txt", f"{PLANS[name]}\n\n{drawn(found.plan)}\n")


MISTAKES = {
    "SELECT prise FROM trades": ("unknown column 'prise'", "did you mean price?"),
    "SELECT t.prise FROM trades t": ("unknown column 't.prise'", "did you mean price?"),
    "SELECT trade.price FROM trades": ("unknown table 'trade'", "did you mean trades.price?"),
    "SELECT * FROM trade": ("unknown stream or table 'trade'", "did you mean trades?"),
    "SELECT * FROM trades [resent]": ("unknown window 'resent'", "did you mean recent?"),
    "SELECT x.* FROM trades": ("unknown table 'x'", "name it in FROM"),
    "SELECT sym FROM trades [NOW], quotes [NOW]": ("column 'sym' is ambiguous", "trades.sym"),
    "SELECT 1 FROM trades [NOW], trades [NOW]": ("two sources are named 'trades'", "AS a"),
    "SELECT sym FROM trades WHERE COUNT(*) > 1": ("an aggregate cannot be inside WHERE", "HAVING"),
    "SELECT sym FROM trades HAVING price > 1": ("HAVING is for groups", "WHERE"),
    "SELECT price, COUNT(*) FROM trades GROUP BY sym": (
        "column price is neither grouped nor aggregated", "MAX(price)"),
    "SELECT SUM(COUNT(*)) FROM trades": ("an aggregate cannot be inside another", "subquery"),
    "SELECT sym FROM trades GROUP BY COUNT(*)": ("rows cannot be grouped by", "HAVING"),
    "SELECT sym FROM trades GROUP BY 2": ("there is no item 2", "count from 1"),
    "SELECT sym FROM trades [NOW] ORDER BY 2 LIMIT 1": ("there is no column 2", "count from 1"),
    "SELECT DISTINCT sym FROM trades [NOW] ORDER BY price": ("DISTINCT rows", "select it too"),
    "SELECT sym FROM symbols [NOW]": ("windows are for streams", "leave it out"),
    "SELECT sym FROM (SELECT sym, COUNT(*) AS n FROM trades GROUP BY sym) [ROWS 3] x": (
        "windows are for streams", "after the stream inside"),
    "SELECT * FROM orders [RANGE 1 MINUTE]": ("says what comes and goes", "leave the window out"),
    "SELECT * FROM packets [ROWS 5]": ("cannot be revised", "LATE ALLOW"),
    "SELECT * FROM slow [RANGE 1 SECOND]": ("not a whole number of ticks", "finer tick"),
    "SELECT * FROM trades [PARTITION BY who ROWS 1]": ("unknown column 'who'", "spelling"),
    "SELECT x.sym FROM (SELECT sym, sym FROM trades) x": ("two columns of a subquery", "AS sym_2"),
    "SELECT * FROM (SELECT DSTREAM(sym) FROM trades [NOW]) x": ("is a stream", "leave DSTREAM out"),
    "SELECT * FROM loop": ("view 'loop' is defined by itself", "leave it out"),
    "SELECT SUM(sym) FROM trades": ("sum needs numbers, not string", "aggregate a number"),
    "SELECT AVG(price, size) FROM trades": ("avg takes 1 argument", "CORR(x, y)"),
    "SELECT COUNT(price, size) FROM trades": ("count takes one argument", "COUNT(*)"),
    "SELECT FIRST(t.price) FROM trades [NOW] t, symbols s": (
        "does not know which row came first", "FIRST(t.price, ts)"),
    "SELECT MAX(DISTINCT price) FROM trades": ("max takes no DISTINCT", "COUNT"),
    "SELECT MAX(price WEIGHT size) FROM trades": ("max does not take this weight", "sum, avg"),
    "SELECT sym FROM trades WHERE price": ("a condition must be true or false", "compare"),
    "SELECT COUNT(*) FILTER (WHERE price) FROM trades": ("a condition must be true", "compare"),
    "SELECT sym FROM trades [NOW] WHERE price > (SELECT bid FROM quotes [NOW])": (
        "must give one row", "LIMIT 1"),
    "SELECT sym FROM trades [NOW] WHERE price > (SELECT MAX(bid), 1 FROM quotes [NOW])": (
        "must have one column", "select one"),
    "SELECT sym FROM trades [NOW] WHERE sym IN (SELECT sym, bid FROM quotes [NOW])": (
        "IN needs a subquery with one column", "select one"),
    "SELECT sym FROM trades [NOW] t WHERE price > "
    "(SELECT bid FROM quotes [NOW] q WHERE q.sym = t.sym)": ("must be one aggregate", "COUNT(*)"),
    "SELECT sym FROM trades [NOW] t WHERE NOT sym IN "
    "(SELECT sym FROM quotes [NOW] q WHERE q.bid < t.price)": (
        "must stand by itself", "NOT EXISTS"),
    "SELECT sym FROM trades [NOW] t WHERE size IN "
    "(SELECT COUNT(*) FROM quotes [NOW] q WHERE q.sym = t.sym)": ("one plain column", "EXISTS"),
    "SELECT sym FROM trades [NOW] GROUP BY sym HAVING COUNT(*) IN (SELECT 1 FROM symbols)": (
        "an aggregate cannot be looked up", "subquery in FROM"),
    "SELECT SUM((SELECT MAX(bid) FROM quotes [NOW])) FROM trades": (
        "a subquery cannot be inside an aggregate", "subquery in FROM"),
    "SELECT * FROM trades [NOW] t JOIN quotes [NOW] q ON EXISTS (SELECT 1 FROM symbols)": (
        "a subquery cannot be inside ON", "WHERE"),
    "SELECT sym FROM trades [NOW] UNION SELECT sym, bid FROM quotes [NOW]": (
        "different numbers of columns", "as many"),
    "SELECT sym FROM trades [NOW] UNION SELECT bid FROM quotes [NOW]": (
        "different types", "cast"),
    "SELECT * FROM RESAMPLE(trade, price, 1 MINUTE) r": ("unknown stream", "did you mean trades?"),
    "SELECT * FROM RESAMPLE(trades, sym, 1 MINUTE, LINEAR) r": ("is not a number", "LAST"),
    "SELECT * FROM RESAMPLE(slow, price, 1 SECOND) r": ("not a whole number of ticks", "multiple"),
}  # fmt: skip


@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake_says_what_to_write(text: str) -> None:
    what, hint = MISTAKES[text]
    with pytest.raises(StreamgaugeError) as caught:
        plan_of(text)
    assert what in caught.value.what
    assert hint in caught.value.hint
    assert caught.value.detail


def test_a_monotone_selection_is_the_stream_of_its_rows() -> None:
    implied = plan_of("SELECT * FROM trades WHERE price > 10")
    written = plan_of("SELECT ISTREAM(*) FROM trades [ROWS UNBOUNDED] WHERE price > 10")
    assert implied == written


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM trades [ROWS UNBOUNDED]",
        "SELECT COUNT(*) FROM trades",
        "SELECT sym FROM trades LIMIT 3",
        "SELECT sym FROM trades EXCEPT SELECT sym FROM quotes",
        "SELECT sym FROM orders",
        "SELECT sym FROM symbols",
    ],
)
def test_other_queries_are_relations(text: str) -> None:
    assert not isinstance(plan_of(text), Streamed)


def test_the_rows_of_a_standing_view_can_be_read_by_another_query() -> None:
    registry = market()
    view = view_of("SELECT sym, COUNT(*) AS n FROM trades [NOW] GROUP BY sym HAVING COUNT(*) > 1")
    registry.apply([{"do": "register", "queries": [view.as_dict()]}], epoch=1)
    plan = plan_of("SELECT sym FROM q WHERE n > 2", registry)
    assert view.plan in set(plan.walk())


def _with_number_queries() -> Registry:
    registry = market()
    window = Range("1 minute")
    heat = Query("heat", "trades", avg("price"), window="recent", group_by=("sym",))
    users = Query("users", "trades", distinct("sym"), window=window,
                  contract=Contract.relative(0.05, confidence=0.9))  # fmt: skip
    top = Query("top", "trades", top_k("sym", 3), window=window, answer=on_close())
    asked = [query.as_dict() for query in (heat, users, top)]
    assert not registry.apply([{"do": "register", "queries": asked}], epoch=1)
    return registry


def test_answers_of_a_query_of_numbers_can_be_read_as_rows() -> None:
    registry = _with_number_queries()
    text = "SELECT sym, value / 2 AS half FROM heat WHERE value > 1"
    plan = plan_of(text, registry)
    assert schema_of(plan, {}).columns == (("sym", "string"), ("half", "float"))
    assert not isinstance(plan, Streamed)
    carried = schema_of(view_of(text, registry).plan, {}).names
    assert carried == ("sym", "half", "half.low", "half.high", "confidence")


def test_how_surely_the_bars_of_numbers_hold_is_known() -> None:
    registry = _with_number_queries()
    for name, least in (("heat", 1.0), ("users", 0.9)):
        numbers = plan_of(f"SELECT * FROM {name}", registry).walk()
        (found,) = (node for node in numbers if isinstance(node, Numbers))
        assert least <= found.confidence <= 1.0


def test_a_list_is_no_row() -> None:
    with pytest.raises(BindError, match="cannot be read as rows"):
        plan_of("SELECT * FROM top", _with_number_queries())


def test_a_query_without_from_is_refused() -> None:
    query = query_of("SELECT sym FROM trades")
    assert isinstance(query, Select)
    with pytest.raises(BindError, match="needs FROM"):
        bind(replace(query, source=None), market())


def test_the_same_text_gives_the_same_plan() -> None:
    for text in PLANS.values():
        assert plan_of(text) == plan_of(text)
