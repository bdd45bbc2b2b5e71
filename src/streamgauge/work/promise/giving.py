"""Giving: when the changes of a promising view become answers, as an ordinary view gives them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from streamgauge.operators.delta import Delta, consolidated, joined
from streamgauge.plan.view import View

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(slots=True)
class Owed:
    """Changes that are not given yet: those of a paused view, those before the next period."""

    pending: Delta | None = None

    def due(self, view: View, delta: Delta, prev: int, now: int, *, running: bool) -> Delta | None:
        """What is given for the changes from `prev` to `now`; None while the view is paused."""
        if not running:
            self._wait(view, delta, now)
            return None
        if view.answer.kind == "every" or self.pending is not None:
            delta = self._at_periods(view, delta, prev, now)
        delta = consolidated(delta)
        if view.stream_kind == "istream":
            delta = delta.take(delta.count > 0)
        return delta

    def _wait(self, view: View, delta: Delta, now: int) -> None:
        """Note what a paused relation does not give: it owes the net of it when it goes on."""
        if view.stream_kind:
            return
        waiting = [] if self.pending is None else [self.pending]
        whole = joined([*waiting, delta], delta.rows.schema)
        at = np.full(len(whole), now, np.int64)
        self.pending = consolidated(Delta(whole.rows, at, whole.count))

    def _at_periods(self, view: View, delta: Delta, prev: int, now: int) -> Delta:
        """Changes at the next whole period; those not yet due wait."""
        period = max(1, view.answer.period)
        waiting = [] if self.pending is None else [self.pending]
        self.pending = None
        whole = joined([*waiting, delta], delta.rows.schema)
        at = -(-np.maximum(whole.at, prev) // period) * period
        late = at > now
        whole = Delta(whole.rows, at, whole.count)
        if late.any():
            self.pending = consolidated(whole.take(late))
        return whole.take(~late)


@dataclass(slots=True)
class Late:
    """When late rows that are left out would have been in a window; they are counted as missing."""

    enter: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    leave: Ints = field(default_factory=lambda: np.empty(0, np.int64))

    def add(self, enter: Ints, leave: Ints) -> None:
        """Note more of them."""
        lives = enter < leave
        self.enter = np.concatenate((self.enter, enter[lives]))
        self.leave = np.concatenate((self.leave, leave[lives]))

    def at(self, instants: Ints) -> Ints:
        """How many are missing at some instants."""
        come, go = np.sort(self.enter), np.sort(self.leave)
        came = np.searchsorted(come, instants, side="right")
        return came - np.searchsorted(go, instants, side="right")

    def forget(self, now: int) -> None:
        """Let go of those that would have left."""
        stay = self.leave > now
        if not stay.all():
            self.enter, self.leave = self.enter[stay], self.leave[stay]


def told_at(instants: Ints, ticks: Ints, told: Floats, usual: float) -> Floats:
    """What was told of each instant at its tick, at its usual value where nothing was.

    Examples
    --------
    >>> told_at(np.array([10, 20, 30]), np.array([20]), np.array([0.5]), 1.0)
    array([1. , 0.5, 1. ])
    """
    found = np.full(len(instants), usual)
    if len(ticks):
        place = np.minimum(np.searchsorted(ticks, instants), len(ticks) - 1)
        there = ticks[place] == instants
        found[there] = told[place[there]]
    return found


def carried_at(instants: Ints, ticks: Ints, told: Floats, before: float) -> Floats:
    """What was told last at each instant; what was told `before`, where it is before all ticks.

    Examples
    --------
    >>> carried_at(np.array([10, 20, 30]), np.array([20]), np.array([0.5]), 1.0)
    array([1. , 0.5, 0.5])
    """
    known: Floats = np.append(before, told)
    return known[np.searchsorted(ticks, instants, side="right")]
