"""Statements in a project: what would change, what is refused and where, and bringing them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import streamgauge as sg
from streamgauge.cli.reading import expected_registry

from .conftest import Call

pytestmark = pytest.mark.slow

PROJECT = """
include = ["queries/*.sql"]
[gauge]
home = "home"
engine = "local"
[streams.plant]
source = { kind = "plant", n_sensors = 10 }
time = "ts"
key = "series"
"""
HEAT = "CREATE QUERY heat AS SELECT AVG(value) FROM plant [RANGE 1 MINUTE] EVERY 1 MINUTE;\n"
HOT = "CREATE QUERY hot AS SELECT series, value FROM plant [NOW] WHERE value > 30;\n"


class Placed:
    """A project in a directory."""

    def __init__(self, directory: Path, call: Call) -> None:
        self.directory = directory
        self.call = call
        (directory / "queries").mkdir()
        (directory / "streamgauge.toml").write_text(PROJECT)

    def write(self, name: str, text: str) -> None:
        (self.directory / "queries" / name).write_text(text)

    def plan(self, *options: str) -> str:
        result = self.call("plan", self.directory, *options)
        self.code = result.exit_code
        return result.stdout

    def run(self, *options: str) -> str:
        result = self.call("run", self.directory, "--once", *options)
        assert result.exit_code == 0, result.output
        return result.stdout

    @property
    def queries(self) -> dict[str, int]:
        home = sg.connect(self.directory / "home", engine="local").home
        return {q.name: q.version for q in expected_registry(home).queries.values()}


@pytest.fixture
def placed(tmp_path: Path, call: Call) -> Placed:
    return Placed(tmp_path, call)


def test_a_plan_changes_nothing(placed: Placed) -> None:
    placed.write("a.sql", HEAT)
    placed.write("b.sql", HOT)
    said = placed.plan()
    assert placed.code == 0
    assert "+ stream plant" in said
    assert "+ query heat" in said
    assert "+ query hot" in said
    assert "queries: 2 registered" in said
    assert not (placed.directory / "home").exists(), "looking must not make a home"


def test_files_declare_what_they_say(placed: Placed) -> None:
    placed.write("a.sql", HEAT + HOT)
    assert "queries: 2 registered" in placed.run()
    assert "queries: 2 unchanged" in placed.run()
    assert placed.queries == {"heat": 1, "hot": 1}
    placed.write("a.sql", HEAT.replace("AVG", "MAX"))
    said = placed.plan()
    assert "~ query heat" in said
    assert "1 altered, 1 not in the file, left alone" in said
    assert "- query hot" in placed.plan("--prune")
    assert placed.queries == {"heat": 1, "hot": 1}, "a plan changes nothing"
    placed.run("--prune")
    assert placed.queries == {"heat": 2}


def test_streams_windows_tables_and_views(placed: Placed) -> None:
    placed.write("towns.csv", "site,town\nsite-00,Ulm\n")
    placed.write(
        "a.sql",
        "CREATE WINDOW w AS [RANGE 1 MINUTE]; CREATE TABLE towns FROM 'towns.csv';\n"
        "CREATE VIEW hot AS SELECT series, site, value FROM plant [w] WHERE value > 30;\n"
        "CREATE QUERY where_hot AS SELECT town, COUNT(*) AS n FROM hot JOIN towns USING (site) "
        "GROUP BY town;",
    )
    placed.run()
    assert "queries: 1 unchanged" in placed.plan()
    placed.write("towns.csv", "site,town\nsite-00,Bonn\n")
    assert "~ table towns" in placed.plan()


def test_all_that_is_refused_is_told_with_its_place(placed: Placed) -> None:
    placed.write("a.sql", f"{HEAT}\nCREATE QUERY bad AS SELECT AVG(vale) FROM plant [NOW];\n{HOT}")
    placed.write("b.sql", "DROP QUERY heat;")
    placed.write("c.sql", "SHOW QUERIES;\nSELEC")
    said = placed.plan()
    assert placed.code == 2
    assert f"! {placed.directory / 'queries' / 'a.sql'}:3:1: " in said
    assert "vale" in said
    assert "b.sql:1:1: a project file declares, it does not act" in said
    assert "c.sql:2:1: " in said
    assert "3 refused" in said
    result = placed.call("run", placed.directory, "--once")
    assert result.exit_code == 2
    assert "a.sql:3:1" in result.stderr
    assert placed.queries == {}, "a project is brought whole or not at all"


def test_a_plan_as_json(placed: Placed) -> None:
    placed.write("a.sql", HEAT + "SELECT 3")
    told = json.loads(placed.plan("--json"))
    assert told["refused"][0]["place"].endswith("a.sql:2:9")
    assert told["changes"][0] == {"did": "created stream", "names": ["plant"]}


def test_a_pattern_that_fits_nothing(placed: Placed) -> None:
    assert placed.plan() == ""
    assert placed.code == 5
