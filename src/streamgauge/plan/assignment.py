"""Assignment: which operator each standing query belongs to, kept up as queries come and go.

What an epoch changes is worked out from the queries that its records touch, so that it costs as
much as they do and not as much as all that are registered.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, NamedTuple

from streamgauge.operators.expression import Expr
from streamgauge.plan.query import widened
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.sharing import Needs, StreamPlan, derived_of, in_order, kept, shared
from streamgauge.plan.tables import CHANGES as OF_TABLES
from streamgauge.plan.technique import Key, technique, technique_of, techniques
from streamgauge.streams.stream import Stream

# Records after which any query may compute its columns in another way.
OF_FUNCTIONS = ("function", "drop function")
_number, _place_number = attrgetter("id"), attrgetter("standing.id")


@dataclass(frozen=True, slots=True)
class Change:
    """Queries that an epoch gives an operator, and those it takes from it, by their numbers.

    A query that is another than before is in both: as it was, and as it is.
    """

    added: list[Standing] = field(default_factory=list)
    dropped: list[Standing] = field(default_factory=list)

    def among(self, mine: Callable[[Standing], bool]) -> Change:
        """The queries that a shard has a part in."""
        return Change(list(filter(mine, self.added)), list(filter(mine, self.dropped)))


@dataclass(frozen=True, slots=True)
class Changes:
    """What an epoch changes.

    `queries` are all that leave and come, `fed` those of operators that streams feed, by stream and
    key. `streams` names those
    that are declared in another way than before, whose operators are all compiled again. `paged`
    names operators that read pages themselves and have other queries or read other columns.
    """

    queries: Change
    fed: dict[str, dict[Key, Change]] = field(default_factory=dict)
    streams: set[str] = field(default_factory=set)
    paged: set[str] = field(default_factory=set)


class Place(NamedTuple):
    """Where a query is: the stream that feeds it ("" where none does), its operator and its key."""

    standing: Standing
    stream: str
    operator: str
    key: Key


@dataclass(slots=True)
class Assignment:
    """The operators that streams feed and those that read pages, with their queries.

    `plans` are of streams, `paged` has the queries of operators that read pages, by name, and
    `places` where each query is, by name; `readers` are the queries that read each table.
    """

    plans: dict[str, StreamPlan] = field(default_factory=dict)
    paged: dict[str, list[Standing]] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)
    readers: dict[str, set[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, registry: Registry) -> Assignment:
        """Find the operators of all queries."""
        made = cls()
        fed: dict[str, list[tuple[Key, Standing]]] = {name: [] for name in registry.streams}
        for standing in registry.queries.values():
            if standing.suspended is not None:
                continue
            place = made._put(registry, standing)
            if place.stream:
                fed[place.stream].append((place.key, standing))
            else:
                made.paged.setdefault(place.operator, []).append(standing)
        made.paged = _ordered(made.paged)
        made.plans = {
            name: shared(registry, stream, fed[name]) for name, stream in registry.streams.items()
        }
        return made

    def change(self, registry: Registry, records: Sequence[Mapping[str, Any]]) -> Changes | None:
        """Take in what the newest epoch has changed; None where all is to be planned again."""
        if any(record["do"] in OF_FUNCTIONS for record in records):
            return None
        before, after = self._moved(registry, _tables(records))
        moved = Change([place.standing for place in after], [place.standing for place in before])
        found = Changes(moved, streams=_streams(records))
        for place in before:
            if place.stream:
                _change_of(found, place).dropped.append(place.standing)
        for place in after:
            if place.stream:
                _change_of(found, place).added.append(place.standing)
        for name in found.streams:
            found.fed.pop(name, None)
        plans = {name: self._plan(registry, name, found) for name in registry.streams}
        self.plans = plans
        self._change_paged(before, after, found)
        return found

    def _put(self, registry: Registry, standing: Standing) -> Place:
        known = technique_of(standing)
        key = known.key(registry, standing)
        stream = standing.query.stream if known.fed else ""
        place = Place(standing, stream, f"{known.name}/{key.text()}", key)
        self.places[standing.name] = place
        for table in standing.asked.tables:
            self.readers.setdefault(table, set()).add(standing.name)
        return place

    def _take(self, place: Place) -> None:
        del self.places[place.standing.name]
        for table in place.standing.asked.tables:
            self.readers[table].discard(place.standing.name)

    def _moved(self, registry: Registry, tables: Iterable[str]) -> tuple[list[Place], list[Place]]:
        """Where queries were that an epoch touches, or whose tables it does, and where they are."""
        reading = {name for table in tables for name in self.readers.get(table, ())}
        before, after = [], []
        for name in registry.queries.changed | reading:
            old, new = self.places.get(name), registry.queries.get(name)
            if new is not None and new.suspended is not None:
                new = None
            if old is not None and old.standing is new and name not in reading:
                continue
            if old is not None:
                self._take(old)
                before.append(old)
            if new is not None:
                after.append(self._put(registry, new))
        return sorted(before, key=_place_number), sorted(after, key=_place_number)

    def _plan(self, registry: Registry, name: str, found: Changes) -> StreamPlan:
        """The plan of a stream after a change."""
        if name in found.streams:
            mine = [place for place in self.places.values() if place.stream == name]
            asked = [self._put(registry, place.standing) for place in mine]
            asked.sort(key=_place_number)
            pairs = [(place.key, place.standing) for place in asked]
            return shared(registry, registry.streams[name], pairs)
        if name in found.fed:
            return changed(self.plans[name], registry, found.fed[name])
        return self.plans[name]

    def _change_paged(
        self, before: Sequence[Place], after: Sequence[Place], found: Changes
    ) -> None:
        paged = self.paged
        for place in before:
            if not place.stream:
                found.paged.add(place.operator)
                paged[place.operator] = _without(paged[place.operator], [place.standing])
        for place in after:
            if not place.stream:
                found.paged.add(place.operator)
                paged[place.operator] = _with(paged.get(place.operator, []), [place.standing])
        if any(technique_of_name(name).budgeted for name in found.paged):
            # Queries with a work budget share the capacity of their streams.
            found.paged.update(name for name in paged if technique_of_name(name).budgeted)
        if found.streams:
            found.paged.update(
                name
                for name, queries in paged.items()
                if any(found.streams & set(one.asked.streams) for one in queries)
            )
        if found.paged:
            self.paged = _ordered({name: asked for name, asked in paged.items() if asked})


def changed(plan: StreamPlan, registry: Registry, changes: Mapping[Key, Change]) -> StreamPlan:
    """The plan of a stream after changes of some of its operators."""
    stream = registry.streams[plan.stream.name]
    operators, needs = dict(plan.operators), dict(plan.needs)
    for key, change in changes.items():
        operators[key] = _with(_without(operators.get(key, []), change.dropped), change.added)
    derived, wide = _derived(plan, registry, stream, operators, changes)
    lasting = kept(registry, stream)
    for key, change in changes.items():
        if operators[key] or key in lasting:
            needs[key] = _needed(needs.get(key), key, wide, operators[key], change)
        else:
            del operators[key]
            needs.pop(key, None)
    if any(_first(operators, key) != _first(plan.operators, key) for key in changes):
        operators = in_order(operators)
    return StreamPlan(wide, operators, derived, registry.functions, needs)


def technique_of_name(operator: str) -> Any:
    """The technique of an operator that reads pages, by the operator's name."""
    return technique(operator.partition("/")[0])


