"""A query that is registered after its rows came answers at once, from what is kept of them."""

from __future__ import annotations

from pathlib import Path

import pytest

import streamgauge as sg
from streamgauge.results.row_blocks import as_row_changes
from streamgauge.streams.schema import Schema
from tests.engine.stage import Stage, at, rows_of

pytestmark = pytest.mark.slow

COLUMNS = Schema.of(k="string", ts="time", v="float")
ROWS = [(s, "ab"[s % 2], float(s)) for s in range(1, 102)]


def stage(tmp_path: Path, **more: str) -> Stage:
    """A stream of 101 rows, one a second, of which the last tick is not closed."""
    made = Stage(tmp_path)
    made.stream("line", COLUMNS, key="k", **more)
    made.page(line=rows_of("k v", *ROWS))
    return made


ASKED = {
    "latest": sg.Query("q", "line", sg.total("v"), window=sg.Latest()),
    "latest of some": sg.Query("q", "line", sg.avg("v"), series=("a", "c")),
    "range": sg.Query("q", "line", sg.total("v"), window=sg.Range("30 s"), answer=sg.every("7 s")),
    "range on change": sg.Query("q", "line", sg.avg("v"), window=sg.Range("30 s", "7 s")),
    "groups": sg.Query("q", "line", sg.maximum("v"), window=sg.Range("30 s"), group_by=("k",)),
    "on close": sg.Query("q", "line", sg.count(), window=sg.Range("9 s"), answer=sg.on_close()),
    "now": sg.Query("q", "line", sg.count(), window=sg.Now()),
    "landmark": sg.Query("q", "line", sg.total("v"), window=sg.Landmark(at(5))),
    "rows": sg.Query("q", "line", sg.total("v"), window=sg.Rows(10), answer=sg.every("1 hour")),
    "partition": sg.Query("q", "line", sg.total("v"), window=sg.Partition("k", 3)),
    "decay": sg.Query("q", "line", sg.total("v"), window=sg.Decay("9 s"), answer=sg.every("1 min")),
    "median": sg.Query("q", "line", sg.median("v"), window=sg.Range("30 s")),
    "one value": sg.Query("q", "line", sg.var("v"), window=sg.Now(), group_by=("k",)),
    "nothing": sg.Query(
        "q", "line", sg.total("v"), window=sg.Range("30 s"), where=sg.col("v") > 999
    ),
}


@pytest.mark.parametrize("name", ASKED)
def test_a_query_answers_when_it_is_registered(tmp_path: Path, name: str) -> None:
    """At the instant that is reached, without another row, and as the meaning says."""
    made = stage(tmp_path)
    made.gauge.register(ASKED[name])
    made.run()
    first = made.numbers("q")
    if name in ("nothing", "one value"):
        assert first == []
    else:
        assert {answer.as_of for answer in first} == {at(100)}
        assert list(made.gauge.latest("q")) == sorted(first, key=lambda a: str(a.group))
        made.check("q")
    made.page(line=rows_of("k v", *[(s, "a", float(s)) for s in range(103, 140, 2)]))
    if name not in ("nothing", "one value"):
        made.check("q")


def test_an_altered_query_and_one_among_others_answer_too(tmp_path: Path) -> None:
    made = stage(tmp_path)
    made.gauge.register(sg.Query("old", "line", sg.total("v"), window=sg.Range("30 s")))
    made.run()
    made.gauge.register(sg.Query("new", "line", sg.avg("v"), window=sg.Range("20 s")))
    made.gauge.alter(sg.Query("old", "line", sg.total("v"), window=sg.Range("10 s")))
    made.run()
    assert [(a.version, a.value) for a in made.numbers("old")] == [
        (1, float(sum(range(71, 101)))),
        (2, float(sum(range(91, 101)))),
    ]
    assert [a.value for a in made.numbers("new")] == [90.5]
    # FROM NOW asks for nothing that came before.
    made.gauge.register(sg.Query("late", "line", sg.total("v"), window=sg.Latest(), history=False))
    made.run()
    assert made.numbers("late") == []
    assert len(made.numbers("old")) == 2


