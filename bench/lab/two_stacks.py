"""Two stacks: a queue that always knows the merge of all it holds.

New values go on the back, where only their merge is kept beside them. Old values leave from the
front, where each has beside it the merge of itself and all newer ones of the front. When the front
is empty the back is turned over. A value is merged at most three times in its life, but the turn
merges all of them at once; `daba` spreads that out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class TwoStacks(Generic[T]):
    """A queue with the merge of its values, in a constant number of merges on average.

    Parameters
    ----------
    merge
        Merge of two values, the older one first; it must not change either. It need not commute.

    Examples
    --------
    >>> queue = TwoStacks(lambda one, two: one + two)
    >>> for letter in "abc":
    ...     queue.push(letter)
    >>> queue.pop()
    'a'
    >>> queue.total()
    'bc'
    """

    def __init__(self, merge: Callable[[T, T], T]) -> None:
        self.merge = merge
        # Front: newest first, each with the merge of itself and all newer ones of the front.
        self.front: list[tuple[T, T]] = []
        self.back: list[T] = []
        self.back_total: T | None = None

    def __len__(self) -> int:
        return len(self.front) + len(self.back)

    def push(self, value: T) -> None:
        """Append a value."""
        self.back_total = value if self.back_total is None else self.merge(self.back_total, value)
        self.back.append(value)

    def pop(self) -> T:
        """Take the oldest value away."""
        if not self.front:
            self._turn()
        return self.front.pop()[0]

    def total(self) -> T | None:
        """Merge of all values; None of nothing."""
        if not self.front:
            return self.back_total
        oldest = self.front[-1][1]
        return oldest if self.back_total is None else self.merge(oldest, self.back_total)

    def parts(self) -> tuple[list[T], list[int]]:
        """All that is held, and how it is laid out."""
        front = [part for pair in self.front for part in pair]
        totals = [] if self.back_total is None else [self.back_total]
        return [*front, *self.back, *totals], [len(self.front)]

    def restore(self, values: list[T], layout: list[int]) -> None:
        """Take what `parts` gave."""
        cut = 2 * layout[0]
        self.front = list(zip(values[0:cut:2], values[1:cut:2], strict=True))
        self.back = values[cut:-1]
        self.back_total = values[-1] if len(values) > cut else None

    def _turn(self) -> None:
        total: T | None = None
        for value in reversed(self.back):
            total = value if total is None else self.merge(value, total)
            self.front.append((value, total))
        self.back, self.back_total = [], None
