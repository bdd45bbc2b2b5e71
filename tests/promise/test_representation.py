"""The representation: regions tile time, estimates tell of them, memory is bounded."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.promise.cells import UInts64
from streamgauge.promise.pyramid import KINDS
from streamgauge.promise.representation import Region, Representation
from streamgauge.promise.summary import Summary
from streamgauge.synopses.synopsis import Ints

pytestmark = pytest.mark.slow

GIVEN = Summary("s", "sales", "item", 64, rate=2, depth=3, buckets=4)


def spread(numbers: object) -> UInts64:
    return np.asarray(numbers, np.uint64) * np.uint64(0x9E3779B97F4A7C15)


def stream(seed: int, rows: int, until: int, values: int) -> tuple[Ints, UInts64]:
    rng = np.random.default_rng(seed)
    return np.sort(rng.integers(1, until, rows)), spread(rng.integers(0, values, rows))


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 100),
    until=st.integers(2, 900),
    back=st.integers(1, 2000),
    on=st.integers(0, 300),
)
def test_regions_tile_the_window(seed: int, until: int, back: int, on: int) -> None:
    at, keys = stream(seed, 300, until, 50)
    known = Representation(GIVEN)
    known.insert(at, keys)
    now = int(at[-1]) + on
    known.advance(now)
    regions = known.regions(now - back, now)
    assert regions[0].high == now
    assert regions[-1].low == now - back
    for newer, older in pairwise(regions):
        assert newer.low == older.high
        assert newer.number < older.number
    assert all(region.low < region.high for region in regions)


def test_there_is_no_region_in_no_time() -> None:
    known = Representation(GIVEN)
    assert known.regions(5, 5) == []
    assert known.regions(0, 5) == [Region(0, 0, 5)]


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_row_is_told_of_in_the_region_it_lies_in(kind: str) -> None:
    at, keys = stream(1, 400, 440, 6)
    known = Representation(replace(GIVEN, kind=kind, buckets=16))
    known.insert(at, keys)
    known.advance(440)
    assert known.zones[-1].low <= 1
    asked = spread(np.arange(8))
    regions = known.regions(0, 440)
    assert len(regions) == 3
    for region in regions:
        inside = keys[(at > region.low) & (at <= region.high)]
        counts = Counter(inside.tolist())
        truth = np.array([counts[int(key)] for key in asked], float)
        assert known.rows(region) == len(inside)
        got = known.estimate(asked, region)
        # Few values in many buckets are counted exactly, but for a sample and levelled counts.
        close = 0 if kind in ("count_sketch", "count_min") else 0.5 * truth.max()
        assert np.abs(got - truth).max() <= close
        assert (got >= 0).all()


def test_a_zone_that_is_partly_in_a_region_counts_by_its_share_of_time() -> None:
    known = Representation(replace(GIVEN, longest=32))
    known.insert(np.arange(1, 33), spread(np.full(32, 7)))
    known.advance(32)
    for low, rows in ((0, 32.0), (16, 16.0), (31, 1.0)):
        region = Region(0, low, 32)
        assert known.rows(region) == rows
        assert known.estimate(spread([7]), region).tolist() == [rows]


def test_what_is_too_old_is_let_go() -> None:
    known = Representation(GIVEN)
    known.insert(np.array([1, 2, 3]), spread([7, 7, 7]))
    known.advance(5000)
    assert known.zones == []
    assert known.regions(0, 5000)[-1].low == 0
    assert all(known.rows(region) == 0 for region in known.regions(0, 5000))
    known.insert(np.array([5001]), spread([7]))
    assert known.estimate(spread([7]), known.regions(4990, 5001)[0]).tolist() == [1]


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_memory_does_not_grow_with_rows(kind: str) -> None:
    summary = replace(GIVEN, kind=kind)
    known = Representation(summary)
    bound = Representation.most_bytes(summary)
    assert known.nbytes <= bound
    for seed in range(3):
        at, keys = stream(seed, 20_000, 500, 10**6)
        known.insert(at + 500 * seed, keys)
        assert known.nbytes <= bound
    stored = sum(array.nbytes for array in known.to_arrays().values())
    assert stored <= 2 * bound


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_state_comes_back_and_goes_on(kind: str) -> None:
    at, keys = stream(5, 4000, 900, 300)
    summary = replace(GIVEN, kind=kind)
    straight, stopped = Representation(summary, seed=9), Representation(summary, seed=9)
    straight.insert(at, keys)
    for start in range(0, 4000, 700):
        stopped.insert(at[start : start + 700], keys[start : start + 700])
        stopped = Representation.from_arrays(summary, stopped.to_arrays(), seed=9)
    one, other = straight.to_arrays(), stopped.to_arrays()
    assert all(np.array_equal(one[name], other[name]) for name in one)
    assert straight.zones == stopped.zones
    asked = spread(np.arange(400))
    regions = straight.regions(0, 900)
    assert regions == stopped.regions(0, 900)
    for region in regions:
        assert np.array_equal(straight.estimate(asked, region), stopped.estimate(asked, region))


def test_rows_come_in_order_of_time() -> None:
    known = Representation(GIVEN)
    known.insert(np.array([5, 5, 6]), spread([1, 2, 3]))
    known.insert(np.array([6]), spread([4]))
    known.insert(np.zeros(0, np.int64), spread([]))
    known.advance(6)
    for early in ([6], [4], [9, 8]):
        with pytest.raises(AssertionError):
            known.insert(np.array(early), spread(early))
