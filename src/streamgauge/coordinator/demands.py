"""Demands: what the standing queries of a home ask of the objects of a stream.

A query over latest values allows its answer to be `2 * within` wide and shares that out; any other
query that reads the stream is given every reading. Objects that nobody reads need not be sent.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.coordinator.cache import Bound
from streamgauge.engine.catalog import registry_at
from streamgauge.engine.naming import series_name
from streamgauge.filters.constraints import Constraints, Demand
from streamgauge.filters.demand import demand_of
from streamgauge.kernel.columns import as_floats
from streamgauge.kernel.time import Instant
from streamgauge.log.home import Home
from streamgauge.log.segments import read_parquet
from streamgauge.operators.evaluate import evaluate
from streamgauge.operators.functions import Functions
from streamgauge.operators.predicate import Predicate
from streamgauge.plan.members import Members
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Registry, Standing
from streamgauge.plan.technique import technique_of
from streamgauge.plan.view import View
from streamgauge.streams.schema import TYPES
from streamgauge.streams.stream import Stream
from streamgauge.streams.table import Table

Places = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

# A share of the value moves with the value: some of it is kept for how far it moves until the
# share is looked at again, and it is not looked at again for less than that.
PRUDENCE = 0.95
MOVED = 0.03


@dataclass(slots=True)
class Asked:
    """What is asked of the objects of a stream.

    Parameters
    ----------
    constraints
        Budgets of queries and caps of objects, by place.
    every
        Places of which every reading is asked for.
    sample
        Seconds between readings that all queries can do with; None: some needs all there are.
    relative
        Deltas of queries that are owed a share of their value, with how to work them out again.
    """

    constraints: Constraints
    every: Places
    sample: float | None = None
    relative: list[tuple[float, Demand, float]] = field(default_factory=list)


class Demands:
    """Follows the registry of a home.

    Parameters
    ----------
    home
        Where queries are registered.
    stream
        The stream whose queries are asked for.
    """

    def __init__(self, home: Home, stream: Stream) -> None:
        self.home = home
        self.stream = stream
        self._registry: Registry | None = None
        self._changed = -1

    def follow(self) -> bool:
        """Take in what was registered since; whether it may concern the stream."""
        epoch = self.home.committed()
        if self._registry is not None and self._registry.epoch == epoch:
            return False
        self._registry = registry_at(self.home, epoch, self._registry)
        moved = self._registry.changed != self._changed
        self._changed = self._registry.changed
        return moved

    def build(self, bounds: Sequence[Bound]) -> Asked:
        """What is asked of these objects."""
        registry = self._registry or Registry()
        running = [s for s in registry.queries.values() if s.status == "running"]
        roll = Roll.of(self.stream, bounds, registry.functions)
        return asked_of(running, roll, registry.tables)


def asked_of(standing: Iterable[Standing], roll: Roll, tables: Mapping[str, Table]) -> Asked:
    """What queries ask of the objects of a stream."""
    stream = roll.stream
    readers = [one for one in standing if stream.name in one.asked.streams]
    demands: list[Demand] = []
    every: list[Places] = []
    relative: list[tuple[float, Demand, float]] = []
    for one in readers:
        if not technique_of(one).of_bounds:
            asked = one.asked
            every.append(roll.chosen(asked) if _by_key(asked, stream) else roll.here)
            continue
        query = one.query
        for members, weights in roll.teams(query, tables):
            demand = _demand(query, members, weights, roll)
            if query.contract.tolerance == "relative":
                share = query.contract.within
                demand = demand._replace(delta=_share(demand, share, roll))
                relative.append((demand.delta, demand, share))
            demands.append(_padded(demand, roll))
    return Asked(
        Constraints.of(len(roll.keys), demands),
        np.unique(np.concatenate([np.empty(0, np.int64), *every])),
        demand_of([one.asked for one in readers], stream.value or "").sample,
        relative,
    )


def moved(asked: Asked, stream: Stream, bounds: Sequence[Bound]) -> bool:
    """Whether queries that are owed a share of their value are owed something else by now."""
    if not asked.relative:
        return False
    roll = Roll.of(stream, bounds)
    for delta, demand, share in asked.relative:
        now = _share(demand, share, roll)
        if abs(now - delta) > MOVED * max(now, delta):
            return True
    return False


@dataclass(slots=True)
class Roll:
    """The objects that are there, as columns: who they are and what is known of them.

    `here` are their places; the other columns are by place, of all objects. `told` says who has a
    value as far as was heard; `value` and `width` are what has taken effect.
    """

    stream: Stream
    keys: list[tuple[str, ...]]
    here: Places
    told: npt.NDArray[np.bool_]
    value: Floats
    width: Floats
    pad: Floats
    names: dict[str, int]
    functions: Functions = field(default_factory=dict)

    @classmethod
    def of(
        cls, stream: Stream, bounds: Sequence[Bound], functions: Functions | None = None
    ) -> Roll:
        """Columns of the objects that somebody tells of."""
        here = [place for place, bound in enumerate(bounds) if bound.agent]
        newest: Instant = max((bound.at for bound in bounds), default=0)
        return cls(
            stream,
            [bound.key for bound in bounds],
            np.array(here, np.int64),
            np.array([bound.told for bound in bounds], np.bool_),
            np.array([bound.value for bound in bounds], np.float64),
            np.array([bound.width(newest) for bound in bounds], np.float64),
            np.array([bound.pad for bound in bounds], np.float64),
            {series_name(list(bounds[place].key)): place for place in here},
            functions or {},
        )

    def chosen(self, query: Query) -> Places:
        """Objects whose key passes the condition of a query, which may be on computed columns."""
        if query.where is None or not len(self.here):
            return self.here
        table, computed = self._table(), dict(query.derived)
        columns = {
            name: evaluate(computed[name], table, self.functions)
            if name in computed
            else table[name].combine_chunks()
            for name in query.where.columns()
        }
        passed: Places = self.here[_mask(query.where, columns)]
        return passed

    def _table(self) -> pa.Table:
        """Keys of the objects that are there."""
        columns = {}
        for part, name in enumerate(self.stream.key):
            texts = pa.array([self.keys[place][part] for place in self.here.tolist()], pa.string())
            columns[name] = texts.cast(TYPES[self.stream.schema.type(name)])
        return pa.table(columns)

    def teams(
        self, query: Query, tables: Mapping[str, Table]
    ) -> list[tuple[Places, Floats | None]]:
        """Members of each answer of a query, with their weights."""
        if query.members is not None:
            table = tables.get(query.members.table)
            return [] if table is None else self._of_table(query.members, table)
        if query.series is not None:
            found = [self.names.get(name, -1) for name in query.series]
            members = np.array(found, np.int64)
            weights = None if query.weights is None else np.array(query.weights, np.float64)
            there = members >= 0
            return [(members[there], None if weights is None else weights[there])]
        chosen = self.chosen(query)
        if not query.group_by:
            return [(chosen, None)]
        groups: dict[tuple[str, ...], list[int]] = {}
        parts = [self.stream.key.index(name) for name in query.group_by]
        for place in chosen.tolist():
            key = self.keys[place]
            groups.setdefault(tuple(key[part] for part in parts), []).append(place)
        return [(np.array(places, np.int64), None) for places in groups.values()]

    def _of_table(self, members: Members, table: Table) -> list[tuple[Places, Floats | None]]:
        groups = _read_members(table.path, json.dumps(members.as_dict()))
        found: list[tuple[Places, Floats | None]] = []
        for names, weights in groups:
            places = np.array([self.names.get(name, -1) for name in names], np.int64)
            there = places >= 0
            found.append((places[there], None if weights is None else weights[there]))
        return found


def _by_key(asked: Query | View, stream: Stream) -> TypeGuard[Query]:
    """Whether the rows that a query reads are chosen by their keys alone."""
    if not isinstance(asked, Query) or asked.parts or asked.where is None:
        return False
    computed = dict(asked.derived)
    read = {
        column
        for name in asked.where.columns()
        for column in (computed[name].columns() if name in computed else (name,))
    }
    return read <= set(stream.key)


def _mask(where: Predicate, columns: Mapping[str, pa.Array]) -> npt.NDArray[np.bool_]:
    """Rows that pass a condition."""
    numbers: dict[str, Floats] = {}
    words: dict[str, tuple[npt.NDArray[np.int32], list[Any]]] = {}
    for name, column in columns.items():
        if pa.types.is_string(column.type) or pa.types.is_boolean(column.type):
            coded = column.dictionary_encode()
            codes = pc.fill_null(coded.indices, -1).to_numpy(zero_copy_only=False)
            words[name] = codes.astype(np.int32), coded.dictionary.to_pylist()
        else:
            numbers[name] = as_floats(column)
    return where.mask(numbers, words)


def _demand(query: Query, members: Places, weights: Floats | None, roll: Roll) -> Demand:
    """What one answer of a query asks of the widths of its members."""
    contract, name = query.contract, query.select.name
    delta = 2.0 * contract.within if contract.tolerance == "absolute" else 0.0
    if name == "count" or not len(members):
        # A count needs to know who is there, not what they measure.
        return Demand(members[:0], None, 0.0)
    if name in ("min", "max"):
        return Demand(members, None, delta, "each")
    if name == "sum":
        return Demand(members, weights, delta)
    there = roll.told[members]
    if weights is None:
        return Demand(members, np.full(len(members), 1.0 / max(int(there.sum()), 1)), delta)
    mass = abs(float(weights[there].sum()))
    if mass == 0.0:
        return Demand(members, None, 0.0)
    return Demand(members, weights / mass, delta)


def _share(demand: Demand, share: float, roll: Roll) -> float:
    """Delta of an answer that is owed a share of its value: of the end of its bar nearest to 0."""
    members = np.asarray(demand.members, np.int64)
    members = members[~np.isnan(roll.value[members])]
    if not len(members):
        return 0.0
    value = roll.value[members]
    half = np.where(np.isfinite(roll.width[members]), roll.width[members], 0.0) / 2.0
    if demand.kind == "each":
        nearest = np.maximum(np.abs(value) - half, 0.0).min()
        return float(2.0 * PRUDENCE * share * nearest)
    given = demand.weights
    known = ~np.isnan(roll.value[np.asarray(demand.members, np.int64)])
    weights = np.ones(len(members)) if given is None else np.asarray(given, np.float64)[known]
    with np.errstate(over="ignore", invalid="ignore"):
        centre, reach = abs(float(weights @ value)), float(np.abs(weights) @ half)
    owed = 2.0 * PRUDENCE * share * max(centre - reach, 0.0)
    return owed if math.isfinite(owed) else 0.0


def _padded(demand: Demand, roll: Roll) -> Demand:
    """The same with a delta that leaves room for what widths are padded by."""
    members = np.asarray(demand.members, np.int64)
    pad = roll.pad[members]
    if not pad.any():
        return demand
    if demand.kind == "each":
        return demand._replace(delta=max(demand.delta - float(pad.max()), 0.0))
    weights = np.ones(len(members)) if demand.weights is None else np.asarray(demand.weights)
    taken = float(np.abs(weights) @ pad)
    return demand._replace(delta=max(demand.delta - taken, 0.0))


@lru_cache(maxsize=32)
def _read_members(path: str, asked: str) -> list[tuple[list[str], Floats | None]]:
    """Names of the series of each key of a table, with their weights."""
    members = Members.from_dict(json.loads(asked))
    table = read_parquet(path, "the copy of a table")
    if members.where is not None:
        columns = {name: table[name].combine_chunks() for name in members.where.columns()}
        table = table.filter(pa.array(_mask(members.where, columns)))
    series = table[members.series].to_pylist()
    weight = None if members.weight is None else as_floats(table[members.weight])
    keys = list(zip(*(table[name].to_pylist() for name in members.by), strict=True))
    groups: dict[Any, list[int]] = {}
    for row, name in enumerate(series):
        if name is not None and (weight is None or not np.isnan(weight[row])):
            groups.setdefault(keys[row] if keys else (), []).append(row)
    return [
        ([series_name([series[row]]) for row in rows], None if weight is None else weight[rows])
        for rows in groups.values()
    ]
