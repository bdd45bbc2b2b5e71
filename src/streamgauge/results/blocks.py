"""Blocks: answers as they are stored, small because what is at its default is not written.

A block is one Arrow file per shard and epoch. Always there: query, version, group, as_of, value.
Only where some answer differs from the default: low, high, coverage, silent, revision; and basis,
confidence where some answer rests on a synopsis or is deferred; met there and with bars; slope
where it has one; share where a budget did not reach. What each cause adds is in `widening`.
`expand` gives the full public schema back.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.contracts.answer import EMPTY
from streamgauge.contracts.causes import INTERRUPTION, LATE_ROWS
from streamgauge.contracts.contract import TOLERANCES, Contract
from streamgauge.contracts.schema import ANSWERS
from streamgauge.kernel.files import reading
from streamgauge.results import blocks_v1, widening
from streamgauge.results.arrow_file import read_table, write_table

FORMAT = b"2"
_TAG = b"streamgauge.block"
Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]


@dataclass(slots=True)
class Block:
    """Columns of answers; `query` and `group` are codes into `names` and `texts`.

    `sides` has what each cause adds below and above: what an answer rests on, late rows, an
    interruption. `basis` is a code into `sworn`: the name of what it rests on, and its confidence.
    """

    query: Codes
    version: Codes
    group: Codes
    as_of: npt.NDArray[np.int64]
    value: Floats
    low: Floats
    high: Floats
    coverage: Floats
    silent: Codes
    revision: Codes
    names: list[str]
    texts: pa.Array
    sides: Floats
    slope: Floats
    basis: Codes
    sworn: list[tuple[str, float]]
    contracts: Contracts
    share: Floats


@dataclass(frozen=True, slots=True)
class Contracts:
    """What each query is owed, as columns: a tolerance by its number, and its width."""

    tolerance: Codes
    within: Floats

    @classmethod
    def of(cls, contracts: Sequence[Contract]) -> Contracts:
        """Contracts as columns."""
        return cls(
            np.array([TOLERANCES.index(c.tolerance) for c in contracts], np.int32),
            np.array([c.within for c in contracts], np.float64),
        )


def write_block(path: Path, block: Block, *, epoch: int) -> int:
    """Store a block, whole or absent; equal answers give equal bytes. Return their checksum."""
    columns: dict[str, pa.Array] = {
        "query": pa.DictionaryArray.from_arrays(block.query, pa.array(block.names, pa.string())),
        "version": pa.array(block.version),
        "group": pa.DictionaryArray.from_arrays(block.group, block.texts),
        "as_of": pa.array(block.as_of),
        "value": pa.array(block.value, from_pandas=True),
    }
    widened, told = widening.stored(block.value, block.low, block.high, block.sides)
    columns.update(widened)
    if not (block.coverage == 1.0).all():
        columns["coverage"] = pa.array(block.coverage)
    if block.silent.any():
        columns["silent"] = pa.array(block.silent)
    if block.revision.any():
        columns["revision"] = pa.array(block.revision)
    if block.basis.any():
        names = pa.array([name for name, _ in block.sworn], pa.string())
        sure = np.array([confidence for _, confidence in block.sworn])
        columns["basis"] = pa.DictionaryArray.from_arrays(block.basis, names)
        columns["confidence"] = pa.array(sure[block.basis])
    if block.basis.any() or told:
        columns["met"] = pa.array(_met(block))
    if block.slope.any():
        columns["slope"] = pa.array(block.slope)
    if not (block.share == 1.0).all():
        columns["share"] = pa.array(block.share)
    table = pa.table(columns)
    table = table.replace_schema_metadata({_TAG: FORMAT, "epoch": str(epoch), widening.TAG: told})
    return write_table(path, table)


def read_block(path: Path, names: Collection[str] | None = None) -> pa.Table:
    """Read a block, or what it has of some queries, and expand it to the public schema."""
    table = read_table(path, what="a block of answers", tag=_TAG, form=(FORMAT, blocks_v1.FORMAT))
    with reading(path, "a block of answers"):
        epoch = int(table.schema.metadata[b"epoch"])
        if names is not None:
            # Most of a block is of others; expanding them would cost more than all the rest.
            table = table.filter(pc.is_in(table["query"], pa.array(sorted(names), pa.string())))
        return expand(table, epoch)


def expand(table: pa.Table, epoch: int) -> pa.Table:
    """Give stored answers all their columns."""
    n = table.num_rows
    silent = _column(table, "silent", pa.array(np.zeros(n, np.int32))).to_numpy()
    widened = _widened(table, silent)
    value, low, high = widened.value, widened.low, widened.high
    coverage = _column(table, "coverage", pa.array(np.ones(n)))
    revision = _column(table, "revision", pa.array(np.zeros(n, np.int32)))
    confidence = _column(table, "confidence", pa.array(np.ones(n)))
    basis = _column(table, "basis", pa.array(["exact"] * n, pa.string())).cast(pa.string())
    if silent.any():
        basis = pc.if_else(pa.array(silent > 0), "interrupted", basis)
        basis = pc.if_else(pa.array(silent < 0), EMPTY, basis)
    if "met" in table.column_names:
        met = table["met"]
    else:
        met = pc.or_(pc.is_valid(value), pa.chunked_array([pa.array(silent < 0)]))
        met = pc.and_(met, pc.equal(coverage, 1.0))
        met = pc.and_(met, pc.fill_null(pc.equal(low, high), True))
    return pa.table(
        [
            table["query"].cast(pa.string()),
            table["version"],
            table["group"].cast(pa.string()),
            value,
            low,
            high,
            confidence,
            table["as_of"].cast(pa.timestamp("us", tz="UTC")),
            pa.array(np.full(n, epoch)),
            revision,
            coverage,
            basis,
            _charges(table, widened, silent, confidence),
            met,
            _column(table, "slope", pa.array(np.zeros(n))),
            _column(table, "share", pa.array(np.ones(n))),
        ],
        schema=ANSWERS,
    )


def _column(table: pa.Table, name: str, default: pa.Array) -> pa.ChunkedArray:
    return table[name] if name in table.column_names else pa.chunked_array([default])


def _widened(table: pa.Table, silent: Codes) -> widening.Widened:
    return blocks_v1.read(table, silent) if _is_old(table) else widening.read(table)


def _is_old(table: pa.Table) -> bool:
    return bool((table.schema.metadata or {}).get(_TAG) == blocks_v1.FORMAT)


def _charges(
    table: pa.Table, widened: widening.Widened, silent: Codes, confidence: pa.ChunkedArray
) -> pa.ListArray:
    """Causes of each answer: what it rests on, then late rows, then an interruption."""
    n, none = table.num_rows, np.zeros(table.num_rows)
    answered = (silent >= 0) & table["value"].is_valid().to_numpy()
    if _is_old(table):
        answered &= blocks_v1.charged(table)
    own, known = _coded(table)
    names = pa.concat_arrays([known, pa.array([LATE_ROWS, INTERRUPTION])])
    codes: tuple[Codes | int, ...] = own, len(known), len(known) + 1
    chances = np.where(answered, 1.0 - confidence.to_numpy(), 0.0), none, none
    causes = [
        widening.Charged(code, *widened.causes.get(name, (none, none)), chance)
        for name, code, chance in zip(widening.CAUSES, codes, chances, strict=True)
        if name in widened.causes or chance.any()
    ]
    return widening.charges(causes, names, n)


def _coded(table: pa.Table) -> tuple[Codes, pa.Array]:
    """What each answer rests on, as codes into names."""
    if "basis" not in table.column_names or not table.num_rows:
        return np.zeros(table.num_rows, np.int32), pa.array(["exact"])
    column = table["basis"].unify_dictionaries().combine_chunks()
    coded = column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
    return coded.indices.to_numpy(), coded.dictionary


def _met(block: Block) -> npt.NDArray[np.bool_]:
    """Whether each answer keeps the contract of its query."""
    covered = block.coverage == 1.0
    alone: npt.NDArray[np.bool_] = np.zeros(len(covered), np.bool_)
    if (block.contracts.tolerance == TOLERANCES.index("rank")).any():
        alone = np.all(block.sides[:, 2:] == 0.0, axis=1)
    kept = bars_kept(
        block.contracts.tolerance[block.query],
        block.contracts.within[block.query],
        (block.value, block.low, block.high),
        alone,
        covered & (block.silent <= 0),
    )
    return np.asarray(kept | (covered & (block.silent < 0)), np.bool_)


def bars_kept(
    tolerance: npt.NDArray[Any] | int,
    within: Floats | float,
    bars: tuple[Floats, Floats, Floats],
    alone: npt.NDArray[np.bool_],
    covered: npt.NDArray[np.bool_],
) -> npt.NDArray[np.bool_]:
    """Whether bars (value, low, high) are there, cover all, and are no wider than is owed.

    What is owed in rank has no width: it is kept where the technique widens the bar `alone`.
    """
    value, low, high = bars
    reach = np.maximum(high - value, value - low)
    owed = np.where(tolerance == TOLERANCES.index("relative"), within * np.abs(value), within)
    # A part in a billion is the rounding of a bar that fits exactly.
    room = 1.0 + 1e-9
    by_rank = tolerance == TOLERANCES.index("rank")
    kept = np.where(by_rank, alone, reach <= owed * room)
    kept |= tolerance == TOLERANCES.index("best")
    met: npt.NDArray[np.bool_] = kept & ~np.isnan(value) & covered
    return met
