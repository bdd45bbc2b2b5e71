"""Deferral in the planner: what is deferred, what it is lowered from, who shares it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.contracts.contract import Contract
from streamgauge.kernel.errors import BindError, StreamgaugeError, UnsupportedWindow
from streamgauge.operators.aggregate import Aggregate, avg, corr, count, maximum, total, var
from streamgauge.operators.predicate import col
from streamgauge.plan.answers_as_rows import answers_as_rows
from streamgauge.plan.bidding import bids, taken
from streamgauge.plan.explain import explain
from streamgauge.plan.explain_deferral import deferral_lines
from streamgauge.plan.latest import deferred
from streamgauge.plan.members import Members
from streamgauge.plan.offer import Offer, Refusal, Statistics
from streamgauge.plan.over import Over
from streamgauge.plan.query import Cadence, Query, every, on_change, on_close
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.sharing import piece_of, share
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Stream
from streamgauge.streams.table import Table
from streamgauge.windows.window import Landmark, Range, Rows
from streamgauge.work.deferral.technique import TECHNIQUE, DeferralKey, fidelity
from streamgauge.work.latest.technique import LatestKey
from streamgauge.work.windows.technique import PaneKey
from tests.plan.market import market, queries_of, view_of

NEWEST = "trades [PARTITION BY sym ROWS 1]"
PAIR = f"{NEWEST} q, holdings h"
OWED = Contract.absolute(0.5, confidence=0.9)
HELD = Members("holdings", "sym", ("portfolio",), "shares")
HALF_HOUR = Over("max", Range("30 minutes"))


def exchange() -> Registry:
    """The market with a table of who holds what."""
    registry = market()
    schema = Schema.of(
        portfolio="string", sym="string", shares="float", price="float", since="time"
    )
    registry.tables["holdings"] = Table("holdings", schema, "holdings.parquet", "holdings.csv")
    registry.names["levels"] = f"SELECT AVG(price) AS level FROM {NEWEST}"
    return registry


def query(**more: Any) -> Query:
    """A query over latest values, deferred unless told otherwise."""
    return Query(
        **{"name": "q", "stream": "trades", "select": avg("price"), "contract": OWED, **more}
    )


def registered(*queries: Query) -> Registry:
    """The exchange with queries."""
    registry = exchange()
    for one in queries:
        registry.take("register", one, epoch=1)
    return registry


LOWERED = {
    f"SELECT AVG(price) FROM {NEWEST} WITHIN 0.5 CONFIDENCE 0.9":
        query(),
    f"SELECT AVG(price) FROM {NEWEST} ON CHANGE WITHIN 0.5 CONFIDENCE 90% FROM NOW":
        query(history=False),
    f"SELECT SUM(size) FROM {NEWEST} WHERE sym IN ('a', 'b') WITHIN 1 PERCENT THROUGHOUT":
        query(
            select=total("size"),
            series=("a", "b"),
            contract=Contract.relative(0.01, confidence=0.95, throughout=True),
        ),
    f"SELECT buy, size, MAX(price) FROM {NEWEST} GROUP BY buy, size WITHIN 0.5 CONFIDENCE 0.9":
        query(select=maximum("price"), group_by=("buy", "size")),
    f"SELECT AVG(price) FROM {NEWEST} WITHIN 0.5 CONFIDENCE 0.9 WITH TREND BY WATCH":
        query(trend=True, regime="watch"),
    f"SELECT h.portfolio, SUM(q.price * h.shares) FROM {PAIR} WHERE q.sym = h.sym "
    "GROUP BY h.portfolio WITHIN 0.5 CONFIDENCE 0.9":
        query(select=total("price"), members=HELD),
    f"SELECT SUM(h.shares * q.price), h.portfolio FROM holdings h JOIN {NEWEST} q "
    "ON h.sym = q.sym GROUP BY h.portfolio WITHIN 0.5 CONFIDENCE 0.9":
        query(select=total("price"), members=HELD),
    f"SELECT portfolio, AVG(q.price WEIGHT h.shares) FROM {NEWEST} q JOIN holdings h USING (sym) "
    "GROUP BY portfolio WITHIN 0.5 CONFIDENCE 0.9":
        query(members=HELD),
    f"SELECT h.portfolio AS p, AVG(q.price) FROM {PAIR} WHERE h.sym = q.sym GROUP BY h.portfolio "
    "WITHIN 0.5 CONFIDENCE 0.9":
        query(members=replace(HELD, weight=None)),
    f"SELECT q.sym, COUNT(q.price) FROM {PAIR} WHERE h.sym = q.sym GROUP BY q.sym "
    "WITHIN 0.5 CONFIDENCE 0.9":
        query(select=count("price"), members=Members("holdings", "sym", ("sym",))),
    f"SELECT SUM(q.price) FROM {PAIR} WHERE h.sym = q.sym AND h.shares > 10 "
    "AND h.portfolio IN ('x', 'y') GUARANTEED WITHIN 0.5":
        query(
            select=total("price"),
            contract=Contract.absolute(0.5),
            members=Members(
                "holdings",
                "sym",
                where=(col("shares") > 10) & col("portfolio").isin("x", "y"),
            ),
        ),
    f"SELECT MAX(level) FROM (SELECT AVG(price) AS level FROM {NEWEST}) [RANGE 30 MINUTES] "
    "WITHIN 0.5 CONFIDENCE 0.9":
        query(over=HALF_HOUR),
    "SELECT MIN(level) FROM levels [SINCE '2026-01-01'] WITHIN 0.5 CONFIDENCE 0.9 BY TIMER":
        query(over=Over("min", Landmark("2026-01-01")), regime="timer"),
    "SELECT MAX(level) FROM levels [recent]":
        query(over=Over("max", Range("5 minutes")), contract=Contract()),
    f"WITH lv AS (SELECT AVG(price) AS level FROM {NEWEST}) "
    "SELECT MAX(level) FROM lv [RANGE 30 MINUTES] WITHIN 0.5 CONFIDENCE 0.9":
        query(over=HALF_HOUR),
    f"SELECT buy, MAX(level) FROM (SELECT buy, AVG(price) AS level FROM {NEWEST} GROUP BY buy) "
    "[RANGE 30 MINUTES] GROUP BY buy":
        query(over=HALF_HOUR, group_by=("buy",), contract=Contract()),
    f"SELECT p, MAX(level) FROM (SELECT h.portfolio AS p, SUM(q.price * h.shares) AS level "
    f"FROM {PAIR} WHERE q.sym = h.sym GROUP BY h.portfolio) [RANGE 30 MINUTES] GROUP BY p "
    "WITHIN 0.5 CONFIDENCE 0.9":
        query(select=total("price"), over=HALF_HOUR, members=HELD),
}  # fmt: skip


@pytest.mark.parametrize("text", LOWERED)
def test_a_text_is_lowered_to_one_deferred_query(text: str) -> None:
    registry = exchange()
    (found,) = queries_of(text, registry)
    assert found == LOWERED[text]
    assert deferred(found)
    registry.take("register", found, epoch=1)
    assert isinstance(piece_of(registry, registry.query("q")), DeferralKey)
    assert taken(found).technique == "deferral"
    assert Query.from_dict(found.as_dict()) == found


NOT_DEFERRED = {
    f"SELECT AVG(price) FROM {NEWEST}": "avg(price) of all series of trades, on change, exact",
    f"SELECT AVG(price) FROM {NEWEST} GUARANTEED WITHIN 0.5 THROUGHOUT":
        "avg(price) of all series of trades, on change of 0.5, within 0.5",
    f"SELECT AVG(price) FROM {NEWEST} EVERY 1 MINUTE WITHIN 0.5":
        "avg(price) of all series of trades, every 1 min, within 0.5 for 95% of the time",
    f"SELECT AVG(price) FROM {NEWEST} ON CHANGE OF 0.1 WITHIN 0.5":
        "avg(price) of all series of trades, on change of 0.1, within 0.5 for 95% of the time",
    f"SELECT VAR(price) FROM {NEWEST} WITHIN 0.5":
        "var(price) of all series of trades, on change of 0.5, within 0.5 for 95% of the time",
    f"SELECT buy, AVG(price) FROM {NEWEST} GROUP BY buy":
        "avg(price) from trades [partition by sym rows 1] group by buy, on change, exact",
    f"SELECT buy, AVG(price) FROM {NEWEST} GROUP BY buy GUARANTEED WITHIN 0.5":
        "avg(price) from trades [partition by sym rows 1] group by buy, on change of 0.5, "
        "within 0.5",
    f"SELECT price, AVG(size) FROM {NEWEST} GROUP BY price WITHIN 0.5":
        "avg(size) from trades [partition by sym rows 1] group by price, on change of 0.5, "
        "within 0.5 at 95% confidence",
    f"SELECT AVG(price) FROM {NEWEST} WHERE size > 1 WITHIN 0.5":
        "avg(price) from trades [partition by sym rows 1] where size > 1, on change of 0.5, "
        "within 0.5 at 95% confidence",
    "SELECT AVG(price) FROM trades [PARTITION BY sym ROWS 2] WITHIN 0.5 THROUGHOUT":
        "avg(price) from trades [partition by sym rows 2], on change of 0.5, within 0.5",
}  # fmt: skip


@pytest.mark.parametrize("text", NOT_DEFERRED)
def test_what_owes_an_answer_at_each_tick_is_not_deferred(text: str) -> None:
    (found,) = queries_of(text)
    assert str(found) == NOT_DEFERRED[text]
    assert not deferred(found)
    assert taken(found).technique == (
        "latest values" if found.window is None else "windows of rows"
    )


@pytest.mark.parametrize("terms", ["", "EXACT"])
def test_an_exact_family_answers_rows(terms: str) -> None:
    text = f"SELECT h.portfolio, SUM(q.price) FROM {PAIR} WHERE q.sym = h.sym GROUP BY h.portfolio"
    assert view_of(f"{text} {terms}", exchange()).tables == ("holdings",)


@pytest.mark.parametrize(
    ("selected", "where"),
    [
        ("SUM(q.price * h.shares + 1)", "q.sym = h.sym"),
        ("SUM(q.price * q.size)", "q.sym = h.sym"),
        ("SUM(h.shares)", "q.sym = h.sym"),
        ("MAX(q.price * h.shares)", "q.sym = h.sym"),
        ("COUNT(*)", "q.sym = h.sym"),
        ("VAR(q.price)", "q.sym = h.sym"),
        ("SUM(q.price)", "q.sym = h.sym AND q.size > 1"),
        ("SUM(q.price)", "q.sym = h.sym AND q.sym = h.portfolio"),
        ("SUM(q.price)", "q.price = h.price"),
        ("SUM(q.price)", "q.sym = h.sym AND h.shares + 1 > h.price"),
        ("SUM(q.price) + 1", "q.sym = h.sym"),
    ],
)
def test_other_joins_stay_rows_which_have_no_tolerance(selected: str, where: str) -> None:
    text = f"SELECT {selected} FROM {PAIR} WHERE {where}"
    assert view_of(text, exchange()).tables == ("holdings",)
    with pytest.raises(StreamgaugeError, match="a tolerance is for numbers"):
        queries_of(f"{text} WITHIN 1 CONFIDENCE 0.9", exchange())


def test_several_aggregates_are_several_queries_of_one_piece() -> None:
    text = f"SELECT buy, SUM(price) AS s, MIN(price) AS low FROM {NEWEST} GROUP BY buy WITHIN 1"
    found = queries_of(text, exchange())
    assert [one.name for one in found] == ["q.s", "q.low"]
    registry = registered(*found)
    plan = share(registry, registry.stream("trades"))
    assert [len(standings) for standings in plan.operators.values()] == [2]


# Python values

WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "filter": ({"where": col("size") > 1}, "filter"),
    "on close": ({"answer": on_close()}, "on close"),
    "extreme of an extreme": (
        {"select": maximum("price"), "over": HALF_HOUR},
        "of a sum or an avg",
    ),
    "extreme every minute": ({"over": HALF_HOUR, "answer": every("1 minute")}, "an extreme"),
    "groups of a step": ({"group_by": ("buy",), "answer": on_change(0.1)}, "has groups"),
    "groups of a variance": ({"group_by": ("buy",), "select": var("price")}, "has groups"),
    "groups by a float": ({"group_by": ("price",)}, "cannot tell cells apart"),
    "groups by a stranger": ({"group_by": ("who",)}, "unknown column"),
    "groups in rank": (
        {"group_by": ("buy",), "contract": Contract.rank(0.1, confidence=0.9)},
        "has groups",
    ),
    "members and series": ({"members": HELD, "series": ("a",)}, "names series or groups"),
    "members and groups": ({"members": HELD, "group_by": ("buy",)}, "names series or groups"),
    "no such table": ({"members": replace(HELD, table="held")}, "no table named 'held'"),
    "no such column": ({"members": replace(HELD, series="symbol")}, "no column 'symbol'"),
    "no such weight": ({"members": replace(HELD, weight="n")}, "no column 'n'"),
    "no such condition": ({"members": replace(HELD, where=col("n") > 1)}, "no column 'n'"),
    "weight of text": ({"members": replace(HELD, weight="portfolio")}, "is no weight"),
    "series of floats": ({"members": replace(HELD, series="shares")}, "cannot name series"),
    "cells by time": ({"members": replace(HELD, by=("since",))}, "cannot tell cells apart"),
    "weighted maximum": ({"members": HELD, "select": maximum("price")}, "takes no weight"),
    "unknown regime": ({"regime": "clock"}, "unknown regime"),
    "exact by timer": ({"regime": "timer", "contract": Contract()}, "not deferred"),
    "sure by timer": (
        {"regime": "timer", "group_by": ("buy",), "contract": Contract.absolute(0.5)},
        "a timer lets values pass",
    ),
    "trend of a maximum": ({"trend": True, "select": maximum("price")}, "no trend"),
    "trend of an extreme": ({"trend": True, "over": HALF_HOUR}, "no trend"),
    "trend of an exact value": ({"trend": True, "contract": Contract()}, "no trend"),
    "extreme of a window": ({"over": HALF_HOUR, "window": Rows(3)}, "for queries over latest"),
    "members of a window": ({"members": HELD, "window": Rows(3)}, "for queries over latest"),
    "regime of a window": ({"regime": "watch", "window": Rows(3)}, "for queries over latest"),
    "trend of a window": ({"trend": True, "window": Rows(3)}, "for queries over latest"),
    "ticks": ({"over": Over("max", Range("1500 ms"))}, "whole number of ticks"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_deferred_is_refused_in_three_parts(name: str) -> None:
    more, what = WRONG[name]
    with pytest.raises(StreamgaugeError, match=what) as caught:
        registered(query(**more))
    assert all((caught.value.what, caught.value.detail, caught.value.hint))


def test_members_need_a_single_key() -> None:
    registry = exchange()
    two = replace(registry.stream("trades"), name="two", key=("sym", "buy"))
    registry.streams["two"] = two
    with pytest.raises(BindError, match="no single name"):
        registry.take("register", query(stream="two", members=HELD), epoch=1)


def test_an_extreme_is_of_a_plain_window_of_time() -> None:
    for window in (Range("1 hour", slide="1 minute"), Rows(3)):
        with pytest.raises(UnsupportedWindow):
            Over("max", window)
    with pytest.raises(BindError, match="unknown extreme"):
        Over("avg", Range("1 hour"))


CONTRACTS = st.sampled_from(
    (
        Contract(),
        OWED,
        Contract.absolute(0.5),
        Contract.relative(0.01, confidence=0.9, throughout=True),
        Contract.relative(0.01),
        Contract.rank(0.1, confidence=0.9),
    )
)
CADENCES: st.SearchStrategy[Cadence] = st.sampled_from((on_change(), on_change(0.1), every("1 s")))
SELECTS: st.SearchStrategy[Aggregate] = st.sampled_from(
    (
        avg("price"),
        total("price"),
        maximum("price"),
        count("price"),
        var("price"),
        corr("price", "size"),
    )
)
QUERIES = st.builds(
    query,
    select=SELECTS,
    contract=CONTRACTS,
    answer=CADENCES,
    series=st.sampled_from((None, ("a", "b"))),
    group_by=st.sampled_from(((), ("buy",))),
    window=st.sampled_from((None, None, Range("1 minute"))),
    over=st.sampled_from((None, HALF_HOUR)),
    members=st.sampled_from((None, HELD, replace(HELD, weight=None, where=col("shares") > 1))),
    regime=st.sampled_from(("", "timer", "watch")),
    trend=st.booleans(),
)


@given(QUERIES)
def test_what_is_registered_is_deferred_by_one_rule(asked: Query) -> None:
    """Who offers, who is chosen and who shares the work all go by `deferred`."""
    try:
        registry = registered(asked)
    except StreamgaugeError:
        return
    key = piece_of(registry, registry.query("q"))
    chosen = taken(asked).technique
    assert (chosen == "deferral") == deferred(asked) == isinstance(key, DeferralKey)
    assert isinstance(key, (DeferralKey, LatestKey)) == (asked.window is None)
    assert explain(registry, "q", shards=2, epoch=1)


@given(QUERIES)
def test_a_query_comes_back_from_its_json_and_defaults_are_left_out(asked: Query) -> None:
    found = asked.as_dict()
    assert Query.from_dict(found) == asked
    for name, unset in (("over", None), ("members", None), ("regime", ""), ("trend", False)):
        assert (name in found) == (getattr(asked, name) != unset)
    assert ("throughout" in asked.contract.as_dict()) == asked.contract.throughout


# Offers


def test_deferral_is_taken_where_exact_work_offers_too() -> None:
    offers, refusals = bids(query(), Statistics())
    assert [offer.technique for offer in offers] == ["deferral", "latest values"]
    assert all(not refusal.reason for refusal in refusals)
    for more in ({"over": HALF_HOUR}, {"members": HELD}, {"group_by": ("buy",)}):
        offers, _ = bids(query(**more), Statistics())
        assert [offer.technique for offer in offers] == ["deferral"]


def test_the_law_is_of_the_share_of_ticks() -> None:
    bid = TECHNIQUE.offer(query(), Statistics())
    assert isinstance(bid, Offer)
    assert (bid.guarantee.law, bid.guarantee.epsilon, bid.guarantee.delta) == ("absolute", 0.5, 0.1)
    assert bid.guarantee.assumes == ("fidelity over time: share of ticks with rows",)
    assert fidelity(Contract.relative(0.01, confidence=0.9)).law == "relative"
    assert fidelity(Contract()).law == "exact"
    refused = TECHNIQUE.offer(query(contract=Contract()), Statistics())
    assert refused == Refusal("deferral")


# Sharing and the registry


def test_a_piece_reads_keys_groups_and_the_column() -> None:
    registry = registered(
        query(), query(name="by", group_by=("buy",)), query(name="n", members=HELD)
    )
    plan = share(registry, registry.stream("trades"))
    (key,) = plan.operators
    assert key == DeferralKey("price")
    assert key.text() == '["drift", "price"]'
    assert [one.name for one in plan.operators[key]] == ["q", "by", "n"]
    assert (plan.numbers(), plan.words()) == (("price",), ("sym", "buy"))


def test_pieces_of_each_kind_live_beside_each_other() -> None:
    exact = query(name="e", contract=Contract())
    windowed = query(name="w", window=Range("1 minute"))
    registry = registered(query(), exact, windowed)
    plan = share(registry, registry.stream("trades"))
    kinds = [type(piece_of(registry, registry.query(name))) for name in ("q", "e", "w")]
    assert kinds == [DeferralKey, LatestKey, PaneKey]
    assert {type(key) for key in plan.operators} == {DeferralKey, LatestKey, PaneKey}
    assert len(plan.operators) == 3


def test_a_table_of_members_stays_while_a_query_reads_it() -> None:
    registry = registered(query(members=HELD))
    assert registry.query("q").query.tables == ("holdings",)
    (refused,) = registry.apply([{"do": "drop table", "name": "holdings"}], epoch=2)
    assert refused.what == "table 'holdings' is in use"


def test_answers_of_a_family_are_rows_by_the_columns_of_its_table() -> None:
    registry = registered(query(members=HELD), query(name="by", group_by=("buy",)))
    family = answers_as_rows(registry.query("q"), registry)
    assert family.schema.columns[0] == ("portfolio", "string")
    assert family.confidence == 0.9
    groups = answers_as_rows(registry.query("by"), registry)
    assert groups.schema.columns[0] == ("buy", "bool")


def test_a_capacity_is_part_of_a_stream() -> None:
    plain = exchange().stream("trades")
    assert "capacity" not in plain.as_dict()
    bound = replace(plain, capacity=1000)
    assert Stream.from_dict(bound.as_dict()) == bound
    with pytest.raises(BindError, match="capacity"):
        replace(plain, capacity=0)


@pytest.mark.parametrize(
    ("capacity", "pools"),
    [
        (1_000, "one pool of cells, 1,000 values read a tick"),
        (100_000, "8 pools of cells, each 12,500 values read a tick"),
    ],
)
def test_explain_says_how_a_capacity_is_divided(capacity: int, pools: str) -> None:
    asked = Query("q", "s", avg("x"), contract=OWED)
    lines = deferral_lines(Standing(1, asked), "", capacity)
    assert lines[1] == (f"Evaluate within CAPACITY {capacity:,}", f"spends 0, {pools}")
