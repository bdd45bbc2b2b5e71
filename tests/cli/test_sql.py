"""Statements from a shell: as a text, from a file, from standard input."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

import streamgauge as sg
from streamgauge.cli.reading import expected_registry

from .conftest import Call

pytestmark = pytest.mark.slow

TOTAL = "SELECT SUM(value) FROM rows [RANGE 2 SECONDS] EVERY 2 SECONDS"
Running = Callable[[], AbstractContextManager[sg.Gauge]]


def test_a_question_waits_when_nothing_runs(call: Call, home: Path) -> None:
    result = call("sql", TOTAL, "--name", "total", "--home", home)
    assert result.exit_code == 0, result.stderr
    assert "registered total" in result.stdout
    assert "no job is running on this home" in result.stdout
    gauge = sg.connect(home, engine="local")
    assert "total" in expected_registry(gauge.home).queries


def test_a_question_is_in_force_when_a_job_runs(call: Call, home: Path, running: Running) -> None:
    with running():
        result = call("sql", f"CREATE QUERY total AS {TOTAL}", "--home", home)
        assert "in force since epoch" in result.stdout
        assert "total" in call("sql", "SHOW QUERIES", "--home", home).stdout


def test_a_file_with_paths_of_its_own(call: Call, home: Path, tmp_path: Path) -> None:
    place = tmp_path / "elsewhere"
    place.mkdir()
    (place / "towns.csv").write_text("site,town\nnorth,Kiel\n")
    script = place / "more.sql"
    script.write_text("-- Where the sites are.\nCREATE TABLE towns FROM 'towns.csv';\nSHOW TABLES;")
    result = call("sql", "-f", script, "--home", home)
    assert result.exit_code == 0, result.stderr
    assert "created table towns" in result.stdout
    assert "site string, town string" in result.stdout
    assert "1 rows" in result.stdout


def test_statements_from_standard_input(call: Call, home: Path) -> None:
    result = call("sql", "--home", home, stdin="SHOW STREAMS; DESCRIBE rows;")
    assert result.exit_code == 0, result.stderr
    assert "series" in result.stdout


def test_answers_and_plans(call: Call, home: Path) -> None:
    assert "newest" in call("sql", "SHOW ANSWERS OF newest", "--home", home).stdout
    assert "Aggregate" in call("sql", f"EXPLAIN {TOTAL}", "--home", home).stdout
    assert "measured " in call("sql", "EXPLAIN ANALYZE seen", "--home", home).stdout


def test_json(read: Callable[..., Any], home: Path) -> None:
    said = read("sql", f"CREATE QUERY total AS {TOTAL}; SHOW WINDOWS; EXPLAIN seen", "--home", home)
    did, rows, plan = said["statements"]
    assert did == {"did": "registered", "names": ["total"], "changed": True}
    assert rows == {"shows": "rows", "columns": ["name", "window"], "rows": []}
    assert plan["text"].startswith("seen version 1")
    assert "inbox" in said["settled"]


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("SELECT AVG(value) FORM rows", 10, "FROM"),
        ("SELECT AVG(vale) FROM rows [NOW]", 2, "vale"),
        ("DROP QUERY nothing", 4, "no query named 'nothing'"),
    ],
)
def test_errors(call: Call, home: Path, text: str, code: int, said: str) -> None:
    result = call("sql", text, "--home", home)
    assert result.exit_code == code
    assert said in result.stderr


def test_the_place_of_a_mistake_is_marked(call: Call, home: Path) -> None:
    result = call("sql", "SHOW QUERIES;\nSELECT AVG(value) FORM rows", "--home", home)
    lines = result.stderr.splitlines()
    (at,) = [n for n, line in enumerate(lines) if "FORM rows" in line and "unexpected" not in line]
    assert lines[at + 1].index("^") == lines[at].index("FORM")


def test_wrong_usage(call: Call, home: Path, tmp_path: Path) -> None:
    script = tmp_path / "x.sql"
    script.write_text("SHOW QUERIES")
    assert call("sql", "SHOW QUERIES", "-f", script, "--home", home).exit_code == 2
    assert call("sql", "SHOW QUERIES", "--home", tmp_path / "none").exit_code == 5


def test_other_commands_know_queries_of_rows(
    call: Call, home: Path, running: Running, read: Callable[..., Any]
) -> None:
    text = "CREATE QUERY high AS SELECT series, value FROM rows [RANGE 1 HOUR] WHERE value > 5"
    with running() as gauge:
        call("sql", text, "--home", home)
        gauge.drain()
    assert "high" in call("ls", "--home", home).stdout
    (listed,) = [q for q in read("ls", "--home", home)["queries"] if q["name"] == "high"]
    assert listed["stream"] == "rows"
    shown = call("show", "high", "--home", home).stdout
    assert "rows now (2)" in shown
    assert "30" in shown
    assert "high" in call("explain", "high", "--home", home).stdout
    given = call("answers", "high", "--home", home).stdout
    assert "high + series=b value=30.0" in given
    (first, second) = read("answers", "high", "--home", home)
    assert (first["row"]["value"], second["row"]["value"]) == (10.0, 30.0)
    followed = call("answers", "high", "--home", home, "-f", "--idle", 0, "--since-epoch", 0)
    assert followed.stdout == given
    assert call("pause", "high", "--home", home).exit_code == 0
    assert call("drop", "hi*", "--home", home).exit_code == 0


def test_json_of_values_that_json_has_no_word_for(read: Callable[..., Any], home: Path) -> None:
    said = read("sql", "SHOW ANSWERS OF newest", "--home", home)
    (shown,) = said["statements"]
    assert json.dumps(shown, allow_nan=False)
    assert shown["rows"][0]["as_of"].endswith("Z")
