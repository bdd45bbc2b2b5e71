"""The Spark engine against the reference, and what it refuses."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import streamgauge as sg
from streamgauge.checks.waiting import wait_until
from streamgauge.contracts.answer import Answer
from streamgauge.engine.commit import commit
from streamgauge.engine.shard import Receipt
from streamgauge.engine.spark.engine import SparkEngine
from streamgauge.engine.spark.source import JournalReader
from streamgauge.kernel.errors import EngineFailure, SourceFailure
from streamgauge.log.home import Home
from streamgauge.log.journal import Journal
from streamgauge.results.change_log import answers, as_answers
from streamgauge.sources.plant import Plant, PlantWriter
from tests.kit.replay import same_answer, sort_key, write_pages
from tests.kit.strategies import Workload, workloads
from tests.oracles.reference import evaluate

pytestmark = pytest.mark.jvm
# Two for `make test`, twenty for `make nightly`, whose examples are fresh.
JOBS = settings.default.max_examples // 50
QUESTIONS = 10 * JOBS
WORKLOADS = workloads(max_rows=30)
SHARDS = st.integers(1, 3)


def by_a_job(home: Home) -> None:
    """Run all pages of a home by a streaming query."""
    engine = SparkEngine(home, max_rows=1000)
    engine.start()
    last = Journal(home).last()
    wait_until(lambda: home.committed() == last or engine.failure(), 300, what="all pages")
    engine.stop()
    assert engine.failure() is None


def by_questions(home: Home) -> None:
    """Ask the source what a streaming query would, the last shard first, and commit."""
    options = {"home": home.path, "shards": str(home.shards), "max_rows": "1000"}
    reader = JournalReader({**options, "allowed": home.allowed.as_text()})
    start = reader.initialOffset()
    while home.committed() < Journal(home).last():
        end = reader.latestOffset(start, None)
        told = [
            row
            for share in reversed(reader.partitions(start, end))
            for batch in reader.read(share)
            for row in batch.to_pylist()
        ]
        found = [Receipt.from_bytes(row["data"]) for row in told]
        receipts = sorted(found, key=lambda receipt: receipt.shard)
        assert {row["start"] for row in told} == {start["page"]}
        commit(home, start["page"], receipts, 0.0)
        start = end


def agrees(workload: Workload, shards: int, run: Callable[[Home], None]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        home = Home.open(directory, shards=shards)
        write_pages(home, (workload.stream,), workload.pages)
        run(home)
        found = sorted(as_answers(answers(home)), key=sort_key)
    expected: list[Answer] = sorted(evaluate(workload.pages), key=sort_key)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert same_answer(one, other), f"found    {one!r}\nexpected {other!r}"


@settings(max_examples=JOBS)
@given(workload=WORKLOADS, shards=SHARDS)
def test_spark_agrees_with_the_reference(
    spark: SparkSession, workload: Workload, shards: int
) -> None:
    agrees(workload, shards, by_a_job)


@settings(max_examples=QUESTIONS)
@given(workload=WORKLOADS, shards=SHARDS)
def test_what_spark_is_told_agrees_with_the_reference(workload: Workload, shards: int) -> None:
    agrees(workload, shards, by_questions)


def test_a_frame_that_is_no_stream_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    gauge = sg.connect(tmp_path / "home", shards=1)
    batch = spark.range(3).selectExpr("id", "current_timestamp() as ts")
    gauge.stream("fixed", source=sg.dataframe(batch), time="ts", key="id")
    with pytest.raises(SourceFailure, match="is not a stream"):
        gauge.start()
    gauge.stop()


def test_a_job_that_fails_says_so(spark: SparkSession, tmp_path: Path) -> None:
    """Rows that were acknowledged and then taken away stop the job, with the reason."""
    files = tmp_path / "files"
    PlantWriter(Plant(n_sensors=10, seed=3), str(files)).write(40)
    gauge = sg.connect(tmp_path / "home", engine="local", shards=1)
    gauge.stream("plant", source=sg.files(files), time="ts", key="series")
    gauge.register(
        sg.Query("all", "plant", sg.avg("value"), window=sg.Latest(), answer=sg.every("10 s"))
    )
    gauge.step()
    for file in files.iterdir():
        file.rename(tmp_path / file.name)
    for done in gauge.home.commits.iterdir():
        done.unlink()
    again = sg.connect(tmp_path / "home", shards=1)
    again.start()
    with pytest.raises(EngineFailure, match="cannot be read any more"):
        again.drain(timeout=300)
    again.stop()
    for file in tmp_path.glob("*.parquet"):
        file.rename(files / file.name)
    again.start()
    assert again.drain(timeout=300) == 1
    again.stop()
