"""The command `sinks` and its route: how far each is, what hinders it, and no secrets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

import streamgauge as sg
from streamgauge.checks.waiting import wait_until
from streamgauge.cli.app import main
from streamgauge.server.serving import Server
from streamgauge.server.settings import Settings
from tests.sinks.world import World

# Nothing listens on the discard port of loopback.
NOBODY = "postgresql://ann:{env:PLANT_KEY}@127.0.0.1:9/plant"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    made.read(10, 20)
    yield made
    made.gauge.stop()


def told(home: Path, *options: str) -> str:
    done = CliRunner().invoke(main, ["sinks", "--home", str(home), *options])
    assert done.exit_code == 0, done.output
    return done.output


def test_sinks_are_listed_with_what_hinders_them(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANT_KEY", "s3cret")
    home = world.gauge.home.root
    assert told(home) == "0 sinks, 0 failing, no job runs\n"
    world.gauge.create_sink("board", sg.to_postgres(NOBODY, "answers"), ("heat", "sites"))
    world.gauge.start()
    world.gauge.drain(timeout=60)
    world.failing("board")
    world.gauge.stop()
    text = told(home)
    assert "board: PostgreSQL does not take answers, tried" in text
    assert "  hint: see that it is up" in text
    assert text.endswith("1 sinks, 1 failing, no job runs\n")
    found = json.loads(told(home, "--json"))
    (sink,) = found["sinks"]
    assert (sink["state"], sink["delivered"], sink["target"]) == (
        "failing",
        0,
        "postgres 127.0.0.1:9/plant, table answers",
    )
    assert sink["waiting"] > 0
    with (
        Server(world.gauge, Settings.of("http://127.0.0.1:0")) as server,
        httpx.Client(base_url=server.address) as client,
    ):
        shown = client.get("/v1/sinks").json()
        metrics = client.get("/metrics").text
    assert shown["sinks"][0]["failure"]["message"] == "PostgreSQL does not take answers"
    assert 'streamgauge_sink_epochs_waiting{sink="board"}' in metrics
    assert "streamgauge_sinks_failing 1.0" in metrics
    assert "s3cret" not in f"{text}{found}{shown}{metrics}"


def test_nothing_is_kept_of_a_sink_that_is_gone(world: World) -> None:
    kept = world.gauge.home.root / "sinks" / "board"
    world.gauge.create_sink("board", sg.to_postgres(NOBODY, "answers"))
    world.gauge.start()
    world.failing("board")
    assert (kept / "state.json").exists()
    world.gauge.drop_sink("board")
    world.gauge.drain(timeout=60)
    wait_until(lambda: not kept.exists(), 60, what="the folder to go")
    # As if the job had died before it came to that.
    kept.mkdir()
    world.gauge.stop()
    (kept / "state.json").write_text('{"epoch": 1}')
    world.gauge.start()
    wait_until(lambda: not kept.exists(), 60, what="the folder to go")


def test_a_job_without_sinks_keeps_no_registry_for_them(world: World) -> None:
    world.gauge.start()
    world.gauge.drain(timeout=60)
    assert world.gauge._sinks._registry is None
    world.gauge.stop()
    assert not (world.gauge.home.root / "sinks").exists()
