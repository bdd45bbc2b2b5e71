"""Exact sums of doubles, of their products, and of how far they spread.

A sum is a fixed-point number wide enough for every double: an array of limbs of 32 bits, limb i
weighing 2**(32 i) times the smallest double. Limbs are kept between -2**31 and 2**31, so there is
room to add many times, and to take away: a number that came and went leaves nothing behind.
Products of two doubles go into limbs of twice the reach. Only reading rounds, once, to the nearest
double. So a result depends on the bag of numbers alone, not on their order or on how they were cut.

The spread of pairs is n * sum(xy) - sum(x) * sum(y), worked out in limbs without any rounding;
divided by n (n - 1) it is the covariance of a sample, and the variance for y = x. No digit is lost
to cancellation, however far the numbers are from 0.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.jit import compiled

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

LIMBS = 70
WIDE = 2 * LIMBS
SPREAD = 1 + 2 * LIMBS + WIDE
_BIAS = 1074
_MASK = 0xFFFFFFFF
_HALF = 1 << 31
_FRACTION = (1 << 52) - 1
_MOST = 1 << 30


@compiled
def _add(limbs: Ints, mantissa: int, place: int, count: int) -> None:
    """Add count * mantissa * 2**place; the mantissa has up to 55 bits and no sign."""
    first = place >> 5
    shift = place & 31
    low = (mantissa & _MASK) << shift
    high = ((mantissa >> 32) << shift) + (low >> 32)
    while count != 0:
        part = max(-_MOST, min(count, _MOST))
        count -= part
        limbs[first] += (low & _MASK) * part
        limbs[first + 1] += (high & _MASK) * part
        limbs[first + 2] += (high >> 32) * part
        i = first
        while True:
            carry = (limbs[i] + _HALF) >> 32
            limbs[i] -= carry << 32
            if carry == 0 and i >= first + 2:
                break
            i += 1
            limbs[i] += carry


@compiled
def _mantissa(bits: int) -> int:
    fraction = bits & _FRACTION
    return fraction if (bits >> 52) & 0x7FF == 0 else fraction | (1 << 52)


@compiled
def _place(bits: int) -> int:
    return max(((bits >> 52) & 0x7FF) - 1, 0)


@compiled
def _add_double(limbs: Ints, bits: int, count: int) -> None:
    _add(limbs, _mantissa(bits), _place(bits), -count if bits < 0 else count)


@compiled
def _add_product(limbs: Ints, one: int, two: int, count: int) -> None:
    """Add the product of two doubles, as four products of halves of their mantissas."""
    count = -count if (one < 0) != (two < 0) else count
    place = _place(one) + _place(two)
    a, b = _mantissa(one), _mantissa(two)
    a_low, a_high = a & 0x7FFFFFF, a >> 27
    b_low, b_high = b & 0x7FFFFFF, b >> 27
    _add(limbs, a_low * b_low, place, count)
    _add(limbs, a_low * b_high + a_high * b_low, place + 27, count)
    _add(limbs, a_high * b_high, place + 54, count)


@compiled
def _divided(digits: Ints, divisor: int) -> bool:
    """Divide digits in place by a whole number below 2**31; whether something was left over."""
    rest = 0
    for i in range(len(digits) - 1, -1, -1):
        whole = (rest << 32) | digits[i]
        digits[i] = whole // divisor
        rest = whole - digits[i] * divisor
    return rest != 0


@compiled
def _quotient(limbs: Ints, bias: int, one: int, two: int) -> float:
    """The number in the limbs over one * two, rounded to the nearest double; inf beyond it."""
    top = len(limbs) - 1
    while top >= 0 and limbs[top] == 0:
        top -= 1
    if top < 0:
        return 0.0
    sign = 1 if limbs[top] > 0 else -1
    low = 0
    while limbs[low] == 0:
        low += 1
    # A quotient of up to 62 bits less still has all its digits six limbs further down.
    base = min(low, top - 6)
    digits = np.zeros(top - base + 2, np.int64)
    carry = 0
    for i in range(low, top + 1):
        value = sign * limbs[i] + carry
        digits[i - base] = value & _MASK
        carry = value >> 32
    digits[top - base + 1] = carry
    sticky = False
    if one != 1:
        sticky = _divided(digits, one)
    if two != 1:
        sticky = _divided(digits, two) or sticky
    size: float = _rounded(digits, bias - 32 * base, sticky)
    return sign * size


@compiled
def _rounded(digits: Ints, bias: int, sticky: bool) -> float:
    """Digits of 32 bits as the nearest double, ties to even; `sticky` tells of more below."""
    top = len(digits) - 1
    while top >= 0 and digits[top] == 0:
        top -= 1
    if top < 0:
        return 0.0
    bits = 0
    while digits[top] >> bits:
        bits += 1
    highest = 32 * top + bits - 1
    lowest = max(highest - 52, bias - _BIAS)
    if highest - bias > 1023:
        return math.inf
    if lowest > highest + 1:
        return 0.0
    mantissa = 0
    for place in range(highest, lowest - 1, -1):
        mantissa = 2 * mantissa + ((digits[place >> 5] >> (place & 31)) & 1)
    half = lowest - 1
    if (digits[half >> 5] >> (half & 31)) & 1:
        below = sticky or digits[half >> 5] & ((1 << (half & 31)) - 1) != 0
        for i in range(half >> 5):
            below = below or digits[i] != 0
        if below or mantissa & 1:
            mantissa += 1
    return math.ldexp(float(mantissa), lowest - bias)


@compiled
def _line(state: Ints, segment: int, kept: bool) -> Ints:
    """Where a segment is summed: its own line, or the only one, which is cleared."""
    if not kept:
        segment = 0
        state[0, :] = 0
    line: Ints = state[segment]
    return line


@compiled
def _running_sums(
    bits: Ints, counts: Ints, starts: Ints, reads: Ints, divisors: Ints, state: Ints, kept: bool
) -> Floats:
    sums = np.empty(len(reads), np.float64)
    read = 0
    for segment in range(len(starts)):
        stop = starts[segment + 1] if segment + 1 < len(starts) else len(bits)
        limbs = _line(state, segment, kept)
        for i in range(starts[segment], stop):
            if counts[i] != 0:
                _add_double(limbs, bits[i], counts[i])
            while read < len(reads) and reads[read] == i:
                sums[read] = _quotient(limbs, _BIAS, divisors[read], 1)
                read += 1
    return sums


@compiled
def _running_products(
    one: Ints, two: Ints, counts: Ints, starts: Ints, reads: Ints, state: Ints, kept: bool
) -> Floats:
    sums = np.empty(len(reads), np.float64)
    read = 0
    for segment in range(len(starts)):
        stop = starts[segment + 1] if segment + 1 < len(starts) else len(one)
        limbs = _line(state, segment, kept)
        for i in range(starts[segment], stop):
            if counts[i] != 0:
                _add_product(limbs, one[i], two[i], counts[i])
            while read < len(reads) and reads[read] == i:
                sums[read] = _quotient(limbs, 2 * _BIAS, 1, 1)
                read += 1
    return sums


@compiled
def _spread(state: Ints, out: Ints) -> None:
    """The spread in limbs: n times the sum of products, less the product of sums."""
    n = state[0]
    x, y = state[1 : 1 + LIMBS], state[1 + LIMBS : 1 + WIDE]
    products = state[1 + WIDE :]
    carry = 0
    for i in range(WIDE):
        value = products[i] * n + carry
        carry = (value + _HALF) >> 32
        out[i] = value - (carry << 32)
    low, high = LIMBS, -1
    for j in range(LIMBS):
        if y[j] != 0:
            low, high = min(low, j), j
    for i in range(LIMBS):
        if x[i] == 0:
            continue
        carry = 0
        for j in range(low, high + 1):
            value = out[i + j] - x[i] * y[j] + carry
            carry = (value + _HALF) >> 32
            out[i + j] = value - (carry << 32)
        j = high + 1
        while carry != 0:
            value = out[i + j] + carry
            carry = (value + _HALF) >> 32
            out[i + j] = value - (carry << 32)
            j += 1


@compiled
def _running_spreads(
    one: Ints,
    two: Ints,
    counts: Ints,
    starts: Ints,
    reads: Ints,
    scaled: bool,
    state: Ints,
    kept: bool,
) -> Floats:
    spreads = np.empty(len(reads), np.float64)
    out = np.empty(WIDE + 2, np.int64)
    out[WIDE:] = 0
    read = 0
    for segment in range(len(starts)):
        stop = starts[segment + 1] if segment + 1 < len(starts) else len(one)
        sums = _line(state, segment, kept)
        for i in range(starts[segment], stop):
            if counts[i] != 0:
                sums[0] += counts[i]
                _add_double(sums[1 : 1 + LIMBS], one[i], counts[i])
                _add_double(sums[1 + LIMBS : 1 + WIDE], two[i], counts[i])
                _add_product(sums[1 + WIDE :], one[i], two[i], counts[i])
            while read < len(reads) and reads[read] == i:
                n = sums[0]
                spreads[read] = math.nan
                if n >= 2:
                    _spread(sums, out)
                    spreads[read] = (
                        _quotient(out, 2 * _BIAS, n, n - 1)
                        if scaled
                        else _quotient(out, 2 * _BIAS, 1, 1)
                    )
                read += 1
    return spreads


def exact_sum(values: Floats) -> float:
    """Sum of finite doubles, rounded once.

    >>> exact_sum(np.array([1e300, 1.0, -1e300, 2.0**-60]))
    1.0
    >>> exact_sum(np.array([0.1] * 10))
    1.0
    """
    if not len(values):
        return 0.0
    ends = np.array([len(values) - 1])
    return float(
        running_sums(values, np.ones(len(values), np.int64), np.zeros(1, np.int64), ends)[0]
    )


def running_sums(
    values: Floats,
    counts: Ints,
    starts: Ints,
    reads: Ints | None = None,
    *,
    divisors: Ints | None = None,
    state: Ints | None = None,
) -> Floats:
    """Sums of count * value from the start of a segment up to some positions, each rounded once.

    Parameters
    ----------
    values, counts
        Finite doubles, and how often each is added; negative to take away.
    starts
        Where the segments start, ascending, the first at 0.
    reads
        Positions at which to read, ascending; all if not given.
    divisors
        Whole numbers below 2**31 to divide what is read by, before it is rounded.
    state
        One line of `LIMBS` for each segment: what was summed before, and then in all.

    Examples
    --------
    >>> values, counts = np.array([0.5, 0.25, 8.0]), np.array([2, -1, 1])
    >>> running_sums(values, counts, np.array([0, 2]))
    array([1.  , 0.75, 8.  ])
    """
    reads = np.arange(len(values), dtype=np.int64) if reads is None else reads
    divisors = np.ones(len(reads), np.int64) if divisors is None else divisors
    line = np.zeros((1, LIMBS), np.int64) if state is None else state
    kept = state is not None
    sums: Floats = _running_sums(_bits(values), counts, starts, reads, divisors, line, kept)
    return sums


def running_products(
    x: Floats, y: Floats, counts: Ints, starts: Ints, reads: Ints, *, state: Ints | None = None
) -> Floats:
    """Sums of count * x * y, as `running_sums` has them; `state` has lines of `WIDE`."""
    line = np.zeros((1, WIDE), np.int64) if state is None else state
    kept = state is not None
    sums: Floats = _running_products(_bits(x), _bits(y), counts, starts, reads, line, kept)
    return sums


def running_spreads(
    x: Floats,
    y: Floats,
    counts: Ints,
    starts: Ints,
    reads: Ints,
    *,
    scaled: bool = True,
    state: Ints | None = None,
) -> Floats:
    """Covariance of a sample of pairs at some positions, rounded once; NaN for less than two.

    Not `scaled` it is n (n - 1) times that. `state` has lines of `SPREAD`.

    >>> x, once = np.array([1e15 + 1, 1e15 + 2, 1e15 + 3]), np.ones(3, np.int64)
    >>> running_spreads(x, x, once, np.array([0]), np.arange(3))
    array([nan, 0.5, 1. ])
    """
    line = np.zeros((1, SPREAD), np.int64) if state is None else state
    kept = state is not None
    spreads: Floats = _running_spreads(
        _bits(x), _bits(y), counts, starts, reads, scaled, line, kept
    )
    return spreads


def _bits(values: Floats) -> Ints:
    return np.ascontiguousarray(values).view(np.int64)
