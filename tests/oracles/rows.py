"""The reference for rows: the relation of a plan at an instant, from all rows ever landed.

Plain Python, exact and slow, independent of the operators, of Arrow and of NumPy. A relation is a
bag of tuples; nothing is carried from one instant to the next. History is taken to be kept for
ever.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, TypeAlias

from streamgauge.kernel.time import Duration, Instant
from streamgauge.operators.expression import Expr
from streamgauge.operators.functions import Functions
from streamgauge.operators.join_rows import nearest
from streamgauge.plan.nodes import (
    AS_OF,
    ONE_SIDED,
    Combined,
    Distinct,
    Filter,
    Grouped,
    Join,
    Node,
    Ordered,
    Project,
    Resampled,
    Scan,
    Stored,
    Streamed,
    Windowed,
)
from streamgauge.plan.view import View
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Stream
from streamgauge.windows.window import BEGINNING
from tests.oracles.expressions import Moment, value_of
from tests.oracles.reference import History, Row
from tests.oracles.rows_aggregates import (
    Cells,
    Member,
    aggregate_of,
    needs_coming,
)
from tests.oracles.rows_streams import Element, content, regular
from tests.oracles.windows import USED

Tuple: TypeAlias = tuple[Any, ...]
Bag: TypeAlias = Counter[Tuple]
Change: TypeAlias = tuple[Instant, Tuple, int]


@dataclass(frozen=True)
class Version:
    """A stored table as it is from an instant on."""

    since: Instant
    rows: tuple[Cells, ...]


@dataclass
class World:
    """All that ever arrived: the histories of streams, the versions of stored tables.

    Parameters
    ----------
    histories
        Streams by name, with what landed in them.
    tables
        Versions of each stored table, oldest first.
    functions
        Functions of one's own, by name.

    Examples
    --------
    >>> from streamgauge.streams.schema import Schema
    >>> from streamgauge.windows.window import Rows
    >>> plant = Stream("plant", Schema.of(ts="time", v="int"), "ts", (), ())
    >>> world = World.of(plant)
    >>> world.land("plant", [Row(1_000_000, {"v": 7}), Row(2_000_000, {"v": 8})])
    >>> relation(Windowed(Scan("plant", plant.schema), Rows(1)), world, 2_000_000)
    Counter({(2000000, 8): 1})
    """

    histories: dict[str, History] = field(default_factory=dict)
    tables: dict[str, list[Version]] = field(default_factory=dict)
    functions: Functions = field(default_factory=dict)
    known: dict[tuple[Node, Instant, Instant | None], Bag] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, *streams: Stream) -> World:
        """A world of streams in which nothing has landed."""
        return cls({stream.name: History(stream) for stream in streams})

    def land(self, stream: str, rows: Iterable[Row]) -> None:
        """Take rows in, in their order."""
        self.known.clear()
        for row in rows:
            self.histories[stream].land(row)

    def advance(self, stream: str, to: Instant) -> None:
        """Say that no earlier row of a stream is to come."""
        self.histories[stream].advance(to)

    def store(self, table: str, rows: Iterable[Cells], since: Instant) -> None:
        """A stored table is read, or read again."""
        self.known.clear()
        self.tables.setdefault(table, []).append(Version(since, tuple(rows)))

    @property
    def step(self) -> Duration:
        """Width of the grid on which anything can happen."""
        return math.gcd(*(history.stream.tick for history in self.histories.values())) or 1

    def instants(self, upto: Instant) -> range:
        """All instants of the grid from the first row or version on."""
        begun = [
            row.tick * history.stream.tick
            for history in self.histories.values()
            for row in history.rows
        ]
        begun += [
            version.since
            for versions in self.tables.values()
            for version in versions
            if version.since > BEGINNING
        ]
        first = min(begun, default=upto + 1)
        return range(-(-first // self.step) * self.step, upto + 1, self.step)

    def closed(self) -> Instant | None:
        """The last instant that is closed in all streams."""
        last = [(history.closed(), history.stream.tick) for history in self.histories.values()]
        known = [tick * width for tick, width in last if tick is not None]
        return min(known, default=None) if len(known) == len(last) else None


def relation(node: Node, world: World, instant: Instant, cut: Instant | None = None) -> Bag:
    """The rows of a relation at an instant, each with its number of copies.

    Rows of streams with a time at or before `cut` do not count.
    """
    key = (node, instant, cut)
    if key not in world.known:
        world.known[key] = +_Evaluation(world, instant, cut).bag(node)
    return world.known[key]


def answers(
    view: View, world: World, instants: Iterable[Instant], since: Instant | None
) -> list[Change]:
    """What a view gives: instant, row, copies that came (above 0) or went (below 0).

    `instants` are all that were checked, in order; `since` is the instant at which it was
    registered, None for before everything. Rows of one instant are in the order of their cells.
    """
    kind = view.stream_kind
    plan = view.plan.input if isinstance(view.plan, Streamed) else view.plan
    cut = None if view.history else since
    before: Bag = Counter()
    if kind in ("istream", "dstream") and since is not None:
        before = relation(plan, world, since, cut)
    given: list[Change] = []
    for instant in instants:
        # A relation is given as it is when the view begins; a stream from then on.
        if since is not None and (instant < since or (instant == since and kind)):
            continue
        if view.answer.kind == "every" and instant % view.answer.period:
            continue
        now = relation(plan, world, instant, cut)
        given += [(instant, row, count) for row, count in in_order(_given(kind, before, now))]
        before = now
    return given


def _given(kind: str, before: Bag, now: Bag) -> dict[Tuple, int]:
    if kind == "rstream":
        return dict(now)
    if kind == "istream":
        return dict(now - before)
    if kind == "dstream":
        return dict(before - now)
    net = {row: now[row] - before[row] for row in (*now, *before)}
    return {row: count for row, count in net.items() if count}


def in_order(bag: dict[Tuple, int]) -> list[tuple[Tuple, int]]:
    """Rows with their counts, ascending by all columns, nulls last."""
    return sorted(bag.items(), key=lambda pair: [(cell is None, cell) for cell in pair[0]])


def columns_of(node: Node, world: World) -> tuple[str, ...]:
    """Names of the columns of a node's rows."""
    if isinstance(node, (Scan, Stored)):
        return node.schema.names
    if isinstance(node, Resampled):
        kept = {*node.by, _stream(node, world).time, node.column}
        return tuple(name for name in columns_of(node.input, world) if name in kept)
    if isinstance(node, Project):
        return tuple(name for name, _ in node.items)
    if isinstance(node, Grouped):
        return tuple(name for name, _ in (*node.by, *node.aggregates))
    if isinstance(node, Join):
        return _joined_columns(node, world, 1 if node.kind in ONE_SIDED else len(node.parts))
    return columns_of(node.inputs()[0], world)


