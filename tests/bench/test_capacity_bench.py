"""The workload `capacity` without Spark: comparing, somebody else's rows, where designs stop."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.capacity import Compared, Recorded, carried, held_out, predicted_epoch, recorded_trials
from bench.data import load
from streamgauge.capacity.costs import Costs
from streamgauge.capacity.design import designed
from streamgauge.capacity.fit import Estimate
from streamgauge.capacity.probe import Trial, probe
from streamgauge.capacity.workload import Asked, Workload
from streamgauge.kernel.errors import SourceFailure

pytestmark = pytest.mark.slow

FIXED = Path(__file__).parents[1] / "capacity" / "fixed_costs.json"


def write(path: Path, instants: int) -> Path:
    path.mkdir()
    at = np.repeat(np.arange(instants), 3) * 1_000_000
    columns = {
        "series": pa.array(["a", "b", "c"] * instants),
        "ts": pa.array(at, pa.timestamp("us")),
        "value": pa.array(np.arange(len(at), dtype=np.float64)),
    }
    pq.write_table(pa.table(columns), path / "rows.parquet")
    return path


def test_errors_and_bars_are_counted() -> None:
    found = Compared()
    found.add(1.0, Estimate(1.25, 0.9, 1.5))
    found.add(2.0, Estimate(1.0, 0.5, 1.5))
    assert found.held == 0.5
    assert found.error == pytest.approx((0.25 + 0.5) / 2.0)
    assert Compared().error is None


def test_no_held_out_workload_is_one_of_the_design() -> None:
    fitted = [trial.load for trial in designed()]
    assert all(trial.load not in fitted for trial in held_out(quick=False))


def test_rows_of_somebody_else_are_measured(tmp_path: Path) -> None:
    columns = load(write(tmp_path / "data", 40))
    trials = recorded_trials(columns)
    assert {trial.name for trial in trials} == {"latest", "deferred", "windows"}
    trial = Trial("few", Workload(3.0, 3, (Asked("latest", 4, members=2),)), 1, ((10, 1), (30, 2)))
    seen = probe(trial, lambda given, directory, _seed: Recorded(given, directory, columns))
    assert seen.epochs == []
    seen = probe(
        Trial("few", trial.load, 1, trial.pages, warm=0),
        lambda given, directory, _seed: Recorded(given, directory, columns),
    )
    assert [epoch.rows for epoch in seen.epochs] == [30, 90]
    predicted, spent = predicted_epoch(Costs.read(FIXED), seen, seen.epochs[1])
    assert predicted.value > 0.0
    assert spent > 0.0


def test_too_few_instants_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceFailure, match="too few instants"):
        recorded_trials(load(write(tmp_path / "data", 5)))


def test_more_cores_carry_more_rows_until_reading_binds() -> None:
    costs = Costs.read(FIXED)
    many = Workload(100_000.0, 1_000, (Asked("watched", 10_000_000),))
    two, eight, some, most = (carried(costs, many, cores) for cores in (2, 8, 64, 1024))
    assert two < eight < some
    assert most < 1.05 * some
