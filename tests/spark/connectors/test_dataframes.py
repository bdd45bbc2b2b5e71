"""Rows of a DataFrame: its checkpoint alone says which of them were written."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import streamgauge as sg
from streamgauge.checks.waiting import wait_until
from streamgauge.engine.spark.checkpoints import Checkpoints
from streamgauge.engine.spark.landing import LandingFeed
from streamgauge.kernel.errors import EngineFailure, SourceFailure
from streamgauge.log.feeding import feeding_of
from streamgauge.log.home import Home

pytestmark = pytest.mark.jvm


def numbers(spark: SparkSession) -> DataFrame:
    frame = (
        spark.readStream.format("rate-micro-batch")
        .option("rowsPerBatch", 10)
        .option("startTimestamp", 1_767_225_600_000)
        .option("advanceMillisPerBatch", 1_000)
        .load()
    )
    return frame.select(F.col("timestamp").alias("ts"), F.col("value").alias("x"))


class Landing:
    """A home, the notes of what lands its stream, and a frame to be landed."""

    def __init__(self, spark: SparkSession, place: Path) -> None:
        self.spark, self.notes = spark, place / "notes"
        self.home = Home.open(place / "home", shards=1)
        self.at = Path(Checkpoints(self.home, str(self.notes)).landing("numbers"))

    def connect(self) -> sg.Gauge:
        gauge = sg.connect(self.home.root, shards=1, checkpoint=str(self.notes))
        gauge.stream("numbers", source=sg.dataframe(numbers(self.spark)), time="ts", key="x")
        return gauge

    def written(self) -> set[str]:
        folder = self.home.incoming("numbers")
        return {path.name for path in folder.glob("0*")} if folder.is_dir() else set()

    def land(self) -> None:
        """Land some more batches."""
        stream = self.connect().trial().registry.streams["numbers"]
        feed = LandingFeed(self.spark, self.home, stream, numbers(self.spark), str(self.at))
        before = len(self.written())
        feed.start()

        def more() -> bool:
            assert feed.failure is None
            return len(self.written()) > before + 2

        wait_until(more, 300, what="some batches")
        feed.stop()

    def forget_newest(self) -> None:
        """Leave what a crash leaves between the rows of a batch and Spark's note of it."""
        noted = {int(path.name) for path in (self.at / "commits").iterdir() if path.name.isdigit()}
        newest = max(map(int, self.written()))
        for name in (f"{newest}", f".{newest}.crc"):
            (self.at / "commits" / name).unlink(missing_ok=True)
        assert noted >= set(range(newest)), "all before it are noted"

    def state(self) -> str:
        told = feeding_of(self.home, "numbers")
        return "" if told is None else told.state


@pytest.fixture
def landing(spark: SparkSession, tmp_path: Path) -> Landing:
    return Landing(spark, tmp_path)


def test_rows_are_not_written_by_another_checkpoint(landing: Landing, tmp_path: Path) -> None:
    landing.land()
    assert (landing.at / "offsets").is_dir()
    shutil.copytree(landing.notes, tmp_path / "copy")
    landing.forget_newest()
    landing.land()
    before = landing.written()
    shutil.rmtree(landing.at)
    gauge = landing.connect()
    with pytest.raises(SourceFailure, match="is not the one its rows were written by"):
        gauge.start()
    gauge.stop()
    assert landing.written() == before
    shutil.rmtree(landing.notes)
    shutil.copytree(tmp_path / "copy", landing.notes)
    gauge = landing.connect().start()
    wait_until(lambda: landing.state() == "failed", 300, what="the refusal")
    with pytest.raises(EngineFailure, match="is older than its rows"):
        gauge.check()
    gauge.stop()
    assert landing.written() == before
