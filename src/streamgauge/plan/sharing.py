"""Sharing: thousands of queries folded into few operators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

from streamgauge.operators.expression import Expr
from streamgauge.operators.functions import Functions
from streamgauge.plan.query import Query, widened
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.technique import Columns, Key, technique_of, techniques
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Stream


@dataclass(frozen=True, slots=True)
class Needs:
    """Columns that an operator reads, and those whose names stay as long as it."""

    reads: Columns
    fixed: tuple[str, ...]

    @classmethod
    def of(cls, key: Key, schema: Schema, queries: Sequence[Standing]) -> Needs:
        """What an operator needs for some queries."""
        return cls(key.reads(schema, queries), key.fixed(queries))

    def joined(self, other: Needs) -> Needs:
        """What both need."""
        return Needs(
            Columns(
                _union(self.reads.numbers, other.reads.numbers),
                _union(self.reads.words, other.reads.words),
            ),
            _union(self.fixed, other.fixed),
        )


@dataclass(frozen=True)
class StreamPlan:
    """The operators that a stream feeds, each with its queries in order of their numbers.

    `derived` are the columns that its queries compute, by name; `stream` has them in its schema,
    so that everything after reading takes them for columns like any other.
    """

    stream: Stream
    operators: dict[Key, list[Standing]]
    derived: dict[str, Expr] = field(default_factory=dict)
    functions: Functions = field(default_factory=dict)
    needs: dict[Key, Needs] = field(default_factory=dict)

    @cached_property
    def _read(self) -> Columns:
        found = [self.needs[key].reads for key in self.operators]
        return Columns(
            _union(*(part.numbers for part in found)), _union(*(part.words for part in found))
        )

    def numbers(self) -> tuple[str, ...]:
        """Columns read as numbers."""
        return self._read.numbers

    def words(self) -> tuple[str, ...]:
        """Columns read as names: keys, groups, text in filters."""
        return _union(self.stream.key if self.keyed else (), self._read.words)

    def deriving(self, column: str) -> list[Standing]:
        """The queries that compute a column."""
        asked = (one for queries in self.operators.values() for one in queries)
        return [one for one in asked if column in dict(one.query.derived)]

    @cached_property
    def fixed(self) -> tuple[str, ...]:
        """Columns of names that stay as long as the operators."""
        return _union(*(self.needs[key].fixed for key in self.operators))

    @cached_property
    def keyed(self) -> bool:
        """Whether some operator tells series apart."""
        return any(key.keyed for key in self.operators)


def share(registry: Registry, stream: Stream) -> StreamPlan:
    """Fold the queries that a stream feeds into shared operators, in the order of techniques."""
    asked = []
    for standing in registry.queries.values():
        if standing.suspended is not None:
            continue
        if isinstance(standing.asked, Query) and standing.asked.stream == stream.name:
            technique = technique_of(standing)
            if technique.fed:
                asked.append((technique.key(registry, standing), standing))
    return shared(registry, stream, asked)


def shared(registry: Registry, stream: Stream, asked: Iterable[tuple[Key, Standing]]) -> StreamPlan:
    """The plan of a stream for queries in order of their numbers, each with its key."""
    # Kept without a query too: a series that stays in its bound may be silent for ever.
    found: dict[Key, list[Standing]] = {key: [] for key in kept(registry, stream)}
    for key, standing in asked:
        found.setdefault(key, []).append(standing)
    derived = derived_of(found.values())
    wide = widened(stream, derived, registry.functions)
    needs = {key: Needs.of(key, wide.schema, queries) for key, queries in found.items()}
    return StreamPlan(wide, in_order(found), derived, registry.functions, needs)


def kept(registry: Registry, stream: Stream) -> list[Key]:
    """Operators that a stream has even if no query needs them, but for those that failed."""
    found = [key for technique in techniques() for key in technique.kept(stream)]
    if not found:
        return []
    asked = registry.queries.values()
    on_it = (one for one in asked if one.suspended and stream.name in one.asked.streams)
    failed = {one.technique for one in on_it}
    return [key for key in found if key.technique not in failed]


def derived_of(queries: Iterable[Sequence[Standing]]) -> dict[str, Expr]:
    """The columns that queries compute."""
    computing = [one for one in chain.from_iterable(queries) if one.query.derived]
    computing.sort(key=_number)
    return {name: expr for one in computing for name, expr in one.query.derived}


def in_order(operators: Mapping[Key, list[Standing]]) -> dict[Key, list[Standing]]:
    """Operators in the order of techniques, those of one in the order of their first queries."""
    order = {technique.name: place for place, technique in enumerate(techniques())}

    def place(key: Key) -> tuple[int, int]:
        queries = operators[key]
        return order[key.technique], queries[0].id if queries else -1

    return {key: operators[key] for key in sorted(operators, key=place)}


def piece_of(registry: Registry, standing: Standing) -> Key:
    """The operator that a query belongs to."""
    return technique_of(standing).key(registry, standing)


def _number(standing: Standing) -> int:
    return standing.id


def _union(*parts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(chain.from_iterable(parts)))
