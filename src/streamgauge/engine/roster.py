"""Roster: deferred queries as columns of cells, with their members.

A query of its own is one cell. A family is one cell for each key of its table, or for each value
of the columns it groups series by. Cells are in pools by their keys or the numbers of their
queries, and every shard has the cells of its pools.
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
from scipy.special import ndtri

from streamgauge.drift.cells import ASKED, REGIMES, Links, Records
from streamgauge.drift.deadline import tables as deadline_tables
from streamgauge.drift.peaks import surely
from streamgauge.engine.naming import Groups, series_name
from streamgauge.engine.pieces import NO_LIMIT, Bench
from streamgauge.kernel.columns import as_floats
from streamgauge.kernel.hashing import mix64, stable_hash
from streamgauge.kernel.keys import items, keys
from streamgauge.log.segments import read_parquet
from streamgauge.operators.emission import ALWAYS, NEVER, Codes, Floats, Ints
from streamgauge.plan.members import Members
from streamgauge.plan.registry import Standing
from streamgauge.streams.table import Table

# A width of nothing is kept by looking, never by a table: any law will do.
_UNUSED = (0.5, "mean")


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


@dataclass(slots=True)
class Roster:
    """All cells of a piece, compiled; `sizes` are the cells of each query, in order.

    `kinds` are what answers are told apart by, exactness and confidence; `kind` is that of each
    cell, `pool` the pool that it shares a capacity in. `groups` are the cells that are groups.
    """

    cells: Records
    links: Links
    tables: Floats
    texts: pa.StringArray
    sizes: list[int]
    kind: Ints
    kinds: list[tuple[bool, float]]
    pool: Codes
    groups: Ints


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


def compiled(queries: Sequence[Standing], kin: Sequence[Kin], bench: Bench) -> Roster:
    """Queries as records, one for each of their cells."""
    sizes = [one.size for one in kin]
    laws: dict[tuple[float, str], int] = {}
    asked = np.zeros(len(queries), ASKED)
    for place, standing in enumerate(queries):
        asked[place] = _row(standing, bench, laws)
    cells = np.repeat(asked, sizes)
    counts = [np.diff(one.pointer) for one in kin]
    listed = [np.where(one.listed, n, 0) for one, n in zip(kin, counts, strict=True)]
    cells["listed"] = _joined(listed, np.int32)
    windowed = cells["window"] > 0
    cells["deque"] = np.where(windowed, np.cumsum(windowed) - 1, -1)
    draws = [_draws(s, one) for s, one in zip(queries, kin, strict=True)]
    cells["draw"] = _joined(draws, np.uint64)
    stack = [deadline_tables(*law) for law in laws] or [deadline_tables(*_UNUSED)]
    texts = pa.array(np.concatenate([one.texts for one in kin]) if kin else [], pa.string())
    pairs = zip((asked["width"] == 0.0).tolist(), asked["confidence"].tolist(), strict=True)
    kinds: dict[tuple[bool, float], int] = {}
    kind = [kinds.setdefault(pair, len(kinds)) for pair in pairs]
    of_cells = np.repeat(np.array(kind, np.int64), sizes)
    pool = _joined([one.pool for one in kin], np.int32)
    links = _links(kin, counts)
    groups = np.flatnonzero(cells["grouped"])
    return Roster(cells, links, np.stack(stack), texts, sizes, of_cells, list(kinds), pool, groups)


def _links(kin: Sequence[Kin], counts: Sequence[Ints]) -> Links:
    weighted = any(one.weight is not None for one in kin)
    weights = [
        (np.ones(len(one.member)) if one.weight is None else one.weight) for one in kin
    ] if weighted else []  # fmt: skip
    pointer = np.concatenate((np.zeros(1, np.int64), np.cumsum(_joined(counts, np.int64))))
    return Links(
        pointer.astype(np.int64),
        _joined([one.member for one in kin], np.int32),
        _joined(weights, np.float64),
    )


def _row(standing: Standing, bench: Bench, laws: dict[tuple[float, str], int]) -> tuple[Any, ...]:
    """What all cells of a query have in common, in the order of the record."""
    query, contract, tick = standing.query, standing.query.contract, bench.stream.tick
    window, opened, sign = 0, int(ALWAYS), 1.0
    if query.over is not None:
        landmark = query.over.window.kind == "landmark"
        window = int(NEVER) if landmark else query.over.window.length // tick
        opened = -(-query.over.window.start // tick) if landmark else opened
        sign = 1.0 if query.over.kind == "max" else -1.0
    form = "above" if window else "throughout" if contract.throughout else "mean"
    exact = contract.tolerance == "exact" or contract.confidence >= 1.0
    sure = min(max(contract.confidence, 0.5), 0.999999)
    if window:
        sure = min(surely(contract.confidence), 0.999999)
    law = _UNUSED if exact else (sure, form)
    since = bench.since(standing)
    row = {
        "query": standing.id,
        "op": query.select.code,
        "width": 0.0 if contract.tolerance == "exact" else contract.within,
        "relative": contract.tolerance == "relative",
        "confidence": 1.0 if contract.tolerance == "exact" else contract.confidence,
        "law": laws.setdefault(law, len(laws)),
        "asked": REGIMES[query.regime],
        "born": ALWAYS if since == NO_LIMIT else since // tick,
        "window": window,
        "opened": opened,
        "sign": sign,
        "trend": query.trend,
        "throughout": contract.throughout,
        "paused": standing.status != "running",
        "grouped": bool(query.group_by),
        "spread": np.inf if exact else float(ndtri(0.5 + 0.5 * contract.confidence)),
    }
    return tuple(row.get(name, 0) for name in _FIELDS)


_FIELDS: tuple[str, ...] = ASKED.names or ()


def _joined(parts: Sequence[npt.NDArray[Any]], kind: Any) -> npt.NDArray[Any]:
    return np.concatenate(parts).astype(kind) if len(parts) else np.empty(0, kind)


def _draws(standing: Standing, kin: Kin) -> npt.NDArray[np.uint64]:
    """Seeds of the draws of the cells of a query, by its number and the names of its groups."""
    seed = np.uint64(mix64(np.uint64(standing.id)))
    if kin.size == 1 and kin.texts[0] == "":
        return np.array([seed], np.uint64)
    return keys(items(pa.array(kin.texts, pa.large_string())), seed=0) ^ seed
