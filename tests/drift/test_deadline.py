"""Deadlines against root finding, simulated walks and worked values.

The two simulations alarm on correct deadlines with chance 1e-6 at most for each of their cells; the
seeds are fixed.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, optimize, stats

from streamgauge.checks.trials import ALPHA
from streamgauge.drift.deadline import (
    ABOVE,
    FORMS,
    MEAN,
    deadlines,
    inside,
    look_up,
    passage,
    tables,
    wait,
)
from streamgauge.kernel.errors import BindError

pytestmark = pytest.mark.slow

LEGENDRE = np.polynomial.legendre.leggauss(400)
CONFIDENCES = (0.5, 0.8, 0.95, 0.99, 0.999)


def chance(x: float, d: float, kappa: float) -> float:
    deviation = math.sqrt(x + kappa * x * x)
    return float(stats.norm.cdf((1 - d * x) / deviation) - stats.norm.cdf((-1 - d * x) / deviation))


def mean_chance(x: float, d: float, kappa: float) -> float:
    # The chance falls about 1/d, steeply when d is large.
    turn = min(x, 1.0 / d) if d else x
    cuts = [turn * (1 - 0.5**k) for k in range(1, 12)] + [
        min(x, turn * (1 + 0.5**k)) for k in range(12)
    ]
    edges = sorted({1e-12 * x, *cuts, turn, x})
    parts = [
        integrate.fixed_quad(lambda t: inside(t, d, kappa), low, high, n=24)[0]
        for low, high in pairwise(edges)
    ]
    return sum(parts) / x


def never_outside(x: float, d: float, kappa: float) -> float:
    if kappa == 0.0:
        return float(passage(x, d))
    nodes, weights = LEGENDRE
    drifts = 8.5 * nodes
    law = weights * 8.5 * stats.norm.pdf(drifts)
    return float(law @ passage(x, d + math.sqrt(kappa) * drifts))


def not_above(x: float, d: float, kappa: float) -> float:
    return float(stats.norm.cdf((1 - d * x) / math.sqrt(x + kappa * x * x)))


LAWS = {
    "mean": mean_chance,
    "end": chance,
    "throughout": never_outside,
    "above": not_above,
}


def random_cells(n: int, seed: int) -> list[tuple[float, float]]:
    """Pairs of d and kappa, over all sizes; every fifth is without one of them."""
    rng = np.random.default_rng(seed)
    d, kappa = 10.0 ** rng.uniform(-3, 4, n), 10.0 ** rng.uniform(-3, 4, n)
    d[::10] = 0.0
    kappa[5::10] = 0.0
    return list(zip(d.tolist(), kappa.tolist(), strict=True))


@pytest.mark.parametrize(("confidence", "x"), [(0.95, 0.466), (0.90, 0.718), (0.85, 0.996)])
def test_the_mean_without_drift_is_as_worked_out(confidence: float, x: float) -> None:
    assert look_up(tables(confidence), 0.0, 0.0) == pytest.approx(x, abs=6e-4)


def test_the_end_without_drift_is_the_normal_quantile() -> None:
    quantile = stats.norm.ppf(0.975)
    assert look_up(tables(0.95, "end"), 0.0, 0.0) == pytest.approx(1 / quantile**2, rel=1e-6)


@pytest.mark.parametrize("confidence", CONFIDENCES)
@pytest.mark.parametrize("form", FORMS)
def test_tables_agree_with_root_finding(form: str, confidence: float) -> None:
    made = tables(confidence, form)
    law = LAWS[form]
    for d, kappa in random_cells(30, seed=17):
        found = look_up(made, d, kappa)
        if found == math.inf:
            # Half of the law of a value without drift stays below any bound.
            assert form == "above"
            assert law(1e12, d, kappa) >= confidence - 1e-4
            continue
        root = optimize.brentq(
            lambda x, d=d, kappa=kappa: law(x, d, kappa) - confidence,
            0.5 * found,
            2.0 * found,
            rtol=1e-9,
        )
        assert found == pytest.approx(root, rel=0.005), (d, kappa)


@pytest.mark.parametrize("form", FORMS)
def test_tables_have_one_shape(form: str) -> None:
    made = tables(0.9, form)
    assert made.shape == tables(0.9).shape
    assert made.dtype == np.float64
    assert made.flags.c_contiguous
    assert np.isfinite(made).all()
    assert tables(0.9, form) is made


@pytest.mark.parametrize("d", [0.0, 0.3, 2.0, 5.0])
@pytest.mark.parametrize("x", [0.3, 0.9, 1.0, 1.1, 3.0])
def test_passage_is_the_series(x: float, d: float) -> None:
    n = np.arange(1.0, 80.0, 2.0)
    phase = n * math.pi / 2
    waves = (-1.0) ** ((n - 1) / 2) * phase / (d**2 + phase**2) * np.exp(-(phase**2) * x / 2)
    series = 2 * math.cosh(d) * math.exp(-(d**2) * x / 2) * waves.sum()
    assert float(passage(x, d)) == pytest.approx(series, abs=1e-7)
    assert float(passage(x, -d)) == float(passage(x, d))


@pytest.mark.parametrize("d", [0.0, 1e-9, 1.0, 1e3, 1e6, 1e9, 1e12])
def test_passage_falls_from_one_to_none(d: float) -> None:
    x = np.concatenate([[0.0], np.geomspace(1e-15, 1e15, 400)])
    found = passage(x, d)
    assert found[0] == 1.0
    assert found[-1] == 0.0
    assert np.all(np.diff(found) <= 1e-5)
    assert np.all(found <= inside(x, d) + 1e-5)


def survivors(rng: np.random.Generator, n: int, x: float, drift: float, doubt: float) -> int:
    """Paths that were never outside; between two steps a path is a bridge, whose law is known."""
    steps = 64
    gap = x / steps
    own = rng.normal(drift, doubt, n)
    at, alive = np.zeros(n), np.ones(n, np.bool_)
    for _ in range(steps):
        to = at + own * gap + rng.normal(0.0, math.sqrt(gap), n)
        with np.errstate(over="ignore"):
            crossed = np.exp(-2.0 * (1 - at) * (1 - to) / gap)
            crossed += np.exp(-2.0 * (1 + at) * (1 + to) / gap)
        alive &= (np.abs(to) < 1.0) & (rng.random(n) >= crossed)
        at = np.where(alive, to, 0.0)
    return int(alive.sum())


@pytest.mark.parametrize(
    ("d", "kappa", "confidence"),
    [(0.0, 0.0, 0.9), (1.5, 0.0, 0.7), (0.0, 4.0, 0.8), (3.0, 2.0, 0.9)],
)
def test_first_passage_agrees_with_simulated_paths(
    d: float, kappa: float, confidence: float
) -> None:
    n = 100_000
    x = look_up(tables(confidence, "throughout"), d, kappa)
    found = survivors(np.random.default_rng([41, n]), n, x, d, math.sqrt(kappa))
    low, high = stats.binom.ppf([ALPHA / 2, 1 - ALPHA / 2], n, never_outside(x, d, kappa))
    assert low <= found <= high


def radius(values: np.ndarray, span: float) -> float:
    """Empirical Bernstein: how far the mean is from its expectation, but for chance ALPHA."""
    n, rate = len(values), math.log(4.0 / ALPHA)
    spread = math.sqrt(2.0 * float(values.var(ddof=1)) * rate / n)
    return spread + 7.0 * span * rate / (3.0 * (n - 1))


@pytest.mark.parametrize(
    ("mu", "eps", "seen", "spacing", "confidence"),
    [
        (0.0, 1.0, np.inf, 1.0, 0.95),
        (0.0, 3.16, np.inf, 1.0, 0.9),
        (0.0, 3.16, 20.0, 2.0, 0.8),
        (0.7, 4.0, np.inf, 1.0, 0.9),
        (-2.0, 9.0, 50.0, 1.0, 0.85),
        (0.1, 2.0, 100.0, 1.5, 0.5),
    ],
)
def test_dithered_waits_have_the_fidelity(
    mu: float, eps: float, seen: float, spacing: float, confidence: float
) -> None:
    n = 200_000
    rng = np.random.default_rng([43, n])
    longest = wait(tables(confidence), mu, 1.0, eps, seen, spacing, confidence, MEAN) / spacing
    ticks = np.floor(longest + rng.random(n)).astype(np.int64)
    own = rng.normal(mu, math.sqrt(1.0 / seen), n)
    at, hits = np.zeros(n), np.zeros(n)
    for j in range(int(ticks.max())):
        hits += (j < ticks) & (np.abs(at) <= eps)
        at += own * spacing + rng.normal(0.0, math.sqrt(spacing), n)
    surplus = hits - confidence * ticks
    assert longest < 16.0, "short waits are what this is about"
    assert abs(surplus.mean()) <= radius(surplus, float(ticks.max()))


def fidelity(ticks: float, d: float, kappa: float, step: float) -> float:
    """Expected share inside of waits dithered about a number of ticks, `step` of x apart."""
    whole = math.floor(ticks)
    chances = inside(step * np.arange(whole + 1), d, kappa)
    return float(chances[:whole].sum() + (ticks - whole) * chances[whole]) / ticks


@pytest.mark.parametrize("confidence", CONFIDENCES)
def test_waits_of_any_length_have_the_fidelity(confidence: float) -> None:
    rng = np.random.default_rng(47)
    made = tables(confidence)
    worst = 0.0
    for d, kappa in random_cells(400, seed=48):
        spacing = look_up(made, d, kappa) / 10.0 ** rng.uniform(-1, 3.5)
        seen = 1.0 / kappa if kappa else math.inf
        ticks = wait(made, d, 1.0, 1.0, seen, spacing, confidence, MEAN) / spacing
        worst = max(worst, abs(fidelity(ticks, d, kappa, spacing) - confidence))
    assert worst < 0.002


@pytest.mark.parametrize("spacing", [0.0, 1.0])
@pytest.mark.parametrize("form", ["mean", "end", "throughout"])
def test_waits_shorten_with_drift_doubt_and_confidence(form: str, spacing: float) -> None:
    drifts, sights = np.geomspace(1e-6, 1e3, 60), np.geomspace(1e6, 1e-2, 60)
    grid = deadlines(
        drifts[:, None], 1.0, 30.0, confidence=0.9, form=form, seen=sights, spacing=spacing
    )
    # Interpolation and the change from sum to integral leave a few parts in ten thousand.
    assert np.all(grid[1:] <= grid[:-1] * 1.0005)
    # Where the drift alone has left the bound, doubt about it can only bring the value back.
    ahead = grid[:, :-1] * drifts[:, None] <= 30.0
    assert np.all(grid[:, 1:][ahead] <= grid[:, :-1][ahead] * 1.0005)
    falling = [
        deadlines(drifts, 1.0, 30.0, confidence=p, form=form, seen=100.0, spacing=spacing)
        for p in CONFIDENCES
    ]
    assert np.all(np.diff(falling, axis=0) <= 0.0)


def test_waits_scale_with_the_unit_of_the_value() -> None:
    one = deadlines([0.1, 0.0], 1.0, [5.0, 2.0], confidence=0.9, seen=40.0)
    other = deadlines([100.0, 0.0], 1e3, [5e3, 2e3], confidence=0.9, seen=40.0)
    np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_a_constant_value_is_never_due(form: str) -> None:
    assert deadlines(0.0, 0.0, 1.0, confidence=0.9, form=form) == math.inf


def test_a_steady_drift_is_due_when_it_has_crossed() -> None:
    steady = {form: float(deadlines(0.25, 0.0, 1.1, confidence=0.8, form=form)) for form in FORMS}
    # Five ticks of 0, 0.25, .. 1 are inside: five of 6.25 are 80 %.
    assert steady == pytest.approx({"mean": 6.25, "end": 4.4, "throughout": 4.4, "above": 4.4})


def test_a_bound_of_nothing_is_due_at_once() -> None:
    for form in FORMS:
        assert np.all(deadlines(0.1, 1.0, [0.0, -1.0], confidence=0.9, form=form) == 0.0)


def test_nothing_seen_of_the_drift_leaves_the_ticks_of_evaluations() -> None:
    assert float(deadlines(0.0, 1.0, 9.0, confidence=0.8, seen=0.0)) == pytest.approx(1.25)
    assert float(deadlines(0.0, 1.0, 9.0, confidence=0.8, seen=0.0, form="end")) == 0.0


def test_a_one_sided_bound_may_be_left_behind() -> None:
    made = tables(0.95, "above")
    assert look_up(made, -1.0, 0.0) == math.inf
    assert wait(made, -1.0, 1.0, 1.0, math.inf, 1.0, 0.95, ABOVE) == math.inf
    # Without drift the bound is one quantile away at 1 / quantile^2.
    assert look_up(made, 0.0, 0.0) == pytest.approx(1 / stats.norm.ppf(0.95) ** 2)
    d, kappa = -0.3, 0.4
    x = look_up(made, d, kappa)
    assert not_above(x, d, kappa) == pytest.approx(0.95, abs=1e-9)
    earlier = np.linspace(1e-3, x * (1 - 1e-9), 1000)
    assert all(not_above(t, d, kappa) > 0.95 for t in earlier)


@pytest.mark.parametrize("form", FORMS)
def test_nan_gives_nan_for_its_own_cell_only(form: str) -> None:
    given_ = np.full((5, 5), 1.0)
    given_[np.arange(4), np.arange(4)] = np.nan
    mu, sigma, eps, seen, _ = given_.T
    found = deadlines(mu, sigma, eps, confidence=0.9, form=form, seen=seen)
    assert np.isnan(found).tolist() == [True, True, True, True, False]
    assert math.isnan(look_up(tables(0.9, form), math.nan, 0.0))
    assert math.isnan(look_up(tables(0.9, form), 0.0, math.nan))


positive = st.floats(min_value=0.0, allow_nan=False, allow_infinity=True)


@given(
    mu=st.floats(allow_nan=False),
    sigma=positive,
    eps=st.floats(allow_nan=False),
    seen=positive,
    spacing=st.floats(min_value=0.0, max_value=1e12),
    form=st.sampled_from(list(FORMS)),
)
def test_any_numbers_give_a_wait(
    mu: float, sigma: float, eps: float, seen: float, spacing: float, form: str
) -> None:
    with np.errstate(over="ignore"):
        found = deadlines(mu, sigma, eps, confidence=0.95, form=form, seen=seen, spacing=spacing)
    assert found >= 0.0


def test_a_million_cells_are_one_call() -> None:
    rng = np.random.default_rng(5)
    n = 1_000_000
    found = deadlines(
        rng.normal(0.0, 0.1, n), rng.exponential(1.0, n), rng.exponential(9.0, n), confidence=0.95
    )
    assert found.shape == (n,)
    assert np.all(found >= 1.0)


def test_shapes_follow_the_rules_of_broadcasting() -> None:
    assert deadlines(0.0, 1.0, 5.0, confidence=0.9).shape == ()
    assert deadlines([[0.0], [1.0]], 1.0, [1.0, 2.0, 3.0], confidence=0.9).shape == (2, 3)
    assert deadlines([], 1.0, 5.0, confidence=0.9).shape == (0,)


@pytest.mark.parametrize("confidence", [0.0, 0.49, 1.0, 1.5, math.nan])
def test_a_confidence_out_of_range_is_refused(confidence: float) -> None:
    with pytest.raises(BindError, match="no deadline holds a confidence"):
        tables(confidence)


def test_an_unknown_form_is_refused() -> None:
    with pytest.raises(BindError, match="the forms are mean, end, throughout, above"):
        deadlines(0.0, 1.0, 1.0, confidence=0.9, form="middle")
