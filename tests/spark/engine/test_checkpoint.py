"""A checkpoint of Spark that is lost, old, foreign or torn costs no row and no answer.

One home lives through all of it, and a twin on the local engine beside it through nothing.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import streamgauge as sg
from streamgauge.checks.waiting import wait_until
from streamgauge.kernel.errors import BindError, EngineFailure
from streamgauge.results.change_log import as_answers
from streamgauge.sources.plant import Plant, PlantWriter

pytestmark = pytest.mark.jvm
SCHEMA = sg.Schema.of(ts="time", series="string", site="string", kind="string", value="float")
QUERIES = (
    sg.Query("all", "plant", sg.avg("value"), window=sg.Latest(), answer=sg.every("10 s")),
    sg.Query(
        "spread",
        "plant",
        sg.stddev("value"),
        window=sg.Range("1 minute", "10 s"),
        group_by=("kind",),
        answer=sg.on_close(),
    ),
)
# Rows of a part: two epochs.
SENSORS, TICKS, MAX_ROWS = 20, 40, 500


@dataclass
class Life:
    """A home fed in parts, each by a job that starts and stops, with its checkpoint elsewhere."""

    root: Path

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def notes(self) -> Path:
        return self.root / "notes"

    @property
    def kept(self) -> Path:
        return self.root / "kept"

    def connect(self) -> sg.Gauge:
        return connected(self.home, self.root / "files", "spark", f"file://{self.notes}")

    def bring(self) -> None:
        """The next files, answered by the twin at once."""
        files = self.root / "files"
        PlantWriter(Plant(n_sensors=SENSORS, seed=3), str(files)).write(TICKS)
        twin = connected(self.root / "twin", files, "local")
        while twin.step():
            pass
        twin.stop()

    def goes_on(self) -> None:
        """Run until all is answered, as the twin answered it."""
        with self.connect().start() as gauge:
            gauge.drain(timeout=300)
        expected = told(self.root / "twin")
        assert len(expected) > 5
        assert told(self.home) == expected

    def part(self) -> None:
        self.bring()
        self.goes_on()

    def refused(self) -> str:
        """Start a job that ends by itself; what it says."""
        before = told(self.home)
        gauge = self.connect()
        with pytest.raises(EngineFailure) as caught:
            gauge.start().drain(timeout=300)
        gauge.stop()
        assert told(self.home) == before
        return f"{caught.value.what}: {caught.value.detail}"

    def tear(self, log: str) -> None:
        """Leave of the newest file of a log what a store without whole renames may leave."""
        # Spark notes a batch after its answers are committed: a job that is stopped right then
        # has not noted it, and the next one does.
        while not (files := [p for p in (self.notes / "job" / log).iterdir() if p.name.isdigit()]):
            self.part()
        newest = max(files, key=lambda path: int(path.name))
        newest.write_bytes(newest.read_bytes()[:1])


def connected(home: Path, files: Path, engine: str, checkpoint: str | None = None) -> sg.Gauge:
    files.mkdir(parents=True, exist_ok=True)
    gauge = sg.connect(home, engine=engine, shards=2, max_rows=MAX_ROWS, checkpoint=checkpoint)
    gauge.stream("plant", sg.files(files), time="ts", key="series", schema=SCHEMA)
    if not gauge._expected.queries:
        gauge.register(*QUERIES)
    return gauge


def told(home: Path) -> list[str]:
    gauge = sg.connect(home, engine="local", shards=2)
    return [repr(answer) for answer in as_answers(gauge.answers())]


@pytest.fixture(scope="module")
def life(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Life:
    """A life with two parts behind it, and a copy of the checkpoint after the first."""
    life = Life(tmp_path_factory.mktemp("life"))
    life.part()
    assert (life.notes / "job" / "offsets").is_dir()
    assert not (life.home / "checkpoint").exists()
    shutil.copytree(life.notes, life.kept)
    life.part()
    return life


def lost(life: Life) -> None:
    shutil.rmtree(life.notes)


def empty(life: Life) -> None:
    shutil.rmtree(life.notes)
    (life.notes / "job").mkdir(parents=True)


def older(life: Life) -> None:
    shutil.rmtree(life.notes)
    shutil.copytree(life.kept, life.notes)


def of_another_home(life: Life) -> None:
    other = Life(life.root / "other")
    other.bring()
    with other.connect().start() as gauge:
        wait_until(lambda: gauge.check() or gauge.home.committed(), 300, what="an epoch")
    shutil.rmtree(life.notes)
    shutil.copytree(other.notes, life.notes)


@pytest.mark.parametrize("harm", [lost, empty, older, of_another_home])
def test_a_checkpoint_that_is_not_the_last_one_costs_nothing(
    life: Life, harm: Callable[[Life], None]
) -> None:
    harm(life)
    life.part()


def test_a_checkpoint_that_is_ahead_of_the_home_is_refused(life: Life) -> None:
    shutil.copytree(life.home, life.root / "copy")
    life.part()
    shutil.rmtree(life.home)
    (life.root / "copy").rename(life.home)
    said = life.refused()
    assert said.startswith("the job stopped")
    assert "the checkpoint is ahead of the home" in said
    assert "remove the checkpoint" in said
    shutil.rmtree(life.notes)
    life.goes_on()


@pytest.mark.parametrize("log", ["offsets", "commits"])
def test_a_torn_checkpoint_is_refused_and_may_be_removed(life: Life, log: str) -> None:
    life.tear(log)
    life.bring()
    life.refused()
    shutil.rmtree(life.notes / "job")
    life.goes_on()


def test_a_checkpoint_is_a_whole_path_or_an_address(tmp_path: Path) -> None:
    with pytest.raises(BindError, match="a checkpoint cannot be at 'notes'"):
        sg.connect(tmp_path / "home", checkpoint="notes")
    with pytest.raises(BindError, match="the local engine has no checkpoint"):
        sg.connect(tmp_path / "home", engine="local", checkpoint="/notes")
