"""The gauge as a user holds it, on the local engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streamgauge as sg
from streamgauge.checks.waiting import wait_until
from streamgauge.engine.catalog import expected_registry
from streamgauge.kernel.errors import BindError, EngineFailure
from streamgauge.kernel.time import SECOND, instant
from streamgauge.log import inbox
from streamgauge.log.home import Home
from streamgauge.log.segments import write_parquet
from streamgauge.results.change_log import as_answers

pytestmark = pytest.mark.slow

START = instant("2026-01-01T00:00:00Z")


def write(path: Path, first: int, last: int) -> None:
    """x_i = i at second i, for one series."""
    numbers = list(range(first, last + 1))
    times = pa.array([START + i * SECOND for i in numbers], pa.timestamp("us", tz="UTC"))
    values = pa.array(numbers, pa.float64())
    # A running job lists the directory at any moment: a file comes whole, under its name.
    write_parquet(path, pa.table({"s": ["a"] * len(numbers), "ts": times, "x": values}))


def connected(tmp_path: Path, **more: Any) -> sg.Gauge:
    gauge = sg.connect(tmp_path / "home", engine="local", **more)
    source = sg.files(tmp_path / "files")
    gauge.stream("line", source=source, time="ts", key="s", keep="60 s")
    return gauge


def total(name: str, window: sg.Window | str, **more: Any) -> sg.Query:
    more.setdefault("answer", sg.every("1 s"))
    return sg.Query(name, "line", sg.total("x"), window=window, **more)


def second(answer: sg.Answer) -> int:
    return (answer.as_of - START) // SECOND


def run_out(gauge: sg.Gauge, name: str | None = None) -> dict[int, sg.Answer]:
    """Answers of a query by second, after all that is there is done."""
    while gauge.step():
        pass
    return {second(a): a for a in as_answers(gauge.answers(name))}


def test_a_new_window_is_filled_from_history_up_to_the_exact_cut(tmp_path: Path) -> None:
    """Claim 3: sums over 30 s at once, over 80 s with coverage until it is full."""
    write(tmp_path / "files" / "a.parquet", 1, 101)
    gauge = connected(tmp_path)
    gauge.register(total("sixty", sg.Range("60 s")))
    run_out(gauge)
    gauge.register(
        total("thirty", sg.Range("30 s")),
        total("eighty", sg.Range("80 s")),
        total("fresh", sg.Range("30 s"), history=False),
    )
    write(tmp_path / "files" / "b.parquet", 102, 130)
    thirty, eighty = run_out(gauge, "thirty"), run_out(gauge, "eighty")
    fresh = run_out(gauge, "fresh")
    assert min(thirty) == 100, "what is kept answers at the tick that is closed"
    assert min(fresh) == 101
    assert (thirty[101].value, thirty[101].coverage) == (sum(range(72, 102)), 1.0)
    # The ring of the 60 s window holds a few panes more than it must; they count too.
    covered = round(eighty[101].coverage * 80)
    assert 61 <= covered < 80
    assert eighty[101].value == sum(range(102 - covered, 102))
    assert not eighty[101].contract_met
    assert (eighty[120].value, eighty[120].coverage) == (6440.0, 1.0)
    assert (fresh[101].value, fresh[101].coverage) == (101.0, pytest.approx(1 / 30))
    assert (fresh[129].value, fresh[129].coverage) == (sum(range(101, 130)), pytest.approx(29 / 30))


def test_a_named_window_is_resized_for_all_its_queries_and_dropped(tmp_path: Path) -> None:
    write(tmp_path / "files" / "a.parquet", 1, 20)
    gauge = connected(tmp_path)
    gauge.create_window("short", sg.Range("5 s"))
    gauge.register(total("one", "short"), total("two", "short", answer=sg.on_close()))
    assert run_out(gauge, "one")[19].value == sum(range(15, 20))
    with pytest.raises(BindError, match="exists already"):
        gauge.create_window("short", sg.Range("5 s"))
    with pytest.raises(BindError, match="is in use"):
        gauge.drop_window("short")
    gauge.resize_window("short", sg.Range("10 s"))
    write(tmp_path / "files" / "b.parquet", 21, 30)
    one, two = run_out(gauge, "one"), run_out(gauge, "two")
    assert (one[20].value, one[20].version) == (sum(range(11, 21)), 2)
    assert two[29].value == sum(range(20, 30))
    gauge.drop("one", "two")
    gauge.drop_window("short")
    run_out(gauge)
    assert gauge.registry().windows == {}


def test_pause_resume_alter_drop_leave_other_queries_alone(tmp_path: Path) -> None:
    write(tmp_path / "files" / "a.parquet", 1, 10)
    gauge = connected(tmp_path)
    handle, _ = gauge.register(total("mine", sg.Range("3 s")), total("other", sg.Range("2 s")))
    run_out(gauge)
    handle.pause()
    write(tmp_path / "files" / "b.parquet", 11, 20)
    assert max(run_out(gauge, "mine")) == 9
    assert handle.status == "paused"
    handle.resume()
    write(tmp_path / "files" / "c.parquet", 21, 30)
    mine = run_out(gauge, "mine")
    assert sorted(mine) == [*range(1, 10), *range(20, 30)]
    assert mine[20].value == 18 + 19 + 20
    gauge.alter(total("mine", sg.Range("4 s")))
    write(tmp_path / "files" / "d.parquet", 31, 40)
    mine = run_out(gauge, "mine")
    assert (mine[30].value, mine[30].version) == (27 + 28 + 29 + 30, 2)
    handle.drop()
    write(tmp_path / "files" / "e.parquet", 41, 50)
    assert max(run_out(gauge, "mine")) == 39
    other = run_out(gauge, "other")
    assert {i: a.value for i, a in other.items() if i > 1} == {i: 2.0 * i - 1 for i in range(2, 50)}


def test_a_gauge_opened_again_finds_everything(tmp_path: Path) -> None:
    write(tmp_path / "files" / "a.parquet", 1, 10)
    gauge = connected(tmp_path, shards=3)
    gauge.register(total("kept", sg.Range("3 s")))
    run_out(gauge)
    again = connected(tmp_path)
    assert again.home.shards == 3
    assert [a.value for a in again.latest("kept")] == [7.0 + 8 + 9]
    with pytest.raises(BindError, match="exists already"):
        again.register(total("kept", sg.Range("3 s")))


def test_subscribers_see_each_answer_once_and_may_come_back(tmp_path: Path) -> None:
    write(tmp_path / "files" / "a.parquet", 1, 10)
    gauge = connected(tmp_path, max_rows=10)
    gauge.register(total("t", sg.Range("3 s")))
    tables: list[pa.Table] = []
    gauge.on_answers(tables.append)
    gauge.sink(tmp_path / "sink")
    gauge.start()
    write(tmp_path / "files" / "b.parquet", 11, 20)
    gauge.drain(timeout=60)
    seen = list(gauge.subscribe("t", since_epoch=0, timeout=0))
    write(tmp_path / "files" / "c.parquet", 21, 30)
    gauge.drain(timeout=60)
    seen += list(gauge.subscribe("t", since_epoch=seen[-1].epoch, timeout=0))
    assert [second(a) for a in seen] == list(range(1, 30))
    wait_until(lambda: sum(t.num_rows for t in tables) == 29, 60, what="the callback")
    stored = tmp_path / "sink"
    wait_until(lambda: pq.read_table(stored).num_rows == 29, 60, what="the sink")
    assert gauge.export(stored) == []
    frame = gauge.answers("t").to_pandas()
    assert frame["value"].iloc[-1] == 27 + 28 + 29
    with pytest.raises(EngineFailure, match="a job runs on"):
        connected(tmp_path).start()
    gauge.stop()


def test_two_streams_in_one_gauge_keep_their_own_time(tmp_path: Path) -> None:
    write(tmp_path / "files" / "a.parquet", 1, 10)
    write(tmp_path / "later" / "a.parquet", 1001, 1010)
    gauge = connected(tmp_path, shards=2)
    gauge.stream("after", source=sg.files(tmp_path / "later"), time="ts", key="s")
    gauge.register(
        total("t", sg.Range("3 s")),
        sg.Query("u", "after", sg.maximum("x"), window=sg.Latest(), answer=sg.every("1 s")),
    )
    while gauge.step():
        pass
    assert {a.query: second(a) for a in gauge.latest()} == {"t": 9, "u": 1009}


def test_a_record_that_lands_while_it_is_looked_for_is_found_in_its_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process may start while a job takes records out of the inbox."""
    gauge = sg.connect(tmp_path, engine="local")
    gauge.sql("CREATE STREAM plant FROM PLANT (3, 1, 60) KEY series TIME ts")
    real, turns = inbox.names, iter([True])

    def landing(home: Home) -> list[str]:
        found = real(home)
        if next(turns, False):
            gauge.step()
        return found

    monkeypatch.setattr(inbox, "names", landing)
    assert list(expected_registry(gauge.home).streams) == ["plant"]


