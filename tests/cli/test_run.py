"""run: once, until Ctrl-C, until SIGTERM, and when the job fails."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import streamgauge as sg
from streamgauge.checks.waiting import wait_until
from streamgauge.cli import launch
from streamgauge.cli import run as run_module
from streamgauge.cli.options import console
from streamgauge.cli.vitals import Vitals, check_running
from streamgauge.engine.local import LocalEngine
from streamgauge.kernel.errors import EngineFailure
from streamgauge.log import lock
from streamgauge.log.feeding import Feeding, note_feeding

pytestmark = pytest.mark.slow

PROJECT = """
[gauge]
home = "home"
engine = "local"

[streams.rows]
source = {{ path = "{source}", format = "csv" }}
time = "ts"
key = "series"
schema = {{ ts = "time", series = "string", site = "string", value = "float" }}

[[queries]]
name = "seen"
stream = "rows"
select = "count(*)"
window = {{ range = "4 s" }}
every = "2 s"
"""


@pytest.fixture
def project(tmp_path: Path, source: Path) -> Path:
    path = tmp_path / "streamgauge.toml"
    path.write_text(PROJECT.format(source=source))
    return path


@contextmanager
def when(condition: Callable[[], object], number: signal.Signals) -> Iterator[None]:
    """Send this process a signal once a condition holds."""

    def send() -> None:
        wait_until(condition, 60)
        os.kill(os.getpid(), number)

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    yield
    thread.join()


def committed(home: Path) -> bool:
    return (home / "gauge.json").exists() and sg.connect(home, engine="local").home.committed() > 0


def test_once_answers_what_is_there(call, read, project: Path) -> None:
    result = call("run", project, "--once")
    assert result.exit_code == 0, result.stderr
    assert "1 streams, queries: 1 registered" in result.stdout
    assert "7 rows" in result.stdout or "6 rows" in result.stdout
    home = project.parent / "home"
    assert read("answers", "seen", "--home", home)
    again = call("run", project.parent, "--once")
    assert "queries: 1 unchanged" in again.stdout


def test_the_home_of_the_command_line_wins(call, project: Path, tmp_path: Path) -> None:
    assert call("run", project, "--once", "--home", tmp_path / "other").exit_code == 0
    assert (tmp_path / "other" / "gauge.json").exists()
    assert not (tmp_path / "home").exists()


def test_ctrl_c_stops_cleanly_with_130(call, project: Path, monkeypatch) -> None:
    monkeypatch.setattr(run_module, "PLAIN_SECONDS", 0.05)
    home = project.parent / "home"
    before = signal.getsignal(signal.SIGINT)
    with when(lambda: committed(home), signal.SIGINT):
        result = call("run", project)
    assert result.exit_code == 130
    assert "stopped: epoch 1" in result.stdout
    assert "Traceback" not in result.stderr
    assert not lock.held(home)
    assert signal.getsignal(signal.SIGINT) is before


def test_sigterm_stops_cleanly_with_0(call, project: Path, monkeypatch) -> None:
    monkeypatch.setattr(run_module, "PLAIN_SECONDS", 0.05)
    home = project.parent / "home"
    with when(lambda: committed(home), signal.SIGTERM):
        result = call("run", project)
    assert result.exit_code == 0
    assert "stopped: epoch 1" in result.stdout


def test_a_second_job_is_refused(call, project: Path, monkeypatch) -> None:
    monkeypatch.setattr(lock, "PATIENCE_SECONDS", 0.1)
    with lock.holding(project.parent / "home"):
        result = call("run", project, "--once")
    assert result.exit_code == 8
    assert "a job runs on" in result.stderr


def test_prune_drops(call, project: Path) -> None:
    call("run", project, "--once")
    project.write_text(project.read_text().replace('"seen"', '"counted"'))
    assert "1 not in the file, left alone" in call("run", project, "--once").stdout
    assert "1 dropped" in call("run", project, "--once", "--prune").stdout


def test_a_project_that_is_wrong_or_not_there(call, project: Path) -> None:
    project.write_text("[gage]")
    assert call("run", project).exit_code == 2
    assert call("run", project.parent / "gone.toml").exit_code == 2


def test_a_job_that_stops_by_itself_is_8(call, project: Path, monkeypatch) -> None:
    monkeypatch.setattr(run_module, "PLAIN_SECONDS", 0.05)

    def broken(_engine: LocalEngine) -> bool:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(LocalEngine, "step", broken)
    result = call("run", project)
    assert result.exit_code == 8
    assert "No space left on device" in result.stderr


def test_a_job_that_ends_without_a_reason(home: Path) -> None:
    with pytest.raises(EngineFailure, match="the job stopped"):
        check_running(sg.connect(home, engine="local"))


def test_spark_that_does_not_start(home: Path, monkeypatch) -> None:
    def broken(*_arguments: object) -> None:
        os.write(2, b"said by Java\n")
        raise RuntimeError("Java gateway process exited")

    @contextmanager
    def nothing() -> Iterator[list[object]]:
        yield []

    monkeypatch.setattr(launch, "check_java", lambda: None)
    monkeypatch.setattr(launch, "open_session", broken)
    monkeypatch.setattr(launch, "warming", nothing)
    gauge = sg.connect(home)
    with (
        pytest.raises(EngineFailure, match="Spark did not start"),
        launch.Launch(gauge, console()).running(),
    ):
        pass
    assert (home / "spark.log").read_text() == "said by Java\n"


def test_without_java_it_is_said_at_once_with_the_fix(call, project: Path, monkeypatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(project.parent / "no-java"))
    result = call("run", project, "--engine", "spark")
    assert result.exit_code == 7
    assert "Spark needs Java 17 or newer" in result.stderr
    assert "apt-get install" in result.stderr


def test_vitals_count_and_rate(home: Path) -> None:
    gauge = sg.connect(home, engine="local")
    now = [100.0]
    vitals = Vitals(gauge, clock=lambda: now[0])
    assert not vitals.read()
    vitals.epoch = 0
    now[0] = 102.0
    assert vitals.read()
    assert (vitals.epochs, vitals.rows, vitals.dead, vitals.queries) == (1, 6, 1, 3)
    assert vitals.rates()[0] == 3.0
    assert "6 rows" in vitals.line()
    assert vitals.event_time() == "2026-01-01T00:00:09Z"
    now[0] = 200.0
    vitals.read()
    assert vitals.rates() == (0.0, 0.0)
    assert "not read" not in vitals.line()
    note_feeding(gauge.home, "rows", Feeding("failed", "the topic is gone", 1))
    assert vitals.line().endswith("not read now: rows")


def test_a_home_without_a_project_is_run_as_it_is(call, project: Path, monkeypatch) -> None:
    home = project.parent / "home"
    assert call("run", project, "--once").exit_code == 0
    (project.parent / "empty").mkdir()
    monkeypatch.chdir(project.parent / "empty")
    result = call("run", "--home", home, "--engine", "local", "--once")
    assert result.exit_code == 0, result.stderr
    assert sg.connect(home, engine="local").registry().queries
    assert call("run", "--home", home, "--prune").exit_code == 2
    assert call("run", "--home", "nowhere").exit_code == 5
