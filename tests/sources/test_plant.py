"""The plant: the same values whatever the pacing and wherever it was stopped."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.kernel.errors import BindError, SourceFailure
from streamgauge.kernel.time import SECOND
from streamgauge.sources.brownian import EPISODE_TICKS
from streamgauge.sources.parse import inspect_parquet, list_files
from streamgauge.sources.plant import SCHEMA, Plant, PlantWriter
from streamgauge.streams.stream import Stream

LIVELY = Plant(n_sensors=40, seed=5, regime_rate=0.5, burst_rate=0.5, outage_rate=0.3, drift=0.01)
CALM: dict[str, Any] = {"regime_rate": 0.0, "burst_rate": 0.0, "outage_rate": 0.0}


class Metronome(threading.Event):
    """A stop that moves a clock instead of waiting, and rings at the end."""

    def __init__(self, n_waits: int) -> None:
        super().__init__()
        self.now = 0.0
        self._left = n_waits

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self.now += timeout
        self._left -= 1
        if self._left <= 0:
            self.set()
        return self.is_set()


def written(folder: Path) -> pa.Table:
    tables = [pq.read_table(path) for path in list_files(str(folder), "parquet")]
    return pa.concat_tables(tables).combine_chunks()


def same(left: pa.Table, right: pa.Table) -> bool:
    plain = pa.schema([(name, SCHEMA.to_arrow().field(name).type) for name in SCHEMA.names])
    return bool(left.cast(plain).equals(right.cast(plain)))


@given(cuts=st.lists(st.integers(1, 400), min_size=1, max_size=6), forget=st.booleans())
@settings(max_examples=25, deadline=None)
def test_values_do_not_depend_on_how_they_are_asked_for(cuts: list[int], forget: bool) -> None:
    tick, state, tables = 0, None, []
    for count in cuts:
        table, state = LIVELY.rows(tick, count, None if forget else state)
        tables.append(table)
        tick += count
    assert same(pa.concat_tables(tables), LIVELY.rows(0, tick)[0])


def test_values_are_fixed_for_ever() -> None:
    table, _ = Plant(n_sensors=5).rows(1_000, 3)
    assert pc.sum(table["value"]).as_py() == pytest.approx(286.98334749617544, abs=1e-9)


def test_rows_are_sorted_by_time_and_sensor_and_well_named() -> None:
    table, _ = Plant(n_sensors=120, **CALM).rows(0, 3)
    assert table.num_rows == 360
    rows = table.to_pylist()
    order = [(row["ts"], row["series"]) for row in rows]
    assert order == sorted(order)
    assert len({row["series"] for row in rows}) == 120
    assert {row["kind"] for row in rows} == {"flow", "level", "power", "pressure", "temp"}
    assert len({row["site"] for row in rows}) == 10
    assert all(row["series"].startswith(f"{row['site']}.{row['kind']}-") for row in rows)
    assert "site-03.temp-0001" in {row["series"] for row in rows}


def grid(plant: Plant, ticks: int) -> Any:
    table, _ = plant.rows(0, ticks)
    return table["value"].to_numpy().reshape(ticks, plant.n_sensors)


def test_calm_sensors_are_brownian_with_their_own_volatility_and_drift() -> None:
    steps = np.diff(grid(Plant(n_sensors=400, volatility=0.1, **CALM), 4_000), axis=0)
    sizes = steps.std(axis=0)
    assert np.median(sizes) == pytest.approx(0.1, rel=0.2)
    assert np.log(sizes).std() == pytest.approx(0.5, rel=0.2)
    assert abs((steps / sizes).mean()) < 5 / np.sqrt(steps.size)
    drifting = np.diff(grid(Plant(n_sensors=400, drift=1.0, volatility=0.01, **CALM), 500), axis=0)
    assert drifting.mean(axis=0).std() == pytest.approx(1.0, rel=0.2)


def test_a_longer_period_takes_larger_steps() -> None:
    plant = Plant(n_sensors=400, volatility=0.1, period=4 * SECOND, **CALM)
    sizes = np.diff(grid(plant, 1_000), axis=0).std(axis=0)
    assert np.median(sizes) == pytest.approx(0.2, rel=0.2)
    assert plant.rows(1, 1)[0]["ts"].cast(pa.int64())[0].as_py() == plant.start + 4 * SECOND


def test_regimes_bursts_and_outages_happen_at_their_rates() -> None:
    ticks, n = EPISODE_TICKS, 400
    calm = grid(Plant(n_sensors=n, **CALM), ticks)
    rough = grid(Plant(n_sensors=n, **{**CALM, "regime_rate": 0.25}), ticks)
    ratio = np.diff(rough, axis=0) / np.diff(calm, axis=0)
    assert (np.isclose(ratio, 4, rtol=1e-3).any(axis=0)).mean() == pytest.approx(0.25, abs=0.1)
    burst = grid(Plant(n_sensors=n, **{**CALM, "burst_rate": 0.25}), ticks) - calm
    assert (np.abs(burst).max(axis=0) > 0).mean() == pytest.approx(0.25, abs=0.1)
    assert np.allclose(burst[-1], 0, atol=1e-3)
    silent, _ = Plant(n_sensors=n, **{**CALM, "outage_rate": 0.25}).rows(0, ticks)
    counts = silent["series"].combine_chunks().value_counts().field("counts").to_numpy()
    assert (counts < ticks).mean() == pytest.approx(0.25, abs=0.1)
    assert counts.min() >= ticks // 2


def test_many_sensors_have_shorter_chunks() -> None:
    assert Plant(n_sensors=2_000).chunk_ticks == 256
    assert Plant(n_sensors=100_000).chunk_ticks == 4


@pytest.mark.parametrize(
    "wrong", [{"n_sensors": 0}, {"period": 0}, {"volatility": -1.0}, {"burst_rate": 1.5}]
)
def test_parameters_out_of_range(wrong: dict[str, Any]) -> None:
    with pytest.raises(BindError, match=next(iter(wrong))):
        Plant(**wrong)


def test_plants_travel_as_json() -> None:
    assert Plant.from_dict(LIVELY.as_dict()) == LIVELY


def test_files_are_whole_chunks_that_the_lander_takes_in_place(tmp_path: Path) -> None:
    writer = PlantWriter(LIVELY, str(tmp_path))
    paths = [writer.write_next() for _ in range(3)]
    assert [Path(path).name for path in paths] == [f"plant-{i:09d}.parquet" for i in range(3)]
    assert same(written(tmp_path), LIVELY.rows(0, 3 * 256)[0])
    source = (("kind", "files"), ("path", str(tmp_path)), ("format", "parquet"))
    footer = inspect_parquet(paths[1], Stream("plant", SCHEMA, "ts", ("series",), source))
    assert footer is not None
    assert (footer.clean, len(footer.groups)) == (True, 1)
    assert footer.low == LIVELY.start + 256 * SECOND
    assert footer.high == LIVELY.start + 511 * SECOND
    assert not list(tmp_path.glob("*.tmp"))


@given(counts=st.lists(st.integers(1, 300), min_size=1, max_size=4))
@settings(max_examples=10, deadline=None)
def test_restarts_anywhere_change_nothing(
    tmp_path_factory: pytest.TempPathFactory, counts: list[int]
) -> None:
    folder = tmp_path_factory.mktemp("plant")
    for count in counts:
        (folder / "plant-000000000.parquet.tmp").write_bytes(b"left by a crash")
        PlantWriter(LIVELY, str(folder)).write(count)
        (folder / "plant-000000000.parquet.tmp").unlink(missing_ok=True)
    PlantWriter(LIVELY, str(folder)).write_next()
    ticks = sum(counts) // 256 * 256 + 256
    assert same(written(folder), LIVELY.rows(0, ticks)[0])


@pytest.mark.parametrize("speed", [3, 100, 2_000])
def test_a_paced_run_keeps_time_and_values(tmp_path: Path, speed: float) -> None:
    stop = Metronome(n_waits=5)
    writer = PlantWriter(LIVELY, str(tmp_path))
    writer.run(speed, stop, clock=lambda: stop.now)
    assert stop.is_set()
    assert writer.tick == int(speed * 2.0)
    assert same(written(tmp_path), LIVELY.rows(0, writer.tick)[0])


def test_a_slow_plant_waits_for_its_next_tick(tmp_path: Path) -> None:
    stop = Metronome(n_waits=4)
    plant = Plant(n_sensors=2, period=60 * SECOND)
    writer = PlantWriter(plant, str(tmp_path))
    writer.run(10, stop, clock=lambda: stop.now)
    assert (writer.tick, len(list_files(str(tmp_path), "parquet"))) == (3, 3)


def test_a_speed_that_is_not_one(tmp_path: Path) -> None:
    with pytest.raises(BindError, match="speed"):
        PlantWriter(LIVELY, str(tmp_path)).run(0, threading.Event())


def test_a_directory_of_another_plant_is_refused(tmp_path: Path) -> None:
    PlantWriter(Plant(n_sensors=3, seed=1), str(tmp_path)).write(1)
    with pytest.raises(BindError, match="seed differ"):
        PlantWriter(Plant(n_sensors=3, seed=2), str(tmp_path))


def test_a_last_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "plant-000000007.parquet").write_bytes(b"damaged")
    with pytest.raises(SourceFailure, match="plant-000000007"):
        PlantWriter(LIVELY, str(tmp_path))
    pq.write_table(pa.table({"a": [1]}), tmp_path / "plant-000000007.parquet")
    with pytest.raises(SourceFailure, match="where the plant stood"):
        PlantWriter(LIVELY, str(tmp_path))
