"""Buckets: cut points, layouts, and what a range has in common with a predicate."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.promise.buckets import (
    Buckets,
    Floats,
    common,
    inside,
    meets,
    possible,
    quantile_cuts,
    spans_of_words,
)

pytestmark = pytest.mark.slow

NUMBERS = st.lists(st.floats(-100, 100, width=32) | st.just(float("nan")), max_size=60)


def laid(buckets: Buckets, column: Floats) -> list[list[float]]:
    layout = buckets.layout(column)
    ends = zip(layout.start[:-1], layout.start[1:], strict=True)
    return [column[layout.order[first:last]].tolist() for first, last in ends]


@given(NUMBERS, NUMBERS, st.integers(1, 8))
@settings(max_examples=60, deadline=None)
def test_a_layout_has_every_row_once_and_its_ranges_hold(
    before: list[float], values: list[float], count: int
) -> None:
    buckets = Buckets(count)
    buckets.renew(0, np.array(before, np.float64))
    column = np.array(values, np.float64)
    layout = buckets.layout(column)
    assert sorted(layout.order.tolist()) == list(range(len(column)))
    assert len(layout.low) == count + 1
    for bucket, rows in enumerate(laid(buckets, column)):
        if bucket == count:
            assert np.isnan(rows).all()
        elif rows:
            assert (layout.low[bucket], layout.high[bucket]) == (min(rows), max(rows))
            assert layout.mean[bucket] == pytest.approx(np.mean(rows))


@given(
    st.lists(st.integers(-9, 9), min_size=1, max_size=9),
    st.integers(-9, 9),
    st.sampled_from([2**53, -(2**53), 2**62, -(2**62)]),
)
@settings(max_examples=100, deadline=None)
def test_whole_numbers_that_doubles_cannot_tell_apart_are_never_judged_wrongly(
    offsets: list[int], bound: int, base: int
) -> None:
    whole, limit = base + np.array(offsets), float(base + bound)
    buckets = Buckets(2)
    buckets.renew(0, np.array([base - 4.0, base + 4.0]))
    layout = buckets.layout(whole.astype(np.float64))
    above, below = np.nextafter(limit, np.inf), np.nextafter(limit, -np.inf)
    asked = {
        (limit, np.inf): whole >= base + bound,
        (above, np.inf): whole > base + bound,
        (-np.inf, limit): whole <= base + bound,
        (-np.inf, below): whole < base + bound,
        (limit, limit): whole == base + bound,
    }
    for span, match in asked.items():
        spans = np.array([span])
        can, must = (f(spans, layout.low, layout.high) for f in (meets, inside))
        rows = possible(spans, layout.low, layout.high, layout.start)
        assert (rows == np.where(can, layout.rows, 0)).all()
        for bucket in range(3):
            held = match[layout.order[layout.start[bucket] : layout.start[bucket + 1]]]
            assert can[bucket] or not held.any()
            assert held.all() or not must[bucket]


def test_what_is_infinite_lies_apart() -> None:
    buckets = Buckets(2)
    buckets.renew(0, np.array([np.inf, 1.0, 2.0, -np.inf, 3.0, 4.0]))
    assert buckets.cuts.tolist() == [3.0]
    layout = buckets.layout(np.array([np.inf, 1.0, -np.inf, np.nan]))
    assert layout.rows.tolist() == [1, 0, 3]
    assert not inside(np.array([[0.0, np.inf]]), layout.low, layout.high)[2]


def test_rows_of_a_bucket_stay_in_order_of_arrival() -> None:
    buckets = Buckets(3)
    buckets.renew(0, np.arange(30.0))
    order = buckets.layout(np.array([25.0, 1.0, 26.0, 2.0, 3.0])).order
    assert order.tolist() == [1, 3, 4, 0, 2]


def test_cuts_are_quantiles_and_a_heavy_value_has_a_bucket_of_its_own() -> None:
    assert quantile_cuts(np.arange(80.0), 4).tolist() == [20.0, 40.0, 60.0]
    heavy = np.concatenate([np.arange(10.0), np.full(80, 50.0), np.arange(90.0, 100.0)])
    buckets = Buckets(8)
    buckets.renew(0, heavy)
    layout = buckets.layout(heavy)
    assert ((layout.low == 50.0) & (layout.high == 50.0) & (layout.rows == 80)).sum() == 1
    assert quantile_cuts(np.array([5.0]), 1).tolist() == []


def test_cuts_follow_the_zone_before() -> None:
    buckets = Buckets(2)
    assert buckets.renew(0, np.arange(100.0))
    assert buckets.cuts.tolist() == [50.0]
    assert not buckets.renew(0, np.arange(1000.0, 1100.0))
    assert buckets.cuts.tolist() == [50.0]
    assert buckets.renew(1, np.arange(5000.0, 5100.0))
    assert buckets.cuts.tolist() == [1000.0]
    again = Buckets.from_arrays(buckets.to_arrays())
    for zone in (1, 2, 3):
        column = np.arange(zone * 7.0, zone * 90.0)
        assert again.renew(zone, column) == buckets.renew(zone, column)
        assert again.cuts.tolist() == buckets.cuts.tolist()


def test_words_are_cut_by_hash_and_layouts_are_shared() -> None:
    buckets = Buckets(4)
    words = (np.arange(4, dtype=np.uint64) << np.uint64(62)) + np.uint64(5)
    memo: dict[bytes, object] = {}
    layout = buckets.layout(words, memo)  # type: ignore[arg-type]
    assert layout.rows.tolist() == [1, 1, 1, 1, 0]
    assert Buckets(4).layout(words, memo) is layout  # type: ignore[arg-type]
    assert Buckets(5).layout(words, memo) is not layout  # type: ignore[arg-type]
    spans = spans_of_words(words[1:2])
    assert meets(spans, layout.low, layout.high).tolist() == [False, True, False, False, False]


@given(
    st.lists(st.tuples(st.integers(-20, 20), st.integers(0, 8)), max_size=4),
    st.lists(st.integers(-20, 20), min_size=1, max_size=8),
)
def test_ranges_never_lie_about_rows(spans: list[tuple[int, int]], rows: list[int]) -> None:
    pairs = np.array([[a, a + b] for a, b in spans], np.float64).reshape(-1, 2)
    low, high = np.array([min(rows)], np.float64), np.array([max(rows)], np.float64)
    match = [any(a <= row <= b for a, b in pairs) for row in rows]
    if any(match):
        assert meets(pairs, low, high)[0]
    if inside(pairs, low, high)[0]:
        assert all(match)
    share, sure = common(pairs, low[0], high[0], float(len(rows)))
    assert (share > 0.0) == meets(pairs, low, high)[0]
    assert sure == inside(pairs, low, high)[0]
    assert share <= 1.0


def test_values_are_taken_to_be_spread_evenly() -> None:
    spans = np.array([[2.0, 4.0], [6.0, 9.0]])
    assert common(spans, 0.0, 8.0, 100.0) == (0.5, False)
    assert common(spans, 7.0, 8.0, 100.0) == (1.0, True)
    assert common(spans, 0.0, 2.0, 100.0) == (0.01, False)
    assert common(spans, -np.inf, np.inf, 100.0) == (0.5, False)


def test_what_is_not_a_number_may_match_but_never_surely() -> None:
    everywhere = np.array([[-np.inf, np.inf]])
    buckets = Buckets(2)
    layout = buckets.layout(np.array([np.nan]))
    assert meets(everywhere, layout.low, layout.high).tolist() == [False, False, True]
    assert not inside(everywhere, layout.low, layout.high).any()
    assert inside(None, layout.low, layout.high)[2]
