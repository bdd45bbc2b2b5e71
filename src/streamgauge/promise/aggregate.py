"""Aggregates: a count, sum, mean or quantile of a window when not every row can be looked at."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import attrgetter

import numpy as np

from streamgauge.contracts.contract import Contract
from streamgauge.kernel.errors import BindError
from streamgauge.promise.buckets import Array, Bools, Buckets, Floats, Ints, UInts64
from streamgauge.promise.costs import Spent
from streamgauge.promise.interval import (
    FIRST,
    HIGH,
    LOW,
    MATCHED,
    MIDDLE,
    ROWS,
    SURE,
    TAKEN,
    WIDTH,
    Bar,
    mean_bar,
    quantile_bar,
    sum_bar,
    total_of,
)
from streamgauge.promise.priority import name_of, priorities
from streamgauge.promise.promise import Promise
from streamgauge.promise.strata import (
    Pane,
    Predicate,
    Rows,
    allotted,
    ascending,
    estimates,
    from_arrays,
    known_lines,
    parts_of,
    squares,
    summed,
    to_arrays,
)
from streamgauge.promise.summary import Summary

KINDS = ("count", "sum", "avg", "quantile")
CONFIDENCE = 0.95
# Chance of failure of a bar that is owed with certainty.
NEVER = 1e-300


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of the rows of a window.

    Parameters
    ----------
    kind
        count, sum, avg or quantile.
    phi
        Which quantile.
    x
        Name of the column that is added up, as the preference may call it.
    predicate
        What is known of the rows that match.
    contract
        A width lets the work stop when the bar is within it; the confidence is that of the bar.
    panes
        Panes of a window.
    """

    kind: str
    phi: float = 0.5
    x: str = ""
    predicate: Predicate = field(default_factory=Predicate)
    contract: Contract = field(default_factory=lambda: Contract.best(confidence=CONFIDENCE))
    panes: int = 1

    def __post_init__(self) -> None:
        if self.kind not in KINDS or not 0.0 <= self.phi <= 1.0:
            raise BindError(
                "a promising aggregate is a count, sum, avg or quantile with phi in [0, 1]",
                f"got {self.kind}, phi={self.phi:g}",
                "ask for COUNT, SUM, AVG, MEDIAN or QUANTILE, or leave the budget out",
            )

    @property
    def delta(self) -> float:
        """Chance that a bar fails: what the contract allows; without one, one in twenty."""
        if self.contract.confidence < 1.0:
            return 1.0 - self.contract.confidence
        return NEVER if self.bounded else 1.0 - CONFIDENCE

    @property
    def ranked(self) -> bool:
        """Whether rows that match have to be seen one by one."""
        return self.kind == "quantile"

    @property
    def bounded(self) -> bool:
        """Whether a width says when to stop."""
        return self.contract.within > 0.0


