"""Moves: how the places of compiled queries change when some leave and others come."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Moves:
    """Places that are left, as they were, and those that are taken, as they are; both ascending.

    >>> moves = Moves(gone=np.array([1]), come=np.array([0, 3]))
    >>> moves.column(np.array([10, 11, 12]), np.array([7, 8])).tolist()
    [7, 10, 12, 8]
    >>> moves.places(3).tolist()
    [1, -1, 2]
    """

    gone: Ints
    come: Ints

    @classmethod
    def of(cls, gone: Sequence[int], come: Sequence[int]) -> Moves:
        """Places as lists."""
        return cls(np.array(gone, np.int64), np.array(come, np.int64))

    @classmethod
    def among(cls, keys: Sequence[Any], gone: Sequence[Any], come: Sequence[Any]) -> Moves:
        """Places of keys in order, of which some leave and others come; all ascending."""
        left = cls.of([bisect_left(keys, key) for key in gone], ())
        kept = left.listed(keys, ())
        return cls.of(left.gone.tolist(), [bisect_left(kept, k) + n for n, k in enumerate(come)])

    @property
    def _before(self) -> Ints:
        """Where what comes is put in before, among what stays."""
        return self.come - np.arange(len(self.come))

    def places(self, n: int) -> Ints:
        """Where each of n places is now; -1: gone."""
        stays = np.ones(n, np.bool_)
        stays[self.gone] = False
        taken = np.zeros(n - len(self.gone) + len(self.come), np.bool_)
        taken[self.come] = True
        found = np.full(n, -1, np.int64)
        found[stays] = np.flatnonzero(~taken)
        return found

    def column(self, old: Array, fresh: Array) -> Array:
        """A column with an entry for each place, with those of the places that are taken."""
        kept = np.delete(old, self.gone, axis=0) if len(self.gone) else old
        return np.insert(kept, self._before, fresh, axis=0) if len(self.come) else kept

    def columns(self, old: Any, fresh: Any) -> Any:
        """The same for a tuple of columns, or of such tuples."""
        if isinstance(old, np.ndarray):
            return self.column(old, fresh)
        parts = [self.columns(a, b) for a, b in zip(old, fresh, strict=True)]
        return type(old)(*parts) if hasattr(old, "_fields") else tuple(parts)

    def listed(self, old: Sequence[T], fresh: Sequence[T]) -> list[T]:
        """The same for a list."""
        found = list(old)
        for place in reversed(self.gone.tolist()):
            del found[place]
        for place, one in zip(self.come.tolist(), fresh, strict=True):
            found.insert(place, one)
        return found

    def parts(self, pointer: Ints, old: Array, sizes: Ints, fresh: Array) -> tuple[Ints, Array]:
        """The same where each place has a part of a column, which `pointer` cuts."""
        stays = np.ones(len(old), np.bool_)
        for place in self.gone.tolist():
            stays[pointer[place] : pointer[place + 1]] = False
        left = np.delete(np.diff(pointer), self.gone)
        starts = np.append(0, np.cumsum(left))[self._before]
        kept = old[stays] if len(self.gone) else old
        found = np.insert(kept, np.repeat(starts, sizes), fresh)
        cut = np.append(0, np.cumsum(np.insert(left, self._before, sizes)))
        return cut.astype(np.int64), found
