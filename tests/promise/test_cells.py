"""Cells of every kind: laws of adding and subtracting, confidence, and estimates against the truth.

Statistical tests alarm on correct cells with chance 1e-6 at most each; their seeds are fixed.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.checks.trials import ALPHA, cutoff
from streamgauge.kernel.errors import IncompatibleSynopsis
from streamgauge.promise.cells import Cells, Stretch, UInts64
from streamgauge.promise.cells_count_min import CountMinCells
from streamgauge.promise.cells_count_sketch import DEPTH, WIDTH, CountSketchCells
from streamgauge.promise.cells_sample import KEPT, SampleCells
from streamgauge.promise.pyramid import KINDS
from streamgauge.promise.summary import KINDS as DECLARED
from streamgauge.synopses.frequencies.count_sketch import most_rows

pytestmark = pytest.mark.slow

ALL = [pytest.param(kind, id=name) for name, kind in KINDS.items()]
LINEAR = [pytest.param(kind, id=name) for name, kind in KINDS.items() if kind.linear]
columns = st.lists(st.integers(0, 40), max_size=300).map(lambda rows: np.array(rows, np.uint64))


def spread(numbers: object) -> UInts64:
    """Keys as they come from columns: hashes."""
    return np.asarray(numbers, np.uint64) * np.uint64(0x9E3779B97F4A7C15)


def made(kind: type[Cells], keys: UInts64, *, serial: int = 0, seed: int = 3) -> Cells:
    cells = kind(4, seed=seed)
    cells.summarize(keys, serial=serial)
    return cells


def same(one: Cells, other: Cells) -> bool:
    return all(
        np.array_equal(a, b)
        for a, b in (
            (one.array, other.array),
            (one.rows, other.rows),
            (one.sums, other.sums),
        )
    )


def test_every_declared_kind_has_cells() -> None:
    assert set(KINDS) == set(DECLARED)


@pytest.mark.parametrize("kind", ALL)
@given(first=columns, second=columns)
def test_adding_zones_is_summarizing_all_their_rows(
    kind: type[Cells], first: UInts64, second: UInts64
) -> None:
    whole = made(kind, np.concatenate([first, second]))
    left, right = made(kind, first), made(kind, second, serial=len(first))
    swapped = right.copy()
    swapped.add(left)
    left.add(right)
    assert same(left, whole)
    assert same(swapped, whole)
    assert whole.rows.sum() == len(first) + len(second)


@pytest.mark.parametrize("kind", LINEAR)
@given(first=columns, second=columns)
def test_subtracting_undoes_adding(kind: type[Cells], first: UInts64, second: UInts64) -> None:
    cells, other = made(kind, first), made(kind, second)
    cells.add(other)
    cells.subtract(other)
    assert same(cells, made(kind, first))


def test_subtracting_leaves_a_sample_of_the_rest() -> None:
    first, second = spread(np.arange(900)), spread(np.arange(5000, 5900))
    cells, other = made(SampleCells, first), made(SampleCells, second, serial=900)
    alone = cells.copy()
    cells.add(other)
    cells.subtract(other)
    assert np.array_equal(cells.rows, alone.rows)
    assert (cells.estimate(second) == 0).all()
    kept = cells.estimate(first) > 0
    assert 0 < kept.sum() < (alone.estimate(first) > 0).sum()
    assert (alone.estimate(first)[kept] > 0).all()


@pytest.mark.parametrize("kind", ALL)
@given(keys=columns, cut=st.integers(0, 300))
def test_the_split_of_a_batch_does_not_matter(kind: type[Cells], keys: UInts64, cut: int) -> None:
    cells = made(kind, keys[:cut])
    cells.summarize(keys[cut:], serial=min(cut, len(keys)))
    assert same(cells, made(kind, keys))


@pytest.mark.parametrize("kind", ALL)
def test_sums_are_kept_row_by_row(kind: type[Cells]) -> None:
    keys = spread(np.random.default_rng(1).integers(0, 700, 3000))
    cells = made(kind, keys)
    assert np.array_equal(cells.sums, cells.recount())


@pytest.mark.parametrize("kind", ALL)
@given(keys=columns)
def test_arrays_come_back(kind: type[Cells], keys: UInts64) -> None:
    cells, back = made(kind, keys), kind(4, seed=3)
    back.load(cells.to_arrays())
    assert same(back, cells)
    asked = np.arange(50, dtype=np.uint64)
    assert np.array_equal(back.estimate(asked), cells.estimate(asked))


@pytest.mark.parametrize("kind", ALL)
def test_a_copy_shares_nothing_and_an_empty_one_has_nothing(kind: type[Cells]) -> None:
    keys = spread(np.arange(30))
    cells = made(kind, keys)
    twin, empty = cells.copy(), cells.empty()
    cells.summarize(keys, serial=30)
    assert same(twin, made(kind, keys))
    assert same(empty, made(kind, keys[:0]))
    assert (empty.estimate(keys) == 0).all()
    assert empty.confidence() == 1.0
    assert empty.nbytes == cells.nbytes
    cells.clear()
    assert same(cells, empty)


@pytest.mark.parametrize("kind", ALL)
def test_only_like_cells_are_added(kind: type[Cells]) -> None:
    with pytest.raises(IncompatibleSynopsis):
        kind(4, seed=1).add(kind(4, seed=2))
    with pytest.raises(IncompatibleSynopsis):
        kind(4, seed=1).subtract(kind(8, seed=1))


@pytest.mark.parametrize("kind", ALL)
def test_few_values_are_counted_exactly(kind: type[Cells]) -> None:
    cells = kind(16, seed=5)
    cells.summarize(spread([1, 2, 2, 3, 3, 3]))
    assert cells.estimate(spread([1, 2, 3, 4])).tolist() == [1, 2, 3, 0]


@pytest.mark.parametrize("kind", ALL)
def test_confidence_falls_as_unlike_rows_fill_a_zone(kind: type[Cells]) -> None:
    sure = []
    for rows in (200, 2000, 20_000):
        cells = kind(16, seed=1)
        cells.summarize(spread(np.arange(rows)))
        sure.append(cells.confidence())
    assert 1.0 >= sure[0] > sure[1] > sure[2] > 0.0


@pytest.mark.parametrize("kind", ALL)
def test_confidence_falls_when_a_zone_is_a_mixture(kind: type[Cells]) -> None:
    rng = np.random.default_rng(2)
    drawn = rng.integers(0, 200, 4000)
    steady, mixed = kind(16, seed=1), kind(16, seed=1)
    steady.summarize(spread(drawn))
    mixed.summarize(spread(drawn + 1000 * (np.arange(4000) >= 2000)))
    assert mixed.confidence() < steady.confidence()


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("theta", [0.4, 0.7])
def test_rows_are_taken_up_to_the_instant_that_is_not_sure(kind: type[Cells], theta: float) -> None:
    rng = np.random.default_rng(4)
    keys = spread(rng.integers(0, 10**6, 3000))
    at = np.sort(rng.integers(1, 60, 3000))
    cells = kind(4, seed=1)
    reached = cells.take(at, keys, Stretch(0, 3000, 0, 3, theta))
    for instant in range(1, 60):
        slow = made(kind, keys[at <= instant], seed=1)
        if instant >= 3 and slow.confidence() < theta:
            break
    assert 0 < reached < 3000
    assert reached == (at <= instant).sum()
    assert same(cells, slow)
    assert cells.take(at, keys, Stretch(reached, 3000, instant, 3, theta)) == reached


def test_count_sketch_estimates_hold_their_law() -> None:
    """Off by more than the root of 8 F2 / width in most lines: `most_rows(3, 1/8)`."""
    trials, broken = 400, 0
    for seed in range(trials):
        heavy = spread(np.arange(64) + 1000 * seed)
        cells = CountSketchCells(1, seed=seed)
        cells.summarize(np.repeat(heavy, 20))
        off = abs(cells.estimate(spread([10**9]))[0])
        broken += off > math.sqrt(8.0 * 64 * 20**2 / WIDTH)
    assert broken <= cutoff(trials, most_rows(DEPTH, 0.125))


def test_count_sketch_estimates_of_small_zones_are_within_half_a_row() -> None:
    """A line is off if one of the others of a bucket shares its counter, the median if two are.

    Chances differ from trial to trial; more breaks than the cut-off at their mean are no more
    likely than if all were the mean (Hoeffding 1956).
    """
    trials, broken, chances = 400, 0, 0.0
    for seed in range(trials):
        keys = spread(np.arange(300) + 1000 * seed)
        cells = CountSketchCells(16, seed=seed)
        cells.summarize(keys)
        broken += abs(cells.estimate(keys[:1])[0] - 1.0) > 0.5
        others = CountSketchCells(16, seed=seed)
        others.summarize(keys[:1])
        chances += 3 * ((cells.rows[others.rows > 0][0] - 1) / WIDTH) ** 2
    assert chances / trials < 0.1
    assert broken <= cutoff(trials, chances / trials)


def test_count_min_estimates_hold_their_law() -> None:
    trials, broken = 400, 0
    for seed in range(trials):
        heavy = spread(np.arange(48) + 1000 * seed)
        cells = CountMinCells(1, seed=seed)
        cells.summarize(np.repeat(heavy, 20))
        assert (cells.estimate(heavy) >= 20).all()
        broken += cells.estimate(spread([10**9]))[0] > math.e / WIDTH * 48 * 20
    assert broken <= cutoff(trials, math.exp(-3))


def test_sampled_shares_are_right_on_average() -> None:
    """Hoeffding's bound holds for draws without replacement."""
    trials, share = 100, 0.3
    keys = spread(np.where(np.arange(1000) < 1000 * share, 1, 2))
    found = []
    for seed in range(trials):
        cells = SampleCells(1, seed=seed)
        cells.summarize(keys)
        found.append(cells.estimate(spread([1]))[0] / 1000)
    bound = math.sqrt(math.log(2.0 / ALPHA) / (2.0 * trials * KEPT))
    assert abs(np.mean(found) - share) < bound
