"""Interval: limits against other laws, against all samples there are, and at their ends."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.promise.interval import (
    WIDTH,
    Floats,
    Ints,
    mean_bar,
    quantile_bar,
    sum_bar,
)
from streamgauge.synopses.samples.features import Feature
from streamgauge.synopses.samples.strata import Stratified

pytestmark = pytest.mark.slow


class Plain(Feature):
    """The item itself."""

    def of(self, values: Floats) -> Floats:
        return values

    def least(self, low: Floats, high: Floats) -> Floats:
        return low

    def most(self, low: Floats, high: Floats) -> Floats:
        return high


def line(rows: Floats, match: Floats, taken: int) -> list[float]:
    """A stratum whose first rows were looked at."""
    middle = 0.5 * (rows.min() + rows.max())
    off = (rows[:taken] - middle)[match[:taken] > 0]
    ends = (middle, rows.min(), rows.max())
    return [len(rows), taken, len(off), off.sum(), (off**2).sum(), *ends, 0.0]


def test_the_plain_limits_are_those_of_stratified_samples() -> None:
    rng = np.random.default_rng(5)
    strata = [rng.choice([0.0, 1.0 + j], 300) for j in range(4)]
    taken = [30, 7, 1, 0]
    delta = 0.05
    lines = np.array([line(rows, np.ones(300), n) for rows, n in zip(strata, taken, strict=True)])
    values = np.concatenate([rows[:n] for rows, n in zip(strata, taken, strict=True)])
    design = Stratified(
        np.repeat(np.arange(4), taken),
        np.full(4, 300),
        np.zeros(4),
        np.array([1.0, 2.0, 3.0, 4.0]),
    )
    # Half of the chance, and of that half for each side.
    law = design.span(Plain(), values, delta / 4)
    bar = sum_bar(lines, delta)
    assert bar.value == pytest.approx(law.value)
    assert (bar.low, bar.high) == pytest.approx((law.low, law.high))


def quantile(items: Floats, phi: float) -> float:
    return float(np.sort(items)[max(1, math.ceil(phi * len(items) - 1e-12)) - 1])


@given(
    st.lists(st.tuples(st.integers(-9, 9), st.booleans()), min_size=2, max_size=5),
    st.lists(st.tuples(st.integers(-9, 9), st.booleans()), min_size=2, max_size=3),
    st.integers(1, 5),
    st.integers(0, 3),
    st.sampled_from([0.0, 0.3, 0.5, 1.0]),
)
@settings(max_examples=40, deadline=None)
def test_bars_hold_for_nearly_all_samples_there_are(
    one: list[tuple[int, bool]],
    two: list[tuple[int, bool]],
    first: int,
    second: int,
    phi: float,
) -> None:
    delta = 0.3
    strata = [np.array(one, np.float64), np.array(two, np.float64)]
    sizes = [min(first, len(one)), min(second, len(two))]
    every = np.concatenate(strata)
    items = every[every[:, 1] > 0, 0]
    missed = np.zeros(3)
    samples = list(
        itertools.product(
            *(
                itertools.combinations(range(len(rows)), n)
                for rows, n in zip(strata, sizes, strict=True)
            )
        )
    )
    for sample in samples:
        lines, seen, where = drawn(strata, sample)
        bar = sum_bar(lines, delta)
        missed[0] += not bar.low - 1e-9 <= items.sum() <= bar.high + 1e-9
        if len(items):
            bar = mean_bar(lines, delta)
            missed[1] += not bar.low - 1e-9 <= items.mean() <= bar.high + 1e-9
            bar = quantile_bar(lines, seen, where, phi, delta)
            missed[2] += not bar.low <= quantile(items, phi) <= bar.high
    assert (missed <= delta * len(samples)).all()


def drawn(strata: list[Floats], sample: tuple[tuple[int, ...], ...]) -> tuple[Floats, Floats, Ints]:
    """Lines, items and their strata when these rows of each stratum were looked at."""
    lines, seen, where = [], [], []
    for j, (rows, chosen) in enumerate(zip(strata, sample, strict=True)):
        others = [place for place in range(len(rows)) if place not in chosen]
        ordered = rows[[*chosen, *others]]
        lines.append(line(ordered[:, 0], ordered[:, 1], len(chosen)))
        found = ordered[: len(chosen)]
        seen += found[found[:, 1] > 0, 0].tolist()
        where += [j] * int(found[:, 1].sum())
    return np.array(lines), np.array(seen), np.array(where, np.int64)


def test_everything_seen_is_exact() -> None:
    rows = np.array([3.0, 5.0, 9.0, 11.0])
    match = np.array([1.0, 0.0, 1.0, 1.0])
    lines = np.array([line(rows, match, 4)])
    assert sum_bar(lines, 0.05)[:3] == pytest.approx((23.0, 23.0, 23.0))
    assert mean_bar(lines, 0.05)[:3] == pytest.approx((23.0 / 3,) * 3)


def test_nothing_seen_is_what_ranges_allow() -> None:
    rows, match = np.array([-3.0, 5.0, 9.0, 11.0]), np.ones(4)
    lines = np.array([line(rows, match, 0)])
    assert sum_bar(lines, 0.05)[1:3] == (-12.0, 44.0)
    assert mean_bar(lines, 0.05)[1:3] == (-3.0, 11.0)
    none = np.empty(0), np.empty(0, np.int64)
    assert quantile_bar(lines, *none, 0.5, 0.05)[1:3] == (-3.0, 11.0)


def test_no_row_that_can_match_has_no_mean() -> None:
    lines = np.zeros((1, WIDTH))
    lines[0, :2] = 10
    assert math.isnan(mean_bar(lines, 0.05).value)
    assert math.isnan(quantile_bar(lines, np.empty(0), np.empty(0, np.int64), 0.5, 0.05).value)


def test_a_small_spread_makes_a_narrow_bar() -> None:
    # Nearly all rows are near the middle of a wide range: the plain bound cannot know that.
    rows = np.concatenate([[-1000.0, 1000.0], np.random.default_rng(3).normal(0, 1, 9998)])
    rows = np.random.default_rng(4).permutation(rows)
    rows_seen = 2000
    lines = np.array([line(rows, np.ones(len(rows)), rows_seen)])
    plain = 10_000 * 2000 * math.sqrt(math.log(40) / 2 / 2000)
    bar = sum_bar(lines, 0.1)
    assert bar.high - bar.low < 0.5 * 2 * plain
    assert bar.low <= rows.sum() <= bar.high


def test_bars_narrow_as_more_is_seen() -> None:
    rng = np.random.default_rng(8)
    rows, match = rng.uniform(0, 10, 1000), (rng.random(1000) < 0.5).astype(np.float64)
    widths = []
    for taken in (20, 100, 400, 900, 999):
        lines = np.array([line(rows, match, taken)])
        bars = [sum_bar(lines, 0.05), mean_bar(lines, 0.05)]
        seen = rows[:taken][match[:taken] > 0]
        bars.append(quantile_bar(lines, seen, np.zeros(len(seen), np.int64), 0.5, 0.05))
        widths.append([bar.high - bar.low for bar in bars])
    assert (np.diff(np.array(widths), axis=0) < 0).all()
