"""A small gauge on the local engine, and a way to call the command line."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import streamgauge as sg
from streamgauge.cli import main

ROWS = """ts,series,site,value
2026-01-01T00:00:01Z,a,north,1
2026-01-01T00:00:01Z,b,south,10
2026-01-01T00:00:02Z,a,north,2
2026-01-01T00:00:02Z,b,south,oops
2026-01-01T00:00:03Z,a,north,3
2026-01-01T00:00:03Z,b,south,30
2026-01-01T00:00:09Z,a,north,4
"""
QUERIES = (
    sg.Query("newest", "rows", sg.total("value"), series=("a", "b")),
    sg.Query("sites", "rows", sg.avg("value"), window=sg.Range("20 s"), group_by=("site",),
             answer=sg.every("2 s")),
    sg.Query("seen", "rows", sg.count(), window=sg.Range("4 s"), answer=sg.every("2 s")),
)  # fmt: skip

Call = Callable[..., Result]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch) -> Call:
    """Call the command line; its result has exit_code, stdout and stderr."""
    monkeypatch.delenv("STREAMGAUGE_HOME", raising=False)

    def called(*arguments: object, stdin: str | None = None) -> Result:
        result = CliRunner().invoke(main, [str(item) for item in arguments], input=stdin)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return called


@pytest.fixture
def read(call: Call) -> Callable[..., Any]:
    """Call the command line with --json and parse what it says."""

    def reading(*arguments: object) -> Any:
        result = call(*arguments, "--json")
        assert result.exit_code == 0, result.stderr
        return json.loads(result.stdout)

    return reading


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with one CSV file, of which one row is no good."""
    directory = tmp_path_factory.mktemp("source")
    (directory / "rows.csv").write_text(ROWS)
    return directory


@pytest.fixture(scope="session")
def answered(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home whose queries have answered; never changed, only copied."""
    home = tmp_path_factory.mktemp("answered") / "home"
    gauge = sg.connect(home, engine="local")
    schema = sg.Schema.of(ts="time", series="string", site="string", value="float")
    gauge.stream("rows", sg.files(source, "csv"), time="ts", key="series", schema=schema)
    gauge.register(*QUERIES)
    while gauge.step():
        pass
    gauge.stop()
    return home


@pytest.fixture
def home(answered: Path, tmp_path: Path) -> Path:
    """A home of one's own, whose queries have answered."""
    return Path(shutil.copytree(answered, tmp_path / "home"))


@pytest.fixture
def running(home: Path) -> Callable[[], AbstractContextManager[sg.Gauge]]:
    """A job that runs on the home as `run` would run it."""

    @contextmanager
    def run() -> Iterator[sg.Gauge]:
        with sg.connect(home, engine="local") as gauge:
            yield gauge.start()

    return run
