"""The simulation: the closed form when nothing is random, and worse when something is."""

from __future__ import annotations

import numpy as np
import pytest

from streamgauge.capacity.costs import Costs
from streamgauge.capacity.model import Model
from streamgauge.capacity.simulate import CALM, Disorder, simulate, toward
from streamgauge.capacity.workload import Asked, Workload

pytestmark = pytest.mark.slow

LOAD = Workload(20_000.0, 5_000, (Asked("deferred", 200_000), Asked("window", 100, groups=64)))


@pytest.mark.parametrize(("cores", "shards"), [(1, 1), (2, 2), (2, 6), (8, 8)])
def test_calm_epochs_take_what_the_closed_form_says(costs: Costs, cores: int, shards: int) -> None:
    model = Model(costs, LOAD, cores, shards=shards)
    run = simulate(model, every=8.0, epochs=50, disorder=CALM)
    assert run.seconds == pytest.approx(model.seconds(8.0).value)
    assert run.gathered == pytest.approx(8.0)
    assert run.stable


def test_calm_epochs_at_once_settle_at_the_pace(costs: Costs) -> None:
    model = Model(costs, LOAD, 2)
    run = simulate(model, epochs=100, disorder=CALM)
    assert run.gathered[-1] == pytest.approx(model.pace(), rel=1e-3)


def test_a_seed_gives_the_same_run_again(costs: Costs) -> None:
    model = Model(costs, LOAD, 4)
    one, again, other = (simulate(model, epochs=80, seed=seed) for seed in (3, 3, 4))
    assert (one.seconds == again.seconds).all()
    assert (one.seconds != other.seconds).any()


@pytest.mark.parametrize(
    "disorder",
    [
        Disorder(0.0, 1.0, 0.3, 0.0, 0.0, 1.0, 0.0, 0.0),
        Disorder(0.0, 1.0, 0.0, 0.5, 0.0, 1.0, 0.0, 0.0),
        Disorder(0.0, 1.0, 0.0, 0.0, 0.2, 3.0, 0.0, 0.0),
        Disorder(0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.5, 0.5),
    ],
    ids=["scatter", "skew", "stragglers", "pauses"],
)
def test_every_disorder_makes_epochs_longer(costs: Costs, disorder: Disorder) -> None:
    model = Model(costs, LOAD, 8)
    run = simulate(model, every=8.0, epochs=200, disorder=disorder)
    assert run.seconds.mean() > model.seconds(8.0).value


def test_bursts_move_the_pages_and_not_the_mean(costs: Costs) -> None:
    bursts = Disorder(0.4, 20.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0)
    run = simulate(Model(costs, LOAD, 2), every=8.0, epochs=2_000, disorder=bursts)
    assert np.std(run.gathered) > 0.5
    assert np.mean(run.gathered) == pytest.approx(8.0, rel=0.1)


def test_too_many_rows_pile_up(costs: Costs) -> None:
    run = simulate(Model(costs, LOAD.times(rows=500.0), 2), every=5.0, epochs=60, disorder=CALM)
    assert not run.stable
    assert run.as_dict()["stable"] is False


def test_a_workload_can_be_grown(costs: Costs) -> None:
    model, run = toward(
        Model(costs, Workload(1_000.0, 100, (Asked("deferred", 100),)), 2),
        series=1_000, queries=5_000, rows=10_000.0, cores=16, epochs=40, warm=5,
    )  # fmt: skip
    assert (model.load.series, model.load.queries, model.count) == (1_000, 5_000, 16)
    assert run.quantile("age", 0.5) > 0.0