@pytest.mark.parametrize(
    ("window", "value", "coverage"),
    [
        (sg.Range("40 s"), sum(range(61, 101)), 1.0),
        (sg.Range("80 s"), sum(range(41, 101)), 60 / 80),
        (sg.Landmark(at(20)), sum(range(41, 101)), 60 / 80),
        (sg.Landmark(at(50)), sum(range(50, 101)), 1.0),
        (sg.Rows(80), sum(range(41, 101)), 60 / 80),
        (sg.Rows(30), sum(range(71, 101)), 1.0),
    ],
)
def test_what_is_older_than_keep_is_missing_and_said(
    tmp_path: Path, window: sg.Window, value: float, coverage: float
) -> None:
    made = stage(tmp_path, keep="60 s")
    made.gauge.register(sg.Query("q", "line", sg.total("v"), window=window))
    made.run()
    (answer,) = made.numbers("q")
    assert (answer.value, answer.coverage) == (value, coverage)
    assert answer.contract_met == (coverage == 1.0)
    assert list(made.gauge.latest("q")) == [answer]
    if coverage < 1.0:
        assert f"covers {100 * coverage:.3g}%" in str(answer)


def test_all_rows_of_a_stream_are_covered_as_far_as_they_are_kept(tmp_path: Path) -> None:
    made = stage(tmp_path, keep="60 s")
    made.gauge.sql("CREATE QUERY q AS SELECT SUM(v) FROM line")
    made.run()
    (answer,) = made.numbers("q")
    assert (answer.value, answer.coverage) == (sum(range(41, 101)), 60 / 100)


@pytest.mark.parametrize(
    ("text", "coverage"),
    [
        ("SELECT k, v FROM line [RANGE 80 SECONDS]", 60 / 80),
        ("SELECT k, v FROM line [RANGE 40 SECONDS]", 1.0),
        ("SELECT k, v FROM line [RANGE UNBOUNDED] WHERE v > 0", 60 / 100),
        ("SELECT k, v FROM line [ROWS 80]", 60 / 80),
        ("SELECT k, v FROM line [ROWS 20]", 1.0),
        ("SELECT a.k, b.v FROM line [RANGE 40 SECONDS] AS a, line [RANGE 80 SECONDS] AS b"
         " WHERE a.k = b.k", 60 / 80),
    ],
)  # fmt: skip
def test_rows_say_how_much_of_their_windows_is_kept(
    tmp_path: Path, text: str, coverage: float
) -> None:
    made = stage(tmp_path, keep="60 s")
    made.gauge.sql(f"CREATE QUERY q AS {text}")
    made.run()
    changes = list(as_row_changes(made.gauge.row_changes("q")))
    assert changes
    assert {change.coverage for change in changes} == {coverage}
    assert {change.contract_met for change in changes} == {coverage == 1.0}
    said = f"covers {100 * coverage:.3g}%"
    assert all((said in str(change)) == (coverage < 1.0) for change in changes)
    assert changes[0].as_dict()["coverage"] == coverage
    # When time has passed what is missing, the window is whole again.
    made.page(line=rows_of("k v", *[(s, "a", float(s)) for s in range(102, 190)]))
    newest = list(as_row_changes(made.gauge.row_changes("q")))[-1]
    assert newest.contract_met == ("UNBOUNDED" not in text)


@pytest.mark.parametrize("window", [sg.Range("30 s"), sg.Rows(3)], ids=str)
def test_a_group_without_a_value_has_not_answered_and_does_not_leave(
    tmp_path: Path, window: sg.Window
) -> None:
    """The variance of one row is none: on change nothing is said, then or when the row goes."""
    made = Stage(tmp_path)
    made.stream("line", COLUMNS, key="k")
    made.page(line=rows_of("k v", (1, "a", 1.0), (2, "a", 1.0), (3, "b", 1.0), (4, "c", 1.0)))
    made.gauge.register(sg.Query("q", "line", sg.var("v"), window=window, group_by=("k",)))
    made.run()
    made.page(line=rows_of("k v", *[(s, "c", 1.0) for s in (90, 91, 92)]))
    made.check("q")
    assert {answer.group for answer in made.numbers("q")} == {("a",), ("c",)}
