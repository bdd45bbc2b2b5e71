"""Properties of the model: what grows with what, and what lengths mean."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamgauge.capacity.costs import Costs
from streamgauge.capacity.model import LONGEST, UTILISATION, Model
from streamgauge.capacity.workload import KINDS, PARSED, Asked, Workload

LOAD = Workload(20_000.0, 5_000, (Asked("deferred", 100_000), Asked("window", 100, groups=50)))


def test_a_longer_epoch_takes_longer_but_less_for_each_row(costs: Costs) -> None:
    model = Model(costs, LOAD, 2)
    short, long = model.seconds(1.0).value, model.seconds(10.0).value
    assert short < long < 10.0 * short


@pytest.mark.parametrize("kind", KINDS)
def test_more_of_anything_takes_longer(costs: Costs, kind: str) -> None:
    load = Workload(10_000.0, 1_000, (Asked(kind, 100, groups=20),))
    plain = Model(costs, load, 2).seconds(5.0).value
    assert Model(costs, load.times(rows=2.0), 2).seconds(5.0).value > plain
    assert Model(costs, load.times(queries=10.0), 2).seconds(5.0).value > plain


def test_bars_are_ordered_and_parts_add_up(costs: Costs) -> None:
    parts = Model(costs, LOAD, 4).parts(3.0)
    total = parts.total
    assert total.low < total.value < total.high
    assert sum(part.value for _, part in parts.named()) == pytest.approx(total.value)


def test_the_shortest_stable_epoch_is_as_busy_as_allowed(costs: Costs) -> None:
    model = Model(costs, LOAD, 2)
    least = model.shortest()
    assert least is not None
    assert model.seconds(least).value == pytest.approx(UTILISATION * least, rel=1e-3)
    pace = model.pace()
    assert pace is not None
    assert model.seconds(pace).value == pytest.approx(pace, rel=1e-3)
    assert pace < least


def test_the_longest_fresh_epoch_is_just_fresh_enough(costs: Costs) -> None:
    model = Model(costs, LOAD, 2)
    length = model.longest(8.0)
    assert length is not None
    assert model.freshness(length).value == pytest.approx(8.0, rel=1e-6)
    assert model.longest(0.01) is None


def test_there_is_no_epoch_for_too_many_rows(costs: Costs) -> None:
    model = Model(costs, LOAD.times(rows=1e4), 2)
    assert model.seconds(LONGEST).value > LONGEST
    assert model.shortest() is None
    assert model.pace() is None


def test_cores_divide_the_work_and_not_the_reading(costs: Costs) -> None:
    two, eight = (Model(costs, LOAD, cores).parts(5.0) for cores in (2, 8))
    assert two.read.value == eight.read.value
    assert eight.work.value < two.work.value
    assert eight.spark.value > two.spark.value


def test_more_shards_than_cores_take_turns(costs: Costs) -> None:
    fair, double = Model(costs, LOAD, 2), Model(costs, LOAD, 2, shards=4)
    assert (fair.waves, double.waves) == (1, 2)
    assert double.parts(5.0).read.value == pytest.approx(2.0 * fair.parts(5.0).read.value)


def test_without_spark_there_is_one_core(costs: Costs) -> None:
    local = Model(costs, LOAD, 1, shards=3, spark=False)
    assert local.waves == 3
    assert local.parts(1.0).spark.value == 0.0


@pytest.mark.parametrize("source", PARSED)
def test_rows_that_are_parsed_cost_the_lander(costs: Costs, source: str) -> None:
    parsed = Model(costs, replace(LOAD, source=source), 2).parts(5.0)
    assert parsed.land.value > Model(costs, LOAD, 2).parts(5.0).land.value


def test_the_packaged_costs_can_be_read_and_are_costs() -> None:
    packaged = Costs.packaged()
    assert packaged.shard.scatter > 0.0
    assert packaged.about["measured"]
    assert min(packaged.shard.cost.values()) >= 0.0
    assert Model(packaged, LOAD, 2).seconds(5.0).value > 0.0
