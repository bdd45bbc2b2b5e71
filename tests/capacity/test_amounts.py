"""What is divided among shards and what is not."""

from __future__ import annotations

import pytest

from streamgauge.capacity import amounts
from streamgauge.capacity.model import READ, SERIES, WRITE
from streamgauge.capacity.workload import KINDS, Asked, Workload


def work(shards: int, *asked: Asked, length: float = 4.0) -> amounts.Amounts:
    load = Workload(1_000.0, 200, asked)
    return amounts.work(load, amounts.leaf_of(load, length), shards, 0.0)


@pytest.mark.parametrize("kind", KINDS)
def test_every_shard_reads_all_rows_and_follows_all_series(kind: str) -> None:
    one, four = (work(shards, Asked(kind, 1_000, groups=40)) for shards in (1, 4))
    for name in (*READ, *SERIES):
        assert one[name] == four[name], name


@pytest.mark.parametrize("kind", KINDS)
def test_queries_and_answers_are_shared_out(kind: str) -> None:
    one, four = (work(shards, Asked(kind, 1_000, groups=40)) for shards in (1, 4))
    shared = set(amounts.WORK) - set(READ) - set(SERIES) - set(WRITE)
    # Each shard asks each question of the groups it owns.
    for name in shared - {"epoch", "summary_questions"}:
        assert four[name] == pytest.approx(one[name] / 4.0), name


def test_a_group_is_not_divided() -> None:
    one, four = (work(shards, Asked("window", 10, groups=2)) for shards in (2, 8))
    assert one["pane_folds"] == four["pane_folds"]


def test_many_series_make_blocks_short() -> None:
    assert amounts.blocks(100, 64.0) == 1.0
    assert amounts.blocks(1 << 20, 64.0) == 64.0


def test_all_that_is_counted_has_a_name() -> None:
    everything = [Asked(kind, 10) for kind in KINDS]
    load = Workload(1_000.0, 200, tuple(everything))
    found = amounts.work(load, amounts.leaf_of(load, 1.0), 2, 10.0)
    assert set(found) == set(amounts.WORK)
    assert set(amounts.held(load, 2)) == set(amounts.HELD)
    assert set(amounts.resident(load, 1.0, 2, 1.0)) == set(amounts.RESIDENT)
    assert set(READ) | set(SERIES) | set(WRITE) < set(amounts.WORK)


def test_state_of_shards_adds_up_to_more_than_that_of_one() -> None:
    load = Workload(1_000.0, 10_000, (Asked("deferred", 1_000),))
    one, four = (amounts.held(load, shards) for shards in (1, 4))
    assert four["deferred_cells"] == one["deferred_cells"] / 4.0
    assert four["deferred_series"] == one["deferred_series"]
