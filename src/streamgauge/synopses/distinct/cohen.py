"""Cohen's counter: the smallest of the random numbers that items are given, k times.

The minus logarithm of one minus the smallest of n uniform numbers is exactly exponential with rate
n, so the sum over k hashes is a gamma variable and the bar is exact for every n. The item that
holds each minimum is kept: a sample of the distinct items, with replacement.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy import special

from streamgauge.contracts.guarantee import Guarantee
from streamgauge.kernel.hashing import mix64
from streamgauge.kernel.jit import compiled
from streamgauge.kernel.keys import keys
from streamgauge.synopses.distinct.kept_values import (
    NO_VALUES,
    gathered,
    plain_values,
    values_from_bytes,
    values_to_bytes,
)
from streamgauge.synopses.distinct.sampling_law import RANDOM_HASHES
from streamgauge.synopses.distinct.sizing import check_share, check_size, smallest
from streamgauge.synopses.questions import Distinct
from streamgauge.synopses.synopsis import (
    Arrays,
    Enumerable,
    Floats,
    Ints,
    Need,
    Synopsis,
    Trial,
    Values,
)

_NONE = np.uint64(0xFFFFFFFFFFFFFFFF)


class Cohen(Synopsis, Enumerable):
    """Distinct items within about `1 / sqrt(k)` (one deviation), and k of them at random.

    Parameters
    ----------
    k
        Hashes of every item.
    delta
        Chance that a bar fails.
    seed
        Chooses the hashes; parts to be merged need the same.

    Examples
    --------
    >>> counter = Cohen(k=400, seed=7)
    >>> counter.update(["a", "b", "a", None])
    >>> print(counter.query(Distinct()))
    2 in [2, 2] at 95% confidence, cohen
    >>> sorted(set(counter.candidates()))
    ['a', 'b']

    References
    ----------
    C97: docs/references.md
    """

    name = "cohen"
    answers = (Distinct,)
    takes = "items"
    small = (20,)

    def __init__(self, k: int, delta: float = 0.05, *, seed: int = 0) -> None:
        check_size("cohen", "k", k, 2, 1 << 16)
        check_share("cohen", delta)
        super().__init__(seed=seed)
        self.k = k
        self.delta = delta
        self.minima: npt.NDArray[np.uint64] = np.full(k, _NONE)
        self.values: pa.Array = NO_VALUES

    @property
    def guarantee(self) -> Guarantee:
        """Half-width of the bar, as a share of the count."""
        low, high = self._reach()
        middle = self.k - 1.0
        reach = max(high / middle - 1.0, 1.0 - low / middle)
        return Guarantee("relative", reach, self.delta, RANDOM_HASHES, "C97 sec 3")

    @classmethod
    def sized_for(cls, need: Need, *, seed: int = 0) -> Self:
        """The fewest hashes whose bar is within the contract."""
        sizes = [1 << lg for lg in range(2, 17)]
        return smallest(need, cls.name, sizes, lambda k, delta: cls(k, delta, seed=seed))

    @classmethod
    def tight(cls, seed: int) -> Trial:
        """Any items: the law is exact."""
        return Trial(np.arange(1000, dtype=np.int64) + 4096 * seed, Distinct())

    def candidates(self) -> list[Any]:
        """The item of each minimum: a uniform sample of the distinct ones, with replacement."""
        held: list[Any] = self.values.to_pylist()
        return held

    @property
    def raw(self) -> float:
        """The estimate as first published: one over the average minimum, less one."""
        return 1.0 / float(self._uniforms().mean()) - 1.0

    def _uniforms(self) -> Floats:
        uniforms: Floats = (self.minima.astype(np.float64) + 0.5) * 2.0**-64
        return uniforms

    def _reach(self) -> tuple[float, float]:
        return (
            float(special.gammaincinv(self.k, self.delta / 2.0)),
            float(special.gammainccinv(self.k, self.delta / 2.0)),
        )

    def _add(self, column: Any, weights: Floats | None, times: Ints | None) -> None:
        rows = np.full(self.k, -1, np.int64)
        _lower_each(self.minima, rows, keys(column, seed=self.seed))
        self._take(plain_values(column.values), rows)

    def _take(self, values: pa.Array, rows: Ints) -> None:
        """Put values at given rows in the place of those held; -1 keeps what is held."""
        if (rows < 0).all():
            return
        places = np.where(rows < 0, np.arange(self.k), len(self.values) + rows)
        self.values = gathered(self.values, values, places)

    def _merge(self, other: Self) -> None:
        if not len(other.values):
            return
        rows = np.where(other.minima < self.minima, np.arange(self.k), -1)
        self._take(other.values, rows)
        np.minimum(self.minima, other.minima, out=self.minima)

    def _answer(self, question: Any) -> Any:
        if not len(self.values):
            return self._bar(0.0, 0.0, 0.0, 0.0)
        total = float(-np.log1p(-self._uniforms()).sum())
        least, most = self._reach()
        low = max(1.0, math.ceil(least / total - 1e-9))
        high = max(low, math.floor(most / total + 1e-9))
        value = min(max((self.k - 1.0) / total, low), high)
        return self._bar(value, float(low), float(high), self.delta)

    def _save(self) -> tuple[Values, Arrays]:
        return {}, {"minima": self.minima, "values": values_to_bytes(self.values)}

    def _load(self, values: Values, arrays: Arrays) -> None:
        self.minima = arrays["minima"]
        self.values = values_from_bytes(arrays["values"])

    def validate(self) -> None:
        """A value for every minimum, or nothing at all."""
        assert len(self.values) == (self.k if self.rows else 0)


@compiled
def _lower_each(minima, rows, column):  # type: ignore[no-untyped-def]
    for j in range(len(minima)):
        salt = mix64(np.uint64(j))
        least = minima[j]
        row = -1
        for i in range(len(column)):
            drawn = mix64(column[i] ^ salt)
            if drawn < least:
                least = drawn
                row = i
        minima[j] = least
        rows[j] = row
