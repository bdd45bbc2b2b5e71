"""Samples: laws of skips, inclusion chances, worked examples, and what bars prove."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from streamgauge.contracts.contract import Contract
from streamgauge.kernel.errors import BindError, ContractUnsatisfiable, IncompatibleSynopsis
from streamgauge.synopses.questions import Count, Distinct, Frequency, Mean, Quantile, Rank, Sum
from streamgauge.synopses.samples import KINDS, limits
from streamgauge.synopses.samples import estimators as infer
from streamgauge.synopses.samples.bernoulli import Bernoulli
from streamgauge.synopses.samples.bernoulli_window import BernoulliWindow
from streamgauge.synopses.samples.biased_reservoir import BiasedReservoir
from streamgauge.synopses.samples.chain import Chain
from streamgauge.synopses.samples.designs import Drawn, Known, Simple
from streamgauge.synopses.samples.dice import (
    dice,
    hypergeometric,
    reservoir_density,
    reservoir_gap,
    sequential_density,
    sequential_gap,
)
from streamgauge.synopses.samples.every import Every
from streamgauge.synopses.samples.features import Between, Scaled
from streamgauge.synopses.samples.halving import Halving
from streamgauge.synopses.samples.oversampling import (
    chance_of_too_few,
    closed_form_extra,
    extra_draws,
)
from streamgauge.synopses.samples.passive_window import PassiveWindow
from streamgauge.synopses.samples.poisson import Poisson
from streamgauge.synopses.samples.priority import Priority
from streamgauge.synopses.samples.random_pairing import RandomPairing
from streamgauge.synopses.samples.resampled_window import ResampledWindow
from streamgauge.synopses.samples.reservoir import Reservoir
from streamgauge.synopses.samples.sequential import Sequential
from streamgauge.synopses.samples.strata import Stratified as InStrata
from streamgauge.synopses.samples.stratified import Stratified
from streamgauge.synopses.samples.stratified_window import StratifiedWindow
from streamgauge.synopses.samples.systematic import Systematic
from streamgauge.synopses.samples.unequal import Unequal
from streamgauge.synopses.samples.varopt import VarOpt
from streamgauge.synopses.synopsis import Need

pytestmark = pytest.mark.slow

# Chance of a false alarm of one statistical test; seeds are fixed, so it is met once or never.
ALPHA = 1e-6


def uniform(counts: Any, expected: Any = None) -> bool:
    """Whether counts agree with equal (or given) chances."""
    return float(stats.chisquare(counts, expected).pvalue) > ALPHA


def taken(make: Callable[[int], Any], n: int, repeats: int, **given: Any) -> Any:
    """How often each of n rows is held, over fresh seeds."""
    counts = np.zeros(n)
    for seed in range(repeats):
        sample = make(seed)
        sample.update(np.arange(n), **given)
        np.add.at(counts, sample.sample().values.astype(int), 1)
    return counts


class TestSkips:
    @pytest.mark.parametrize(("i", "k"), [(5, 5), (30, 5), (700, 20), (2300, 100)])
    def test_reservoir_gap_follows_its_law(self, i: int, k: int) -> None:
        thrown = dice(i)
        gaps = np.array([reservoir_gap(thrown, i, k) for _ in range(4000)])
        top = int(np.quantile(gaps, 0.9)) + 1
        chances = np.array([reservoir_density(i, k, m) for m in range(top)])
        counts = np.bincount(gaps, minlength=top)[:top]
        cells = np.array_split(np.arange(top), min(top, 10))
        seen = [*(counts[cell].sum() for cell in cells), (gaps >= top).sum()]
        owed = [*(chances[cell].sum() for cell in cells), 1.0 - chances.sum()]
        assert uniform(seen, 4000 * np.array(owed))

    @pytest.mark.parametrize(("i", "k"), [(111, 5), (3000, 100)])
    def test_squeeze_lies_below_and_envelope_above(self, i: int, k: int) -> None:
        for m in range(0, 400, 7):
            density = reservoir_density(i, k, m)
            squeeze = k / (i + 1) * ((i - k + 1) / (i + m - k + 1)) ** (k + 1)
            x = m + 0.999
            envelope = (i + 1) / (i - k + 1) * k / (i + x) * (i / (i + x)) ** k
            assert squeeze <= density * (1 + 1e-9)
            assert density <= envelope * (1 + 1e-9)

    def test_density_is_the_product_both_ways(self) -> None:
        i, k, m = 50, 3, 40
        product = k / (i + 1) * math.prod((i - k + t) / (i + 1 + t) for t in range(1, m + 1))
        assert reservoir_density(i, k, m) == pytest.approx(product, rel=1e-12)
        assert sum(reservoir_density(5, 5, m) for m in range(20_000)) == pytest.approx(1, abs=1e-3)

    @pytest.mark.parametrize(("i", "j"), [(5, 50), (20, 60), (3, 1000), (600, 20_000)])
    def test_sequential_gap_follows_its_law(self, i: int, j: int) -> None:
        chances = np.array([sequential_density(i, j, m) for m in range(j - i + 1)])
        assert chances.sum() == pytest.approx(1.0)
        thrown = dice(j)
        gaps = np.array([sequential_gap(thrown, i, j) for _ in range(4000)])
        reached = chances.cumsum()
        seen = (gaps[:, None] <= np.arange(len(reached))[None, :]).mean(axis=0)
        assert np.abs(seen - reached).max() < math.sqrt(math.log(2 / ALPHA) / (2 * 4000))

    def test_hypergeometric(self) -> None:
        thrown = dice(1)
        drawn = [hypergeometric(thrown, 6, 4, 5) for _ in range(3000)]
        owed = stats.hypergeom(10, 6, 5).pmf(np.arange(1, 6))
        assert uniform(np.bincount(drawn, minlength=6)[1:], 3000 * owed)


class TestLimits:
    @pytest.mark.parametrize(("n", "k"), [(40, 10), (90, 30), (30, 30)])
    def test_counts_miss_no_more_than_stated(self, n: int, k: int) -> None:
        for good in range(n + 1):
            law = stats.hypergeom(n, good, k)
            missed = 0.0
            for x in range(max(0, k - n + good), min(k, good) + 1):
                low, high = limits.hypergeometric_limits(x, k, n, 0.025)
                missed += 0.0 if low <= good <= high else float(law.pmf(x))
            assert missed <= 0.05 + 1e-12

    def test_counts_of_many_rows(self) -> None:
        few = limits.hypergeometric_limits(60, 1000, 9_999_999, 0.025)
        many = limits.hypergeometric_limits(60, 1000, 10_000_001, 0.025)
        assert few == pytest.approx(many, rel=1e-4)
        low, high = limits.binomial_limits(60, 1000, 0.025)
        assert np.array(many) / 10_000_001 == pytest.approx([low, high], rel=1e-3)

    @pytest.mark.parametrize("shape", ["even", "skewed", "two ends"])
    def test_means_miss_no_more_than_stated(self, shape: str) -> None:
        missed, widths = 0, []
        for seed in range(300):
            rng = np.random.default_rng(seed)
            rows = rng.random(1000)
            rows = {"even": rows, "skewed": rows**6, "two ends": np.round(rows)}[shape]
            y = rng.permutation(rows)[:200]
            low, high = limits.mean_limits(y, 1000.0, 0.05)
            missed += not low <= rows.mean() <= high
            widths.append((high - low) / (y.std() * math.sqrt(0.8 / 200)))
        assert missed <= stats.binom.isf(ALPHA, 300, 0.1)
        # Close to the normal law's 2 * 1.645 standard errors, at no assumption.
        assert np.mean(widths) < 1.5 * 2 * 1.645

    def test_no_bar_is_wider_than_the_plain_bound(self) -> None:
        for y in (np.tile([0.0, 1.0], 50), np.zeros(100), np.full(100, 0.5)):
            low, high = limits.mean_limits(y, math.inf, 0.025)
            plain = math.sqrt(math.log(1 / 0.0025) / 200)
            assert high - y.mean() <= plain + 1e-12
            assert y.mean() - low <= plain + 1e-12

    def test_share_limits_solve_the_divergence(self) -> None:
        low, high = limits.share_limits(0.3, 50, 0.025)
        for q in (low, high):
            divergence = 0.3 * math.log(0.3 / q) + 0.7 * math.log(0.7 / (1 - q))
            assert divergence == pytest.approx(math.log(40) / 50, rel=1e-9)

    @given(z=st.floats(1e-6, 1e6))
    def test_poisson_limits_solve_the_exponent(self, z: float) -> None:
        low, high = limits.poisson_limits(z, 0.025)
        assert low < z < high
        assert z * math.log(z / high) - z + high == pytest.approx(math.log(40), rel=1e-6)


class TestLandmark:
    def test_bernoulli_size(self) -> None:
        sample = Bernoulli(0.01, seed=1)
        low, high = sample.usual_size(10_000)
        assert (low, high) == (80, 120)
        assert sample.chance_of_size(10_000, low, high) == pytest.approx(0.961, abs=0.001)

    def test_bernoulli_rolls_once_for_each_row_kept(self) -> None:
        sample = Bernoulli(0.01, seed=1)
        sample.update(np.arange(100_000))
        assert int(sample.dice[2]) == len(sample.values) + 1

    def test_bernoulli_keeps_every_row_as_often(self) -> None:
        assert uniform(taken(lambda seed: Bernoulli(0.2, seed=seed), 40, 1500))
        everything = Bernoulli(1.0)
        everything.update(np.arange(50))
        assert everything.query(Sum()).low == everything.query(Sum()).high == 1225

    def test_bernoulli_thins_to_the_rate(self) -> None:
        sizes = []
        for seed in range(300):
            sample = Bernoulli(0.5, seed=seed)
            sample.update(np.arange(100))
            thin = sample.thinned(0.1)
            thin.update(np.arange(100, 200))
            assert set(thin.values[thin.places < 100]) <= set(sample.values)
            sizes.append(len(thin.values))
        assert np.mean(sizes) == pytest.approx(20, abs=5 * math.sqrt(18 / 300))

    def test_parts_of_one_seed_draw_apart(self) -> None:
        """Parts that picked the same places would double the variance of their union."""
        sums = []
        for seed in range(400):
            first, second = Reservoir(10, seed=seed), Reservoir(10, seed=seed)
            first.update(np.arange(100.0))
            second.update(np.arange(100.0) + 0.5)
            sums.append([first.values.mean(), second.values.mean()])
        assert abs(np.corrcoef(np.transpose(sums))[0, 1]) < 5 / math.sqrt(400)

    def test_reservoir_is_uniform_and_rolls_rarely(self) -> None:
        assert uniform(taken(lambda seed: Reservoir(10, seed=seed), 60, 1500))
        sample = Reservoir(100, seed=1)
        sample.update(np.arange(1_000_000))
        # Two rolls or three for each row that enters, of which there are k (1 + ln(n / k)).
        entered = 100 * (1 + math.log(10_000))
        assert int(sample.dice[2]) < 4 * entered

    def test_reservoir_merges_to_a_uniform_sample(self) -> None:
        counts = np.zeros(50)
        for seed in range(1500):
            small, large = Reservoir(8, seed=seed), Reservoir(8, seed=seed)
            small.update(np.arange(5))
            large.update(np.arange(5, 50))
            small.merge(large)
            small.validate()
            counts[small.values.astype(int)] += 1
            assert (small.places == small.values).all()
        assert uniform(counts)

    @settings(max_examples=8)
    @given(cuts=st.lists(st.integers(0, 500), max_size=5))
    @pytest.mark.parametrize("kind", KINDS)
    def test_cuts_into_batches_leave_no_trace(self, kind: Any, cuts: list[int]) -> None:
        whole, pieces = kind.specimen(3), kind.specimen(3)
        rows = np.arange(500)
        whole.update(rows, None, rows)
        for start, stop in itertools.pairwise(sorted({0, 500, *cuts})):
            pieces.update(rows[start:stop], None, rows[start:stop])
        assert pieces.to_bytes() == whole.to_bytes()

    def test_sequential_is_uniform(self) -> None:
        assert uniform(taken(lambda seed: Sequential(6, 40, seed=seed), 40, 1500))

    def test_sequential_goes_on_beyond_its_rows_and_ends_early(self) -> None:
        assert uniform(taken(lambda seed: Sequential(6, 20, seed=seed), 40, 1500))
        early = Sequential(50, 1000, seed=1)
        early.update(np.arange(300))
        assert 0 < len(early.sample().values) < 50
        assert early.sample().design.mass == 300

    def test_strata_spread_the_sample(self) -> None:
        """Fifteen rows with a trend, three strata of two: every third of the rows is there."""
        sample = Stratified(5, 2, seed=1)
        sample.update(np.arange(15))
        assert (np.bincount(sample.sample().values.astype(int) // 5) == 2).all()

    def test_strata_beat_the_reservoir_on_a_trend(self) -> None:
        rows = np.cumsum(np.random.default_rng(1).normal(size=2000))
        strata, plain = Stratified(40, 2, seed=1), Reservoir(100, seed=1)
        strata.update(rows)
        plain.update(rows)
        narrow, wide = strata.query(Mean()), plain.query(Mean())
        assert narrow.high - narrow.low < 0.5 * (wide.high - wide.low)

    @given(seed=st.integers(0, 1000), owed=st.integers(1, 60))
    def test_quantiles_of_strata_by_every_point(self, seed: int, owed: int) -> None:
        rng = np.random.default_rng(seed)
        sample = StratifiedWindow(60, 10, 3, seed=seed)
        sample.update(np.round(np.cumsum(rng.normal(size=75)) + rng.integers(0, 3, 75)))
        drawn = sample.sample()
        design = drawn.design
        assert isinstance(design, InStrata)
        points = np.unique(np.concatenate([drawn.values, design.lows, design.highs]))
        spans = [design.span(Between(-math.inf, p), drawn.values, 0.4) for p in points]
        reached = [p for p, span in zip(points, spans, strict=True) if span.high >= owed]
        short = [p for p, span in zip(points, spans, strict=True) if span.low < owed]
        after = points if not short else points[points > max(short)]
        told = design.crossing(drawn.values, owed, 0.4)
        assert told == (reached[0], after[0] if len(after) else None)

    def test_a_short_stratum_counts_with_its_rows(self) -> None:
        sample, rest = Stratified(10, 3, seed=1), Stratified(10, 3, seed=1)
        sample.update(np.arange(24))
        rest.update(np.arange(7))
        sample.merge(rest)
        sample.validate()
        design = sample.sample().design
        assert isinstance(design, InStrata)
        assert design.sizes.tolist() == [10, 10, 4, 7]
        assert design.taken.tolist() == [3, 3, 3, 3]

    def test_systematic_takes_its_starts_of_every_period(self) -> None:
        sample = Systematic(10, 3, seed=5)
        for start in range(0, 40, 8):
            sample.update(np.arange(start, start + 8))
        assert (np.bincount(sample.places // 10) == 3).all()
        assert len(np.unique(sample.places % 10)) == 3
        assert uniform(taken(lambda seed: Systematic(10, 3, seed=seed), 30, 1000))

    def test_one_start_proves_nothing_but_the_worst_case(self) -> None:
        sample = Systematic(10, seed=1)
        sample.update(np.arange(1000) % 10)
        told = sample.query(Mean())
        assert told.low <= 4.5 <= told.high
        inferred = infer.mean(sample.sample())
        assert math.isnan(inferred.error)
        assert inferred.high == math.inf
        assert "no error" in inferred.flags

    def test_every_monday(self) -> None:
        """Rows of period seven: the sample sees one day, and the bar says so."""
        sample = Every(7)
        sample.update(np.tile([10.0, 0, 0, 0, 0, 0, 0], 20))
        told = sample.query(Mean())
        assert told.value == 10.0
        assert told.low <= 10 / 7
        assert told.confidence == 1.0


class TestBiased:
    def test_chances(self) -> None:
        sample = BiasedReservoir(4, 0.6, seed=0)
        sample.update(np.arange(12))
        owed = sample.inclusion(np.arange(12))
        assert owed.sum() == pytest.approx(4.0)
        assert owed[8] == pytest.approx(0.6 * (1 - 0.6 / 4) ** 3)
        assert (sample.weights_at(np.arange(12), 11) == owed).all()
        counts = taken(lambda seed: BiasedReservoir(4, 0.6, seed=seed), 12, 3000)
        spread = np.sqrt(owed * (1 - owed) * 3000)
        assert (np.abs(counts - 3000 * owed) < 5 * spread).all()

    @pytest.mark.parametrize("p", [0.3, 1.0])
    def test_joint_chances_and_negative_dependence(self, p: float) -> None:
        """By every outcome: chances of pairs, and products bound all joint chances both ways."""
        k, n = 3, 7
        outcomes: dict[frozenset[int], float] = {}
        for slots in itertools.product(range(-1, k), repeat=n - k):
            held, chance = list(range(k)), 1.0
            for row, slot in enumerate(slots, start=k):
                chance *= 1 - p if slot < 0 else p / k
                if slot >= 0:
                    held[slot] = row
            outcomes[frozenset(held)] = outcomes.get(frozenset(held), 0.0) + chance
        sample = BiasedReservoir(k, p)
        sample.update(np.arange(n))
        single = sample.inclusion(np.arange(n))
        for size in range(1, n + 1):
            for rows in itertools.combinations(range(n), size):
                inside = sum(c for held, c in outcomes.items() if held >= set(rows))
                outside = sum(c for held, c in outcomes.items() if not held & set(rows))
                assert inside <= math.prod(single[list(rows)]) + 1e-12
                assert outside <= math.prod(1 - single[list(rows)]) + 1e-12
                if size == 1:
                    assert inside == pytest.approx(single[rows[0]])
                if size == 2:
                    told = sample.joint(np.array([rows[0]]), np.array([rows[1]]))
                    assert inside == pytest.approx(float(told[0]))

    def test_scaled_up_it_is_unbiased(self) -> None:
        values, errors = [], []
        for seed in range(800):
            sample = BiasedReservoir(20, 0.5, seed=seed)
            sample.update(np.arange(60))
            told = infer.total(sample.expanded())
            values.append(told.value)
            errors.append(told.error)
        spread = np.std(values)
        assert np.mean(values) == pytest.approx(1770, abs=5 * spread / math.sqrt(800))
        assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(spread, rel=0.15)

    @pytest.mark.parametrize("k", [4, 5])
    def test_halving_law(self, k: int) -> None:
        sample = Halving(k, 8, seed=0)
        sample.update(np.arange(35))
        owed = sample.inclusion(np.arange(35))
        assert owed.sum() == pytest.approx(k)
        if k == 4:
            law = [4 / 8 * 0.5 ** (4 - max(j, 2) + 1) for j in (1, 2, 3, 4)]
            assert owed[[0, 8, 16, 24]] == pytest.approx(law)
        assert (owed[32:] == 0).all()
        counts = taken(lambda seed: Halving(k, 8, seed=seed), 35, 2000)
        spread = np.sqrt(owed * (1 - owed) * 2000)
        assert (np.abs(counts - 2000 * owed) <= 5 * spread).all()


class TestWindows:
    @pytest.mark.parametrize("kind", [PassiveWindow, ResampledWindow, Chain])
    def test_every_row_of_the_window_as_often(self, kind: Any) -> None:
        counts = taken(lambda seed: kind(5, 20, seed=seed), 67, 1500)
        assert counts[:47].sum() == 0
        assert uniform(counts[47:])

    def test_bernoulli_window(self) -> None:
        counts = taken(lambda seed: BernoulliWindow(2, 20, 0.5, seed=seed), 67, 1000)
        assert counts[:47].sum() == 0
        assert uniform(counts[47:])
        sample = BernoulliWindow(50, 1000, 0.01, seed=1)
        sample.update(np.arange(3000))
        assert sample.short == 50 - len(sample.values)
        assert sample.short > 0

    def test_passive_freezes_on_periodic_rows_and_resampling_does_not(self) -> None:
        rows = np.arange(2000) % 500
        for kind, most, least in ((PassiveWindow, 1.0, 1.0), (ResampledWindow, 0.3, 0.0)):
            sample = kind(50, 500, seed=1)
            sample.update(rows[:1000])
            before = set(sample.sample().values)
            sample.update(rows[1000:1500])
            overlap = len(before & set(sample.sample().values)) / 50
            assert least <= overlap <= most

    def test_chain_of_a_window_of_one_row(self) -> None:
        sample = Chain(3, 1, seed=1)
        sample.update(np.arange(50))
        sample.validate()
        assert (sample.sample().values == 49).all()

    def test_chain_stores_few_rows(self) -> None:
        sample = Chain(200, 300, seed=1)
        stored = []
        for start in range(0, 6000, 100):
            sample.update(np.arange(start, start + 100))
            sample.validate()
            stored.append(sample.stored / 200)
        assert 1.5 < np.mean(stored[6:]) < math.e

    def test_distinct_sample_of_a_chain(self) -> None:
        sample = Chain(60, 100, seed=1)
        sample.update(np.arange(500))
        drawn = sample.distinct_sample(20)
        assert len(np.unique(drawn.values)) == 20
        assert drawn.design == Simple(100, 20, 1)

    def test_stratified_window_has_its_size(self) -> None:
        sample = StratifiedWindow(12, 4, 2, seed=1)
        sizes = set()
        for row in range(100):
            sample.update([row])
            sample.validate()
            sizes.add(len(sample.sample().values) if row >= 12 else 6)
        assert sizes == {6, 7, 8}

    def test_oversampling_by_the_exact_law(self) -> None:
        n, k, draws = 12, 5, 8
        exact = sum(
            (-1) ** i * math.comb(n, j) * math.comb(j, i) * ((j - i) / n) ** draws
            for j in range(1, k)
            for i in range(j + 1)
        )
        assert chance_of_too_few(n, k, draws) == pytest.approx(exact)
        alpha = math.ceil(closed_form_extra(1000, 100))
        assert alpha == 45
        assert chance_of_too_few(1000, 100, 145) < 1e-20
        # The closed form promises 0.001 here and keeps it not.
        assert math.ceil(closed_form_extra(1000, 300)) == 72
        assert chance_of_too_few(1000, 300, 372) == pytest.approx(0.034, abs=0.002)
        enough = 300 + extra_draws(1000, 300, 0.001)
        assert chance_of_too_few(1000, 300, enough) <= 0.001
        assert chance_of_too_few(1000, 300, enough - 1) > 0.001

    def test_priority_is_uniform_over_time(self) -> None:
        counts = np.zeros(20)
        for seed in range(1500):
            sample = Priority(4, 10, seed=seed)
            sample.update(np.arange(60), times=np.arange(60) // 2)
            counts[sample.sample().values.astype(int) - 40] += 1
        assert uniform(counts)

    def test_priority_merges_late_rows_and_ties_without_loss(self) -> None:
        rng = np.random.default_rng(2)
        times = rng.integers(0, 30, 200)
        whole, late = Priority(5, 12, seed=4), Priority(5, 12, seed=4)
        priorities = rng.random(200)
        whole._fold(np.arange(200.0), times, priorities)
        for part in np.array_split(rng.permutation(200), 7):
            late._fold(part.astype(float), times[part], priorities[part])
        for sample in (whole, late):
            sample.advance(29)
        assert (whole.values == late.values).all()
        alive = times > 29 - 12
        best = np.sort(priorities[alive])[-5:]
        assert (np.sort(whole.priorities)[-5:] == best).all()

    def test_priority_of_an_empty_window(self) -> None:
        sample = Priority(5, 10, seed=1)
        for times in (None, [0]):
            with pytest.raises(BindError):
                sample.update([1.0, 2.0], times=times)
        assert sample.rows == 0
        sample.update([1.0, 2.0], times=[0, 1])
        assert sample.query(Count()).value == 2
        sample.advance(100)
        assert sample.query(Count()).high == 0
        assert math.isnan(sample.query(Mean()).value)
        assert sample.query(Sum()).value == 0

    def test_priority_stores_harmonically_many(self) -> None:
        held = []
        for seed in range(150):
            sample = Priority(1, 100, seed=seed)
            sample.update(np.arange(300), times=np.arange(300))
            held.append(len(sample.values))
        owed = sum(1 / i for i in range(1, 101))
        assert np.mean(held) == pytest.approx(owed, abs=5 * np.std(held) / math.sqrt(150))


class TestDeletions:
    def test_pairing_is_uniform_after_any_history(self) -> None:
        rng = np.random.default_rng(1)
        alive = list(range(30))
        ids, signs = list(range(30)), [1.0] * 30
        for new in range(30, 70):
            for gone in rng.choice(alive, rng.integers(0, 3), replace=False):
                alive.remove(gone)
                ids.append(int(gone))
                signs.append(-1.0)
            alive.append(new)
            ids.append(new)
            signs.append(1.0)
        counts = np.zeros(70)
        for seed in range(2000):
            sample = RandomPairing(8, seed=seed)
            sample.update(ids, weights=signs)
            sample.validate()
            assert len(sample.sample().values) <= 8
            counts[sample.sample().values.astype(int)] += 1
        assert counts[[i for i in range(70) if i not in alive]].sum() == 0
        assert uniform(counts[alive])

    def test_without_deletions_it_is_a_reservoir(self) -> None:
        assert uniform(taken(lambda seed: RandomPairing(6, seed=seed), 40, 1500))

    def test_as_a_sliding_window_it_is_passive(self) -> None:
        sample = RandomPairing(10, seed=1)
        sample.update(np.arange(100))
        places = {int(v) % 100 for v in sample.sample().values}
        for row in range(100, 350):
            sample.update([row - 100, row], weights=[-1, 1])
        assert {int(v) % 100 for v in sample.sample().values} == places

    def test_merging_after_deletions_stays_uniform(self) -> None:
        counts = np.zeros(40)
        for seed in range(1500):
            first, second = RandomPairing(8, seed=seed), RandomPairing(8, seed=seed)
            first.update([*range(25), *range(5)], weights=[1] * 25 + [-1] * 5)
            second.update(np.arange(25, 38))
            first.merge(second)
            first.validate()
            first.update([38, 39])
            first.validate()
            counts[first.sample().values.astype(int)] += 1
        assert counts[:5].sum() == 0
        assert uniform(counts[5:])

    def test_ids_apart_from_values(self) -> None:
        sample = RandomPairing(5, seed=1)
        sample.change([1, 2, 3], [7.0, 7.0, 9.0], [1, 1, 1])
        sample.change([2], [0.0], [-1])
        assert sample.query(Frequency(7.0)).value == 1
        assert sample.query(Sum()).value == 16
        with pytest.raises(BindError):
            sample.change([1], [1.0, 2.0], [1])
        with pytest.raises(BindError):
            sample.change([1], [1.0], [2])
        with pytest.raises(BindError):
            sample.change([1], [math.inf], [1])
        with pytest.raises(BindError):
            sample.update([1.0], weights=[0.5])

    def test_deleting_from_nothing_is_counted(self) -> None:
        sample = RandomPairing(5, seed=1)
        sample.update([1.0], weights=[-1])
        assert sample.refused == 1
        assert sample.query(Count()).value == 0


class TestWeights:
    def test_poisson_chances_and_unbiased_weights(self) -> None:
        weights = np.array([1.0, 3.0, 5.0, 9.0, 30.0] * 8)
        values = []
        for seed in range(600):
            sample = Poisson(10.0, seed=seed)
            sample.update(np.arange(40), weights=weights)
            drawn = sample.sample()
            assert (drawn.values % 5 == 4).sum() == 8
            values.append(infer.count(drawn, lambda x: x % 5 < 3).value)
        assert np.mean(values) == pytest.approx(72, abs=5 * np.std(values) / math.sqrt(600))

    def test_varopt_chances(self) -> None:
        weights = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 200.0])
        counts = np.zeros(6)
        for seed in range(1500):
            sample = VarOpt(3, seed=seed)
            sample.update(np.arange(6), weights=weights)
            sample.validate()
            counts[sample.sample().values.astype(int)] += 1
        # The rows of 16 and 200 are sure; one of the other four: their weight is the threshold.
        threshold = 15.0
        owed = np.minimum(1.0, weights / threshold)
        assert owed.sum() == pytest.approx(3.0)
        spread = np.sqrt(1500 * owed * (1 - owed))
        assert (np.abs(counts - 1500 * owed) <= 5 * spread + 1e-9).all()

    @settings(max_examples=30)
    @given(
        weights=st.lists(st.floats(0.01, 1e6), min_size=1, max_size=60),
        k=st.integers(1, 12),
        cut=st.integers(0, 60),
    )
    def test_varopt_keeps_the_total_and_the_heavy(
        self, weights: list[float], k: int, cut: int
    ) -> None:
        sample, rest = VarOpt(k, seed=2), VarOpt(k, seed=2)
        head, tail = weights[:cut], weights[cut:]
        if head:
            sample.update(np.arange(len(head)), weights=head)
        if tail:
            rest.update(np.arange(len(head), len(weights)), weights=tail)
        sample.merge(rest)
        sample.validate()
        drawn = sample.sample()
        assert drawn.design.stands_for(0).sum() == pytest.approx(sum(weights))
        heavy = [i for i, w in enumerate(weights) if w > sample.levels[0] * (1 + 1e-9)]
        assert set(heavy) <= set(drawn.values.astype(int))

    def test_varopt_merged_is_unbiased(self) -> None:
        weights = np.random.default_rng(1).pareto(1.5, 60) + 0.1
        values = []
        for seed in range(400):
            parts = [VarOpt(12, seed=seed) for _ in range(3)]
            for number, part in enumerate(parts):
                rows = np.arange(number * 20, number * 20 + 20)
                part.update(rows, weights=weights[rows])
            parts[0].merge(parts[1])
            parts[0].merge(parts[2])
            values.append(infer.count(parts[0].sample(), lambda x: x % 2 == 0).value)
        truth = weights[::2].sum()
        assert np.mean(values) == pytest.approx(truth, abs=5 * np.std(values) / math.sqrt(400))


class TestEstimators:
    def test_three_incomes(self) -> None:
        incomes = np.array([10_000.0, 50_000.0, 1_000_000.0])
        told = [
            infer.total(Drawn(incomes[list(pair)], Simple(3, 2))).value
            for pair in itertools.combinations(range(3), 2)
        ]
        assert told == pytest.approx([90_000, 1_515_000, 1_575_000])
        assert np.mean(told) == pytest.approx(1_060_000)
        assert np.std(told) == pytest.approx(686_330, abs=1)

    def test_one_formula_in_three_designs(self) -> None:
        """A simple sample, as one stratum, and with its chances: the same error each time."""
        x = np.random.default_rng(1).normal(10, 3, 30)
        n, k = 200, 30
        simple = infer.total(Drawn(x, Simple(n, k)))
        one = InStrata(np.zeros(k, np.int64), np.array([n]), np.zeros(1), np.ones(1))

        def joint(first: Any, second: Any) -> Any:
            return np.full(first.shape, k * (k - 1) / (n * (n - 1)))

        grundy = Unequal(np.full(k, k / n), n, joint, fixed=True)
        thompson = Unequal(np.full(k, k / n), n, joint)
        for design in (one, grundy, thompson):
            told = infer.total(Drawn(x, design))
            assert told.value == pytest.approx(simple.value)
            assert told.error == pytest.approx(simple.error)
        assert simple.error == pytest.approx(n * x.std(ddof=1) * math.sqrt((1 - k / n) / k))

    def test_equal_strata(self) -> None:
        x = np.random.default_rng(2).normal(size=12)
        design = InStrata(np.repeat(np.arange(3), 4), np.full(3, 20), np.zeros(3), np.ones(3))
        told = infer.total(Drawn(x, design))
        within = [x[j * 4 : j * 4 + 4].var(ddof=1) for j in range(3)]
        assert told.error**2 == pytest.approx(20 * (60 / 12 - 1) * sum(within))

    def test_independent_rows(self) -> None:
        sample = Bernoulli(0.25, seed=1)
        sample.update(np.arange(100))
        told = infer.total(sample.expanded())
        assert told.value == pytest.approx(4 * sample.values.sum())
        assert told.error**2 == pytest.approx(0.75 / 0.0625 * (sample.values**2).sum())

    def test_six_estimands(self) -> None:
        rows = np.random.default_rng(3).lognormal(6.0, 1.0, 20_000)
        sample = Reservoir(2000, seed=1)
        sample.update(rows)
        drawn = sample.sample()
        assert drawn.rows is not None
        age = drawn.rows / 20_000
        weights = np.arange(20_000) / 20_000
        large = rows > 1000
        pairs = [
            (infer.total(drawn), rows.sum()),
            (infer.count(drawn, lambda x: x > 1000), large.sum()),
            (infer.mean(drawn), rows.mean()),
            (infer.total(drawn, lambda x: age * x), (weights * rows).sum()),
            (infer.mean(drawn, where=lambda x: x > 1000), rows[large].mean()),
            (infer.variance(drawn), rows.var()),
        ]
        for told, truth in pairs:
            assert abs(told.value - truth) < 5 * told.error
            assert told.low < told.value < told.high
            assert told.flags == ()

    def test_ratio_by_hand(self) -> None:
        rng = np.random.default_rng(4)
        x = rng.random(80)
        y = 1.0 + rng.random(80)
        told = infer.ratio(Drawn(x, Simple(1000, 80)), lambda v: v, lambda v: y)
        slope = x.sum() / y.sum()
        residual = (x - slope * y).var(ddof=1)
        error = math.sqrt(0.92 * residual / 80) / y.mean()
        assert told.value == pytest.approx(slope)
        assert told.error == pytest.approx(error, rel=1e-6)

    def test_given_gradient_and_differences_agree(self) -> None:
        drawn = Drawn(np.random.default_rng(5).random(60) + 1.0, Simple(500, 60))
        parts = [lambda x: x, np.square]

        def spread(sums: Any) -> Any:
            return sums[1] / 500 - (sums[0] / 500) ** 2

        def gradient(sums: Any) -> Any:
            return [-2 * sums[0] / 500**2, 1 / 500]

        by_hand = infer.smooth(drawn, spread, parts, gradient=gradient)
        assert infer.smooth(drawn, spread, parts).error == pytest.approx(by_hand.error, rel=1e-6)
        assert infer.variance(drawn).error == pytest.approx(by_hand.error, rel=1e-6)

    def test_flags(self) -> None:
        few = infer.total(Drawn(np.arange(9.0), Simple(100, 9)))
        assert few.flags == ("few rows",)
        flat = infer.total(Drawn(np.ones(60), Simple(100, 60)))
        assert flat.flags == ("no spread",)
        none = infer.total(Drawn(np.empty(0), Simple(100, 0)))
        assert none.flags == ("empty",)
        assert math.isnan(none.value)
        assert "no design" in infer.total(Drawn(np.arange(60.0), Known(100, 60))).flags
        assert infer.total(Drawn(np.arange(3.0), Simple(3, 3))).flags == ()
        with pytest.raises(BindError):
            infer.total(Drawn(np.ones(60), Simple(100, 60)), confidence=1.0)

    def test_quantile_and_distinct(self) -> None:
        drawn = Drawn(np.arange(0.0, 1000.0, 10.0), Simple(1000, 100))
        told = infer.quantile(drawn, 0.5)
        assert told.low < 490 <= told.value <= 500 < told.high
        assert infer.quantile(drawn, 1.0).high == math.inf
        assert infer.distinct(drawn).low == 100
        assert infer.quantile(Drawn(np.empty(0), Simple(9, 0)), 0.5).flags == ("empty",)

    def test_needles_fool_the_normal_law_and_not_the_bar(self) -> None:
        rows = np.ones(100_000)
        rows[::20_000] = 1e8
        sample = Reservoir(500, seed=2)
        sample.update(rows)
        assert sample.values.max() == 1.0
        assert infer.mean(sample.sample()).high < 2.0
        assert infer.mean(sample.sample()).flags == ("no spread",)
        assert sample.query(Mean()).high > rows.mean()


class TestAnswers:
    def test_bars_of_merged_parts_hold(self) -> None:
        missed = 0
        rows = np.arange(2000)
        for seed in range(300):
            parts = [Reservoir(80, seed=seed) for _ in range(4)]
            for part, column in zip(parts, np.array_split(rows, 4), strict=True):
                part.update(column)
            for other in parts[1:]:
                parts[0].merge(other)
            told = parts[0].query(Sum())
            missed += not told.low <= rows.sum() <= told.high
        assert missed <= stats.binom.isf(ALPHA, 300, 0.05)

    def test_the_normal_law_covers_what_it_says(self) -> None:
        covered = 0
        rows = np.random.default_rng(6).lognormal(0.0, 1.0, 20_000)
        for seed in range(300):
            sample = Reservoir(500, seed=seed)
            sample.update(rows)
            told = infer.mean(sample.sample())
            covered += told.low <= rows.mean() <= told.high
        assert 0.90 < covered / 300 < 0.985

    def test_a_whole_sample_is_exact(self) -> None:
        sample = Reservoir(100, seed=1)
        sample.update(np.arange(50))
        for question, truth in (
            (Count(), 50.0),
            (Sum(), 1225.0),
            (Mean(), 24.5),
            (Quantile(0.5), 24.0),
            (Rank(9), 10.0),
            (Distinct(), 50.0),
        ):
            told = sample.query(question)
            assert (told.low, told.value, told.high) == pytest.approx((truth,) * 3)
            assert told.confidence == 1.0

    def test_quantile_bar_by_order_statistics(self) -> None:
        sample = Reservoir(99, seed=1)
        sample.update(np.arange(100_000))
        told = sample.query(Quantile(0.5))
        items = np.sort(sample.values)
        law = stats.binom(99, 0.5)
        low, high = int(law.ppf(0.025)), int(law.ppf(0.975)) + 1
        assert items[low - 1] <= told.low <= items[low + 1]
        assert items[high - 2] <= told.high <= items[high + 1]

    def test_distinct_cannot_be_told_and_is_not(self) -> None:
        """One item, or one item and a thousand others: both samples look alike, both bars hold."""
        rows = np.zeros(100_000)
        hidden = rows.copy()
        hidden[::100] = np.arange(1000) + 1
        for column, truth in ((rows, 1), (hidden, 1000)):
            sample = Reservoir(100, seed=3)
            sample.update(column)
            told = sample.query(Distinct())
            assert told.low <= truth <= told.high
        assert told.low <= 5

    def test_infinite_numbers_are_refused(self) -> None:
        sample = Reservoir(10)
        with pytest.raises(BindError):
            sample.update([1.0, math.inf])
        assert sample.to_bytes() == Reservoir(10).to_bytes()

    def test_text_is_refused(self) -> None:
        with pytest.raises(BindError):
            Reservoir(10).update(["a", "b"])

    def test_spans_of_features(self) -> None:
        low, high = np.array([0.0, 5.0, 2.0]), np.array([4.0, 9.0, 3.0])
        within = Between(2.0, 4.0)
        assert within.least(low, high).tolist() == [0, 0, 1]
        assert within.most(low, high).tolist() == [1, 0, 1]
        assert Scaled(0.0, 10.0).most(low, high).tolist() == [0.4, 0.9, 0.3]


class TestSizes:
    @pytest.mark.parametrize("within", [0.2, 0.05, 0.01])
    def test_a_reservoir_keeps_its_rank(self, within: float) -> None:
        need = Need(Quantile(0.5), Contract.rank(within, confidence=0.95))
        sample = Reservoir.sized_for(need, seed=1)
        assert sample.guarantee.epsilon <= within
        assert sample.guarantee.delta == pytest.approx(0.05)
        assert Reservoir(sample.k - 1).guarantee.epsilon > within

    def test_a_reservoir_keeps_its_width_of_a_mean(self) -> None:
        need = Need(Mean(), Contract.absolute(50.0, confidence=0.95), universe=(0, 1000))
        sample = Reservoir.sized_for(need, seed=1)
        sample.update((np.arange(50_000) % 2) * 1000)
        told = sample.query(Mean())
        assert max(told.high - told.value, told.value - told.low) <= 50.0

    def test_varopt_keeps_its_share(self) -> None:
        need = Need(Frequency(1), Contract.rank(0.1, confidence=0.95))
        sample = VarOpt.sized_for(need, seed=1)
        assert sample.guarantee.epsilon <= 0.1 < VarOpt(sample.k - 1).guarantee.epsilon
        sample.update(np.arange(20_000) % 2)
        told = sample.query(Frequency(1))
        assert max(told.high - told.value, told.value - told.low) <= 0.1 * 20_000

    def test_priority_takes_the_window(self) -> None:
        contract = Contract.rank(0.1, confidence=0.95)
        sample = Priority.sized_for(Need(Quantile(0.5), contract, window=60), seed=1)
        assert sample.window == 60
        with pytest.raises(ContractUnsatisfiable):
            Priority.sized_for(Need(Quantile(0.5), contract))

    @pytest.mark.parametrize(
        "need",
        [
            Need(Quantile(0.5), Contract.exact()),
            Need(Quantile(0.5), Contract.rank(0.01)),
            Need(Quantile(0.5), Contract.relative(0.01, confidence=0.9)),
            Need(Sum(), Contract.relative(0.01, confidence=0.9)),
            Need(Mean(), Contract.relative(0.01, confidence=0.9), universe=(-1, 1)),
            Need(Distinct(), Contract.relative(0.1, confidence=0.9)),
            Need(Quantile(0.5), Contract.rank(0.001, confidence=0.9), memory=1000),
        ],
        ids=lambda need: f"{type(need.question).__name__} {need.contract}",
    )
    def test_what_cannot_be_owed_is_refused(self, need: Need) -> None:
        with pytest.raises(ContractUnsatisfiable):
            Reservoir.sized_for(need)

    @pytest.mark.parametrize("kind", KINDS)
    def test_no_kind_owes_what_is_certain(self, kind: Any) -> None:
        with pytest.raises(ContractUnsatisfiable):
            kind.sized_for(Need(Frequency(1), Contract.relative(0.1)))

    @pytest.mark.parametrize(
        "make",
        [
            lambda: Bernoulli(0.0),
            lambda: Bernoulli(1.5),
            lambda: Bernoulli(0.5).thinned(0.6),
            lambda: Bernoulli(0.5, delta=0.0),
            lambda: Poisson(0.0),
            lambda: Reservoir(0),
            lambda: Reservoir(5, delta=1.0),
            lambda: Sequential(5, 4),
            lambda: Stratified(4, 5),
            lambda: Systematic(3, 4),
            lambda: Every(0),
            lambda: BiasedReservoir(5, 0.0),
            lambda: Halving(1, 10),
            lambda: BernoulliWindow(5, 10, 0.0),
            lambda: PassiveWindow(11, 10),
            lambda: ResampledWindow(0, 10),
            lambda: Chain(1, 0),
            lambda: StratifiedWindow(10, 4, 2),
            lambda: Priority(0, 10),
            lambda: RandomPairing(0),
            lambda: VarOpt(0),
            lambda: extra_draws(10, 11, 0.1),
        ],
    )
    def test_sizes_that_cannot_be_are_refused(self, make: Callable[[], Any]) -> None:
        with pytest.raises(BindError) as told:
            make()
        assert told.value.hint

    def test_samples_in_order_are_not_merged(self) -> None:
        first, second = Chain(2, 10), Chain(2, 10)
        with pytest.raises(IncompatibleSynopsis):
            first.merge(second)