class PromisingAggregate:
    """One query.

    Rows are given pane by pane; when a pane is closed, `step` looks at as many as allowed. Which
    ones is decided from summaries and from earlier panes only, so that bars hold.

    Parameters
    ----------
    asked
        What is asked.
    promise
        The preference: how looks are shared among strata.
    summary
        Of the column that strata are cut by.

    Examples
    --------
    >>> promise = Promise("weighted", ())
    >>> summary = Summary("items", "sales", "price", 60_000_000, buckets=4)
    >>> total = PromisingAggregate(Asked("sum"), promise, summary)
    >>> price = np.arange(1000.0)
    >>> rank = np.random.default_rng(1).integers(0, 2**63, 1000).astype(np.uint64)
    >>> total.take(0, np.arange(1000), price, price, rank)
    >>> total.step(0, 200, lambda serial: serial % 2 == 0)
    200
    >>> bar = total.answer(0, 0)
    >>> bar.low < 249_500 < bar.high, bar.share
    (True, 0.2)
    """

    def __init__(self, asked: Asked, promise: Promise, summary: Summary) -> None:
        self.asked = asked
        self.promise = promise
        self.summary = summary
        self.buckets = Buckets(summary.buckets)
        # By number; rows that come after their pane was settled are a part of their own. Panes of
        # which all is known are one line each of `known`, unless a quantile needs their items.
        self.panes: list[Pane] = []
        self.known_at = np.empty(0, np.int64)
        self.known = np.zeros((0, WIDTH))
        self.next = 0
        self.spent = Spent()

    def take(
        self,
        pane: int,
        serial: Ints,
        column: Floats | UInts64,
        x: Floats | None,
        rank: UInts64,
    ) -> None:
        """Rows of an open pane; those whose x is not a finite number are left out.

        Parameters
        ----------
        pane
            Number of the pane.
        serial
            Numbers by which `test` knows the rows.
        column
            Their values of the summarised column: numbers, or hashes of words.
        x
            What is added up; None of a count.
        rank
            A hash of the identity of each row, independent of its contents.
        """
        if x is not None and not (there := np.isfinite(x)).all():
            serial, column, x, rank = serial[there], column[there], x[there], rank[there]
        if not len(serial):
            return
        if x is None or self.asked.kind == "count":
            x = np.ones(len(serial))
        at = bisect_right(self.panes, pane, key=attrgetter("number"))
        if not at or self.panes[at - 1].number != pane or self.panes[at - 1].settled:
            self.panes.insert(at, Pane(pane))
            at += 1
        self.panes[at - 1].wait(Rows(serial, column, x.astype(np.float64), rank))
        self.next = max(self.next, int(serial[-1]) + 1)

    @np.errstate(over="ignore", invalid="ignore")
    def examined(self, pane: Ints, x: Floats | None, match: Bools) -> None:
        """Rows of closed panes that were all tested elsewhere.

        Parameters
        ----------
        pane
            Pane of each row, ascending.
        x
            What is added up; None of a count.
        match
            Whether each row matches.
        """
        if x is not None and not (there := np.isfinite(x)).all():
            pane, x, match = pane[there], x[there], match[there]
        if not len(pane):
            return
        if x is None or self.asked.kind == "count":
            x = np.ones(len(pane))
        start = np.flatnonzero(np.diff(pane, prepend=pane[0] - 1))
        lines = known_lines(start, x, match)
        if not self.asked.ranked:
            self._know(pane[start], lines)
            return
        for number, line, first, size in zip(
            pane[start].tolist(), lines, start, lines[:, ROWS].astype(np.int64), strict=True
        ):
            items = x[first : first + size][match[first : first + size]]
            found = Pane(number, lines=line[None, :], items=items)
            found.items_line = np.zeros(len(items), np.int64)
            self.panes.insert(bisect_right(self.panes, number, key=attrgetter("number")), found)

    def _know(self, numbers: Ints, lines: Floats) -> None:
        """Keep the lines of panes of which all is known."""
        if not len(self.known_at) or numbers[0] >= self.known_at[-1]:
            self.known_at = np.concatenate([self.known_at, numbers])
            self.known = np.concatenate([self.known, lines])
            return
        at = np.searchsorted(self.known_at, numbers, side="right")
        self.known_at = np.insert(self.known_at, at, numbers)
        self.known = np.insert(self.known, at, lines, axis=0)

    @np.errstate(over="ignore", invalid="ignore")
    def step(
        self,
        pane: int,
        probes: int | None,
        test: Callable[[Ints], Bools],
        *,
        insert: float = 0.0,
    ) -> int:
        """All panes up to this one are closed: look at rows of them; return at how many.

        Parameters
        ----------
        pane
            Number of the newest closed pane.
        probes
            Rows that may be looked at; None: all.
        test
            Whether rows, given by their serial numbers, match.
        insert
            Looks that putting one row into strata is worth.
        """
        closed = [found for found in reversed(self.panes) if found.number <= pane]
        older = [found for found in closed if found.left]
        budget = sum(found.rows for found in closed) if probes is None else probes
        chosen: list[tuple[Pane, Ints]] = []
        used = 0
        for found in [found for found in closed if not found.settled]:
            rows = found.rows_waiting
            if rows <= budget - used or self._free:
                used += self._examine(found, test)
                continue
            with self.spent.inserting(rows):
                budget = max(used, budget - math.ceil(insert * rows))
                self._divide(found, budget - used)
                chosen.append((found, self._allotted(found, budget - used)))
            used += int(chosen[-1][1].sum())
        if not self.asked.bounded:
            for found in older:
                if used >= budget:
                    break
                chosen.append((found, self._allotted(found, budget - used)))
                used += int(chosen[-1][1].sum())
        self._look(chosen, test)
        self._retire()
        return used

    def _retire(self) -> None:
        """Panes of which all is known are no more than a line."""
        if self.asked.ranked:
            return
        done = [found for found in self.panes if found.settled and not found.left]
        if done:
            numbers = np.array([found.number for found in done])
            self._know(numbers, np.concatenate([found.lines for found in done]))
            self.panes = [found for found in self.panes if not found.settled or found.left]

    def _divide(self, pane: Pane, budget: int) -> None:
        self.buckets.renew(pane.number, pane.gathered().column)
        pane.divide(self.buckets, self.asked.predicate, budget, ranked=self.asked.ranked)

    @property
    def pending(self) -> int:
        """Rows of settled panes that nobody has looked at."""
        return sum(pane.left for pane in self.panes)

    def floor(self) -> int:
        """First serial number that `test` may still be asked for."""
        asked = (pane.first for pane in self.panes if pane.left or not pane.settled)
        return min(asked, default=self.next)

    def rows(self, first: int, last: int) -> int:
        """Rows taken in the panes from `first` to `last`."""
        known = self.known[self._known_in(first, last), ROWS].sum()
        return int(known) + sum(pane.rows for pane in self.panes if first <= pane.number <= last)

    def _known_in(self, first: int, last: int) -> slice:
        low, high = np.searchsorted(self.known_at, [first, last + 1])
        return slice(int(low), int(high))

    @property
    def _free(self) -> bool:
        """Whether summaries say everything."""
        return self.asked.predicate.everything and not self.asked.ranked

    def _examine(self, pane: Pane, test: Callable[[Ints], Bools]) -> int:
        """Look at every row of a pane, without strata."""
        rows = pane.gathered()
        match = np.ones(len(rows), np.bool_)
        if not self.asked.predicate.everything:
            with self.spent.probing_raw(len(rows)):
                match = test(rows.serial)
        self.panes.remove(pane)
        self.examined(np.full(len(rows), pane.number), rows.x, match)
        return 0 if self._free else len(rows)

    def _look(self, chosen: list[tuple[Pane, Ints]], test: Callable[[Ints], Bools]) -> None:
        """Test the chosen rows of all panes at once, and take note of what was found."""
        places = [pane.chosen(more) for pane, more in chosen]
        count = sum(map(len, places))
        if not count:
            return
        serial = np.concatenate(
            [pane.serial[at] for (pane, _), at in zip(chosen, places, strict=True)]
        )
        match = np.ones(count, np.bool_)
        if not self.asked.predicate.everything:
            order = np.argsort(serial)
            with self.spent.probing(count):
                match[order] = test(serial[order])
        start = 0
        for (pane, more), at in zip(chosen, places, strict=True):
            pane.saw(more, at, match[start : start + len(at)], keep=self.asked.ranked)
            start += len(at)

    def _allotted(self, pane: Pane, budget: int) -> Ints:
        """Rows to look at in each stratum, by the preference; fewer when a width is met sooner."""
        reach = pane.lines[:, ROWS] * self._ranges(pane.lines)
        weights = self._weights(pane, reach)
        if self.promise.order == "asc":
            return ascending(pane.lines, weights, budget)
        more = allotted(pane.lines, weights, reach, budget)
        owed = self._owed(pane.number)
        if owed is None or squares(pane.lines, reach, more) > owed:
            return more
        low, high = 0, budget
        while low < high:
            middle = (low + high) // 2
            more = allotted(pane.lines, weights, reach, middle)
            if squares(pane.lines, reach, more) <= owed:
                high = middle
            else:
                low = middle + 1
        return allotted(pane.lines, weights, reach, high)

    def _ranges(self, lines: Floats) -> Floats:
        """Range of what one row of each stratum can add."""
        if self.asked.ranked:
            return np.ones(len(lines))
        low, high = lines[:, LOW], lines[:, HIGH]
        middle = self._middle(lines) if self.asked.kind == "avg" else 0.0
        sure = lines[:, SURE] > 0
        least = np.where(sure, low - middle, np.minimum(0.0, low - middle))
        most = np.where(sure, high - middle, np.maximum(0.0, high - middle))
        found: Floats = most - least
        return found

    def _middle(self, lines: Floats) -> float:
        """About where a mean lies, by ranges alone."""
        open_lines = lines[lines[:, TAKEN] < lines[:, ROWS]]
        rows = open_lines[:, ROWS]
        total = float(rows.sum())
        return float((rows * open_lines[:, MIDDLE]).sum()) / total if total else 0.0

    def _weights(self, pane: Pane, reach: Floats) -> Floats:
        """What each stratum promises by the preference."""
        rows = pane.lines[:, ROWS] * (pane.lines[:, ROWS] > pane.lines[:, TAKEN])
        if not self.promise.exprs:
            return rows if self.promise.order == "weighted" else reach
        expr = self.promise.exprs[0]
        given = {}
        total = max(1.0, float(rows.sum()))
        for part in parts_of(expr):
            if part.op == "estimate":
                given[name_of(part)] = rows if part.value == "count" else rows / total
            elif part.op == "column":
                own = part.value == self.asked.x
                given[part.value] = pane.lines[:, MIDDLE] if own else pane.column
        return np.abs(priorities(expr, given, len(rows)))

    def _owed(self, number: int) -> float | None:
        """Squares that a pane may leave open so that a window keeps its width; None: any.

        What a width means for a sum is judged by earlier panes only: a bar whose own sample decided
        its size would not hold.
        """
        contract, kind = self.asked.contract, self.asked.kind
        if not self.asked.bounded:
            return None
        within = contract.within
        if kind not in ("count", "sum") or contract.tolerance != "absolute":
            if kind == "quantile" and contract.tolerance != "rank":
                return None
            earlier = [pane for pane in self.panes if pane.number < number and pane.settled]
            known = self._known_in(-(2**62), number - 1)
            count = len(np.unique([*self.known_at[known], *(pane.number for pane in earlier)]))
            if not count:
                return None
            lines = np.concatenate([self.known[known], *(pane.lines for pane in earlier)])
            matched, total = estimates(lines, self.asked.panes / count)
            if contract.tolerance == "relative":
                within *= abs(total)
            else:
                within *= matched
        return 2.0 * within**2 / math.log(4.0 / self.asked.delta) / self.asked.panes

    @np.errstate(over="ignore", invalid="ignore")
    def answer(self, first: int, last: int) -> Bar:
        """What is known of the panes from `first` to `last` that are closed.

        Not a number when no row matches, unless rows are counted.
        """
        panes = [pane for pane in self.panes if first <= pane.number <= last and pane.settled]
        known = self.known[self._known_in(first, last)]
        left = sum(pane.left for pane in panes)
        items = np.concatenate([np.empty(0), *(pane.items for pane in panes)])
        if not left:
            return self._exact(known, items)
        lines = np.concatenate([summed(known), *(pane.lines for pane in panes)])
        rows = float(lines[:, ROWS].sum())
        delta, share = self.asked.delta, (rows - left) / rows
        if self.asked.kind == "avg":
            return mean_bar(lines, delta)._replace(share=share)
        if not self.asked.ranked:
            return sum_bar(lines, delta)._replace(share=share)
        before = np.cumsum([1, *(len(pane.lines) for pane in panes[:-1])])
        line = np.concatenate(
            [pane.items_line + at for pane, at in zip(panes, before, strict=True)]
        )
        return quantile_bar(lines, items, line, self.asked.phi, delta)._replace(share=share)

    def _exact(self, lines: Floats, items: Floats) -> Bar:
        if self.asked.ranked:
            value = math.nan
            if len(items):
                rank = max(1, math.ceil(self.asked.phi * len(items) * (1.0 - 1e-12)))
                value = float(np.sort(items)[rank - 1])
            return Bar(value, value, value)
        matched, total = float(lines[:, MATCHED].sum()), total_of(lines[:, FIRST])
        if self.asked.kind == "avg" and matched:
            total /= matched
        if self.asked.kind != "count" and not matched:
            total = math.nan
        return Bar(total, total, total)

    def forget(self, before: int) -> None:
        """Let go of the panes before a number."""
        if self.panes and self.panes[0].number < before:
            self.panes = [pane for pane in self.panes if pane.number >= before]
        gone = int(np.searchsorted(self.known_at, before))
        if gone:
            self.known_at, self.known = self.known_at[gone:], self.known[gone:]

    @property
    def nbytes(self) -> int:
        """Bytes that are held."""
        return sum(array.nbytes for array in self.to_arrays().values())

    def to_arrays(self) -> dict[str, Array]:
        """State as arrays."""
        return {
            "next": np.array([self.next], np.int64),
            "known_at": self.known_at,
            "known": self.known,
            **self.buckets.to_arrays(),
            **to_arrays(self.panes),
        }

    @classmethod
    def from_arrays(
        cls, asked: Asked, promise: Promise, summary: Summary, arrays: dict[str, Array]
    ) -> PromisingAggregate:
        """Read the state."""
        found = cls(asked, promise, summary)
        found.buckets = Buckets.from_arrays(arrays)
        found.panes = from_arrays(arrays)
        found.next = int(arrays["next"][0])
        found.known_at, found.known = arrays["known_at"].copy(), arrays["known"].copy()
        return found
