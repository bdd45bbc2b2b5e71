"""A home that an earlier release wrote goes on under this one; what is too new is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import streamgauge as sg
from streamgauge.engine import shard
from streamgauge.engine import state as wire
from streamgauge.engine.lander import Lander
from streamgauge.kernel.errors import EngineFailure
from streamgauge.kernel.files import write_whole
from streamgauge.kernel.wire import pack, unpack
from streamgauge.log.commits import state_files
from streamgauge.log.home import Home
from streamgauge.results.change_log import as_answers
from tests.engine.test_wire_golden import golden, small_life, write_plant, write_ticks

pytestmark = pytest.mark.jvm
EPOCH = 3
OLD = range(1, wire.VERSION)


def bring(root: Path) -> None:
    """Rows that come after the life of the golden files."""
    write_plant(root / "plant" / "3.parquet", [15, 16, 18, 17, 21, 24])
    write_ticks(root / "ticks" / "3.parquet", [15, 18, 17, 24, 30, 41])


def left_by(version: int, root: Path) -> sg.Gauge:
    """A home stopped by the release that wrote states of a version."""
    root.mkdir()
    gauge = small_life(root)
    gauge.stop()
    shard.forget(gauge.home)
    data, _ = golden(version)
    (path,) = state_files(gauge.home, EPOCH, 0)
    assert data != path.read_bytes() or version == wire.VERSION
    write_whole(path, data)
    return gauge


def told(gauge: sg.Gauge) -> list[str]:
    return [repr(answer) for answer in as_answers(gauge.answers(since_epoch=EPOCH))]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What this release answers of the rows to come, from a state of its own."""
    root = tmp_path_factory.mktemp("today") / "life"
    root.mkdir()
    gauge = small_life(root)
    bring(root)
    while gauge.step():
        pass
    gauge.stop()
    found = told(gauge)
    assert len(found) > 20
    return found


@pytest.mark.parametrize("version", OLD)
def test_an_old_driver_was_killed_between_landing_and_commit(
    spark: SparkSession, version: int, expected: list[str], tmp_path: Path
) -> None:
    gauge = left_by(version, tmp_path / "life")
    bring(tmp_path / "life")
    assert Lander(gauge.home, max_rows=1_000_000).land() == EPOCH + 1
    assert gauge.home.committed() == EPOCH
    goes_on(gauge.home, expected)


@pytest.mark.parametrize("version", OLD)
def test_a_state_of_a_later_release_is_refused_and_that_of_an_older_goes_on(
    spark: SparkSession, version: int, expected: list[str], tmp_path: Path
) -> None:
    gauge = left_by(version, tmp_path / "life")
    (path,) = state_files(gauge.home, EPOCH, 0)
    kept = path.read_bytes()
    later = unpack(kept, kind=wire.KIND, version=wire.VERSION)
    later.version = wire.VERSION + 1
    write_whole(path, pack(later))
    bring(tmp_path / "life")
    again = sg.connect(gauge.home.root).start()
    with pytest.raises(EngineFailure) as caught:
        again.drain(timeout=300)
    again.stop()
    assert f"state 'shard' version {wire.VERSION + 1} cannot be read here" in caught.value.detail
    assert "run the release that wrote it" in caught.value.detail
    assert path.read_bytes() == pack(later), "left alone"
    write_whole(path, kept)
    goes_on(gauge.home, expected)


def goes_on(home: Home, expected: list[str]) -> None:
    """Run a home until all is answered; its state is then of this release."""
    with sg.connect(home.root).start() as again:
        again.drain(timeout=300)
    assert told(again) == expected
    data = state_files(home, home.committed(), 0)[0].read_bytes()
    assert unpack(data, kind=wire.KIND, version=wire.VERSION).version == wire.VERSION
