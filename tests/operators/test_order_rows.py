"""The first rows of an order against sorting at every instant."""

from __future__ import annotations

from collections import Counter
from functools import cmp_to_key
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.operators.delta import Delta
from streamgauge.operators.expression import column
from streamgauge.operators.order_rows import ordered
from tests.operators.bags import SCHEMA, Bag, bag_at, deltas, equal, expect, recut

pytestmark = pytest.mark.slow

few = settings(max_examples=50)

PLACES = {name: i for i, name in enumerate(SCHEMA.names)}
orders = st.lists(st.tuples(st.sampled_from(SCHEMA.names), st.booleans()), max_size=2)


def before(one: Any, two: Any, descending: bool) -> int:
    if one is None or two is None:
        return (one is None) - (two is None)
    return ((one > two) - (one < two)) * (-1 if descending else 1)


def first(bag: Bag, by: list[tuple[str, bool]], limit: int) -> Bag:
    def compare(one: tuple, two: tuple) -> int:
        for name, descending in [*by, *((name, False) for name in SCHEMA.names)]:
            found = before(one[PLACES[name]], two[PLACES[name]], descending)
            if found:
                return found
        return 0

    return Counter(islice(sorted(bag.elements(), key=cmp_to_key(compare)), limit))


@few
@given(deltas(12), orders, st.integers(0, 5))
def test_first_rows(delta: Delta, by: list[tuple[str, bool]], limit: int) -> None:
    exprs = tuple((column(name), descending) for name, descending in by)
    result = ordered(delta, exprs, limit, {})
    expect(result, lambda at: first(bag_at(delta, at), by, limit))


@few
@given(st.data(), deltas())
def test_order_and_pieces_do_not_matter(data: st.DataObject, delta: Delta) -> None:
    by = ((column("x"), True),)
    again = ordered(data.draw(recut(delta)), by, 3, {})
    assert equal(ordered(delta, by, 3, {}), again)


@few
@given(deltas())
def test_without_a_limit_nothing_changes(delta: Delta) -> None:
    assert equal(ordered(delta, ((column("x"), False),), None, {}), delta)


@pytest.mark.parametrize("limit", [1, 40, 2000])
def test_many_rows(limit: int) -> None:
    rng = np.random.default_rng(11)
    n = 1000
    values = rng.permutation(n)
    rows = pa.table({"x": np.concatenate((values, values))})
    at = np.concatenate((rng.integers(0, 50, n), rng.integers(50, 100, n)))
    delta = Delta(rows, at, np.repeat([1, -1], n))
    result = ordered(delta, ((column("x"), True),), limit, {})
    for when in (10, 49, 60, 99):
        there = sorted((row for row in bag_at(delta, when)), reverse=True)[:limit]
        assert bag_at(result, when) == Counter(there)
