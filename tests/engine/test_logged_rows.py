"""Where rows that any shard can work on go: by where they lie in the log, wherever it is asked."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from streamgauge.engine.batch import LoggedRows, RowBatch
from streamgauge.engine.distribution import LOCAL
from streamgauge.engine.logged_rows import (
    BLOCK_BITS,
    logged_rows,
    logged_shares,
    owners_by_place,
)
from streamgauge.engine.store import Store
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Stream

STREAM = Stream("s", Schema.of(ts="time", x="int"), "ts", (), ())
SHARDS = 7


def batch_of(page: int, segment: int, n: int) -> RowBatch:
    """Rows of a segment, every third from the second on."""
    row, zero = 1 + 3 * np.arange(n, dtype=np.int64), np.zeros(n, np.int64)
    late = np.zeros(n, np.bool_)
    table = pa.table({"ts": pa.array(zero, pa.timestamp("us", "UTC")), "x": row})
    return RowBatch(zero, zero, late, {}, {}, logged=LoggedRows(table, page, segment, row))


def kept(batch: RowBatch) -> Store:
    """The same rows as they are kept while they wait."""
    logged = batch.logged
    assert logged is not None
    n = len(logged.row)
    page, segment = (np.full(n, number) for number in (logged.page, logged.segment))
    ones = np.ones(n, np.int64)
    return Store(
        logged.table, batch.ts, batch.eff, ~batch.late, ones, page, segment, logged.row
    )  # fmt: skip


@pytest.mark.parametrize("page", [1, 9_000_000])
@pytest.mark.parametrize("segment", [0, 1, 700])
def test_rows_that_are_kept_have_the_owner_they_had_in_the_log(page: int, segment: int) -> None:
    """Also of the seven hundredth file of a page, and after a page a second for three months."""
    batch = batch_of(page, segment, 2_000)
    owners = owners_by_place(kept(batch), SHARDS)
    shares = logged_shares(batch, STREAM, LOCAL, ["x"], SHARDS)
    for shard, share in enumerate(shares):
        mine = logged_rows(batch, STREAM, LOCAL, shard, SHARDS)
        assert share.logged is not None
        assert mine.logged is not None
        assert batch.logged is not None
        assert share.logged.row.tolist() == batch.logged.row[owners == shard].tolist()
        assert mine.logged.row.tolist() == share.logged.row.tolist()
    assert len(set(owners.tolist())) > 3


def test_rows_that_lie_together_stay_together_and_files_are_spread() -> None:
    batch = batch_of(3, 0, 2_000)
    assert batch.logged is not None
    owners, blocks = owners_by_place(kept(batch), SHARDS), batch.logged.row >> BLOCK_BITS
    for block in np.unique(blocks):
        assert len(set(owners[blocks == block].tolist())) == 1
    firsts = [owners_by_place(kept(batch_of(3, number, 1)), SHARDS)[0] for number in range(50)]
    assert set(firsts) == set(range(SHARDS))
