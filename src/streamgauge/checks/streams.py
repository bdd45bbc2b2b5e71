"""Named streams: small, each built to show another kind of mistake."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Rng = np.random.Generator
N = 2000


def zipf(rng: Rng) -> Array:
    """Few items hold most of the rows."""
    return np.minimum(rng.zipf(1.3, N), 10_000).astype(np.int64)


def uniform(rng: Rng) -> Array:
    """Every item of a thousand is as likely."""
    return rng.integers(0, 1000, N)


def all_distinct(rng: Rng) -> Array:
    """No item twice."""
    return rng.permutation(N).astype(np.int64)


def constant(rng: Rng) -> Array:
    """One item only."""
    return np.full(N, 42, np.int64)


def ascending(rng: Rng) -> Array:
    """Sorted."""
    return np.arange(N, dtype=np.int64)


def descending(rng: Rng) -> Array:
    """Sorted the other way."""
    return np.arange(N, dtype=np.int64)[::-1].copy()


def lattice(rng: Rng) -> Array:
    """Multiples of 1,024: hashes that look at low bits see one item."""
    return rng.integers(0, 500, N) * 1024


def zoom_in(rng: Rng) -> Array:
    """Extremes alternate towards the middle: hard for summaries of order."""
    steps = np.arange(N // 2, dtype=np.int64)
    return np.stack([steps, N - steps], axis=1).ravel()


def bursts(rng: Rng) -> Array:
    """One item at a time, in runs of very unequal length."""
    lengths = rng.geometric(0.02, N)
    return np.repeat(rng.integers(0, 100, N), lengths)[:N]


def repeats(rng: Rng) -> Array:
    """Half the rows are one item, each other item comes once."""
    out = np.arange(N, dtype=np.int64) + 10
    out[rng.permutation(N)[: N // 2]] = 7
    return out


def heavy_tail(rng: Rng) -> Array:
    """A few numbers are larger than all the others together."""
    return np.ceil(np.exp(rng.normal(0.0, 2.0, N))).astype(np.int64)


def one_row(rng: Rng) -> Array:
    """A single row."""
    return np.array([5], np.int64)


def empty(rng: Rng) -> Array:
    """No row at all."""
    return np.empty(0, np.int64)


STREAMS: dict[str, Callable[[Rng], Array]] = {
    make.__name__: make
    for make in (
        zipf,
        uniform,
        all_distinct,
        constant,
        ascending,
        descending,
        lattice,
        zoom_in,
        bursts,
        repeats,
        heavy_tail,
        one_row,
        empty,
    )
}
