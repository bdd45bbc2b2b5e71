"""Groups of deferred queries end with their series: each case by hand and against the reference."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import streamgauge as sg
from streamgauge.checks.work import Entry, Way, check_work
from streamgauge.contracts.answer import Answer
from streamgauge.drift import pools
from streamgauge.engine import shard
from streamgauge.engine.catalog import registry_at
from streamgauge.engine.latest import latest_answers
from streamgauge.kernel.time import SECOND
from streamgauge.log.home import Home
from streamgauge.plan.members import Members
from streamgauge.plan.over import Over
from streamgauge.plan.query import Query
from streamgauge.results.change_log import answers, as_answers
from tests.engine.test_deferral import check
from tests.engine.test_deferral_life import BOOKS, PLANT, Life, do, held, rows, said, watched
from tests.kit.deferrals import DeferredLife, deferred_lives
from tests.kit.replay import run_pages, write_pages
from tests.kit.strategies import START
from tests.oracles.reference import Row
from tests.profile import examples

pytestmark = pytest.mark.slow

OWED = sg.Contract.absolute(0.5, confidence=0.9)
REGIMES = ["watch", "timer", ""]
BRIEF = replace(PLANT, keep=5 * SECOND)


def grouped(name: str, regime: str = "watch", select: Any = None, **more: Any) -> Query:
    asked = sg.total("x") if select is None else select
    by = {"group_by": ("g",), **more}
    return Query(name, "plant", asked, contract=OWED, regime=regime, **by)


def empties(found: list[Answer]) -> list[tuple[Any, ...]]:
    """Query, second, group and value of the answers that end a group."""
    gone = [a for a in found if a.basis == "empty"]
    assert all(a.ends_group and a.contract_met and not a.charges for a in gone)
    return sorted((a.query, *one) for a, one in zip(gone, said(gone), strict=True))


def groups(life: Life, name: str) -> list[Any]:
    return [a.group[0] for a in latest_answers(life.home, name)]


@pytest.mark.parametrize("regime", REGIMES)
def test_a_group_whose_series_have_moved_away_leaves(tmp_path: Path, regime: str) -> None:
    life = Life(tmp_path, shards=1)
    asked = (grouped("q", regime), grouped("n", regime, sg.count("x")))
    still = [(s, n, 1.0, g) for s in range(70) for n, g in (("a", "u"), ("b", "v"))]
    assert empties(life.page(do("register", *asked), **rows(*still))) == []
    away = [(s, n, 1.0, "v") for s in range(70, 75) for n in "ab"]
    assert empties(life.page(**rows(*away))) == [("n", 70, "u", 0.0), ("q", 70, "u", None)]
    assert (groups(life, "q"), groups(life, "n")) == (["v"], ["v"])
    back = life.page(**rows(*((s, "a", 3.0, "u") for s in range(75, 80)), (80, "b", 1.0, "v")))
    assert ("u", 3.0) in [(a.group[0], a.value) for a in back if a.query == "q"]
    assert groups(life, "q") == ["u", "v"]


@pytest.mark.parametrize("regime", REGIMES)
def test_a_group_whose_series_are_gone_for_longer_than_the_stream_keeps_leaves(
    tmp_path: Path, regime: str
) -> None:
    """One row of `b`, and no other; `c` is slow, and its pauses are its usual ones."""
    life = Life(tmp_path, stream=replace(PLANT, keep=20 * SECOND))
    slow = [(s, "c", 1.0, "w") for s in range(0, 300, 30)]
    fast = [(s, "a", 1.0, "u") for s in range(300)]
    once = [(5, "b", 2.0, "v"), (200, "b", 2.0, "v"), (300, "a", 1.0, "u")]
    cells = sorted(slow + fast + once, key=lambda cell: cell[0])
    ended: list[tuple[Any, ...]] = []
    for start in range(0, 320, 40):
        part = [cell for cell in cells if start <= cell[0] < start + 40]
        asked = () if start else (do("register", grouped("q", regime)),)
        ended += empties(life.page(*asked, **rows(*part)))
    assert [one for one in ended if one[2] == "v"] == [("q", 26, "v", None), ("q", 221, "v", None)]
    # Until two of its pauses are known, nothing says that they are usual.
    assert {second for _, second, group, _ in ended if group == "w"} <= {21, 51}
    assert groups(life, "q") == ["u", "w"]


@pytest.mark.parametrize("regime", REGIMES)
def test_an_extreme_answers_from_its_window_before_its_group_leaves(
    tmp_path: Path, regime: str
) -> None:
    life = Life(tmp_path)
    recent = grouped("recent", regime, over=Over("max", sg.Range("10 s")))
    ever = grouped("ever", regime, over=Over("max", sg.Landmark("1970-01-01")))
    first = [(s, n, float(s % 7), g) for s in range(70) for n, g in (("a", "u"), ("b", "v"))]
    life.page(do("register", recent, ever), **rows(*first))
    away = [(s, n, 1.0, "v") for s in range(70, 95) for n in "ab"]
    found = life.page(**rows(*away))
    assert empties(found) == [("recent", 79, "u", None)]
    assert groups(life, "recent") == ["v"]
    assert groups(life, "ever") == ["u", "v"]


def test_a_group_that_ends_in_a_pause_says_so_when_the_query_goes_on(tmp_path: Path) -> None:
    life = Life(tmp_path)
    still = [(s, n, 1.0, g) for s in range(5) for n, g in (("a", "u"), ("b", "v"))]
    life.page(do("register", grouped("q")), **rows(*still))
    life.page(do("pause", "q"), **rows((5, "a", 1.0, "v"), (6, "a", 1.0, "v")))
    assert groups(life, "q") == ["u", "v"]
    found = life.page(do("resume", "q"), **rows((7, "a", 1.0, "v"), (8, "a", 1.0, "v")))
    assert empties(found) == [("q", 6, "u", None)]


@settings(max_examples=examples(20))
@given(life=deferred_lives(declared=st.just(BRIEF), regimes=("", *REGIMES[:2]), changing=False))
def test_groups_that_end_agree_with_the_reference(life: DeferredLife) -> None:
    check(life)


@settings(max_examples=examples(20))
@given(life=deferred_lives(regimes=("", *REGIMES[:2])), shards=st.integers(1, 2))
def test_what_stands_is_what_was_told_and_has_not_left(life: DeferredLife, shards: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        workload = life.placed(Path(directory))
        home = Home.open(Path(directory) / "home", shards=shards)
        write_pages(home, (life.stream,), workload.pages)
        run_pages(home)
        shard.forget(home)
        told = list(as_answers(answers(home)))
        versions = {s.name: s.version for s in registry_at(home, home.committed()).queries.values()}
        last = {(a.query, a.group): a for a in told if versions.get(a.query) == a.version}
        stands = {key for key, answer in last.items() if not answer.ends_group}
        assert {(a.query, a.group) for a in latest_answers(home)} == stands


def moves(first: int, last: int) -> pa.Table:
    """Series that change their group often, some of which send no row for long."""
    rng = np.random.default_rng(11)
    n, ticks = 40, np.arange(last)
    group = rng.integers(0, 10, (n, last // 25 + 1))
    there = rng.random((last, n)) < np.where(np.arange(n) % 5 == 0, 0.004, 0.3)
    at, who = np.nonzero(there & ((ticks >= first)[:, None]))
    level = rng.standard_normal((last, n)).cumsum(axis=0)
    return pa.table(
        {
            "ts": pa.array(at * SECOND + 1 + who * 1000, pa.timestamp("us", "UTC")),
            "k": [f"k{s}" for s in who],
            "g": [f"g{group[s, t // 25]}" for t, s in zip(at, who, strict=True)],
            "x": level[at, who],
        }
    )


@pytest.mark.parametrize("capacity", ["", "CAPACITY 40"])
def test_groups_leave_alike_for_all_cuts_shards_and_reloads(
    tmp_path: Path, capacity: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "READS", 5)
    declared = (
        "CREATE STREAM walk (ts TIME, k STRING, g STRING, x FLOAT) FROM FILES '{rows}' "
        f"TIME ts KEY k KEEP 30 SECONDS FUTURE ANY {capacity}"
    )
    asked = [
        Query("sums", "walk", sg.total("x"), contract=OWED, group_by="g"),
        Query("timed", "walk", sg.avg("x"), contract=OWED, group_by="g", regime="timer"),
        Query("counts", "walk", sg.count("x"), contract=OWED, group_by="g"),
        Query("peaks", "walk", sg.avg("x"), contract=OWED, group_by="g",
              over=Over("max", sg.Range("15 s")), regime="timer"),
    ]  # fmt: skip
    history: list[Entry] = [declared, asked, moves(0, 100), moves(100, 200)]
    ways = (Way(), Way(3, 2), Way(2, 3, True), Way(4, 16, True))
    assert check_work(tmp_path, history, ways) > 500
    found = sg.connect(tmp_path / "0" / "home", engine="local").answers()
    ends = found.filter(pc.equal(found["basis"], "empty"))
    assert set(ends["query"].to_pylist()) == {query.name for query in asked}


def test_a_key_that_a_table_has_no_more_leaves(tmp_path: Path) -> None:
    life = Life(tmp_path)
    life.table(*held(("one", "a", 1.0), ("two", "b", 2.0)))
    still = [(s, n, x) for s in range(3) for n, x in (("a", 1.0), ("b", 2.0))]
    life.page(do("register", watched("q", members=BOOKS)), **rows(*still))
    life.table(*held(("two", "b", 2.0)))
    assert empties(life.page(**rows((3, "b", 2.0), (4, "b", 2.0)))) == [("q", 1, "one", None)]
    assert groups(life, "q") == ["two"]


def test_a_key_of_bounds_that_a_table_has_no_more_leaves(tmp_path: Path) -> None:
    schema = sg.Schema.of(series="string", ts="time", x="float", w="float")
    life = Life(tmp_path, stream=replace(PLANT, schema=schema, width="w"))
    life.table(*held(("one", "a", 1.0), ("two", "b", 2.0)))
    asked = Query("q", "plant", sg.total("x"), contract=sg.Contract.absolute(1.0), members=BOOKS)

    def bounds(*seconds: int) -> dict[str, Any]:
        told = [
            Row(START + s * SECOND, {"series": n, "x": 1.0, "w": 0.5})
            for s in seconds
            for n in "ab"
        ]
        return {"plant": tuple(told)}

    life.page(do("register", asked), **bounds(0, 1, 2))
    life.table(*held(("two", "b", 2.0)))
    assert empties(life.page(**bounds(3, 4))) == [("q", 1, "one", None)]
    assert groups(life, "q") == ["two"]
    life.table(*held(("one", "a", 1.0), ("two", "b", 2.0)))
    life.page(**bounds(5, 6))
    assert groups(life, "q") == ["one", "two"]


def put(root: Path, number: int, first: int, groups_of: str) -> None:
    """Five seconds of two series with their groups."""
    pairs = list(zip("ab", groups_of, strict=True))
    cells = [(s * SECOND, k, g, 1.0) for s in range(first, first + 5) for k, g in pairs]
    ts, k, g, x = zip(*cells, strict=True)
    columns = {"ts": pa.array(ts, pa.timestamp("us", "UTC")), "k": k, "g": g, "x": x}
    pq.write_table(pa.table(columns), root / f"{number}.parquet")


@pytest.mark.parametrize("reload", [False, True])
def test_views_of_answers_lose_what_has_ended(tmp_path: Path, *, reload: bool) -> None:
    """A group without series, and a key that the table of members has no more."""
    source, books = tmp_path / "in", tmp_path / "books.parquet"
    source.mkdir()
    pq.write_table(pa.table({"book": ["one", "two"], "symbol": ["a", "b"]}), books)
    gauge = sg.connect(tmp_path / "home", engine="local")
    gauge.sql(
        "CREATE STREAM walk (ts TIME, k STRING, g STRING, x FLOAT) "
        f"FROM FILES '{source}' TIME ts KEY k FUTURE ANY; CREATE TABLE held FROM '{books}'"
    )
    members = Members("held", "symbol", ("book",))
    gauge.register(
        Query("floors", "walk", sg.avg("x"), contract=OWED, group_by="g"),
        Query("books", "walk", sg.avg("x"), contract=OWED, members=members),
    )
    gauge.sql("CREATE QUERY by_floor AS SELECT g, value FROM floors")
    gauge.sql("CREATE QUERY by_book AS SELECT book, value FROM books")
    put(source, 0, 0, "uv")
    gauge.step()
    assert sorted(gauge.rows("by_floor")["g"].to_pylist()) == ["u", "v"]
    assert sorted(gauge.rows("by_book")["book"].to_pylist()) == ["one", "two"]
    pq.write_table(pa.table({"book": ["two"], "symbol": ["b"]}), books)
    gauge.sql("REFRESH TABLE held")
    put(source, 1, 5, "vv")
    if reload:
        shard.forget(gauge.home)
    gauge.step()
    assert gauge.rows("by_floor")["g"].to_pylist() == ["v"]
    assert gauge.rows("by_book")["book"].to_pylist() == ["two"]
    assert [a.group for a in gauge.latest("books")] == [("two",)]
