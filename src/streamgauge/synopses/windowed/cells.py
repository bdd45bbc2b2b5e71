"""CellsLane: a table of counters over a sliding window; cells that are empty cost nothing."""

from __future__ import annotations

import numpy as np

from streamgauge.synopses.synopsis import Arrays, Ints, Values
from streamgauge.synopses.windowed.clock import Between, Lane
from streamgauge.synopses.windowed.counter import EhCounter


class CellsLane(Lane):
    """Exponential histograms in the place of the numbers of a table.

    Parameters
    ----------
    window
        Longest window that can be asked for.
    epsilon
        Relative error of each counter.

    Examples
    --------
    >>> cells = CellsLane(window=100, epsilon=0.1)
    >>> cells.add(np.array([5, 7, 5]), np.array([1, 2, 3]))
    >>> cells.value(5, edge=0).value, cells.value(6, edge=0).value
    (2.0, 0.0)
    """

    def __init__(self, window: int, epsilon: float) -> None:
        self.window = window
        self.epsilon = epsilon
        self.counters: dict[int, EhCounter] = {}

    @property
    def buckets(self) -> int:
        """Buckets of all counters."""
        return sum(counter.buckets for counter in self.counters.values())

    def add(self, cells: Ints, times: Ints) -> None:
        """Count rows of ascending times, each in its cell."""
        order = np.argsort(cells, kind="stable")
        sorted_cells, sorted_times = cells[order], times[order]
        starts = np.flatnonzero(np.diff(sorted_cells, prepend=sorted_cells[0] - 1))
        stops = np.append(starts[1:], len(cells))
        for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
            cell = int(sorted_cells[start])
            if cell not in self.counters:
                self.counters[cell] = EhCounter(self.window, self.epsilon)
            self.counters[cell].add(sorted_times[start:stop])

    def value(self, cell: int, edge: int) -> Between:
        """How many rows of a cell are newer than `edge`."""
        counter = self.counters.get(cell)
        return Between(0.0, 0.0, 0.0) if counter is None else counter.value(edge)

    def expire(self, edge: int) -> None:
        """Let go the buckets of which nothing is newer than `edge`, and cells without any."""
        for counter in self.counters.values():
            counter.expire(edge)
        self.counters = {cell: held for cell, held in self.counters.items() if not held.empty}

    def saved(self) -> tuple[Values, Arrays]:
        """Cells with their totals, and the times of all buckets one after the other."""
        ordered = sorted(self.counters.items())
        held = [counter for _, counter in ordered]
        times = np.concatenate([np.empty(0, np.int64), *(counter.times for counter in held)])
        arrays: Arrays = {
            "cells": np.array([cell for cell, _ in ordered], np.int64),
            "totals": np.array([counter.total for counter in held], np.int64),
            "firsts": np.array([counter.first for counter in held], np.int64),
            "lengths": np.array([counter.buckets for counter in held], np.int64),
            "times": times,
        }
        return {}, arrays

    def load(self, values: Values, arrays: Arrays) -> None:
        """Take state as saved."""
        self.counters = {}
        parts = np.split(arrays["times"], np.cumsum(arrays["lengths"])[:-1])
        columns = (arrays[name].tolist() for name in ("cells", "totals", "firsts"))
        for cell, total, first, times in zip(*columns, parts, strict=False):
            counter = EhCounter(self.window, self.epsilon)
            counter.load({"total": total, "first": first}, {"times": times.copy()})
            self.counters[cell] = counter
