"""One store fed tick by tick to many selections, for the workload `promise`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from bench.promise_data import Store, Stores
from bench.promise_measures import Clock
from streamgauge.promise.summary import Summary

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

# Shares of rows that a selection passes, as in the paper.
LEAST, MOST = 0.05, 0.10
SEED = 5


@dataclass(frozen=True, slots=True)
class Fed:
    """Rows of one store, tick by tick, and the selections over them.

    With a `text` the selections are regular expressions over it, which take a hundred times as long
    to test and say nothing of the items that they are about.
    """

    name: str
    tick: int
    item: Floats
    value: Floats
    enter: Ints
    starts: Ints
    spans: Floats
    text: pa.Array | None = None

    @classmethod
    def of(
        cls, stores: Stores, queries: int, ticks: int, *, crowd: int = 1, dear: bool = False
    ) -> Fed:
        """The first ticks of the first store, and so many ranges of items.

        Parameters
        ----------
        stores, queries, ticks
            Whose rows, how many ranges, how many ticks.
        crowd
            A tick has so many hundred rows.
        dear
            Ranges are given as regular expressions.
        """
        clock = Clock.of(stores)
        store: Store = stores.sides[0]
        # A tick has the rows of both; of one store alone it is twice as long.
        tick = 2 * crowd * clock.tick
        enter = -(-store.ts // tick)
        upto = int(np.searchsorted(enter, enter[0] + ticks))
        item, enter = store.item[:upto].astype(np.float64), enter[:upto]
        starts = np.append(np.flatnonzero(np.diff(enter, prepend=-1)), upto)
        value = store.value[:upto]
        spans = ranges(item, queries, SEED)
        text = described(store.item[:upto]) if dear else None
        return cls(stores.name, tick, item, value, enter, starts, spans, text)

    @property
    def ticks(self) -> int:
        """Ticks with rows."""
        return len(self.starts) - 1

    def passing(self, query: int) -> Bools:
        """Rows that a selection passes."""
        low, high = self.spans[query]
        return np.asarray((self.item >= low) & (self.item <= high))

    def test(self, query: int) -> Callable[[Ints], Bools]:
        """The same of rows by their serial numbers, looked at one probe each."""
        look = self.looks(query)
        if self.text is None:
            return lambda serial: look(self.item[serial])
        text = self.text
        return lambda serial: look(text.take(pa.array(serial)))

    def looks(self, query: int) -> Callable[[Any], Bools]:
        """A selection as it is tested on a column of rows."""
        low, high = self.spans[query]
        if self.text is None:
            return lambda rows: np.asarray((rows >= low) & (rows <= high))
        between = np.unique(self.item[self.passing(query)]).astype(np.int64).tolist()
        pattern = f"item ({'|'.join(map(str, between))}),"
        return lambda rows: np.asarray(
            pc.match_substring_regex(rows, pattern).to_numpy(zero_copy_only=False)
        )

    def rows(self, start: int, stop: int) -> Any:
        """The column that selections are tested on, from one row to another."""
        if self.text is None:
            return self.item[start:stop]
        return self.text.slice(start, stop - start)

    def summary(self) -> Summary:
        """Of the items: granularities from six ticks on."""
        return Summary("items", "store", "item", 6 * self.tick, rate=2, depth=2)


def described(item: Ints) -> pa.Array:
    """Items as a text that has to be searched for them.

    >>> described(np.array([7])).to_pylist()
    ['a line of a basket: one piece of item 7, sold over the counter']
    """
    names = pa.array(item).cast(pa.string())
    before, after = "a line of a basket: one piece of item ", ", sold over the counter"
    return pc.binary_join_element_wise(before, names, after, "")


def ranges(item: Floats, queries: int, seed: int) -> Floats:
    """Ranges of items that hold five to ten per cent of the rows each, evenly drawn.

    >>> found = ranges(np.arange(1000.0), 3, 1)
    >>> bool(((found[:, 1] - found[:, 0] >= 49) & (found[:, 1] - found[:, 0] < 100)).all())
    True
    """
    rng = np.random.default_rng(seed)
    names, counts = np.unique(item, return_counts=True)
    below = np.concatenate(([0.0], np.cumsum(counts) / len(item)))
    found: list[tuple[float, float]] = []
    for _ in range(10_000):
        start = int(rng.integers(len(names)))
        wanted = below[start] + rng.uniform(LEAST, MOST)
        stop = int(np.searchsorted(below, wanted))
        if stop < len(below) and LEAST <= below[stop] - below[start] <= MOST:
            found.append((float(names[start]), float(names[stop - 1])))
        if len(found) == queries:
            break
    # Few values, few ranges: then they are asked for more than once.
    return np.array([found[k % len(found)] for k in range(queries)]) if found else np.empty((0, 2))
