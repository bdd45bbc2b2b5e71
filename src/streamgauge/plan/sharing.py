"""Sharing: thousands of queries folded into few pieces of work.

Queries over latest values of one column share a *portfolio*, those that are deferred the models of
its series, those over bounds the newest bound of each series. Queries over windows share a *table*
when they agree in filter, grouping, columns and pane width, whatever their lengths and aggregates.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from streamgauge.kernel.hashing import stable_hash
from streamgauge.operators.accumulate import MAX
from streamgauge.operators.aggregate import Aggregate
from streamgauge.operators.expression import Expr
from streamgauge.operators.functions import Functions
from streamgauge.operators.predicate import Predicate
from streamgauge.plan.deferral import deferred
from streamgauge.plan.query import widened
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.summary import named_model
from streamgauge.plan.view import View
from streamgauge.streams.stream import Stream
from streamgauge.synopses.synopsis import Synopsis


@dataclass(frozen=True, slots=True)
class PortfolioKey:
    """What queries over latest values must agree in to share a pass."""

    x: str | None
    y: str | None

    def text(self) -> str:
        """Name of the state of this piece."""
        return json.dumps(["latest", self.x, self.y])


@dataclass(frozen=True, slots=True)
class DeferralKey:
    """What deferred queries must agree in to share the model of each series."""

    x: str | None

    def text(self) -> str:
        """Name of the state of this piece."""
        return json.dumps(["drift", self.x])


@dataclass(frozen=True, slots=True)
class BoundsKey:
    """Queries over the bounds of one stream share them all."""

    x: str
    width: str

    def text(self) -> str:
        """Name of the state of this piece."""
        return json.dumps(["bounds", self.x, self.width])


@dataclass(frozen=True, slots=True)
class TableKey:
    """What queries over windows must agree in to share panes or rings.

    A table is `exact` when counts, exact sums and extremes are all it keeps: then its rows may be
    added in any order and by anybody.
    """

    kind: str
    width: int
    start: int
    rows: int
    by: tuple[str, ...]
    where: str
    group_by: tuple[str, ...]
    x: str | None
    y: str | None
    weight: str | None
    born: int
    synopsis: str = ""
    exact: bool = False

    def text(self) -> str:
        """Name of the state of this piece."""
        parts = [
            self.kind,
            self.width,
            self.start,
            self.rows,
            self.by,
            self.where,
            self.group_by,
            self.x,
            self.y,
            self.weight,
            self.born,
        ]
        if self.exact:
            return json.dumps([*parts, self.synopsis, True])
        return json.dumps([*parts, self.synopsis] if self.synopsis else parts)

    @classmethod
    def from_text(cls, text: str) -> TableKey:
        """Read the name of a state back."""
        parts: list[Any] = [tuple(p) if isinstance(p, list) else p for p in json.loads(text)]
        return cls(*parts)

    @property
    def hashed_by(self) -> tuple[str, ...]:
        """The columns whose hash says which shard needs a row; none: all shards need it.

        The newest rows of a stream are those of all groups; the newest of each key can be told
        from the rows of its group alone where a key lies in one group.
        """
        if self.kind == "ring" and not set(self.group_by) <= set(self.by):
            return ()
        return self.group_by

    def place(self, shards: int) -> str:
        """Where the table is kept and which rows reach it, in words."""
        if not self.group_by:
            return f"shard {self.owner(shards)}"
        hashed = f"rows hashed by {', '.join(self.hashed_by)}"
        return f"groups over {shards} shards, {hashed if self.hashed_by else 'each reads all rows'}"

    def predicate(self) -> Predicate | None:
        """The filter as a value."""
        return Predicate.from_dict(json.loads(self.where)) if self.where else None

    def model(self) -> Synopsis:
        """The empty synopsis that this piece keeps for each group."""
        return named_model(self.synopsis)

    def owner(self, shards: int) -> int:
        """The shard of an ungrouped table, the same whether its sums are exact or not."""
        return stable_hash(replace(self, exact=False).text()) % shards


PieceKey: TypeAlias = PortfolioKey | DeferralKey | BoundsKey | TableKey


@dataclass(frozen=True, slots=True)
class StreamPlan:
    """The pieces of work of one stream, each with its queries in order of their numbers.

    `derived` are the columns that its queries compute, by name; `stream` has them in its schema,
    so that everything after reading takes them for columns like any other.
    """

    stream: Stream
    portfolios: dict[PortfolioKey, list[Standing]]
    tables: dict[TableKey, list[Standing]]
    derived: dict[str, Expr] = field(default_factory=dict)
    functions: Functions = field(default_factory=dict)
    deferrals: dict[DeferralKey, list[Standing]] = field(default_factory=dict)
    families: dict[str, None] = field(default_factory=dict)
    bounds: dict[BoundsKey, list[Standing]] = field(default_factory=dict)

    def standings(self, key: PieceKey) -> list[Standing]:
        """The queries that share a piece."""
        if isinstance(key, DeferralKey):
            return self.deferrals[key]
        if isinstance(key, BoundsKey):
            return self.bounds[key]
        return self.portfolios[key] if isinstance(key, PortfolioKey) else self.tables[key]

    def numbers(self) -> tuple[str, ...]:
        """Columns read as numbers."""
        used = dict.fromkeys(c for key in self.portfolios for c in (key.x, key.y) if c)
        used.update(dict.fromkeys(key.x for key in self.deferrals if key.x))
        used.update(dict.fromkeys(name for key in self.bounds for name in (key.x, key.width)))
        for key in self.tables:
            used.update(dict.fromkeys(self.numbers_of(key)))
        return tuple(used)

    def numbers_of(self, key: TableKey) -> tuple[str, ...]:
        """Columns that a table reads as numbers."""
        read = [c for c in (key.x, key.y, key.weight) if c and not self._worded(key, c)]
        return (*read, *(c for c in _filtered(key) if not self._word(c)))

    def words(self) -> tuple[str, ...]:
        """Columns read as names: keys, groups, text in filters."""
        used = dict.fromkeys(self.stream.key if self.keyed else ())
        used.update(self.families)
        for key in self.tables:
            used.update(dict.fromkeys((*key.group_by, *key.by)))
            used.update(dict.fromkeys(c for c in (key.x,) if c and self._worded(key, c)))
            used.update(dict.fromkeys(c for c in _filtered(key) if self._word(c)))
        return tuple(used)

    @property
    def keyed(self) -> bool:
        """Whether some piece tells series apart."""
        return bool(self.portfolios or self.deferrals or self.bounds)

    def _worded(self, key: TableKey, column: str) -> bool:
        """Whether a summary reads the column as names."""
        return bool(key.synopsis) and self._word(column)

    def _word(self, column: str) -> bool:
        return self.stream.schema.type(column) in ("string", "bool")


def share(registry: Registry, stream: Stream) -> StreamPlan:
    """Fold the running queries of a stream into shared pieces."""
    asked = [standing for standing in registry.queries.values() if _reads(standing, stream)]
    derived = {name: expr for one in asked for name, expr in one.query.derived}
    wide = widened(stream, derived, registry.functions)
    plan = StreamPlan(wide, {}, {}, derived, registry.functions)
    bounds = bounds_key(stream)
    if bounds is not None:
        # Kept without a query too: a series that stays in its bound may be silent for ever.
        plan.bounds[bounds] = []
    for standing in asked:
        key = piece_of(registry, standing)
        if isinstance(key, PortfolioKey):
            plan.portfolios.setdefault(key, []).append(standing)
        elif isinstance(key, DeferralKey):
            plan.deferrals.setdefault(key, []).append(standing)
            plan.families.update(dict.fromkeys(standing.query.group_by))
        elif isinstance(key, BoundsKey):
            plan.bounds[key].append(standing)
        else:
            plan.tables.setdefault(key, []).append(standing)
    return plan


def bounds_key(stream: Stream) -> BoundsKey | None:
    """The piece that keeps the bounds of a stream; None when its values are exact."""
    if stream.value is None or stream.width is None:
        return None
    return BoundsKey(stream.value, stream.width)


def _reads(standing: Standing, stream: Stream) -> bool:
    """Whether a query of numbers reads all rows of this stream, and no other."""
    if isinstance(standing.asked, View) or standing.query.parts or standing.query.promise:
        return False
    return standing.query.stream == stream.name


def piece_of(registry: Registry, standing: Standing) -> PieceKey:
    """The shared piece of work a query belongs to."""
    query = standing.query
    window = registry.window_of(query)
    select = query.select
    bounds = bounds_key(registry.stream(query.stream)) if window is None else None
    if bounds is not None:
        return bounds
    if deferred(query):
        return DeferralKey(select.x)
    if window is None:
        return PortfolioKey(select.x, select.y)
    stream = registry.stream(query.stream)
    paned = window.kind in ("now", "range", "landmark", "decay")
    period = query.answer.period or None
    return TableKey(
        kind=_TABLES.get(window.kind, "ring"),
        width=window.pane_width(stream.tick, period) if paned else 0,
        start=window.start,
        rows=window.rows,
        by=window.by,
        where=json.dumps(query.where.as_dict(), sort_keys=True) if query.where is not None else "",
        group_by=query.group_by,
        x=select.x,
        y=select.y,
        weight=select.weight,
        # A query FROM NOW must not see panes begun before it; those born together share.
        born=0 if query.history or not paned else standing.born,
        synopsis=standing.model,
        exact=window.kind in EXACT and not standing.model and _adds(select),
    )


def _adds(select: Aggregate) -> bool:
    """Whether an aggregate follows from a count, a sum and the extremes of one column."""
    return select.code <= MAX and select.y is None and select.weight is None


EXACT = ("now", "range", "landmark")
# How windows are kept; those of rows are rings.
_TABLES = {"now": "panes", "range": "panes", "landmark": "landmark", "decay": "decay"}


def running(queries: Iterable[Standing]) -> list[Standing]:
    """Those that are checked now."""
    return [standing for standing in queries if standing.status == "running"]


def _filtered(key: TableKey) -> tuple[str, ...]:
    predicate = key.predicate()
    return () if predicate is None else predicate.columns()
