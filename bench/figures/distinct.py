"""Figures of the distinct counters: errors, bytes, windows, lossy networks."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from bench.figures import Figure
from streamgauge.synopses.distinct.ams_distinct import AmsDistinct
from streamgauge.synopses.distinct.bjkst import Bjkst
from streamgauge.synopses.distinct.cohen import Cohen
from streamgauge.synopses.distinct.coordinated import Coordinated
from streamgauge.synopses.distinct.distinct_sampling import DistinctSampling
from streamgauge.synopses.distinct.fm import Fm
from streamgauge.synopses.distinct.hll import Hll
from streamgauge.synopses.distinct.linear_counting import LinearCounting, standard_error
from streamgauge.synopses.distinct.loglog import Loglog
from streamgauge.synopses.distinct.pcsa import Pcsa
from streamgauge.synopses.distinct.randomized_wave import RandomizedWave
from streamgauge.synopses.distinct.set_expression import SetExpression
from streamgauge.synopses.distinct.super_loglog import SuperLoglog
from streamgauge.synopses.distinct.theta import Theta
from streamgauge.synopses.distinct.windowed_fm import WindowedFm
from streamgauge.synopses.questions import Distinct

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_BATCH = 20_000


def figures() -> list[Figure]:
    """Every figure, measured now."""
    found: list[Figure] = []
    for part in (
        _flajolet_martin,
        _stochastic_averaging,
        _linear_counting,
        _weak_hashes,
        _samples,
        _windows,
        _impossible_from_samples,
        _predicates,
        _set_expressions,
        _message_bits,
        _rings_and_tree,
    ):
        found += part()
    return found


def _errors(make: Callable[[int], Any], n: int, runs: int, read: Callable[[Any], float]) -> Floats:
    """Relative errors of `runs` counters with seeds of their own, after n different items."""
    out = np.empty(runs)
    for run in range(runs):
        counter = make(run)
        for start in range(0, n, _BATCH):
            counter.update(np.arange(start, min(start + _BATCH, n), dtype=np.int64) + run * n)
        out[run] = read(counter) / n - 1.0
    return out


def _made(kind: Any, *sizes: int) -> Callable[[int], Any]:
    return lambda run: kind(*sizes, seed=run)


def _raw(counter: Any) -> float:
    return float(counter.raw)


def _told(counter: Any) -> float:
    return float(counter.query(Distinct()).value)


def _flajolet_martin() -> list[Figure]:
    out = []
    for k, limit in ((20, 0.15), (64, 0.10)):
        error = np.abs(_errors(_made(Fm, k), 10_000, 150, _told)).mean()
        out.append(
            Figure(
                f"FM, mean error with {k} hashes",
                "10,000 items, 150 runs",
                f"below {limit:.0%}",
                f"{error:.1%}",
                bool(error < limit),
            )
        )
    return out


def _stochastic_averaging() -> list[Figure]:
    out = []
    kinds: list[tuple[str, Any, Callable[[int], int], float, float, float]] = [
        ("PCSA", Pcsa, int, 0.78, 0.66, 0.90),
        ("LogLog", Loglog, int, 1.30, 1.10, 1.50),
        ("SuperLogLog", SuperLoglog, int, 1.05, 0.89, 1.32),
        ("HyperLogLog", Hll, lambda k: k.bit_length() - 1, 1.04, 0.88, 1.20),
    ]
    for name, kind, size, claim, least, most in kinds:
        spreads = []
        for k in (64, 256, 1024):
            errors = _errors(_made(kind, size(k)), 40_000, 150, _told)
            spreads.append(float(errors.std()) * math.sqrt(k))
        out.append(
            Figure(
                f"{name}, deviation times root of k",
                "40,000 items, k = 64, 256, 1024, 150 runs",
                f"{claim}",
                ", ".join(f"{spread:.2f}" for spread in spreads),
                all(least <= spread <= most for spread in spreads),
            )
        )
    return out


def _linear_counting() -> list[Figure]:
    out = []
    bits = 1_000_000
    for load, runs in ((1, 8), (5, 4)):
        errors = _errors(_made(LinearCounting, bits), load * bits, runs, _told)
        root = float(np.sqrt((errors**2).mean()))
        claim = standard_error(load, bits)
        out.append(
            Figure(
                f"linear counting, error at {load} items a bit",
                f"a million bits, {runs} runs",
                f"deviation {claim:.3%}",
                f"{root:.3%}",
                bool(root < 2.0 * claim),
            )
        )
    return out


def _weak_hashes() -> list[Figure]:
    n = 3000
    ratios = 1.0 + _errors(_made(AmsDistinct, 1), n, 1000, _told)
    ratios = np.maximum(ratios, 1.0 / ratios)
    seen = [float((ratios <= r).mean()) for r in (3, 4, 8)]
    out = [
        Figure(
            "AMS, chance of a ratio of 3, 4, 8 or less",
            "3,000 items, 1,000 runs",
            "at least 0.33, 0.50, 0.75; about 0.66, 0.76, 0.91",
            ", ".join(f"{chance:.2f}" for chance in seen),
            all(a >= b for a, b in zip(seen, (0.33, 0.50, 0.75), strict=True)),
        )
    ]
    for k, claim in ((20, 0.176), (64, 0.103)):
        errors = _errors(_made(Cohen, k), 2000, 300, _raw)
        error = float(np.abs(errors).mean())
        out.append(
            Figure(
                f"Cohen, mean error with {k} hashes",
                "2,000 items, 300 runs",
                f"{claim:.1%}",
                f"{error:.1%}",
                abs(error / claim - 1.0) < 0.2,
            )
        )
    return out


def _samples() -> list[Figure]:
    out = []
    for limit, claim in ((3600, 0.0065), (400, 0.024)):
        errors = np.abs(_errors(_made(Coordinated, limit, 5), 200_000, 15, _told))
        out.append(
            Figure(
                f"coordinated sampling, samples of {limit}",
                "200,000 items, 5 instances, 15 runs",
                f"mean error {claim:.2%}, below 10% always",
                f"mean {errors.mean():.2%}, largest {errors.max():.1%}",
                bool(errors.max() < 0.1 and errors.mean() < 1.5 * claim),
            )
        )
    sizes = []
    for kind in (Coordinated, Bjkst):
        counter = kind(3600, seed=1)
        counter.update(np.arange(200_000, dtype=np.int64))
        sizes.append(counter.nbytes)
    out.append(
        Figure(
            "BJKST against coordinated sampling, bytes",
            "samples of 3,600 of 200,000 whole numbers",
            "fewer: fingerprints instead of keys and items",
            f"{sizes[1]:,} against {sizes[0]:,}",
            sizes[1] < sizes[0],
        )
    )
    return out


def _windows() -> list[Figure]:
    out = []
    rng = np.random.default_rng(5)
    for m, claim in ((16, 0.208), (64, 0.090), (256, 0.049)):
        errors = []
        for run in range(40):
            counter = WindowedFm(m, 20_000, seed=run)
            column = rng.integers(0, 20_000, 40_000)
            counter.update(column, times=np.arange(40_000))
            errors.append(_told(counter) / len(np.unique(column[20_000:])) - 1.0)
        root = float(np.sqrt(np.square(errors).mean()))
        out.append(
            Figure(
                f"windowed FM, root mean square error with {m} bitmaps",
                "window of 20,000 of 20,000 values, 40 runs",
                f"{claim}",
                f"{root:.3f}",
                abs(root / claim - 1.0) < 0.4,
            )
        )
    return [*out, *_wave()]


def _wave() -> list[Figure]:
    """A stream whose windows hold few or very many different items by turns."""
    window, rng = 50_000, np.random.default_rng(9)
    parts = [rng.integers(0, (300, 20_000)[turn % 2], 10_000) for turn in range(16)]
    column = np.concatenate(parts)
    wave = RandomizedWave(1600, window, 5, seed=3)
    errors: dict[int, list[float]] = {w: [] for w in (window // 100, window // 10, window)}
    lost = asked = 0
    for start in range(0, len(column), 5000):
        now = start + 5000
        wave.update(column[start:now], times=np.arange(start, now))
        for w, seen in errors.items():
            truth = len(np.unique(column[max(0, now - w) : now]))
            seen.append(abs(wave.distinct_in(w).value / truth - 1.0))
            asked += 1
            lost += not _printed_test_finds_a_level(wave, now - w)
    mean = [float(np.mean(seen)) for seen in errors.values()]
    most = max(max(seen) for seen in errors.values())
    return [
        Figure(
            "randomized wave, mean error at W/100, W/10, W",
            "W = 50,000, levels of 1,600, 5 instances, 300 or 20,000 values by turns",
            "0, 0.5%, 1.2%; none above 5%",
            ", ".join(f"{error:.1%}" for error in mean) + f"; largest {most:.1%}",
            most < 0.05,
        ),
        Figure(
            "randomized wave, questions without a level",
            "the same; the tail of a level must be older than the window",
            "many by the tail alone, none by what was dropped",
            f"{lost / asked:.0%} by the tail, 0% by what was dropped",
            lost > 0,
        ),
    ]


def _printed_test_finds_a_level(wave: RandomizedWave, start: int) -> bool:
    """Whether some level has a last entry at or before the start of the window."""
    return all(
        any(len(level.times) and level.times[-1] <= start + 1 for level in levels)
        for levels in wave.waves
    )


def _gee(sample: Ints, n: int) -> float:
    """A sample's best guess at the distinct items of all n rows."""
    _, counts = np.unique(sample, return_counts=True)
    once = int((counts == 1).sum())
    return math.sqrt(n / len(sample)) * once + len(counts) - once


