"""A checkpoint of Spark that is lost, old, foreign or torn costs no row and no answer."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

import streamgauge as sg
from streamgauge.kernel.errors import BindError, EngineFailure, SourceFailure
from streamgauge.log.feeding import feeding_of
from streamgauge.log.home import Home
from streamgauge.results.change_log import as_answers
from streamgauge.sources.plant import Plant, PlantWriter
from streamgauge.testing.waiting import wait_until

QUERIES = (
    sg.Query("all", "plant", sg.avg("value"), answer=sg.every("10 s")),
    sg.Query(
        "spread",
        "plant",
        sg.stddev("value"),
        window=sg.Range("1 minute", "10 s"),
        group_by=("kind",),
        answer=sg.on_close(),
    ),
)
PARTS = 3


@dataclass
class Life:
    """A home fed in parts, each by a job that starts and stops, with its checkpoint elsewhere."""

    root: Path
    expected: list[str]

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def notes(self) -> Path:
        return self.root / "notes"

    def connect(self) -> sg.Gauge:
        return connected(self.root, "spark", checkpoint=f"file://{self.notes}")

    def part(self, number: int) -> None:
        """Bring one part of the files and run until it is answered."""
        bring(self.root, number)
        with self.connect().start() as gauge:
            gauge.drain(timeout=120)

    def told(self) -> list[str]:
        return answers_of(self.home)


def connected(root: Path, engine: str, checkpoint: str | None = None) -> sg.Gauge:
    gauge = sg.connect(
        root / "home", engine=engine, shards=2, max_rows=2_000, checkpoint=checkpoint
    )
    (root / "files").mkdir(exist_ok=True)
    gauge.stream("plant", sg.files(root / "files"), time="ts", key="series", schema=SCHEMA)
    if not gauge._expected.queries:
        gauge.register(*QUERIES)
    return gauge


SCHEMA = sg.Schema.of(ts="time", series="string", site="string", kind="string", value="float")


def bring(root: Path, number: int) -> None:
    """The next files of a plant, three pages of them."""
    (root / "files").mkdir(parents=True, exist_ok=True)
    writer = PlantWriter(Plant(n_sensors=50, seed=3), str(root / "files"))
    for _ in range(3):
        writer.write(40)


def answers_of(home: Path) -> list[str]:
    gauge = sg.connect(home, engine="local", shards=2)
    return [repr(answer) for answer in as_answers(gauge.answers())]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What the local engine answers of all parts."""
    root = tmp_path_factory.mktemp("local")
    for number in range(PARTS):
        bring(root, number)
        gauge = connected(root, "local")
        while gauge.step():
            pass
        gauge.stop()
    found = answers_of(root / "home")
    assert len(found) > 50
    return found


@pytest.fixture
def life(spark: SparkSession, tmp_path: Path, expected: list[str]) -> Life:
    return Life(tmp_path, expected)


def test_a_lost_checkpoint_and_an_empty_one(life: Life) -> None:
    life.part(0)
    assert (life.notes / "job" / "offsets").is_dir()
    assert not (life.home / "checkpoint").exists()
    shutil.rmtree(life.notes)
    life.part(1)
    shutil.rmtree(life.notes / "job")
    (life.notes / "job").mkdir()
    life.part(2)
    assert life.told() == life.expected


def test_a_checkpoint_that_is_older_than_the_home(life: Life, tmp_path: Path) -> None:
    life.part(0)
    shutil.copytree(life.notes, tmp_path / "old")
    life.part(1)
    shutil.rmtree(life.notes)
    shutil.copytree(tmp_path / "old", life.notes)
    life.part(2)
    assert life.told() == life.expected


def test_a_checkpoint_of_another_home(life: Life, tmp_path: Path) -> None:
    other = Life(tmp_path / "other", [])
    other.root.mkdir()
    other.part(0)
    life.part(0)
    life.part(1)
    shutil.rmtree(life.notes)
    shutil.copytree(other.notes, life.notes)
    life.part(2)
    assert life.told() == life.expected


