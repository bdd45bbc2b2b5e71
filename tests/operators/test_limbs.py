"""Sums in limbs against exact arithmetic: any order, any tree of parts, any range of doubles."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.operators.limbs import (
    add_limbs,
    limbs_for,
    limbs_of,
    on_limbs,
    read_limbs,
    spanning,
)

DOUBLES = st.floats(-1e300, 1e300, allow_nan=False)
MANY = st.lists(DOUBLES, min_size=1, max_size=30)


def summed(values: list[float]) -> tuple[np.ndarray, tuple[int, int]]:
    column = np.array(values)
    held = limbs_for(column, np.zeros(len(column), np.int32))
    limbs = np.zeros(held[1], np.int64)
    for value in values:
        add_limbs(limbs, held[0], value)
    return limbs, held


@given(MANY)
def test_a_sum_is_that_of_exact_arithmetic(values: list[float]) -> None:
    limbs, held = summed(values)
    found, exact = read_limbs(limbs, held[0]), sum(map(Fraction, values))
    assert abs(Fraction(found) - exact) <= Fraction(math.ulp(float(exact)))
    assert (found == 0.0) == (exact == 0)


@given(st.lists(MANY, min_size=2, max_size=5), st.randoms(use_true_random=False))
def test_parts_that_are_merged_give_the_same_bits(parts: list[list[float]], random) -> None:
    whole, held = summed([value for part in parts for value in part])
    sums = [summed(part) for part in parts]
    random.shuffle(sums)
    total, span = np.zeros(0, np.int64), (0, 0)
    for limbs, where in sums:
        wider = spanning(span, where)
        total = on_limbs(total, span, wider) + on_limbs(limbs, where, wider)
        span = wider
    assert read_limbs(total, span[0]) == read_limbs(whole, held[0])


@given(MANY)
def test_a_row_of_sums_has_each_value(values: list[float]) -> None:
    limbs, held = limbs_of(np.array(values))
    assert [read_limbs(row, held[0]) for row in limbs] == [value + 0.0 for value in values]


def test_a_billion_of_one_value_has_room() -> None:
    limbs, held = summed([0.1])
    assert read_limbs(limbs * 2**30, held[0]) == 0.1 * 2**30
