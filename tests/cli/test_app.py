"""The command itself: help, exit codes, errors in three parts or as JSON."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from streamgauge.cli import main
from streamgauge.cli.app import Application
from streamgauge.kernel.errors import EngineFailure, StreamgaugeError

pytestmark = pytest.mark.slow

COMMANDS = (
    "demo", "run", "serve", "token", "plan", "plan-capacity", "sql", "register", "ls", "show",
    "answers", "alter", "pause", "resume", "drop", "rescale", "explain", "streams", "agents",
    "alerts", "sinks", "audit", "edge", "capture", "dead-letters", "export", "clear", "check",
    "doctor", "jars", "bench",
)  # fmt: skip
# What works beside a home, or before there is one.
HOMELESS = ("bench", "capture", "edge", "jars")


def application(error: BaseException) -> Application:
    """A command that fails."""

    @click.group(cls=Application)
    def group() -> None: ...

    @group.command()
    def fail() -> None:
        raise error

    return group


def test_help_lists_all_commands_and_exit_codes(call) -> None:
    said = call("--help").stdout
    listed = said.partition("Commands:\n")[2].splitlines()
    assert tuple(line.split()[0] for line in listed) == COMMANDS
    for leaf in StreamgaugeError.__subclasses__():
        assert f"\n    {leaf.exit_code} " in said
    assert "\n    130 " in said


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_and_a_home(call, command: str) -> None:
    result = call(command, "--help")
    assert result.exit_code == 0
    assert command in HOMELESS or "--home" in result.stdout


def test_a_command_without_its_packages_says_what_to_install(monkeypatch) -> None:
    def absent(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}", name="pyarrow")

    monkeypatch.setattr("streamgauge.cli.app.import_module", absent)
    result = CliRunner().invoke(main, ["ls", "--home", "x"])
    assert result.exit_code == 7
    assert "no module named 'pyarrow'" in result.stderr
    assert "streamgauge[spark]" in result.stderr


def test_the_version(call) -> None:
    assert version("streamgauge") in call("--version").stdout


def test_the_module_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "streamgauge", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("streamgauge ")


def test_an_error_has_three_parts_on_stderr(call, home: Path) -> None:
    result = call("show", "nothing", "--home", home)
    assert (result.exit_code, result.stdout) == (4, "")
    what, detail, hint = result.stderr.splitlines()
    assert what == "error: no query named 'nothing'"
    assert detail.startswith("  detail: there are newest, seen, sites")
    assert hint.startswith("  hint: ")


def test_an_error_as_json(call, home: Path) -> None:
    result = call("show", "nothing", "--home", home, "--json")
    assert (result.exit_code, result.stdout) == (4, "")
    assert json.loads(result.stderr)["code"] == "QueryNotFound"


@pytest.mark.parametrize("arguments", [["ls"], ["answers"], ["drop", "x"], ["streams"]])
def test_reading_makes_no_home(call, tmp_path: Path, arguments: list[str]) -> None:
    result = call(*arguments, "--home", tmp_path / "none")
    assert result.exit_code == 5
    assert "no gauge lives in" in result.stderr
    assert not (tmp_path / "none").exists()


def test_the_home_comes_from_the_environment(home: Path) -> None:
    result = CliRunner().invoke(main, ["ls"], env={"STREAMGAUGE_HOME": str(home)})
    assert "3 of 3 queries" in result.stdout


def test_wrong_usage_is_2(call) -> None:
    assert call("show").exit_code == 2
    assert call("nonsense").exit_code == 2


def test_other_failures_are_told_too() -> None:
    run = CliRunner().invoke
    missing = run(application(PermissionError(errno.EACCES, "not allowed", "x")), ["fail"])
    assert (missing.exit_code, missing.stderr.splitlines()[0]) == (5, "error: cannot use x")
    assert run(application(KeyboardInterrupt()), ["fail"]).exit_code == 130
    assert run(application(EngineFailure("a", "b", "c")), ["fail"]).exit_code == 8


def test_a_closed_pipe_is_quiet() -> None:
    result = CliRunner().invoke(application(BrokenPipeError(errno.EPIPE, "closed")), ["fail"])
    assert (result.exit_code, result.stderr) == (1, "")
