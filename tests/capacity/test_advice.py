"""Advice: monotone, whole, and refused with three parts where it cannot be given."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.capacity.advice import advise
from streamgauge.capacity.costs import Costs
from streamgauge.capacity.workload import KINDS, Asked, Workload
from streamgauge.kernel.errors import ContractUnsatisfiable

from .conftest import FIXED

pytestmark = pytest.mark.slow

LOAD = Workload(20_000.0, 5_000, (Asked("deferred", 300_000),))
COSTS = Costs.read(FIXED)


def cores(load: Workload, fresh: float) -> float:
    try:
        return advise(load, COSTS, fresh=fresh).cores.value
    except ContractUnsatisfiable:
        return math.inf


@settings(max_examples=8, deadline=None)
@given(
    kind=st.sampled_from(list(KINDS)),
    rows=st.floats(100.0, 100_000.0),
    queries=st.integers(1, 5_000),
    more=st.floats(1.0, 20.0),
    fresh=st.floats(1.0, 60.0),
)
def test_more_rows_never_need_fewer_cores(
    kind: str, rows: float, queries: int, more: float, fresh: float
) -> None:
    load = Workload(rows, 1_000, (Asked(kind, queries, groups=20),))
    assert cores(load.times(rows=more), fresh) >= cores(load, fresh)
    assert cores(load, fresh) >= cores(load, 2.0 * fresh)


def test_advice_is_whole_and_its_bars_are_ordered() -> None:
    advice = advise(LOAD, COSTS, fresh=5.0)
    bars = [advice.cores, advice.shortest, advice.seconds, advice.freshness, advice.busy]
    disk = advice.disk
    bars += [advice.shard_memory, advice.driver_memory, disk.state, disk.answers, disk.journal]
    for bar in bars:
        assert 0.0 < bar.low <= bar.value <= bar.high
    assert advice.pace <= advice.shortest.value <= advice.epoch
    assert advice.freshness.value <= 5.0 + 1e-6
    assert advice.seconds.value <= 0.7 * advice.epoch + 1e-6
    assert advice.headroom >= 1.0
    assert advice.max_rows >= LOAD.rows * advice.epoch
    assert advice.disk.history.value == 0.0


def test_advice_survives_json() -> None:
    told = json.loads(json.dumps(advise(LOAD, COSTS, fresh=5.0).as_dict(), allow_nan=False))
    assert told["cores"]["value"] >= 1
    assert {one["name"] for one in told["what_if"]} >= {"twice the rows", "ten times the queries"}


def test_rows_beyond_reading_are_refused_with_the_most_that_can_be_read() -> None:
    with pytest.raises(ContractUnsatisfiable) as caught:
        advise(LOAD.times(rows=1_000.0), COSTS)
    error = caught.value
    assert "20,000,000 rows a second cannot be carried" in error.what
    assert "every shard reads all rows" in error.detail
    most = int(error.hint.split("bring ")[1].split(" rows")[0].replace(",", ""))
    advise(LOAD.times(rows=most / LOAD.rows), COSTS)


def test_answers_fresher_than_an_epoch_are_refused_with_the_freshest() -> None:
    with pytest.raises(ContractUnsatisfiable) as caught:
        advise(LOAD, COSTS, fresh=0.05)
    error = caught.value
    assert error.what.startswith("answers no older than 0.05 s cannot be had")
    age = float(error.hint.split("allow answers ")[1].split(" s old")[0])
    advise(LOAD, COSTS, fresh=age)


def test_too_few_cores_are_refused_with_enough() -> None:
    load = LOAD.times(queries=20.0)
    needed = advise(load, COSTS, fresh=5.0).shards
    assert needed > 1
    with pytest.raises(ContractUnsatisfiable, match="on 1 cores") as caught:
        advise(load, COSTS, fresh=5.0, cores=1)
    assert f"take {needed} cores" in caught.value.hint


def test_cores_that_are_there_are_taken_as_they_are() -> None:
    advice = advise(LOAD, COSTS, cores=16)
    assert (advice.shards, advice.cores.low, advice.cores.high) == (16, 16.0, 16.0)
