"""Synopses of DataFrames: answers with bars, and bytes that Spark's built-ins read and write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from streamgauge import functions as sgf
from streamgauge.checks.waiting import wait_until
from streamgauge.kernel.errors import BindError

pytestmark = pytest.mark.jvm
N = 20_000
GROUPS = 7


@pytest.fixture(scope="module")
def table() -> pa.Table:
    rng = np.random.default_rng(3)
    return pa.table(
        {
            "host": [f"h{i}" for i in rng.integers(0, GROUPS, N)],
            "user": rng.integers(0, 2000, N),
            "page": [f"/p{i}" for i in np.minimum(rng.zipf(1.5, N), 500)],
            "latency": rng.lognormal(3.0, 1.0, N),
        }
    )


@pytest.fixture(scope="module")
def folder(table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("requests")
    for part in range(4):
        rows = table.slice(part * N // 4, N // 4)
        pq.write_table(rows, path / f"{part}.parquet", row_group_size=2000)
    return path


def exact(table: pa.Table) -> dict[str, dict[str, Any]]:
    out = {}
    for host in sorted(set(table["host"].to_pylist())):
        rows = table.filter(pa.compute.equal(table["host"], host))
        pages = rows["page"].value_counts().to_pylist()
        pages.sort(key=lambda found: (-found["counts"], found["values"]))
        out[host] = {
            "latency": np.sort(rows["latency"].to_numpy()),
            "users": len(set(rows["user"].to_pylist())),
            "pages": {found["values"]: found["counts"] for found in pages},
        }
    return out


def asked() -> dict[str, Any]:
    return {
        "slow": sgf.quantiles("latency", at=(0.5, 0.95), k=200),
        "slow_value": sgf.value_quantiles("latency", at=(0.95,), alpha=0.01),
        "users": sgf.distinct("user"),
        "pages": sgf.top_k("page", 3),
    }


@pytest.mark.parametrize("source", ["frame", "paths"])
def test_summaries_hold_the_truth(
    spark: SparkSession, table: pa.Table, folder: Path, source: str
) -> None:
    rows = spark.read.parquet(str(folder)) if source == "frame" else folder
    found = {row["host"]: row for row in sgf.summarise(rows, by="host", **asked()).collect()}
    truth = exact(table)
    assert set(found) == set(truth)
    for host, row in found.items():
        ranked = truth[host]["latency"]
        for phi, bar in zip((0.5, 0.95), row["slow"]["answers"], strict=True):
            value = ranked[int(np.ceil(phi * len(ranked))) - 1]
            assert bar["low"] <= value <= bar["high"]
        value = ranked[int(np.ceil(0.95 * len(ranked))) - 1]
        bar = row["slow_value"]["answers"][0]
        assert bar["low"] <= value <= bar["high"]
        assert abs(bar["value"] - value) <= 0.0101 * value
        assert abs(row["users"]["answers"][0]["value"] - truth[host]["users"]) < 0.1 * 2000
        for bar in row["pages"]["answers"]:
            assert bar["low"] <= truth[host]["pages"][bar["item"]] <= bar["high"]
        assert row["pages"]["answers"][0]["item"] == next(iter(truth[host]["pages"]))


def test_spark_reads_our_bytes(spark: SparkSession, folder: Path) -> None:
    ours = sgf.summarise(
        folder,
        by="host",
        sketches=True,
        users=sgf.distinct("user"),
        slow=sgf.quantiles("latency", at=(0.5,)),
    )
    told = ours.select(
        "users.answers",
        F.hll_sketch_estimate("users.sketch").alias("spark_users"),
        F.kll_sketch_get_quantile_double("slow.sketch", F.lit(0.5)).alias("spark_middle"),
        F.col("slow.answers").alias("middle"),
    ).collect()
    assert len(told) == GROUPS
    for row in told:
        assert row["spark_users"] == pytest.approx(row["answers"][0]["value"], rel=0.03)
        bar = row["middle"][0]
        assert bar["low"] <= row["spark_middle"] <= bar["high"]


def test_we_read_sparks_bytes_and_add_bars(
    spark: SparkSession, table: pa.Table, folder: Path
) -> None:
    frame = spark.read.parquet(str(folder)).groupBy("host")
    sketches = frame.agg(
        F.hll_sketch_agg("user", F.lit(12)).alias("users"),
        F.kll_sketch_agg_double("latency", F.lit(200)).alias("slow"),
    )
    told = sketches.select(
        "host",
        sgf.distinct_of("users").alias("users"),
        sgf.quantiles_of("slow", 0.5, 0.95).alias("slow"),
    ).collect()
    truth = exact(table)
    for row in told:
        assert row["users"]["low"] <= truth[row["host"]]["users"] <= row["users"]["high"]
        ranked = truth[row["host"]]["latency"]
        value = ranked[int(np.ceil(0.95 * len(ranked))) - 1]
        assert row["slow"][1]["low"] <= value <= row["slow"][1]["high"]


def test_streams_keep_sketches_in_sparks_state(
    spark: SparkSession, table: pa.Table, folder: Path, tmp_path: Path
) -> None:
    schema = spark.read.parquet(str(folder)).schema
    stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))
    kept = sgf.summarise(
        stream, by="host", users=sgf.distinct("user"), slow=sgf.quantiles("latency")
    )
    query = (
        kept.writeStream.outputMode("complete")
        .format("memory")
        .queryName("kept")
        .option("checkpointLocation", str(tmp_path))
        .trigger(availableNow=True)
        .start()
    )
    wait_until(lambda: not query.isActive, 180)
    told = spark.table("kept").select(
        "host", sgf.distinct_of("users").alias("users"), sgf.quantiles_of("slow", 0.5).alias("slow")
    )
    truth = exact(table)
    rows = told.collect()
    assert len(rows) == GROUPS
    for row in rows:
        assert row["users"]["low"] <= truth[row["host"]]["users"] <= row["users"]["high"]
        ranked = truth[row["host"]]["latency"]
        value = ranked[int(np.ceil(0.5 * len(ranked))) - 1]
        assert row["slow"][0]["low"] <= value <= row["slow"][0]["high"]


def test_mistakes_are_told(spark: SparkSession, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(BindError, match="unknown column 'usr'"):
        sgf.summarise(folder, by="host", users=sgf.distinct("usr"))
    with pytest.raises(BindError, match="nothing to summarise"):
        sgf.summarise(folder, by="host")
    with pytest.raises(BindError, match="no rows to summarise"):
        sgf.summarise(tmp_path, users=sgf.distinct("user"))
    with pytest.raises(BindError, match="can be merged"):
        sgf.summary("no such", "user")
    schema = spark.read.parquet(str(folder)).schema
    stream = spark.readStream.schema(schema).parquet(str(folder))
    with pytest.raises(BindError, match="streaming DataFrame"):
        sgf.summarise(stream, by="host", pages=sgf.top_k("page"))
