"""Roster: deferred queries as columns of cells, with their members.

A query of its own is one cell. A family is one cell for each key of its table, or for each value
of the columns it groups series by. Cells are in pools by their keys or the numbers of their
queries, and every shard has the cells of its pools.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.special import ndtri

from streamgauge.drift.cells import ASKED, REGIMES, Links, Records
from streamgauge.drift.deadline import tables as deadline_tables
from streamgauge.drift.peaks import surely
from streamgauge.engine.members import Kin
from streamgauge.engine.pieces import NO_LIMIT, Bench
from streamgauge.kernel.hashing import mix64
from streamgauge.kernel.keys import items, keys
from streamgauge.kernel.moves import Moves
from streamgauge.operators.emission import ALWAYS, NEVER, Codes, Floats, Ints
from streamgauge.plan.registry import Standing

# A width of nothing is kept by looking, never by a table: any law will do.
_UNUSED = (0.5, "mean")


@dataclass(slots=True)
class Roster:
    """All cells of a piece, compiled; `sizes` are the cells of each query, in order.

    `laws` are what tables of deadlines follow from, `kinds` what answers are told apart by:
    exactness and confidence; `kind` is that of each cell, `pool` the pool that it shares a capacity
    in. `groups` are the cells that are groups.
    """

    cells: Records
    links: Links
    tables: Floats
    texts: pa.StringArray
    sizes: Ints
    laws: dict[tuple[float, str], int]
    kind: Ints
    kinds: list[tuple[bool, float]]
    pool: Codes
    groups: Ints


def compiled(
    queries: Sequence[Standing],
    kin: Sequence[Kin],
    bench: Bench,
    laws: Mapping[tuple[float, str], int] | None = None,
) -> Roster:
    """Queries as records, one for each of their cells; they may go by laws that are known."""
    sizes = np.array([one.size for one in kin], np.int64)
    followed = dict(laws or {})
    asked = np.zeros(len(queries), ASKED)
    for place, standing in enumerate(queries):
        asked[place] = _row(standing, bench, followed)
    cells = np.repeat(asked, sizes)
    counts = [np.diff(one.pointer) for one in kin]
    listed = [np.where(one.listed, n, 0) for one, n in zip(kin, counts, strict=True)]
    cells["listed"] = _joined(listed, np.int32)
    windowed = cells["window"] > 0
    cells["deque"] = np.where(windowed, np.cumsum(windowed) - 1, -1)
    draws = [_draws(s, one) for s, one in zip(queries, kin, strict=True)]
    cells["draw"] = _joined(draws, np.uint64)
    texts = pa.array(np.concatenate([one.texts for one in kin]) if kin else [], pa.string())
    pairs = list(zip((asked["width"] == 0.0).tolist(), asked["confidence"].tolist(), strict=True))
    # In an order of their own: that of the queries changes as they come and leave.
    kinds = sorted(set(pairs))
    kind = np.repeat(np.array([kinds.index(pair) for pair in pairs], np.int64), sizes)
    pool = _joined([one.pool for one in kin], np.int32)
    links, groups = _links(kin, counts), np.flatnonzero(cells["grouped"])
    tables = _tables(followed)
    return Roster(cells, links, tables, texts, sizes, followed, kind, kinds, pool, groups)


def _tables(laws: Mapping[tuple[float, str], int]) -> Floats:
    return np.stack([deadline_tables(*law) for law in laws] or [deadline_tables(*_UNUSED)])


def changed(old: Roster, fresh: Roster, moves: Moves) -> tuple[Roster, Moves]:
    """A roster after queries of one cell each have left and others come; how its cells move."""
    starts = np.cumsum(old.sizes) - old.sizes
    sizes = moves.column(old.sizes, fresh.sizes)
    cells = Moves(starts[moves.gone], (np.cumsum(sizes) - sizes)[moves.come])
    kinds = sorted({*old.kinds, *fresh.kinds})
    kind = [_renumbered(part.kind, part.kinds, kinds) for part in (old, fresh)]
    records = cells.column(old.cells, fresh.cells)
    order = cells.column(np.arange(len(old.cells)), len(old.cells) + np.arange(len(fresh.cells)))
    return Roster(
        records,
        _moved_links(old.links, fresh.links, cells),
        old.tables if fresh.laws == old.laws else fresh.tables,
        pa.concat_arrays([old.texts, fresh.texts]).take(pa.array(order)),
        sizes,
        fresh.laws,
        cells.column(*kind),
        kinds,
        cells.column(old.pool, fresh.pool),
        np.flatnonzero(records["grouped"]),
    ), cells


def _renumbered(kind: Ints, old: Sequence[Any], new: Sequence[Any]) -> Ints:
    if old == new or not len(kind):
        return kind
    return np.array([new.index(one) for one in old], np.int64)[kind]


def _moved_links(old: Links, fresh: Links, cells: Moves) -> Links:
    sizes = np.diff(fresh.pointer)
    pointer, member = cells.parts(old.pointer, old.member, sizes, fresh.member)
    weight = old.weight
    if len(old.weight) or len(fresh.weight):
        _, weight = cells.parts(old.pointer, _weights(old), sizes, _weights(fresh))
    return Links(pointer, member, weight)


def _weights(links: Links) -> Floats:
    return links.weight if len(links.weight) else np.ones(len(links.member))


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


def places_of(slot: tuple[int, int] | None, old: Kin | None, new: Kin) -> Ints:
    """Where the cells of a query were; -1 for those that are new."""
    if slot is None:
        return np.full(new.size, -1, np.int64)
    start, size = slot
    if size == new.size and (old is None or old is new or (old.texts == new.texts).all()):
        return np.arange(start, start + size, dtype=np.int64)
    assert old is not None, "the cells of a query are not those of its state"
    index = {text: start + place for place, text in enumerate(old.texts)}
    return np.array([index.get(text, -1) for text in new.texts], np.int64)
