"""Teams: the members of queries over bounds, one team for each cell, shared by equal queries."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.engine.members import Kin, kin_of
from streamgauge.engine.pieces import Bench
from streamgauge.kernel.columns import as_floats
from streamgauge.kernel.hashing import stable_hash
from streamgauge.operators.emission import Codes, Flags, Floats, Ints
from streamgauge.operators.evaluate import evaluate
from streamgauge.operators.functions import Functions
from streamgauge.operators.predicate import Predicate
from streamgauge.plan.query import Query
from streamgauge.plan.registry import Standing
from streamgauge.streams.schema import TYPES
from streamgauge.streams.table import Table

_NOBODY: Codes = np.empty(0, np.int32)


@dataclass(slots=True)
class Keys:
    """Keys of the series that have had a row, in the order of their names.

    `codes` are the values of each column of the key by number, `texts` the names of the groups of
    each series by columns, with whether this shard has them.
    """

    bench: Bench
    functions: Functions
    series: Codes
    codes: dict[str, Codes]
    texts: dict[tuple[str, ...], npt.NDArray[np.object_]] = field(default_factory=dict)
    table: pa.Table | None = None

    @classmethod
    def of(cls, bench: Bench, functions: Functions) -> Keys:
        """The keys that are known now."""
        known: dict[int, tuple[int, ...]] = {}
        combos = bench.series.combiner.interner.values
        for combo, sid in zip(combos, bench.series.local, strict=False):
            known.setdefault(sid, combo)
        names = bench.series.names.values
        ordered = sorted(known, key=lambda sid: names[sid])
        taken = np.array([known[sid] for sid in ordered], np.int32)
        taken = taken.reshape(len(ordered), len(bench.stream.key))
        codes = {name: taken[:, place] for place, name in enumerate(bench.stream.key)}
        return cls(bench, functions, np.array(ordered, np.int32), codes)

    def values(self, name: str) -> list[Any]:
        """The values of a column of the key."""
        words = self.bench.words[name].values
        return [None if code < 0 else words[code] for code in self.codes[name].tolist()]

    def passed(self, where: Predicate, query: Query) -> Flags:
        """Which series a condition on their keys chooses."""
        if where.op in ("and", "or"):
            one, two = (self.passed(part, query) for part in where.parts)
            return one & two if where.op == "and" else one | two
        if where.op in ("=", "in") and where.column in self.codes:
            index = self.bench.words[where.column].index
            wanted = [index[value] for value in where.values if value in index]
            return np.isin(self.codes[where.column], wanted)
        return self._general(where, query)

    def _general(self, where: Predicate, query: Query) -> Flags:
        if self.table is None:
            kinds = {name: TYPES[self.bench.stream.schema.type(name)] for name in self.codes}
            self.table = pa.table(
                {name: pa.array(self.values(name), kinds[name]) for name in self.codes}
            )
        computed = dict(query.derived)
        numbers: dict[str, Floats] = {}
        words: dict[str, tuple[Codes, list[Any]]] = {}
        for name in where.columns():
            column = self.table[name] if name in self.codes else None
            if column is None:
                column = pa.chunked_array([evaluate(computed[name], self.table, self.functions)])
            if pa.types.is_string(column.type) or pa.types.is_boolean(column.type):
                coded = column.combine_chunks().dictionary_encode()
                places = pc.fill_null(coded.indices, -1).to_numpy().astype(np.int32)
                words[name] = places, coded.dictionary.to_pylist()
            else:
                numbers[name] = as_floats(column)
        return where.mask(numbers, words)

    def groups(self, by: tuple[str, ...]) -> npt.NDArray[np.object_]:
        """Name of the group of each series; None for those of other shards."""
        if by not in self.texts:
            texts = np.empty(len(self.series), object)
            owned: dict[str, bool] = {}
            for place, values in enumerate(zip(*(self.values(name) for name in by), strict=True)):
                text = json.dumps(list(values), default=str)
                if text not in owned:
                    owned[text] = stable_hash(text) % self.bench.shards == self.bench.shard
                texts[place] = text if owned[text] else None
            self.texts[by] = texts
        return self.texts[by]


def team_key(standing: Standing, bench: Bench) -> str:
    """What queries must agree in to have the same teams."""
    query = standing.query
    parts = [
        query.series,
        query.weights,
        query.group_by,
        None if query.where is None else query.where.as_dict(),
        [[name, expr.as_json()] for name, expr in query.derived],
        None if query.members is None else query.members.as_dict(),
        bench.since(standing),
    ]
    return json.dumps(parts)


def teams_of(standing: Standing, keys: Keys, tables: Mapping[str, Table]) -> Kin:
    """The cells of a query and who belongs to them."""
    query = standing.query
    if query.where is None and not query.group_by:
        return kin_of(standing, keys.bench, tables, None, _NOBODY)
    chosen = np.ones(len(keys.series), np.bool_)
    if query.where is not None:
        chosen = keys.passed(query.where, query)
    if not query.group_by:
        members = keys.series[chosen]
        pointer = np.array([0, len(members)], np.int64)
        return Kin(pointer, members, None, _texts([""]), listed=False, steady=False)
    groups = keys.groups(query.group_by)
    chosen &= np.array([text is not None for text in groups], np.bool_)
    return _by_group(keys.series[chosen], groups[chosen])


def _by_group(series: Codes, groups: npt.NDArray[np.object_]) -> Kin:
    names = sorted(set(groups.tolist()))
    place = {text: at for at, text in enumerate(names)}
    codes = np.array([place[text] for text in groups], np.int64)
    sizes = np.bincount(codes, minlength=len(names))
    pointer: Ints = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes))).astype(np.int64)
    members = series[np.argsort(codes, kind="stable")]
    return Kin(pointer, members, None, _texts(names), listed=False, steady=False)


def _texts(texts: list[str]) -> npt.NDArray[np.object_]:
    out = np.empty(len(texts), object)
    out[:] = texts
    return out
