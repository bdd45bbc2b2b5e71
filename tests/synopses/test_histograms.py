"""Histograms against the obvious slow versions: matrices, full sorts, exhaustive search."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.contracts.contract import Contract
from streamgauge.kernel.errors import BindError, ContractUnsatisfiable
from streamgauge.synopses.histograms.approx_v_optimal import ApproxVOptimal, approx_v_optimal
from streamgauge.synopses.histograms.buckets import Buckets
from streamgauge.synopses.histograms.dynamic_wavelet import DynamicWavelet
from streamgauge.synopses.histograms.haar import Haar
from streamgauge.synopses.histograms.multiwavelet import transform
from streamgauge.synopses.histograms.piecewise_linear import PiecewiseLinear, best_lines
from streamgauge.synopses.histograms.range_optimal import (
    RangeOptimal,
    range_error,
    range_optimal,
)
from streamgauge.synopses.histograms.robust_histogram import RobustHistogram, portions
from streamgauge.synopses.histograms.terms import LEVEL
from streamgauge.synopses.histograms.v_optimal import VOptimal, v_optimal
from streamgauge.synopses.questions import Count, Frequency, RangeSum
from streamgauge.synopses.synopsis import Need

pytestmark = pytest.mark.slow

SIGNALS = [Haar, PiecewiseLinear, RangeOptimal]
RNG = np.random.default_rng


def haar_matrix(height: int) -> np.ndarray:
    """Rows are the basis; row 0 is the constant, the others by level and place."""
    n = 1 << height
    rows = [np.full(n, 1 / math.sqrt(n))]
    for level in range(1, height + 1):
        for block in range(n >> level):
            row = np.zeros(n)
            begin, half = block << level, 1 << (level - 1)
            row[begin : begin + half] = -1.0
            row[begin + half : begin + 2 * half] = 1.0
            rows.append(row / math.sqrt(2 * half))
    return np.array(rows)


def steps_and_noise(seed: int, noise: float = 100.0) -> np.ndarray:
    rng = RNG(seed)
    cuts = np.sort(rng.choice(511, 7, replace=False)) + 1
    lengths = np.diff(np.concatenate([[0], cuts, [512]]))
    return np.repeat(rng.integers(0, 1000, 8) * 1.0, lengths) + rng.normal(0, noise, 512)


def test_the_online_transform_is_the_matrix() -> None:
    x = RNG(1).normal(size=64)
    matrix = haar_matrix(6)
    assert np.abs(matrix @ matrix.T - np.eye(64)).max() < 1e-14
    picture = Haar(terms=64)
    picture.update(np.arange(64), x)
    found = picture.expansion()
    coefficients = dict(zip(found.words.tolist(), found.coefficients.tolist(), strict=True))
    expected = (matrix @ x)[1:].tolist()
    words = [(level << LEVEL) | block for level in range(1, 7) for block in range(64 >> level)]
    for word, value in zip(words, expected, strict=True):
        assert coefficients[word] == pytest.approx(value, abs=1e-12)
    assert found.total / 8 == pytest.approx((matrix @ x)[0])


@given(
    st.lists(st.tuples(st.integers(0, 300), st.integers(-5, 5)), max_size=80),
    st.integers(0, 300),
    st.integers(0, 300),
)
@settings(max_examples=30)
@pytest.mark.parametrize("kind", SIGNALS)
def test_with_room_for_all_terms_any_order_is_exact(
    kind: type, rows: list[tuple[int, int]], one: int, two: int
) -> None:
    picture = kind(terms=4000)
    places = np.array([place for place, _ in rows], np.int64)
    values = np.array([value for _, value in rows], np.float64)
    picture.update(places, values)
    low, high = sorted((one, two))
    bar = picture.query(RangeSum(low, high))
    truth = values[(places >= low) & (places <= high)].sum()
    assert bar.low - 1e-6 <= truth <= bar.high + 1e-6
    assert bar.high - bar.low < 1e-6


@pytest.mark.parametrize("terms", [1, 5, 20])
def test_best_terms_in_order_are_those_of_a_full_sort(terms: int) -> None:
    x = np.round(RNG(terms).normal(0, 50, 1000))
    few, every = Haar(terms), Haar(2000)
    few.update(np.arange(1000), x)
    every.update(np.arange(1000), x)
    best, truth = few.expansion().best(terms), every.expansion().best(terms)
    assert best.words.tolist() == truth.words.tolist()
    assert best.error == pytest.approx(truth.error)
    edges, heights = best.pieces()
    padded = np.append(x, np.zeros(24))
    whole = np.repeat(heights, np.diff(edges))
    assert np.linalg.norm(padded - whole) == pytest.approx(best.error)


def test_a_wavelet_term_is_four_buckets_at_most() -> None:
    picture = Haar(2000)
    picture.update(np.arange(1000), RNG(3).normal(size=1000))
    for terms in (1, 4, 30):
        edges, _ = picture.expansion().best(terms).pieces()
        assert len(edges) - 1 <= 3 * terms + 1


def test_a_late_row_moves_only_terms_above_it_and_bars_still_hold() -> None:
    rng = RNG(9)
    places = rng.permutation(2000)
    weights = rng.integers(0, 9, 2000).astype(np.float64)
    for kind in SIGNALS:
        picture = kind(terms=16)
        picture.update(places, weights)
        for low, high in rng.integers(0, 2000, (40, 2)):
            question = RangeSum(min(low, high), max(low, high))
            assert not question.broken_by(picture.query(question), places, weights), kind


def test_parts_of_a_signal_add_up() -> None:
    x = RNG(4).integers(0, 50, 400).astype(np.float64)
    for kind in SIGNALS:
        left, right, whole = kind(terms=900), kind(terms=900), kind(terms=900)
        left.update(np.arange(200), x[:200])
        right.update(np.arange(200, 400), x[200:])
        whole.update(np.arange(400), x)
        left.merge(right)
        one, two = left.query(RangeSum(50, 333)), whole.query(RangeSum(50, 333))
        assert one.value == pytest.approx(two.value)
        assert one.high - one.low < 1e-6, kind


def exhaustive(values: np.ndarray, buckets: int) -> float:
    best = math.inf
    for cuts in itertools.combinations(range(1, len(values)), buckets - 1):
        edges = np.array([0, *cuts, len(values)])
        best = min(best, Buckets.of(values, edges).error)
    return best


@given(st.lists(st.integers(-20, 20), min_size=4, max_size=11), st.integers(1, 4))
@settings(max_examples=40)
def test_v_optimal_is_the_best_of_all_cuts(values: list[int], buckets: int) -> None:
    column = np.array(values, np.float64)
    assert v_optimal(column, buckets).error == pytest.approx(exhaustive(column, buckets), abs=1e-9)


@pytest.mark.parametrize("epsilon", [0.05, 0.25, 1.0])
@pytest.mark.parametrize("buckets", [1, 3, 5])
def test_one_pass_buckets_are_within_their_factor(buckets: int, epsilon: float) -> None:
    for seed in range(4):
        rng = RNG(seed)
        values = np.cumsum(rng.normal(size=120)) if seed % 2 else rng.integers(0, 9, 120) * 1.0
        best = v_optimal(values, buckets).error
        picture = ApproxVOptimal(buckets, epsilon)
        picture.update(np.arange(120), values)
        for found in (picture.histogram(), approx_v_optimal(values, buckets, epsilon)):
            edges = found.edges
            assert len(edges) - 1 <= buckets
            exact = Buckets.of(values, edges)
            assert np.allclose(exact.sums, found.sums)
            assert exact.error <= (1 + epsilon) * best * (1 + 1e-9)


def test_a_signal_of_few_runs_has_no_error() -> None:
    values = np.repeat([3.0, 0.0, 8.0], [50, 70, 30])
    assert approx_v_optimal(values, 5, 0.1).error == 0.0
    picture = ApproxVOptimal(3, 0.1)
    picture.update(np.flatnonzero(values), values[values > 0])
    assert picture.histogram().edges.tolist() == [0, 50, 120, 150]


def test_v_optimal_holds_exactly_what_fits_and_best_buckets_beyond() -> None:
    values = np.repeat([5.0, 1.0, 9.0, 2.0], 25) + RNG(0).normal(0, 0.01, 100)
    roomy = VOptimal(4, 200)
    roomy.update(np.arange(100), values)
    assert roomy.query(Frequency(33)).high == roomy.query(Frequency(33)).low
    tight = VOptimal(8, 16)
    tight.update(np.arange(100), values)
    assert len(tight.pieces().sums) <= 8 + 16 + 3
    assert tight.histogram().error <= 10 * v_optimal(values, 8).error
    bar = tight.query(RangeSum(10, 40))
    assert bar.holds(float(values[10:41].sum()))
    assert bar.high - bar.low < 1.0


def test_bar_inside_a_bucket_is_reached() -> None:
    steps = Buckets.of(np.array([0.0, 0.0, 4.0, 4.0]), np.array([0, 4]))
    assert steps.sum(0, 2) == (4.0, 0.0, 8.0)
    assert steps.sum(2, 4) == (4.0, 0.0, 8.0)
    value, low, high = steps.sum(0, 1)
    assert (value, low, high) == (2.0, 0.0, 4.0)


def test_buckets_from_wavelets_come_near_the_best() -> None:
    for seed in range(3):
        values = steps_and_noise(seed)
        best = v_optimal(values, 8).error
        picture = RobustHistogram(8, terms=144, epsilon=0.5)
        picture.update(np.arange(512), values)
        found = picture.histogram()
        off = float(np.linalg.norm(values - found.steps.cells()))
        assert off**2 <= 1.1 * best
        assert found.least - 1e-6 <= off <= found.most + 1e-6
        assert found.optimum <= math.sqrt(best) * (1 + 1e-9)


def test_portions_follow_the_proof() -> None:
    portion, most = portions(8, 9, 0.5)
    fine = 0.5**2 / 9
    assert portion == 2 * 8 * 9
    assert (1 - fine) ** (most - 1) <= 0.5**2 / 25 * 1.01


def test_multiwavelets_are_orthonormal() -> None:
    for half in (2.0, 8.0, 1024.0):
        matrix = np.array([transform(*row, half) for row in np.eye(4)])
        assert np.abs(matrix @ matrix.T - np.eye(4)).max() < 1e-14


def test_a_line_has_two_terms_and_running_sums_of_a_constant_are_a_line() -> None:
    line = PiecewiseLinear(4)
    line.update(np.arange(1024), 3.0 * np.arange(1024) + 5)
    words, values, _, constant, slope = line.wavelet.terms()
    assert np.abs(values).max() < 1e-8
    assert abs(constant) > 1
    assert abs(slope) > 1
    assert len(words) > 0
    flat = RangeOptimal(4)
    flat.update(np.arange(1024), np.full(1024, 7.0))
    assert np.abs(flat.wavelet.terms()[1]).max() < 1e-7


def test_lines_fit_ramps_better_than_steps() -> None:
    ramps = np.concatenate([np.arange(300), np.arange(300)[::-1], np.arange(0, 600, 2)]) * 1.0
    lines = best_lines(ramps, 3)
    assert lines.error < 1e-4
    assert lines.edges[[0, -1]].tolist() == [0, 900]
    assert np.abs(lines.cells() - ramps).max() < 1e-3
    wavelets, multi = Haar(24), PiecewiseLinear(24)
    for picture in (wavelets, multi):
        picture.update(np.arange(900), ramps)
    assert multi.error < 0.2 * wavelets.expansion().error
    assert multi.lines(3).error <= 1e-2 * float(((ramps - ramps.mean()) ** 2).sum())


def test_range_error_is_the_sum_over_all_ranges() -> None:
    rng = RNG(2)
    values, steps = rng.normal(size=12), rng.normal(size=12)
    truth = sum(
        float((values[low:high] - steps[low:high]).sum()) ** 2
        for low in range(13)
        for high in range(low + 1, 13)
    )
    assert range_error(values, steps) == pytest.approx(truth)


@pytest.mark.parametrize("seed", range(4))
def test_range_optimal_is_no_worse_than_half_as_many_best_steps(seed: int) -> None:
    values = RNG(seed).zipf(1.5, 40) % 20 * 1.0
    best = min(
        range_error(values, np.repeat(found.heights, found.widths))
        for cuts in itertools.combinations(range(1, 40), 2)
        for found in [Buckets.of(values, np.array([0, *cuts, 40]))]
    )
    steps = range_optimal(values, 3)
    assert len(steps.heights) <= 2 * 3
    assert range_error(values, steps.cells()) <= best * (1 + 1e-9)


def test_ranges_come_out_better_from_running_sums() -> None:
    rng = RNG(8)
    values = np.minimum(rng.zipf(1.3, 2000), 1000) * 1.0
    ends = np.sort(rng.integers(0, 2000, (100, 2)), axis=1)
    errors = {}
    for picture in (RangeOptimal(32), Haar(32)):
        picture.update(np.arange(2000), values)
        bars = [picture.query(RangeSum(int(low), int(high))) for low, high in ends]
        truths = [float(values[low : high + 1].sum()) for low, high in ends]
        assert all(bar.holds(truth) for bar, truth in zip(bars, truths, strict=True))
        off = [bar.value - truth for bar, truth in zip(bars, truths, strict=True)]
        errors[picture.name] = float(np.sqrt(np.mean(np.square(off))))
    assert errors["range_optimal"] < 0.5 * errors["haar"]


def test_a_signal_that_went_up_and_down_again_is_gone() -> None:
    rng = RNG(5)
    places = rng.integers(0, 1 << 16, 3000)
    picture = DynamicWavelet(16, 256, 5, seed=1)
    empty = picture.to_bytes()
    picture.update(places, np.full(3000, 3.0))
    picture.update(places, np.full(3000, -3.0))
    assert picture.query(Frequency(int(places[0]))).value == pytest.approx(0.0, abs=1e-9)
    assert np.abs(picture.sketch).max() == 0.0
    assert len(picture.to_bytes()) == pytest.approx(len(empty), abs=40)


def test_dynamic_steps_after_deletions_are_found() -> None:
    rng = RNG(6)
    truth = np.repeat(rng.integers(1, 100, 8) * 1.0, 1 << 11)
    extra = rng.integers(0, 100, len(truth)) * 1.0
    picture = DynamicWavelet(14, 512, 5, seed=2)
    order = rng.permutation(len(truth))
    picture.update(order, (truth + extra)[order])
    picture.update(np.arange(len(truth)), -extra)
    found = picture.histogram(8)
    assert float(((found.steps.cells() - truth) ** 2).sum()) <= 1e-3 * float((truth**2).sum())
    bar = picture.query(RangeSum(1000, 9999))
    assert bar.value == pytest.approx(truth[1000:10000].sum(), rel=1e-3)


def test_the_sketch_that_is_read_has_the_norm_of_the_fine_terms() -> None:
    places = RNG(7).integers(0, 1 << 16, 400)
    model = DynamicWavelet(16, 64, 1)
    energy = 0.0
    for level in range(1, model.fine + 1):
        halves = np.bincount(places >> (level - 1), minlength=1 << (17 - level)).reshape(-1, 2)
        energy += float(((halves[:, 1] - halves[:, 0]) ** 2).sum()) / 2.0**level
    norms = []
    for seed in range(200):
        picture = DynamicWavelet(16, 64, 1, seed=seed)
        picture.update(places)
        norms.append(float((picture.sketch**2).sum()))
    assert len(set(norms)) > 100
    assert np.mean(norms) == pytest.approx(energy, rel=0.1)


@pytest.mark.parametrize("column", [[1.5], [-1], [2**41], [float("inf")]])
def test_no_positions_are_refused_and_change_nothing(column: list[float]) -> None:
    for picture in (Haar(4), VOptimal(2, 2), DynamicWavelet(8, 64, 3)):
        before = picture.to_bytes()
        with pytest.raises(BindError):
            picture.update(column)
        assert picture.to_bytes() == before
    with pytest.raises(BindError):
        DynamicWavelet(8, 64, 3).update([256])


@pytest.mark.parametrize(
    "make",
    [
        lambda: Haar(0),
        lambda: VOptimal(0, 1),
        lambda: VOptimal(1, 0),
        lambda: ApproxVOptimal(1, 0.0),
        lambda: DynamicWavelet(20, 100, 5),
        lambda: DynamicWavelet(20, 128, 4),
        lambda: DynamicWavelet(50, 128, 5),
    ],
)
def test_wrong_parameters_are_refused(make: object) -> None:
    with pytest.raises(BindError):
        make()  # type: ignore[operator]


def test_sizes_follow_the_contract() -> None:
    owed = Contract.relative(0.05)
    points = Haar.sized_for(Need(Frequency(1), Contract.rank(0.05)))
    assert points.guarantee.epsilon <= 0.05
    places = np.arange(20000)
    points.update(places)
    bar = points.query(Frequency(77))
    assert max(bar.high - bar.value, bar.value - bar.low) <= 0.05 * 20000
    for kind in (Haar, VOptimal, PiecewiseLinear, RangeOptimal):
        exact = kind.sized_for(Need(RangeSum(1, 2), owed, universe=(0, 99)))
        exact.update(RNG(1).permutation(100), RNG(2).integers(0, 9, 100) * 1.0)
        assert exact.query(RangeSum(13, 57)).high - exact.query(RangeSum(13, 57)).low < 1e-9
        with pytest.raises(ContractUnsatisfiable):
            kind.sized_for(Need(RangeSum(1, 2), owed))
        with pytest.raises(ContractUnsatisfiable):
            kind.sized_for(Need(RangeSum(1, 2), owed, universe=(0, 10**6), memory=1000))
    likely = Contract.rank(0.05, confidence=0.99)
    need = Need(Frequency(1), likely, universe=(0, 2**20 - 1))
    sketch = DynamicWavelet.sized_for(need)
    assert sketch.guarantee.epsilon <= 0.05
    assert sketch.guarantee.delta <= 0.01
    with pytest.raises(ContractUnsatisfiable):
        DynamicWavelet.sized_for(Need(Frequency(1), owed, universe=(0, 99)))
    with pytest.raises(ContractUnsatisfiable):
        ApproxVOptimal.sized_for(Need(RangeSum(0, 1), owed))
    assert ApproxVOptimal.sized_for(Need(Count(), owed)).buckets == 1
