"""answers, dead-letters, export."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import streamgauge as sg
from streamgauge.contracts.schema import ANSWERS

pytestmark = pytest.mark.slow


def test_answers_read_as_sentences(call, home: Path) -> None:
    lines = call("answers", "seen", "--home", home).stdout.splitlines()
    assert lines == [
        "seen = 3 in [3, 3], exact, covers 37.5%, as of 2026-01-01T00:00:02Z",
        "seen = 5 in [5, 5], exact, covers 83.3%, as of 2026-01-01T00:00:04Z",
        "seen = 2 in [2, 2], exact, as of 2026-01-01T00:00:06Z",
        "seen = 0 in [0, 0], exact, as of 2026-01-01T00:00:08Z",
    ]


def test_answers_as_json_have_the_one_shape(read, home: Path) -> None:
    given = read("answers", "--home", home)
    assert {answer["query"] for answer in given} == {"newest", "sites", "seen"}
    assert set(given[0]) == set(ANSWERS.names)
    assert [a["as_of"] for a in given] == sorted(a["as_of"] for a in given)


def test_the_last_answers(read, home: Path) -> None:
    every = read("answers", "newest", "--home", home, "--since-epoch", 0)
    assert read("answers", "newest", "--home", home, "--last", 2) == every[-2:]
    assert read("answers", "--home", home, "--last", 0) == []
    assert read("answers", "--home", home, "--since-epoch", 99) == []
    assert read("answers", "--home", home, "--since-epoch", 0, "--last", 1) == [
        read("answers", "--home", home)[-1]
    ]


def test_no_answers_yet(call, home: Path) -> None:
    query = sg.Query("later", "rows", sg.count(), window=sg.Now())
    sg.connect(home, engine="local").register(query)
    result = call("answers", "later", "--home", home)
    why = "no answer yet: the query takes effect with the next epoch; the job is not running"
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.startswith(why)
    assert call("answers", "nothing", "--home", home).exit_code == 4


def test_a_dropped_query_keeps_its_answers(call, read, home: Path) -> None:
    gauge = sg.connect(home, engine="local")
    gauge.drop("seen")
    while gauge.step():
        pass
    assert read("answers", "seen", "--home", home)
    assert call("answers", "seen", "--home", home).exit_code == 0


def test_follow_goes_on_and_gives_each_answer_once(
    call, read, home: Path, running: Callable
) -> None:
    before = read("answers", "newest", "--home", home)
    with running() as gauge:
        later = sg.Query(
            "later", "rows", sg.total("value"), window=sg.Rows(2), answer=sg.every("1 s")
        )
        timer = threading.Timer(
            0.2, lambda: (gauge.register(later), gauge.advance("rows", "2026-01-01T00:00:20Z"))
        )
        timer.start()
        result = call("answers", "--home", home, "--follow", "--last", 1, "--idle", 8, "--json")
        timer.join()
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert lines[0]["epoch"] == before[-1]["epoch"]
    assert len({(a["query"], a["as_of"], str(a["group"])) for a in lines}) == len(lines)
    assert "later" in {answer["query"] for answer in lines}


def test_dead_letters(call, read, home: Path) -> None:
    said = call("dead-letters", "rows", "--home", home).stdout
    assert "'oops' is not a float" in said
    assert said.endswith("1 of 1 dead letters of rows\n")
    letters = read("dead-letters", "rows", "--home", home)
    assert (letters["total"], len(letters["rows"])) == (1, 1)
    assert letters["rows"][0]["origin"].endswith("rows.csv:5")
    assert read("dead-letters", "rows", "--home", home, "--last", 0)["rows"] == []
    assert call("dead-letters", "nothing", "--home", home).exit_code == 4


def test_export_writes_each_epoch_once(call, read, home: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    written = read("export", out, "--home", home)["written"]
    assert pq.read_table(out / written[0]).schema.names == ANSWERS.names
    assert call("export", out, "--home", home).stdout.startswith("0 files written")