def _derived(
    plan: StreamPlan,
    registry: Registry,
    stream: Stream,
    operators: Mapping[Key, list[Standing]],
    changes: Mapping[Key, Change],
) -> tuple[dict[str, Expr], Stream]:
    """The columns that are computed, and the stream with them."""
    if not any(s.query.derived for one in changes.values() for s in (*one.added, *one.dropped)):
        return plan.derived, plan.stream
    derived = derived_of(operators.values())
    return derived, widened(stream, derived, registry.functions)


def _needed(
    known: Needs | None, key: Key, stream: Stream, queries: Sequence[Standing], change: Change
) -> Needs:
    """What an operator needs after a change of its queries."""
    always = Needs.of(key, stream.schema, ())
    left = Needs.of(key, stream.schema, change.dropped)
    if known is None or always.joined(left) != always:
        return Needs.of(key, stream.schema, queries)
    return known.joined(Needs.of(key, stream.schema, change.added))


def _first(operators: Mapping[Key, list[Standing]], key: Key) -> int | None:
    queries = operators.get(key)
    if queries is None:
        return None
    return queries[0].id if queries else -1


def _with(queries: Sequence[Standing], added: Iterable[Standing]) -> list[Standing]:
    found = list(queries)
    for standing in added:
        insort(found, standing, key=_number)
    return found


def _without(queries: Sequence[Standing], dropped: Iterable[Standing]) -> list[Standing]:
    found = list(queries)
    for standing in dropped:
        del found[bisect_left(found, standing.id, key=_number)]
    return found


def _ordered(paged: Mapping[str, list[Standing]]) -> dict[str, list[Standing]]:
    """Operators that read pages, as `in_order` has those that streams feed."""
    order = {known.name: place for place, known in enumerate(techniques())}

    def place(name: str) -> tuple[int, int]:
        return order[name.partition("/")[0]], paged[name][0].id

    return {name: paged[name] for name in sorted(paged, key=place)}


def _change_of(found: Changes, place: Place) -> Change:
    return found.fed.setdefault(place.stream, {}).setdefault(place.key, Change())


def _tables(records: Iterable[Mapping[str, Any]]) -> set[str]:
    """Tables that records change."""
    of_tables = [record for record in records if record["do"] in OF_TABLES]
    return {r["table"]["name"] if r["do"] == "table" else r["name"] for r in of_tables}


def _streams(records: Iterable[Mapping[str, Any]]) -> set[str]:
    """Streams that records declare, widen or drop."""
    found = set()
    for record in records:
        if record["do"] == "stream":
            found.add(record["stream"]["name"])
        elif record["do"] == "widen":
            found.add(record["stream"])
        elif record["do"] == "drop stream":
            found.add(record["name"])
    return found
