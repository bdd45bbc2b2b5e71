"""The whole coordinator beside a local job, on a clock that the test moves."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import streamgauge as sg
from streamgauge.contracts.answer import Answer
from streamgauge.coordinator.coordinator import Coordinator, edge_directory
from streamgauge.filters.bound import NOTHING
from streamgauge.gauge import Gauge
from streamgauge.kernel.errors import QueryNotFound
from streamgauge.kernel.time import SECOND
from tests.coordinator.world import START, Source

pytestmark = pytest.mark.slow


class Plant:
    """A job that is stepped by hand, a coordinator that is turned by hand, and agents."""

    def __init__(self, home: Path) -> None:
        self.now = START + SECOND // 2
        self.gauge = sg.connect(home, engine="local", shards=2)
        self.gauge.stream("hosts", sg.agents("http://127.0.0.1:0", latency="1 s"))
        self.sources = [Source("north", ("a", "b")), Source("south", ("c",))]
        self.truth: dict[int, dict[str, float]] = {}
        self.step = 0
        self.skipped: set[str] = set()
        self.job()
        self.coordinator = self.open()

    def open(self) -> Coordinator:
        stream = self.gauge.trial().registry.stream("hosts")
        return Coordinator(self.gauge.home, stream, now=lambda: self.now)

    def job(self) -> None:
        while self.gauge.step():
            pass

    def run(self, seconds: int, values: Callable[[int, str], float], skip: str = "") -> None:
        """Let a second pass at a time: readings, reports, closed ticks, answers."""
        self.skipped |= {skip} - {""}
        for _ in range(seconds):
            self.step += 1
            known = {k: values(self.step, k) for source in self.sources for k in source.keys}
            for source in self.sources:
                source.down = source.name == skip
                if source.down:
                    continue
                if source.name in self.skipped:
                    self.skipped.remove(source.name)
                    source.resume(self.now)
                source.read(self.now, {key: known[key] for key in source.keys})
                for _ in range(2 + len(source.unacked)):
                    reply = self.coordinator.take(source.next().encode())
                    source.take(reply, self.now)
            self.now += SECOND
            self.truth[self.now // SECOND * SECOND] = known
            self.coordinator.turn()
            self.job()

    def answers(self, name: str) -> list[Answer]:
        return self.gauge.latest(name)

    def close(self) -> None:
        self.coordinator.stop()
        self.gauge.stop()


@pytest.fixture
def plant(tmp_path: Path) -> Iterator[Plant]:
    made = Plant(tmp_path)
    yield made
    made.close()


def wave(step: int, key: str) -> float:
    return 10.0 * math.sin(0.3 * step + ord(key)) + ord(key)


def register(gauge: Gauge, name: str, within: float, **more: object) -> None:
    owed = sg.Contract.absolute(within)
    gauge.register(sg.Query(name, "hosts", sg.total("value"), contract=owed, **more))  # type: ignore[arg-type]


def check(plant: Plant, name: str, within: float) -> int:
    """Compare all answers with the truth; how many were given."""
    table = plant.gauge.answers(name).to_pylist()
    for row in table:
        at = row["as_of"].timestamp()
        known = plant.truth[round(at) * SECOND]
        assert row["low"] - 1e-9 <= sum(known.values()) <= row["high"] + 1e-9
        if row["contract_met"]:
            assert row["high"] - row["low"] <= 2 * within * (1 + 1e-9)
    return len(table)


def test_answers_hold_and_cost_less_than_readings(plant: Plant) -> None:
    register(plant.gauge, "load", 6.0)
    plant.run(30, wave)
    assert check(plant, "load", 6.0) > 10
    newest = plant.answers("load")[0]
    assert newest.contract_met
    assert newest.basis == "filter"
    sent = plant.coordinator.status()["totals"]["updates"]
    assert sent < 3 * 30


def test_a_stronger_contract_is_kept_soon_after(plant: Plant) -> None:
    register(plant.gauge, "load", 20.0)
    plant.run(15, wave)
    owed = sg.Contract.absolute(1.0)
    plant.gauge.alter(
        sg.Query("load", "hosts", sg.total("value"), window=sg.Latest(), contract=owed)
    )
    plant.run(12, wave)
    check(plant, "load", 20.0)
    newest = plant.answers("load")[0]
    assert newest.contract_met
    assert newest.high - newest.low <= 2.0 + 1e-9


def test_objects_that_nobody_asks_for_are_silent(plant: Plant) -> None:
    plant.run(10, wave)
    assert all(bound.grants[-1][2] == NOTHING for bound in plant.coordinator.intake.cache.bounds)
    before = plant.coordinator.status()["totals"]["updates"]
    plant.run(5, wave)
    assert plant.coordinator.status()["totals"]["updates"] == before
    register(plant.gauge, "load", 6.0)
    plant.run(8, wave)
    assert check(plant, "load", 6.0) > 0
    assert plant.answers("load")[0].contract_met
    plant.gauge.pause("load")
    plant.run(12, wave)
    assert all(bound.grants[-1][2] == NOTHING for bound in plant.coordinator.intake.cache.bounds)


def test_a_silent_agent_interrupts_the_answers_that_rest_on_it(plant: Plant) -> None:
    register(plant.gauge, "load", 6.0)
    register(plant.gauge, "north", 6.0, series=("a", "b"))
    plant.run(10, wave)
    plant.run(6, wave, skip="south")
    interrupted = plant.answers("load")[0]
    assert (interrupted.basis, interrupted.contract_met) == ("interrupted", False)
    assert plant.answers("north")[0].contract_met
    states = {a["agent"]: a["state"] for a in plant.coordinator.status()["agents"]}
    assert states == {"north": "heard", "south": "interrupted"}
    plant.run(6, wave)
    assert plant.answers("load")[0].contract_met
    check(plant, "load", 6.0)


def test_a_forgotten_agent_leaves_the_answers(plant: Plant) -> None:
    register(plant.gauge, "load", 6.0)
    plant.run(8, wave)
    plant.run(5, wave, skip="south")
    with pytest.raises(QueryNotFound, match="has no agent 'east'"):
        plant.gauge.forget_agent("hosts", "east")
    plant.gauge.forget_agent("hosts", "south")
    plant.run(4, wave, skip="south")
    newest = plant.answers("load")[0]
    assert newest.contract_met
    known = plant.truth[newest.as_of]
    assert newest.low - 1e-9 <= known["a"] + known["b"] <= newest.high + 1e-9


def test_a_restart_goes_on_where_it_was(plant: Plant) -> None:
    register(plant.gauge, "load", 6.0)
    plant.run(10, wave)
    held = plant.coordinator.allotment.manager.held.copy()
    versions = [bound.newest for bound in plant.coordinator.intake.cache.bounds]
    plant.coordinator.intake.stop()
    plant.coordinator = plant.open()
    assert (plant.coordinator.allotment.manager.held >= held).all()
    assert plant.coordinator.allotment.manager.held.sum() <= 12.0
    assert [bound.newest for bound in plant.coordinator.intake.cache.bounds] == versions
    plant.run(15, wave)
    assert [bound.newest for bound in plant.coordinator.intake.cache.bounds] >= versions
    check(plant, "load", 6.0)
    assert plant.answers("load")[0].contract_met


def test_a_quick_restart_interrupts_nothing(plant: Plant) -> None:
    register(plant.gauge, "load", 6.0)
    plant.run(10, wave)
    plant.coordinator.intake.stop()
    for _ in range(3):
        plant.step += 1
        known = {k: wave(plant.step, k) for source in plant.sources for k in source.keys}
        for source in plant.sources:
            source.read(plant.now, {key: known[key] for key in source.keys})
        plant.now += SECOND
        plant.truth[plant.now // SECOND * SECOND] = known
    plant.coordinator = plant.open()
    plant.run(8, wave)
    check(plant, "load", 6.0)
    assert "interrupted" not in plant.gauge.answers("load")["basis"].to_pylist()
    assert plant.answers("load")[0].contract_met


def test_figures_are_shown_to_other_processes(plant: Plant) -> None:
    register(plant.gauge, "load", 6.0)
    plant.run(6, wave)
    path = edge_directory(plant.gauge.home, "hosts") / "status.json"
    shown = json.loads(path.read_text())
    assert shown["totals"]["objects"] == 3
    assert {tuple(item["key"]) for item in shown["objects"]} == {("a",), ("b",), ("c",)}
    assert all(item["width"] > 0.0 for item in shown["objects"])
    assert [agent["agent"] for agent in shown["agents"]] == ["north", "south"]


def test_ticks_wait_for_a_job_that_is_behind(plant: Plant) -> None:
    register(plant.gauge, "load", 6.0)
    plant.run(4, wave)
    job, plant.job = plant.job, lambda: None  # type: ignore[method-assign]
    files = plant.coordinator.landing.files
    plant.run(6, wave)
    assert plant.coordinator.landing.files <= files + 1
    plant.job = job  # type: ignore[method-assign]
    plant.run(3, wave)
    check(plant, "load", 6.0)
    assert plant.answers("load")[0].contract_met
