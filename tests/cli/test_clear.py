"""clear, and the options of run and serve that keep a home small."""

from __future__ import annotations

from pathlib import Path

import pytest

import streamgauge as sg
from streamgauge.engine import lander, upkeep
from streamgauge.kernel.files import write_json
from streamgauge.log import lock

pytestmark = pytest.mark.slow


@pytest.fixture
def grown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of twenty epochs that nothing was cleared away of."""
    monkeypatch.setattr(lander, "UPKEEP_EVERY", 10**9)
    monkeypatch.setattr(upkeep, "NEWEST_PAGES", 4)
    rows = tmp_path / "rows"
    rows.mkdir()
    gauge = sg.connect(tmp_path / "home", engine="local", shards=1)
    schema = sg.Schema.of(k="string", ts="time", x="float")
    gauge.stream("rows", sg.files(rows, format="csv"), time="ts", key="k", schema=schema)
    gauge.register(
        sg.Query("n", "rows", sg.count(), window=sg.Range("5 s"), answer=sg.every("1 s"))
    )
    for number in range(20):
        second = f"2026-01-01T00:00:{number:02d}Z"
        (rows / f"{number:02d}.csv").write_text(f"k,ts,x\na,{second},{number}\n")
        assert gauge.step()
    gauge.stop()
    return tmp_path / "home"


def test_small_files_are_put_together(read, grown: Path) -> None:
    said = read("clear", "--home", grown)
    assert said["epochs"] == 0
    assert said["files"] > 5
    assert said["after"]["files"] == said["before"]["files"] - said["files"] + 2
    assert read("clear", "--home", grown)["files"] == 0


def test_what_is_old_goes_and_is_told(call, read, grown: Path) -> None:
    before = read("answers", "n", "--home", grown)
    said = read("clear", "--home", grown, "--keep", "0 s")
    assert said["epochs"] == 16
    assert said["waiting"] == {}
    kept = read("answers", "n", "--home", grown)
    assert kept == [answer for answer in before if answer["epoch"] > 16]
    assert kept
    result = call("answers", "n", "--home", grown, "--since-epoch", 3)
    assert result.exit_code == 12
    assert "epoch 4 was cleared away" in result.stderr


def test_who_has_not_read_yet_is_named(call, grown: Path) -> None:
    write_json(grown / "alerts" / "state.json", {"epoch": 2, "state": {}})
    said = call("clear", "--home", grown, "--keep", "0 s").stdout
    assert said.startswith("2 epochs cleared away")
    assert "alerts has read up to epoch 2" in said


def test_a_home_that_runs_is_refused(call, grown: Path) -> None:
    with lock.holding(grown):
        result = call("clear", "--home", grown)
    assert result.exit_code == 8
    assert "a job runs on" in result.stderr


def test_a_keep_that_is_no_duration(call, grown: Path) -> None:
    assert call("clear", "--home", grown, "--keep", "soon").exit_code == 2


def test_options_of_a_job(call, grown: Path) -> None:
    again = ("run", "--home", grown, "--engine", "local", "--once")
    assert call(*again, "--keep-answers", "7 days").exit_code == 0
    assert call(*again, "--keep-answers", "soon").exit_code == 2
    assert call(*again, "--checkpoint", "/notes").exit_code == 2
    assert call("serve", "--home", grown, "--no-job", "--keep-answers", "1 d").exit_code == 2


def test_a_connect_server_is_no_master(call, grown: Path) -> None:
    result = call("run", "--home", grown, "--master", "sc://127.0.0.1:15002", "--once")
    assert result.exit_code == 7
    assert "Spark Connect" in result.stderr
