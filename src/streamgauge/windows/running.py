"""Running: a queue of linear summaries with one running total.

What comes is merged into the total, what goes is taken away from it: one merge in and one out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Running(Generic[T]):
    """A queue with the merge of its values, for values that can be taken away again.

    Parameters
    ----------
    empty
        Makes a value of nothing.
    put, take
        Merge a value into the total in place, and undo it.

    Examples
    --------
    >>> from collections import Counter
    >>> queue = Running(Counter, put=Counter.update, take=Counter.subtract)
    >>> queue.push(Counter("aab"))
    >>> queue.push(Counter("b"))
    >>> _ = queue.pop()
    >>> +queue.total()
    Counter({'b': 1})
    """

    def __init__(
        self, empty: Callable[[], T], *, put: Callable[[T, T], None], take: Callable[[T, T], None]
    ) -> None:
        self.empty = empty
        self.put = put
        self.take = take
        self.values: deque[T] = deque()
        self._total = empty()

    def __len__(self) -> int:
        return len(self.values)

    def push(self, value: T) -> None:
        """Append a value."""
        self.put(self._total, value)
        self.values.append(value)

    def pop(self) -> T:
        """Take the oldest value away."""
        gone = self.values.popleft()
        if self.values:
            self.take(self._total, gone)
        else:
            # Begin anew, so that rounding does not outlive the rows it came from.
            self._total = self.empty()
        return gone

    def total(self) -> T | None:
        """Merge of all values, which the queue goes on changing; None of nothing."""
        return self._total if self.values else None

    def parts(self) -> tuple[list[T], list[int]]:
        """All that is held, and how it is laid out."""
        return [*self.values, self._total], []

    def restore(self, values: list[T], layout: list[int]) -> None:
        """Take what `parts` gave."""
        self.values, self._total = deque(values[:-1]), values[-1]
