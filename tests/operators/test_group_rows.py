"""Groups and their aggregates against the definitions, at every instant."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.kernel.allowed import Allowed
from streamgauge.kernel.errors import BindError, EngineFailure
from streamgauge.operators.delta import Delta, consolidated
from streamgauge.operators.expression import Expr, column, literal
from streamgauge.operators.functions import Function, in_force
from streamgauge.operators.group_rows import Held, grouped, grouped_held, holdable
from tests.operators.bags import INSTANTS, SCHEMA, bag_at, delta_of, deltas, equal, recut, rows
from tests.oracles.rows_aggregates import Member, aggregate_of

pytestmark = pytest.mark.slow

few = settings(max_examples=40)
OWN = {"spread": Function("spread", "numpy:ptp", aggregate=True)}


@pytest.fixture(autouse=True, scope="module")
def functions_in_force() -> Iterator[None]:
    with in_force(Allowed.of(["numpy:ptp", "math:sqrt"])):
        yield


def of(name: str, *args: Expr) -> Expr:
    return Expr("aggregate", args, name)


k, n, x = column("k"), column("n"), column("x")
positive = Expr(">", (n, literal(0)))
AGGREGATES = {
    "rows": of("count", Expr("star")),
    "count": of("count", x),
    "different": of("count", Expr("distinct", (n,))),
    "sum": of("sum", x),
    "whole": of("sum", n),
    "once": of("sum", Expr("distinct", (x,))),
    "weighted": of("sum", x, Expr("weight", (n,))),
    "mean": of("avg", x),
    "mean whole": of("avg", n),
    "mean weighted": of("avg", x, Expr("weight", (n,))),
    "least": of("min", k),
    "most": of("max", x),
    "var": of("var", x),
    "stddev": of("stddev", n),
    "covar": of("covar", x, n),
    "corr": of("corr", x, n),
    "median": of("median", x),
    "high": of("quantile", n, literal(0.7)),
    "lowest": of("quantile", x, literal(0)),
    "highest": of("quantile", x, literal(1)),
    "first": of("first", x, n),
    "last": of("last", k, n),
    "some": Expr("filter", (of("sum", x), positive)),
    "some rows": Expr("filter", (of("count", Expr("star")), positive)),
}
HELD = {name: expr for name, expr in AGGREGATES.items() if holdable(((name, expr),))}
CLOSE = {"mean weighted", "stddev", "corr"}
KEYS = {"k": k, "twice": Expr("+", (n, n))}
names = st.lists(st.sampled_from(sorted(AGGREGATES)), min_size=1, max_size=4, unique=True)
held_names = st.lists(st.sampled_from(sorted(HELD)), max_size=4, unique=True)
keys = st.lists(st.sampled_from(sorted(KEYS)), max_size=2, unique=True)


def named(chosen: list[str], known: dict[str, Expr]) -> tuple[tuple[str, Expr], ...]:
    return tuple((name, known[name]) for name in chosen)


def by_definition(delta: Delta, at: int, by: list[str], chosen: list[str]) -> dict[tuple, tuple]:
    groups: dict[tuple, list[Member]] = defaultdict(list)
    if not by:
        groups[()] = []
    for row, copies in bag_at(delta, at).items():
        cells = dict(zip(SCHEMA.names, row, strict=True))
        double = None if cells["n"] is None else 2 * cells["n"]
        key = tuple({"k": cells["k"], "twice": double}[name] for name in by)
        groups[key] += [Member(cells, 0)] * copies
    return {
        key: tuple(aggregate_of(AGGREGATES[name], members, {}) for name in chosen)
        for key, members in groups.items()
    }


def same(name: str, one: Any, two: Any) -> bool:
    if one is None or two is None or name not in CLOSE:
        return bool(one == two)
    return math.isclose(one, two, rel_tol=1e-12, abs_tol=1e-12)


def check(result: Delta, delta: Delta, by: list[str], chosen: list[str]) -> None:
    for at in INSTANTS:
        expected = by_definition(delta, at, by, chosen)
        bag = bag_at(result, at)
        assert all(count == 1 for count in bag.values())
        found = {row[: len(by)]: row[len(by) :] for row in bag}
        assert found.keys() == expected.keys()
        for key, values in expected.items():
            for name, one, two in zip(chosen, found[key], values, strict=True):
                assert same(name, one, two), f"{name} of {key} at {at}: {one}, not {two}"


@few
@given(deltas(10), keys, names)
def test_groups_at_every_instant(delta: Delta, by: list[str], chosen: list[str]) -> None:
    result = grouped(delta, named(by, KEYS), named(chosen, AGGREGATES), {}, since=0)
    check(result, delta, by, chosen)


@pytest.mark.parametrize("name", sorted(AGGREGATES))
@settings(max_examples=8)
@given(delta=deltas(12))
def test_each_aggregate(name: str, delta: Delta) -> None:
    result = grouped(delta, (("k", k),), ((name, AGGREGATES[name]),), {}, since=0)
    check(result, delta, ["k"], [name])


@few
@given(st.data(), deltas(8), keys, names)
def test_order_and_pieces_do_not_matter(
    data: st.DataObject, delta: Delta, by: list[str], chosen: list[str]
) -> None:
    exprs = named(by, KEYS), named(chosen, AGGREGATES)
    again = grouped(data.draw(recut(delta)), *exprs, {}, since=0)
    assert equal(grouped(delta, *exprs, {}, since=0), again)


@few
@given(deltas(10), keys, names, st.sampled_from(INSTANTS))
def test_what_was_before_may_be_told_in_one_instant(
    delta: Delta, by: list[str], chosen: list[str], prev: int
) -> None:
    exprs = named(by, KEYS), named(chosen, AGGREGATES)
    whole = grouped(delta, *exprs, {}, since=0)
    rebased = Delta(delta.rows, np.maximum(delta.at, prev), delta.count)
    rest = grouped(consolidated(rebased), *exprs, {}, since=prev)
    assert equal(whole.take(whole.at > prev), rest.take(rest.at > prev))
    assert bag_at(whole, prev) == bag_at(rest, prev)


arrivals = st.lists(st.tuples(rows, st.sampled_from(INSTANTS), st.integers(1, 3)), max_size=12).map(
    lambda found: sorted(found, key=lambda change: change[1])
)


@few
@given(arrivals, keys, held_names, st.lists(st.sampled_from(INSTANTS), max_size=3))
def test_held_state_gives_the_same_changes(
    found: list, by: list[str], chosen: list[str], cuts: list[int]
) -> None:
    exprs = named(by, KEYS), named(chosen, HELD)
    whole = grouped(delta_of(found), *exprs, {}, since=0)
    held, parts = None, []
    edges = [-1, *sorted(cuts), max(INSTANTS)]
    for low, high in pairwise(edges):
        page = delta_of([change for change in found if low < change[1] <= high])
        part, held = grouped_held(held, page, *exprs, {}, since=max(low, 0))
        parts.append(part)
        held = Held.from_arrays(*held.to_arrays())
    everything = Delta(
        pa.concat_tables([part.rows for part in parts]),
        np.concatenate([part.at for part in parts]),
        np.concatenate([part.count for part in parts]),
    )
    assert equal(whole, everything)


@few
@given(deltas(8), st.sampled_from(["first", "last"]))
def test_first_and_last_by_coming(delta: Delta, name: str) -> None:
    result = grouped(delta, (), (("v", of(name, x)),), {}, since=0)
    for at in INSTANTS:
        copies: dict[tuple, list[int]] = defaultdict(list)
        for when in (instant for instant in INSTANTS if instant <= at):
            before, now = bag_at(delta, when - 10), bag_at(delta, when)
            for cell in {row[2] for row in before | now}:
                old = sum(count for row, count in before.items() if row[2] == cell)
                new = sum(count for row, count in now.items() if row[2] == cell)
                copies[cell] += [when] * max(new - old, 0)
                copies[cell] = copies[cell][max(old - new, 0) :]
        coming = [
            (when, cell) for cell, whens in copies.items() if cell is not None for when in whens
        ]
        expected = (min(coming) if name == "first" else max(coming))[1] if coming else None
        assert bag_at(result, at) == Counter({(expected,): 1})


@few
@given(deltas(8))
def test_an_aggregate_of_ones_own_gets_sorted_values(delta: Delta) -> None:
    result = grouped(delta, (("k", k),), (("s", of("spread", x)),), OWN, since=0)
    for at in INSTANTS:
        values: dict = defaultdict(list)
        for row, copies in bag_at(delta, at).items():
            values[row[0]] += [row[2]] * (copies if row[2] is not None else 0)
        expected = {key: max(v) - min(v) if v else None for key, v in values.items()}
        assert dict(bag_at(result, at)) == dict.fromkeys(expected.items(), 1)


def test_an_aggregate_of_ones_own_that_fails_is_named() -> None:
    wrong = {"bad": Function("bad", "math:sqrt", aggregate=True)}
    delta = Delta.of(pa.table({"x": [1.0, 2.0]}), 0)
    with pytest.raises(EngineFailure, match="aggregate 'bad' failed"):
        grouped(delta, (), (("b", of("bad", x)),), wrong, since=0)


def test_unknown_aggregates_and_shares_are_refused() -> None:
    delta = Delta.of(pa.table({"x": [1.0]}), 0)
    with pytest.raises(BindError, match="unknown aggregate 'medain'"):
        grouped(delta, (), (("m", of("medain", x)),), {}, since=0)
    with pytest.raises(BindError, match="share between 0 and 1"):
        grouped(delta, (), (("m", of("quantile", x, literal(2.0))),), {}, since=0)


def test_quantiles_of_nothing_and_of_all_are_the_ends_of_a_group() -> None:
    delta = Delta.of(pa.table({"x": [2.0, 1.0, 4.0]}), 0)
    ends = tuple((name, of("quantile", x, literal(share))) for name, share in (("a", 0), ("z", 1)))
    assert grouped(delta, (), ends, {}, since=0).rows.to_pylist() == [{"a": 1.0, "z": 4.0}]


def test_nothing_has_one_row_without_keys_and_none_with_them() -> None:
    nothing = Delta.none(SCHEMA)
    both = (("n", of("count", Expr("star"))), ("s", of("sum", x)))
    lone = grouped(nothing, (), both, {}, since=40)
    assert (lone.rows.to_pylist(), lone.at.tolist()) == ([{"n": 0, "s": None}], [40])
    assert len(grouped(nothing, (("k", k),), both, {}, since=40)) == 0
    assert grouped(nothing, (("k", k),), both, {}, since=0).rows.schema.types == [
        pa.string(), pa.int64(), pa.float64()
    ]  # fmt: skip


def test_sums_too_large_for_whole_numbers_are_null_and_come_back() -> None:
    big = 2**62
    delta = Delta(pa.table({"n": [big, big, -big]}), np.array([0, 10, 20]), np.ones(3, np.int64))
    both = (("s", of("sum", n)), ("m", of("avg", n)))
    result = grouped(delta, (), both, {}, since=0)
    assert [bag_at(result, at) for at in (0, 10, 20)] == [
        Counter([(big, float(big))]), Counter([(None, float(big))]), Counter([(big, big / 3)])
    ]  # fmt: skip


def test_sums_that_empty_leave_nothing_behind() -> None:
    values = [1e300, 0.1, -1e300, 5e-324, 1e16]
    rows = pa.table({"x": values + values[:-1]})
    delta = Delta(rows, np.arange(9), np.repeat([1, -1], [5, 4]))
    result = grouped(delta, (), (("s", of("sum", x)), ("v", of("var", x))), {}, since=0)
    assert bag_at(result, 8) == Counter([(1e16, None)])
