"""Blocks: answers as they are stored, small because what is at its default is not written.

A block is one Arrow file per shard and epoch. Always there: query, version, group, as_of, value.
Only where some answer differs from the default: low, high, coverage, silent, revision, met.
`expand` gives the full public schema back.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.contracts.schema import ANSWERS, CHARGE
from streamgauge.kernel.errors import StateTooOld
from streamgauge.kernel.files import write_whole

FORMAT = b"1"
Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]


@dataclass(slots=True)
class Block:
    """Columns of answers; `query` and `group` are codes into `names` and `texts`."""

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
    texts: list[str]


def write_block(path: Path, block: Block, *, epoch: int) -> None:
    """Store a block, whole or absent; equal answers give equal bytes."""
    columns: dict[str, pa.Array] = {
        "query": pa.DictionaryArray.from_arrays(block.query, pa.array(block.names, pa.string())),
        "version": pa.array(block.version),
        "group": pa.DictionaryArray.from_arrays(block.group, pa.array(block.texts, pa.string())),
        "as_of": pa.array(block.as_of),
        "value": pa.array(block.value, from_pandas=True),
    }
    plain = (block.low == block.value) & (block.high == block.value)
    plain |= np.isnan(block.value)
    if not plain.all():
        columns["low"] = pa.array(block.low, from_pandas=True)
        columns["high"] = pa.array(block.high, from_pandas=True)
    if not (block.coverage == 1.0).all():
        columns["coverage"] = pa.array(block.coverage)
    if block.silent.any():
        columns["silent"] = pa.array(block.silent)
    if block.revision.any():
        columns["revision"] = pa.array(block.revision)
    table = pa.table(columns)
    table = table.replace_schema_metadata({"streamgauge.block": FORMAT, "epoch": str(epoch)})
    sink = io.BytesIO()
    with pa.ipc.new_file(
        sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")
    ) as w:
        w.write_table(table)
    write_whole(path, sink.getvalue())


def read_block(path: Path) -> pa.Table:
    """Read a block and expand it to the public schema."""
    try:
        with pa.memory_map(str(path)) as source:
            table = pa.ipc.open_file(source).read_all()
    except pa.ArrowException as error:
        raise StateTooOld(
            "a block of answers is damaged", f"{path}: {error}", "restore it from a copy"
        ) from error
    metadata = table.schema.metadata or {}
    if metadata.get(b"streamgauge.block") != FORMAT:
        raise StateTooOld(
            "a block of answers of another format",
            f"{path} is of format {metadata.get(b'streamgauge.block')!r}",
            "run the release that wrote it",
        )
    return expand(table, int(metadata[b"epoch"]))


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
    basis = pa.DictionaryArray.from_arrays(
        pa.array((silent > 0).astype(np.int32)), pa.array(["exact", "interrupted"])
    )
    met = pc.and_(pc.is_valid(value), pc.equal(coverage, 1.0))
    met = pc.and_(met, pa.array(width == 0.0))
    return pa.table(
        [
            table["query"].cast(pa.string()),
            table["version"],
            table["group"].cast(pa.string()),
            value,
            low,
            high,
            pa.array(np.ones(n)),
            table["as_of"].cast(pa.timestamp("us", tz="UTC")),
            pa.array(np.full(n, epoch)),
            revision,
            coverage,
            basis.cast(pa.string()),
            _charges(width, silent),
            met,
        ],
        schema=ANSWERS,
    )


def _column(table: pa.Table, name: str, default: pa.Array) -> pa.ChunkedArray:
    return table[name] if name in table.column_names else pa.chunked_array([default])


def _charges(width: Floats, silent: npt.NDArray[np.int32]) -> pa.ListArray:
    charged = (width > 0.0) | (silent > 0)
    offsets = np.concatenate((np.zeros(1, np.int32), np.cumsum(charged, dtype=np.int32)))
    by = np.where(silent[charged] > 0, "interruption", "late rows")
    charges = pa.StructArray.from_arrays(
        [
            pa.array(by.tolist(), pa.string()),
            pa.array(np.where(silent[charged] > 0, np.inf, width[charged])),
            pa.array(np.zeros(int(charged.sum()))),
        ],
        fields=list(CHARGE),
    )
    return pa.ListArray.from_arrays(pa.array(offsets), charges)
