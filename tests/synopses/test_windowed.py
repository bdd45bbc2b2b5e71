"""Windowed synopses: worked examples, formulas, and every window against the rows themselves."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.contracts.contract import Contract
from streamgauge.kernel.errors import BindError, ContractUnsatisfiable, IncompatibleSynopsis
from streamgauge.kernel.hashing import mix64
from streamgauge.kernel.keys import items, keys
from streamgauge.synopses.frequencies.count_min import CountMin
from streamgauge.synopses.questions import (
    Count,
    Distinct,
    Frequency,
    Max,
    Mean,
    Min,
    Moment,
    Quantile,
    Question,
    RangeCount,
    Sum,
    Variance,
)
from streamgauge.synopses.synopsis import Need, Synopsis
from streamgauge.synopses.windowed import KINDS
from streamgauge.synopses.windowed.counter import EhCounter, canonical
from streamgauge.synopses.windowed.decay import Decay
from streamgauge.synopses.windowed.eh import ExponentialHistogram, over_window, put
from streamgauge.synopses.windowed.eh_count import EhCount
from streamgauge.synopses.windowed.eh_count_min import EhCountMin
from streamgauge.synopses.windowed.eh_histogram import EhHistogram
from streamgauge.synopses.windowed.eh_mean import EhMean
from streamgauge.synopses.windowed.eh_norm import EhNorm
from streamgauge.synopses.windowed.eh_sum import EhSum
from streamgauge.synopses.windowed.eh_variance import EhVariance
from streamgauge.synopses.windowed.polynomial_decay import PolynomialDecay
from streamgauge.synopses.windowed.rarity import Rare, Rarity
from streamgauge.synopses.windowed.similarity import Jaccard, Similarity
from streamgauge.synopses.windowed.window_extreme import WindowExtreme

pytestmark = pytest.mark.slow

WITHIN_EPSILON: dict[type[Any], tuple[Question, ...]] = {
    EhCount: (Count(),),
    EhSum: (Sum(),),
    EhMean: (Mean(), Sum(), Count()),
    EhVariance: (Variance(),),
}


@st.composite
def histories(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, int, float]:
    """Times with ties, bursts and silences, values, a window and an error."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n = draw(st.integers(1, 500))
    gaps = rng.integers(0, 3, n) * (rng.random(n) < draw(st.floats(0.05, 1.0)))
    silences = (rng.random(n) < 0.004) * rng.integers(0, 300)
    scale = draw(st.sampled_from([2, 5, 1000]))
    values = rng.integers(0, scale, n) * (rng.random(n) < 0.8)
    return (
        np.cumsum(gaps + silences),
        values.astype(np.float64),
        draw(st.integers(1, 250)),
        draw(st.sampled_from([1.0, 0.5, 0.1, 0.05])),
    )


def in_batches(synopsis: Any, times: np.ndarray, values: np.ndarray, size: int) -> None:
    for start in range(0, len(times), size):
        part = slice(start, start + size)
        synopsis.update(values[part], times=times[part])


