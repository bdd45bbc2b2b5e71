"""Accumulators: sums that never round, for numbers of wildly different size.

Draws of a stable law with a small exponent span hundreds of orders of magnitude; in floats one
large draw swallows all small ones, and taking it back leaves noise. Here a sum is a whole number of
many 32-bit digits in two's complement, counted in units of a small power of two. Digits live in
64-bit words, so that carries can wait until a batch is done.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from streamgauge.kernel.jit import compiled

Digits = npt.NDArray[np.int64]

_MASK = np.uint64(0xFFFFFFFF)
_DIGIT = np.int64(0xFFFFFFFF)


@compiled
def deposit(digits, size, exponent, negative):  # type: ignore[no-untyped-def]
    """Add `size * 2^exponent`, with a size below 2^63; bits below the unit are cut off."""
    if exponent < 0:
        size = size >> np.uint64(min(-exponent, 63))
        exponent = 0
    place = exponent >> 5
    shift = np.uint64(exponent & 31)
    low = (size & _MASK) << shift
    high = (size >> np.uint64(32)) << shift
    first = np.int64(low & _MASK)
    second = np.int64((low >> np.uint64(32)) + (high & _MASK))
    third = np.int64(high >> np.uint64(32))
    if negative:
        first, second, third = -first, -second, -third
    digits[place] += first
    digits[place + 1] += second
    digits[place + 2] += third


@compiled
def carry(sums):  # type: ignore[no-untyped-def]
    """Make all digits but the last lie in [0, 2^32), so that equal sums have equal digits."""
    for j in range(sums.shape[0]):
        rest = np.int64(0)
        for k in range(sums.shape[1] - 1):
            total = sums[j, k] + rest
            sums[j, k] = total & _DIGIT
            rest = total >> np.int64(32)
        sums[j, sums.shape[1] - 1] += rest


@compiled
def logarithms(sums, unit, out):  # type: ignore[no-untyped-def]
    """Natural logarithm of the absolute value of each sum, -inf of zero; the unit is 2^-unit."""
    n = sums.shape[1]
    digits = np.empty(n, np.int64)
    for j in range(sums.shape[0]):
        negative = sums[j, n - 1] < 0
        rest = np.int64(1 if negative else 0)
        for k in range(n):
            total = (_DIGIT - (sums[j, k] & _DIGIT) if negative else sums[j, k] & _DIGIT) + rest
            digits[k] = total & _DIGIT
            rest = total >> np.int64(32) if negative else np.int64(0)
        top = n - 1
        while top >= 0 and digits[top] == 0:
            top -= 1
        if top < 0:
            out[j] = -math.inf
            continue
        value = np.float64(digits[top])
        for below in range(1, 3):
            value *= 4294967296.0
            if top >= below:
                value += np.float64(digits[top - below])
        out[j] = math.log(value) + (32.0 * (top - 2) - unit) * math.log(2.0)


def scale(sums: Digits, numerator: int, denominator: int) -> Digits:
    """Each sum times a ratio, rounded to the unit; for sketches scaled as a whole, not for rows."""
    size = sums.shape[1]
    out = np.empty_like(sums)
    for j, digits in enumerate(sums):
        product = _whole(digits) * numerator
        rounded = (2 * product + denominator) // (2 * denominator)
        data = rounded.to_bytes(4 * size, "little", signed=True)
        words = np.frombuffer(data, "<u4").astype(np.int64)
        words[-1] = np.int64(np.int32(np.uint32(words[-1])))
        out[j] = words
    return out


def _whole(digits: npt.NDArray[Any]) -> int:
    low = int.from_bytes(digits[:-1].astype("<u4").tobytes(), "little")
    return low + (int(digits[-1]) << (32 * (len(digits) - 1)))
