"""Demand: what standing queries together let a source leave out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.filters.proxy import Wanted, demand_of, region_of
from streamgauge.filters.regions import ALL, NONE, Region
from streamgauge.kernel.time import SECOND
from streamgauge.operators.aggregate import avg, count
from streamgauge.operators.predicate import Predicate, col
from streamgauge.plan.over import Over
from streamgauge.plan.query import Query, every, on_change
from streamgauge.windows.window import Range, Rows

pytestmark = pytest.mark.slow

LITERALS = [-2.0, 0.0, 1.0, 1.5, 7.0, math.nan]
NEAR = sorted(
    {
        near
        for value in LITERALS[:-1]
        for near in (value, math.nextafter(value, 9e9), math.nextafter(value, -9e9))
    }
)


def comparisons(column: str) -> st.SearchStrategy[Predicate]:
    literal = st.sampled_from(LITERALS)
    ops = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
    return st.one_of(
        st.builds(lambda op, value: Predicate(op, column, (value,)), ops, literal),
        st.builds(
            lambda values: Predicate("in", column, tuple(values)), st.lists(literal, max_size=3)
        ),
        st.just(Predicate("is null", column)),
    )


def conditions(*columns: str) -> st.SearchStrategy[Predicate]:
    leaf = st.one_of([comparisons(column) for column in columns])
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.builds(lambda a, b: a & b, inner, inner),
            st.builds(lambda a, b: a | b, inner, inner),
            st.builds(lambda a: ~a, inner),
        ),
        max_leaves=6,
    )


@settings(max_examples=200, derandomize=True)
@given(where=conditions("value"))
def test_a_region_holds_just_the_values_that_pass(where: Predicate) -> None:
    numbers = np.array(NEAR)
    passing = where.mask({"value": numbers}, {})
    region = region_of(where, "value")
    assert [value in region for value in NEAR] == passing.tolist()


@settings(max_examples=200, derandomize=True)
@given(where=conditions("value", "other"), other=st.sampled_from([*NEAR, math.nan]))
def test_with_other_columns_nothing_that_may_pass_is_left_out(
    where: Predicate, other: float
) -> None:
    numbers = {"value": np.array(NEAR), "other": np.full(len(NEAR), other)}
    passing = where.mask(numbers, {})
    loose = region_of(where, "value")
    known = region_of(where, "value", {"other": None if math.isnan(other) else other})
    assert all(value in loose for value, passes in zip(NEAR, passing, strict=True) if passes)
    assert [value in known for value in NEAR] == passing.tolist()


def test_keys_settle_conditions() -> None:
    where = col("host").isin("a", "b") & (col("value") >= 5)
    assert region_of(where, "value", {"host": "b"}) == Region.above(5.0)
    assert region_of(where, "value", {"host": "c"}) == NONE
    assert region_of(where, "value") == Region.above(5.0)
    assert region_of(None, "value") == ALL
    assert region_of(col("value") == "text", "value") == ALL
    assert region_of(col("value") < 10**400, "value") == ALL


def test_latest_values_at_a_cadence_need_readings_as_often() -> None:
    slow = Query("slow", "plant", avg("value"), answer=every("6 s"))
    fast = Query("fast", "plant", avg("value"), answer=every("4 s"))
    assert demand_of([slow], "value") == Wanted(6.0, ALL)
    # Each answers at whole multiples of its own, so readings are needed at all of them.
    assert demand_of([slow, fast], "value") == Wanted(2.0, ALL)
    moving = Query("moving", "plant", avg("value"), answer=on_change(0.5))
    assert demand_of([slow, moving], "value") == Wanted(None, ALL)
    assert demand_of([], "value") == Wanted(None, NONE)


def test_extremes_over_time_need_every_reading() -> None:
    peak = Query(
        "peak", "plant", avg("value"), answer=every("6 s"), over=Over("max", Range("1 minute"))
    )
    assert demand_of([peak], "value") == Wanted(None, ALL)


def test_windows_of_time_let_values_be_left_out_and_windows_of_rows_do_not() -> None:
    hot = col("value") > 30
    by_time = Query("t", "plant", count(), window=Range("1 minute"), where=hot)
    by_rows = Query("r", "plant", count(), window=Rows(10), where=hot)
    named = Query("n", "plant", count(), window="shared", where=col("value") < 5)
    above = Region.above(30.0, strictly=True)
    assert demand_of([by_time], "value") == Wanted(None, above)
    assert demand_of([by_rows], "value") == Wanted(None, ALL)
    assert demand_of([by_time, by_rows], "value").region == ALL
    windows = {"shared": Range("10 s")}
    both = demand_of([by_time, named], "value", windows=windows).region
    assert both == above | Region.below(5.0, strictly=True)
    assert demand_of([named], "value").region == ALL, "a window that is not known may be any"
    assert demand_of([by_time, Query("all", "plant", avg("value"))], "value").region == ALL


def test_what_is_not_understood_asks_for_everything() -> None:
    assert demand_of([object()], "value") == Wanted(None, ALL)
    assert Wanted(None, ALL).pairs is None
    assert Wanted(None, NONE).pairs == []
    assert Wanted(10 * SECOND, Region.above(1.0)).pairs == [(1.0, math.inf)]
