"""Figures of quantile sketches: sizes and errors as published, and speed for a thousand groups."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import datasketches
import numpy as np

from bench.figures import Figure
from streamgauge.synopses.bank import bank_of
from streamgauge.synopses.quantiles.kll import Kll
from streamgauge.synopses.quantiles.kll_levels import NOISE
from streamgauge.synopses.quantiles.log_histogram import LogHistogram
from streamgauge.synopses.quantiles.q_digest import QDigest
from streamgauge.synopses.quantiles.req import Req
from streamgauge.synopses.quantiles.tdigest import Tdigest
from streamgauge.synopses.questions import Quantile, Rank
from streamgauge.synopses.synopsis import Synopsis

GROUPS = 1000


def figures() -> list[Figure]:
    """All figures of the family."""
    makers: list[Callable[[], list[Figure]]] = [
        _kll_errors,
        _kll_noise,
        _smoke,
        _q_digest,
        _log_bins,
        _req_tail,
        _tdigest,
        _speed,
    ]
    return [figure for make in makers for figure in make()]


def _fed(synopsis: Any, column: Any) -> Any:
    synopsis.update(column)
    return synopsis


def _worst(synopsis: Synopsis, n: int) -> float:
    """Largest error in rank over many quantiles of a permutation of 0 to n - 1."""
    shares = [place / 100 for place in range(1, 100)]
    found = np.array([synopsis.query(Quantile(phi)).value for phi in shares])
    return float(np.abs((found + 1.0) / n - np.array(shares)).max())


def _kll_errors() -> list[Figure]:
    n, trials = 50_000, 60
    worst, bars = [], []
    for seed in range(trials):
        column = np.random.default_rng(seed).permutation(n)
        sketch = _fed(Kll(200, 0.01, seed=seed), column)
        worst.append(_worst(sketch, n))
        bars.append(sketch.guarantee.epsilon)
    told = datasketches.kll_doubles_sketch.get_normalized_rank_error(200, False)
    proved = Kll(200, 0.01).guarantee.epsilon
    missed = sum(error > told for error in worst)
    return [
        Figure(
            "kll, k = 200: worst error over 99 quantiles",
            f"{trials} permutations of {n:,}",
            f"99% within {told:.4f} (DataSketches)",
            f"{missed} of {trials} beyond, largest {max(worst):.4f}",
            missed <= 5,
        ),
        Figure(
            "kll, k = 200: proved bar of one question at 99%",
            f"permutations of {n:,}",
            f"sqrt(2 ln(2 / delta)) / k = {proved:.4f} at most",
            f"{max(bars):.4f}",
            max(bars) <= proved,
        ),
    ]


def _kll_noise() -> list[Figure]:
    sketch, worst = _fed(Kll(200), np.arange(200.0)), 0.0
    batch = np.ones(1)
    for _ in range(20_000):
        sketch.update(batch)
        worst = max(worst, float(sketch.state.reals[0, NOISE]) * (200 / sketch.rows) ** 2)
    return [
        Figure(
            "kll: squared worth of compactions, in (n / k)^2",
            f"k = 200, up to {sketch.rows:,} rows",
            "1 at most, on which sizes rest",
            f"{worst:.3f}",
            worst <= 1.0,
        )
    ]


def _smoke() -> list[Figure]:
    column = np.sort(np.random.default_rng(1).random(100_000))
    kept = column[1000::2000]
    worst = max(
        abs(np.searchsorted(column, kept[min(49, int(phi * 50))]) / 100_000 - phi)
        for phi in np.linspace(0.0, 0.999, 1000)
    )
    return [
        Figure(
            "50 stored items answer any quantile",
            "every 2,000th of 100,000 sorted",
            "within 1%",
            f"{worst:.4f}",
            worst <= 0.0101,
        )
    ]


def _q_digest() -> list[Figure]:
    bits, epsilon = 16, 0.01
    most, sizes, errors = 3 * bits / epsilon, [], []
    for n in (10_000, 100_000, 1_000_000):
        column = np.random.default_rng(n).permutation(n) * (1 << bits) // n
        digest = QDigest(bits, epsilon)
        for part in np.array_split(column, 10):
            digest.merge(_fed(QDigest(bits, epsilon), part))
        digest.compress()
        sizes.append(len(digest.nodes))
        ordered = np.sort(column)
        for phi in (0.01, 0.25, 0.5, 0.9):
            found = np.searchsorted(ordered, digest.query(Quantile(phi)).value, "right")
            errors.append(abs(found / n - phi))
    return [
        Figure(
            "q-digest: nodes, whatever the rows",
            "16 bits, epsilon 0.01, 10 parts, 1e4 to 1e6 rows",
            f"at most 3 log M / epsilon = {most:.0f}",
            ", ".join(map(str, sizes)),
            max(sizes) <= most,
        ),
        Figure(
            "q-digest: error in rank",
            "the same",
            f"at most {epsilon}",
            f"{max(errors):.4f}",
            max(errors) <= epsilon,
        ),
    ]


def _log_bins() -> list[Figure]:
    column = np.random.default_rng(3).lognormal(0.0, 2.0, 1_000_000)
    sketch = _fed(LogHistogram(0.01), column)
    shares = np.linspace(0.001, 0.999, 500)
    truth = np.quantile(column, shares, method="inverted_cdf")
    found = np.array([sketch.query(Quantile(float(phi))).value for phi in shares])
    worst = float(np.abs(found / truth - 1.0).max())
    coarse = sketch.coarsened()
    return [
        Figure(
            "log histogram: relative error of 500 quantiles",
            "alpha 0.01, a million lognormal numbers",
            "at most 0.01",
            f"{worst:.4f}",
            worst <= 0.01,
        ),
        Figure(
            "log histogram, coarsened: error and bytes",
            "the same",
            f"2 alpha / (1 + alpha^2) = {0.02 / 1.0001:.4f}, half the bytes",
            f"{coarse.guarantee.epsilon:.4f}, {coarse.nbytes} of {len(sketch.to_bytes())}",
            coarse.guarantee.epsilon <= 0.02 / 1.0001 and coarse.nbytes < 0.6 * sketch.nbytes,
        ),
    ]


def _req_tail() -> list[Figure]:
    n = 200_000
    column = np.random.default_rng(4).permutation(n).astype(np.float64)
    bar = _fed(Req(12), column).query(Rank(n * 0.9999))
    even = _fed(Kll(200), column).query(Rank(n * 0.9999))
    return [
        Figure(
            "req and kll: bar of the rank of p99.99",
            f"k = 12 and k = 200, {n:,} rows",
            "req far narrower at its end",
            f"{bar.high - bar.low:.0f} and {even.high - even.low:.0f} rows",
            bar.high - bar.low < 0.1 * (even.high - even.low),
        )
    ]


def _tdigest() -> list[Figure]:
    n = 100_000
    column = np.random.default_rng(5).permutation(n).astype(np.float64)
    worst = _worst(_fed(Tdigest(200), column), n)
    return [
        Figure(
            "t-digest, k = 200: worst error over 99 quantiles",
            f"{n:,} in random order",
            "no bound; 0.0207 at most over 1,000 groups elsewhere",
            f"{worst:.4f}",
            worst <= 0.05,
        )
    ]


def _speed() -> list[Figure]:
    rng = np.random.default_rng(6)
    n = 5_000_000
    groups = rng.integers(0, GROUPS, n).astype(np.int32)
    column = rng.lognormal(0.0, 1.0, n)
    found = []
    for model, goal in ((Kll(200), 15e6), (LogHistogram(0.01), 40e6)):
        bank_of(model, GROUPS).update(groups[:1000], column[:1000])
        best = math.inf
        for _ in range(3):
            bank = bank_of(model, GROUPS)
            start = time.process_time()
            bank.update(groups, column)
            best = min(best, time.process_time() - start)
        found.append(
            Figure(
                f"{model.name}: rows a second of one core, {GROUPS:,} groups",
                f"{n:,} lognormal numbers, groups at random",
                f"{goal / 1e6:.0f} million on an idle machine, 0.7 of it at least",
                f"{n / best / 1e6:.1f} million",
                n / best >= 0.7 * goal,
            )
        )
    return found