def test_explain_after_alter_is_of_the_query_as_it_will_be(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    write(tmp_path / "files" / "0.parquet", 1, 10)
    gauge = connected(tmp_path)
    gauge.register(total("q", sg.Range("10 s")))
    run_out(gauge)
    assert "q version 1" in gauge.explain("q")
    gauge.alter(total("q", sg.Range("20 s")))
    assert "q version 2" in gauge.explain("q")
    run_out(gauge)
    assert "q version 2" in gauge.explain("q")


def test_the_latest_list_of_a_sketch_has_its_bars_the_right_way_round(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    numbers = list(range(30000))
    times = pa.array([START + i * SECOND // 500 for i in numbers], pa.timestamp("us", tz="UTC"))
    users = [f"u{i * i % 101}" for i in numbers]
    rows = pa.table({"s": users, "ts": times, "x": pa.array(numbers, pa.float64())})
    write_parquet(tmp_path / "files" / "0.parquet", rows)
    gauge = connected(tmp_path)
    gauge.register(
        sg.Query(
            "top", "line", sg.top_k("s", 3), window=sg.Range("30 s"), answer=sg.every("10 s"),
            contract=sg.Contract.rank(0.05),
        )
    )  # fmt: skip
    run_out(gauge)
    found = gauge.latest("top")
    assert len(found) == 3
    assert all(answer.low <= answer.value <= answer.high for answer in found)
    assert any(answer.low < answer.high for answer in found)
    newest = max(answer.as_of for answer in as_answers(gauge.answers("top")))
    # Items that have left the list are told once more, without a value.
    given = [
        a for a in as_answers(gauge.answers("top")) if a.as_of == newest and a.value is not None
    ]
    bars = sorted((a.group, a.low, a.high) for a in found)
    assert bars == sorted((a.group, a.low, a.high) for a in given)
