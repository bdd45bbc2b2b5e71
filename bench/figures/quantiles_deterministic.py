"""Figures of the deterministic, turnstile and window quantiles, measured again."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from bench.figures import Figure
from streamgauge.synopses.quantiles.arasu_manku import ArasuManku
from streamgauge.synopses.quantiles.block_window import BlockWindow
from streamgauge.synopses.quantiles.dyadic_count_min import DyadicCountMin
from streamgauge.synopses.quantiles.gk import Gk
from streamgauge.synopses.quantiles.mrl import POLICIES, Mrl, plan
from streamgauge.synopses.quantiles.sampled_gk import SampledGk
from streamgauge.synopses.quantiles.tree import gather
from streamgauge.synopses.quantiles.window_quantiles import WindowQuantiles
from streamgauge.synopses.questions import Quantile
from streamgauge.synopses.synopsis import Synopsis

Floats = npt.NDArray[np.float64]
ROWS = 100_000
TUPLE_BYTES = 12  # as the paper counts them


def figures() -> list[Figure]:
    """All figures of this family."""
    return [
        *_gk_space(),
        _gk_calls(),
        *_plans(),
        _mrl_error(),
        _sampled_memory(),
        _adversarial_deletions(),
        *_windows(),
        *_tree(),
    ]


def _worst(synopsis: Synopsis, rows: Floats) -> float:
    """Largest error in rank over 201 quantiles, as a share of the rows."""
    order, n = np.sort(rows), len(rows)
    worst = 0.0
    # A window is put together once, not for every quantile.
    held = synopsis.window() if isinstance(synopsis, WindowQuantiles) else None
    for phi in np.linspace(0.0, 1.0, 201):
        question = Quantile(float(phi))
        value = held.ask(question)[0] if held else synopsis.query(question).value
        wanted = max(1, math.ceil(phi * n * (1 - 1e-12)))
        first = int(np.searchsorted(order, value, side="left")) + 1
        last = max(first, int(np.searchsorted(order, value, side="right")))
        worst = max(worst, first - wanted, wanted - last)
    return worst / n


def _gk_space() -> list[Figure]:
    half = np.arange(ROWS // 2, dtype=np.float64)
    orders = {
        "random": np.random.default_rng(1).permutation(ROWS).astype(np.float64),
        "sorted": np.arange(float(ROWS)),
        "extremes in turn": np.stack([half, ROWS - half], axis=1).ravel(),
    }
    published = {0.01: (127, 124, 597), 0.001: (1292, 1206, 4282)}
    found = []
    for epsilon, values in published.items():
        for (order, rows), told in zip(orders.items(), values, strict=True):
            summary = Gk(epsilon)
            summary.update(rows)
            held, error = len(summary.summary), _worst(summary, rows)
            found.append(
                Figure(
                    f"gk space, {order}",
                    f"{ROWS} rows, epsilon {epsilon}",
                    f"about {told} values, at most {summary.most_values:.0f}, error <= {epsilon}",
                    f"{held} values, error {error:.5f}",
                    error <= epsilon and held <= 1.1 * told,
                )
            )
    return found


def _gk_calls() -> Figure:
    """Start times of active calls: put in when a call begins, taken back when it ends."""
    rng = np.random.default_rng(2)
    starts = np.cumsum(rng.exponential(1.0 / 20_000.0, 80_000))
    ends = starts + rng.exponential(1.0, len(starts))
    instants = np.concatenate([starts, ends])
    order = np.argsort(instants, kind="stable")
    until = int(np.searchsorted(instants[order], starts[-1], side="right"))
    signs = np.concatenate([np.ones(len(starts)), -np.ones(len(starts))])[order][:until]
    summary = Gk(0.001)
    summary.update(np.concatenate([starts, starts])[order][:until], signs)
    active = starts[ends > starts[-1]]
    held, error = len(summary.summary), _worst(summary, active)
    sketch = DyadicCountMin(0.1, 0.1, 0, (1 << 20) - 1).nbytes
    return Figure(
        "gk on active calls",
        f"{len(active)} active calls, about 11 KB",
        "precision near 0.0011, a hundred times that of a sketch (0.1)",
        f"{held} values ({TUPLE_BYTES * held / 1000:.1f} KB), error {error:.5f}, achieved "
        f"{summary.achieved:.5f}; dyadic_count_min needs {sketch / 1000:.0f} KB for 0.1",
        TUPLE_BYTES * held <= 11_000 and error <= 0.0011 and sketch > 11_000,
    )


def _plans() -> list[Figure]:
    published = {
        (10**7, 0.01): (12_334, 63_400, 4_400),
        (10**9, 0.001): (177_922, 2 * 10**6, 60_000),
    }
    found = []
    for (rows, epsilon), told in published.items():
        spaces = tuple(plan(policy, epsilon, rows).space for policy in POLICIES)
        found.append(
            Figure(
                "values of buffer schemes",
                f"{rows:.0e} rows, epsilon {epsilon}",
                "{}: {}, {}, {}".format(", ".join(POLICIES), *told),
                "{}, {}, {}".format(*spaces),
                spaces == told and spaces[2] < spaces[0] < spaces[1],
            )
        )
    return found


def _mrl_error() -> Figure:
    rows = np.random.default_rng(3).permutation(ROWS).astype(np.float64)
    told = []
    held = True
    for policy in POLICIES:
        summary = Mrl(0.01, ROWS, policy)
        summary.update(rows)
        shape = summary._plan
        error = _worst(summary, rows)
        held &= error <= summary.achieved <= shape.height / (2.0 * shape.size) + 1e-9
        told.append(f"{policy} {error:.4f} (sworn {summary.achieved:.4f})")
    return Figure(
        "error of buffer schemes",
        f"{ROWS} rows, epsilon 0.01",
        "at most height / (2 size)",
        ", ".join(told),
        held,
    )


def _sampled_memory() -> Figure:
    rng = np.random.default_rng(4)
    sizes, worst = [], 0.0
    for rows in (10**4, 10**5, 10**6, 4 * 10**6):
        column = rng.random(rows)
        summary = SampledGk(0.05, 0.01, seed=1)
        summary.update(column)
        sizes.append(summary.nbytes)
        worst = max(worst, _worst(summary, column))
    return Figure(
        "sampled_gk memory",
        "10^4 to 4 * 10^6 rows, epsilon 0.05, delta 0.01",
        "does not grow with the rows",
        f"bytes {sizes}, error {worst:.4f}",
        max(sizes) <= 1.3 * min(sizes) and worst <= 0.05,
    )


def _adversarial_deletions() -> Figure:
    rows = np.random.default_rng(5).permutation(1 << 16).astype(np.float64)
    rest = np.arange(1000.0, 1100.0)
    gone = np.setdiff1d(rows, rest)
    sketch, summary = DyadicCountMin(0.01, 0.01, 0, (1 << 16) - 1, seed=1), Gk(0.01)
    for synopsis in (sketch, summary):
        synopsis.update(rows)
        synopsis.update(gone, -np.ones(len(gone)))
    error = _worst(sketch, rest)
    return Figure(
        "all but 1/epsilon rows taken back",
        "65,536 rows, 100 left, epsilon 0.01",
        "the sketch keeps epsilon, gk cannot",
        f"dyadic_count_min {error:.3f}, gk achieved {summary.achieved:.3f} (alarm {summary.alarm})",
        error <= 0.01 and summary.alarm,
    )


def _values(window: WindowQuantiles) -> int:
    return sum(
        len(part)
        for rung in window._rungs
        for level in rung.levels
        for part in (*level.done.values(), level.open)
    )


def _windows() -> list[Figure]:
    width = 250_000
    rng = np.random.default_rng(6)
    rows = rng.normal(0.0, 1.0, 400_000) + np.arange(400_000) // (width // 3) * 3.0
    found, ratios = [], {}
    for epsilon in (0.02, 0.005):
        landmark = Gk(epsilon)
        landmark.update(rows[-width:])
        for kind in (BlockWindow, ArasuManku):
            window = kind(epsilon, width)
            worst = 0.0
            for start in range(0, len(rows), 50_000):
                window.update(rows[start : start + 50_000])
                worst = max(worst, _worst(window, rows[: start + 50_000][-width:]))
            ratios[kind.name, epsilon] = _values(window) / len(landmark.summary)
            found.append(
                Figure(
                    f"{kind.name} error",
                    f"{width} rows, epsilon {epsilon}, mean jumps three times a window",
                    f"error <= {epsilon}",
                    f"{worst:.5f}; {_values(window)} values, {window.nbytes} bytes",
                    worst <= epsilon,
                )
            )
    growth = {name: ratios[name, 0.005] / ratios[name, 0.02] for name, _ in ratios}
    found.append(
        Figure(
            "memory of a window over that of gk",
            f"{width} rows, epsilon 0.02 to 0.005",
            "blocks as 1/epsilon (4 times), arasu_manku as log(1/epsilon) (1.4 times)",
            ", ".join(
                f"{name} {ratios[name, 0.02]:.0f} to {ratios[name, 0.005]:.0f} ({times:.1f} times)"
                for name, times in growth.items()
            ),
            growth["arasu_manku"] < 2.2 < 2.8 < growth["block_window"],
        )
    )
    return found


def _tree() -> list[Figure]:
    rng = np.random.default_rng(7)
    sites = 256
    parts = [rng.normal(site % 7, 1.0, 100) for site in range(sites)]
    found = []
    for scheme in ("simple", "classes"):
        most = {}
        precise = True
        for height in (4, 32, 255):
            parents = [0] + [site - 1 if site % height else 0 for site in range(1, sites)]
            heard = gather(parents, parts, 0.05, scheme=scheme)  # type: ignore[arg-type]
            most[height] = max(heard.sent)
            precise &= heard.summary.precision <= 0.05
        growth = most[255] / most[32]
        found.append(
            Figure(
                f"bytes of the busiest link, {scheme} tree",
                f"{sites} sites of 100 rows, height 4, 32 and 255, epsilon 0.05",
                "grows with the height" if scheme == "simple" else "grows with its logarithm",
                f"{list(most.values())}",
                precise and (growth > 3.0 if scheme == "simple" else growth < 2.0),
            )
        )
    return found
