"""Rows that a job on Spark reads once and sends give the answers of the local engine."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import streamgauge as sg
from streamgauge.checks.work import canonical, same_answers
from streamgauge.log.commits import read_commit
from streamgauge.log.journal import Journal
from tests.checks.test_tables import DECLARED, OTHERS, SUMS, arriving

pytestmark = pytest.mark.jvm


def asked(root: Path, engine: str, **options: object) -> sg.Gauge:
    """A data directory with two files of rows, and queries of sums and of sketches."""
    rows = root / "rows"
    rows.mkdir(parents=True)
    gauge = sg.connect(root / "home", engine=engine, **options)
    gauge.sql(DECLARED.format(late="").replace("{rows}", str(rows)))
    for number, text in enumerate([*SUMS, *OTHERS]):
        gauge.sql(f"CREATE QUERY q{number} AS {text}")
    for number, start in enumerate((0, 20)):
        path = rows / f"{number}.parquet"
        pq.write_table(arriving(20, start), path, row_group_size=300)
    return gauge


def test_packets_cross_spark_and_each_shard_folds_its_own(
    spark: SparkSession, tmp_path: Path
) -> None:
    sent = asked(tmp_path / "spark", "spark", shards=3, exchange=True)
    with sent:
        sent.start()
        sent.drain(timeout=300)
    journal = Journal(sent.home)
    assert any(journal.page(n).scans for n in range(1, journal.last() + 1))
    read = asked(tmp_path / "local", "local")
    while read.step():
        pass
    assert len(read.answers()) > 1000
    same_answers(canonical(sent.answers()), canonical(read.answers()))


@pytest.mark.parametrize("exchange", [True, False])
def test_a_running_job_is_rescaled(spark: SparkSession, tmp_path: Path, exchange: bool) -> None:
    """The tasks of an epoch follow its page."""
    job = asked(tmp_path / "spark", "spark", shards=2, exchange=exchange)
    rows = tmp_path / "spark" / "rows"
    with job:
        job.start()
        job.drain(timeout=300)
        job.rescale(3)
        pq.write_table(arriving(20, 40), rows / "2.parquet", row_group_size=300)
        job.drain(timeout=300)
    told = [len(read_commit(job.home, e)["shards"]) for e in range(1, job.home.committed() + 1)]
    assert (told[0], told[-1]) == (2, 3)
    read = asked(tmp_path / "local", "local")
    pq.write_table(arriving(20, 40), tmp_path / "local" / "rows" / "2.parquet")
    while read.step():
        pass
    same_answers(canonical(job.answers()), canonical(read.answers()))
