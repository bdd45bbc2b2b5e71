"""Joins against combining rows one by one at every instant."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.operators import join_rows
from streamgauge.operators.delta import Delta
from streamgauge.operators.expression import Expr, column, conjunction, conjuncts, literal
from streamgauge.operators.join_rows import join
from tests.operators.bags import SCHEMA, Bag, bag_at, deltas, equal, expect, recut
from tests.oracles.expressions import value_of

pytestmark = pytest.mark.slow

few = settings(max_examples=40)


def same(one: str, two: str) -> Expr:
    return Expr("=", (column(one), column(two)))


def less(one: str, two: str) -> Expr:
    return Expr("<", (column(one), column(two)))


PAIRS = (
    same("a.k", "b.k"),
    same("a.n", "b.x"),
    Expr("=", (Expr("+", (column("a.n"), literal(1))), column("b.n"))),
    less("a.x", "b.x"),
    less("b.n", "a.n"),
    Expr("is null", (column("a.x"),)),
    Expr(">", (column("b.x"), literal(0.0))),
    literal(True),
    Expr("or", (same("a.k", "b.k"), less("a.n", "b.n"))),
)
conditions = st.lists(st.sampled_from(PAIRS), max_size=3, unique=True).map(
    lambda parts: conjunction(tuple(parts))
)


def meets(on: Expr | None, names: tuple[str, ...], rows: tuple[tuple[Any, ...], ...]) -> bool:
    cells = {
        f"{name}.{label}": cell
        for name, row in zip(names, rows, strict=True)
        for label, cell in zip(SCHEMA.names, row, strict=True)
    }
    return on is None or value_of(on, cells) is True


def one_by_one(bags: list[Bag], names: tuple[str, ...], on: Expr | None, kind: str) -> Bag:
    found: Bag = Counter()
    for rows in product(*bags):
        if meets(on, names, rows):
            copies = np.prod([bag[row] for bag, row in zip(bags, rows, strict=True)])
            found[sum(rows, ())] += int(copies)
    if kind == "inner":
        return found
    left, right = bags
    alone = {r: n for r, n in left.items() if not any(meets(on, names, (r, o)) for o in right)}
    if kind in ("semi", "anti"):
        return Counter({r: n for r, n in left.items() if (r in alone) == (kind == "anti")})
    for row, copies in alone.items():
        found[row + (None,) * len(SCHEMA)] += copies
    for other, copies in right.items() if kind == "full" else ():
        if not any(meets(on, names, (row, other)) for row in left):
            found[(None,) * len(SCHEMA) + other] += copies
    return found


KINDS = ["inner", "left", "full", "semi", "anti"]
NEAREST = tuple(
    conjunction((Expr(op, (column(one), column(two))), *more))
    for op in ("<", "<=", ">", ">=")
    for one, two in (("a.n", "b.n"), ("b.x", "a.n"), ("a.k", "b.k"))
    for more in ((), (same("a.k", "b.k"),), (same("a.x", "b.n"), same("b.k", "a.k")))
)


def in_columns(row: tuple[Any, ...]) -> tuple[tuple[bool, Any], ...]:
    return tuple((cell is None, 0 if cell is None else cell) for cell in row)


def nearest_only(left: Bag, right: Bag, on: Expr, kind: str) -> Bag:
    """Each row with its best partner: for b.t <= a.t the one with the largest b.t."""
    inequality = next(part for part in conjuncts(on) if part.op != "=")
    of_b = next(arg for arg in inequality.args if str(arg).startswith("b."))
    upwards = (inequality.op in ("<", "<=")) == (inequality.args[0] is of_b)
    found: Bag = Counter()
    for row, copies in left.items():
        partners = [other for other in right if meets(on, ("a", "b"), (row, other))]
        values = {o: o[SCHEMA.names.index(str(of_b)[2:])] for o in partners}
        if partners:
            best = (max if upwards else min)(values.values())
            chosen = max((o for o in partners if values[o] == best), key=in_columns)
            found[row + chosen] += copies
        elif kind == "asof left":
            found[row + (None,) * len(SCHEMA)] += copies
    return found


@few
@pytest.mark.parametrize("kind", ["asof", "asof left"])
@given(data=st.data(), one=deltas(), two=deltas(), on=st.sampled_from(NEAREST))
def test_the_nearest_partner(
    kind: str, data: st.DataObject, one: Delta, two: Delta, on: Expr
) -> None:
    result = join([one, two], ["a", "b"], on, kind, {})
    expect(result, lambda at: nearest_only(bag_at(one, at), bag_at(two, at), on, kind))
    again = join([data.draw(recut(one)), data.draw(recut(two))], ["a", "b"], on, kind, {})
    assert equal(result, again)


@few
@pytest.mark.parametrize("kind", KINDS)
@given(one=deltas(), two=deltas(), on=conditions)
def test_two_inputs(kind: str, one: Delta, two: Delta, on: Expr | None) -> None:
    result = join([one, two], ["a", "b"], on, kind, {})
    expect(result, lambda at: one_by_one([bag_at(one, at), bag_at(two, at)], ("a", "b"), on, kind))


@few
@given(
    st.tuples(deltas(5), deltas(5), deltas(5)),
    st.lists(
        st.sampled_from(
            [same("a.k", "b.k"), same("b.n", "c.n"), same("a.x", "c.x"), less("a.n", "c.n")]
        ),
        unique=True,
    ),
)
def test_three_inputs(parts: tuple[Delta, ...], conditions: list[Expr]) -> None:
    on, names = conjunction(tuple(conditions)), ("a", "b", "c")
    result = join(parts, names, on, "inner", {})
    assert result.rows.column_names[:4] == ["a.k", "a.n", "a.x", "b.k"]
    expect(result, lambda at: one_by_one([bag_at(p, at) for p in parts], names, on, "inner"))


@few
@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data(), one=deltas(5), two=deltas(5), on=conditions)
def test_order_and_pieces_do_not_matter(
    kind: str, data: st.DataObject, one: Delta, two: Delta, on: Expr | None
) -> None:
    again = join([data.draw(recut(one)), data.draw(recut(two))], ["a", "b"], on, kind, {})
    assert equal(join([one, two], ["a", "b"], on, kind, {}), again)


@few
@given(one=deltas(6), two=deltas(6))
def test_small_blocks_give_the_same(one: Delta, two: Delta) -> None:
    on = less("a.x", "b.x")
    whole = join([one, two], ["a", "b"], on, "inner", {})
    kept, join_rows.BLOCK = join_rows.BLOCK, 3
    try:
        assert equal(whole, join([one, two], ["a", "b"], on, "inner", {}))
    finally:
        join_rows.BLOCK = kept


def test_an_input_without_a_name_keeps_its_columns() -> None:
    one = Delta.of(pa.table({"a.k": [1, 2], "b.k": ["x", "y"]}), 5)
    two = Delta.of(pa.table({"k": [2]}), 7)
    both = join([one, two], ["", "c"], same("a.k", "c.k"), "inner", {})
    assert both.rows.to_pylist() == [{"a.k": 2, "b.k": "y", "c.k": 2}]
    assert both.at.tolist() == [7]


def test_a_left_row_comes_back_when_its_last_partner_goes() -> None:
    left = Delta.of(pa.table({"k": ["a"]}), 0)
    right = Delta(pa.table({"k": ["a"] * 4}), np.array([10, 20, 30, 40]), np.array([1, 1, -1, -1]))
    result = join([left, right], ["l", "r"], same("l.k", "r.k"), "left", {})
    padded = [bag_at(result, at)[("a", None)] for at in (0, 10, 20, 30, 40)]
    assert padded == [1, 0, 0, 0, 1]


def test_rows_that_never_meet_in_time_are_never_paired() -> None:
    n = 3000
    at = np.concatenate((np.arange(n) * 10, np.arange(n) * 10 + 10))
    rows = pa.table({"x": np.concatenate((np.arange(n), np.arange(n)))})
    delta = Delta(rows, at, np.repeat([1, -1], n))
    kept, join_rows.BLOCK = join_rows.BLOCK, n
    try:
        result = join([delta, delta], ["a", "b"], None, "inner", {})
    finally:
        join_rows.BLOCK = kept
    assert len(result) == 2 * n