def _joined_columns(node: Join, world: World, n_parts: int) -> tuple[str, ...]:
    return tuple(
        f"{name}.{column}" if name else column
        for part, name in zip(node.parts[:n_parts], node.names[:n_parts], strict=True)
        for column in columns_of(part, world)
    )


def _stream(node: Node, world: World) -> Stream:
    """The stream that a node without joins reads."""
    (scan,) = (part for part in node.walk() if isinstance(part, Scan))
    return world.histories[scan.stream].stream


@dataclass(frozen=True)
class _Evaluation:
    """A plan read at one instant."""

    world: World
    instant: Instant
    cut: Instant | None

    def bag(self, node: Node) -> Bag:
        """The rows of a relation."""
        if isinstance(node, Windowed):
            return self._windowed(node)
        if isinstance(node, Stored):
            return self._stored(node)
        if isinstance(node, Filter):
            return self._kept(node, self._below(node.input))
        if isinstance(node, Project):
            return self._projected(node, self._below(node.input))
        if isinstance(node, Join):
            if node.kind in AS_OF:
                return self._as_of(node)
            return self._inner(node) if node.kind == "inner" else self._of_two(node)
        if isinstance(node, Grouped):
            return self._grouped(node)
        if isinstance(node, Distinct):
            return Counter(set(self._below(node.input)))
        if isinstance(node, Combined):
            return self._combined(node)
        assert isinstance(node, Ordered), f"{type(node).__name__} is no relation"
        return self._ordered(node)

    def _below(self, node: Node) -> Bag:
        return relation(node, self.world, self.instant, self.cut)

    def _reader(self, node: Node) -> Callable[[Tuple], Cells]:
        names = columns_of(node, self.world)
        return lambda row: dict(zip(names, row, strict=True))

    def _value(self, expr: Expr, cells: Cells) -> Any:
        return value_of(expr, cells, self.world.functions)

    def _kept(self, node: Filter, bag: Bag) -> Bag:
        cells = self._reader(node.input)
        kept = (row for row in bag if self._value(node.where, cells(row)) is True)
        return Counter({row: bag[row] for row in kept})

    def _projected(self, node: Project, bag: Bag) -> Bag:
        out: Bag = Counter()
        cells = self._reader(node.input)
        for row, count in bag.items():
            out[tuple(self._value(expr, cells(row)) for _, expr in node.items)] += count
        return out

    def _stored(self, node: Stored) -> Bag:
        versions = self.world.tables[node.table]
        held = [version for version in versions if version.since <= self.instant]
        rows = held[-1].rows if held else ()
        return Counter(tuple(_typed(row, node.schema).values()) for row in rows)

    def _windowed(self, node: Windowed) -> Bag:
        stream = _stream(node, self.world)
        if stream.changes is not None:
            return self._changed(node.input)
        tick = stream.tick
        at = self.instant // tick * tick
        alive = content(node.window, tick, self.elements(node.input), at)
        names = columns_of(node.input, self.world)
        return Counter(tuple(element.cells[name] for name in names) for element in alive)

    def _changed(self, node: Node) -> Bag:
        """The relation that a stream of changes is: a row for each that came and has not gone."""
        if isinstance(node, Filter):
            return self._kept(node, self._changed(node.input))
        if isinstance(node, Project):
            return self._projected(node, self._changed(node.input))
        assert isinstance(node, Scan)
        stream = self.world.histories[node.stream].stream
        sign = stream.changes
        assert sign is not None
        # A row and its removal have times of their own, so the time is no part of what is equal.
        apart = {sign} if stream.time in node.schema.names else {sign, stream.time}
        identity = [name for name in stream.schema.names if name not in apart]
        net: Bag = Counter()
        for row in self._landed(node.stream):
            net[tuple(row.get(name) for name in identity)] += -1 if row.get(sign) == "-" else 1
        out: Bag = Counter()
        for found, count in net.items():
            cells = dict(zip(identity, found, strict=True))
            out[tuple(_typed(cells, node.schema).values())] += max(0, count)
        return out

    def _landed(self, stream: str) -> list[Cells]:
        history = self.world.histories[stream]
        return [
            row.values
            for row in history.rows
            if row.fate in USED
            and row.tick * history.stream.tick <= self.instant
            and (self.cut is None or row.ts > self.cut)
        ]

    def elements(self, node: Node) -> list[Element]:
        """The rows of a stream that have taken effect, in order of arrival."""
        if isinstance(node, Filter):
            found = self.elements(node.input)
            return [item for item in found if self._value(node.where, item.cells) is True]
        if isinstance(node, Project):
            return [
                item.with_cells({name: self._value(e, item.cells) for name, e in node.items})
                for item in self.elements(node.input)
            ]
        if isinstance(node, Resampled):
            stream = _stream(node, self.world)
            below = self.elements(node.input)
            return list(regular(node, below, stream.time, stream.tick, self.instant))
        assert isinstance(node, Scan), f"{type(node).__name__} is no stream"
        history = self.world.histories[node.stream]
        return [
            Element(
                row.tick * history.stream.tick,
                row.ts,
                row.arrival,
                _typed(row.values, node.schema),
            )
            for row in history.rows
            if row.fate in USED
            and row.tick * history.stream.tick <= self.instant
            and (self.cut is None or row.ts > self.cut)
        ]

    def _inner(self, node: Join) -> Bag:
        out: Bag = Counter()
        cells = self._reader(node)
        bags = [self._below(part) for part in node.parts]
        for rows in product(*bags):
            whole: Tuple = sum(rows, ())
            if node.on is None or self._value(node.on, cells(whole)) is True:
                out[whole] += math.prod(bag[row] for bag, row in zip(bags, rows, strict=True))
        return out

    def _of_two(self, node: Join) -> Bag:
        left, right = (self._below(part) for part in node.parts)
        names = _joined_columns(node, self.world, 2)
        pairs = [
            (row, other)
            for row in left
            for other in right
            if node.on is None
            or self._value(node.on, dict(zip(names, row + other, strict=True))) is True
        ]
        met, met_right = {row for row, _ in pairs}, {other for _, other in pairs}
        if node.kind == "semi":
            return Counter({row: count for row, count in left.items() if row in met})
        if node.kind == "anti":
            return Counter({row: count for row, count in left.items() if row not in met})
        out: Bag = Counter()
        for row, other in pairs:
            out[row + other] += left[row] * right[other]
        absent_left, absent = ((None,) * len(columns_of(part, self.world)) for part in node.parts)
        for row in left.keys() - met:
            out[row + absent] += left[row]
        for other in right.keys() - met_right if node.kind == "full" else ():
            out[absent_left + other] += right[other]
        return out

    def _as_of(self, node: Join) -> Bag:
        left, right = (self._below(part) for part in node.parts)
        names = _joined_columns(node, self.world, 2)
        own = _joined_columns(node, self.world, 1)
        ((_, op, there),) = nearest(node.on, set(own), set(names) - set(own))
        absent = (None,) * (len(names) - len(own))
        out: Bag = Counter()
        for row, count in left.items():
            best: tuple[Any, Any] | None = None
            for other in (other for other, _ in in_order(right)):
                cells = dict(zip(names, row + other, strict=True))
                assert node.on is not None, "it has an inequality"
                if self._value(node.on, cells) is not True:
                    continue
                at = self._value(there, cells)
                if best is None or (at >= best[0] if op in (">", ">=") else at <= best[0]):
                    best = at, other
            if best is not None:
                out[row + best[1]] += count
            elif node.kind == "asof left":
                out[row + absent] += count
        return out

    def _grouped(self, node: Grouped) -> Bag:
        timed = any(needs_coming(expr) for _, expr in node.aggregates)
        coming = self._coming(node.input) if timed else None
        groups: dict[Tuple, list[Member]] = {} if node.by else {(): []}
        reader = self._reader(node.input)
        for row, count in self._below(node.input).items():
            cells = reader(row)
            key = tuple(self._value(expr, cells) for _, expr in node.by)
            came = [self.instant] * count if coming is None else coming[row]
            groups.setdefault(key, []).extend(Member(cells, at) for at in came)
        return Counter(
            key
            + tuple(
                aggregate_of(expr, members, self.world.functions) for _, expr in node.aggregates
            )
            for key, members in groups.items()
        )

    def _coming(self, node: Node) -> dict[Tuple, list[Instant]]:
        """For each copy of a row when it came; of equal ones the oldest go first."""
        coming: dict[Tuple, list[Instant]] = {}
        before: Bag = Counter()
        for instant in self.world.instants(self.instant):
            now = relation(node, self.world, instant, self.cut)
            for row, count in (now - before).items():
                coming.setdefault(row, []).extend([instant] * count)
            for row, count in (before - now).items():
                del coming[row][:count]
            before = now
        return coming

    def _combined(self, node: Combined) -> Bag:
        left, right = self._below(node.left), self._below(node.right)
        if not node.all:
            left, right = Counter(set(left)), Counter(set(right))
        if node.kind == "except":
            return left - right
        if node.kind == "intersect":
            return left & right
        assert node.kind == "union", f"no way to combine named {node.kind!r}"
        return left + right if node.all else left | right

    def _ordered(self, node: Ordered) -> Bag:
        bag = self._below(node.input)
        if node.limit is None:
            return bag
        keyed = []
        reader = self._reader(node.input)
        for row, count in bag.items():
            cells = reader(row)
            keyed += [([self._value(expr, cells) for expr, _ in node.by], row)] * count
        flags = [descending for _, descending in node.by]
        keyed.sort(key=functools.cmp_to_key(functools.partial(_compared, flags)))
        return Counter(row for _, row in keyed[: node.limit])


def _typed(cells: Cells, schema: Schema) -> Cells:
    """The cells of some columns; a time says that it is one."""
    found = {name: cells.get(name) for name in schema.names}
    for name, kind in schema.columns:
        cell = found[name]
        if kind == "time" and cell is not None:
            found[name] = Moment(cell)
    return found


def _compared(
    flags: Sequence[bool], one: tuple[list[Any], Tuple], other: tuple[list[Any], Tuple]
) -> int:
    """Which of two rows comes first: by the order asked for, then by all columns; nulls last."""
    cells = zip(
        (*one[0], *one[1]),
        (*other[0], *other[1]),
        (*flags, *(False for _ in one[1])),
        strict=True,
    )
    for left, right, descending in cells:
        if left is None or right is None:
            if (left is None) != (right is None):
                return 1 if left is None else -1
        elif left != right:
            return -1 if (left < right) != descending else 1
    return 0
