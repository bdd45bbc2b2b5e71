"""demo on the local engine, its view, and what it asks."""

from __future__ import annotations

import io
import json
import tempfile
from pathlib import Path

import numba
import pyarrow as pa
import pytest
from rich.console import Console

import streamgauge as sg
from streamgauge.cli import demo, draw, warm
from streamgauge.cli.panorama import Panorama
from streamgauge.cli.plant_questions import WATCH, portfolios, sensor_names, watch, windowed
from streamgauge.cli.reading import expected_registry
from streamgauge.cli.vitals import Vitals
from streamgauge.contracts.answer import Answer, Charge
from streamgauge.contracts.schema import ANSWERS
from streamgauge.log.home import Home
from streamgauge.sources.plant import Plant

INF = float("inf")


def test_the_demo_shows_answers_and_registers_more(call, tmp_path: Path, monkeypatch) -> None:
    home = tmp_path / "home"
    monkeypatch.setattr(demo, "PLAIN_SECONDS", 0.2)
    arguments = ("demo", "--engine", "local", "--plain", "--queries", 20, "--home", home)
    result = call(*arguments, "--seconds", 2)
    assert result.exit_code == 0, result.stderr
    assert "26 standing queries" in result.stdout
    assert "portfolio-00000 = " in result.stdout
    assert "registering 500 more queries while data flows" in result.stdout
    assert f"streamgauge ls --home {home}" in result.stdout
    assert len(expected_registry(Home.open(home, shards=1)).queries) == 526
    again = call(*arguments, "--seconds", 0)
    assert again.exit_code == 0


def test_a_temporary_home_is_removed(call, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    result = call("demo", "--engine", "local", "--queries", 1, "--seconds", 0)
    assert result.exit_code == 0
    assert not list(tmp_path.glob("streamgauge-demo-*"))


def test_without_java_nothing_is_left_behind(call, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "no-java"))
    assert call("demo", "--queries", 1).exit_code == 7
    assert not list(tmp_path.glob("streamgauge-demo-*"))


def test_the_watched_sensors_fall_silent() -> None:
    plant = Plant(n_sensors=200)
    query = watch(plant, sensor_names(plant))
    assert query.name == WATCH
    speaking = plant.rows(512, 1)[0]["series"].to_pylist()
    assert not set(query.series or ()) <= set(speaking)


def test_questions_are_the_same_every_time() -> None:
    names = sensor_names(Plant(n_sensors=50))
    assert portfolios(names, 3) == portfolios(names, 3)
    assert portfolios(names, 2, first=1) == portfolios(names, 3)[1:]
    assert len({query.name for query in windowed()}) == len(windowed())


def table(*answers: Answer) -> pa.Table:
    rows = [
        {**a.as_dict(), "as_of": a.as_of, "low": a.low, "high": a.high,
         "group": json.dumps(list(a.group)) if a.group else "",
         "charges": [{"by": c.by, "width": c.width, "delta": c.delta} for c in a.charges]}
        for a in answers
    ]  # fmt: skip
    return pa.Table.from_pylist(rows, schema=ANSWERS)


@pytest.fixture
def panorama(home: Path) -> Panorama:
    vitals = Vitals(sg.connect(home, engine="local"))
    return Panorama(vitals, [("a", ()), ("g", ("x",)), ("never", ())])


def drawn(panorama: Panorama, width: int = 110, height: int = 40) -> str:
    console = Console(file=io.StringIO(), width=width, height=height, markup=False)
    console.print(panorama.draw(width, height))
    said = console.file
    assert isinstance(said, io.StringIO)
    return said.getvalue()


def test_the_view_follows_answers(panorama: Panorama) -> None:
    broken = (Charge("interruption", INF),)
    panorama.take(table(Answer("a", 1.0, 1.0, 1.0, as_of=0), Answer("z", 5.0, 5.0, 5.0, as_of=0)))
    panorama.take(
        table(
            Answer("a", 2.0, -INF, INF, as_of=1_000_000, basis="interrupted", charges=broken),
            Answer("g", 7.0, 6.0, 8.0, as_of=1_000_000, group=("x",)),
            Answer("z", 4.0, 4.0, 4.0, as_of=1_000_000),
        )
    )
    panorama.notice = "registered more"
    picture = drawn(panorama)
    assert "[-inf, inf]" in picture
    assert "interrupted, interruption inf" in picture
    assert "g[x]" in picture
    assert "z 5 ▼ 4" in picture
    assert "a interrupted: bar [-inf, inf]" in picture
    assert "registered more" in picture
    assert panorama.interrupted == 1


def test_the_view_fits_its_terminal(panorama: Panorama) -> None:
    panorama.take(table(Answer("a", 1.0, 1.0, 1.0, as_of=0)))
    for width, height in ((60, 18), (80, 24), (200, 60)):
        lines = drawn(panorama, width, height).splitlines()
        assert max(map(len, lines)) <= width
        assert len(lines) <= height


def test_the_plain_block_says_each_change_once(panorama: Panorama) -> None:
    panorama.take(table(Answer("a", 1.0, 1.0, 1.0, as_of=0)))
    assert any("> 00:00:00 a = 1" in line for line in panorama.block())
    assert not any(">" in line for line in panorama.block())


def test_drawing() -> None:
    nothing = Answer("q", None, float("nan"), float("nan"), as_of=0)
    assert draw.bar(nothing, 0, 1, 5) == "·····"
    assert draw.interval(nothing) == "nothing"
    assert draw.newest([]) == "-"
    assert draw.newest([nothing]) == "- nothing"
    assert draw.named(Answer("q", 1.0, 1.0, 1.0, as_of=0, group=("x", None))) == "q[x, null]"
    partial = Answer("q", 1.0, 1.0, 1.0, as_of=0, coverage=0.5, revision=2)
    assert draw.standing_of(partial) == "exact, covers 50%, revision 2"
    assert draw.age(partial, 61_500_000) == "1 min 1 s"
    assert draw.size(0) == "0 B"


def test_warming_compiles_once(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(warm, "mark", lambda kind: tmp_path / kind)
    for kind in warm._questions([]):
        warm.compile_kernels(kind)
        assert (tmp_path / kind).exists()
    with warm.warming() as processes:
        assert processes == []


def test_the_mark_is_beside_the_kernels() -> None:
    assert warm.mark("latest").parent == Path(numba.config.CACHE_DIR)
