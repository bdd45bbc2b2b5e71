"""Columns of packets and back, and columns cut by shard."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from streamgauge.engine import shares
from streamgauge.engine.packed_columns import (
    Arrays,
    pack_coded,
    pack_floats,
    pack_ints,
    read_coded,
    read_floats,
    read_ints,
)
from streamgauge.engine.shares import ends_of, parted
from streamgauge.kernel.coded import CodedColumn


@pytest.mark.parametrize(
    ("column", "size"),
    [
        ([], 8),
        ([5], 1),
        ([-3, 252], 1),
        ([0, 256], 2),
        ([10**15, 10**15 + 10**9], 4),
        ([-(2**63), 2**63 - 1], 8),
        ([0, 2**32], 8),
    ],
)
def test_whole_numbers_take_the_bytes_that_they_need(column: list[int], size: int) -> None:
    arrays: Arrays = {}
    low = pack_ints("a", np.array(column, np.int64), arrays)
    assert arrays["a"].dtype.itemsize == size
    back = read_ints("a", low, arrays)
    assert back.dtype == np.int64
    assert back.tolist() == column


@pytest.mark.parametrize(
    ("column", "size"),
    [
        ([], 8),
        ([1.0, 200.0], 1),
        ([-0.0, 3.0], 8),
        ([1.0, np.nan], 8),
        ([0.5], 8),
        ([3e9], 8),
        ([np.inf], 8),
        ([0.0] * 100 + [0.25], 8),
        ([-7.0, 70_000.0], 4),
    ],
)
def test_floats_come_back_bit_by_bit(column: list[float], size: int) -> None:
    arrays: Arrays = {}
    given = np.array(column)
    low = pack_floats("a", given, arrays)
    assert arrays["a"].dtype.itemsize == size
    assert read_floats("a", low, arrays).tobytes() == given.tobytes()


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["b", None, "", "äöü", "b"]),
        pa.array([], pa.string()),
        pa.array([None, None], pa.string()),
        pa.array(["b", "c"], pa.large_string()),
        pa.array([True, None, False]),
        pa.array([7, None, -(2**60)]),
        pa.array([0.5, None, np.inf]),
        pa.array([f"n{k}" for k in range(70_000)]),
    ],
)
def test_names_come_back(column: pa.Array) -> None:
    arrays: Arrays = {}
    coded = CodedColumn.of(column)
    back = read_coded("a", pack_coded("a", coded, arrays), arrays)
    assert back.to_pylist() == column.to_pylist()
    assert [type(v) for v in back.names] == [type(v) for v in coded.names]


@pytest.mark.parametrize("places", [4, -(10**6)])
def test_each_part_has_its_rows_and_no_name_that_it_needs_not(
    places: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shares, "PLACES", places)
    rng = np.random.default_rng(1)
    for _ in range(100):
        n, n_values, n_shards = rng.integers((0, 0, 1), (50, 6, 5)).tolist()
        values = pa.array([f"v{k}" for k in range(n_values)], pa.string())
        column = CodedColumn(rng.integers(-1, n_values, n).astype(np.int32), values)
        owner = np.sort(rng.integers(0, n_shards, n)).astype(np.int32)
        parts = parted(column, ends_of(owner, n_shards))
        assert [v for part in parts for v in part.to_pylist()] == column.to_pylist()
        for shard, part in enumerate(parts):
            assert len(part) == (owner == shard).sum()
            assert set(part.names) == set(part.to_pylist()) - {None}
            arrays: Arrays = {}
            back = read_coded("a", pack_coded("a", part, arrays), arrays)
            assert back.to_pylist() == part.to_pylist()