def _impossible_from_samples() -> list[Figure]:
    n, r = 1_000_000, 10_000
    bound = math.sqrt((n - r) / (2 * r) * math.log(2.0))
    rng = np.random.default_rng(2)
    # Streams that a sample of 1% cannot tell apart: one item, with or without k single ones.
    single = int(n / r * math.log(2.0))
    streams = [np.zeros(n), np.concatenate([np.zeros(n - single), np.arange(1, single + 1)])]
    sketched, sampled = 0.0, 1.0
    for column in streams:
        truth = len(np.unique(column))
        sketch = Hll(10)
        sketch.update(column.astype(np.int64))
        sketched = max(sketched, abs(_told(sketch) / truth - 1.0))
        ratio = float(np.median([_gee(rng.choice(column, r), n) for _ in range(21)])) / truth
        sampled = max(sampled, ratio, 1.0 / ratio)
    return [
        Figure(
            "distinct items from a sample of 1%",
            "a million rows; the harder of two streams that look alike",
            f"ratio of {bound:.2f} or more, half of the time; a kilobyte of HLL within 10%",
            f"ratio {sampled:.0f} for the sample, {sketched:.1%} for HLL",
            sampled >= 5.0 and sketched < 0.1,
        )
    ]


def _predicates() -> list[Figure]:
    rng = np.random.default_rng(4)
    n = 300_000
    customer = rng.integers(0, 40_000, n)
    date = rng.integers(0, 1000, n)
    orders = pa.StructArray.from_arrays([pa.array(customer), pa.array(date)], ["customer", "date"])
    sample = DistinctSampling(3000, 8, "customer", seed=1)
    for start in range(0, n, 50_000):
        sample.update(orders.slice(start, 50_000))
    picked = rng.choice(n, n // 100, replace=False)
    errors, guesses = [], []
    for selectivity in (0.1, 0.3, 0.5, 1.0):
        cut = int(1000 * selectivity)
        truth = len(np.unique(customer[date < cut]))
        told = sample.distinct_where(pc.field("date") < cut).value
        errors.append(abs(told / truth - 1.0))
        rows = picked[date[picked] < cut]
        guesses.append(abs(_gee(customer[rows], int((date < cut).sum())) / truth - 1.0))
    return [
        Figure(
            "distinct sampling under a predicate",
            "orders by date, 1% of the rows, selectivities 0.1 to 1",
            "within about 10%; a plain sample of 1% is off by more",
            f"largest {max(errors):.1%}, against {max(guesses):.0%}",
            max(errors) < 0.12 < max(guesses),
        )
    ]


def _set_expressions() -> list[Figure]:
    rng = np.random.default_rng(8)
    streams = {name: rng.integers(0, 60_000, 50_000) + 10_000 * i for i, name in enumerate("abc")}
    sketches = {name: Theta(12) for name in streams}
    for name, sketch in sketches.items():
        sketch.update(streams[name])
    sets = {name: set(column.tolist()) for name, column in streams.items()}
    held, worst = 0, 0.0
    expressions = ["a | b | c", "(a | b) & c", "a & b & c", "(a | b) - c", "a - b"]
    for text in expressions:
        expression = SetExpression.parse(text)
        truth = len(expression.exact(sets))
        told = expression.estimate(sketches)
        held += told.holds(truth)
        worst = max(worst, abs(told.value / truth - 1.0))
    return [
        Figure(
            "set expressions over three routers",
            f"{', '.join(expressions)}; 4,096 hashes a router",
            "every bar holds",
            f"{held} of {len(expressions)} hold, largest error {worst:.1%}",
            held == len(expressions),
        )
    ]


def _message_bits() -> list[Figure]:
    counter = Fm(64, seed=1)
    counter.update(np.arange(100_000))
    fringe, _ = counter.compressed()
    bits = len(fringe) + 12
    return [
        Figure(
            "FM, bits of a message",
            "64 bitmaps of 64 bits, 100,000 items",
            "about k log k instead of 4,096",
            f"{bits}",
            bits < 64 * 12,
        )
    ]


def _rings_and_tree() -> list[Figure]:
    out = []
    for loss in (0.0, 0.1, 0.3):
        counts = [_aggregated(loss, run) for run in range(6)]
        n = 499
        tree = float(np.mean([abs(t / n - 1.0) for t, _ in counts]))
        rings = float(np.mean([abs(r / n - 1.0) for _, r in counts]))
        holds = tree == 0.0 if loss == 0.0 else rings < 0.25 < tree or rings < tree
        out.append(
            Figure(
                f"count of 499 sensors, {loss:.0%} of messages lost",
                "grid of 25 by 20, one message a node, FM of 64 bitmaps, 6 runs",
                "a tree loses subtrees, rings with FM hardly anything",
                f"error {tree:.0%} by tree, {rings:.0%} by rings",
                holds,
            )
        )
    return out


def _aggregated(loss: float, run: int) -> tuple[float, float]:
    """Sensors counted at the base station, by a tree and by rings, at one rate of loss."""
    rng = np.random.default_rng([run, int(100 * loss)])
    nodes = [(x, y) for x in range(25) for y in range(20)]
    hops = {node: max(node) for node in nodes}
    partial = dict.fromkeys(nodes, 1.0)
    partial[(0, 0)] = 0.0
    sketches = {}
    for number, node in enumerate(nodes):
        sketches[node] = Fm(64, seed=7 + run)
        if number:
            sketches[node].update(np.array([number]))
    for node in sorted(nodes[1:], key=lambda node: -hops[node]):
        near = [
            (node[0] + dx, node[1] + dy)
            for dx in (-1, 0, 1)
            for dy in (-1, 0, 1)
            if hops.get((node[0] + dx, node[1] + dy)) == hops[node] - 1
        ]
        if rng.random() >= loss:
            partial[near[rng.integers(len(near))]] += partial[node]
        for other in near:
            if rng.random() >= loss:
                sketches[other].merge(sketches[node])
    return partial[(0, 0)], _told(sketches[(0, 0)])
