"""Zones and pyramids: cut where a stream changes, collapsed by age, the same in any batches."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.promise.cells import Cells, UInts64
from streamgauge.promise.pyramid import FAN, KINDS, PROMISING, Pyramid
from streamgauge.promise.summary import Summary
from streamgauge.promise.zones import Zones, capacities
from streamgauge.synopses.synopsis import Floats, Ints

pytestmark = pytest.mark.slow

GIVEN = Summary("s", "sales", "item", 64, rate=2, depth=3, confidence=0.8, buckets=2)


def spread(numbers: object) -> UInts64:
    return np.asarray(numbers, np.uint64) * np.uint64(0x9E3779B97F4A7C15)


def stream(seed: int, rows: int, until: int, values: int = 10**6) -> tuple[Ints, UInts64]:
    rng = np.random.default_rng(seed)
    return np.sort(rng.integers(1, until, rows)), spread(rng.integers(0, values, rows))


def cut_slowly(zones: Zones, at: Ints, keys: UInts64, now: int) -> list[tuple[int, int, int]]:
    """Low, high and rows of all zones that there ever were, instant by instant."""
    kind, whole = KINDS[zones.summary.kind], zones.summary.granularity
    found: list[tuple[int, int, int]] = []
    low = high = last = None
    cells: Cells = kind(zones.summary.buckets, seed=zones.seed)
    for instant in range(1, now + 1):
        mine = keys[at == instant]
        if len(mine) and low is None:
            floor = max((instant - 1) // whole * whole, found[-1][1] if found else 0)
            low = floor + (instant - 1 - floor) // zones.longest * zones.longest
            high = min(low + zones.longest, ((instant - 1) // whole + 1) * whole)
            cells = cells.empty()
        if len(mine):
            cells.summarize(mine, serial=int((at < instant).sum()))
            last = instant
        if low is None or high is None or last is None:
            continue
        unsure = cells.confidence() < zones.summary.confidence
        if last >= low + zones.shortest and unsure:
            found.append((low, last, int(cells.rows.sum())))
            low = None
        elif instant >= high:
            found.append((low, high, int(cells.rows.sum())))
            low = None
    if low is not None and last is not None:
        found.append((low, last, int(cells.rows.sum())))
    return found


@pytest.mark.parametrize("kind", ["count_sketch", "sample"])
@pytest.mark.parametrize("seed", range(3))
def test_zones_are_those_of_the_slow_way(kind: str, seed: int) -> None:
    at, keys = stream(seed, 9000, 700)
    quiet = (at < 300) | (at > 420)
    at, keys = at[quiet], keys[quiet]
    zones = Zones(replace(GIVEN, kind=kind, longest=24), seed=seed)
    zones.insert(at, keys)
    zones.advance(705)
    slow = cut_slowly(zones, at, keys, 705)
    assert any(high - low < zones.longest for low, high, _ in slow)
    expected: dict[tuple[int, int], tuple[int, int, int]] = {}
    for low, high, rows in slow:
        for number, reach in enumerate((64, 192, 448)):
            length = 64 * 2 ** max(number - 1, 0)
            end = high if number == 0 else -(-high // length) * length
            if end > 705 - reach:
                begun, _, before = expected.get((number, end), (low, 0, 0))
                expected[number, end] = (begun, high, before + rows)
                break
    got = [(zone.granularity, zone.low, zone.high, zone.rows) for zone in zones.extents()]
    assert sorted(got) == sorted((number, *zone) for (number, _), zone in expected.items())


@settings(max_examples=40, deadline=None)
@given(
    kind=st.sampled_from(sorted(KINDS)),
    seed=st.integers(0, 100),
    cuts=st.lists(st.integers(0, 1500), max_size=12),
    stops=st.lists(st.integers(0, 600), max_size=8),
)
def test_zones_do_not_depend_on_how_rows_are_handed_over(
    kind: str, seed: int, cuts: list[int], stops: list[int]
) -> None:
    at, keys = stream(seed, 1500, 600, values=400)
    whole, parts = (Zones(replace(GIVEN, kind=kind)) for _ in range(2))
    whole.insert(at, keys)
    whole.advance(600)
    # An instant is told to be over only when all its rows are there.
    told = [int(np.searchsorted(at, stop, "right")) for stop in stops]
    events = sorted([(cut, -1) for cut in cuts] + list(zip(told, stops, strict=True)))
    done = 0
    for cut, stop in [*events, (1500, 600)]:
        parts.insert(at[done:cut], keys[done:cut])
        done = max(done, cut)
        if stop >= 0:
            parts.advance(stop)
    one, other = whole.to_arrays(), parts.to_arrays()
    assert one.keys() == other.keys()
    assert all(np.array_equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("kind", [name for name in sorted(KINDS) if KINDS[name].linear])
def test_a_change_of_behaviour_starts_a_zone(kind: str) -> None:
    """Twenty rows an instant of 150 values, then of 150 others; the bound lies between."""
    at = np.repeat(np.arange(1, 801), 20)
    steady = np.arange(len(at)) % 150
    changing = steady + 1000 * (at > 400)
    cells = [KINDS[kind](2, seed=0) for _ in range(2)]
    for part, rows in zip(cells, (steady, changing), strict=True):
        part.summarize(spread(rows))
    bound = (cells[0].confidence() + cells[1].confidence()) / 2
    given = replace(GIVEN, granularity=1600, longest=1600, kind=kind, confidence=bound)
    calm, changed = Zones(given), Zones(given)
    calm.insert(at, spread(steady))
    changed.insert(at, spread(changing))
    assert len(calm.extents()) == 1
    newest, first = changed.extents()[0], changed.extents()[-1]
    assert first.low == 0
    assert 400 < first.high < 800
    assert newest.low >= first.high


@settings(max_examples=25, deadline=None)
@given(kind=st.sampled_from(sorted(KINDS)), seed=st.integers(0, 50), until=st.integers(50, 900))
def test_sums_are_those_of_the_zones_below(kind: str, seed: int, until: int) -> None:
    at, keys = stream(seed, 1200, until, values=300)
    zones = Zones(replace(GIVEN, kind=kind))
    zones.insert(at, keys)
    kept = sum(zone.rows for zone in zones.extents())
    assert kept == (at > zones.edges[-1]).sum()
    for pyramid in zones.pyramids:
        open_zone = pyramid.newest if pyramid.open else -1
        for level in range(1, len(pyramid.offsets) - 1):
            for spot in range(int(pyramid.offsets[level + 1] - pyramid.offsets[level])):
                total = pyramid.nodes[0].empty()
                reach = FAN**level
                for leaf in range(spot * reach, min((spot + 1) * reach, pyramid.capacity)):
                    if leaf != open_zone:
                        total.add(pyramid.nodes[leaf])
                node = pyramid.nodes[int(pyramid.offsets[level]) + spot]
                assert np.array_equal(node.array, total.array)
                assert np.array_equal(node.rows, total.rows)


def test_a_restless_stream_has_a_bounded_number_of_zones() -> None:
    restless = Summary("s", "sales", "item", 320, rate=3, depth=3, confidence=0.99, buckets=1)
    zones = Zones(restless)
    at = np.repeat(np.arange(1, 6001), 5)
    keys = spread(np.arange(len(at)))
    most = np.zeros(3, np.int64)
    for start in range(0, len(at), 35):
        zones.insert(at[start : start + 35], keys[start : start + 35])
        most = np.maximum(most, [pyramid.size for pyramid in zones.pyramids])
    assert most[0] > 25
    assert (most <= np.array(capacities(restless))).all()
    assert zones.extents()[0].high - zones.extents()[-1].low <= 320 + 960 + 2880 + 960


def walk_slowly(pyramid: Pyramid, keys: UInts64, weights: Floats) -> tuple[Floats, Floats]:
    """Estimates by going down from the top, and what the zones hold that were not reached."""
    found, missed = np.zeros(len(keys)), np.zeros(len(keys))
    for leaf in np.flatnonzero(weights):
        here = weights[leaf] * pyramid.nodes[leaf].estimate(keys)
        reached = np.ones(len(keys), bool)
        if not (pyramid.open and leaf == pyramid.newest):
            for above in pyramid._above(int(leaf)):
                reached &= pyramid.nodes[above].estimate(keys) >= PROMISING
        found += np.where(reached, here, 0.0)
        missed += np.where(reached, 0.0, np.abs(here))
    return np.maximum(found, 0.0), missed


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("now", [150, 700])
def test_the_pyramid_leaves_out_no_more_than_unpromising_zones_hold(kind: str, now: int) -> None:
    rng = np.random.default_rng(3)
    at = np.sort(rng.integers(1, now, 5000))
    keys = spread(np.minimum(rng.zipf(1.3, 5000), 5000))
    zones = Zones(replace(GIVEN, kind=kind, buckets=16))
    zones.insert(at, keys)
    asked = spread(np.arange(1, 800))
    for pyramid in zones.pyramids:
        weights = pyramid.weights(30, now - 10, zones.last)
        found, missed = walk_slowly(pyramid, asked, weights)
        got = pyramid.estimate(asked, weights)
        assert got == pytest.approx(found)
        assert (np.abs(got - pyramid.plain(asked, weights)) <= missed + 1e-9).all()
