"""Spark against the local engine, byte for byte: one home of everything, with stops and changes."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import streamgauge as sg
from streamgauge.checks.waiting import wait_until
from streamgauge.results.change_log import commits
from tests.spark.conftest import MASTER
from tests.spark.engine import part_bounds, part_deferral, part_statements
from tests.spark.engine.part import MAX_ROWS, Part, all_asked
from tests.spark.engine.part_bounds import Bounds
from tests.spark.engine.part_deferral import Deferral
from tests.spark.engine.part_promise import Promise
from tests.spark.engine.part_statements import Statements

pytestmark = pytest.mark.jvm
PARTS: tuple[Part, ...] = (Bounds(), Deferral(), Promise(), Statements())


@dataclass(frozen=True)
class Outcome:
    """What each part was told, the seconds noted with each epoch, and those that passed."""

    told: dict[type[Part], list[str]]
    noted: list[float]
    passed: float


def life(place: Path, engine: str) -> Outcome:
    """Two turns of files on a new home, the first with a stop on the way; changes in between."""
    begun = time.monotonic()
    master = MASTER if engine == "spark" else None
    gauge = sg.connect(place / "home", engine=engine, shards=2, max_rows=MAX_ROWS, master=master)
    for part in PARTS:
        part.declare(gauge, place / "files")
        part.bring(place / "files", 0)
    gauge.start()
    wait_until(lambda: gauge.check() or gauge.home.committed(), 500, what="an epoch")
    gauge.stop()
    to_the_end(gauge)
    for part in PARTS:
        part.change(gauge)
        part.bring(place / "files", 1)
    to_the_end(gauge)
    told = {type(part): part.told(gauge) for part in PARTS}
    noted = [float(record["seconds"]) for record in commits(gauge.home)]
    return Outcome(told, noted, time.monotonic() - begun)


def to_the_end(gauge: sg.Gauge) -> None:
    with gauge.start():
        gauge.drain(timeout=500)


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    return life(tmp_path_factory.mktemp("local"), "local")


@pytest.fixture(scope="module")
def on_spark(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    return life(tmp_path_factory.mktemp("spark"), "spark")


def test_bars_over_bounds(local: Outcome, on_spark: Outcome) -> None:
    told = local.told[Bounds]
    assert all_asked(told, part_bounds.NAMES)
    assert any("basis='interrupted'" in text for text in told)
    assert on_spark.told[Bounds] == told


def test_deferred_answers(local: Outcome, on_spark: Outcome) -> None:
    told = local.told[Deferral]
    assert all_asked(told, part_deferral.NAMES)
    assert on_spark.told[Deferral] == told


def test_promising_queries_choose_alike(local: Outcome, on_spark: Outcome) -> None:
    told = local.told[Promise]
    not_all = [text for text in told if "'regions_share': 1.0" not in text]
    assert sum("'query': 'both'" in text for text in not_all) > 50
    assert any("'query': 'rare'" in text and "'regions_share': 0." in text for text in told)
    assert any("basis='promising'" in text for text in told)
    assert on_spark.told[Promise] == told


def test_windows_and_statements(local: Outcome, on_spark: Outcome) -> None:
    told = local.told[Statements]
    assert all_asked(told, part_statements.NUMBERS)
    for name in part_statements.ROWS:
        assert sum(f"'query': '{name}'" in text for text in told) > 3, name
    assert sum(text.startswith("Answer") for text in told) > 100
    assert on_spark.told[Statements] == told


def test_the_seconds_of_epochs_are_those_of_the_run(on_spark: Outcome) -> None:
    assert len(on_spark.noted) > 8
    assert min(on_spark.noted) > 0
    assert sum(on_spark.noted) <= on_spark.passed
