"""Blocks: answers as they are stored, small because what is at its default is not written.

A block is one Arrow file per shard and epoch. Always there: query, version, group, as_of, value.
Only where some answer differs from the default: low, high, coverage, silent, revision; and basis,
confidence, spent where some answer rests on a synopsis or is deferred; met there and with bars;
slope where it has one; share where a budget did not reach.
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
from streamgauge.contracts.contract import TOLERANCES, Contract
from streamgauge.contracts.schema import ANSWERS, CHARGE
from streamgauge.kernel.files import reading
from streamgauge.results.arrow_file import read_table, write_table

FORMAT = b"1"
_TAG = b"streamgauge.block"
Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]


@dataclass(slots=True)
class Block:
    """Columns of answers; `query` and `group` are codes into `names` and `texts`.

    `spent` is the width that a synopsis spends, `basis` a code into `sworn`: the name of what an
    answer rests on, and its confidence.
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
    spent: Floats
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
    plain = (block.low == block.value) & (block.high == block.value)
    plain |= np.isnan(block.value) & (block.silent <= 0)
    if not plain.all():
        columns["low"] = pa.array(block.low, from_pandas=True)
        columns["high"] = pa.array(block.high, from_pandas=True)
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
        columns["spent"] = pa.array(block.spent)
    if block.basis.any() or not plain.all():
        columns["met"] = pa.array(_met(block))
    if block.slope.any():
        columns["slope"] = pa.array(block.slope)
    if not (block.share == 1.0).all():
        columns["share"] = pa.array(block.share)
    table = pa.table(columns)
    table = table.replace_schema_metadata({_TAG: FORMAT, "epoch": str(epoch)})
    return write_table(path, table)


def read_block(path: Path, names: Collection[str] | None = None) -> pa.Table:
    """Read a block, or what it has of some queries, and expand it to the public schema."""
    table = read_table(path, what="a block of answers", tag=_TAG, form=FORMAT)
    with reading(path, "a block of answers"):
        epoch = int(table.schema.metadata[b"epoch"])
        if names is not None:
            # Most of a block is of others; expanding them would cost more than all the rest.
            table = table.filter(pc.is_in(table["query"], pa.array(sorted(names), pa.string())))
        return expand(table, epoch)


def expand(table: pa.Table, epoch: int) -> pa.Table:
    """Give stored answers all their columns."""
    n = table.num_rows
    value = table["value"]
    low = table["low"] if "low" in table.column_names else value
    high = table["high"] if "high" in table.column_names else value
    coverage = _column(table, "coverage", pa.array(np.ones(n)))
    silent = _column(table, "silent", pa.array(np.zeros(n, np.int32))).to_numpy()
    revision = _column(table, "revision", pa.array(np.zeros(n, np.int32)))
    width = pc.fill_null(pc.subtract(high, low), 0.0).to_numpy()
    spent = _column(table, "spent", pa.array(np.zeros(n))).to_numpy()
    confidence = _column(table, "confidence", pa.array(np.ones(n)))
    basis = _column(table, "basis", pa.array(["exact"] * n, pa.string())).cast(pa.string())
    sworn = basis
    if silent.any():
        basis = pc.if_else(pa.array(silent > 0), "interrupted", basis)
        basis = pc.if_else(pa.array(silent < 0), EMPTY, basis)
    if "met" in table.column_names:
        met = table["met"]
    else:
        met = pc.or_(pc.is_valid(value), pa.chunked_array([pa.array(silent < 0)]))
        met = pc.and_(met, pc.equal(coverage, 1.0))
        met = pc.and_(met, pa.array(width == 0.0))
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
            _charges(width, silent, spent, sworn, confidence.to_numpy()),
            met,
            _column(table, "slope", pa.array(np.zeros(n))),
            _column(table, "share", pa.array(np.ones(n))),
        ],
        schema=ANSWERS,
    )


def _column(table: pa.Table, name: str, default: pa.Array) -> pa.ChunkedArray:
    return table[name] if name in table.column_names else pa.chunked_array([default])


def _charges(
    width: Floats,
    silent: npt.NDArray[np.int32],
    spent: Floats,
    basis: pa.ChunkedArray,
    confidence: Floats,
) -> pa.ListArray:
    """Who widened each bar: first the synopsis, then an interruption or late rows."""
    own = spent > 0.0
    # What is left after the synopsis must exceed the rounding of the difference.
    other = (silent > 0) | (width - spent > 1e-12 * np.abs(width))
    offsets = np.concatenate((np.zeros(1, np.int32), np.cumsum(own.astype(np.int32) + other)))
    total = int(offsets[-1])
    by = np.empty(total, object)
    amount, delta = np.zeros(total), np.zeros(total)
    first = offsets[:-1][own]
    by[first] = np.asarray(
        basis.to_numpy(zero_copy_only=False) if isinstance(basis, pa.Array) else basis.to_numpy(),
        object,
    )[own]
    amount[first], delta[first] = spent[own], 1.0 - confidence[own]
    second = offsets[:-1][other] + own[other]
    by[second] = np.where(silent[other] > 0, "interruption", "late rows")
    amount[second] = (width - spent)[other]
    charges = pa.StructArray.from_arrays(
        [pa.array(by.tolist(), pa.string()), pa.array(amount), pa.array(delta)],
        fields=list(CHARGE),
    )
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), charges)


def _met(block: Block) -> npt.NDArray[np.bool_]:
    """Whether each answer keeps the contract of its query."""
    covered = block.coverage == 1.0
    kept = bars_kept(
        block.contracts.tolerance[block.query],
        block.contracts.within[block.query],
        (block.value, block.low, block.high),
        block.spent,
        covered & (block.silent <= 0),
    )
    return np.asarray(kept | (covered & (block.silent < 0)), np.bool_)


def bars_kept(
    tolerance: npt.NDArray[Any] | int,
    within: Floats | float,
    bars: tuple[Floats, Floats, Floats],
    spent: Floats,
    covered: npt.NDArray[np.bool_],
) -> npt.NDArray[np.bool_]:
    """Whether bars (value, low, high) are there, cover all, and are no wider than is owed."""
    value, low, high = bars
    reach = np.maximum(high - value, value - low)
    owed = np.where(tolerance == TOLERANCES.index("relative"), within * np.abs(value), within)
    # A part in a billion is the rounding of a bar that fits exactly.
    room = 1.0 + 1e-9
    by_rank = tolerance == TOLERANCES.index("rank")
    kept = np.where(by_rank, high - low <= spent * room, reach <= owed * room)
    kept |= tolerance == TOLERANCES.index("best")
    met: npt.NDArray[np.bool_] = kept & ~np.isnan(value) & covered
    return met
