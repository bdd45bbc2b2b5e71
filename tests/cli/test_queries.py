"""ls, show, explain, streams."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import streamgauge as sg

pytestmark = pytest.mark.slow


def test_ls_lists_names_and_newest_answers(call, home: Path) -> None:
    said = call("ls", "--home", home).stdout
    header, *rows, count = said.splitlines()
    assert header.split() == [
        "name", "stream", "question", "cadence", "status", "version", "newest", "answer",
    ]  # fmt: skip
    assert [row.split()[0] for row in rows] == ["newest", "seen", "sites"]
    assert "33 ±0" in rows[0]
    assert "at north and 1 groups" in rows[2]
    assert count.startswith("3 of 3 queries, as of epoch ")


def test_ls_as_json(read, home: Path) -> None:
    said = read("ls", "--home", home)
    assert (said["total"], said["epoch"]) == (3, 1)
    newest = said["queries"][0]
    assert (newest["name"], newest["status"], newest["version"]) == ("newest", "running", 1)
    assert newest["latest"][0]["value"] == 33.0
    assert sg.Query.from_dict(newest["query"]).name == "newest"


def test_ls_takes_a_pattern_and_a_limit(read, call, home: Path) -> None:
    names = [query["name"] for query in read("ls", "s*", "--home", home)["queries"]]
    assert names == ["seen", "sites"]
    assert [q["name"] for q in read("ls", "ew", "--home", home)["queries"]] == ["newest"]
    assert read("ls", "nothing", "--home", home)["queries"] == []
    limited = read("ls", "--limit", 1, "--home", home)
    assert (len(limited["queries"]), limited["total"]) == (1, 3)
    assert "1 of 3 queries, more with --limit" in call("ls", "--limit", 1, "--home", home).stdout
    assert len(read("ls", "--limit", 0, "--home", home)["queries"]) == 3
    assert call("ls", "nothing", "--home", home).stdout.startswith("no queries")


def test_ls_says_what_waits_in_the_inbox(read, home: Path) -> None:
    gauge = sg.connect(home, engine="local")
    gauge.register(sg.Query("later", "rows", sg.count(), window=sg.Now()))
    gauge.pause("seen")
    status = {query["name"]: query["status"] for query in read("ls", "--home", home)["queries"]}
    assert status == {
        "later": "waiting",
        "newest": "running",
        "seen": "waiting",
        "sites": "running",
    }


def test_ls_of_thousands_is_cut(call, home: Path) -> None:
    gauge = sg.connect(home, engine="local")
    ask = sg.Query("", "rows", sg.avg("value"), series=("a",))
    gauge.register(*(replace(ask, name=f"q{i:05d}") for i in range(10_000)))
    while gauge.step():
        pass
    lines = call("ls", "q", "--home", home).stdout.splitlines()
    assert len(lines) == 52
    assert lines[-1].startswith("50 of 10,000 queries, more with --limit")


def test_show_tells_all(call, read, home: Path) -> None:
    said = call("show", "sites", "--home", home).stdout
    assert "avg(value) from rows [range 20 s] group by site, every 2 s, exact" in said
    assert "running, version 1" in said
    assert "Scan rows" in said
    assert "newest answers (2)" in said
    assert "sites[north] = " in said
    shown = read("show", "sites", "--home", home)
    assert {tuple(answer["group"]) for answer in shown["latest"]} == {("north",), ("south",)}
    assert shown["plan"].startswith("sites version 1")


def test_a_query_whose_groups_have_left_is_not_said_to_be_new(call, read, home: Path) -> None:
    gauge = sg.connect(home, engine="local")
    gauge.advance("rows", "2026-01-01T00:00:41Z")
    while gauge.step():
        pass
    given = read("answers", "sites", "--home", home)
    newest = {answer["group"][0]: (answer["value"], answer["basis"]) for answer in given}
    assert newest == {"north": (None, "empty"), "south": (None, "empty")}
    why = "no group has an answer now: the next check is at 2026-01-01T00:00:42Z"
    for said in (call("show", "sites", "--home", home).stdout, gauge.note("sites")):
        assert why in said
    assert why in call("answers", "sites", "--home", home).stderr
    assert "newest answers (0)" in call("show", "sites", "--home", home).stdout


def test_show_of_a_query_that_waits(read, home: Path) -> None:
    query = sg.Query("later", "rows", sg.count(), window=sg.Now())
    sg.connect(home, engine="local").register(query)
    shown = read("show", "later", "--home", home)
    assert (shown["status"], shown["latest"]) == ("waiting", [])


def test_explain(call, read, home: Path) -> None:
    said = call("explain", "newest", "--home", home).stdout
    assert "Latest sum(value) of 2 series" in said
    assert read("explain", "newest", "--home", home)["plan"] == said.rstrip("\n")
    assert call("explain", "nothing", "--home", home).exit_code == 4


def test_streams(call, read, home: Path) -> None:
    said = call("streams", "--home", home).stdout
    assert "csv in " in said
    assert "2026-01-01T00:00:09Z" in said
    (stream,) = read("streams", "--home", home)
    assert (stream["name"], stream["key"], stream["dead_letters"]) == ("rows", ["series"], 1)
    assert stream["reached"] == "2026-01-01T00:00:09Z"


def test_streams_of_a_new_home(read, call, tmp_path: Path) -> None:
    gauge = sg.connect(tmp_path, engine="local")
    assert read("streams", "--home", tmp_path) == []
    gauge.stream("plant", sg.plant(), time="ts", key="series", late=sg.Late.allow("5 s"))
    assert read("streams", "--home", tmp_path)[0]["reached"] is None
    assert "waited for 5 s" in call("streams", "--home", tmp_path).stdout
