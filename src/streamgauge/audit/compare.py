"""Compare: the bars of one query beside the exact answers of its shadow, instant by instant."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa

from streamgauge.contracts.answer import EMPTY
from streamgauge.kernel.time import SECOND
from streamgauge.log.home import Home
from streamgauge.plan.shadows import EXACT_SHADOW, TICKS_SHADOW
from streamgauge.results.change_log import epoch_answers

# Difference that rounding explains, as a part of the numbers compared.
ROUNDING = 1e-9
# Ticks from which on a standing answer counts as one whole unit; shorter ones count for less.
WHOLE_TICKS = 16
_COLUMNS = ("query", "version", "group", "value", "low", "high", "confidence", "revision",
            "coverage", "basis", "slope")  # fmt: skip


class Row(NamedTuple):
    """An answer as it is compared."""

    as_of: int
    query: str
    version: int
    group: str
    value: float | None
    low: float
    high: float
    confidence: float
    revision: int
    coverage: float
    basis: str
    slope: float

    @property
    def usable(self) -> bool:
        """Whether there is a value that a silence does not put in doubt."""
        known = self.value is not None and not math.isnan(self.value)
        return known and self.basis != "interrupted" and not self.revision

    @property
    def ends_group(self) -> bool:
        """Whether its group has left: nothing stands after it."""
        return bool(self.group) and self.basis == EMPTY

    def tells(self, answer: Row) -> bool:
        """Whether this is a truth that an answer can be compared with: a number, of as much.

        Two exact sums differ by the rounding of what was summed, which is not known here: of a sum
        of nothing but debits and credits that is all there is.
        """
        if not (self.usable and answer.usable) or self.coverage != answer.coverage:
            return False
        if answer.basis == "exact" and answer.low == answer.high:
            return False
        return self.value is not None and math.isfinite(self.value)


class Unit(NamedTuple):
    """A stretch that shares its luck: the share of it that was missed, and what was owed."""

    missed: float
    owed: float
    weight: float = 1.0


@dataclass(slots=True)
class Found:
    """What the comparisons of one epoch gave."""

    comparisons: int = 0
    misses: int = 0
    worst: float = 0.0
    sure_misses: int = 0
    units: list[Unit] = field(default_factory=list)
    last: int = 0

    def judge(self, answer: Row, truth: float, at: int) -> bool:
        """Compare a bar with the truth at an instant; whether it missed."""
        ahead = answer.slope * (at - answer.as_of) / SECOND
        low, high = answer.low + ahead, answer.high + ahead
        assert answer.value is not None
        sizes = [abs(n) for n in (truth, low, high) if math.isfinite(n)]
        room = ROUNDING * max(sizes)
        missed = not low - room <= truth <= high + room
        error = truth - answer.value - ahead
        if abs(error) > room:
            side = high - answer.value - ahead if error > 0.0 else answer.value + ahead - low
            self.worst = max(self.worst, abs(error) / side if side > 0.0 else math.inf)
        self.comparisons += 1
        self.misses += missed
        self.sure_misses += missed and answer.confidence >= 1.0
        self.last = at
        return missed


def rows_of(home: Home, epoch: int, names: Iterable[str]) -> dict[str, list[Row]]:
    """Answers of some queries and of their shadows, by name, in the order of event time."""
    wanted = {p + name for name in names for p in ("", EXACT_SHADOW, TICKS_SHADOW)}
    few = epoch_answers(home, epoch, wanted)
    found: dict[str, list[Row]] = {}
    times = few["as_of"].cast(pa.int64()).to_pylist()
    columns = [few[name].to_pylist() for name in _COLUMNS]
    for row in map(Row, times, *columns):
        found.setdefault(row.query, []).append(row)
    return found


class StandingBars:
    """Comparison of answers that stand until the next: at every tick with rows.

    A unit is one standing answer of the group that is followed, from its beginning to its end.

    Parameters
    ----------
    throughout
        Whether an answer must hold all the time; then it is missed or not as a whole.
    follow
        Order of groups: the first of those that come first is followed.
    """

    def __init__(self, throughout: bool, follow: Any = None) -> None:
        self.throughout = throughout
        self.follow = follow or (lambda group: group)
        self._chosen: str | None = None
        self._held: dict[str, Row] = {}
        self._truth: dict[str, Row] = {}
        self._ticks = self._missed = 0
        self._whole = False

    def take(self, answers: list[Row], exact: list[Row], ticks: list[Row]) -> Found:
        """Go through an epoch; what the whole units in it gave."""
        found = Found()
        if self._chosen is None and exact and answers:
            self._chosen = min({row.group for row in answers}, key=self.follow)
        events = [(row.as_of, 0, row) for row in answers]
        events += [(row.as_of, 1, row) for row in exact]
        events += [(row.as_of, 2, row) for row in ticks]
        # Of one instant, answers first, then the truth, then the comparison.
        events.sort(key=lambda event: event[:2])
        for at, kind, row in events:
            if kind == 0:
                self._answer(row, found)
            elif kind == 1:
                self._truth[row.group] = row
            else:
                self._tick(at, found)
            if kind < 2 and row.ends_group:
                self._end(row.group, self._truth if kind else self._held)
        return found

    def _end(self, group: str, kept: dict[str, Row]) -> None:
        """Nothing stands for a group that has left; another one is followed in its place."""
        del kept[group]
        if group == self._chosen and kept is self._held:
            self._chosen, self._whole = None, False

    def leave(self) -> None:
        """Forget what stands: the query pauses, and what comes meanwhile is not looked at."""
        self._held, self._truth, self._whole = {}, {}, False

    def _answer(self, row: Row, found: Found) -> None:
        if row.group == self._chosen:
            before = self._held.get(row.group)
            if self._whole and self._ticks and before is not None:
                found.units.append(self._unit(before))
            self._ticks = self._missed = 0
            # Only what is compared from its first tick on is a fair part of the promise.
            self._whole = bool(self._truth)
        self._held[row.group] = row

    def _unit(self, answer: Row) -> Unit:
        owed = 1.0 - answer.confidence
        if self.throughout:
            return Unit(float(self._missed > 0), owed)
        weight = min(1.0, self._ticks / WHOLE_TICKS)
        return Unit(self._missed / self._ticks, owed, weight)

    def _tick(self, at: int, found: Found) -> None:
        for group, answer in self._held.items():
            truth = self._truth.get(group)
            if truth is None or not truth.tells(answer):
                continue
            assert truth.value is not None
            missed = found.judge(answer, truth.value, at)
            if group == self._chosen:
                self._ticks += 1
                self._missed += missed


class WindowBars:
    """Comparison of answers that are each of their own window.

    A unit is a stretch as long as the window, and the next begins where it shares no row with it;
    without a length each instant is a unit.

    Parameters
    ----------
    length
        Event time that a window reaches back.
    on_change
        Whether the shadow answers on change, so that its last answer holds until the next.
    """

    def __init__(self, length: int | None, on_change: bool) -> None:
        self.length = length
        self.on_change = on_change
        self._truth: dict[str, Row] = {}
        self._begun: int | None = None
        self._last = -math.inf
        self._shares: list[float] = []
        self._owed = 0.0

    def take(self, answers: list[Row], exact: list[Row], _ticks: list[Row]) -> Found:
        """Go through an epoch; what the whole units in it gave."""
        found = Found()
        events = [(row.as_of, 1, row) for row in answers if not row.revision]
        events += [(row.as_of, 0, row) for row in exact if not row.revision]
        events.sort(key=lambda event: event[:2])
        at: int | None = None
        missed: list[bool] = []
        for now, is_answer, row in events:
            if now != at:
                self._instant(at, missed, found)
                at, missed = now, []
            if not is_answer:
                self._truth[row.group] = row
                continue
            truth = self._truth.get(row.group)
            if truth is None or not truth.tells(row):
                continue
            if not (self.on_change or truth.as_of == now):
                continue
            assert truth.value is not None
            missed.append(found.judge(row, truth.value, now))
            self._owed = max(self._owed, 1.0 - row.confidence)
        self._instant(at, missed, found)
        return found

    def leave(self) -> None:
        """Forget the truth and the unit in work: the query pauses."""
        self._truth, self._begun, self._shares = {}, None, []

    def _instant(self, at: int | None, missed: list[bool], found: Found) -> None:
        if at is None or not missed:
            return
        share = sum(missed) / len(missed)
        if self.length is None:
            found.units.append(Unit(share, self._owed))
            return
        if self._begun is not None and at >= self._begun + self.length:
            found.units.append(Unit(sum(self._shares) / len(self._shares), self._owed))
            self._begun, self._shares = None, []
        if self._begun is None and at - self.length >= self._last:
            self._begun = at
        if self._begun is not None:
            self._shares.append(share)
            self._last = at
