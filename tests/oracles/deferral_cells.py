"""Cells of deferred queries and the series they rest on, for the reference; plain Python."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import pyarrow.parquet as pq

from streamgauge.contracts.answer import EMPTY, Answer, Charge
from streamgauge.drift.cells import ASKED, REGIMES, TIMER, Memory, Records, fresh
from streamgauge.drift.deadline import tables
from streamgauge.drift.evaluate import Reading
from streamgauge.drift.paths import BLOCK, BLOCKS, ENOUGH_GAPS, LONGEST, MEAN_GAPS, USUAL_GAPS
from streamgauge.kernel.hashing import mix64
from streamgauge.kernel.keys import items, keys
from streamgauge.kernel.time import HOUR, SECOND
from streamgauge.operators.emission import ALWAYS, NEVER
from streamgauge.plan.bounds import bounded
from streamgauge.plan.latest import deferred
from streamgauge.plan.members import Members
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Registry, Standing
from streamgauge.streams.stream import Stream
from tests.oracles.windows import Group, Landed, passes

_FEWEST = 100.0


class Landing(Protocol):
    """All that arrived in one stream, each row with its tick of effect and its fate."""

    stream: Stream
    rows: list[Landed]


@dataclass
class Path:
    """One series: its newest row, its increments in blocks, the estimate that rests on them."""

    row: Landed | None = None
    value: float = math.nan
    tick: int = 0
    late: Landed | None = None
    late_value: float = math.nan
    blocks: list[list[tuple[float, float]]] = field(default_factory=lambda: [[]] * BLOCKS)
    held: int = 0
    mu: float = 0.0
    var: float = 0.0
    span: float = 0.0
    gap: float = math.inf
    before: int | None = None
    estimated: int | None = None
    due: int | None = None

    def take(self, tick: int, row: Landed, value: float) -> None:
        """Let the newest row of a tick take effect."""
        if self.row is not None:
            if len(self.blocks[self.held]) >= BLOCK:
                self.held = (self.held + 1) % BLOCKS
                self.blocks[self.held] = []
            move = (float(tick - self.tick), value - self.value)
            self.blocks[self.held] = [*self.blocks[self.held], move]
        self.row, self.value, self.tick = row, value, tick

    def estimate(self, now: int, declared: float) -> None:
        """Estimate drift and variance anew where that is due."""
        moves = [move for block in self.blocks for move in block]
        if self.row is None or len(moves) < 2 or (self.due is not None and self.due > now):
            return
        n, time = float(len(moves)), sum(gap for gap, _ in moves)
        mu = sum(sum(move for _, move in block) for block in self.blocks) / time
        squares = sum(sum((m * m / gap for gap, m in block), 0.0) for block in self.blocks)
        var = max(0.0, squares - mu * mu * time) / (n - 1.0)
        rest = LONGEST * time / n
        if self.estimated is not None and var > 0.0:
            rest = min(math.sqrt(self.var / var) * (now - self.estimated), rest)
        if n < _FEWEST:
            rest = min(rest, 0.5 * time)
        self.mu, self.var, self.span = mu, var, time
        self.gap = declared or self._learned()
        self.estimated, self.due = now, now + int(rest)

    def _learned(self) -> float:
        """Longest gap that is no silence yet."""
        widths = sorted(max(gap for gap, _ in block) for block in self.blocks if block)
        gaps = [gap for block in self.blocks for gap, _ in block]
        if len(gaps) < ENOUGH_GAPS:
            return max(MEAN_GAPS * sum(gaps) / len(gaps), USUAL_GAPS * widths[-1])
        return USUAL_GAPS * widths[-2]

    def turns(self, prior: int | None, tick: int) -> bool:
        """Whether the series falls silent at a tick, or is back, since the tick walked before."""
        was = self.before is not None and prior is not None and prior - self.before > self.gap
        return was != (self.row is not None and tick - self.tick > self.gap)

    def gone(self, tick: int, limit: int) -> bool:
        """Whether it has sent no row for longer than a limit and than it usually does not."""
        quiet = tick - self.tick
        return quiet > limit and (math.isinf(self.gap) or quiet > self.gap)

    def at(self, tick: int) -> tuple[float, float, bool]:
        """The value as it is known at a tick, the variance of its error, whether it is silent."""
        quiet = float(tick - self.tick)
        if quiet <= self.gap:
            return self.value, 0.0, False
        if self.span <= 0.0:
            return self.value, math.inf, True
        unsure = self.var * (quiet + quiet * quiet / self.span)
        return self.value + self.mu * quiet, unsure, True


@dataclass
class Cell:
    """One answer: who belongs to it, what is asked as a timer takes it, what it remembers.

    `past` are the values that an extreme is taken of.
    """

    group: Group
    listed: list[tuple[str, float]] | None
    cells: Records
    filled: bool = False
    memory: Memory = field(default_factory=lambda: fresh(1))
    past: list[tuple[int, float]] = field(default_factory=list)

    @property
    def kept(self) -> Any:
        """What it remembers, but for its deadline."""
        return self.memory.cell[0]

    def eps(self) -> float:
        """Width that is owed around the answer."""
        width = float(self.cells[0]["width"])
        return width * abs(float(self.kept["value"])) if self.cells[0]["relative"] else width

    def sure(self) -> bool:
        """Whether its contract cannot fail."""
        return bool(self.cells[0]["width"] == 0.0 or self.cells[0]["confidence"] >= 1.0)

    def outside(self, tick: int, value: float) -> bool:
        """Whether a value is further from what a reader holds than is owed."""
        m = self.kept
        held = float(m["value"]) + float(m["slope"]) * (tick - int(m["since"]))
        return abs(value - held) > self.eps()

    def note_wait(self, tick: int) -> None:
        """Remember how long answers last."""
        m = self.kept
        if m["evaluations"] > 0:
            lasted, usual = float(tick - m["since"]), float(m["usual"])
            m["usual"] = lasted if usual == 0.0 else usual + (lasted - usual) / 8.0

    def begin_anew(self) -> None:
        """Forget what was answered and learned, but for the regime."""
        regime = self.kept["regime"]
        self.memory = fresh(1)
        self.kept["regime"] = regime

    def look_at(self, tick: int) -> None:
        """Set the deadline of a cell that has one."""
        if self.kept["regime"] == TIMER:
            self.memory.due[0] = tick

    def inside(self, tick: int, window: int) -> list[tuple[int, float]]:
        """What the window holds at a tick, signed so that the largest counts."""
        return [(at, value) for at, value in self.past if at > tick - window]

    def leaves(self, tick: int, window: int, eps: float) -> float:
        """Ticks until what is left of the window is `eps` below its maximum."""
        held = self.inside(tick, window)
        top = max((v for _, v in held), default=math.nan)
        last = max((at for at, v in held if v > top - eps or v == top), default=tick)
        newest = max((at for at, _ in held), default=tick)
        return float(window if last == newest else last + window - tick)


@dataclass
class Asked:
    """One version of a query: it sees series with a row after the tick `born`; cells by name."""

    standing: Standing
    stream: Stream
    born: int
    filled: bool = False
    cells: dict[str, Cell] = field(default_factory=dict)

    @property
    def query(self) -> Query:
        """The query."""
        return self.standing.query

    @property
    def window(self) -> int:
        """Ticks of the window of an extreme; 0 without one."""
        over = self.query.over
        if over is None:
            return 0
        return int(NEVER) if over.window.kind == "landmark" else over.window.length // self.tick

    @property
    def opened(self) -> int:
        """First tick of a landmark."""
        over = self.query.over
        if over is None or over.window.kind != "landmark":
            return int(ALWAYS)
        return -(-over.window.start // self.tick)

    @property
    def tick(self) -> int:
        """Width of a tick."""
        return self.stream.tick

    def hungry(self) -> bool:
        """Whether kept history may fill an extreme."""
        new = not self.filled or any(not cell.filled for cell in self.cells.values())
        return bool(self.window) and self.query.history and new

    def seat(self, registry: Registry) -> list[Cell]:
        """Name the cells that do not follow the rows; those that stay keep their memory.

        Return cells that have answered and are no more.
        """
        query = self.query
        if query.group_by:
            found = {text: (cell.group, cell.listed) for text, cell in self.cells.items()}
        elif query.members is not None:
            found = _of_table(query.members, registry.tables[query.members.table].path)
        else:
            weights = query.weights or (1.0,) * len(query.series or ())
            listed = None if query.series is None else list(zip(query.series, weights, strict=True))
            found = {"": ((), listed)}
        before, self.cells = self.cells, {}
        for text, (group, listed) in found.items():
            cell = before.get(text) or self.new_cell(group, listed)
            cell.listed, cell.cells = listed, self.columns(text, listed)
            self.cells[text] = cell
        return [c for text, c in before.items() if text not in found and c.kept["evaluations"]]

    def new_cell(self, group: Group, listed: list[tuple[str, float]] | None) -> Cell:
        """A cell that has not answered yet."""
        text = json.dumps(list(group), default=str) if group else ""
        return Cell(group, listed, self.columns(text, listed))

    def columns(self, text: str, listed: list[tuple[str, float]] | None) -> Records:
        """What is asked, as the functions of a timer take it."""
        query, contract = self.query, self.query.contract
        exact = contract.tolerance == "exact"
        draw = mix64(np.uint64(self.standing.id))
        if text:
            draw ^= keys(items([text]), seed=0)[0]
        given = {
            "width": 0.0 if exact else contract.within,
            "relative": contract.tolerance == "relative",
            "confidence": 1.0 if exact else contract.confidence,
            "asked": REGIMES[query.regime],
            "window": self.window,
            "sign": -1.0 if query.over is not None and query.over.kind == "min" else 1.0,
            "trend": query.trend,
            "throughout": contract.throughout,
            "listed": len(listed or ()),
            "draw": draw,
        }
        record = np.zeros(1, ASKED)
        for name, value in given.items():
            record[name] = value
        return record

    @property
    def law(self) -> Any:
        """Table of deadlines."""
        contract = self.query.contract
        if contract.tolerance == "exact" or contract.confidence >= 1.0:
            return _law(0.5, "mean")
        form = "throughout" if contract.throughout else "mean"
        if self.window:
            return _law(min(0.5 + 0.5 * contract.confidence, 0.999999), "above")
        return _law(min(max(contract.confidence, 0.5), 0.999999), form)


def answer_of(asked: Asked, cell: Cell, found: Reading, epoch: int) -> Answer:
    """The answer that a cell remembers."""
    m, eps, sure = cell.kept, cell.eps(), float(cell.cells[0]["confidence"])
    value = float(m["value"])
    low, high = value - eps - float(m["below"]), value + eps + float(m["above"])
    basis = "deferral by timer" if m["given"] == TIMER else "deferral by watch"
    basis = "exact" if asked.query.contract.tolerance == "exact" else basis
    charges: tuple[Charge, ...] = ()
    if not math.isnan(value):
        # Late rows are on one side alone; doubt about silent members is on both.
        doubt = min(float(m["below"]), float(m["above"]))
        sides = (float(m["below"]), float(m["above"]))
        late = Charge("late rows", *(side - doubt if side > doubt else 0.0 for side in sides))
        own, quiet = Charge(basis, eps, eps, 1.0 - sure), Charge("interruption", doubt, doubt)
        charges = tuple(c for c in (own, late, quiet) if c.width > 0.0 or c.delta > 0.0)
    elif found.silent:
        charges = (Charge("interruption", math.inf, math.inf),)
    answer = Answer(
        asked.query.name,
        None if math.isnan(value) else value,
        low,
        high,
        as_of=int(m["since"]) * asked.tick,
        version=asked.standing.version,
        group=cell.group,
        confidence=sure,
        epoch=epoch,
        coverage=float(m["coverage"]),
        basis="interrupted" if found.silent else basis,
        charges=charges,
        slope=float(m["slope"]) * SECOND / asked.tick,
    )
    met = not found.silent and asked.query.contract.met_by(answer)
    return replace(answer, contract_met=met)


def end_of(asked: Asked, cell: Cell, tick: int, coverage: float, epoch: int) -> Answer:
    """The answer of a group that has nothing to answer from: 0 for a count, else no value."""
    counted = asked.query.select.name == "count" and not asked.window
    end = 0.0 if counted else math.nan
    return Answer(
        asked.query.name,
        0.0 if counted else None,
        end,
        end,
        as_of=tick * asked.tick,
        version=asked.standing.version,
        group=cell.group,
        confidence=float(cell.cells[0]["confidence"]),
        epoch=epoch,
        coverage=coverage,
        basis=EMPTY,
        contract_met=coverage == 1.0,
    )


def checked(stream: Stream, rows: Iterable[Landed], after: int | None, upto: int) -> Iterator[int]:
    """Ticks with rows; in a silence of more than the declared gap also multiples of it."""
    beat = (stream.expected_gap or 0) // stream.tick
    awake = max(HOUR, stream.expected_gap or 0) // stream.tick
    with_rows = sorted({row.tick for row in rows if row.tick <= upto})
    for begin, end in pairwise((*with_rows, upto + 1)):
        silence = range(begin + beat + 1, min(end, begin + awake + 1)) if beat else ()
        for tick in (begin, *(tick for tick in silence if tick % beat == 0)):
            if after is None or tick > after:
                yield tick


@lru_cache(maxsize=64)
def _law(confidence: float, form: str) -> Any:
    return tables(confidence, form)


def _of_table(
    members: Members, path: str
) -> dict[str, tuple[Group, list[tuple[str, float]] | None]]:
    """Members of each key of a table, in the order of its rows; keys in the order of their text."""
    found: dict[str, tuple[Group, list[tuple[str, float]] | None]] = {}
    if not members.by:
        found[""] = (), []
    for row in pq.read_table(path).to_pylist():
        weight = 1.0 if members.weight is None else row[members.weight]
        if members.where is not None and passes(members.where, row) is not True:
            continue
        if row[members.series] is None or weight is None or math.isnan(weight):
            continue
        group = tuple(row[name] for name in members.by)
        text = json.dumps(list(group), default=str) if members.by else ""
        listed = found.setdefault(text, (group, []))[1]
        assert listed is not None
        listed.append((str(row[members.series]), float(weight)))
    return dict(sorted(found.items()))


def time_of(row: Landed) -> tuple[int, int]:
    """What decides which of two rows is newer."""
    return row.ts, row.arrival


def key_of(row: Landed, columns: Sequence[str]) -> Group:
    """The cells of a row that name its group."""
    return tuple(row.values.get(column) for column in columns)


def total_of(parts: Iterable[float]) -> float:
    """Sum in the order given, as the meaning of a sum over latest values is."""
    total = 0.0
    for part in parts:
        total += part
    return total


def is_deferred(query: Query, registry: Registry) -> bool:
    """Whether a query is answered here."""
    return deferred(query) and not bounded(query, registry.stream(query.stream))
