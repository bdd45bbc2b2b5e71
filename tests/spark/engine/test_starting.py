"""A job goes on when the Python worker that reads its source did not start."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import streamgauge as sg
from streamgauge.engine.spark import trying
from streamgauge.sources.plant import Plant, PlantWriter

pytestmark = pytest.mark.jvm

# The first reader ends before it has connected to Java, which waits ten seconds for it.
PROGRAM = """#!/bin/sh
if [ "$2" = "pyspark.sql.streaming.python_streaming_source_runner" ] && mkdir {mark} 2>/dev/null
then
    exit 1
fi
exec {python} "$@"
"""


def test_a_job_whose_first_reader_does_not_start_begins_again(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    program, mark = tmp_path / "python", tmp_path / "tried"
    python = spark.sparkContext.pythonExec
    program.write_text(PROGRAM.format(mark=mark, python=python))
    program.chmod(0o755)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", os.fspath(program))
    monkeypatch.setattr(trying, "PAUSES", (0.0, 0.1))
    PlantWriter(Plant(n_sensors=4, seed=3), str(tmp_path / "files")).write(5)
    gauge = sg.connect(tmp_path / "home", shards=1)
    gauge.stream("plant", source=sg.files(tmp_path / "files"), time="ts", key="series")
    gauge.register(
        sg.Query("all", "plant", sg.avg("value"), window=sg.Latest(), answer=sg.every("1 s"))
    )
    with caplog.at_level(logging.WARNING, "streamgauge"), gauge:
        gauge.start()
        assert gauge.drain(timeout=300) == 1
        assert gauge.running
    assert mark.exists()
    assert len(gauge.answers())
    [said] = [line for line in caplog.records if "begins again" in line.getMessage()]
    assert "Python worker failed to connect back" in said.getMessage()
    assert said.levelno == logging.WARNING
    assert said.exc_info is None
