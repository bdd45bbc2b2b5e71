"""Sharing: thousands of queries folded into few operators."""

from __future__ import annotations

from dataclasses import dataclass, field

from streamgauge.operators.expression import Expr
from streamgauge.operators.functions import Functions
from streamgauge.plan.query import Query, widened
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.technique import Columns, Key, technique_of, techniques
from streamgauge.streams.stream import Stream


@dataclass(frozen=True, slots=True)
class StreamPlan:
    """The operators that a stream feeds, each with its queries in order of their numbers.

    `derived` are the columns that its queries compute, by name; `stream` has them in its schema,
    so that everything after reading takes them for columns like any other.
    """

    stream: Stream
    operators: dict[Key, list[Standing]]
    derived: dict[str, Expr] = field(default_factory=dict)
    functions: Functions = field(default_factory=dict)

    def numbers(self) -> tuple[str, ...]:
        """Columns read as numbers."""
        return tuple(dict.fromkeys(name for part in self._read() for name in part.numbers))

    def words(self) -> tuple[str, ...]:
        """Columns read as names: keys, groups, text in filters."""
        series = self.stream.key if self.keyed else ()
        read = (name for part in self._read() for name in part.words)
        return tuple(dict.fromkeys((*series, *read)))

    def deriving(self, column: str) -> list[Standing]:
        """The queries that compute a column."""
        asked = (one for queries in self.operators.values() for one in queries)
        return [one for one in asked if column in dict(one.query.derived)]

    def _read(self) -> list[Columns]:
        schema = self.stream.schema
        return [key.reads(schema, queries) for key, queries in self.operators.items()]

    @property
    def keyed(self) -> bool:
        """Whether some operator tells series apart."""
        return any(key.keyed for key in self.operators)


def share(registry: Registry, stream: Stream) -> StreamPlan:
    """Fold the queries that a stream feeds into shared operators, in the order of techniques."""
    order = {technique.name: place for place, technique in enumerate(techniques())}
    asked: list[Standing] = []
    found: dict[Key, list[Standing]] = {}
    places: dict[Key, int] = {}
    failed = {
        standing.technique
        for standing in registry.queries.values()
        if standing.suspended is not None and stream.name in standing.asked.streams
    }
    for technique in techniques():
        # What failed for a query would fail without it, too.
        for key in technique.kept(stream) if technique.name not in failed else ():
            # Kept without a query too: a series that stays in its bound may be silent for ever.
            found[key], places[key] = [], order[technique.name]
    for standing in registry.queries.values():
        if not isinstance(standing.asked, Query) or standing.asked.stream != stream.name:
            continue
        if standing.suspended is not None:
            continue
        technique = technique_of(standing)
        if technique.fed:
            asked.append(standing)
            key = technique.key(registry, standing)
            found.setdefault(key, []).append(standing)
            places[key] = order[technique.name]
    derived = {name: expr for one in asked for name, expr in one.query.derived}
    wide = widened(stream, derived, registry.functions)
    ordered = {key: found[key] for key in sorted(found, key=places.__getitem__)}
    return StreamPlan(wide, ordered, derived, registry.functions)


def piece_of(registry: Registry, standing: Standing) -> Key:
    """The operator that a query belongs to."""
    return technique_of(standing).key(registry, standing)
