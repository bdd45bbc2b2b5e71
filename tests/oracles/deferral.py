"""What deferred queries answer, by definition: tick by tick and cell by cell, in plain Python.

Slow, and meant to be read beside `docs/reference/semantics.md`. It shares with the engines the law
of deadlines and the small functions by which a timer learns, nothing else.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import NormalDist, median

import numpy as np

from streamgauge.contracts.answer import Answer
from streamgauge.drift import regime as costs
from streamgauge.drift.answer import ONE, PATIENCE
from streamgauge.drift.block import AGAIN, LENGTH
from streamgauge.drift.cells import REGIMES, TIMER, WATCH
from streamgauge.drift.deadline import ABOVE, wait
from streamgauge.drift.evaluate import Reading
from streamgauge.drift.peaks import WINDOWS, vouched
from streamgauge.drift.timer import compare, judge, learn, next_due, plan, slope_of, stirred
from streamgauge.kernel.hashing import uniform
from streamgauge.operators.emission import ALWAYS, NEVER
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Registry, Standing
from streamgauge.streams.stream import Stream
from tests.oracles.deferral_cells import (
    Asked,
    Cell,
    Landing,
    Path,
    answer_of,
    checked,
    end_of,
    is_deferred,
    key_of,
    time_of,
    total_of,
)
from tests.oracles.windows import USED, Landed

REVIEW, RECENT = 4096, 64
_NONE = Reading(math.nan, 0.0, 0.0, 0.0, 0, 0, 0.0, math.nan, math.nan)


@dataclass
class Piece:
    """The models of all series in one column, and the queries that rest on them."""

    stream: Stream
    x: str | None
    asked: dict[tuple[int, int], Asked] = field(default_factory=dict)
    paths: dict[str, Path] = field(default_factory=dict)
    newest: dict[str, Landed] = field(default_factory=dict)
    first: int = 0
    ticks: int = 0
    rows: int = 0
    recent: list[int] = field(default_factory=list)
    spacing: float = 1.0
    past: bool = False

    @property
    def gap(self) -> float:
        """The declared gap in ticks; 0 without one."""
        return (self.stream.expected_gap or 0) / self.stream.tick

    @property
    def limit(self) -> int:
        """Ticks without a row after which a series may be gone."""
        return max(self.stream.keep, self.stream.expected_gap or 0) // self.stream.tick

    def seat(
        self, registry: Registry, queries: Sequence[Standing], closed: int | None
    ) -> Iterator[tuple[Standing, Answer]]:
        """Let changes take effect: versions come and go, tables are read again."""
        kept = {}
        for standing in queries:
            key = standing.id, standing.version
            born = int(ALWAYS) if standing.query.history or closed is None else closed
            asked = self.asked.get(key) or Asked(standing, self.stream, born)
            asked.standing, kept[key] = standing, asked
            for cell in asked.seat(registry):
                assert closed is not None, "a cell has answered at a closed tick"
                yield standing, end_of(asked, cell, closed, 1.0, 0)
        self.asked = kept

    def learn(self, history: Landing, closed: int, *, fresh: bool) -> None:
        """Let a new piece, or extremes that are new in it, see what the history holds."""
        if not any(row.tick <= closed for row in history.rows):
            return
        if fresh or any(asked.hungry() for asked in self.asked.values()):
            past = self
            if not fresh:
                past = Piece(self.stream, self.x, self.asked, {}, dict(self.newest), past=True)
            for tick in sorted({row.tick for row in history.rows if row.tick <= closed}):
                list(past.step(history, tick, 0, answering=False))
        self._settle()

    def advance(
        self, history: Landing, after: int | None, upto: int, epoch: int
    ) -> Iterator[tuple[Standing, Answer]]:
        """Answers at the ticks after one, up to another."""
        for tick in checked(history.stream, history.rows, after, upto):
            yield from self.step(history, tick, epoch, answering=True)
            self._settle()

    def _settle(self) -> None:
        for asked in self.asked.values():
            asked.filled = True
            for cell in asked.cells.values():
                cell.filled = True

    def step(
        self, history: Landing, tick: int, epoch: int, *, answering: bool
    ) -> Iterator[tuple[Standing, Answer]]:
        """Take the rows of a tick in, and evaluate what is due."""
        rows = [row for row in history.rows if row.tick == tick]
        self.first = min(row.tick for row in history.rows)
        self._take(tick, rows)
        for asked in self.asked.values():
            self._welcome(asked)
            for cell in asked.cells.values():
                learns = answering or (not cell.filled and asked.query.history)
                if rows and asked.window and learns:
                    self._remember(asked, cell, tick)
                if answering and asked.standing.status == "running":
                    found = self.read(asked, cell, tick)
                    if found.known and self._evaluate(asked, cell, tick, found, epoch):
                        yield asked.standing, answer_of(asked, cell, found, epoch)
                    elif not found.known and asked.query.group_by and cell.kept["evaluations"]:
                        yield from self._outlast(asked, cell, tick, epoch)
        self._pass(tick, len(rows))

    def _take(self, tick: int, rows: Sequence[Landed]) -> None:
        """Newest rows of series, and late rows that would have been."""
        best: dict[str, Landed] = {}
        for path in self.paths.values():
            path.before = None if path.row is None else path.tick
        for row in sorted(rows, key=time_of):
            name = "|".join(str(row.values[column]) for column in self.stream.key)
            path = self.paths.setdefault(name, Path(gap=self.gap or math.inf))
            held = self.newest.get(name)
            if row.fate in USED and (held is None or time_of(row) >= time_of(held)):
                self.newest[name] = row
            if math.isnan(self._value(row)) or (path.row and row.ts < path.row.ts):
                continue
            if row.fate in USED:
                best[name] = row
            elif path.late is None or row.ts >= path.late.ts:
                path.late, path.late_value = row, self._value(row)
        for name, row in best.items():
            self.paths[name].take(tick, row, self._value(row))
        for path in self.paths.values():
            if path.row and path.late and path.late.ts < path.row.ts:
                path.late = None

    def _value(self, row: Landed) -> float:
        """The cell as a number, NaN where there is none; of text only counts are asked."""
        cell = 1.0 if self.x is None else row.values.get(self.x)
        if isinstance(cell, str):
            return 1.0
        return math.nan if cell is None else float(cell)

    def _welcome(self, asked: Asked) -> None:
        """Cells of the groups that series are in."""
        for row in sorted(self.newest.values(), key=lambda row: row.arrival):
            group = tuple(row.values.get(column) for column in asked.query.group_by)
            text = json.dumps(list(group), default=str)
            if group and text not in asked.cells:
                asked.cells[text] = asked.new_cell(group, None)

    def members(self, asked: Asked, cell: Cell) -> list[tuple[str, float]]:
        """Members of a cell with their weights, in the order in which they are added."""
        if cell.listed is not None:
            return cell.listed
        by = asked.query.group_by
        return [
            (name, 1.0)
            for name in sorted(self.paths)
            if not by or (name in self.newest and key_of(self.newest[name], by) == cell.group)
        ]

    def read(self, asked: Asked, cell: Cell, tick: int) -> Reading:
        """The value of a cell at a tick, with its model."""
        found, there = [], not asked.query.group_by
        for name, weight in self.members(asked, cell):
            path = self.paths.get(name)
            if path is None or path.row is None or path.tick <= asked.born:
                continue
            value, doubt, silent = path.at(tick)
            there |= not path.gone(tick, self.limit)
            other = value + (0.0 if path.late is None else path.late_value - path.value)
            found.append((weight, path, value, doubt, silent, other))
        if not found or not there:
            return _NONE
        op = asked.query.select.name
        known, silent_ones = len(found), sum(silent for *_, silent, _ in found)
        span = min(path.span for _, path, *_ in found)
        if op == "count":
            n = float(known)
            return Reading(n, 0.0, 0.0, span, known, 0, 0.0, n, n)
        if op in ("min", "max"):
            pick = min if op == "min" else max
            value, other = pick(f[2] for f in found), pick(f[5] for f in found)
            held = pick(path.value for _, path, *_ in found)
            var, unsure = max(f[1].var for f in found), max(f[3] for f in found)
            return Reading(value, 0.0, var, span, known, silent_ones, unsure, other, held)
        value = total_of(w * v for w, _, v, *_ in found)
        other = total_of(w * o for w, *_, o in found)
        mu = total_of(w * path.mu for w, path, *_ in found)
        var = total_of(w * w * path.var for w, path, *_ in found)
        # Deviations add up: who falls silent together may move together.
        unsure = total_of(abs(w) * math.sqrt(doubt) for w, _, _, doubt, *_ in found)
        held = total_of(w * path.value for w, path, *_ in found)
        mass = total_of(w for w, *_ in found) if op == "avg" else 1.0
        if mass == 0.0:
            return _NONE._replace(known=known, silent=silent_ones)
        var, unsure = var / (mass * mass), (unsure / abs(mass)) ** 2
        value, mu, other, held = value / mass, mu / mass, other / mass, held / mass
        return Reading(value, mu, var, span, known, silent_ones, unsure, other, held)

    def _remember(self, asked: Asked, cell: Cell, tick: int) -> None:
        """Keep what rows show; what is carried on over a silence is never kept."""
        value = self.read(asked, cell, tick).held
        if not math.isnan(value) and tick >= asked.opened:
            cell.past.append((tick, float(cell.cells[0]["sign"]) * value))

    def _outlast(
        self, asked: Asked, cell: Cell, tick: int, epoch: int
    ) -> Iterator[tuple[Standing, Answer]]:
        """Answer for a group without series: by what its window still holds, else that it left."""
        sign, held = float(cell.cells[0]["sign"]), cell.inside(tick, asked.window)
        if held:
            peak = sign * max(v for _, v in held)
            found = Reading(peak, 0.0, 0.0, 0.0, 0, 0, 0.0, peak, peak)
            if cell.outside(tick, peak) or self._owed(asked, cell, tick, peak, found):
                cell.note_wait(tick)
                self._publish(asked, cell, tick, peak, 0.0, found, epoch)
                yield asked.standing, answer_of(asked, cell, found, epoch)
        else:
            covered = float(self._coverage(asked, cell, tick, _NONE))
            yield asked.standing, end_of(asked, cell, tick, covered, epoch)
            cell.begin_anew()
        cell.look_at(tick + 1)

    # When a cell is evaluated

    def _evaluate(self, asked: Asked, cell: Cell, tick: int, found: Reading, epoch: int) -> bool:
        """Bring a cell up to date at a tick; say whether that made an answer."""
        m = cell.kept
        timer = m["regime"] == TIMER
        due = cell.memory.due[0] <= tick or self._turns(asked, cell, tick)
        if tick < asked.opened or (timer and not due):
            return False
        value = found.value
        if asked.window:
            sign = float(cell.cells[0]["sign"])
            held = [v for _, v in cell.inside(tick, asked.window)]
            if found.silent:
                held.append(sign * found.value)
            value = sign * max(held, default=math.nan)
            if timer:
                self._time_peak(asked, cell, tick, value, found, epoch)
                return True
        elif timer:
            return self._time(asked, cell, tick, found, epoch)
        if not self._watched(asked, cell, tick, value, found):
            return False
        slope = 0.0
        if asked.query.trend:
            learn(m, tick, value, found.var, cell.eps())
            slope = float(slope_of(m, found))
        cell.note_wait(tick)
        self._publish(asked, cell, tick, value, slope, found, epoch)
        return True

    def _turns(self, asked: Asked, cell: Cell, tick: int) -> bool:
        """Whether a member falls silent at a tick, or is back."""
        prior = self.recent[-1] if self.recent else None
        names = [name for name, _ in self.members(asked, cell) if name in self.paths]
        counted = asked.query.select.name == "count"
        return not counted and any(self.paths[name].turns(prior, tick) for name in names)

    def _time(self, asked: Asked, cell: Cell, tick: int, found: Reading, epoch: int) -> bool:
        """Evaluate by deadline, and set the next one."""
        m, value = cell.kept, found.value
        whole = not cell.listed or found.known == len(cell.listed)
        if math.isnan(value) or not whole or found.span <= 0.0:
            gone = cell.outside(tick, value) or self._owed(asked, cell, tick, value, found)
            if gone:
                self._publish(asked, cell, tick, value, 0.0, found, epoch)
            cell.memory.due[0] = tick + 1
            return gone
        if m["evaluations"] > 0 and m["silent"] == 0 and found.silent == 0:
            sure, throughout = cell.cells[0]["confidence"], cell.cells[0]["throughout"]
            missed, owes = cell.outside(tick, value), cell.eps()
            judge(m, missed, sure, throughout)
            if not throughout:
                compare(m, tick, missed, found, owes)
            learn(m, tick, value, found.var, owes)
        slope = float(slope_of(m, found)) if asked.query.trend else 0.0
        self._publish(asked, cell, tick, value, slope, found, epoch)
        longest = plan(m, cell.cells[0], found, cell.eps(), self.spacing, asked.law)
        if found.silent:
            cell.memory.due[0] = tick + max(1, int(min(longest, self._again())))
        else:
            due = next_due(m, cell.cells[0], tick, longest, self.spacing)
            cell.memory.due[0] = due
        return True

    def _time_peak(
        self, asked: Asked, cell: Cell, tick: int, peak: float, found: Reading, epoch: int
    ) -> None:
        """Evaluate an extreme by deadline: the window lets go of it, or the value passes it."""
        m, sure, sign = cell.kept, cell.cells[0]["confidence"], float(cell.cells[0]["sign"])
        if m["evaluations"] > 0 and m["silent"] == 0 and found.silent == 0:
            judge(m, cell.outside(tick, peak), sure, False)
        cell.note_wait(tick)
        self._publish(asked, cell, tick, peak, 0.0, found, epoch)
        eps = cell.eps()
        rise = eps + sign * (peak - found.value)
        # An extreme that was passed stays wrong; of the paths that pass, half are back.
        never = 0.5 + 0.5 * float(sure)
        var = found.var
        if var == 0.0 and found.span > 0.0:
            var = stirred(eps, found.span)
        passed = wait(asked.law, sign * found.mu, var, rise, found.span, 1.0, never, ABOVE)
        begun = max(self.first - 1, asked.born, asked.opened)
        known = min(float(tick - begun), WINDOWS * float(asked.window))
        most = vouched(float(sure), known, found.span, self.spacing)
        longest = min(cell.leaves(tick, asked.window, eps), passed, most)
        if math.isnan(longest) or math.isnan(passed) or found.span <= 0.0:
            longest = 1.0
        m["trust"] = min(float(m["trust"]), 0.0)
        longest *= math.exp(float(m["trust"]))
        m["wait"] = -max(1.0, longest)
        if found.silent:
            longest = min(longest, float(self._again()))
        cell.memory.due[0] = tick + max(1, int(longest))

    def _watched(self, asked: Asked, cell: Cell, tick: int, value: float, found: Reading) -> bool:
        """Whether a watched cell answers; a miss that its account pays for is let pass."""
        m, share = cell.kept, int((1.0 - float(cell.cells[0]["confidence"])) * ONE)
        if not found.silent:
            m["credit"] = min(int(m["credit"]) + share, PATIENCE * share)
        if self._owed(asked, cell, tick, value, found):
            return True
        if not cell.outside(tick, value):
            return False
        if m["credit"] >= ONE and not asked.query.contract.throughout and not found.silent:
            m["credit"] -= ONE
            return False
        return True

    def _owed(self, asked: Asked, cell: Cell, tick: int, value: float, found: Reading) -> bool:
        """Whether something other than a move asks for an answer."""
        m, late = cell.kept, found.other - found.value
        if m["evaluations"] == 0:
            return True
        if math.isnan(value) or math.isnan(m["value"]):
            return math.isnan(value) != math.isnan(m["value"])
        share = self._coverage(asked, cell, tick, found)
        if share != m["coverage"] and (not asked.window or share == 1.0):
            return True
        if found.silent != m["silent"]:
            return True
        if found.silent:
            return bool(tick - m["since"] >= self._again())
        if late == 0.0:
            return bool(m["below"] > 0.0 or m["above"] > 0.0)
        return bool(max(0.0, -late) > m["below"] or max(0.0, late) > m["above"])

    def _again(self) -> int:
        """Ticks after which an interrupted answer is given again."""
        return max(1, int(self.gap) or int(AGAIN * self.spacing))

    def _coverage(self, asked: Asked, cell: Cell, tick: int, found: Reading) -> np.float32:
        """Share of the members that have a value, and of the window that is known."""
        share = found.known / len(cell.listed) if cell.listed else 1.0
        known = tick - max(self.first - 1, asked.born)
        if known < asked.window < NEVER:
            share *= known / asked.window
        return np.float32(share)

    def _publish(
        self,
        asked: Asked,
        cell: Cell,
        tick: int,
        value: float,
        slope: float,
        found: Reading,
        epoch: int,
    ) -> None:
        """Remember an answer."""
        m, late, contract = cell.kept, found.other - found.value, asked.query.contract
        exact = contract.tolerance == "exact" or contract.confidence >= 1.0
        spread = math.inf if exact else NormalDist().inv_cdf(0.5 + 0.5 * contract.confidence)
        doubt = spread * math.sqrt(found.unsure) if found.unsure > 0.0 else 0.0
        m["value"], m["since"], m["slope"] = value, tick, slope
        m["below"], m["above"] = doubt + max(0.0, -late), doubt + max(0.0, late)
        m["coverage"] = self._coverage(asked, cell, tick, found)
        m["silent"], m["epoch"] = found.silent, epoch
        m["given"] = TIMER if m["regime"] == TIMER else WATCH
        m["evaluations"] += 1

    # Between blocks of ticks

    def _pass(self, tick: int, n_rows: int) -> None:
        """Count a tick; at powers of two, then every so many, estimate and choose regimes."""
        self.ticks, self.rows = self.ticks + 1, self.rows + n_rows
        self.recent = [*self.recent, tick][-RECENT - 1 :]
        power = self.ticks > 1 and self.ticks & (self.ticks - 1) == 0
        if not (power if self.ticks <= LENGTH else self.ticks % LENGTH == 0):
            return
        for path in self.paths.values():
            path.estimate(tick, self.gap)
        self.spacing = float(median(b - a for a, b in pairwise(self.recent)))
        cells = [(asked, cell) for asked in self.asked.values() for cell in asked.cells.values()]
        anew = self.ticks % REVIEW == 0
        if not self.past and (anew or not all(cell.kept["regime"] for _, cell in cells)):
            self._choose(cells, anew=anew)

    def _choose(self, cells: list[tuple[Asked, Cell]], *, anew: bool) -> None:
        """Choose regimes by what they cost, each cell for itself."""
        share = self._watched_share(cells)
        for asked, cell in cells:
            m, n = cell.kept, self._valued(asked, cell)
            if m["evaluations"] == 0:
                continue
            price = costs.WATCHED + costs.WATCHED_MEMBER * n
            if asked.query.regime:
                m["regime"] = REGIMES[asked.query.regime]
            elif asked.window or cell.sure():
                m["regime"] = WATCH
            elif anew or m["regime"] == 0:
                usual = float(m["usual"])
                usual = usual if m["regime"] == TIMER else usual / costs.TIMER_RATE
                once = costs.EVALUATED + costs.EVALUATED_MEMBER * n
                cheaper = usual > 0.0 and once / max(1.0, usual) >= price
                drawn = uniform(cell.cells[0]["draw"], costs.DRAW) < share
                m["regime"] = WATCH if cheaper or drawn else TIMER
            if m["regime"] == WATCH:
                cell.memory.due[0] = ALWAYS

    def _valued(self, asked: Asked, cell: Cell) -> int:
        """Members that have a value."""
        return sum(self.paths.get(n, Path()).row is not None for n, _ in self.members(asked, cell))

    def _watched_share(self, cells: list[tuple[Asked, Cell]]) -> float:
        """Share of the cells that may choose which are watched."""
        prices = [0.0, 0.0]
        for asked, cell in cells:
            n = self._valued(asked, cell) if cell.listed is None else len(cell.listed)
            if asked.query.regime != "timer" and (n or not asked.query.group_by):
                anyway = asked.query.regime == "watch" or asked.window or cell.sure()
                prices[0 if anyway else 1] += costs.WATCHED + costs.WATCHED_MEMBER * n
        return costs.watched_share(self.rows / self.ticks, prices[0], prices[1])


@dataclass
class Deferrals:
    """The deferred queries of all streams."""

    pieces: dict[tuple[str, str | None], Piece] = field(default_factory=dict)

    def seat(
        self, registry: Registry, histories: Mapping[str, Landing], closed: dict[str, int | None]
    ) -> list[tuple[Standing, Answer]]:
        """Let the changes of a page take effect, at the ticks closed before it."""
        ended: list[tuple[Standing, Answer]] = []
        wanted: dict[tuple[str, str | None], list[Standing]] = {}
        for standing in registry.queries.values():
            if isinstance(standing.asked, Query) and is_deferred(standing.asked, registry):
                key = standing.asked.stream, standing.asked.select.x
                wanted.setdefault(key, []).append(standing)
        self.pieces = {key: piece for key, piece in self.pieces.items() if key in wanted}
        for key, queries in wanted.items():
            fresh, last = key not in self.pieces, closed[key[0]]
            piece = self.pieces.setdefault(key, Piece(registry.streams[key[0]], key[1]))
            ended += piece.seat(registry, queries, last)
            if last is not None:
                piece.learn(histories[key[0]], last, fresh=fresh)
        return ended

    def advance(
        self, history: Landing, after: int | None, upto: int | None, epoch: int
    ) -> Iterator[tuple[Standing, Answer]]:
        """Answers of the queries of one stream at the ticks after one, up to another."""
        for (name, _), piece in self.pieces.items():
            if name == history.stream.name and upto is not None:
                yield from piece.advance(history, after, upto, epoch)
