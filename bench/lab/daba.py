"""DABA: a queue that always knows the merge of all it holds, with no slow moment.

Like two stacks, but the turn of the back is done a step at a time while values come and go, so
every single operation takes a constant number of merges. The values lie in one line, cut into

    oldest | left | right | accumulated | back | newest

Beside each value of `oldest` lies the merge of all from it to the end of the front; beside those of
`left` the merge up to the end of left; beside those of `right` the merge from the start of right;
beside those of `accumulated` the merge up to its end; beside those of the back the merge from the
start of the back. Each operation moves the cuts by one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Daba(Generic[T]):
    """A queue with the merge of its values, in a constant number of merges at worst.

    Parameters
    ----------
    merge
        Merge of two values, the older one first; it must not change either. It need not commute.

    Examples
    --------
    >>> queue = Daba(lambda one, two: one + two)
    >>> for letter in "abc":
    ...     queue.push(letter)
    >>> queue.pop()
    'a'
    >>> queue.total()
    'bc'
    """

    def __init__(self, merge: Callable[[T, T], T]) -> None:
        self.merge = merge
        self.values: deque[T] = deque()
        self.merged: deque[T] = deque()
        # Cuts, counted from the oldest value: start of left, right, accumulated and back.
        self.left = self.right = self.accumulated = self.back = 0

    def __len__(self) -> int:
        return len(self.values)

    def push(self, value: T) -> None:
        """Append a value: at most four merges."""
        behind = self.back < len(self.values)
        self.merged.append(self.merge(self.merged[-1], value) if behind else value)
        self.values.append(value)
        self._step()

    def pop(self) -> T:
        """Take the oldest value away: at most three merges."""
        gone = self.values.popleft()
        self.merged.popleft()
        self.left -= 1
        self.right -= 1
        self.accumulated -= 1
        self.back -= 1
        self._step()
        return gone

    def total(self) -> T | None:
        """Merge of all values, None of nothing: at most one merge."""
        if not self.values:
            return None
        if self.back == 0:
            return self.merged[-1]
        front = self.merged[0]
        return front if self.back == len(self.values) else self.merge(front, self.merged[-1])

    def parts(self) -> tuple[list[T], list[int]]:
        """All that is held, and how it is laid out."""
        return [*self.values, *self.merged], [self.left, self.right, self.accumulated, self.back]

    def restore(self, values: list[T], layout: list[int]) -> None:
        """Take what `parts` gave."""
        half = len(values) // 2
        self.values, self.merged = deque(values[:half]), deque(values[half:])
        self.left, self.right, self.accumulated, self.back = layout

    def _step(self) -> None:
        end = len(self.values)
        if self.back <= 0:
            # The front is empty: the back, of one value at most, becomes it.
            self.left = self.right = self.accumulated = self.back = end
            return
        if self.left == self.back:
            # All of the front is done: the back is turned over from here on.
            self.left, self.right, self.accumulated, self.back = 0, self.back, end, end
        if self.left == self.right:
            self.left += 1
            self.right += 1
            self.accumulated += 1
        else:
            self._shrink()

    def _shrink(self) -> None:
        """Bring one value of left to its final merge, and one of right to accumulated."""
        parts = [self.merged[self.left]]
        if self.right < self.accumulated:
            parts.append(self.merged[self.accumulated - 1])
        if self.accumulated < self.back:
            parts.append(self.merged[self.accumulated])
        total = parts[0]
        for part in parts[1:]:
            total = self.merge(total, part)
        place = self.accumulated - 1
        value = self.values[place]
        if self.accumulated < self.back:
            value = self.merge(value, self.merged[self.accumulated])
        self.merged[place] = value
        self.merged[self.left] = total
        self.left += 1
        self.accumulated = place
