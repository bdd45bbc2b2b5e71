"""Rewrites: the three questions of the book become queries of numbers when a tolerance is given."""

from __future__ import annotations

import pyarrow as pa
import pytest

from streamgauge.contracts.contract import Contract
from streamgauge.operators.aggregate import BETWEEN, Aggregate
from streamgauge.operators.evaluate import evaluate
from streamgauge.operators.expression import Expr, column, literal
from streamgauge.plan.nodes import (
    Combined,
    Distinct,
    Filter,
    Grouped,
    Join,
    Node,
    Ordered,
    Project,
    Scan,
    Windowed,
)
from streamgauge.plan.query import every
from streamgauge.plan.rewrites.join_size import join_size
from streamgauge.plan.rewrites.set_size import set_size
from streamgauge.plan.rewrites.top_list import top_list
from streamgauge.streams.schema import Schema
from streamgauge.windows.window import Range, Rows

SCHEMA = Schema.of(ts="time", source="string", dest="string", port="int", size="float")
HOUR = Range("1 h")
ROUGH = Contract.relative(0.05, confidence=0.95)
MINUTE = every("1 minute")
COUNT = Expr("aggregate", value="count")
PAIR = (("source", column("source")), ("dest", column("dest")))


def window(stream: str) -> Windowed:
    return Windowed(Scan(stream, SCHEMA), HOUR)


def pairs(stream: str) -> Distinct:
    return Distinct(Project(window(stream), PAIR))


def counted(node: Node) -> Node:
    return Project(Grouped(node, (), (("COUNT(*)", COUNT),)), (("n", column("COUNT(*)")),))


def listed(below: Node, keys: tuple[tuple[str, Expr], ...], *, descending: bool = True) -> Ordered:
    grouped = Grouped(below, keys, (("COUNT(*)", COUNT),))
    items = (*((name, column(name)) for name, _ in keys), ("frequency", column("COUNT(*)")))
    return Ordered(Project(grouped, items), ((column("frequency"), descending),), 100)


def test_a_top_list_of_one_key_needs_no_other_column() -> None:
    big = Filter(window("r1"), Expr(">", (column("size"), literal(3))))
    (query,) = (
        top_list("q", listed(big, (("port", column("port")),)), Contract.rank(0.001), MINUTE) or []
    )
    assert query.select == Aggregate("top_k", "port", argument=100)
    assert str(query.where) == "size > 3"
    assert (query.stream, query.window, query.answer) == ("r1", HOUR, MINUTE)
    query.select.bind(SCHEMA)


def test_several_keys_become_one_text() -> None:
    named = (("source", column("source")), ("port", column("port")))
    (query,) = top_list("q", listed(window("r1"), named), Contract.rank(0.001), MINUTE) or []
    ((called, expr),) = query.derived
    assert query.select.x == called == "source, port"
    rows = pa.table({"source": ["x", None], "port": [80, 81]})
    assert evaluate(expr, rows, {}).to_pylist() == [f"x{BETWEEN}80", None]


@pytest.mark.parametrize(
    "node",
    [
        listed(window("r1"), (("port", column("port")),), descending=False),
        listed(Windowed(Scan("r1", SCHEMA), Rows(10)), (("port", column("port")),)),
        Ordered(window("r1"), ((column("size"), True),), 5),
    ],
    ids=["the lightest", "rows", "no groups"],
)
def test_other_lists_stay_rows(node: Node) -> None:
    assert top_list("q", node, Contract.rank(0.001), MINUTE) is None


def test_sets_become_one_sketch_a_stream() -> None:
    both = Combined(pairs("r1"), pairs("r2"), "intersect", False)
    node = counted(Combined(both, pairs("r3"), "except", False))
    (query,) = set_size("q", node, ROUGH, MINUTE) or []
    assert str(query.select) == "set_size((p0 & p1) - p2)"
    assert query.streams == ("r1", "r2", "r3")
    assert [str(part) for part in query.parts] == [
        f"r{number} [range 1 h] by source, dest" for number in (1, 2, 3)
    ]


def test_bags_and_other_types_stay_rows() -> None:
    kept = counted(Combined(pairs("r1"), pairs("r2"), "union", True))
    assert set_size("q", kept, ROUGH, MINUTE) is None
    ports = Distinct(Project(window("r2"), (("source", column("source")), ("p", column("port")))))
    assert (
        set_size("q", counted(Combined(pairs("r1"), ports, "union", False)), ROUGH, MINUTE) is None
    )
    assert join_size("q", kept, ROUGH, MINUTE) is None


def test_a_join_becomes_one_sketch_a_stream() -> None:
    same = Expr("=", (column("b.size"), column("a.port")))
    big = Expr(">", (column("b.size"), literal(2)))
    join = Join((window("r1"), window("r2")), ("a", "b"))
    (query,) = join_size("q", counted(Filter(join, Expr("and", (same, big)))), ROUGH, MINUTE) or []
    one, two = query.parts
    assert str(one) == "r1 [range 1 h] by CAST(port AS FLOAT)"
    assert str(two) == "r2 [range 1 h] by CAST(size AS FLOAT) where size > 2"
    asked = Expr("aggregate", (column("a.source"), column("b.dest")), "join_size")
    node = Grouped(join, (), (("JOIN_SIZE", asked),))
    (query,) = join_size("q", node, ROUGH, MINUTE) or []
    assert [part.by for part in query.parts] == [(column("source"),), (column("dest"),)]


@pytest.mark.parametrize(
    "on",
    [
        None,
        Expr("<", (column("a.port"), column("b.port"))),
        Expr("=", (Expr("+", (column("a.port"), column("b.port"))), literal(3))),
        Expr("=", (column("a.port"), column("b.dest"))),
    ],
    ids=["cross", "inequality", "mixed sides", "types"],
)
def test_other_joins_stay_rows(on: Expr | None) -> None:
    join = Join((window("r1"), window("r2")), ("a", "b"), on)
    assert join_size("q", counted(join), ROUGH, MINUTE) is None


def test_an_exact_contract_keeps_the_exact_plan() -> None:
    exact = Contract.exact()
    same = Expr("=", (column("a.port"), column("b.port")))
    join = counted(Join((window("r1"), window("r2")), ("a", "b"), same))
    sets = counted(Combined(pairs("r1"), pairs("r2"), "union", False))
    assert join_size("q", join, exact, MINUTE) is None
    assert set_size("q", sets, exact, MINUTE) is None
    assert top_list("q", listed(window("r1"), PAIR), exact, MINUTE) is None
