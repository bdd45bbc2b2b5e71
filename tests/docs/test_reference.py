"""The reference pages name what there is: the API, errors, formats, commands, project keys."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import streamgauge as sg
from streamgauge.cli import main
from streamgauge.cli.forms import QUERY_KEYS, WINDOW_KEYS
from streamgauge.cli.project import GAUGE_KEYS, KEYS, SOURCE_KEYS, STREAM_KEYS
from streamgauge.contracts.schema import ANSWERS
from streamgauge.engine.shard import Receipt
from streamgauge.kernel import errors
from streamgauge.log.journal import Page

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "reference"
# Made by `connect` and `register`, so they are not written with `sg.` before them.
CLASSES = ("Gauge", "StandingQuery")


def page(name: str) -> str:
    return (REFERENCE / name).read_text(encoding="utf-8")


def public(kind: type) -> list[str]:
    return [name for name in vars(kind) if not name.startswith("_")]


def missing(names: list[str], text: str) -> list[str]:
    """Names that are nowhere in a text as whole words."""
    return [name for name in names if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text)]


def test_the_api_page_names_everything_public() -> None:
    text = page("api.md")
    assert missing([f"sg.{name}" for name in sg.__all__ if name not in CLASSES], text) == []
    assert missing([*CLASSES, *public(sg.Gauge), *public(sg.StandingQuery)], text) == []


@pytest.mark.parametrize("name", ["connect", "Query"])
def test_the_api_page_names_every_parameter(name: str) -> None:
    assert missing(list(inspect.signature(getattr(sg, name)).parameters), page("api.md")) == []


def test_the_running_page_names_every_measure_of_progress() -> None:
    text = (ROOT / "docs" / "guide" / "running.md").read_text(encoding="utf-8")
    assert missing(list(sg.Progress.__dataclass_fields__), text) == []


def test_the_answers_page_names_every_field() -> None:
    text = (ROOT / "docs" / "guide" / "contracts-and-answers.md").read_text(encoding="utf-8")
    assert missing(list(sg.Answer.__dataclass_fields__), text) == []


def test_the_errors_page_has_every_error_with_its_code() -> None:
    found = dict(re.findall(r"^\| `(\w+)` \|[^|]*\| (\d+) \|", page("errors.md"), re.MULTILINE))
    kinds = [errors.StreamgaugeError, *errors.StreamgaugeError.__subclasses__()]
    assert found == {kind.__name__: str(kind.exit_code) for kind in kinds}


def test_the_command_page_has_the_same_codes() -> None:
    codes = set(re.findall(r"^\| (\d+) \|", page("cli.md"), re.MULTILINE))
    leaves = {str(kind.exit_code) for kind in errors.StreamgaugeError.__subclasses__()}
    assert codes == {"0", "1", "130"} | leaves


def test_the_formats_page_names_every_stored_key() -> None:
    text = page("formats.md")
    empty = Page(1, 0, (), (), {}, {}, ())
    names = [*empty.as_dict(), *ANSWERS.names, "start", "state_bytes", "seconds"]
    assert missing(names, text) == []
    assert "the receipt of each shard" in text
    assert {"rows", "late", "answers"} <= set(Receipt.__dataclass_fields__)


def test_the_command_page_names_every_command_and_option() -> None:
    text, context = page("cli.md"), click.Context(main)
    names = main.list_commands(context)
    assert missing(names, text) == []
    commands = [command for name in names if (command := main.get_command(context, name))]
    assert [command.name for command in commands] == names
    options = {
        max(parameter.opts, key=len)
        for command in commands
        for parameter in command.params
        if isinstance(parameter, click.Option) and not parameter.hidden
    }
    assert missing(sorted(options), text) == []


def test_the_project_page_names_every_key() -> None:
    sources = [key for keys in SOURCE_KEYS.values() for key in keys]
    names = [*KEYS, *GAUGE_KEYS, *STREAM_KEYS, *sources, *QUERY_KEYS, *WINDOW_KEYS]
    assert missing(names, page("project-file.md")) == []


def test_the_project_page_shows_a_project_that_runs(tmp_path: Path) -> None:
    (toml,) = re.findall(r"```toml\n(.*?)```", page("project-file.md"), re.DOTALL)
    (python,) = re.findall(r"```python\n(.*?)```", page("project-file.md"), re.DOTALL)
    (tmp_path / "streamgauge.toml").write_text(toml)
    (tmp_path / "more_queries.py").write_text(python)
    (tmp_path / "meters").mkdir()
    result = CliRunner().invoke(main, ["run", str(tmp_path), "--once"])
    assert result.exit_code == 0, result.output
    assert "2 streams, queries: 13 registered" in result.output
    assert len(sg.connect(tmp_path / "plant.gauge", engine="local").registry().queries) == 13