@pytest.mark.parametrize("kind", WITHIN_EPSILON, ids=lambda kind: kind.name)
@settings(max_examples=12, deadline=None)
@given(history=histories(), size=st.integers(1, 90))
def test_every_window_is_within_epsilon_at_every_instant(
    kind: Any, history: Any, size: int
) -> None:
    times, values, window, epsilon = history
    synopsis = kind(window, epsilon)
    for start in range(0, len(times), size):
        seen = slice(0, start + size)
        synopsis.update(values[start : start + size], times=times[start : start + size])
        synopsis.validate()
        now = int(times[seen][-1])
        for length in {window, max(1, window // 3), 1}:
            alive = values[seen][times[seen] > now - length]
            for question in WITHIN_EPSILON[kind]:
                bar = synopsis.query(question, window=length)
                assert not question.broken_by(bar, alive, np.ones(len(alive)))
                reach = epsilon * bar.value * (1.0 + 1e-9) + 1e-9
                assert max(bar.high - bar.value, bar.value - bar.low) <= reach


@pytest.mark.parametrize("kind", WITHIN_EPSILON, ids=lambda kind: kind.name)
@settings(max_examples=10, deadline=None)
@given(history=histories(), size=st.integers(1, 90))
def test_batches_do_not_matter_to_a_byte(kind: Any, history: Any, size: int) -> None:
    times, values, window, epsilon = history
    whole, parts = kind(window, epsilon), kind(window, epsilon)
    whole.update(values, times=times)
    in_batches(parts, times, values, size)
    assert whole.to_bytes() == parts.to_bytes()


@pytest.mark.parametrize("kind", WITHIN_EPSILON, ids=lambda kind: kind.name)
@settings(max_examples=10, deadline=None)
@given(history=histories(), seed=st.integers(0, 99))
def test_parts_put_together_keep_the_bar(kind: Any, history: Any, seed: int) -> None:
    times, values, window, epsilon = history
    mine = np.random.default_rng(seed).random(len(times)) < 0.4
    one, two = kind(window, epsilon), kind(window, epsilon)
    one.update(values[mine], times=times[mine])
    two.update(values[~mine], times=times[~mine])
    one.merge(two)
    now = int(times[-1])
    one.advance(now)
    alive = values[times > now - window]
    for question in WITHIN_EPSILON[kind]:
        bar = one.query(question)
        assert not question.broken_by(bar, alive, np.ones(len(alive)))
        allowed = one.guarantee.epsilon * bar.value * (1.0 + 1e-9) + 1e-9
        assert bar.high - bar.value <= allowed


# Counting.


def sizes_after(sizes: list[int], half: int) -> list[int]:
    """Sizes, oldest first, after one more row, by merging as the paper does it."""
    sizes = [*sizes, 1]
    size = 1
    while sizes.count(size) == half + 2:
        place = sizes.index(size)
        sizes[place : place + 2] = [2 * size]
        size *= 2
    return sizes


def test_the_paper_example_of_merging() -> None:
    sizes = [32, 16, 8, 8, 4, 4, 2, 1, 1]
    sizes = sizes_after(sizes, 1)
    assert sizes == [32, 16, 8, 8, 4, 4, 2, 2, 1]
    sizes = sizes_after(sizes_after(sizes, 1), 1)
    assert sizes == [32, 16, 16, 8, 4, 2, 1]


@pytest.mark.parametrize("half", [1, 2, 3, 8])
def test_buckets_of_a_total_are_those_of_merging_one_by_one(half: int) -> None:
    sizes: list[int] = []
    for total in range(1, 400):
        sizes = sizes_after(sizes, half)
        counts = canonical(total, half)
        assert [int(c) for c in counts[: len(set(sizes))]] == [
            sizes.count(size) for size in sorted(set(sizes))
        ], total


def test_bucket_times_are_those_of_merging_one_by_one() -> None:
    counter, held = EhCounter(10**6, 0.25), []
    times = np.cumsum(np.random.default_rng(1).integers(0, 4, 700))
    for time in times.tolist():
        held.append([1, time])
        size = 1
        while (places := [i for i, b in enumerate(held) if b[0] == size]) and len(places) == 4:
            first = places[0]
            held[first : first + 2] = [[2 * size, held[first + 1][1]]]
            size *= 2
        counter.add(np.array([time]))
    assert counter.sizes().tolist() == [size for size, _ in held]
    assert counter.times.tolist() == [time for _, time in held]


@settings(max_examples=15, deadline=None)
@given(history=histories(), size=st.integers(1, 90), most=st.sampled_from([2, 50, 10**6]))
def test_whole_weights_count_as_rows_of_one_time(history: Any, size: int, most: int) -> None:
    times, values, window, epsilon = history
    units = (values.astype(np.int64) * 7919) % most + 1
    counter = EhCount(window, epsilon)
    for start in range(0, len(times), size):
        part = slice(start, start + size)
        counter.update(values[part], units[part], times[part])
    truth = float(units[times > times[-1] - window].sum())
    bar = counter.query(Count())
    assert bar.low <= truth <= bar.high
    assert bar.high - bar.value <= epsilon * bar.value


def test_a_weighted_row_leaves_the_buckets_of_as_many_rows() -> None:
    once, often = EhCount(10**6, 0.1), EhCount(10**6, 0.1)
    units = np.random.default_rng(2).integers(1, 40, 50)
    once.update(np.ones(50), units, times=np.arange(50))
    often.update(np.ones(int(units.sum())), times=np.repeat(np.arange(50), units))
    assert once.lanes[0].times.tolist() == often.lanes[0].times.tolist()
    with pytest.raises(BindError, match="whole numbers"):
        once.update([1], [0.5], times=[60])


@pytest.mark.parametrize("epsilon", [1.0, 0.5, 0.1, 0.05, 0.01])
def test_the_number_of_buckets_is_bounded(epsilon: float) -> None:
    counts, window = EhCount(20_000, epsilon), 20_000
    k = math.ceil(1.0 / epsilon)
    half = math.ceil(k / 2)
    bound = (half + 1) * (math.log2(2 * window / k + 1) + 1) + 1
    for start in range(0, 60_000, 777):
        counts.update(np.ones(777), times=np.arange(start, start + 777))
        assert counts.buckets <= bound


def test_a_window_that_has_lost_nothing_is_exact() -> None:
    counts = EhCount(1000, 0.5)
    counts.update(np.ones(900), times=np.arange(900))
    assert counts.query(Count()).low == counts.query(Count()).high == 900.0


def test_after_a_silence_counting_is_exact_again() -> None:
    counts = EhCount(100, 0.5)
    counts.update(np.ones(90), times=np.arange(90))
    counts.update(np.ones(20), times=np.arange(300, 320))
    bar = counts.query(Count())
    assert (bar.low, bar.high) == (20.0, 20.0)


def test_totals_beyond_a_machine_word_keep_their_small_buckets() -> None:
    counts = EhCount(10, 0.1)
    for time in range(0, 3000):
        counts.update([1, 1], [2.0**51, 1.0], times=[time, time])
    assert counts.lanes[0].total > 2**62
    bar, truth = counts.query(Count()), 10 * (2.0**51 + 1.0)
    assert bar.low <= truth <= bar.high
    assert bar.high - bar.value <= 0.1 * bar.value


def test_rows_without_times_are_numbered() -> None:
    counts = EhCount(10, 0.1)
    counts.update(["a"] * 7)
    counts.update(["b"] * 7)
    assert counts.now == 13
    assert counts.query(Count()).high == 10.0
    assert counts.query(Count(), window=6).value == 6.0


# Sums.


def test_a_single_large_row_is_not_halved() -> None:
    """Half of it would be an error of a half."""
    sums = EhSum(100, 0.1)
    sums.update([1000.0, *[1.0] * 99], times=np.arange(100))
    sums.advance(100)
    assert sums.query(Sum()).value == 99.0
    sums = EhSum(100, 0.1)
    sums.update([5.0, 1000.0, *[1.0] * 99], times=np.arange(101))
    assert sums.query(Sum()).value == pytest.approx(1099.0, rel=0.005)


def test_sums_refuse_what_no_small_state_can_sum() -> None:
    sums = EhSum(100, 0.1)
    sums.update([1.0], times=[1])
    before = sums.to_bytes()
    for bad in (-1.0, math.inf):
        with pytest.raises(BindError, match="0 or more"):
            sums.update([1.0, bad], times=[2, 3])
    assert sums.to_bytes() == before, "a refused column changes nothing, its counts included"


def test_the_buckets_of_a_sum_grow_as_its_logarithm() -> None:
    rng, buckets = np.random.default_rng(3), {}
    for n in (2_000, 200_000):
        sums = EhSum(n, 0.1)
        sums.update(rng.integers(0, 1000, 2 * n), times=np.arange(2 * n))
        buckets[n] = sums.buckets
    assert buckets[200_000] <= 2 * buckets[2_000] + 64


@settings(max_examples=15, deadline=None)
@given(history=histories(), alpha=st.sampled_from([0.5, 1.0, 2.0]))
def test_any_decay_from_one_histogram(history: Any, alpha: float) -> None:
    times, values, window, epsilon = history
    sums = EhSum(window, epsilon)
    sums.update(values, times=times)
    sums.advance(int(times[-1]) + 3)
    ages = times[-1] + 3 - times

    def cliff(age: Any) -> Any:
        return np.where(age < 5, 1.0, 0.125)

    for fade in (lambda age: (1.0 + age) ** -alpha, cliff):
        truth = float((values * fade(ages) * (ages < window)).sum())
        bar = sums.decayed(fade)
        assert bar.low - 1e-9 <= truth <= bar.high + 1e-9
        assert bar.high - bar.value <= epsilon * bar.value * (1.0 + 1e-9) + 1e-9


def test_polynomial_decay_is_a_decay_of_the_sum() -> None:
    rng = np.random.default_rng(4)
    values, times = rng.integers(0, 9, 900).astype(float), np.arange(900)
    fading, sums = PolynomialDecay(500, 1.5, 2.0, 0.1), EhSum(500, 0.1)
    for synopsis in (fading, sums):
        synopsis.update(values, times=times)
    bar = sums.decayed(lambda age: (1.0 + age / 2.0) ** -1.5)
    assert fading.query(Sum()).value == pytest.approx(bar.value)
    with pytest.raises(IncompatibleSynopsis, match="horizon"):
        fading.query(Sum(), window=10)


# Fading.


def test_ageing_is_a_moving_average() -> None:
    rate, average = 0.2, 0.0
    fading = Decay.ageing(rate)
    rows = np.random.default_rng(5).normal(size=200)
    for row in rows:
        average = rate * row + (1.0 - rate) * average
    fading.update(rows, times=np.arange(200))
    assert fading.query(Sum()).value * rate == pytest.approx(average)


def test_fading_takes_late_rows_and_merges_exactly() -> None:
    rng = np.random.default_rng(6)
    rows, times = rng.normal(50.0, 3.0, 300), rng.integers(0, 400, 300)
    whole, one, two = Decay(37.0), Decay(37.0), Decay(37.0)
    whole.update(rows, times=times)
    one.update(rows[:100], times=times[:100])
    two.update(rows[100:], times=times[100:])
    one.merge(two)
    now = int(times.max())
    weights = 0.5 ** ((now - times) / 37.0)
    for question in (Count(), Sum(), Mean(), Variance()):
        truth = question.truth(rows, weights)
        assert whole.query(question).value == pytest.approx(truth)
        assert one.query(question).value == pytest.approx(truth)


def test_fading_to_nothing_answers_nothing() -> None:
    fading = Decay(1.0)
    fading.update([3.0], times=[0])
    fading.advance(5000)
    assert fading.query(Count()).value == 0.0
    assert math.isnan(fading.query(Mean()).value)
    with pytest.raises(BindError, match="finite"):
        fading.update([math.inf], times=[5000])
    assert fading.rows == 1


# Variance.


def test_a_bucket_far_from_the_mean_is_not_put_together() -> None:
    """Rows of one value have no variance of their own, but move that of the window."""
    variances = EhVariance(1000, 0.1)
    values = np.concatenate([np.full(400, 1e6), np.random.default_rng(7).normal(size=900)])
    variances.update(values, times=np.arange(1300))
    for now in range(1300, 1400, 7):
        variances.advance(now)
        alive = values[np.arange(1300) > now - 1000]
        truth = float(alive.var())
        assert abs(variances.query(Variance()).value - truth) <= 0.1 * truth


def test_the_average_of_signed_numbers_is_within_the_standard_deviation() -> None:
    rng = np.random.default_rng(8)
    values = rng.normal(0.0, 5.0, 4000)
    variances = EhVariance(1000, 0.1)
    variances.update(values, times=np.arange(4000))
    bar, alive = variances.query(Mean()), values[3000:]
    assert bar.low <= alive.mean() <= bar.high
    assert bar.high - bar.low <= 0.2 * alive.std()


# Extremes, items, norms, tables.


@settings(max_examples=20, deadline=None)
@given(history=histories(), size=st.integers(1, 90), seed=st.integers(0, 9))
def test_extremes_are_exact_and_merge(history: Any, size: int, seed: int) -> None:
    times, values, window, _ = history
    mine = np.random.default_rng(seed).random(len(times)) < 0.5
    whole, one, two = (WindowExtreme(window) for _ in range(3))
    in_batches(whole, times, values, size)
    one.update(values[mine], times=times[mine])
    two.update(values[~mine], times=times[~mine])
    one.merge(two)
    now = int(times[-1])
    for synopsis, length in itertools.product((whole, one), {window, max(1, window // 3)}):
        synopsis.validate()
        alive = values[times > now - length]
        assert synopsis.query(Min(), window=length).value == alive.min()
        assert synopsis.query(Max(), window=length).value == alive.max()


def test_the_list_of_minima_is_as_long_as_the_harmonic_number() -> None:
    rng, lengths = np.random.default_rng(9), []
    for _ in range(40):
        extremes = WindowExtreme(1000)
        extremes.update(rng.random(3000), times=np.arange(3000))
        extremes.advance(2999)
        lengths.append(extremes.smallest.n)
    assert np.mean(lengths) == pytest.approx(7.48, abs=1.3)
    rising = WindowExtreme(1000)
    rising.update(np.arange(3000), times=np.arange(3000))
    rising.advance(2999)
    assert rising.smallest.n == 1000, "nothing shorter can do"


@settings(max_examples=10, deadline=None)
@given(history=histories(), seed=st.integers(0, 50))
def test_the_smallest_rank_and_its_times_are_those_of_the_window(history: Any, seed: int) -> None:
    times, values, window, _ = history
    mine = np.random.default_rng(seed).random(len(times)) < 0.5
    whole, one, two = (Rarity(window, 3, 2, seed=seed) for _ in range(3))
    whole.update(values, times=times)
    one.update(values[mine], times=times[mine])
    two.update(values[~mine], times=times[~mine])
    one.merge(two)
    alive = times > times[-1] - window
    hashed = keys(items(values), seed=seed)[alive]
    for synopsis in (whole, one):
        synopsis.validate()
        ranks, counts = synopsis.lists.smallest(int(times[-1]) - window)
        for j, salt in enumerate(synopsis.lists.salts):
            own = np.array([mix64(key ^ salt) for key in hashed], np.uint64)
            assert ranks[j] == own.min()
            occurs = int((own == own.min()).sum())
            assert counts[j] == min(occurs, 3)


def test_similarity_and_rarity_of_known_streams() -> None:
    here, there = Similarity(1000, 2000, seed=1), Similarity(1000, 2000, seed=1)
    here.update(np.arange(200), times=np.arange(200))
    there.update(np.arange(100, 300), times=np.arange(200))
    assert here.query(Jaccard(there)).value == pytest.approx(1 / 3, abs=0.05)
    assert here.query(Distinct()).value == pytest.approx(200, rel=0.1)
    rarity = Rarity(1000, 2000, most=3, seed=1)
    rows = np.concatenate([np.arange(300), np.arange(150), np.arange(150), np.arange(75)])
    rarity.update(rows, times=np.arange(len(rows)))
    assert rarity.query(Rare(1)).value == pytest.approx(0.5, abs=0.05)
    assert rarity.query(Rare(3)).value == pytest.approx(0.75, abs=0.05)
    with pytest.raises(IncompatibleSynopsis, match="at most 4"):
        rarity.query(Rare(4))
    with pytest.raises(IncompatibleSynopsis):
        here.query(Jaccard(Similarity(1000, 2000, seed=2)))


def test_similarity_of_nothing() -> None:
    one, two = Similarity(10, 8), Similarity(10, 8)
    assert math.isnan(one.query(Jaccard(two)).value)
    two.update([1], times=[0])
    assert one.query(Jaccard(two)).high == 0.0


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0])
def test_norms_of_the_window(p: float) -> None:
    rng = np.random.default_rng(10)
    rows, broken = rng.integers(0, 30, 1200), 0
    truth = Moment(p).truth(rows[700:], np.ones(500))
    for seed in range(25):
        norms = EhNorm(500, p, 64, 0.05, delta=0.05, seed=seed)
        norms.update(rows, times=np.arange(1200))
        bar = norms.query(Moment(p))
        broken += not bar.low <= truth <= bar.high
    assert broken <= 7
    with pytest.raises(IncompatibleSynopsis, match="powers"):
        norms.query(Moment(1.25))


def test_frequencies_of_the_window() -> None:
    rng = np.random.default_rng(11)
    rows = np.minimum(rng.zipf(1.4, 4000), 200)
    sketch = EhCountMin(1000, 0.05, 300, 5, seed=3)
    sketch.update(rows, times=np.arange(4000))
    for item in (1, 2, 3, 199):
        bar, truth = sketch.query(Frequency(item)), float((rows[3000:] == item).sum())
        assert bar.low <= truth <= bar.high
    half = sketch.query(Frequency(1), window=500)
    assert half.low <= float((rows[3500:] == 1).sum()) <= half.high


def test_histograms_of_the_window() -> None:
    rng = np.random.default_rng(12)
    rows = rng.normal(0.0, 20.0, 3000)
    histogram = EhHistogram(1000, 0.02, [-40.0, -20.0, 0.0, 20.0, 40.0])
    histogram.update(rows, times=np.arange(3000))
    alive = rows[2000:]
    inside = alive[(alive >= -20.0) & (alive < 20.0)]
    bar = histogram.query(RangeCount(-20.0, 20.0 - 1e-9))
    assert bar.low <= len(inside) <= bar.high
    total, mean = histogram.range_sum(-20.0, 20.0), histogram.range_mean(-20.0, 20.0)
    assert total.low <= inside.sum() <= total.high
    assert mean.low <= inside.mean() <= mean.high
    assert mean.high - mean.low < 2.0
    with pytest.raises(BindError, match="between the boundaries"):
        histogram.range_sum(-100.0, 0.0)


# Any statistic.


def test_the_generic_histogram_keeps_its_invariants_and_factor() -> None:
    rng, k, spread, p = np.random.default_rng(13), 10, 2.0, 2.0
    squares: ExponentialHistogram[np.ndarray] = ExponentialHistogram(
        300, k, merge=lambda a, b: a + b, size=lambda v: float((v**p).sum()), spread=spread
    )
    rows = np.concatenate(
        [rng.integers(0, 8, 400), np.zeros(300, np.int64), rng.integers(0, 64, 400)]
    )
    for time, row in enumerate(rows):
        squares.add(time, np.eye(64)[row])
        alive = rows[max(0, time - 299) : time + 1]
        truth = float((np.bincount(alive) ** p).sum())
        inner, outer = squares.between()
        assert inner is not None
        assert outer is not None
        assert float((inner**p).sum()) <= truth <= float((outer**p).sum())
        assert truth <= squares.factor * float((inner**p).sum())
    newer = 0.0
    for bucket in squares.buckets[::-1]:
        assert bucket.whole or bucket.size <= spread / k * newer + 1e-9
        newer += bucket.size


def test_the_generic_histogram_windows_any_synopsis() -> None:
    model = CountMin(400, 5, seed=1)
    frequencies = over_window(model, 300, 20)
    rows = np.random.default_rng(14).integers(0, 4, 1500)
    put(frequencies, model, rows[:1400], np.arange(1400) // 5)
    put(frequencies, model, rows[1400:], np.arange(1400, 1500) // 5)
    for window in (300, 100, 37):
        inner, outer = frequencies.between(window)
        assert inner is not None
        assert outer is not None
        assert inner.rows <= 5 * window <= outer.rows
        truth = float((rows[-5 * window :] == 2).sum())
        least, most = inner.query(Frequency(2)), outer.query(Frequency(2))
        assert least.low <= truth <= most.high
        assert most.value <= 1.2 * least.value
    with pytest.raises(BindError, match="must not fall"):
        frequencies.add(3, model)
    with pytest.raises(BindError, match="precision"):
        over_window(model, 500, 0.0)


# What is refused.


def test_times_must_not_fall() -> None:
    counts = EhCount(10, 0.1)
    counts.update([1, 2], times=[5, 9])
    before = counts.to_bytes()
    for times in ([8, 10], [12, 11]):
        with pytest.raises(BindError, match="must not fall"):
            counts.update([1, 2], times=times)
    with pytest.raises(BindError, match="times must match"):
        counts.update([1, 2], times=[12])
    with pytest.raises(BindError, match="run back"):
        counts.advance(3)
    assert counts.to_bytes() == before


def test_a_longer_window_than_kept_is_refused() -> None:
    counts = EhCount(10, 0.1)
    with pytest.raises(BindError, match="windows up to 10"):
        counts.query(Count(), window=11)
    with pytest.raises(IncompatibleSynopsis):
        counts.query(Sum(), window=5)


@pytest.mark.parametrize(
    ("build", "match"),
    [
        (lambda: EhCount(0, 0.1), "window"),
        (lambda: EhSum(10, 0.0), "error"),
        (lambda: EhMean(10, 1.5), "error"),
        (lambda: Similarity(10, 1), "rankings"),
        (lambda: Rarity(10, 8, 0), "times"),
        (lambda: EhNorm(10, 3.0), "power"),
        (lambda: EhCountMin(10, 0.1, 0, 1), "counters"),
        (lambda: EhHistogram(10, 0.1, [1.0, 1.0]), "rising"),
        (lambda: Decay(0.0), "half-life"),
        (lambda: PolynomialDecay(10, 0.0, 1.0, 0.1), "exponent"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(build: Any, match: str) -> None:
    with pytest.raises(BindError, match=match):
        build()


SIZES: list[tuple[type[Synopsis], Question, Contract]] = [
    (EhCount, Count(), Contract.relative(0.02)),
    (EhSum, Sum(), Contract.relative(0.02)),
    (EhMean, Mean(), Contract.relative(0.02)),
    (EhVariance, Variance(), Contract.relative(0.1)),
    (WindowExtreme, Min(), Contract.relative(0.1)),
    (Similarity, Distinct(), Contract.relative(0.1, confidence=0.9)),
    (Rarity, Rare(2), Contract.absolute(0.1, confidence=0.9)),
    (EhNorm, Moment(2.0), Contract.relative(0.5, confidence=0.9)),
    (EhCountMin, Frequency("a"), Contract.rank(0.05, confidence=0.95)),
]


@pytest.mark.parametrize(("kind", "question", "contract"), SIZES, ids=lambda v: str(v)[:40])
def test_sizes_hold_the_contract(kind: Any, question: Question, contract: Contract) -> None:
    need = Need(question, contract, window=1000)
    sized = kind.sized_for(need, seed=1)
    assert sized.window == 1000
    assert sized.guarantee.delta <= 1.0 - contract.confidence + 1e-12
    if contract.tolerance == "relative":
        assert sized.guarantee.epsilon <= contract.within
    if isinstance(sized, Rarity):
        sized.update(np.arange(400) % 200, times=np.arange(400))
        bar = sized.query(question)
        assert bar.high - bar.value <= contract.within
    with pytest.raises(ContractUnsatisfiable):
        kind.sized_for(Need(question, contract), seed=1)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_contracts_that_cannot_be_held_are_refused(kind: type[Synopsis]) -> None:
    if kind is WindowExtreme:
        return
    with pytest.raises(ContractUnsatisfiable):
        kind.sized_for(Need(Quantile(0.5), Contract.rank(0.01), window=10), seed=0)
