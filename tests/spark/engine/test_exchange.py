"""Rows that a job on Spark reads once and sends give the answers of the local engine."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import streamgauge as sg
from streamgauge.checks.work import canonical, same_answers
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
