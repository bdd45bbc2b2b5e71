"""Figures of the windowed synopses: errors against epsilon, buckets against their bounds.

The papers prove bounds and report no runs. Where a claim gives a number in brackets, it is from a
pilot: a plain prototype of the printed algorithm on similar rows, not a published measurement.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from bench.figures import Figure
from bench.lab.daba import Daba
from bench.lab.two_stacks import TwoStacks
from streamgauge.synopses.questions import Count, Question, Sum, Variance
from streamgauge.synopses.windowed.eh import ExponentialHistogram
from streamgauge.synopses.windowed.eh_count import EhCount
from streamgauge.synopses.windowed.eh_sum import EhSum
from streamgauge.synopses.windowed.eh_variance import EhVariance
from streamgauge.synopses.windowed.similarity import Similarity
from streamgauge.synopses.windowed.window_extreme import WindowExtreme


def figures() -> list[Figure]:
    """All figures, each from one fixed seed."""
    return [
        *counting(),
        *bits(),
        adversarial(),
        words(),
        *sums(),
        any_window(),
        cost_of_sums(),
        variance(),
        *norms(),
        *minima(),
        dominance(),
        decays(),
        *queues(),
    ]


def worst_error(
    synopsis: Any, question: Question, times: Any, values: Any, step: int
) -> tuple[float, int]:
    """Worst relative error over the run, asked every `step` rows, and most buckets."""
    worst, buckets = 0.0, 0
    start = 0
    for stop in range(step, len(times) + 1, step):
        synopsis.update(values[stop - step : stop], times=times[stop - step : stop])
        now = int(times[stop - 1])
        synopsis.advance(now)
        start += int(np.searchsorted(times[start:stop], now - synopsis.window, side="right"))
        truth = question.truth(values[start:stop], np.ones(stop - start))
        if truth > 0:
            worst = max(worst, abs(synopsis.query(question).value - truth) / truth)
        buckets = max(buckets, synopsis.buckets)
    return worst, buckets


def bound(n: int, epsilon: float) -> int:
    """Most buckets of a count."""
    k = math.ceil(1.0 / epsilon)
    return math.floor((math.ceil(k / 2) + 1) * (math.log2(2 * n / k + 1) + 1)) + 1


def counting() -> list[Figure]:
    """Counts of bursty rows."""
    rng, n, found = np.random.default_rng(1), 100_000, []
    bursts = np.repeat(rng.random(600) < 0.5, 500)
    places = np.flatnonzero(rng.random(300_000) < np.where(bursts, 0.9, 0.02))
    for epsilon in (0.1, 0.05, 0.01):
        counts = EhCount(n, epsilon)
        error, buckets = worst_error(counts, Count(), places, np.ones(len(places)), 101)
        limit = bound(n, epsilon)
        found.append(
            Figure(
                f"count, epsilon {epsilon:g}",
                "100,000 rows, bursts and silences",
                f"error at most {epsilon:g}, at most {limit} buckets",
                f"worst error {error:.4f}, {buckets} buckets",
                error <= epsilon and buckets <= limit,
            )
        )
    return found


def bits() -> list[Figure]:
    """Bits against the lower bound: a constant factor that does not grow with the window."""
    ratios = []
    for n in (10**4, 10**5, 10**6):
        rng = np.random.default_rng(2)
        counts, most = EhCount(n, 0.1), 0
        for start in range(0, 3 * n, n // 50):
            places = start + np.flatnonzero(rng.random(n // 50) < 0.5)
            counts.update(np.ones(len(places)), times=places)
            most = max(most, counts.buckets)
        used = most * math.ceil(math.log2(n) + math.log2(math.log2(n)))
        ratios.append((n, most, used, used / (10 / 16 * math.log2(n / 10) ** 2)))
    flat = max(r[3] for r in ratios) / min(r[3] for r in ratios)
    largest = ratios[-1]
    return [
        Figure(
            "count, space",
            "a window of a million rows, half of them counted, epsilon 0.1",
            f"at most {bound(10**6, 0.1)} buckets (pilot 98, 0.24% of the bits of the rows)",
            f"{largest[1]} buckets, {100 * largest[2] / 10**6:.2f}%",
            largest[1] <= bound(10**6, 0.1),
        ),
        Figure(
            "count, space over the lower bound",
            "windows of 10^4, 10^5 and 10^6 rows, epsilon 0.1",
            "a constant factor (pilot 16, 15, 14)",
            ", ".join(f"{ratio:.0f}" for *_, ratio in ratios),
            flat < 1.5,
        ),
    ]


def adversarial() -> Figure:
    """The rows of the lower bound: blocks of doubling length, a few runs in each."""
    rng, n, k, worst = np.random.default_rng(3), 20_000, 20, 0.0
    block = int(math.sqrt(n * k))
    for _ in range(5):
        marks: list[int] = []
        right = n
        for level in range(int(math.log2(n / block))):
            width = 2**level
            for run in rng.choice(block, k // 4, replace=False):
                left = right - (run + 1) * width
                marks.extend(range(max(left, 0), max(left, 0) + width))
            right -= block * width
        times = np.unique(marks)
        counts = EhCount(n, 1.0 / k)
        counts.update(np.ones(len(times)), times=times)
        for now in range(n, 2 * n, 7):
            counts.advance(now)
            truth = len(times) - int(np.searchsorted(times, now - n, side="right"))
            if truth:
                worst = max(worst, abs(counts.query(Count()).value - truth) / truth)
    return Figure(
        "count, rows of the lower bound",
        "20,000 rows, epsilon 0.05, asked while all of them expire",
        "error at most 0.05",
        f"worst error {worst:.4f}",
        worst <= 0.05,
    )


def words() -> Figure:
    """A window that no one can store."""
    n, k = 10**10, 10
    limit = (k / 2 + 1) * (math.log2(2 * n / k) + 2)
    counts = EhCount(n, 0.1)
    # Rows of weight a million at ten thousand times: ten billion rows in all.
    counts.update(np.ones(20_000), np.full(20_000, 1e6), times=np.arange(20_000) * 10**6)
    return Figure(
        "count, ten billion rows",
        "epsilon 0.1",
        f"about 300 words (bound {limit:.0f} buckets)",
        f"{counts.buckets} buckets, {counts.nbytes} bytes",
        counts.buckets <= limit,
    )


def sums() -> list[Figure]:
    """Sums of loads that change by a factor of 300."""
    rng, found = np.random.default_rng(4), []
    heavy = np.repeat(np.arange(40) % 2 == 0, 625)
    values = np.where(heavy, rng.integers(0, 1001, 25_000), rng.integers(0, 4, 25_000))
    for epsilon, pilot in ((0.1, "0.0933, 106 buckets"), (0.02, "0.0196, 378 buckets")):
        error, _ = worst_error(
            EhSum(5000, epsilon), Sum(), np.arange(25_000), values.astype(float), 5
        )
        held = EhSum(5000, epsilon)
        held.update(values, times=np.arange(25_000))
        found.append(
            Figure(
                f"sum, epsilon {epsilon:g}",
                "5,000 rows of 0 to 1,000, loads of 0 to 1,000 and 0 to 3 in turn",
                f"error at most {epsilon:g} (pilot {pilot})",
                f"worst error {error:.4f}, {held.buckets} buckets and rows not yet swept",
                error <= epsilon,
            )
        )
    return found


def any_window() -> Figure:
    """One histogram, all windows."""
    rng = np.random.default_rng(5)
    times = np.flatnonzero(rng.random(60_000) < 0.3)
    counts = EhCount(20_000, 0.05)
    counts.update(np.ones(len(times)), times=times)
    now, worst = int(times[-1]), 0.0
    for window in range(1, 20_001, 13):
        truth = len(times) - int(np.searchsorted(times, now - window, side="right"))
        if truth:
            value = counts.query(Count(), window=window).value
            worst = max(worst, abs(value - truth) / truth)
    return Figure(
        "count, every window from one histogram",
        "windows of 1 to 20,000, epsilon 0.05",
        "error at most 0.05 for each",
        f"worst error {worst:.4f}",
        worst <= 0.05,
    )


def cost_of_sums() -> Figure:
    """The time of a sum does not depend on how large the numbers are."""
    rng, n, spent = np.random.default_rng(6), 400_000, {}
    for largest in (10, 10**6):
        values = rng.integers(0, largest, n).astype(float)
        times = np.arange(n)
        best = math.inf
        for _ in range(3):
            held = EhSum(100_000, 0.05)
            started = time.perf_counter()
            held.update(values, times=times)
            best = min(best, time.perf_counter() - started)
        spent[largest] = best / n * 1e9
    ratio = spent[10**6] / spent[10]
    return Figure(
        "sum, time for a row",
        "numbers up to 10 and up to a million, epsilon 0.05",
        "constant, whatever the numbers",
        f"{spent[10]:.0f} ns and {spent[10**6]:.0f} ns",
        ratio < 3.0,
    )


def variance() -> Figure:
    """Variance of rows whose level and spread change."""
    rng = np.random.default_rng(7)
    level = np.repeat(rng.normal(0.0, 20.0, 20), 500)
    spread = np.repeat(rng.choice([0.1, 1.0, 10.0], 20), 500)
    values = rng.normal(level, spread)
    error, buckets = worst_error(EhVariance(2000, 0.2), Variance(), np.arange(10_000), values, 5)
    return Figure(
        "variance, epsilon 0.2",
        "2,000 rows, levels and spreads that change",
        "error at most 0.2 (pilot, another rule: 0.019 with 561 buckets)",
        f"worst error {error:.4f}, {buckets} buckets and rows not yet swept",
        error <= 0.2 and buckets <= 561,
    )


def norms() -> list[Figure]:
    """Sums of powers of exact buckets: what the buckets alone cost."""
    rng, found = np.random.default_rng(8), []
    rows = np.concatenate([rng.zipf(1.5, 1200) % 64, rng.integers(0, 64, 1200)])
    for p, pilot in ((1.0, 0.047), (1.5, 0.067), (2.0, 0.087)):
        spread = 2.0 ** (p - 1.0)
        error, most = worst_norm(rows, p, 20, spread)
        allowed = 1.0 - 1.0 / (spread + spread**2 / 20)
        found.append(
            Figure(
                f"sum of powers {p:g}, precision 20",
                "1,000 rows over 64 items, skewed then even",
                f"at most {allowed:.3f} too low (pilot {pilot:g}, 145 to 172 buckets)",
                f"worst {error:.3f}, {most} buckets after a sweep",
                error <= allowed,
            )
        )
    return found


def worst_norm(rows: Any, p: float, k: int, spread: float) -> tuple[float, int]:
    """Worst shortfall of the buckets alive for sure, and most buckets after a sweep."""

    def size(vector: Any) -> float:
        return float((vector**p).sum())

    held: ExponentialHistogram[Any] = ExponentialHistogram(
        1000, k, merge=lambda one, two: one + two, size=size, spread=spread
    )
    worst, most, eye, before = 0.0, 0, np.eye(64), 0
    for place, row in enumerate(rows.tolist()):
        held.add(place, eye[row])
        if len(held.buckets) < before:
            most = max(most, len(held.buckets))
        before = len(held.buckets)
        if place % 11 == 0:
            alive = rows[max(0, place - 999) : place + 1]
            truth = size(np.bincount(alive, minlength=64).astype(float))
            worst = max(worst, 1.0 - size(held.between()[0]) / truth)
    return worst, most


def minima() -> list[Figure]:
    """Length of the list of possible minima."""
    rng, found = np.random.default_rng(9), []
    for n, pilot in ((10**3, 7.45), (10**4, 9.43), (10**5, 12.03)):
        lengths = []
        extremes = WindowExtreme(n)
        values, step = rng.random(5 * n), max(1, n // 40)
        for stop in range(step, 5 * n + 1, step):
            extremes.update(values[stop - step : stop], times=np.arange(stop - step, stop))
            extremes.advance(stop - 1)
            if stop > n:
                lengths.append(extremes.smallest.n)
        harmonic = math.log(n) + 0.5772
        found.append(
            Figure(
                f"minimum, {n:,} rows",
                "numbers in random order",
                f"{harmonic:.2f} entries on average (pilot {pilot:g})",
                f"{np.mean(lengths):.2f}",
                abs(float(np.mean(lengths)) - harmonic) < 1.5,
            )
        )
    return found


def dominance() -> Figure:
    """Length of the lists of possible smallest ranks."""
    items = np.random.default_rng(10).integers(0, 10**9, 30_000)
    alike = Similarity(10_000, 200, seed=1)
    alike.update(items, times=np.arange(30_000))
    alike.advance(29_999)
    mean, harmonic = float(alike.lists.n.mean()), math.log(10_000) + 0.5772
    return Figure(
        "similarity, length of a list",
        "10,000 different items, 200 rankings",
        f"{harmonic:.2f} on average",
        f"{mean:.2f}",
        abs(mean - harmonic) < 1.0,
    )


def decays() -> Figure:
    """Polynomial decays from one histogram."""
    rng, worst = np.random.default_rng(11), 0.0
    values = rng.integers(0, 1000, 20_000).astype(float)
    held = EhSum(10_000, 0.05)
    for stop in range(500, 20_001, 500):
        held.update(values[stop - 500 : stop], times=np.arange(stop - 500, stop))
        ages = stop - 1 - np.arange(stop)
        for alpha in (0.5, 1.0, 2.0):
            truth = float((values[:stop] * (1.0 + ages) ** -alpha * (ages < 10_000)).sum())
            bar = held.decayed(_polynomial(alpha))
            worst = max(worst, abs(bar.value - truth) / truth)
    return Figure(
        "fading sums from one histogram",
        "weights (1 + age)^-a, a of 0.5, 1 and 2, epsilon 0.05",
        "error at most 0.05",
        f"worst error {worst:.4f}",
        worst <= 0.05,
    )


def _polynomial(alpha: float) -> Callable[[Any], Any]:
    return lambda age: (1.0 + age) ** -alpha


def queues() -> list[Figure]:
    """Merges for one step of a sliding window of 1,000 panes."""
    found = []
    claims = {"daba": "at most 8 in any step", "two_stacks": "3 on average"}
    for name, kind in (("daba", Daba), ("two_stacks", TwoStacks)):
        calls = [0]

        def merge(one: int, two: int, calls: list[int] = calls) -> int:
            calls[0] += 1
            return one + two

        queue: Any = kind(merge)
        steps = []
        for pane in range(10_000):
            calls[0] = 0
            queue.push(pane)
            if len(queue) > 1000:
                queue.pop()
            queue.total()
            steps.append(calls[0])
        worst, mean = max(steps), float(np.mean(steps))
        found.append(
            Figure(
                f"merges for a pane, {name}",
                "a window of 1,000 panes",
                claims[name],
                f"{mean:.2f} on average, {worst} at worst",
                worst <= 8 if name == "daba" else mean <= 3.0,
            )
        )
    return found
