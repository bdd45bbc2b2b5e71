"""Figures of the samples: sizes, skips, windows, strata, pairs, oversampling, intervals."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from bench.figures import Figure
from streamgauge.synopses.questions import Mean
from streamgauge.synopses.samples import estimators as infer
from streamgauge.synopses.samples.bernoulli import Bernoulli
from streamgauge.synopses.samples.biased_reservoir import BiasedReservoir
from streamgauge.synopses.samples.chain import Chain
from streamgauge.synopses.samples.designs import Drawn, Simple
from streamgauge.synopses.samples.halving import Halving
from streamgauge.synopses.samples.oversampling import (
    chance_of_too_few,
    closed_form_extra,
    extra_draws,
)
from streamgauge.synopses.samples.passive_window import PassiveWindow
from streamgauge.synopses.samples.priority import Priority
from streamgauge.synopses.samples.random_pairing import RandomPairing
from streamgauge.synopses.samples.resampled_window import ResampledWindow
from streamgauge.synopses.samples.reservoir import Reservoir
from streamgauge.synopses.samples.sequential import Sequential
from streamgauge.synopses.samples.stratified import Stratified
from streamgauge.synopses.samples.stratified_window import StratifiedWindow
from streamgauge.synopses.samples.systematic import Systematic

Floats = npt.NDArray[np.float64]


def figures() -> list[Figure]:
    """Every figure, measured now."""
    found: list[Figure] = []
    for part in (_sizes, _skips, _strata, _recency, _windows, _more_draws, _deletions, _inference):
        found += part()
    return found


def _sizes() -> list[Figure]:
    sample = Bernoulli(0.01)
    exact = sample.chance_of_size(10_000, 80, 120)
    inside = 0
    for seed in range(1000):
        fresh = Bernoulli(0.01, seed=seed)
        fresh.update(np.zeros(10_000) + seed)
        inside += 80 <= len(fresh.values) <= 120
    return [
        Figure(
            "Bernoulli size within two deviations",
            "n = 10,000, q = 1%, 1,000 samples",
            "80 to 120 rows in 96.1% of samples",
            f"{inside / 10:.1f}% of samples, {100 * exact:.1f}% by the binomial law",
            abs(exact - 0.961) < 0.0005 and abs(inside / 1000 - 0.961) < 0.025,
        )
    ]


def _skips() -> list[Figure]:
    rows = np.arange(1_000_000, dtype=np.int64)
    thin = Bernoulli(0.01, seed=1)
    thin.update(rows)
    rolls = int(thin.dice[2])
    pool = Reservoir(1000, seed=1)
    pool.update(rows)
    known = Sequential(1000, 1_000_000, seed=1)
    known.update(rows)
    entering = 1000 * (1 + math.log(1000))
    each, least = int(pool.dice[2]), int(known.dice[2])
    return [
        Figure(
            "Bernoulli rolls of the dice",
            "n = 1,000,000, q = 1%",
            "about n q: a hundredth of one for each row",
            f"{rolls:,} rolls, {1_000_000 / rolls:.0f} rows for each",
            90 < 1_000_000 / rolls < 110,
        ),
        Figure(
            "Reservoir rolls of the dice",
            "n = 1,000,000, k = 1,000",
            f"a few times k (1 + ln(n/k)) = {entering:,.0f}",
            f"{each:,} rolls, {each / entering:.2f} times",
            0.5 < each / entering < 4.0,
        ),
        Figure(
            "Sequential sampling needs fewer",
            "n = 1,000,000 known, k = 1,000",
            "a few times k, whatever n",
            f"{least:,} rolls, {each / least:.1f} times fewer than the reservoir",
            least < 4000 < each,
        ),
        _uniformity(),
    ]


def _uniformity() -> Figure:
    counts = np.zeros(100)
    for seed in range(3000):
        pool = Reservoir(10, seed=seed)
        pool.update(np.arange(100))
        counts[pool.values.astype(int)] += 1
    p = float(stats.chisquare(counts).pvalue)
    return Figure(
        "Reservoir is uniform over places",
        "k = 10 of 100, 3,000 samples",
        "chi-square does not reject",
        f"p = {p:.2f}",
        p > 1e-4,
    )


def _errors(make: Any, rows: Floats, runs: int) -> Floats:
    """Errors of the estimated mean, over fresh seeds."""
    out = np.empty(runs)
    for seed in range(runs):
        sample = make(seed)
        sample.update(rows)
        out[seed] = infer.mean(sample.sample()).value - rows.mean()
    return out


def _strata() -> list[Figure]:
    walk = np.cumsum(np.random.default_rng(1).normal(size=5000))
    simple = _errors(lambda seed: Reservoir(500, seed=seed), walk, 200)
    strata = _errors(lambda seed: Stratified(100, 10, seed=seed), walk, 200)
    wave = np.sin(2 * np.pi * np.arange(5000) / 10)
    plain = _errors(lambda seed: Reservoir(500, seed=seed), wave, 200)
    period = _errors(lambda seed: Systematic(10, seed=seed), wave, 200)
    narrow, wide = Stratified(100, 10, seed=1), Reservoir(500, seed=1)
    narrow.update(walk)
    wide.update(walk)
    near, far = narrow.query(Mean()), wide.query(Mean())
    gain = (far.high - far.low) / (near.high - near.low)
    return [
        Figure(
            "Strata on a random walk",
            "n = 5,000, 50 strata of 10 rows, against a reservoir of 500",
            "variance of the mean no larger",
            f"{np.var(simple) / np.var(strata):.0f} times smaller; proved bar {gain:.1f} times",
            bool(np.var(strata) < np.var(simple) and gain > 1.0),
        ),
        Figure(
            "Systematic sample of rows of its own period",
            "sine of period 10, every 10th row",
            "variance much larger than of a reservoir",
            f"{np.var(period) / np.var(plain):.0f} times larger",
            bool(np.var(period) > 20 * np.var(plain)),
        ),
    ]


def _recency() -> list[Figure]:
    counts = np.zeros(10_000)
    for seed in range(400):
        sample = BiasedReservoir(100, 0.5, seed=seed)
        sample.update(np.arange(10_000))
        counts[sample.places] += 1
    owed = 400 * sample.inclusion(np.arange(10_000))
    newest = np.array([counts[-(j + 1) * 100 : len(counts) - j * 100].sum() for j in range(10)])
    law = np.array([owed[-(j + 1) * 100 : len(owed) - j * 100].sum() for j in range(10)])
    off = float((np.abs(newest - law) / np.sqrt(law)).max())
    halves = np.zeros(5)
    for seed in range(1000):
        half = Halving(20, 100, seed=seed)
        half.update(np.arange(500))
        halves += np.bincount(half.places // 100, minlength=5)
    expected = 1000 * 20 * np.array([1 / 16, 1 / 16, 1 / 8, 1 / 4, 1 / 2])
    wrong = float((np.abs(halves - expected) / np.sqrt(expected)).max())
    return [
        Figure(
            "Biased reservoir forgets geometrically",
            "k = 100, p = 0.5, n = 10,000, ages by the hundred",
            "chance p (1 - p/k)^age",
            f"ten ages within {off:.1f} deviations",
            off < 4.5,
        ),
        Figure(
            "Halving halves",
            "k = 20, five stretches of 100",
            "shares 1/16, 1/16, 1/8, 1/4, 1/2",
            ", ".join(f"{share:.3f}" for share in halves / halves.sum()),
            wrong < 4.5,
        ),
    ]


def _windows() -> list[Figure]:
    chain = Chain(50, 1000, seed=1)
    stored, most, ages = [], 0, np.zeros(10)
    for start in range(0, 60_000, 500):
        chain.update(np.arange(start, start + 500))
        if start >= 5000:
            stored.append(chain.stored / 50)
            most = max(most, int(chain.events[:, 0].max()))
            ages += np.bincount((start + 499 - chain.places[:, 0]) // 100, minlength=10)
    deciles = ages / ages.sum()
    sizes = set()
    strata = StratifiedWindow(12, 4, 2, seed=1)
    for row in range(300):
        strata.update([row])
        if row >= 12:
            sizes.add(len(strata.sample().values))
    found = [
        Figure(
            "Chain stores few rows",
            "n = 1,000, 50 samplers, 60,000 rows",
            "1.73 a sampler on average, at most e",
            f"{np.mean(stored):.2f}, longest {most}",
            abs(float(np.mean(stored)) - 1.73) < 0.08,
        ),
        Figure(
            "Chain is uniform over ages",
            "the same, by tenths of the window",
            "each near 0.1",
            f"{deciles.min():.3f} to {deciles.max():.3f}",
            bool(np.abs(deciles - 0.1).max() < 0.015),
        ),
        Figure(
            "Stratified window keeps its size",
            "n = 12, strata of 4, 2 rows each",
            "6 to 8 rows",
            f"{min(sizes)} to {max(sizes)} rows",
            sizes == {6, 7, 8},
        ),
        _overlap(),
    ]
    return found + [_stored(n) for n in (100, 1000, 10_000)]


def _overlap() -> Figure:
    shares = []
    for kind in (PassiveWindow, ResampledWindow):
        same = []
        for seed in range(40):
            sample: Any = kind(50, 500, seed=seed)
            sample.update(np.arange(1000) % 500)
            before = set(sample.sample().values)
            sample.update(np.arange(500))
            same.append(len(before & set(sample.sample().values)) / 50)
        shares.append(float(np.mean(same)))
    return Figure(
        "Samples one window apart, rows of its period",
        "n = 500, k = 50",
        "passive 100% alike, resampled k/n = 10%",
        f"{100 * shares[0]:.0f}% and {100 * shares[1]:.0f}%",
        shares[0] == 1.0 and abs(shares[1] - 0.1) < 0.03,
    )


def _stored(n: int) -> Figure:
    runs = 400 if n <= 1000 else 150
    held = []
    for seed in range(runs):
        sample = Priority(1, n, seed=seed)
        sample.update(np.arange(2 * n), times=np.arange(2 * n))
        held.append(len(sample.values))
    harmonic = sum(1 / i for i in range(1, n + 1))
    mean = float(np.mean(held))
    return Figure(
        "Priority stores harmonically many",
        f"n = {n:,}, {runs} runs",
        f"{harmonic:.2f}, the n-th harmonic number",
        f"{mean:.2f}",
        abs(mean - harmonic) < 4.5 * float(np.std(held)) / math.sqrt(runs),
    )


def _more_draws() -> list[Figure]:
    fine = chance_of_too_few(1000, 100, 100 + math.ceil(closed_form_extra(1000, 100)))
    wrong = chance_of_too_few(1000, 300, 300 + math.ceil(closed_form_extra(1000, 300)))
    worst = chance_of_too_few(1000, 499, 499 + math.ceil(closed_form_extra(1000, 499)))
    enough = extra_draws(1000, 300, 0.001)
    kept = chance_of_too_few(1000, 300, 300 + enough)
    return [
        Figure(
            "Oversampling by the closed form",
            "n = 1,000, k = 100, 45 more draws",
            "too few with chance 2e-23",
            f"{fine:.1e}",
            1e-23 < fine < 4e-23,
        ),
        Figure(
            "The closed form fails for large shares",
            "n = 1,000, k = 300 and 499, 0.001 promised",
            "0.034, near 1",
            f"{wrong:.3f}, {worst:.3f}",
            abs(wrong - 0.034) < 0.001 and worst > 0.99,
        ),
        Figure(
            "Oversampling by the exact law",
            "n = 1,000, k = 300, 0.001 asked",
            "at most 0.001",
            f"{kept:.5f} with {enough} more draws",
            kept <= 0.001,
        ),
    ]


def _deletions() -> list[Figure]:
    rng = np.random.default_rng(1)
    counts, largest = np.zeros(10), 0
    for seed in range(4000):
        signs = np.concatenate([np.ones(20), rng.choice([-1.0, 1.0], 60)])
        ids, alive, new = [], [], 0
        for sign in signs:
            if sign > 0 or not alive:
                ids.append((new, 1.0))
                alive.append(new)
                new += 1
            else:
                ids.append((alive.pop(int(rng.integers(len(alive)))), -1.0))
        sample = RandomPairing(6, seed=seed)
        rows, weights = np.transpose(ids)
        sample.update(rows, weights=weights)
        held = sample.sample().values
        largest = max(largest, len(held))
        places = np.searchsorted(np.array(alive), held)
        # A place within the set, smeared over the width of one row, falls in a tenth of the set.
        tenths = (places + rng.random(len(held))) * 10 / max(1, len(alive))
        np.add.at(counts, tenths.astype(int), 1)
    deciles = counts / counts.sum()
    p = float(stats.chisquare(counts).pvalue)
    return [
        Figure(
            "Random pairing is uniform after any history",
            "4,000 histories of insertions and deletions, size 6",
            "tenths of the set near 0.1, never above the size",
            f"{deciles.min():.4f} to {deciles.max():.4f}, p = {p:.2f}, at most {largest} rows",
            p > 1e-4 and largest <= 6,
        )
    ]


def _inference() -> list[Figure]:
    incomes = np.array([10_000.0, 50_000.0, 1_000_000.0])
    told = [
        infer.total(Drawn(incomes[list(pair)], Simple(3, 2))).value
        for pair in itertools.combinations(range(3), 2)
    ]
    rows = np.random.default_rng(2).lognormal(0.0, 1.0, 100_000)
    normal, proved, widths = 0, 0, []
    for seed in range(400):
        sample = Reservoir(500, seed=seed)
        sample.update(rows)
        guess, bar = infer.mean(sample.sample()), sample.query(Mean())
        normal += guess.low <= rows.mean() <= guess.high
        proved += bar.low <= rows.mean() <= bar.high
        widths.append((bar.high - bar.low) / (guess.high - guess.low))
    needles = np.ones(1_000_000)
    needles[:5] = 1e8
    blind = Reservoir(1000, seed=1)
    blind.update(needles)
    low = infer.mean(blind.sample())
    return [
        Figure(
            "Three incomes, samples of two",
            "10,000, 50,000, 1,000,000",
            "mean of estimates 1,060,000, standard error 686,330",
            f"{np.mean(told):,.0f}, {np.std(told):,.0f}",
            abs(float(np.mean(told)) - 1_060_000) < 1 and abs(float(np.std(told)) - 686_330) < 1,
        ),
        Figure(
            "Intervals of the normal law",
            "500 of 100,000 lognormal rows, 400 samples",
            "95% hold the mean",
            f"{normal / 4:.1f}%; proved bars {proved / 4:.1f}%, {np.mean(widths):.1f} times wider",
            0.91 < normal / 400 < 0.985 and proved / 400 >= 0.95,
        ),
        Figure(
            "Needles in a haystack",
            "a million ones and five of 1e8, 1,000 sampled",
            "the average is missed by orders of magnitude",
            f"{low.value:g} of {needles.mean():.0f}; the proved bar reaches "
            f"{blind.query(Mean()).high:.3g}",
            low.high < 2.0 and blind.query(Mean()).high > needles.mean(),
        ),
    ]
