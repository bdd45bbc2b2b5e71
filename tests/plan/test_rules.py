"""Each rule keeps the rows of any plan at every instant; what it does is on file."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streamgauge.operators.expression import Expr, column, literal
from streamgauge.operators.functions import in_force
from streamgauge.plan.nodes import Filter, Join, Node, Scan, Windowed
from streamgauge.plan.rewrite import RULES, rewrite
from streamgauge.plan.rules import (
    drop_unused_columns,
    equality_closure,
    push_filter_below_time_window,
)
from streamgauge.plan.schema_of import schema_of
from streamgauge.plan.tree import drawn
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Stream
from streamgauge.windows.window import Partition, Range, Rows, Session, Window
from tests.goldens import assert_golden
from tests.kit.feeds import FUNCTIONS, GIVEN, Feed, feeds
from tests.kit.plans import plans
from tests.kit.rows import alike
from tests.oracles.reference import Row
from tests.oracles.rows import World, relation
from tests.plan.market import market, plan_of

pytestmark = pytest.mark.slow

ALL = (*RULES, drop_unused_columns)
# Filters above what a rule is about, so that most plans give it something to do.
KINDS = {
    "drop_order": ("order", "filter", "project"),
    "merge_filters": ("filter",),
    "merge_projects": ("project", "filter"),
    "push_filter_below_project": ("filter", "project"),
    "push_filter_below_time_window": ("filter",),
    "push_filter_below_group": ("filter", "group"),
    "distinct_below_set": ("combine", "project", "filter"),
    "push_filter_below_set": ("filter", "combine", "distinct"),
    "push_filter_below_join": ("filter", "join"),
    "flatten_joins": ("join", "filter"),
    "equality_closure": ("filter", "join"),
    "constant_folding": ("filter", "project", "join"),
    "drop_unused_columns": ("project", "group", "join", "order", "filter"),
}
STOCK = frozenset({"stock"})
QUICK = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=40)


@pytest.fixture(autouse=True, scope="module")
def functions_in_force() -> Iterator[None]:
    with in_force(given=GIVEN):
        yield


def _name(rule: ModuleType) -> str:
    return rule.__name__.rpartition(".")[2]


def _applied(rule: ModuleType, plan: Node) -> Node:
    if rule is drop_unused_columns:
        return drop_unused_columns.apply(plan, FUNCTIONS, STOCK)
    changed: Node = rule.apply(plan, FUNCTIONS)
    return changed


def _assert_same(feed: Feed, plan: Node, changed: Node) -> None:
    assert schema_of(changed, FUNCTIONS) == schema_of(plan, FUNCTIONS)
    world = feed.world()
    for instant in world.instants(feed.end)[::2]:
        assert alike(relation(changed, world, instant)) == alike(relation(plan, world, instant))


@pytest.mark.parametrize("rule", ALL, ids=_name)
@given(data=st.data())
@QUICK
def test_a_rule_keeps_every_row(rule: ModuleType, data: st.DataObject) -> None:
    feed = data.draw(feeds(max_rows=5))
    plan = data.draw(plans(feed, depth=4, sources=3, kinds=KINDS[_name(rule)]))
    changed = _applied(rule, plan)
    if changed != plan:
        _assert_same(feed, plan, changed)


@given(data=st.data())
@settings(QUICK, max_examples=120)
def test_all_rules_together_keep_every_row(data: st.DataObject) -> None:
    feed = data.draw(feeds(max_rows=5))
    plan = data.draw(plans(feed))
    changed = rewrite(plan, FUNCTIONS, STOCK)
    assert rewrite(changed, FUNCTIONS, STOCK) == changed
    if changed != plan:
        _assert_same(feed, plan, changed)


EXAMPLES = {
    "distinct_below_set": "SELECT sym FROM trades EXCEPT SELECT sym FROM quotes [NOW]",
    "drop_order": "SELECT sym FROM trades WHERE price > 1 ORDER BY size",
    "merge_filters": "SELECT sym FROM (SELECT * FROM trades [NOW] WHERE price > 1) x "
    "WHERE size > 2 AND price > 1",
    "merge_projects": "SELECT x.worth * 2 AS twice FROM (SELECT price * size AS worth "
    "FROM trades [NOW]) x",
    "push_filter_below_project": "SELECT worth FROM (SELECT sym, price * size AS worth "
    "FROM trades [NOW]) x WHERE worth > 100",
    "push_filter_below_time_window": "SELECT sym FROM trades [RANGE 1 MINUTE] WHERE price > 1",
    "push_filter_below_group": "SELECT sym, COUNT(*) AS n FROM trades [NOW] GROUP BY sym "
    "HAVING sym = 'a' AND COUNT(*) > 1",
    "push_filter_below_set": "SELECT sym FROM (SELECT sym FROM trades [NOW] "
    "EXCEPT SELECT sym FROM quotes [NOW]) x WHERE sym > 'm'",
    "push_filter_below_join": "SELECT t.sym FROM trades [ROWS 9] t, quotes [ROWS 9] q "
    "WHERE t.sym = q.sym AND t.price > q.ask AND t.size > 5 AND q.bid > 1",
    "flatten_joins": "SELECT t.sym FROM trades [NOW] t JOIN quotes [NOW] q ON t.sym = q.sym "
    "JOIN symbols s ON s.sym = q.sym",
    "equality_closure": "SELECT t.sym FROM trades [NOW] t JOIN quotes [NOW] q ON t.sym = q.sym "
    "WHERE t.sym IN ('a', 'b')",
    "constant_folding": "SELECT price * (2 + 3) AS more FROM trades [NOW] "
    "WHERE price > 60 * 2 AND 1 < 2 AND NOT FALSE",
    "drop_unused_columns": "SELECT t.sym, COUNT(*) AS n FROM trades [PARTITION BY sym ROWS 2] t, "
    "quotes [NOW] q WHERE t.size < q.bid GROUP BY t.sym",
}


@pytest.mark.parametrize("rule", ALL, ids=_name)
def test_what_a_rule_does_is_on_file(rule: ModuleType) -> None:
    text = EXAMPLES[_name(rule)]
    plan = plan_of(text)
    changed: Node = rule.apply(plan, market().functions)
    assert changed != plan
    assert_golden(f"cql/rules/{_name(rule)}.txt", f"{text}\n\n{drawn(plan)}\n\n{drawn(changed)}\n")


def test_every_rule_says_its_law() -> None:
    for rule in ALL:
        assert rule.__doc__ is not None
        assert "Law: " in rule.__doc__, rule.__name__


TICKS = Schema.of(k="string", ts="time", v="int")
ODD = Expr("=", (Expr("%", (column("v"), literal(2))), literal(1)))


@pytest.mark.parametrize("window", [Rows(1), Partition("k", 1), Session("10 s")], ids=str)
def test_a_filter_and_a_window_of_rows_do_not_commute(window: Window) -> None:
    stream = Stream("s", TICKS, "ts", ("k",), ())
    world = World.of(stream)
    # A session is kept going by the even row that the filter would leave out.
    world.land("s", [Row(t * 1_000_000, {"k": "a", "v": v}) for t, v in ((1, 1), (6, 2), (12, 3))])
    world.advance("s", 30_000_000)
    scan = Scan("s", TICKS)
    above, below = Filter(Windowed(scan, window), ODD), Windowed(Filter(scan, ODD), window)
    instants = range(1_000_000, 15_000_000, 1_000_000)
    differ = [t for t in instants if relation(above, world, t) != relation(below, world, t)]
    assert differ
    assert push_filter_below_time_window.apply(above, {}) == above


def test_a_filter_on_the_key_goes_below_a_window_by_key() -> None:
    scan, same = Scan("s", TICKS), Expr("=", (column("k"), literal("a")))
    for window in (Partition("k", 2), Session("10 s", "k"), Range("1 s")):
        plan = Filter(Windowed(scan, window), same)
        pushed = push_filter_below_time_window.apply(plan, {})
        assert pushed == Windowed(Filter(scan, same), window)


@pytest.mark.parametrize("window", [Partition("k", 1), Session("10 s", "k")], ids=str)
def test_a_filter_on_the_key_and_another_column_stays_above_a_window_by_key(
    window: Window,
) -> None:
    either = Expr("or", (Expr("=", (column("k"), literal("a"))), ODD))
    plan = Filter(Windowed(Scan("s", TICKS), window), either)
    assert push_filter_below_time_window.apply(plan, {}) == plan


def test_a_condition_on_the_right_stays_above_a_left_join() -> None:
    plan = rewrite(
        plan_of(
            "SELECT t.sym FROM trades [NOW] t LEFT JOIN symbols s ON t.sym = s.sym AND t.size > 1 "
            "WHERE s.sector IS NULL AND t.price > 1"
        ),
        {},
    )
    joins = [node for node in plan.walk() if isinstance(node, Join)]
    assert str(joins[0].on) == "t.sym = s.sym AND t.size > 1"
    above = [node for node in plan.walk() if isinstance(node, Filter)]
    assert [str(node.where) for node in above] == ["s.sector IS NULL", "price > 1"]


def test_a_condition_on_the_key_keeps_rows_of_a_left_join_without_a_partner() -> None:
    registry = market()
    plan = plan_of(
        "SELECT t.sym, s.sector FROM trades [RANGE 9 SECONDS] t "
        "LEFT JOIN symbols s ON t.sym = s.sym WHERE t.sym = 'a'"
    )
    world = World.of(registry.streams["trades"])
    world.store("symbols", [{"sym": "b", "sector": "x", "since": 0}], 0)
    row = {"sym": "a", "price": 1.0, "size": 1, "buy": True}
    world.land("trades", [Row(1_000_000, row)])
    world.advance("trades", 5_000_000)
    for changed in (plan, equality_closure.apply(plan, {}), rewrite(plan, {})):
        assert list(relation(changed, world, 2_000_000)) == [("a", None)]


def test_streams_that_take_rows_back_keep_their_columns() -> None:
    plan = plan_of("SELECT sym FROM orders")
    kept = drop_unused_columns.apply(plan, {}, frozenset({"orders"}))
    assert kept == plan
    assert drop_unused_columns.apply(plan, {}) != plan


def test_equal_parts_of_a_plan_stay_equal() -> None:
    plan = plan_of(
        "WITH t AS (SELECT sym, SUM(size) AS s FROM trades GROUP BY sym) "
        "SELECT sym FROM t a WHERE a.s > (SELECT AVG(s) FROM t)"
    )
    scans = {node for node in rewrite(plan, {}).walk() if isinstance(node, Scan)}
    assert len(scans) == 1
