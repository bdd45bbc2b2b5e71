"""The Spark engine against the local engine and the reference, and its sources."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

import streamgauge as sg
from streamgauge.contracts.answer import Answer
from streamgauge.engine.reference import evaluate
from streamgauge.engine.spark.engine import SparkEngine
from streamgauge.kernel.errors import EngineFailure, SourceFailure
from streamgauge.log.home import Home
from streamgauge.log.journal import Journal
from streamgauge.results.change_log import answers, as_answers
from streamgauge.sources.plant import Plant, PlantWriter
from streamgauge.testing.replay import same_answer, sort_key, write_pages
from streamgauge.testing.strategies import Workload, workloads
from streamgauge.testing.waiting import wait_until

QUERIES = [
    sg.Query("all", "plant", sg.avg("value"), answer=sg.every("10 s")),
    sg.Query("moved", "plant", sg.total("value"), answer=sg.on_change(5.0)),
    sg.Query(
        "spread",
        "plant",
        sg.stddev("value"),
        window=sg.Range("2 minutes", "10 s"),
        group_by=("kind",),
        answer=sg.on_close(),
    ),
    sg.Query(
        "top",
        "plant",
        sg.maximum("value"),
        window=sg.Partition("series", 5),
        where=sg.col("site") == "site-03",
        group_by=("series",),
    ),
]


def plant_files(directory: Path, *, n_files: int = 4, n_sensors: int = 50) -> Path:
    """Some files of the synthetic plant."""
    writer = PlantWriter(Plant(n_sensors=n_sensors, seed=3), str(directory))
    for _ in range(n_files):
        writer.write(100)
    return directory


def answered(home: Path, engine: str, files: Path, *, stops: int = 0) -> list[str]:
    """All answers on a new home, stopping and starting again on the way."""
    gauge = sg.connect(home, engine=engine, shards=2, max_rows=5_000, master="local[2,4]")
    source = sg.files(files)
    gauge.stream("plant", source=source, time="ts", key="series", keep="1 day")
    gauge.register(*QUERIES)
    gauge.start()
    for _ in range(stops):
        epoch = gauge.home.committed()
        wait_until(lambda before=epoch: gauge.home.committed() > before, 120, what="an epoch")
        gauge.stop()
        gauge.start()
    gauge.drain(timeout=120)
    gauge.stop()
    return [repr(answer) for answer in as_answers(gauge.answers())]


def test_spark_and_local_give_the_same_bytes(spark: SparkSession, tmp_path: Path) -> None:
    files = plant_files(tmp_path / "files")
    local = answered(tmp_path / "local", "local", files)
    found = answered(tmp_path / "spark", "spark", files, stops=2)
    assert len(local) > 100
    assert found == local


@settings(max_examples=6)
@given(workload=workloads(max_rows=30), shards=st.integers(1, 3))
def test_spark_agrees_with_the_reference(
    spark: SparkSession, workload: Workload, shards: int
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        home = Home.open(directory, shards=shards)
        write_pages(home, (workload.stream,), workload.pages)
        engine = SparkEngine(home, max_rows=1000)
        engine.start()
        last = Journal(home).last()
        wait_until(lambda: home.committed() == last or engine.failure(), 120, what="all pages")
        engine.stop()
        assert engine.failure() is None
        found = sorted(as_answers(answers(home)), key=sort_key)
    expected: list[Answer] = sorted(evaluate(workload.pages), key=sort_key)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert same_answer(one, other), f"found    {one!r}\nexpected {other!r}"


def test_queries_come_and_go_while_it_runs(spark: SparkSession, tmp_path: Path) -> None:
    gauge = sg.connect(tmp_path / "home", shards=2)
    gauge.stream("plant", source=sg.plant(n_sensors=20, speed=300), time="ts", key="series")
    gauge.register(QUERIES[0])
    gauge.start()
    try:
        first = next(iter(gauge.subscribe("all", since_epoch=0, timeout=120)))
        assert first.value is not None
        many = [sg.Query(f"q{i}", "plant", sg.avg("value")) for i in range(2000)]
        before = gauge.home.committed()
        gauge.register(*many)
        found = next(iter(gauge.subscribe("q1999", timeout=120)))
        page = gauge.registry().query("q1999").born
        assert page - before <= 2
        assert found.epoch >= page
        gauge.drop(*(query.name for query in many))
        wait_until(lambda: len(gauge.registry().queries) == 1, 120, what="the drop")
        frame = gauge.answers_spark("q1999")
        assert frame.count() == gauge.answers("q1999").num_rows > 0
    finally:
        gauge.stop()


def test_a_streaming_dataframe_and_the_rate_source(spark: SparkSession, tmp_path: Path) -> None:
    frame = (
        spark.readStream.format("rate-micro-batch")
        .option("rowsPerBatch", 100)
        .option("startTimestamp", 1_767_225_600_000)
        .option("advanceMillisPerBatch", 10_000)
        .load()
        .select(
            F.col("timestamp").alias("ts"),
            (F.col("value") % 5).cast("string").alias("series"),
            F.col("value").cast("double").alias("x"),
        )
    )
    gauge = sg.connect(tmp_path / "home", shards=2)
    gauge.stream("numbers", source=sg.dataframe(frame), time="ts", key="series")
    gauge.stream("clock", source=sg.rate(50), time="timestamp", key="value")
    gauge.register(
        sg.Query("n", "numbers", sg.count(), window=sg.Landmark(0), answer=sg.on_close()),
        sg.Query("c", "clock", sg.count(), window=sg.Landmark(0), answer=sg.on_close()),
    )
    gauge.start()
    try:
        counted = next(a for a in gauge.subscribe("n", since_epoch=0, timeout=120) if a.value)
        assert counted.value is not None
        assert counted.value % 100 == 0
        assert next(iter(gauge.subscribe("c", since_epoch=0, timeout=120))).value
    finally:
        gauge.stop()


def test_a_frame_that_is_no_stream_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    gauge = sg.connect(tmp_path / "home", shards=1)
    batch = spark.range(3).selectExpr("id", "current_timestamp() as ts")
    gauge.stream("fixed", source=sg.dataframe(batch), time="ts", key="id")
    with pytest.raises(SourceFailure, match="is not a stream"):
        gauge.start()
    gauge.stop()


def test_a_job_that_fails_says_so(spark: SparkSession, tmp_path: Path) -> None:
    """Rows that were acknowledged and then taken away stop the job, with the reason."""
    files = plant_files(tmp_path / "files", n_files=1)
    gauge = sg.connect(tmp_path / "home", engine="local", shards=1)
    gauge.stream("plant", source=sg.files(files), time="ts", key="series")
    gauge.register(QUERIES[0])
    gauge.step()
    for file in files.iterdir():
        file.rename(tmp_path / file.name)
    for commit in gauge.home.commits.iterdir():
        commit.unlink()
    again = sg.connect(tmp_path / "home", shards=1)
    again.start()
    with pytest.raises(EngineFailure, match="cannot be read any more"):
        again.drain(timeout=120)
    again.stop()
    for file in tmp_path.glob("*.parquet"):
        file.rename(files / file.name)
    again.start()
    assert again.drain(timeout=120) == 1
    again.stop()
