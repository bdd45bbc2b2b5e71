"""Buckets: columns of buckets, oldest first, with room for rows not yet swept together.

A row becomes a bucket of its own at the end. When the room is full, one sweep puts neighbours
together; if they then fill more than half of it, the room is doubled. So a row costs a constant,
and when a sweep happens depends on the rows alone, not on how they were cut into batches.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from streamgauge.synopses.synopsis import Arrays, Ints, Values
from streamgauge.synopses.windowed.clock import Lane, alive

ROOM = 64


class BucketLane(Lane):
    """Buckets in columns; the first is `times`, of the newest row of each bucket.

    Parameters
    ----------
    room
        Buckets to make room for at first.
    columns
        Empty arrays, one for each further column, of the right type and width.
    """

    def __init__(self, columns: Arrays, room: int = ROOM) -> None:
        self.n = 0
        # Time of the oldest row ever, since the last silence: what is newer has lost nothing.
        self.first = np.zeros(1, np.int64)
        self.columns: Arrays = {"times": np.zeros(0, np.int64), **columns}
        self._take_room(room)

    @property
    def buckets(self) -> int:
        """How many buckets it holds."""
        return self.n

    @property
    def times(self) -> Ints:
        """Time of the newest row of each bucket."""
        return self.columns["times"][: self.n]

    def held(self, name: str) -> Any:
        """A column, without the room."""
        return self.columns[name][: self.n]

    def fold(self, n_rows: int, append: Callable[[int], tuple[int, int]]) -> None:
        """Append rows with a kernel that stops where it needs more room."""
        start = 0
        while start < n_rows:
            self.n, start = append(start)
            if start < n_rows:
                self._take_room(2 * len(self.columns["times"]))

    def expire(self, edge: int) -> None:
        """Let go the buckets of which nothing is newer than `edge`."""
        place = alive(self.times, edge)
        if place:
            for array in self.columns.values():
                array[: self.n - place] = array[place : self.n].copy()
            self.n -= place

    def across(self, edge: int) -> int:
        """Place of the oldest bucket with rows newer than `edge`."""
        return alive(self.times, edge)

    def saved(self) -> tuple[Values, Arrays]:
        """The buckets, and the room, which says when they are swept next."""
        values = {"first": int(self.first[0]), "room": len(self.columns["times"])}
        return values, {name: self.held(name) for name in self.columns}

    def load(self, values: Values, arrays: Arrays) -> None:
        """Take state as saved."""
        self.n = len(arrays["times"])
        self.first[0] = values["first"]
        self.columns = {name: arrays[name] for name in self.columns}
        self._take_room(values["room"])

    @property
    def nbytes(self) -> int:
        """Bytes of the buckets and of the room."""
        return sum(array.nbytes for array in self.columns.values())

    def _take_room(self, room: int) -> None:
        for name, old in self.columns.items():
            new = np.zeros((room, *old.shape[1:]), old.dtype)
            new[: self.n] = old[: self.n]
            self.columns[name] = new
