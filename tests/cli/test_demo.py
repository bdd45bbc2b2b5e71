"""demo on the local engine: what it asks, what it serves, and how it ends."""

from __future__ import annotations

import json
import re
import socket
import tempfile
import threading
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import streamgauge as sg
from streamgauge.checks.waiting import wait_until
from streamgauge.cli import demo, draw, warm
from streamgauge.cli import story as plot
from streamgauge.cli.plant_questions import (
    TEXTS,
    WATCH,
    deferred,
    sensor_names,
    watch,
    windowed,
    zones,
)
from streamgauge.cli.reading import expected_registry
from streamgauge.cli.vitals import Vitals
from streamgauge.contracts.answer import Answer
from streamgauge.kernel.errors import SourceFailure
from streamgauge.kernel.jit import cache_root
from streamgauge.log.home import Home
from streamgauge.server.settings import Settings
from streamgauge.server.story import Stage
from streamgauge.sources.plant import Plant

pytestmark = pytest.mark.slow

# Seconds; a machine that does much else at once needs more than one would think.
PATIENCE = 300
FREE = ("--listen", "http://127.0.0.1:0")
LOCAL = ("demo", "--engine", "local", *FREE)
# The watched sensors, questions by the minute, and those that need kernels of their own.
OTHERS = 1 + len(windowed()) + sum(map(len, TEXTS.values()))


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plant that the slowest machine answers at once."""
    monkeypatch.setattr(demo, "SENSORS", 50)
    monkeypatch.setattr(demo, "DEFERRED", 2)
    monkeypatch.setattr(demo, "PLAIN_SECONDS", 0.2)
    monkeypatch.setattr(demo, "PAUSE", 0.0)
    monkeypatch.setattr(plot, "MORE", 5)
    shorter = {n: t.replace("10 SECONDS", "2 SECONDS") for n, t in TEXTS["promising"].items()}
    monkeypatch.setitem(TEXTS, "promising", shorter)


def test_the_demo_serves_a_page_and_plays_its_story(call, tmp_path: Path) -> None:
    home = tmp_path / "home"
    result = call(*LOCAL, "--plain", "--queries", 20, "--home", home, "--seconds", 1)
    assert result.exit_code == 0, result.stderr
    asked = 22 + OTHERS
    assert re.search(
        rf"{asked} standing queries are answered at http://127\.0\.0\.1:\d+", result.stdout
    )
    assert "epoch " in result.stdout
    assert "The plant: " in result.stdout
    assert f"streamgauge serve --home {home}" in result.stdout
    known = expected_registry(Home.open(home, shards=1))
    assert set(known.streams) == {"plant", "pumps", "orders"}
    assert set(known.alerts) == {"rush", "silent", "distrust"}
    again = call(*LOCAL, "--queries", 20, "--home", home, "--seconds", 0)
    assert again.exit_code == 0, again.stderr


def test_a_temporary_home_is_removed(call, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    result = call(*LOCAL, "--queries", 1, "--seconds", 0)
    assert result.exit_code == 0, result.stderr
    assert not list(tmp_path.glob("streamgauge-demo-*"))


def test_without_java_nothing_is_left_behind(call, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "no-java"))
    assert call("demo", "--queries", 1, *FREE).exit_code == 7
    assert not list(tmp_path.glob("streamgauge-demo-*"))


@pytest.fixture
def show(tmp_path: Path) -> Iterator[demo.Show]:
    """The demo with a job that runs, its page, and all that moves."""
    gauge = sg.connect(tmp_path / "home", engine="local")
    asking = demo.Asking(gauge, 3)
    asking.begin(everything=True)
    shown = demo.Show(asking, Settings.of("http://127.0.0.1:0"))
    with gauge:
        gauge.start()
        try:
            with shown.alive():
                yield shown
        finally:
            shown.server.stop()


def fetched(show: demo.Show, path: str) -> Any:
    with urllib.request.urlopen(f"{show.server.address}/v1{path}", timeout=30) as reply:
        return json.load(reply)


class Patient(Stage):
    """A stage on which waiting takes no longer than what is waited for, or until the job fails."""

    def __init__(self, tell: Callable[[str], None], gauge: sg.Gauge) -> None:
        super().__init__(tell, threading.Event())
        self.gauge = gauge

    def wait(self, seconds: float) -> None:
        super().wait(min(seconds, 0.05))

    def until(self, happened: Callable[[], bool], seconds: float) -> bool:
        def look() -> bool:
            self.gauge.check()
            return happened()

        wait_until(look, PATIENCE)
        return True


@pytest.mark.budget(40, "four acts, each of which waits until the plant has done something")
def test_every_act_does_what_it_says(show: demo.Show, monkeypatch) -> None:
    """All four on one gauge, since what takes time is its first answers."""
    told: list[str] = []
    monkeypatch.setattr(plot, "RUSH", 10)
    acts = {act.name: act for act in show.story.acts}
    for act in acts.values():
        act.play(Patient(told.append, show.asking.gauge))
    said = "\n".join(told)
    assert "in force" in said
    assert "flow is degraded: north is not heard" in said
    assert "flow is whole again" in said
    assert "% of the orders" in said
    assert "takings is exact" in said
    assert re.search(
        r"asked within 5\nthe answer that stands: .*\nasked within 0.5\nthe answer", said
    )
    assert "the auditor compares" in said
    # The outage has left a mail.
    mail = show.asking.gauge.home.root / "mail"
    wait_until(lambda: any("silent" in path.read_text() for path in mail.glob("*.eml")), PATIENCE)
    agents = show.asking.gauge.agents("pumps")
    assert sum(agents["updates"].to_pylist()) < sum(agents["readings"].to_pylist())
    # Acts can be played again.
    acts["newcomer"].play(Patient(told.append, show.asking.gauge))


def test_the_page_hears_of_the_story(show: demo.Show) -> None:
    assert fetched(show, "/about")["story"] is True
    story = fetched(show, "/story")
    assert story["opening"] == ""
    assert [act["state"] for act in story["acts"]] == ["waiting"] * 4


def test_a_port_that_is_taken_is_passed_over(tmp_path: Path) -> None:
    gauge = sg.connect(tmp_path / "home", engine="local")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        server = demo.listening(gauge, Settings.of(f"http://127.0.0.1:{port}"), None)
        server.stop()
        assert int(server.address.rpartition(":")[2]) > port


def test_an_address_that_is_none_is_refused_at_once(tmp_path: Path) -> None:
    gauge = sg.connect(tmp_path / "home", engine="local")
    with pytest.raises(SourceFailure, match="cannot listen"):
        demo.listening(gauge, Settings(listen=sg_address("203.0.113.7")), None)


def sg_address(host: str) -> Any:
    return type(Settings().listen)("http", host, 0)


def test_what_needs_kernels_is_asked_when_they_are_there(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(warm, "mark", lambda kind: tmp_path / kind)
    gauge = sg.connect(tmp_path / "home", engine="local")
    asking = demo.Asking(gauge, 1)
    (tmp_path / "bounds").touch()
    asking.begin(everything=False)
    assert "flow" in expected_registry(gauge.home).queries
    assert asking.later == ["promising", "deferred", "summaries"]
    asking.ask("summaries", gauge.sql)
    assert asking.later == ["promising", "deferred"]
    assert "p95" in expected_registry(gauge.home).queries


def test_the_watched_sensors_fall_silent() -> None:
    plant = Plant(n_sensors=200)
    query = watch(plant, sensor_names(plant))
    assert query.name == WATCH
    speaking = plant.rows(512, 1)[0]["series"].to_pylist()
    assert not set(query.series or ()) <= set(speaking)


def test_questions_are_the_same_every_time() -> None:
    names = sensor_names(Plant(n_sensors=50))
    assert zones(names, 3) == zones(names, 3)
    assert zones(names, 2, first=1) == zones(names, 3)[1:]
    assert len({query.name for query in windowed()}) == len(windowed())
    assert list(deferred(names, 2)) == ["zone-00000-deferred", "zone-00001-deferred"]


def test_drawing() -> None:
    nothing = Answer("q", None, float("nan"), float("nan"), as_of=0)
    assert draw.interval(nothing) == "nothing"
    assert draw.newest([]) == "-"
    assert draw.newest([nothing]) == "- nothing"
    unbounded = Answer("q", 1.0, float("-inf"), float("inf"), as_of=0)
    assert draw.interval(unbounded) == "[-inf, inf]"
    assert draw.size(0) == "0 B"


def test_the_line_tells_of_an_overload(home: Path) -> None:
    vitals = Vitals(sg.connect(home, engine="local"))
    vitals.share = 0.25
    assert vitals.line().endswith("overloaded: 25% looked at")


def test_warming_compiles_once(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(warm, "mark", lambda kind: tmp_path / kind)
    batches = (*warm.FIRST, warm.LATER)
    for batch in batches:
        warm.compile_all(batch)
        assert all((tmp_path / kind).exists() for kind in batch)
    with warm.warming(batches) as processes:
        assert processes == []


def test_warming_is_given_up_with_the_job(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(warm, "mark", lambda kind: tmp_path / kind)
    with warm.warming([("latest", "windows")], nice=5) as processes:
        assert len(processes) == 1
    assert processes[0].returncode


def test_the_mark_is_beside_the_kernels() -> None:
    assert warm.mark("latest").parent == cache_root()
