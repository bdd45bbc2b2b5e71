"""Correlated aggregates: focused buckets against plain histograms and rules without memory.

The data of the publication are private or not specified, so stand-ins are used: lognormal,
exponential and Pareto numbers, and a multifractal made by an 80-20 rule. Medians over five seeds.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from bench.figures import Figure
from bench.lab.correlated_baselines import (
    equal_depth,
    equal_width,
    exact,
    memoryless,
    rmse,
)
from streamgauge.synopses.correlated.focused_extreme import FocusedExtreme
from streamgauge.synopses.correlated.focused_mean import FocusedMean
from streamgauge.synopses.correlated.questions import BesideMean, NearExtreme
from streamgauge.synopses.correlated.windowed_extreme import WindowedExtreme
from streamgauge.synopses.correlated.windowed_mean import WindowedMean

Floats = npt.NDArray[np.float64]
Rng = np.random.Generator
N = 8000
SEEDS = (21, 22, 23, 24, 25)
STEPS = np.arange(99, N, 100)
WINDOW = 500
LATE = STEPS[STEPS >= 600]
NEAR = NearExtreme("min", 100.0)
ABOVE = BesideMean("above")


def multifractal(rng: Rng) -> Floats:
    """Positions drawn by an 80-20 rule, repeated fourteen times."""
    bits: Floats = (rng.random((N, 14)) < 0.2) @ (2.0 ** -np.arange(1, 15))
    return bits + 1e-4


DATA: dict[str, Callable[[Rng], Floats]] = {
    "lognormal": lambda rng: rng.lognormal(3.0, 2.0, N),
    "exponential": lambda rng: rng.exponential(100.0, N),
    "pareto": lambda rng: rng.pareto(1.1, N) + 1.0,
    "multifractal": multifractal,
}


def medians(
    make: Callable[[Rng], Floats], methods: dict[str, Callable[[Floats, Floats], Floats]]
) -> dict[str, float]:
    """Median over the seeds of the error of each method but the truth."""
    errors: dict[str, list[float]] = {name: [] for name in methods if name != "truth"}
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        x = make(rng)
        y = rng.exponential(10.0, N)
        right = methods["truth"](x, y)
        for name, found in errors.items():
            found.append(rmse(methods[name](x, y), right))
    return {name: float(np.median(found)) for name, found in errors.items()}


def told(errors: dict[str, float]) -> str:
    """Errors as text."""
    return ", ".join(f"{name} {error:.3g}" for name, error in errors.items())


Method = Callable[[Floats, Floats], Floats]


def near_methods(near: NearExtreme) -> dict[str, Method]:
    """Ways to answer a question near the minimum, at the steps."""
    return {
        "ours": lambda x, y: (
            FocusedExtreme("min", near.factor).trace(x, y, of=near.of).value[STEPS]
        ),
        "equi-depth": lambda x, y: equal_depth(x, y, near, STEPS),
        "equi-width": lambda x, y: equal_width(x, y, near, STEPS),
        "reset": lambda x, y: memoryless(x, y, near, reset=True)[STEPS],
        "truth": lambda x, y: exact(x, y, near, STEPS),
    }


def landmark_minimum() -> list[Figure]:
    """COUNT and SUM of the rows within a hundred times the smallest."""
    figures = []
    for name, make in DATA.items():
        for near in (NEAR, NearExtreme("min", 100.0, of="sum")):
            errors = medians(make, near_methods(near))
            figures.append(
                Figure(
                    f"Landmark {near.of.upper()} near the minimum",
                    f"{name}, 10 buckets, RMSE",
                    "focused buckets far below equi-depth and equi-width",
                    told(errors),
                    errors["ours"] < min(errors["equi-depth"], errors["equi-width"]),
                )
            )
    return figures


def laid(how: str, part: str) -> Method:
    """Five buckets laid in one of the four ways."""
    return lambda x, y: FocusedExtreme("min", 100.0, 5, 0.0, how, part).trace(x).value[STEPS]


def policies() -> list[Figure]:
    """The four ways to lay buckets, with five of them."""
    figures = []
    for name in ("lognormal", "exponential"):
        methods = {
            f"{how}-{part}": laid(how, part)
            for how in ("piecemeal", "wholesale")
            for part in ("uniform", "quantile")
        }
        methods["truth"] = lambda x, y: exact(x, y, NEAR, STEPS)
        errors = medians(DATA[name], methods)
        figures.append(
            Figure(
                "Order of the four policies",
                f"{name}, landmark COUNT near the minimum, 5 buckets, RMSE",
                "piecemeal-uniform best, piecemeal-quantile worst",
                told(errors),
                min(errors, key=errors.__getitem__) == "piecemeal-uniform",
            )
        )
    return figures


def landmark_mean() -> list[Figure]:
    """COUNT of the rows above the mean."""
    figures = []
    for name, make in DATA.items():
        errors = medians(
            make,
            {
                "ours": lambda x, y: FocusedMean().trace(x).value[STEPS],
                "wholesale at every row": lambda x, y: (
                    FocusedMean(10, 1.0, "always", "wholesale").trace(x).value[STEPS]
                ),
                "equi-depth": lambda x, y: equal_depth(x, y, ABOVE, STEPS),
                "running mean": lambda x, y: memoryless(x, y, ABOVE)[STEPS],
                "truth": lambda x, y: exact(x, y, ABOVE, STEPS),
            },
        )
        figures.append(
            Figure(
                "Landmark COUNT above the mean",
                f"{name}, 10 buckets, RMSE",
                "focused buckets below equi-depth (30 to 180 on multifractal data)",
                told(errors),
                errors["ours"] < errors["equi-depth"],
            )
        )
    return figures


def sliding() -> list[Figure]:
    """Windows of 500 rows."""
    times = np.arange(N)
    figures = []
    for name, make in DATA.items():
        errors = medians(
            make,
            {
                "ours": lambda x, y: WindowedMean(WINDOW).trace(x, times=times).value[LATE],
                "equi-depth": lambda x, y: equal_depth(x, y, ABOVE, LATE, WINDOW),
                "equi-width": lambda x, y: equal_width(x, y, ABOVE, LATE, WINDOW),
                "truth": lambda x, y: exact(x, y, ABOVE, LATE, WINDOW),
            },
        )
        figures.append(
            Figure(
                "Sliding COUNT above the mean",
                f"{name}, 500 rows, 10 buckets, RMSE",
                "competitive with true equi-depth",
                told(errors),
                errors["ours"] < 1.5 * errors["equi-depth"],
            )
        )
        errors = medians(
            make,
            {
                "recounted": lambda x, y: (
                    WindowedExtreme(WINDOW, "min", 100.0).trace(x, times=times).value[LATE]
                ),
                "interpolated": lambda x, y: (
                    WindowedExtreme(
                        WINDOW, "min", 100.0, 10, 0.0, 20, "piecemeal", "uniform", recount=False
                    )
                    .trace(x, times=times)
                    .value[LATE]
                ),
                "equi-depth": lambda x, y: equal_depth(x, y, NEAR, LATE, WINDOW),
                "equi-width": lambda x, y: equal_width(x, y, NEAR, LATE, WINDOW),
                "truth": lambda x, y: exact(x, y, NEAR, LATE, WINDOW),
            },
        )
        figures.append(
            Figure(
                "Sliding COUNT near the minimum",
                f"{name}, 500 rows, 10 buckets, RMSE",
                "about as good as true equi-depth",
                told(errors),
                errors["recounted"] < 2.0 * errors["equi-depth"],
            )
        )
    return figures


def sudden_drop() -> list[Figure]:
    """Large values first, then a sudden drop."""
    ours, depth = [], []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        x = rng.lognormal(3.0, 2.0, N)
        x[: N // 2] += 1e4
        truth = exact(x, np.ones(N), NEAR, STEPS)
        ours.append(rmse(FocusedExtreme("min", 100.0).trace(x).value[STEPS], truth))
        depth.append(rmse(equal_depth(x, np.ones(N), NEAR, STEPS), truth))
    errors = {"ours": float(np.median(ours)), "equi-depth": float(np.median(depth))}
    return [
        Figure(
            "Sudden drop of the minimum",
            "lognormal, the first half 10,000 higher, landmark COUNT, RMSE",
            "equi-depth grows, focused buckets do not",
            told(errors),
            errors["ours"] < 0.5 * errors["equi-depth"],
        )
    ]


def figures() -> list[Figure]:
    """All figures of the family."""
    return [
        *landmark_minimum(),
        *policies(),
        *landmark_mean(),
        *sliding(),
        *sudden_drop(),
    ]
