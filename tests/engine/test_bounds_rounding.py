"""Ends of bars hold the real result, whatever the floats: checked in fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.operators.accumulate import AVG, MAX, MIN, SUM
from streamgauge.operators.bounds import FIELDS, Teams, _bar, _work_out
from streamgauge.operators.emission import ALWAYS
from streamgauge.operators.rounding import multiplied, quotient_floor, summed

pytestmark = pytest.mark.slow

REACHES = st.floats(0.0, 1e9) | st.sampled_from((0.1, 0.3, 2.5, 1e-12, 5.0))
CENTRES = st.floats(-1e12, 1e12) | st.sampled_from((0.1, -0.1, 1e6 + 0.1, 20.3, 1e15, 1e-9))
WEIGHTS = st.floats(-1e6, 1e6).filter(lambda w: abs(w) > 1e-9) | st.sampled_from(
    (1.0, 0.1, -1.0, 1 / 3)
)
MEMBERS = st.lists(st.tuples(CENTRES, REACHES, WEIGHTS), min_size=1, max_size=12)


def worked_out(members: list[tuple[float, float, float]], weighted: bool) -> np.ndarray:
    """What the kernel knows of a team with these members."""
    n = len(members)
    centre, half, weight = (np.array(column) for column in zip(*members, strict=True))
    none = np.empty(0, np.int64)
    teams = Teams(
        np.array([0, n]), np.arange(n, dtype=np.int32), weight, np.array([weighted], np.uint8),
        np.array([ALWAYS]), none, np.empty(0, np.int32), none, np.empty((0, 2, FIELDS)),
        np.empty(0, np.bool_), np.empty(0, np.bool_),
    )  # fmt: skip
    known = np.zeros(FIELDS)
    _work_out(0, teams, centre, 2.0 * half, np.zeros(n, np.int64), known)
    return known


def ends(members: list[tuple[float, float, float]]) -> list[tuple[Fraction, Fraction]]:
    """Where values may be: a source compares with ends that it has rounded."""
    found = []
    for centre, half, _ in members:
        low, high = Fraction(centre) - Fraction(half), Fraction(centre) + Fraction(half)
        found.append((min(low, Fraction(centre - half)), max(high, Fraction(centre + half))))
    return found


@settings(max_examples=300)
@given(MEMBERS, st.booleans())
def test_sums_and_averages_hold_the_real_result(
    members: list[tuple[float, float, float]], weighted: bool
) -> None:
    if any(half == 0.0 for _, half, _ in members):
        members = [(centre, half or 0.5, weight) for centre, half, weight in members]
    known = worked_out(members, weighted)
    weights = [Fraction(weight) if weighted else Fraction(1) for *_, weight in members]
    mass = sum(weights, Fraction(0))
    for op, divisor in ((SUM, Fraction(1)), (AVG, mass)):
        value, low, high = _bar(op, known)
        if math.isnan(value):
            assert op == AVG
            assert abs(mass) < sum(map(abs, weights)) * Fraction(1, 10**12)
            continue
        shares = [weight / divisor for weight in weights]
        pairs = list(zip(shares, ends(members), strict=True))
        least = sum((k * (a if k > 0 else b) for k, (a, b) in pairs), Fraction(0))
        most = sum((k * (b if k > 0 else a) for k, (a, b) in pairs), Fraction(0))
        assert Fraction(low) <= least <= most <= Fraction(high)
        assert low <= value <= high
        size = sum((abs(k) * max(abs(a), abs(b)) for k, (a, b) in pairs), Fraction(0))
        noise = Fraction(1, 10**14) * size
        if op == AVG and weighted:
            noise *= 1 + sum(map(abs, weights)) / abs(mass)
        assert Fraction(high) - Fraction(low) <= most - least + noise + Fraction(1, 10**250)


@settings(max_examples=200)
@given(MEMBERS)
def test_extremes_hold_the_real_result(members: list[tuple[float, float, float]]) -> None:
    known = worked_out(members, weighted=False)
    where = ends(members)
    for op, pick in ((MIN, min), (MAX, max)):
        value, low, high = _bar(op, known)
        assert Fraction(low) <= pick(a for a, _ in where)
        assert Fraction(high) >= pick(b for _, b in where)
        assert value == pick(centre for centre, *_ in members)


def test_bars_that_can_be_written_are_not_widened() -> None:
    known = worked_out([(10.0, 2.5, 1.0), (20.0, 2.0, -0.5)], weighted=True)
    assert _bar(SUM, known) == (0.0, -3.5, 3.5)
    assert _bar(AVG, known) == (0.0, -7.0, 7.0)
    assert _bar(MIN, known) == (10.0, 7.5, 12.5)


@settings(max_examples=300)
@given(st.floats(-1e100, 1e100), st.floats(-1e100, 1e100))
def test_what_rounding_takes_is_known(a: float, b: float) -> None:
    whole, rest = summed(a, b)
    assert Fraction(whole) + Fraction(rest) == Fraction(a) + Fraction(b)
    whole, rest = multiplied(a, b)
    if whole == 0.0 or abs(whole) > 1e-250:
        lost = Fraction(a) * Fraction(b) - Fraction(whole) - Fraction(rest)
        assert lost == 0 or abs(whole) < 1e-250


@settings(max_examples=300)
@given(
    st.floats(-1e12, 1e12),
    st.floats(-1.0, 1.0),
    st.floats(1e-3, 1e9),
    st.sampled_from((0.0, 1e-16, 1e-6)),
    st.floats(-1.0, 1.0),
)
def test_quotients_are_rounded_down(
    a: float, rest: float, divisor: float, share: float, where: float
) -> None:
    off = share * divisor
    low = quotient_floor(a, rest, divisor, off)
    real = (Fraction(a) + Fraction(rest)) / (Fraction(divisor) + Fraction(off) * Fraction(where))
    assert Fraction(low) <= real
