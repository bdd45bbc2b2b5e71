"""Sinks run beside the job on Spark as they do beside the local engine."""

from __future__ import annotations

from pathlib import Path

import pytest

import streamgauge as sg
from tests.postgres_server import postgres
from tests.sinks.world import World, as_rows, as_told, rows_in


@pytest.mark.usefixtures("spark")
def test_a_job_on_spark_delivers(tmp_path: Path) -> None:
    with postgres() as server:
        gauge = sg.connect(tmp_path / "home", shards=2, master="local[2,4]")
        world = World(tmp_path, gauge)
        gauge.create_sink("out", sg.to_postgres(server.whole_url, "answers"))
        world.read(10, 120, 30, 40)
        with gauge.start():
            world.deliver()
        assert as_rows(rows_in(server.whole_url, "answers")) == as_told(gauge)
        assert world.sinks()["out"].delivered > 4