def test_a_checkpoint_that_is_ahead_of_the_home_is_refused(life: Life, tmp_path: Path) -> None:
    life.part(0)
    shutil.copytree(life.home, tmp_path / "copy")
    life.part(1)
    shutil.rmtree(life.home)
    shutil.copytree(tmp_path / "copy", life.home)
    before = answers_of(life.home)
    gauge = life.connect().start()
    with pytest.raises(EngineFailure, match="the job stopped") as caught:
        gauge.drain(timeout=120)
    gauge.stop()
    assert "the checkpoint is ahead of the home" in caught.value.detail
    assert "remove the checkpoint" in caught.value.detail
    assert answers_of(life.home) == before
    shutil.rmtree(life.notes)
    with life.connect().start() as gauge:
        gauge.drain(timeout=120)
    life.part(2)
    assert life.told() == life.expected


@pytest.mark.parametrize("log", ["offsets", "commits"])
def test_a_torn_checkpoint_is_refused_and_may_be_removed(life: Life, log: str) -> None:
    """What a store without whole renames leaves of a file that was being written."""
    life.part(0)
    newest = max(
        (path for path in (life.notes / "job" / log).iterdir() if path.name.isdigit()),
        key=lambda path: int(path.name),
    )
    newest.write_bytes(newest.read_bytes()[:1])
    bring(life.root, 1)
    gauge = life.connect()
    with pytest.raises(EngineFailure):
        gauge.start().drain(timeout=120)
    gauge.stop()
    shutil.rmtree(life.notes / "job")
    with life.connect().start() as gauge:
        gauge.drain(timeout=120)
    life.part(2)
    assert life.told() == life.expected


def numbers(spark: SparkSession) -> sg.Source:
    frame = (
        spark.readStream.format("rate-micro-batch")
        .option("rowsPerBatch", 10)
        .option("startTimestamp", 1_767_225_600_000)
        .option("advanceMillisPerBatch", 1_000)
        .load()
    )
    return sg.dataframe(frame.select(F.col("timestamp").alias("ts"), F.col("value").alias("x")))


def test_rows_of_a_dataframe_are_not_written_by_another_checkpoint(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Only its checkpoint knows which rows of a DataFrame were written."""
    notes, home = tmp_path / "notes", Home(str(tmp_path / "home"), 1)

    def connect() -> sg.Gauge:
        gauge = sg.connect(home.root, shards=1, checkpoint=str(notes))
        gauge.stream("numbers", source=numbers(spark), time="ts", key="x")
        return gauge

    def written() -> set[str]:
        folder = home.incoming("numbers")
        return {path.name for path in folder.glob("0*")} if folder.is_dir() else set()

    with connect().start():
        wait_until(lambda: len(written()) > 2, 120, what="some batches")
    assert (notes / "landing" / "numbers" / "offsets").is_dir()
    shutil.copytree(notes, tmp_path / "copy")
    with connect().start():
        before = written()
        wait_until(lambda: len(written()) > len(before) + 2, 120, what="more batches")
    before = written()
    shutil.rmtree(notes / "landing")
    gauge = connect()
    with pytest.raises(SourceFailure, match="is not the one its rows were written by"):
        gauge.start()
    gauge.stop()
    assert written() == before
    shutil.rmtree(notes)
    shutil.copytree(tmp_path / "copy", notes)
    gauge = connect().start()
    wait_until(lambda: _state(home) == "failed", 120, what="the refusal")
    with pytest.raises(EngineFailure, match="is older than its rows"):
        gauge.check()
    gauge.stop()
    assert written() == before


def _state(home: Home) -> str:
    told = feeding_of(home, "numbers")
    return "" if told is None else told.state


def test_a_checkpoint_is_a_whole_path_or_an_address(tmp_path: Path) -> None:
    with pytest.raises(BindError, match="a checkpoint cannot be at 'notes'"):
        sg.connect(tmp_path / "home", checkpoint="notes")
    with pytest.raises(BindError, match="the local engine has no checkpoint"):
        sg.connect(tmp_path / "home", engine="local", checkpoint="/notes")
