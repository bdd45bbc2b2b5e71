"""Work: answers of standing queries must not depend on how their work was cut.

A history is statements and rows in order. It is run with its rows cut into epochs in several ways,
over several numbers of shards, which may change on the way, with the state kept in memory and read
back before every epoch. The answers must be the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count, cycle
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from streamgauge.engine import shard, slices
from streamgauge.gauge import Gauge, connect
from streamgauge.plan.query import Query
from streamgauge.plan.view import View
from streamgauge.results.row_blocks import HEAD

Entry: TypeAlias = "str | pa.Table | Sequence[Query]"
"""What happens next: statements, rows that arrive, or queries that are registered together."""


@dataclass(frozen=True, slots=True)
class Way:
    """One way to run a history: pieces its rows are cut into, shards, reloading before epochs.

    With `slices` the rows of an epoch are read once, in so many slices, and sent to the shards.
    With `others` each epoch with rows but the first begins with a rescale, to these in turn.
    """

    cuts: int = 1
    shards: int = 1
    reload: bool = False
    slices: int = 0
    others: tuple[int, ...] = ()


# Each number of shards with other cuts, and both with and without reloading.
READ = (Way(), Way(4, 1, True), Way(3, 2), Way(2, 3, True), Way(1, 16), Way(2, 16, True))
# Work on groups can have its rows sent to it.
SENT = (Way(2, 1, slices=8), Way(3, 4, True, slices=3), Way(1, 16, slices=1))
# Another number of shards with every epoch.
RESCALED = (
    Way(4, 1, others=(3, 16)),
    Way(5, 2, True, others=(3, 1, 16)),
    Way(3, 3, slices=2, others=(2, 16)),
)
WAYS = (*READ, *SENT, *RESCALED)


def run_work(root: Path, history: Sequence[Entry], way: Way) -> pa.Table:
    """Run a history in one way; return its answers in a canonical order, without their epochs.

    After the numbers come the rows of views.

    Statements refer to the directory of the rows as `{rows}`. A table is rows that arrive there,
    in as many files as the way has cuts, an epoch each.
    """
    rows = root / "rows"
    rows.mkdir(parents=True)
    gauge = connect(root / "home", engine="local", shards=way.shards, exchange=way.slices > 0)
    serial, others = count(), cycle(way.others)
    for entry in history:
        if isinstance(entry, str):
            gauge.sql(entry.replace("{rows}", str(rows)))
            continue
        if not isinstance(entry, pa.Table):
            gauge.register(*entry)
            continue
        for part in _parts(entry, way.cuts):
            size = -(-len(part) // max(way.slices, 1))
            number = next(serial)
            pq.write_table(part, rows / f"{number:06d}.parquet", row_group_size=size)
            if way.others and number:
                gauge.rescale(next(others))
            if way.reload:
                shard.forget(gauge.home)
            with _sliced():
                gauge.step()
    found = pa.concat_tables(
        [canonical(gauge.answers()), *_rows_of_views(gauge)], promote_options="permissive"
    )
    shard.forget(gauge.home)
    return found


def _rows_of_views(gauge: Gauge) -> Iterator[pa.Table]:
    """What came to each view and went, in an order that does not depend on who gave it."""
    for name, standing in gauge.registry().queries.items():
        if isinstance(standing.asked, View):
            rows = gauge.row_changes(name).drop_columns(["epoch"]).combine_chunks()
            own = set(rows.column_names) - set(HEAD.names)
            rows = rows.rename_columns([f"row.{n}" if n in own else n for n in rows.column_names])
            order = ["as_of", *(n for n in rows.column_names if n != "as_of")]
            yield rows.sort_by([(column, "ascending") for column in order])


@contextmanager
def _sliced() -> Iterator[None]:
    """Make each row group a slice, however small."""
    goal, slices.GOAL = slices.GOAL, 1
    try:
        yield
    finally:
        slices.GOAL = goal


def _parts(rows: pa.Table, cuts: int) -> Iterator[pa.Table]:
    """Pieces of unequal lengths, none of them empty."""
    edges = np.unique((len(rows) * np.linspace(0.0, 1.0, cuts + 1) ** 1.5).astype(int))
    for start, stop in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        yield rows.slice(start, stop - start)


def canonical(answers: pa.Table) -> pa.Table:
    """Answers without their epochs, in an order that does not depend on who gave them."""
    table = answers.drop_columns(["epoch"]).combine_chunks()
    names = ("as_of", "query", "version", "group", "revision")
    return table.sort_by([(name, "ascending") for name in names])


def same_answers(one: pa.Table, other: pa.Table) -> None:
    """Raise AssertionError with the first answer in which two canonical tables differ."""
    shorter = min(len(one), len(other))
    for start in range(0, shorter, 4096):
        size = min(4096, shorter - start)
        a, b = one.slice(start, size), other.slice(start, size)
        if _bytes(a) != _bytes(b):
            for k in range(size):
                found, expected = a.slice(k, 1), b.slice(k, 1)
                text = f"found    {found.to_pylist()}\nexpected {expected.to_pylist()}"
                assert _bytes(found) == _bytes(expected), text
    assert len(one) == len(other), f"found {len(one)} answers, expected {len(other)}"


def _bytes(table: pa.Table) -> bytes:
    """A table as bytes; a copy has no offsets into a larger one."""
    whole = table.take(pa.array(np.arange(len(table)))).combine_chunks()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, whole.schema) as writer:
        writer.write_table(whole)
    return bytes(sink.getvalue())


def check_work(root: Path, history: Sequence[Entry], ways: Sequence[Way] = WAYS) -> int:
    """Raise AssertionError where a way gives other answers than the first; say how many there are.

    Examples
    --------
    >>> import tempfile
    >>> rows = pa.table({"ts": pa.array(range(0, 9_000_000, 10**6), pa.timestamp("us", "UTC")),
    ...                  "k": ["a", "b", "c"] * 3, "x": [1.0, 2.0, 4.0] * 3})
    >>> declared = "CREATE STREAM s (ts TIME, k STRING, x FLOAT) FROM FILES '{rows}' TIME ts KEY k"
    >>> asked = "CREATE QUERY q AS SELECT k, SUM(x) FROM s [RANGE 2 SECONDS] GROUP BY k"
    >>> check_work(Path(tempfile.mkdtemp()), [declared, asked, rows], [Way(), Way(3, 2, True)])
    15
    """
    first: pa.Table | None = None
    for number, way in enumerate(ways):
        found = run_work(root / str(number), history, way)
        if first is None:
            first = found
        try:
            same_answers(found, first)
        except AssertionError as error:
            raise AssertionError(f"{way} is not as {ways[0]}\n{error}") from None
    return 0 if first is None else len(first)
