"""The reference for rows against relations worked out by hand."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from streamgauge.kernel.time import SECOND
from streamgauge.operators.expression import Expr, call, column, literal
from streamgauge.operators.functions import in_force
from streamgauge.plan.nodes import (
    Combined,
    Distinct,
    Filter,
    Grouped,
    Join,
    Node,
    Ordered,
    Project,
    Resampled,
    Scan,
    Stored,
    Streamed,
    Windowed,
)
from streamgauge.plan.query import every
from streamgauge.plan.view import View
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Late, Stream
from streamgauge.windows.window import (
    Landmark,
    Now,
    Partition,
    Range,
    Rows,
    Session,
    Unbounded,
    Window,
)
from tests.kit.feeds import FUNCTIONS, GIVEN
from tests.oracles.reference import Row
from tests.oracles.rows import World, answers, relation

pytestmark = pytest.mark.slow

COLUMNS = Schema.of(ts="time", a="int", k="string", x="float")
ROOMS = Schema.of(a="int", b="string")


@pytest.fixture(autouse=True, scope="module")
def functions_in_force() -> Iterator[None]:
    with in_force(given=GIVEN):
        yield


def stream(name: str, late: Late | None = None, tick: int = SECOND) -> Stream:
    return Stream(name, COLUMNS, "ts", (), (), tick=tick, late=late or Late.drop(), future=None)


def rows(*cells: tuple[float, Any], name: str = "a") -> list[Row]:
    """Rows from pairs of a time in seconds and the value of one column."""
    return [Row(round(t * SECOND), {name: value}) for t, value in cells]


def world(**found: list[Row]) -> World:
    made = World.of(*(stream(name) for name in found))
    for name, landed in found.items():
        made.land(name, landed)
    return made


def scan(name: str, *columns: str) -> Scan:
    types = COLUMNS.as_dict()
    return Scan(name, Schema.of(**{c: types[c] for c in columns or ("a",)}))


def window(name: str, over: Window, *columns: str) -> Windowed:
    return Windowed(scan(name, *columns), over)


def held(node: Node, found: World, second: float) -> list[tuple[Any, ...]]:
    """Rows at an instant in order, each as often as it is there."""
    bag = relation(node, found, round(second * SECOND))
    whole = [row for row, count in bag.items() for _ in range(count)]
    return sorted(whole, key=lambda row: [(cell is None, cell) for cell in row])


def values(node: Node, found: World, *seconds: float) -> list[list[Any]]:
    """The one column of a relation at some instants."""
    return [[row[0] for row in held(node, found, second)] for second in seconds]


def given(view: View, found: World, *seconds: int, since: int | None = None) -> list[Any]:
    """Answers with instants in seconds."""
    checked = [second * SECOND for second in seconds]
    born = None if since is None else since * SECOND
    return [(at // SECOND, row, count) for at, row, count in answers(view, found, checked, born)]


def equal(one: str, other: str) -> Expr:
    return Expr("=", (column(one), column(other)))


def agg(name: str, *args: Expr) -> Expr:
    return Expr("aggregate", args, name)


COUNT = agg("count", Expr("star"))
A, B = column("a"), column("b")


def test_a_filter_over_a_stream_is_the_stream_of_what_came() -> None:
    found = world(s=rows((1, 11), (2, 5), (3, 12), (3, 12)))
    plan = Filter(window("s", Unbounded()), Expr(">", (A, literal(10))))
    view = View("v", Streamed(plan, "istream"))
    assert given(view, found, 1, 2, 3, 4) == [(1, (11,), 1), (3, (12,), 2)]


def test_two_windows_joined_are_a_relation() -> None:
    """S1 [Rows 2], S2 [Range 2 s] where S1.a = S2.a and S1.a > 10."""
    found = world(s1=rows((1, 11), (2, 9), (4, 11)), s2=rows((1, 9), (2, 11), (3, 11)))
    on = Expr("and", (equal("s1.a", "s2.a"), Expr(">", (column("s1.a"), literal(10)))))
    plan = Join((window("s1", Rows(2)), window("s2", Range("2 s"))), ("s1", "s2"), on)
    counts = [len(held(plan, found, t)) for t in (1, 2, 3, 4, 5)]
    # At 3 both rows of s2 meet the first row of s1; at 4 that one is gone and another there, and
    # the older row of s2 has left; at 5 the last one leaves.
    assert counts == [0, 1, 2, 1, 0]
    assert given(View("v", plan), found, 1, 2, 3, 4, 5) == [
        (2, (11, 11), 1),
        (3, (11, 11), 1),
        (4, (11, 11), -1),
        (5, (11, 11), -1),
    ]


def test_a_stream_is_enriched_from_a_stored_table() -> None:
    """Rstream(s.a, r.b) of s [Now], r where s.a = r.a."""
    found = world(s=rows((1, 1), (2, 2), (3, 1), (3, 7)))
    found.store("r", [{"a": 1, "b": "one"}, {"a": 1, "b": "uno"}], since=0)
    found.store("r", [{"a": 1, "b": "eins"}], since=3 * SECOND)
    joined = Join((window("s", Now()), Stored("r", ROOMS)), ("s", "r"), equal("s.a", "r.a"))
    plan = Project(joined, (("a", column("s.a")), ("b", column("r.b"))))
    view = View("v", Streamed(plan, "rstream"))
    assert given(view, found, 1, 2, 3, 4) == [
        (1, (1, "one"), 1),
        (1, (1, "uno"), 1),
        (3, (1, "eins"), 1),
    ]


@pytest.mark.parametrize(
    ("over", "expected"),
    [
        (Now(), [[1], [], [2, 3], [4], []]),
        (Range("2 s"), [[1], [1], [2, 3], [2, 3, 4], [4]]),
        (Range("2 s", "2 s"), [[], [1], [1], [2, 3, 4], [2, 3, 4]]),
        (Landmark(2 * SECOND), [[], [], [2, 3], [2, 3, 4], [2, 3, 4]]),
        (Unbounded(), [[1], [1], [1, 2, 3], [1, 2, 3, 4], [1, 2, 3, 4]]),
        (Rows(2), [[1], [1], [2, 3], [3, 4], [3, 4]]),
        (Session("1500 ms"), [[1], [], [2, 3], [2, 3, 4], [2, 3, 4]]),
    ],
    ids=str,
)
def test_windows_hold_rows(over: Window, expected: list[list[int]]) -> None:
    found = world(s=rows((0.5, 1), (2.5, 2), (2.75, 3), (4, 4)))
    assert values(window("s", over), found, 1, 2, 3, 4, 5) == expected


def test_a_window_of_rows_breaks_ties_by_arrival() -> None:
    found = world(s=rows((1, 5), (1, 3), (1, 4)))
    assert values(window("s", Rows(2)), found, 1) == [[3, 4]]


def test_a_window_of_rows_goes_by_time_when_rows_wait_for_others() -> None:
    found = World.of(stream("s", Late.allow("5 s")))
    found.land("s", rows((1.5, 1), (1.25, 2)))
    assert values(window("s", Rows(1)), found, 1, 2) == [[], [1]]


def test_each_key_has_its_newest_row_and_null_is_a_key() -> None:
    found = world(s=[])
    for t, key, a in ((1, "p", 1), (1, None, 2), (2, None, 3), (3, "q", 4)):
        found.land("s", [Row(t * SECOND, {"k": key, "a": a})])
    plan = window("s", Partition("k", 1), "k", "a")
    assert held(plan, found, 3) == [("p", 1), ("q", 4), (None, 3)]


def test_a_session_ends_a_gap_after_its_last_row() -> None:
    found = world(s=[])
    for t, key in ((1, "p"), (2, "q"), (2.5, "p"), (6, "p")):
        found.land("s", [Row(round(t * SECOND), {"k": key})])
    plan = window("s", Session("2 s", "k"), "k")
    assert values(plan, found, 1, 2, 3, 4, 5, 6, 8) == [
        ["p"],
        ["p", "q"],
        ["p", "p", "q"],
        ["p", "p"],  # q was last seen at 2
        [],  # p at 2.5, and 4.5 is rounded up to the next tick
        ["p"],  # a run of its own
        [],
    ]


def test_late_rows_are_dropped_or_count_from_when_they_turned_up() -> None:
    late = rows((1, 1), (4, 2), (2, 3), (5, 4))
    dropped, revised = world(s=late), World.of(stream("s", Late.revise("10 s")))
    revised.land("s", late)
    plan = window("s", Range("3 s"))
    assert values(plan, dropped, 3, 4, 5) == [[1], [2], [2, 4]]
    assert values(plan, revised, 3, 4, 5) == [[1], [2, 3], [2, 4]]


def test_a_coarse_stream_stands_still_between_its_ticks() -> None:
    found = World.of(stream("s", tick=2 * SECOND))
    found.land("s", rows((1, 1), (3, 2)))
    assert values(window("s", Now()), found, 1, 2, 3, 4, 5, 6) == [[], [1], [1], [2], [2], []]


def test_only_rows_after_the_cut_count_from_now_on() -> None:
    found = world(s=rows((1, 1), (2, 2), (3, 3)))
    view = View("v", window("s", Unbounded()), history=False)
    assert given(view, found, 1, 2, 3, since=1) == [(2, (2,), 1), (3, (3,), 1)]
    with_history = replace(view, history=True)
    assert given(with_history, found, 2, 3, since=1) == [
        (2, (1,), 1),
        (2, (2,), 1),
        (3, (3,), 1),
    ]
    came = replace(with_history, plan=Streamed(view.plan, "istream"))
    assert given(came, found, 2, 3, since=1) == [(2, (2,), 1), (3, (3,), 1)]


def test_what_comes_and_goes_within_a_period_is_never_given() -> None:
    found = world(s=rows((1, 1), (3, 2), (4, 3)))
    plan = window("s", Now())
    assert given(View("v", plan, answer=every("2 s")), found, *range(1, 8)) == [
        (4, (3,), 1),
        (6, (3,), -1),
    ]
    gone = View("v", Streamed(plan, "dstream"), answer=every("2 s"))
    assert given(gone, found, *range(1, 8)) == [(6, (3,), 1)]


def test_a_change_and_its_opposite_at_one_instant_are_no_change() -> None:
    found = world(s=rows((1, 7), (2, 7), (3, 8)))
    for kind, expected in (("istream", [(1, 7), (3, 8)]), ("dstream", [(3, 7), (4, 8)])):
        view = View("v", Streamed(window("s", Range("1 s")), kind))
        assert given(view, found, 1, 2, 3, 4) == [(t, (a,), 1) for t, a in expected]


@pytest.mark.parametrize(
    ("kind", "every_copy", "expected"),
    [
        ("union", True, [1, 1, 1, 1, 2, 3]),
        ("union", False, [1, 2, 3]),
        ("except", True, [1, 1, 2]),
        ("except", False, [2]),
        ("intersect", True, [1]),
        ("intersect", False, [1]),
    ],
)
def test_bags_are_combined(kind: str, every_copy: bool, expected: list[int]) -> None:
    found = world(s=rows((1, 1), (1, 1), (1, 1), (1, 2)), r=rows((1, 1), (1, 3)))
    left, right = window("s", Unbounded()), window("r", Unbounded())
    assert values(Combined(left, right, kind, all=every_copy), found, 1) == [expected]


def test_except_gives_a_row_back_when_the_other_side_loses_it() -> None:
    found = world(s=rows((1, 1), (2, 1)), r=rows((2, 1)))
    plan = Combined(window("s", Unbounded()), window("r", Now()), "except", all=True)
    assert values(plan, found, 1, 2, 3) == [[1], [1], [1, 1]]


def test_null_equals_null_in_sets_and_groups_and_nothing_in_joins() -> None:
    found = world(s=rows((1, None), (1, None)), r=rows((1, None)))
    left, right = window("s", Unbounded()), window("r", Unbounded())
    assert values(Combined(left, right, "intersect", all=False), found, 1) == [[None]]
    assert values(Distinct(left), found, 1) == [[None]]
    assert held(Grouped(left, (("a", A),), (("n", COUNT),)), found, 1) == [(None, 2)]
    assert held(Join((left, right), ("l", "r"), equal("l.a", "r.a")), found, 1) == []
    outer = Join((left, right), ("l", "r"), equal("l.a", "r.a"), "left")
    assert held(outer, found, 1) == [(None, None)] * 2


def test_a_left_row_without_a_partner_comes_and_goes() -> None:
    found = world(s=rows((1, 1)), r=rows((2, 1), (2, 1), (3, 2)))
    plan = Join(
        (window("s", Unbounded()), window("r", Range("2 s"))),
        ("l", "r"),
        equal("l.a", "r.a"),
        "left",
    )
    assert given(View("v", plan), found, 1, 2, 3, 4) == [
        (1, (1, None), 1),
        (2, (1, 1), 2),
        (2, (1, None), -1),
        (4, (1, 1), -2),
        (4, (1, None), 1),
    ]


def test_three_relations_are_joined_and_copies_multiply() -> None:
    found = world(p=rows((1, 1), (1, 1)), q=rows((1, 1), (1, 2)), r=rows((1, 1), (1, 1), (1, 1)))
    parts = tuple(window(name, Unbounded()) for name in "pqr")
    on = Expr("and", (equal("p.a", "q.a"), equal("q.a", "r.a")))
    assert relation(Join(parts, ("p", "q", "r"), on), found, SECOND) == {(1, 1, 1): 6}
    assert sum(relation(Join(parts, ("p", "q", "r")), found, SECOND).values()) == 12


def test_distinct_holds_a_row_until_its_last_copy_goes() -> None:
    found = world(s=rows((1, 1), (2, 1)))
    view = View("v", Distinct(window("s", Range("2 s"))))
    assert given(view, found, 1, 2, 3, 4) == [(1, (1,), 1), (4, (1,), -1)]


def test_a_group_that_empties_is_gone_but_the_whole_always_has_a_row() -> None:
    found = world(s=rows((1, 1), (2, 1)))
    below = window("s", Now())
    total = (("n", COUNT), ("sum", agg("sum", A)))
    assert [held(Grouped(below, (("a", A),), total), found, t) for t in (1, 2, 3)] == [
        [(1, 1, 1)],
        [(1, 1, 1)],
        [],
    ]
    whole = View("v", Grouped(below, (), total))
    assert given(whole, found, 1, 2, 3) == [(1, (1, 1), 1), (3, (0, None), 1), (3, (1, 1), -1)]


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (COUNT, 6),
        (agg("count", column("x")), 5),
        (agg("count", Expr("distinct", (column("x"),))), 3),
        (agg("sum", column("x")), 13.0),
        (agg("sum", A), 21),
        (agg("avg", column("x")), 2.6),
        (agg("min", column("x")), 1.0),
        (agg("max", column("k")), "b"),
        (agg("var", column("x")), 1.8),
        (agg("stddev", column("x")), math.sqrt(1.8)),
        (agg("covar", column("x"), A), 2.0),
        (agg("corr", column("x"), A), 2.0 / math.sqrt(1.8 * 2.5)),
        (agg("corr", column("x"), literal(1)), None),
        (agg("median", column("x")), 2.0),
        (agg("quantile", column("x"), literal(0.8)), 4.0),
        (agg("quantile", column("x"), literal(0)), 1.0),
        (agg("quantile", column("x"), literal(1)), 4.0),
        (agg("sum", column("x"), Expr("weight", (A,))), 47.0),
        (agg("avg", column("x"), Expr("weight", (A,))), 47 / 15),
        (agg("first", column("x")), 1.0),
        (agg("last", A), 6),
        (agg("last", column("k"), column("x")), "b"),
        (Expr("filter", (COUNT, Expr(">", (column("x"), literal(2))))), 2),
        (Expr("filter", (agg("sum", A), Expr(">", (A, literal(10))))), None),
        (call("spread", column("x")), 3.0),
    ],
    ids=str,
)
def test_aggregates(expr: Expr, expected: Any) -> None:
    """The values of x are 1, 2, 2, 4, 4 and null, beside 1 to 6 in a."""
    found = world(s=[])
    found.functions = FUNCTIONS
    cells = zip((1.0, 2.0, 2.0, 4.0, 4.0, None), range(1, 7), strict=True)
    for x, a in cells:
        found.land("s", [Row(SECOND * a, {"x": x, "a": a, "k": "ab"[a % 2]})])
    (row,) = held(Grouped(window("s", Unbounded(), "x", "a", "k"), (), (("v", expr),)), found, 6)
    assert row[0] == (pytest.approx(expected) if isinstance(expected, float) else expected)


def test_sums_are_exact_and_null_when_out_of_range() -> None:
    tenths = [Row(SECOND, {"x": 0.1}) for _ in range(10)]
    found = world(s=tenths, r=rows((1, 2**63 - 1), (1, 1)))
    total = Grouped(window("s", Unbounded(), "x"), (), (("v", agg("sum", column("x"))),))
    assert held(total, found, 1) == [(1.0,)]
    assert held(Grouped(window("r", Unbounded()), (), (("v", agg("sum", A)),)), found, 1) == [
        (None,)
    ]


def test_the_first_rows_of_an_order_have_nulls_and_ties_settled() -> None:
    found = world(s=[])
    for a, k in ((1, "b"), (1, "a"), (None, "z"), (2, "c"), (2, "c")):
        found.land("s", [Row(SECOND, {"a": a, "k": k})])
    below = window("s", Unbounded(), "a", "k")
    up, down = ((A, False),), ((A, True),)
    assert held(Ordered(below, up, 1), found, 1) == [(1, "a")]
    assert held(Ordered(below, down, 3), found, 1) == [(1, "a"), (2, "c"), (2, "c")]
    assert held(Ordered(below, (), 4), found, 1)[-1] == (2, "c")
    assert len(held(Ordered(below, up, None), found, 1)) == 5


def test_projection_keeps_copies() -> None:
    found = world(s=rows((1, 1), (1, 2)))
    plan = Project(window("s", Unbounded()), (("one", literal(1)),))
    assert relation(plan, found, SECOND) == {(1,): 2}


def test_a_filter_below_a_window_of_rows_is_not_one_above_it() -> None:
    found = world(s=rows((1, 11), (2, 5)))
    large = Expr(">", (A, literal(10)))
    below = Windowed(Filter(scan("s"), large), Rows(1))
    above = Filter(window("s", Rows(1)), large)
    assert (values(below, found, 2), values(above, found, 2)) == ([[11]], [[]])


def test_a_stream_of_changes_is_a_relation() -> None:
    schema = Schema.of(op="string", a="int", ts="time")
    stock = Stream("stock", schema, "ts", (), (), changes="op", future=None)
    found = World.of(stock)
    signs = ((1, "+", 5), (1, "+", 5), (2, "-", 5), (3, "-", 6), (4, "+", 6), (5, "+", 6))
    found.land("stock", [Row(t * SECOND, {"op": op, "a": a}) for t, op, a in signs])
    plan = Windowed(Scan("stock", Schema.of(a="int")), Unbounded())
    assert values(plan, found, 1, 2, 3, 4, 5) == [[5, 5], [5], [5], [5], [5, 6]]


def test_the_grid_is_filled_with_the_value_in_force() -> None:
    found = world(s=rows((0.5, 1.0), (2.5, 5.0), (2.75, None), (5, 2.0), name="x"))
    grid = Resampled(scan("s", "ts", "x"), "x", (), 2 * SECOND, "last")
    assert held(Windowed(grid, Unbounded()), found, 7) == [
        (2 * SECOND, 1.0),
        (4 * SECOND, 5.0),
        (6 * SECOND, 2.0),
    ]
    assert values(Windowed(grid, Now()), found, 2, 3, 4) == [[2 * SECOND], [], [4 * SECOND]]


def test_the_grid_on_a_line_is_known_with_the_second_row() -> None:
    found = world(s=rows((0.5, 1.0), (2.5, 5.0), (4, 2.0), name="x"))
    grid = Resampled(scan("s", "ts", "x"), "x", (), SECOND, "linear")
    plan = Windowed(grid, Unbounded())
    known = [len(held(plan, found, t)) for t in (1, 2, 3, 4, 5)]
    # The point at 4 lies on a row and still waits for the next one.
    assert known == [0, 0, 2, 3, 3]
    assert [x for _, x in held(plan, found, 5)] == [2.0, 4.0, 4.0]


def test_the_grid_is_kept_key_by_key() -> None:
    found = world(s=[])
    for t, key, x in ((1, "p", 1.0), (2, "q", 8.0), (3, "p", 2.0)):
        found.land("s", [Row(t * SECOND, {"k": key, "x": x})])
    grid = Resampled(scan("s", "k", "ts", "x"), "x", ("k",), SECOND, "last")
    assert held(Windowed(grid, Now()), found, 3) == [("p", 3 * SECOND, 2.0), ("q", 3 * SECOND, 8.0)]


def test_a_bag_never_holds_less_than_nothing() -> None:
    found = world(s=rows((1, 1)), r=rows((1, 1), (1, 1)))
    plan = Combined(window("s", Unbounded()), window("r", Unbounded()), "except", all=True)
    assert relation(plan, found, SECOND) == Counter()
