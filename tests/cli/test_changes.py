"""register, alter, pause, resume, drop: with a job running, and without."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

import streamgauge as sg
from streamgauge.cli import in_force
from streamgauge.kernel.errors import EngineFailure
from streamgauge.log import lock
from streamgauge.log.home import Home

pytestmark = pytest.mark.slow

MORE = """
[[queries]]
name = "more"
stream = "rows"
select = "max(value)"
window = {rows = 2}
"""


@pytest.fixture
def more(tmp_path: Path) -> Path:
    path = tmp_path / "more.toml"
    path.write_text(MORE)
    return path


def names(home: Path) -> set[str]:
    return set(sg.connect(home, engine="local").registry().queries)


def test_without_a_job_a_change_waits_in_the_inbox(call, home: Path, more: Path) -> None:
    old = Home.open(home, shards=1)
    commit = old.commit(old.committed())
    stamp = commit.stat().st_mtime - 3600
    os.utime(commit, (stamp, stamp))
    result = call("register", more, "--home", home)
    assert result.exit_code == 0
    assert result.stdout == ("register more: left in the inbox: no job is running on this home\n")
    assert "more" not in names(home)


def test_with_a_job_a_change_is_in_force_in_an_epoch(call, home, more, running: Callable) -> None:
    with running():
        result = call("register", more, "--home", home)
        assert result.stdout == "register more: in force since epoch 2\n"
        assert "more" in names(home)


def test_the_whole_life_of_a_query(call, read, home: Path, more: Path, running: Callable) -> None:
    with running():
        assert read("register", more, "--home", home) == {
            "change": "register",
            "queries": ["more"],
            "in_force": True,
            "epoch": 2,
            "job_running": True,
        }
        more.write_text(MORE.replace("rows = 2", "rows = 3"))
        assert read("alter", more, "--home", home)["epoch"] == 3
        assert read("show", "more", "--home", home)["version"] == 2
        assert read("pause", "more", "seen", "--home", home)["queries"] == ["more", "seen"]
        assert read("show", "more", "--home", home)["status"] == "paused"
        assert read("resume", "more", "--home", home)["in_force"]
        assert read("show", "more", "--home", home)["status"] == "running"
        assert read("drop", "more", "--home", home)["in_force"]
        assert "more" not in names(home)


def test_a_job_that_holds_no_lock_is_noticed(call, home: Path, more: Path) -> None:
    with sg.connect(home, engine="local") as gauge:
        gauge.start()
        gauge.advance("rows", "2026-01-01T00:00:10Z")
        gauge.drain()
        assert "in force since epoch 3" in call("register", more, "--home", home).stdout


def test_patterns_choose_queries(call, read, home: Path) -> None:
    paused = read("pause", "s*", "newest", "--home", home, "--wait", 0)["queries"]
    assert sorted(paused) == ["newest", "seen", "sites"]
    assert call("drop", "x*", "--home", home).exit_code == 4
    assert call("drop", "nothing", "--home", home).exit_code == 4


def test_waiting_in_vain_is_8(call, home: Path, more: Path) -> None:
    result = call("register", more, "--home", home, "--wait", 0.1)
    assert result.exit_code == 8
    assert "not in force within 0.1 s" in result.stderr
    assert "no job is running" in result.stderr


def test_a_job_that_is_slow_is_no_error(call, home, more, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_force, "DEFAULT_SECONDS", 0.1)
    with lock.holding(home):
        result = call("register", more, "--home", home)
    assert result.exit_code == 0
    assert result.stdout == "register more: left in the inbox, not in force yet\n"


def test_what_does_not_fit_is_refused_at_once(call, home: Path, more: Path) -> None:
    more.write_text(MORE.replace("value", "valu"))
    result = call("register", more, "--home", home)
    assert result.exit_code == 2
    assert "unknown column 'valu'" in result.stderr
    more.write_text(MORE.replace("more", "seen"))
    assert "exists already" in call("register", more, "--home", home).stderr
    assert call("alter", more, "--home", home, "--wait", 0).exit_code == 0


def test_a_change_that_the_job_refuses_is_told(home: Path) -> None:
    gauge = sg.connect(home, engine="local")
    other = sg.connect(home, engine="local")
    query = sg.Query("more", "rows", sg.count(), window=sg.Now())
    gauge.drop("seen")
    other.drop("seen")
    other.register(query)
    while gauge.step():
        pass
    opened = gauge.home
    change = in_force.Change("drop", ("seen",), after=1)
    assert in_force.settle(opened, change, None).epoch == 2
    with pytest.raises(EngineFailure, match="refused to register 'absent'"):
        in_force._check_refused(opened, in_force.Change("register", ("absent",), after=1), 2)


def test_queries_as_json_in_both_forms(call, home: Path) -> None:
    stored = sg.Query("one", "rows", sg.avg("value"), series=("a",)).as_dict()
    written = {"name": "two", "stream": "rows", "select": "avg(value)", "series": ["b"]}
    said = call(
        "register", "-", "--home", home, "--wait", 0, stdin=json.dumps([stored, written])
    ).stdout
    assert said.startswith("register 2 queries: ")
    one = json.dumps({**stored, "name": "three"})
    assert call("register", "-", "--home", home, "--wait", 0, stdin=one).exit_code == 0


def test_what_show_prints_can_be_registered(call, read, home: Path) -> None:
    shown = read("show", "sites", "--home", home)["query"]
    text = json.dumps([{**shown, "name": "again"}])
    assert call("register", "-", "--home", home, "--wait", 0, stdin=text).exit_code == 0


def test_toml_on_standard_input(call, home: Path) -> None:
    assert call("register", "-", "--home", home, "--wait", 0, stdin=MORE).exit_code == 0
    inline = 'queries = [{name = "x", stream = "rows", select = "count(*)", window = {now = true}}]'
    assert call("register", "-", "--home", home, "--wait", 0, stdin=inline).exit_code == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[", "is not JSON"),
        ("x = ", "is not TOML"),
        ("3", "is not TOML"),
        ("[]", "holds no query"),
        ('{"queries": 3}', "holds no list of queries"),
        ('[{"name": "x"}]', "has no 'stream'"),
        ('[{"name": "x", "stream": "rows", "select": {"nam": "avg"}}]', "cannot read query 'x'"),
        ('[{"name": "x", "stream": "rows", "select": {}, "serie": []}]', "unknown key 'serie'"),
        ('[{"name": "x", "stream": "rows", "select": "avg(x)", "evry": 1}]', "unknown key 'evry'"),
        ("[streams.x]", "unknown key 'streams'"),
        ("[7]", "must be a table"),
    ],
)  # fmt: skip
def test_unreadable_queries_are_2(call, home: Path, text: str, said: str) -> None:
    result = call("register", "-", "--home", home, stdin=text)
    assert result.exit_code == 2
    assert said in result.stderr


def test_two_jobs_on_one_home_are_refused(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "PATIENCE_SECONDS", 0.1)
    with (
        lock.holding(home),
        pytest.raises(EngineFailure, match="a job runs on"),
        lock.holding(home),
    ):
        pass
    assert not lock.held(home)
