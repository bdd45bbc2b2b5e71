"""Members: the series that the cells of a query are worked out of.

A query of its own is one cell. A family is one cell for each key of its table, or for each value
of the columns it groups series by.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.engine.naming import Groups, series_name
from streamgauge.engine.pieces import Bench
from streamgauge.kernel.columns import as_floats
from streamgauge.kernel.hashing import stable_hash
from streamgauge.kernel.keys import items, keys
from streamgauge.log.segments import read_parquet
from streamgauge.operators.emission import Codes, Floats, Ints
from streamgauge.plan.members import Members
from streamgauge.plan.registry import Standing
from streamgauge.streams.table import Table


@dataclass(slots=True)
class Kin:
    """Members of the cells of one query: `pointer` cuts them, `texts` names the groups.

    `listed` says that all members are named, `steady` that they do not follow the series that
    appear; `path` is the table they were read from, `everywhere` its cells and members on all
    shards. `pool` has the pool of each cell.
    """

    pointer: Ints
    member: Codes
    weight: Floats | None
    texts: npt.NDArray[np.object_]
    listed: bool
    steady: bool = True
    path: str = ""
    everywhere: tuple[int, int] = (0, 0)
    pool: Codes = field(default_factory=lambda: np.empty(0, np.int32))

    @property
    def size(self) -> int:
        """How many cells."""
        return len(self.pointer) - 1


def kin_of(
    standing: Standing,
    bench: Bench,
    tables: Mapping[str, Table],
    groups: Groups | None,
    homes: Codes,
) -> Kin:
    """The cells of a query and who belongs to them."""
    query = standing.query
    if query.members is not None:
        path = tables[query.members.table].path
        return _of_table(query.members, path, bench)
    if query.group_by:
        assert groups is not None
        return _of_groups(groups, homes, bench)
    if query.series is None:
        # By name: the numbers differ between shards, the order of summing must not. A series that
        # some query has only named is a member on no shard.
        names = bench.series.names.values
        members = np.array(sorted(set(bench.series.local), key=lambda s: names[s]), np.int32)
    else:
        members = np.array([bench.series.names.add(name) for name in query.series], np.int32)
    weight = None if query.weights is None else np.array(query.weights, np.float64)
    pointer = np.array([0, len(members)], np.int64)
    named = query.series is not None
    pool = np.array([standing.id % bench.pools], np.int32)
    return Kin(pointer, members, weight, _words([""]), named, steady=named, pool=pool)


def _of_groups(groups: Groups, homes: Codes, bench: Bench) -> Kin:
    """One cell for each group of this shard; members are the series whose newest row is in it."""
    names = bench.series.names.values
    order = sorted(range(len(homes)), key=lambda s: names[s])
    parts: list[list[int]] = [[] for _ in groups.texts]
    for s in order:
        if homes[s] >= 0:
            parts[homes[s]].append(s)
    sizes = np.array([len(part) for part in parts], np.int64)
    pointer = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))
    member = np.array([s for part in parts for s in part], np.int32)
    pool = np.array([stable_hash(text) % bench.pools for text in groups.texts], np.int32)
    return Kin(pointer, member, None, _words(groups.texts), False, steady=False, pool=pool)


def _of_table(members: Members, path: str, bench: Bench) -> Kin:
    """One cell for each key of a table whose pool is of this shard, in the order of keys."""
    codes, texts, names, weight = _read_table(path, json.dumps(members.as_dict()))
    series = np.empty(len(names.dictionary), np.int32)
    for place, value in enumerate(names.dictionary.to_pylist()):
        series[place] = bench.series.names.add(series_name([value]))
    pool = _pools(texts, bench)
    mine = np.flatnonzero(pool % bench.shards == bench.shard)
    cell = np.full(len(texts), -1, np.int64)
    cell[mine] = np.arange(len(mine))
    taken = cell[codes]
    rows = np.flatnonzero(taken >= 0)
    rows = rows[np.argsort(taken[rows], kind="stable")]
    sizes = np.bincount(taken[rows], minlength=len(mine))
    pointer = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes))).astype(np.int64)
    member = series[np.asarray(names.indices.to_numpy())[rows]]
    taken_weight = None if weight is None else weight[rows]
    everywhere = len(texts), len(codes)
    return Kin(
        pointer, member, taken_weight, texts[mine], True,
        path=path, everywhere=everywhere, pool=pool[mine],
    )  # fmt: skip


def _pools(texts: npt.NDArray[np.object_], bench: Bench) -> Codes:
    """Pools of keys."""
    if len(texts) == 1 and texts[0] == "":
        return np.array([stable_hash("") % bench.pools], np.int32)
    hashes = keys(items(pa.array(texts, pa.large_string())), seed=1)
    return (hashes % np.uint64(bench.pools)).astype(np.int32)


@lru_cache(maxsize=4)
def _read_table(
    path: str, asked: str
) -> tuple[Ints, npt.NDArray[np.object_], pa.DictionaryArray, Floats | None]:
    """Key of each row of a table, the keys in order, the series of each row, and its weight."""
    members = Members.from_dict(json.loads(asked))
    where = () if members.where is None else members.where.columns()
    weights = () if members.weight is None else (members.weight,)
    columns = list(dict.fromkeys((*members.by, members.series, *weights, *where)))
    table = read_parquet(path, "the copy of a table", columns)
    if members.where is not None:
        table = table.filter(_passed(members, table))
    names = table[members.series].combine_chunks().dictionary_encode()
    weight = None if members.weight is None else as_floats(table[members.weight])
    keep = pc.is_valid(table[members.series]).to_numpy(zero_copy_only=False)
    if weight is not None:
        keep &= ~np.isnan(weight)
    if not keep.all():
        table, names = table.filter(pa.array(keep)), names.filter(pa.array(keep))
        weight = None if weight is None else weight[keep]
    codes, texts = _keys_of(table, members.by)
    return codes, texts, names, weight


def _passed(members: Members, table: pa.Table) -> pa.Array:
    assert members.where is not None
    numbers: dict[str, Floats] = {}
    words: dict[str, tuple[Codes, list[Any]]] = {}
    for name in members.where.columns():
        column = table[name]
        if pa.types.is_string(column.type) or pa.types.is_boolean(column.type):
            coded = column.combine_chunks().dictionary_encode()
            codes = pc.fill_null(coded.indices, -1).to_numpy().astype(np.int32)
            words[name] = codes, coded.dictionary.to_pylist()
        else:
            numbers[name] = as_floats(column)
    return pa.array(members.where.mask(numbers, words))


def _keys_of(table: pa.Table, by: tuple[str, ...]) -> tuple[Ints, npt.NDArray[np.object_]]:
    """Number of the key of each row, and the texts of the keys, in the order of the texts."""
    if not by:
        return np.zeros(table.num_rows, np.int64), _words([""])
    codes = np.zeros(table.num_rows, np.int64)
    values: list[list[Any]] = []
    for name in by:
        coded = table[name].combine_chunks().dictionary_encode(null_encoding="encode")
        values.append(coded.dictionary.to_pylist())
        codes = codes * len(coded.dictionary) + np.asarray(coded.indices.to_numpy(), np.int64)
    distinct, inverse = np.unique(codes, return_inverse=True)
    cut = []
    left = distinct
    for column in reversed(values):
        cut.append([column[place] for place in (left % len(column)).tolist()])
        left = left // len(column)
    texts = [json.dumps(list(key), default=str) for key in zip(*reversed(cut), strict=True)]
    order = np.argsort(np.array(texts, object), kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return rank[inverse], _words([texts[place] for place in order.tolist()])


def _words(texts: Sequence[str]) -> npt.NDArray[np.object_]:
    out = np.empty(len(texts), object)
    out[:] = texts
    return out
