"""Figures of moments: sketches of signs, joins of streams, stable laws, changes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bench.figures import Figure
from streamgauge.synopses.moments.ams import Ams
from streamgauge.synopses.moments.change import ChangeDetector
from streamgauge.synopses.moments.dominance import Dominance
from streamgauge.synopses.moments.dyadic_ams import DyadicAms
from streamgauge.synopses.moments.fast_ams import FastAms
from streamgauge.synopses.moments.forecasts import Ewma
from streamgauge.synopses.moments.join_sketch import JoinSketch
from streamgauge.synopses.moments.l0 import L0
from streamgauge.synopses.moments.medians import grouping
from streamgauge.synopses.moments.stable import Stable, law
from streamgauge.synopses.moments.stable_law import log_quantile
from streamgauge.synopses.questions import Distinct, DominanceNorm, JoinSize, Moment, RangeCount

Floats = npt.NDArray[np.float64]
Rng = np.random.Generator


def figures() -> list[Figure]:
    """All figures of the family."""
    makers: list[Callable[[], list[Figure]]] = [
        _sizes_of_the_paper,
        _zipf_joins,
        _update_speed,
        _ranges,
        _changes,
        _join_variance,
        _chains,
        _stable_medians,
        _stable_errors,
        _geometric_mean,
        _deletions,
        _dominance,
    ]
    return [figure for make in makers for figure in make()]


def _sizes_of_the_paper() -> list[Figure]:
    epsilon, delta, trials = 0.3, 0.1, 300
    width, depth = math.ceil(16 / epsilon**2), math.ceil(4 * math.log2(1 / delta))
    column = np.arange(500)
    off = [
        abs(_fed(FastAms(width, depth, delta, seed=s), column).query(Moment(2)).value / 500 - 1)
        for s in range(trials)
    ]
    missed = sum(error > epsilon for error in off)
    sworn = FastAms(width, depth, delta).guarantee.epsilon
    return [
        Figure(
            "AMS second moment",
            f"w=16/eps^2={width}, d=4 log(1/delta)={depth}, eps={epsilon}, delta={delta}, "
            "500 equal items (largest variance)",
            f"error above eps in at most {delta:.0%} of runs",
            f"{missed} of {trials}; root mean square {np.sqrt(np.mean(np.square(off))):.4f}; "
            f"our bar at this size is {sworn:.3f}",
            missed <= delta * trials and sworn <= epsilon,
        )
    ]


def _zipf_joins() -> list[Figure]:
    rng = np.random.default_rng(1)
    n, universe, runs = 1_000_000, 20_000, 8
    chances = 1 / np.arange(1, universe + 1)
    chances /= chances.sum()
    joins, squares, sampled = [], [], []
    items = np.arange(universe)
    for run in range(runs):
        one, two = (rng.permutation(rng.multinomial(n, chances)) * 1.0 for _ in range(2))
        left = _fed(FastAms(1599, 17, seed=run), items, one)
        right = _fed(FastAms(1599, 17, seed=run), items, two)
        norm = math.sqrt((one @ one) * (two @ two))
        joins.append(abs(left.query(JoinSize(right)).value - one @ two) / norm)
        squares.append(abs(left.query(Moment(2)).value / (one @ one) - 1))
        size = left.nbytes // 8
        drawn = [rng.multinomial(size, part / n) for part in (one, two)]
        sampled.append(abs(float(drawn[0] @ drawn[1]) * (n / size) ** 2 - one @ two) / norm)
    measured = (
        f"join {np.mean(joins):.4f} mean, {max(joins):.4f} max; second moment "
        f"{np.mean(squares):.4f} mean"
    )
    return [
        Figure(
            "fast AMS on Zipf(1) relations",
            "20,000 values, 10^6 rows each, independent permutations, w=1599, d=17",
            "mean error 0.0013, largest 0.0048 of sqrt(F2 F2'); second moment 0.0011; sworn 0.1",
            measured,
            np.mean(joins) < 0.0026 and max(joins) < 0.01 and np.mean(squares) < 0.003,
        ),
        Figure(
            "join size: sketch against sample, skewed and independent",
            "the same, a sample of as many rows as the sketch has counters",
            "in practice sketches beat samples (said without a number)",
            f"mean error of sketch {np.mean(joins):.4f}, of sample {np.mean(sampled):.4f}: not "
            "here, where the join is small against sqrt(F2 F2')",
            np.mean(joins) < np.mean(sampled),
        ),
        _even_join(),
    ]


def _even_join() -> Figure:
    rng = np.random.default_rng(9)
    n, universe, size = 1_000_000, 400_000, 1599 * 17
    errors = []
    for run in range(3):
        one, two = (np.bincount(rng.integers(0, universe, n), minlength=universe) for _ in "ab")
        sketches = [
            _fed(FastAms(1599, 17, seed=run), np.arange(universe), part * 1.0)
            for part in (one, two)
        ]
        told = sketches[0].query(JoinSize(sketches[1])).value
        drawn = [rng.multinomial(size, part / n) for part in (one, two)]
        sample = float(drawn[0] @ drawn[1]) * (n / size) ** 2
        truth = float(one @ two)
        errors.append((abs(told / truth - 1), abs(sample / truth - 1)))
    sketch_error, sample_error = np.mean(errors, axis=0)
    return Figure(
        "join size: sketch against sample, even",
        "400,000 values, all as likely, 10^6 rows each, the same sizes",
        "in practice sketches beat samples (said without a number)",
        f"mean relative error of sketch {sketch_error:.4f}, of sample {sample_error:.4f}",
        sketch_error < sample_error,
    )


def _update_speed() -> list[Figure]:
    column = np.arange(100_000)

    def rate(sketch: FastAms, rows: int) -> float:
        sketch.update(column[:10])
        seconds = []
        # The best of several: other work on the machine only ever makes it slower.
        for _ in range(7):
            start = time.perf_counter()
            sketch.update(column[:rows])
            seconds.append(time.perf_counter() - start)
        return rows / min(seconds)

    coarse, fine = (rate(FastAms(math.ceil(16 / e**2), 5), 100_000) for e in (0.1, 0.01))
    plain = [rate(Ams(math.ceil(16 / e**2)), 500) for e in (0.3, 0.1)]
    return [
        Figure(
            "update cost of fast AMS",
            "eps=0.1 and 0.01 at depth 5; plain AMS at eps=0.3 and 0.1",
            "rows a second do not depend on eps; plain AMS slows by the square of it",
            f"{coarse / 1e6:.1f} and {fine / 1e6:.1f} million a second; plain AMS "
            f"{plain[0] / 1e3:.0f} and {plain[1] / 1e3:.0f} thousand; at eps=0.01 the counters "
            "leave the cache",
            # A hundred times the counters; plain AMS would be a hundred times slower.
            fine > coarse / 10 and plain[0] > 5 * plain[1],
        )
    ]


def _ranges() -> list[Figure]:
    rng = np.random.default_rng(2)
    column = rng.integers(0, 1 << 16, 50_000)
    dyadic = _fed(DyadicAms(0, 16, 512, 5, seed=1), column)
    # As many counters as all levels of the dyadic one together.
    direct = _fed(FastAms(dyadic.nbytes // 8 // 5, 5, seed=1), column)
    cut = grouping(5, 0.05)
    found = {}
    for length in (16, 1024, 32_768):
        errors = []
        for start in rng.integers(0, (1 << 16) - length, 25):
            truth = float(((column >= start) & (column < start + length)).sum())
            points = direct.readings(np.arange(start, start + length)).sum(axis=1)
            told = dyadic.query(RangeCount(start, start + length - 1)).value
            errors.append((abs(cut.median(points) - truth), abs(told - truth)))
        found[length] = np.mean(errors, axis=0)
    short, long = found[16], found[32_768]
    return [
        Figure(
            "ranges: dyadic or point by point",
            "50,000 rows over 2^16, equal memory, ranges of 16, 1,024 and 32,768 numbers",
            "the error grows with the length without levels, and hardly with them",
            "point by point "
            + ", ".join(f"{error[0]:.0f}" for error in found.values())
            + "; dyadic "
            + ", ".join(f"{error[1]:.0f}" for error in found.values()),
            long[0] > 10 * short[0] and long[1] < 10 * short[1] and long[1] < long[0] / 2,
        )
    ]


def _changes() -> list[Figure]:
    rng = np.random.default_rng(3)
    n, share = 5000, 0.25
    usual = (20_000 / np.arange(1, n + 1)).round() + 1
    detector = ChangeDetector(FastAms(4096, 5, seed=1), "ewma", {"alpha": 0.5}, warm_up=4)
    exact = Ewma(0.5)
    hits = missed = false = 0
    for interval in range(24):
        counts = rng.poisson(usual).astype(np.float64)
        if interval >= 4:
            counts[rng.integers(100, n)] += 0.02 * usual.sum()
        expected = exact.predict()
        exact.learn(_direct(counts))
        detector.update(np.arange(n), counts)
        change = detector.close()
        if change is None or expected is None:
            continue
        errors = counts - expected.counters[0]
        norm = math.sqrt(float(errors @ errors))
        loud = set(np.flatnonzero(np.abs(errors) >= share * norm).tolist())
        told = {heavy.item for heavy in change.among(np.arange(n), share)}
        hits, missed = hits + len(loud & told), missed + len(loud - told)
        false += len(told - loud)
    return [
        Figure(
            "changes found by forecast sketches",
            "5,000 items, 20 intervals with a spike of 2% of the traffic each, EWMA, 4096 x 5",
            "the items that exact forecasting of every item tells (no number given)",
            f"told {hits} of {hits + missed}, {false} others",
            hits >= 0.95 * (hits + missed) and false <= 0.1 * hits,
        )
    ]


def _join_variance() -> list[Figure]:
    one, two = np.array([20.0, 5.0, 10.0, 2.0]), np.array([2.0, 15.0, 3.0, 10.0])
    copies = 30_000

    def variance(part: list[int]) -> float:
        left = _fed(JoinSketch(["a"], copies, seed=2), np.array(part), one[part])
        right = _fed(JoinSketch(["a"], copies, seed=2), np.array(part), two[part])
        return float((left.sums * right.sums).var())

    whole, low, high = variance([0, 1, 2, 3]), variance([1, 3]), variance([0, 2])
    gain = whole / (math.sqrt(low) + math.sqrt(high)) ** 2
    return [
        Figure(
            "variance of a join, whole and in two parts",
            "frequencies (20, 5, 10, 2) and (2, 15, 3, 10), 30,000 copies",
            "188,977 whole, 6,400 in each part, a gain of 7.38",
            f"{whole:,.0f} whole, {low:,.0f} and {high:,.0f} in parts, a gain of {gain:.2f}",
            abs(whole / 188_977 - 1) < 0.06 and abs(gain / 7.38 - 1) < 0.1,
        )
    ]


def _chains() -> list[Figure]:
    rng = np.random.default_rng(4)
    rows, copies, runs = 2000, 900, 12
    told: dict[int, list[tuple[float, float]]] = {2: [], 3: [], 4: []}
    held = asked = 0
    for run in range(runs):
        for n_streams, errors in told.items():
            columns = [
                [np.minimum(rng.zipf(1.5, rows), 1000) for _ in range(1 if end else 2)]
                for end in (i in (0, n_streams - 1) for i in range(n_streams))
            ]
            streams = [
                _fed(JoinSketch(_edges(i, n_streams), copies, seed=run), _records(i, part))
                for i, part in enumerate(columns)
            ]
            truth = _chain_size(columns)
            found = streams[0].query(JoinSize(tuple(streams[1:])))
            held += found.holds(truth)
            asked += 1
            keep = [rng.permutation(rows)[: copies // len(part)] for part in columns]
            few = [[c[k] for c in part] for part, k in zip(columns, keep, strict=True)]
            grown = math.prod(rows / len(k) for k in keep)
            sample = _chain_size(few) * grown
            errors.append((abs(found.value / truth - 1), abs(sample / truth - 1)))
    means = {n: np.mean(errors, axis=0) for n, errors in told.items()}
    return [
        Figure(
            "chains of joins",
            f"2, 3 and 4 streams of {rows} rows, Zipf(1.5) attributes, {copies} copies; a sample "
            "of equal memory",
            "unbiased, bars hold at 95%; samples do badly on joins (said without a number)",
            "relative error of sketch "
            + ", ".join(f"{m[0]:.2f}" for m in means.values())
            + "; of sample "
            + ", ".join(f"{m[1]:.2f}" for m in means.values())
            + f"; {held} of {asked} bars hold",
            held >= 0.95 * asked and means[2][0] < 0.25,
        )
    ]


def _edges(place: int, n_streams: int) -> list[str]:
    edges = [f"e{place - 1}", f"e{place}"]
    return edges[1:] if place == 0 else edges[:1] if place == n_streams - 1 else edges


def _records(place: int, columns: list[npt.NDArray[np.int64]]) -> object:
    if len(columns) == 1:
        return columns[0]
    names = [f"e{place - 1}", f"e{place}"]
    return pa.StructArray.from_arrays([pa.array(column) for column in columns], names)


def _chain_size(columns: list[list[npt.NDArray[np.int64]]]) -> float:
    reached = np.bincount(columns[0][0], minlength=1001).astype(np.float64)
    for left, right in columns[1:-1]:
        reached = np.bincount(right, weights=reached[left], minlength=1001)
    return float(reached[columns[-1][0]].sum())


def _stable_medians() -> list[Figure]:
    claims = {0.05: 856, 0.25: 2.543, 0.5: 1.28, 0.75: 1.069, 1.0: 1.0, 1.5: 0.97, 2.0: 0.954}
    found = {p: math.exp(log_quantile(0.5, p)) for p in claims}
    return [
        Figure(
            "medians of stable laws",
            "by integration, against two million draws",
            ", ".join(f"p={p:g}: {median:g}" for p, median in claims.items()),
            ", ".join(f"{median:.4g}" for median in found.values()),
            all(abs(found[p] / claims[p] - 1) < 0.01 for p in claims),
        )
    ]


def _stable_errors() -> list[Figure]:
    rng = np.random.default_rng(5)
    runs, n, copies = 60, 400, 401
    claims = {0.5: 0.075, 1.0: 0.075, 1.5: 0.075, 2.0: 0.14}
    found, laws = {}, {}
    for p in claims:
        errors = []
        for run in range(runs):
            entries = rng.integers(-50, 51, n).astype(np.float64)
            truth = float((np.abs(entries) ** p).sum())
            sketch = _fed(Stable(p, copies, seed=run), np.arange(n), entries)
            errors.append(sketch.query(Moment(p)).value / truth - 1)
        found[p] = math.sqrt(float(np.mean(np.square(errors))))
        # Half of the bar that holds in 68.27% of cases is about one standard deviation.
        off = law(p, copies, 0.3173, "median")
        laws[p] = (off.high - off.low) / 2
    return [
        Figure(
            "stable sketches, median estimator",
            f"{n} entries from -50 to 50, {copies} copies, {runs} runs, p=0.5, 1, 1.5, 2",
            "root mean square error of the p-th power 7 to 8%; 13 to 15% at p=2 (one run of 40)",
            ", ".join(f"{100 * error:.1f}%" for error in found.values())
            + "; the exact law says "
            + ", ".join(f"{100 * error:.1f}%" for error in laws.values()),
            # Sixty runs tell a standard deviation to a tenth, forty to an eighth.
            all(abs(found[p] / laws[p] - 1) < 0.25 for p in claims)
            and all(abs(found[p] / claims[p] - 1) < 0.4 for p in claims),
        )
    ]


def _geometric_mean() -> list[Figure]:
    rng = np.random.default_rng(6)
    claims = {5: (0.315, 1.44, 0.86), 11: (0.124, 0.61, 0.51), 101: (0.012, 0.160, 0.157)}
    told, holds = [], True
    for copies, (bias, median_error, mean_error) in claims.items():
        runs = 200_000 if copies < 50 else 20_000
        logs = np.log(np.abs(rng.standard_cauchy((runs, copies))))
        middle = np.exp(np.median(logs, axis=1))
        mean = np.exp(logs.mean(axis=1) + law(1.0, copies, 0.05, "geometric").value)
        roots = [math.sqrt(float(np.mean((each - 1) ** 2))) for each in (middle, mean)]
        told.append(
            f"m={copies}: {middle.mean() - 1:+.3f}/{roots[0]:.2f} and "
            f"{mean.mean() - 1:+.3f}/{roots[1]:.2f}"
        )
        close = abs(middle.mean() - 1 - bias) < 0.02 + 0.1 * bias and abs(mean.mean() - 1) < 0.02
        holds &= close and abs(roots[1] / mean_error - 1) < 0.1
        holds &= abs(roots[0] / median_error - 1) < 0.3
    return [
        Figure(
            "geometric mean against median",
            "sums of absolute values (p=1), bias/root mean square error of median and mean",
            "; ".join(f"m={m}: {b:+.3f}/{e} and 0/{g}" for m, (b, e, g) in claims.items()),
            "; ".join(told),
            holds,
        )
    ]


def _deletions() -> list[Figure]:
    keys, powers = np.arange(3000), (0.02, 0.05, 0.1)
    exact, floats = [], []
    for p in powers:
        sketch = _fed(L0(201, 3, p, estimator="median", seed=1), keys, np.full(3000, 3.0))
        sketch.update(keys[:2700], np.full(2700, -3.0))
        exact.append(sketch.query(Distinct()).value)
        sums = _float_sums(p, np.random.default_rng(7))
        floats.append(
            math.exp(p * (math.log(float(np.median(np.abs(sums)))) - log_quantile(0.5, p)))
        )
    return [
        Figure(
            "items left after deletions",
            "3,000 keys of weight 3, 2,700 taken back: 300 left; p=0.02, 0.05, 0.1, 200 copies",
            "floats answer 784, 524, 377; exact sums 273, 292, 369",
            "floats "
            + ", ".join(f"{value:.0f}" for value in floats)
            + "; exact sums "
            + ", ".join(f"{value:.0f}" for value in exact),
            all(
                abs(value / (300 * 3**p) - 1) < 0.25 for p, value in zip(powers, exact, strict=True)
            )
            and floats[0] > 450,
        )
    ]


def _float_sums(p: float, rng: Rng) -> Floats:
    """What sums of floats hold after the same insertions and deletions."""
    angle = math.pi * (rng.random((3000, 200)) - 0.5)
    wait = rng.exponential(size=angle.shape)
    logs = np.log(np.abs(np.sin(p * angle))) - np.log(np.cos(angle)) / p
    logs += (1 - p) / p * (np.log(np.cos((1 - p) * angle)) - np.log(wait))
    drawn = 3.0 * np.sign(angle) * np.exp(np.minimum(logs, 680.0))
    sums: Floats = np.zeros(200)
    for row in drawn:
        sums = sums + row
    for row in drawn[:2700]:
        sums = sums - row
    return sums


def _dominance() -> list[Figure]:
    rng = np.random.default_rng(8)
    errors, sworn = [], Dominance(400).guarantee.epsilon
    for n_signals in (3, 5, 10):
        sketch = Dominance(400, seed=n_signals)
        signals = rng.exponential(rng.uniform(1, 50, (n_signals, 1)), (n_signals, 4000)) + 1
        for signal in signals:
            sketch.update(np.arange(4000), signal)
        truth = float(signals.max(axis=0).sum())
        errors.append(abs(sketch.query(DominanceNorm()).value / truth - 1))
    return [
        Figure(
            "dominance norm",
            "3, 5 and 10 signals of 4,000 points, 400 waiting times",
            f"error within eps = {sworn:.3f} at 95%",
            ", ".join(f"{error:.3f}" for error in errors),
            sum(error <= sworn for error in errors) >= 2,
        )
    ]


def _fed(sketch: Any, column: Any, weights: Floats | None = None) -> Any:
    sketch.update(column, weights)
    return sketch


def _direct(counts: Floats) -> FastAms:
    """A sketch used as a plain vector, to run a forecast on every item."""
    plain = FastAms(len(counts), 1)
    plain.counters[0] = counts
    return plain
