"""Where groups lie: all shards agree, whoever hashes what they are called."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

from streamgauge.engine.naming import Groups
from streamgauge.engine.placement import (
    BUCKETS,
    buckets_of,
    coded_values,
    group_hash,
    owners,
    shard_of_bucket,
)
from streamgauge.engine.row_groups import RowGroups
from streamgauge.kernel.coded import CodedColumn
from streamgauge.kernel.columns import Interner
from streamgauge.log.home import BY_TEXT, FORMAT

FIXED = [[3573, 3568, 2070], [2951, 3392, 2528], [4022, 2317, 3454]]
COLUMNS = [
    pa.array(["a", "", "ä", None, "a", "x" * 40]),
    pa.array(["a", "", "ä", None, "a", "x" * 40], pa.large_string()),
    pa.array(["a", "", "ä", None, "a", "x" * 40]).dictionary_encode(),
    pa.array([3, -1, None, 2**62, 0, 3]),
    pa.array([3, -1, None, 7, 0, 3], pa.int8()),
    pa.array([0.5, -0.0, 0.0, None, 3.0, 1e300]),
    pa.array([True, False, None, True, True, False]),
]


@pytest.mark.parametrize("shards", [1, 3, 16, 4096, 5000])
def test_a_shard_is_a_range_of_buckets(shards: int) -> None:
    of = shard_of_bucket(np.arange(BUCKETS), shards)
    assert (np.diff(of) >= 0).all()
    assert of[0] == 0
    assert of[-1] < shards
    sizes = np.bincount(of, minlength=min(shards, BUCKETS))
    assert sizes.max() - sizes.min() <= 1


@pytest.mark.parametrize("form", [BY_TEXT, FORMAT])
@pytest.mark.parametrize("chosen", [[k] for k in range(len(COLUMNS))] + [[0, 3], [5, 6, 2]])
def test_the_owner_of_a_row_numbers_its_group_and_no_other_shard_does(
    chosen: list[int], form: int
) -> None:
    shards, n = 5, 6
    coded = {f"c{k}": CodedColumn.of(COLUMNS[k]) for k in chosen}
    groups = RowGroups.of(coded, shards, form)
    owner = groups.owner[groups.of_row]
    for shard in range(shards):
        words = {name: Interner() for name in coded}
        codes = [words[name].encode(column) for name, column in coded.items()]
        numbered = Groups(tuple(coded), shard, shards).encode_columns(codes, words, form)
        assert (numbered >= 0).tolist() == (owner == shard).tolist()
    rows = list(zip(*(column.to_pylist() for column in coded.values()), strict=True))
    names = zip(*(column.to_pylist() for column in groups.words.values()), strict=True)
    named = list(names)
    assert [named[number] for number in groups.of_row.tolist()] == rows
    assert len(groups.owner) == len(set(rows)) <= n
    assert (np.diff(groups.owner) >= 0).all()


def test_equal_values_lie_in_one_bucket_whatever_their_type() -> None:
    numbers = [pa.array([1, 0, None]), pa.array([1.0, -0.0, None]), pa.array([True, False, None])]
    found = [buckets_of([CodedColumn.of(column)]).tolist() for column in numbers]
    assert found[0] == found[1] == found[2]
    mixed = buckets_of([coded_values([1, False, None])])
    assert mixed.tolist() == found[0]
    nan = buckets_of([coded_values([math.nan]), coded_values([None])])
    assert nan.tolist() == buckets_of([coded_values([-math.nan]), coded_values([None])]).tolist()


def test_buckets_do_not_change() -> None:
    texts = CodedColumn.of(pa.array(["a", "b", None]))
    numbers = CodedColumn.of(pa.array([1.5, 7.0, -2.0]))
    assert buckets_of([texts]).tolist() == FIXED[0]
    assert buckets_of([numbers]).tolist() == FIXED[1]
    assert buckets_of([texts, numbers]).tolist() == FIXED[2]
    assert owners([texts], 7, BY_TEXT).tolist() == [group_hash([v]) % 7 for v in ("a", "b", None)]


def test_groups_spread_over_all_shards_alike() -> None:
    names = CodedColumn.of(pa.array([f"series-{n}" for n in range(40_000)]))
    sizes = np.bincount(owners([names], 16, FORMAT), minlength=16)
    assert abs(sizes / 2500 - 1).max() < 0.1
