"""Exact sums against `math.fsum` and exact fractions, over the whole range of doubles."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.kernel.exact_sum import (
    LIMBS,
    exact_sum,
    running_products,
    running_spreads,
    running_sums,
)

pytestmark = pytest.mark.slow

any_double = st.floats(allow_nan=False, allow_infinity=False)
moderate = st.floats(-1e100, 1e100)
tiny = st.floats(-1e-150, 1e-150)
counts = st.integers(-(2**40), 2**40)
ONCE = np.zeros(1, np.int64)


def nearest(exact: Fraction) -> float:
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


@given(st.lists(any_double, max_size=30))
def test_sums_are_rounded_once(values: list[float]) -> None:
    assert exact_sum(np.array(values)) == nearest(sum(map(Fraction, values), Fraction(0)))


@given(st.lists(moderate, max_size=30))
def test_sums_are_those_of_fsum(values: list[float]) -> None:
    assert exact_sum(np.array(values)) == math.fsum(values)


@given(st.lists(st.tuples(any_double, counts), min_size=1, max_size=12), st.integers(1, 2**31 - 1))
def test_counted_sums_and_quotients(pairs: list[tuple[float, int]], divisor: int) -> None:
    values = np.array([value for value, _ in pairs])
    amounts = np.array([count for _, count in pairs])
    divisors = np.full(len(pairs), divisor)
    found = running_sums(values, amounts, ONCE, divisors=divisors)
    exact = Fraction(0)
    for (value, count), sum_so_far in zip(pairs, found, strict=True):
        exact += Fraction(value) * count
        assert sum_so_far == nearest(exact / divisor)


@given(st.lists(st.tuples(any_double, any_double), min_size=1, max_size=12))
def test_products_are_exact(pairs: list[tuple[float, float]]) -> None:
    x, y = np.array(pairs).T
    once = np.ones(len(pairs), np.int64)
    found = running_products(x, y, once, ONCE, np.array([len(pairs) - 1]))
    exact = sum((Fraction(a) * Fraction(b) for a, b in pairs), Fraction(0))
    assert found[0] == nearest(exact)


@given(st.lists(st.tuples(any_double, any_double), min_size=2, max_size=8))
def test_covariance_is_rounded_once(pairs: list[tuple[float, float]]) -> None:
    x, y = np.array(pairs).T
    n = len(pairs)
    found = running_spreads(x, y, np.ones(n, np.int64), ONCE, np.array([n - 1]))
    xs, ys = [Fraction(a) for a, _ in pairs], [Fraction(b) for _, b in pairs]
    joint = sum((a * b for a, b in zip(xs, ys, strict=True)), Fraction(0))
    assert found[0] == nearest((joint - sum(xs) * sum(ys) / n) / (n - 1))


@settings(max_examples=50)
@given(st.lists(moderate, min_size=1, max_size=20), st.data())
def test_what_was_summed_before_goes_on(values: list[float], data: st.DataObject) -> None:
    whole = running_sums(np.array(values), np.ones(len(values), np.int64), ONCE)
    cut = data.draw(st.integers(0, len(values)))
    state = np.zeros((1, LIMBS), np.int64)
    parts = []
    for part in (values[:cut], values[cut:]):
        once = np.ones(len(part), np.int64)
        parts.append(running_sums(np.array(part), once, ONCE, state=state))
    assert np.concatenate(parts).tolist() == whole.tolist()


def test_segments_start_anew_and_reads_may_skip() -> None:
    values = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    once = np.ones(5, np.int64)
    found = running_sums(values, once, np.array([0, 2]), np.array([1, 2, 4]))
    assert found.tolist() == [3.0, 4.0, 28.0]


@given(st.lists(st.tuples(tiny, tiny), min_size=2, max_size=6))
def test_products_below_all_doubles(pairs: list[tuple[float, float]]) -> None:
    x, y = np.array(pairs).T
    n = len(pairs)
    once, end = np.ones(n, np.int64), np.array([n - 1])
    exact = [Fraction(a) * Fraction(b) for a, b in pairs]
    assert running_products(x, y, once, ONCE, end)[0] == nearest(sum(exact, Fraction(0)))
    mean = sum((Fraction(a) for a, _ in pairs), Fraction(0)) / n
    spread = sum((Fraction(b) * (Fraction(a) - mean) for a, b in pairs), Fraction(0))
    assert running_spreads(x, y, once, ONCE, end)[0] == nearest(spread / (n - 1))


def test_the_smallest_and_the_largest_numbers() -> None:
    least, huge = 5e-324, 1.7976931348623157e308
    assert exact_sum(np.array([huge, least, -huge])) == least
    assert exact_sum(np.array([huge, huge])) == math.inf
    assert exact_sum(np.array([])) == 0.0
