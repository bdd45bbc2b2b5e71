"""Queries that fail in workers of Spark are suspended; all others answer and the job goes on."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import streamgauge as sg
from streamgauge.checks.waiting import wait_until
from tests.engine import every_technique as every
from tests.spark.conftest import MASTER

pytestmark = pytest.mark.jvm

# In the order of techniques. The last kinds are of operators that no other query shares.
KINDS = (
    "fails", "exits", "exhausts", "exceeds", "recurses", "fails", "exits",
    "dies", "spins", "exceeds", "recurses", "loops", "exits", "exhausts",
)  # fmt: skip
CODES = {
    "fails": "ZeroDivisionError",
    "exits": "SystemExit",
    "exhausts": "MemoryError",
    "exceeds": "MemoryExceeded",
    "recurses": "RecursionError",
    "loops": "TimeoutError",
    "spins": "TimeoutError",
    "dies": "ProcessDied",
}
NAMES = tuple(f"poisoned_{kind}" for kind in KINDS)


def life(place: Path, engine: str, bad: tuple[str, ...]) -> sg.Gauge:
    """A home with two queries of each technique, two turns of rows."""
    master = MASTER if engine == "spark" else None
    gauge = sg.connect(place / "home", engine=engine, shards=2, master=master, query_timeout="15 s")
    every.declared(gauge, place, bad=bad)
    for turn in range(2):
        every.brought(place, turn)
    with gauge.start():
        gauge.drain(timeout=500)
    return gauge


@pytest.mark.budget(600, "waits for loops that do not end, and for processes that die")
def test_one_of_each_technique_fails_and_all_others_answer(
    spark: SparkSession, tmp_path: Path
) -> None:
    local = life(tmp_path / "local", "local", ("bad",))
    gauge = life(tmp_path / "spark", "spark", NAMES)
    assert every.told(gauge, "good") == every.told(local, "good")
    registry = gauge.registry()
    found = {n: s.suspended.code for n, s in registry.queries.items() if s.suspended is not None}
    assert found == {f"{name}_{n}": CODES[KINDS[n]] for n, name in enumerate(NAMES)}
    with gauge.start():
        gauge.drop(*found)
        every.brought(tmp_path / "spark", 2)
        gauge.drain(timeout=500)
        wait_until(lambda: len(gauge.registry().queries) == len(every.ASKED), 100, what="the drop")
    every.brought(tmp_path / "local", 2)
    while local.step():
        pass
    assert every.told(gauge, "good") == every.told(local, "good")
