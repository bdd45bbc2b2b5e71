"""The index of conditions equals each condition evaluated by itself."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.kernel.errors import BindError
from streamgauge.operators import predicate_index, predicate_lists
from streamgauge.operators.evaluate import evaluate
from streamgauge.operators.expression import Expr, call, column, conjunction, literal
from streamgauge.operators.predicate_index import PredicateIndex
from streamgauge.streams.schema import TYPES, Schema
from tests.profile import examples

pytestmark = pytest.mark.slow

SCHEMA = Schema.of(i="int", f="float", s="string", b="bool", t="time")
HUGE = [2**53, 2**53 + 1, -(2**53) - 1, 2**62 + 1, 2**63 - 1, -(2**63) + 1]
POOLS: dict[str, st.SearchStrategy[Any]] = {
    "i": st.one_of(st.integers(-4, 4), st.sampled_from(HUGE)),
    "f": st.one_of(
        st.integers(-4, 4).map(float),
        st.sampled_from([0.5, -1.5, -0.0, 1e300, -1e300, 5e-324, 2.0**53, 1e19, float("nan")]),
        st.sampled_from([float("inf"), float("-inf")]),
    ),
    "s": st.sampled_from(["", "a", "ab", "b", "é", "z\U0001f600", "zz"]),
    "b": st.booleans(),
    "t": st.sampled_from([0, 1, -5, 10**15, 10**15 + 1, 2**60]),
}


def constants(name: str) -> st.SearchStrategy[Expr]:
    if name == "t":
        return POOLS["t"].map(lambda value: Expr("instant", value=value))
    plain = st.one_of(POOLS["i"], POOLS["f"]) if name in ("i", "f") else POOLS[name]
    numbers = plain.map(literal)
    if name in ("i", "f"):
        negated = st.integers(0, 4).map(lambda value: Expr("neg", (literal(value),)))
        numbers = st.one_of(numbers, negated)
    return st.one_of(numbers, numbers, numbers, st.just(literal(None)))


@st.composite
def factors(draw: st.DrawFn) -> Expr:
    name = draw(st.sampled_from(SCHEMA.names))
    own = column(name)
    ops = ["=", "!=", "in", "is null"]
    ops += [] if name == "b" else ["<", "<=", ">", ">=", "between"]
    op = draw(st.sampled_from(ops))
    if op == "is null":
        whole = Expr(op, (own,))
    elif op == "in":
        whole = Expr(op, (own, *draw(st.lists(constants(name), min_size=1, max_size=4))))
    elif op == "between":
        whole = Expr(op, (own, draw(constants(name)), draw(constants(name))))
    else:
        sides = (own, draw(constants(name)))
        whole = Expr(op, sides if draw(st.booleans()) else sides[::-1])
    return Expr("not", (whole,)) if draw(st.integers(0, 3)) == 0 else whole


OTHERS = (
    literal(True),
    literal(False),
    literal(None),
    column("b"),
    Expr("not", (column("b"),)),
    Expr("<", (column("i"), column("f"))),
    Expr("like", (column("s"), literal("a%"))),
    Expr("or", (column("b"), Expr(">", (column("f"), literal(0))))),
    Expr(">", (call("abs", column("f")), literal(1))),
)
CONDITIONS = st.lists(
    st.lists(st.one_of(factors(), factors(), st.sampled_from(OTHERS)), max_size=4).map(tuple),
    max_size=12,
)


def cells(name: str) -> st.SearchStrategy[Any]:
    return st.one_of(st.none(), POOLS[name])


ROWS = st.lists(st.tuples(*map(cells, SCHEMA.names)), max_size=12)


def table(rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(SCHEMA.names)
    arrays = {
        name: pa.array(cells, TYPES[kind] if kind != "time" else pa.int64()).cast(TYPES[kind])
        for (name, kind), cells in zip(SCHEMA.columns, columns, strict=True)
    }
    return pa.table(arrays)


def one_by_one(conditions: Sequence[tuple[Expr, ...]], rows: pa.Table) -> list[tuple[int, int]]:
    pairs = []
    for query, parts in enumerate(conditions):
        whole = conjunction(parts)
        holds = [True] * rows.num_rows
        if whole is not None:
            answer = evaluate(whole, rows, {})
            holds = pc.fill_null(answer.cast(pa.bool_()), False).to_pylist()
        pairs += [(row, query) for row, held in enumerate(holds) if held]
    return sorted(pairs)


def found(index: PredicateIndex, rows: pa.Table) -> list[tuple[int, int]]:
    numbers, queries = index.match(rows, {})
    assert (numbers.dtype, queries.dtype) == (np.int64, np.int32)
    assert (np.diff(numbers) >= 0).all()
    return sorted(zip(numbers.tolist(), queries.tolist(), strict=True))


# How much a place in a list and a word of bits cost: what is put where follows from it.
COSTS = {"lists": (0.0, 1e9), "mixed": (1.0, 1.0), "bits": (1e9, 0.0)}


@pytest.mark.parametrize("costs", COSTS.values(), ids=COSTS.keys())
@settings(max_examples=examples(30), deadline=None)
@given(conditions=CONDITIONS, rows=ROWS, typed=st.booleans(), sampled=st.booleans())
def test_the_index_equals_each_condition_by_itself(
    costs: tuple[float, float],
    conditions: list[tuple[Expr, ...]],
    rows: list[tuple[Any, ...]],
    typed: bool,
    sampled: bool,
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name, cost in zip(("_PLACE", "_WORD"), costs, strict=True):
            patch.setattr(predicate_index, name, cost)
        patch.setattr(predicate_index, "_START", 0.0)
        # With so few queries no list would be ordered by a bound.
        patch.setattr(predicate_index, "_FEW", 0.0)
        data = table(rows)
        schema, sample = SCHEMA if typed else None, data if sampled else None
        index = PredicateIndex.of(conditions, schema, sample)
        expected = one_by_one(conditions, data)
        assert found(index, data) == expected
        bits = index.bitmap(data, {})
        held = np.unpackbits(bits.view(np.uint8), axis=1, bitorder="little")
        assert sorted(zip(*map(np.ndarray.tolist, np.nonzero(held)), strict=True)) == expected


def compared(name: str, op: str, value: Any) -> Expr:
    return Expr(op, (column(name), literal(value)))


@pytest.mark.parametrize("form", ["keys", "narrow", "wide", "all"])
def test_thousands_of_queries_equal_numpy(form: str) -> None:
    rng = np.random.default_rng(4)
    n, size = 200, 6000
    a, b = rng.random(n) * 255, rng.random(n) * 255
    low, width, top = rng.random(size) * 255, rng.random(size), rng.random(size) * 255
    width *= {"narrow": 0.5, "wide": 200.0}.get(form, 1.0)
    key = rng.integers(0, 10**6, size)
    k = rng.choice(key, n)
    keyed = {"keys": np.ones(size, np.bool_), "all": np.arange(size) % 3 == 0}.get(
        form, np.zeros(size, np.bool_)
    )
    wide = np.arange(size) % 3 == 1 if form == "all" else np.zeros(size, np.bool_)
    conditions, expected = [], np.ones((n, size), np.bool_)
    for q in range(size):
        if keyed[q]:
            parts = (compared("k", "=", f"k{key[q]}"), compared("b", "<", top[q]))
            expected[:, q] = (k == key[q]) & (b < top[q])
        elif wide[q]:
            parts = (compared("a", ">=", low[q]),)
            expected[:, q] = a >= low[q]
        else:
            high = low[q] + width[q]
            parts = tuple(
                compared("a", op, value) for op, value in ((">", low[q]), ("<=", high), ("<", 1e9))
            )
            expected[:, q] = (a > low[q]) & (a <= high)
        conditions.append(parts)
    rows = pa.table({"a": a, "b": b, "k": [f"k{one}" for one in k]})
    index = PredicateIndex.of(conditions)
    assert found(index, rows) == list(map(tuple, np.argwhere(expected).tolist()))
    bits = PredicateIndex.of(conditions, as_bits=True)
    assert len(bits.bits.name) == size
    assert found(bits, rows) == found(index, rows)


def test_more_matches_than_the_first_room_are_found() -> None:
    conditions = [(compared("a", ">", -1.0 - q),) for q in range(700)]
    rows = pa.table({"a": np.arange(500.0)})
    numbers, queries = PredicateIndex.of(conditions).match(rows, {})
    np.testing.assert_array_equal(numbers, np.repeat(np.arange(500), 700))
    by_row = np.sort(queries.reshape(500, 700), axis=1)
    np.testing.assert_array_equal(by_row, np.tile(np.arange(700), (500, 1)))


def test_the_order_within_a_row_is_the_same_in_any_batch() -> None:
    rng = np.random.default_rng(8)
    conditions = [
        (compared("a", "=", int(a)), compared("b", op, float(b)))
        for a, b, op in zip(
            rng.integers(0, 9, 900), rng.random(900), rng.choice(["<", ">="], 900), strict=True
        )
    ]
    index = PredicateIndex.of(conditions)
    rows = pa.table({"a": rng.integers(0, 9, 60), "b": rng.random(60)})
    whole = index.match(rows, {})[1].tolist()
    parts = [index.match(rows.slice(at, 7), {})[1].tolist() for at in range(0, 60, 7)]
    assert whole == [query for part in parts for query in part]
    assert {predicate_lists.ABOVE, predicate_lists.BELOW} <= set(index.lists.left.tolist())


def test_many_terms_go_into_bits_and_few_into_lists() -> None:
    rng = np.random.default_rng(9)
    tops = rng.random((3000, 3))
    many = [tuple(compared(n, "<", t) for n, t in zip("abc", row, strict=True)) for row in tops]
    few = [(compared("a", "=", t), compared("b", "<", u)) for t, u, _ in tops]
    index = PredicateIndex.of(many + few)
    assert index.bits.name.max() < 3000
    assert len(index.bits.name) > 2000
    assert set(index.lists.query.tolist()) >= set(range(3000, 6000))


def test_factors_on_one_column_become_one_interval() -> None:
    parts = (compared("a", ">", 1), compared("a", "<", 9), compared("a", "!=", 5))
    index = PredicateIndex.of([parts, (compared("a", "<", 0), compared("a", ">", 0))])
    assert len(index.terms.column) == 1
    assert len(index.terms.low) == 2
    rows = pa.table({"a": [1, 2, 5, 8, 9, None]})
    assert found(index, rows) == [(1, 0), (3, 0)]


def test_a_condition_that_is_no_factor_sees_only_rows_that_passed() -> None:
    """The text `x` is no number: where it is reached, the cast gives null and nothing matches."""
    number = Expr(">", (Expr("cast", (column("s"),), "int"), literal(0)))
    conditions = [(compared("s", "!=", "x"), number), (number,), (compared("s", "=", "x"),)]
    index = PredicateIndex.of(conditions)
    assert len(index.rest) == 1
    assert index.rest[0][1].tolist() == [0, 1]
    rows = pa.table({"s": ["x", "3", "-3", None]})
    assert found(index, rows) == [(0, 2), (1, 0), (1, 1)]
    assert index.columns == ("s",)


def test_equal_constants_of_other_types_stay_apart() -> None:
    """1 and 1.0 are equal in Python; adding them to the largest whole number is not the same."""
    conditions = [
        (Expr(">", (Expr("+", (column("i"), literal(one))), literal(0))),) for one in (1, 1.0)
    ]
    rows = pa.table({"i": [2**63 - 1, 5]})
    assert found(PredicateIndex.of(conditions), rows) == one_by_one(conditions, rows)
    assert one_by_one(conditions, rows) == [(0, 1), (1, 0), (1, 1)]


def test_words_of_a_dictionary_and_days_are_read() -> None:
    day = int(datetime(2024, 1, 2, tzinfo=UTC).timestamp()) * 1_000_000
    conditions = [
        (compared("s", ">=", "b"),),
        (Expr("<", (column("d"), Expr("instant", value=day))),),
    ]
    rows = pa.table(
        {
            "s": pa.array(["a", "b", None, "c"]).dictionary_encode(),
            "d": pa.array([datetime(2024, 1, k, tzinfo=UTC).date() for k in (1, 2, 3, 1)]),
        }
    )
    assert found(PredicateIndex.of(conditions), rows) == [(0, 1), (1, 0), (3, 0), (3, 1)]


def test_no_queries_and_no_rows() -> None:
    rows = pa.table({"a": [1.0]})
    assert found(PredicateIndex.of([]), rows) == []
    assert PredicateIndex.of([]).bitmap(rows, {}).shape == (1, 0)
    index = PredicateIndex.of([(compared("a", "=", 1.0),), ()])
    assert len(index) == 2
    assert found(index, rows.slice(0, 0)) == []
    assert found(index, rows) == [(0, 0), (0, 1)]


def test_a_column_of_another_kind_is_refused() -> None:
    index = PredicateIndex.of([(compared("a", "=", "x"),)])
    with pytest.raises(BindError, match="column 'a' does not fit"):
        index.match(pa.table({"a": [1.0]}), {})
