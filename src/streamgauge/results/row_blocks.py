"""Rows as answers: stored once for all queries they go to, given back query by query."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.contracts.row_change import RowChange
from streamgauge.kernel.files import damaged, reading
from streamgauge.log.commits import row_files
from streamgauge.log.home import Home
from streamgauge.log.segments import reading_arrow
from streamgauge.results.arrow_file import read_table, write_table
from streamgauge.results.change_log import epochs_after

FORMAT = b"1"
_TAG = b"streamgauge.rows"
_PREFIX = "row."
WHAT = "a block of rows"
HEAD = pa.schema(
    [
        ("query", pa.string()),
        ("version", pa.int32()),
        ("epoch", pa.int64()),
        ("as_of", pa.timestamp("us", tz="UTC")),
        ("count", pa.int64()),
        ("missing", pa.int64()),
        ("contract_met", pa.bool_()),
        ("regions_share", pa.float64()),
        ("rows_unseen", pa.float64()),
        ("window_coverage", pa.float64()),
    ]
)
# Columns of a table beside a view's own; of the value they are called without the rest.
_SHORT = {"regions_share": "share", "rows_unseen": "unseen", "window_coverage": "coverage"}


@dataclass(frozen=True, slots=True)
class RowBlock:
    """Rows that came or went, of one set of columns, and which queries each goes to.

    Parameters
    ----------
    rows
        The rows.
    as_of
        Instant of each.
    count
        Copies that came (positive) or went (negative).
    missing
        Late rows that the windows behind a row should hold and do not.
    met
        Whether the contract holds for it.
    names
        Name and version of the queries.
    to, offsets
        Row i goes to the queries numbered to[offsets[i]:offsets[i + 1]].
    share, unseen
        Share of regions looked at, and rows not found by that, where a budget did not reach;
        None: everything was looked at.
    coverage
        Share of the windows behind a row from which no row is missing; None: all of it.
    """

    rows: pa.Table
    as_of: npt.NDArray[np.int64]
    count: npt.NDArray[np.int64]
    missing: npt.NDArray[np.int64]
    met: npt.NDArray[np.bool_]
    names: tuple[tuple[str, int], ...]
    to: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int32]
    share: npt.NDArray[np.float64] | None = None
    unseen: npt.NDArray[np.float64] | None = None
    coverage: npt.NDArray[np.float64] | None = None


def write_rows(path: Path, block: RowBlock, *, epoch: int) -> int:
    """Write a block as one Arrow file; return its checksum."""
    to = pa.ListArray.from_arrays(pa.array(block.offsets), pa.array(block.to))
    columns = {
        "as_of": pa.array(block.as_of),
        "count": pa.array(block.count),
        "missing": pa.array(block.missing),
        "met": pa.array(block.met),
        "to": to,
    }
    if block.share is not None and not (block.share == 1.0).all():
        columns["share"] = pa.array(block.share)
    if block.unseen is not None and block.unseen.any():
        columns["unseen"] = pa.array(block.unseen)
    if block.coverage is not None and not (block.coverage == 1.0).all():
        columns["coverage"] = pa.array(block.coverage)
    columns |= {f"{_PREFIX}{name}": block.rows[name] for name in block.rows.column_names}
    metadata = {
        _TAG: FORMAT,
        b"epoch": str(epoch).encode(),
        b"names": json.dumps(block.names).encode(),
    }
    return write_table(path, pa.table(columns).replace_schema_metadata(metadata).combine_chunks())


def read_rows(path: Path, names: Collection[str] | None) -> pa.Table | None:
    """The rows of a block that go to some queries or to all, or None when none does."""
    table, known = _read(path)
    wanted = [n for n, (query, _) in enumerate(known) if names is None or query in names]
    if not wanted:
        return None
    to = table["to"].combine_chunks()
    which = pc.is_in(to.flatten(), pa.array(wanted, pa.int32()))
    places = pc.list_parent_indices(to).filter(which)
    codes = to.flatten().filter(which)
    queries = pa.array([query for query, _ in known], pa.string()).take(codes)
    versions = pa.array([version for _, version in known], pa.int32()).take(codes)
    return _given(table.take(places), queries, versions, int(table.schema.metadata[b"epoch"]))


def _read(path: Path) -> tuple[pa.Table, list[tuple[str, int]]]:
    """A block and the names of its queries."""
    table = read_table(path, what=WHAT, tag=_TAG, form=FORMAT)
    with reading(path, WHAT):
        int(table.schema.metadata[b"epoch"])
        table.select(["as_of", "count", "missing", "met", "to"])
        known = [(str(name), int(version)) for name, version in _names(table.schema)]
        codes = table["to"].combine_chunks().flatten()
        if len(codes) and not 0 <= pc.min(codes).as_py() <= pc.max(codes).as_py() < len(known):
            raise damaged(path, WHAT, "a row goes to a query that is not listed")
        return table, known


def _names(schema: pa.Schema) -> Any:
    return json.loads(schema.metadata[b"names"])


def names_in(path: Path) -> set[str]:
    """Names of the queries of a block, read without its rows."""
    with reading_arrow(path, WHAT), pa.OSFile(str(path)) as file:
        return {name for name, _ in _names(pa.ipc.open_file(file).schema)}


def _given(table: pa.Table, queries: pa.Array, versions: pa.Array, epoch: int) -> pa.Table:
    n = table.num_rows
    head = [
        queries,
        versions,
        pa.array(np.full(n, epoch, np.int64)),
        table["as_of"].cast(HEAD.field("as_of").type),
        table["count"],
        table["missing"],
        table["met"],
        table["share"] if "share" in table.column_names else pa.array(np.ones(n)),
        table["unseen"] if "unseen" in table.column_names else pa.array(np.zeros(n)),
        table["coverage"] if "coverage" in table.column_names else pa.array(np.ones(n)),
    ]
    columns = [column for column in table.column_names if column.startswith(_PREFIX)]
    named = [column.removeprefix(_PREFIX) for column in columns]
    return pa.table(
        head + [table[column] for column in columns],
        names=[*HEAD.names, *(f"{c}_" if c in HEAD.names else c for c in named)],
    )


def row_changes(home: Home, name: str, *, after: int = 0) -> pa.Table:
    """Rows that a query gave in committed epochs after one, in the order of their instants.

    `count` says how many copies came, or went when it is negative.
    """
    tables = [epoch_rows(home, epoch, name) for epoch in epochs_after(home, after)]
    given = [table for table in tables if table.num_rows]
    return pa.concat_tables(given, promote_options="permissive") if given else HEAD.empty_table()


def epoch_rows(home: Home, epoch: int, name: str) -> pa.Table:
    """Rows that a query gave in one epoch."""
    tables = list(epoch_blocks(home, epoch, (name,)))
    if not tables:
        return HEAD.empty_table()
    whole = pa.concat_tables(tables, promote_options="permissive")
    times = whole["as_of"].cast(pa.int64()).to_numpy()
    return whole.take(pa.array(np.argsort(times, kind="stable")))


def epoch_blocks(
    home: Home, epoch: int, names: Collection[str] | None = None
) -> Iterator[pa.Table]:
    """Rows that some queries or all gave in one epoch; a table for each set of columns."""
    for path in row_files(home, epoch):
        table = read_rows(path, names)
        if table is not None and table.num_rows:
            yield table


def epoch_row_counts(home: Home, epoch: int) -> Counter[tuple[str, int]]:
    """How many changes of rows each query, by name and version, gave in one epoch."""
    counts: Counter[tuple[str, int]] = Counter()
    for path in row_files(home, epoch):
        table, names = _read(path)
        codes = table["to"].combine_chunks().flatten().to_numpy()
        given = np.bincount(codes, minlength=len(names)).tolist()
        counts.update({(name, version): n for (name, version), n in zip(names, given, strict=True)})
    return counts


def as_row_changes(table: pa.Table) -> Iterator[RowChange]:
    """Changes as values, one by one."""
    times = table["as_of"].cast(pa.int64()).to_pylist()
    head = set(HEAD.names)
    for cells, as_of in zip(table.to_pylist(), times, strict=True):
        row = {name: value for name, value in cells.items() if name not in head}
        kept = {_SHORT.get(name, name): cells[name] for name in head - {"as_of"}}
        yield RowChange(row=row, as_of=as_of, **kept)
