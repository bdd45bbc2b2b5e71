"""Whatever dies when: a topic has each answer once, and a table is what latest says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import streamgauge as sg
from streamgauge.log.home import Home
from tests import forked
from tests.kafka_broker import Broker, running_broker
from tests.postgres_server import postgres
from tests.sinks.chaos.victim import main
from tests.sinks.world import World, as_rows, as_told, given, records_in, rows_in, said

pytestmark = [pytest.mark.kills, pytest.mark.broker, pytest.mark.jvm]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with running_broker(tmp_path_factory.mktemp("broker")) as running:
        yield running


def fill(source: Path, seconds: int) -> None:
    """Readings of many seconds, of which an epoch takes a few."""
    source.mkdir()
    dice = np.random.default_rng(5)
    for second in range(seconds):
        at = f"2026-01-01T00:{second // 60:02d}:{second % 60:02d}Z"
        rows = "".join(f"{at},s{n},site{n % 3},{dice.normal(90, 20):.3f}\n" for n in range(2))
        (source / f"{second:06d}.csv").write_text(f"ts,series,site,value\n{rows}")


def committed(home: Path) -> int:
    return Home(str(home), 1).committed()


def delivered(home: Path) -> int:
    """Bytes that deliveries have noted: it changes with each of them."""
    return sum(hash(path.read_bytes()) for path in home.glob("sinks/*/state.json"))


@pytest.mark.parametrize(
    ("kills", "seconds"), [(2, 40), pytest.param(10, 120, marks=pytest.mark.nightly)]
)
def test_a_job_killed_at_any_instant_loses_and_repeats_no_answer(
    tmp_path: Path, broker: Broker, kills: int, seconds: int
) -> None:
    home, source, topic = tmp_path / "home", tmp_path / "source", f"answers-{kills}"
    log = tmp_path / "victim.log"
    fill(source, seconds)
    dice = np.random.default_rng(11)
    with postgres() as server:
        told = (str(home), str(source), broker.address, topic, server.sink_url)
        for _ in range(kills):
            before, noted = committed(home), delivered(home)
            victim = forked.start(main, *told, output=log)

            def moved(before: int = before, noted: int = noted) -> bool:
                return committed(home) > before and delivered(home) != noted

            try:
                forked.wait_for(victim, moved, 180, what="an epoch and a delivery")
                victim.join(float(dice.uniform(0.0, 0.15)))
                assert victim.exitcode is None, "it was done before it could be killed"
            finally:
                forked.kill(victim)
        victim = forked.start(main, *told, output=log)
        try:
            code = forked.ended(victim, 240)
        finally:
            forked.kill(victim)
        assert code == 0, log.read_text(errors="replace")[-3000:]
        assert (home / "done").exists()
        gauge = sg.connect(home, engine="local")
        records = records_in(broker.address, topic)
        assert said(records) == given(gauge)
        assert as_rows(rows_in(server.whole_url, "answers")) == as_told(gauge)
    assert len(records) > seconds
    epochs = [int(dict(record.headers())["epoch"]) for record in records]
    assert epochs == sorted(epochs), "epochs are in the topic in their order"


def test_a_broker_that_goes_away_and_comes_back_gets_all_once(
    tmp_path: Path, broker: Broker
) -> None:
    world = World(tmp_path)
    world.gauge.create_sink("out", sg.to_kafka(broker.address, "restarted"))
    world.gauge.start()
    world.read(10, 120, 30)
    world.deliver()
    broker.stop()
    try:
        world.read(130, 50)
        world.gauge.drain(timeout=60)
        told = world.failing("out")
    finally:
        broker.start()
    assert told["message"].startswith("Kafka does not take answers")
    world.read(60, 70)
    world.deliver()
    world.gauge.stop()
    records = records_in(broker.address, "restarted")
    assert said(records) == given(world.gauge)
    keys = {record.key() for record in records}
    assert keys == {b"heat", b'sites["north"]', b"hot"}
    headers = dict(records[0].headers())
    assert set(headers) == {"query", "version", "epoch"}
