"""Rows that could not be used mark the answers they would have touched; learned columns widen."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import streamgauge as sg
from streamgauge.contracts.answer import Answer
from streamgauge.engine.landed_files import Buried
from streamgauge.engine.unusable import Losses
from streamgauge.kernel.time import SECOND, instant, instant_text
from streamgauge.log.dead_letters import read_losses, unusable_rows
from streamgauge.log.journal import Journal
from streamgauge.results.change_log import as_answers
from streamgauge.server.bodies import Body
from streamgauge.server.spool import PushSpool
from streamgauge.windows.window import Unbounded

START = instant("2026-01-01T00:00:00Z")
Row = tuple[Any, ...]
COUNT = sg.Query("n", "s", sg.count(), window=sg.Range("4 s"), answer=sg.every("1 s"))
SUM = sg.Query("sum", "s", sg.total("v"), window=sg.Range("4 s"), answer=sg.every("1 s"))


def at(second: float) -> str:
    return instant_text(START + int(second * SECOND))


def write(path: Path, rows: Iterable[Row], format: str = "csv") -> None:
    """A file of (second, k, v); a second that is text stays as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    told = [(t if isinstance(t, str) else at(t), k, v) for t, k, v in rows]
    if format == "csv":
        path.write_text("ts,k,v\n" + "".join(f"{t},{k},{v}\n" for t, k, v in told))
    elif format == "jsonl":
        path.write_text("".join(json.dumps({"ts": t, "k": k, "v": v}) + "\n" for t, k, v in told))
    else:
        ts, k, v = (list(column) for column in zip(*told, strict=True))
        times = pa.array([instant(t) for t in ts], pa.timestamp("us", tz="UTC"))
        pq.write_table(pa.table({"ts": times, "k": k, "v": v}), path)


def opened(
    root: Path,
    queries: Sequence[sg.Query] = (),
    *,
    format: str = "csv",
    shards: int = 1,
    **more: Any,
) -> sg.Gauge:
    gauge = sg.connect(root / "home", engine="local", shards=shards)
    gauge.stream("s", sg.files(root / "in", format), time="ts", key=more.pop("key", "k"), **more)
    if queries:
        gauge.register(*queries)
    return gauge


def run_out(gauge: sg.Gauge) -> list[Answer]:
    while gauge.step():
        pass
    return list(as_answers(gauge.answers()))


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
def test_a_learned_int_becomes_float_when_floats_come(tmp_path: Path, format: str) -> None:
    write(tmp_path / "in" / f"a.{format}", [(t, "a", t) for t in range(4)], format)
    gauge = opened(tmp_path, [SUM], format=format)
    run_out(gauge)
    assert gauge.registry().stream("s").schema.type("v") == "int"
    write(tmp_path / "in" / f"b.{format}", [(t, "a", t + 0.5) for t in range(4, 8)], format)
    write(tmp_path / "in" / f"c.{format}", [(t, "a", t) for t in range(8, 10)], format)
    answers = run_out(gauge)
    assert (answers[-1].as_of, answers[-1].value) == (START + 8 * SECOND, 5.5 + 6.5 + 7.5 + 8)
    assert (answers[-1].coverage, answers[-1].contract_met) == (1.0, True)
    assert gauge.registry().stream("s").schema.type("v") == "float"
    assert gauge.registry().stream("s").widened == ("v",)
    assert gauge.dead_letters("s").num_rows == 0


DECLARED = sg.Schema.of(ts="time", k="string", v="int")
LOST: dict[str, tuple[list[Row], int]] = {
    "another type": ([(4, "a", "x"), (5, "a", 2.5), (6, "a", 6)], 2),
    "a time that cannot be read": ([("soon", "a", 4), (6, "a", 6)], 1),
    "no key": ([(4, "", 4), (6, "a", 6)], 1),
    "far ahead": ([(10**9, "a", 4), (6, "a", 6)], 1),
    "too many fields": ([(4, "a", "4,5"), (6, "a", 6)], 1),
}


@pytest.mark.parametrize("lost", LOST)
def test_rows_that_could_not_be_used_mark_answers(tmp_path: Path, lost: str) -> None:
    rows, n = LOST[lost]
    write(tmp_path / "in" / "a.csv", [(t, "a", t) for t in range(4)])
    gauge = opened(tmp_path, [COUNT], schema=DECLARED)
    run_out(gauge)
    write(tmp_path / "in" / "b.csv", [*rows, (7, "a", 7)])
    marked = run_out(gauge)[-1]
    assert (marked.as_of, marked.value) == (START + 6 * SECOND, 2.0)
    assert marked.coverage == 2 / (2 + n)
    assert not marked.contract_met
    assert f"covers {100 * marked.coverage:.3g}%" in str(marked)
    (newest,) = gauge.latest("n")
    assert (newest.coverage, newest.contract_met) == (marked.coverage, False)
    write(tmp_path / "in" / "c.csv", [(t, "a", t) for t in range(8, 13)])
    whole = run_out(gauge)[-1]
    assert (whole.coverage, whole.contract_met, gauge.latest("n")[0].coverage) == (1.0, True, 1.0)


def test_a_file_that_is_refused_marks_answers(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("ts,key,v\n1,2,3\n4,5,6\n")
    gauge = opened(tmp_path, [COUNT], schema=DECLARED)
    run_out(gauge)
    write(tmp_path / "in" / "b.csv", [(t, "a", t) for t in range(6)])
    first, *_, last = (a for a in run_out(gauge) if a.query == "n")
    assert (first.value, last.value, last.coverage) == (1.0, 4.0, 1.0)
    assert first.coverage == pytest.approx(1 / 4 * 1 / 3)
    assert not first.contract_met


def lives(root: Path, shards: int, together: bool) -> list[dict[str, Any]]:
    """Answers over files with and without bad rows, landed in one page or in many."""
    queries = [
        COUNT,
        SUM,
        sg.Query("all", "s", sg.total("v"), window=Unbounded(), answer=sg.every("2 s")),
        sg.Query("five", "s", sg.total("v"), window=sg.Rows(5), answer=sg.every("1 s")),
        sg.Query("long", "s", sg.count(), window=sg.Range("20 min"), answer=sg.every("5 min")),
        sg.Query("each", "s", sg.count(), window=sg.Range("8 s"), group_by=("k",)),
        sg.Query("newest", "s", sg.avg("v"), window=sg.Latest()),
    ]
    write(root / "in" / "0.csv", [(t, "ab"[t % 2], t) for t in range(3)])
    gauge = opened(root, queries, shards=shards)
    for part in range(1, 5):
        rows = [(t, "ab"[t % 2], "?" if t % 97 == 5 else t + part % 2 / 2)
                for t in range(500 * part - 497, 500 * part + 3)]  # fmt: skip
        write(root / "in" / f"{part}.csv", rows)
        if not together:
            run_out(gauge)
    told = [{**answer.as_dict(), "epoch": 0} for answer in run_out(gauge)]
    return sorted(told, key=lambda row: (row["query"], row["as_of"], str(row["group"])))


@pytest.mark.slow
def test_marks_depend_on_neither_pages_nor_shards(tmp_path: Path) -> None:
    whole = lives(tmp_path / "one", 1, True)
    assert {row["query"] for row in whole if row["coverage"] < 1.0} == {
        "n", "sum", "all", "five", "long", "each", "newest",
    }  # fmt: skip
    assert whole == lives(tmp_path / "three", 3, False)
    assert whole == lives(tmp_path / "two", 2, True)
    final = whole[[row["query"] for row in whole].index("newest") - 1]
    assert (final["query"], final["contract_met"]) == ("n", True)


def test_a_column_that_tells_rows_apart_stays_int(tmp_path: Path) -> None:
    write(tmp_path / "in" / "a.csv", [(t, t % 2, t) for t in range(4)])
    grouped = sg.Query("by", "s", sg.count(), window=sg.Range("9 s"), group_by=("v",))
    gauge = opened(tmp_path, [grouped])
    run_out(gauge)
    write(tmp_path / "in" / "b.csv", [(4, 1, 2.5), (5, 1.5, 3), (6, 1, 4), (7, 1, 5)])
    answers = run_out(gauge)
    schema = gauge.registry().stream("s").schema
    assert (schema.type("v"), schema.type("k")) == ("int", "int")
    assert gauge.dead_letters("s").num_rows == 2
    assert all(not answer.contract_met for answer in answers[-2:])


def test_declared_columns_do_not_widen_and_digits_are_not_lost(tmp_path: Path) -> None:
    write(tmp_path / "in" / "a.csv", [(t, "a", 2**53 + t) for t in range(3)])
    gauge = opened(tmp_path)
    run_out(gauge)
    write(
        tmp_path / "in" / "b.csv",
        [(2, "a", 0.5), (3, "a", 0.5), (4, "a", 2**53 + 1), (5, "a", 2**60)],
    )
    run_out(gauge)
    (reason,) = gauge.dead_letters("s")["reason"].to_pylist()
    assert (
        reason
        == "column 'v': 9007199254740993 is a whole number that a float does not hold exactly"
    )
    other = tmp_path / "declared"
    write(other / "in" / "a.csv", [(0, "a", 1), (1, "a", 1.5), (2, "a", 2)])
    declared = opened(other, schema=DECLARED)
    run_out(declared)
    assert declared.registry().stream("s").schema.type("v") == "int"
    assert declared.dead_letters("s").num_rows == 1


def test_rows_go_on_as_a_new_version_and_say_what_they_miss(tmp_path: Path) -> None:
    write(tmp_path / "in" / "a.csv", [(t, "a", t) for t in range(4)])
    gauge = opened(tmp_path)
    gauge.sql("CREATE QUERY big AS SELECT k, v FROM s [RANGE 5 SECONDS] WHERE v > 1")
    gauge.sql("CREATE QUERY per AS SELECT k, SUM(v) AS total FROM s GROUP BY k HAVING SUM(v) > 0")
    run_out(gauge)
    write(tmp_path / "in" / "b.csv", [(4, "a", 4.5), (5, "a", "?"), (6, "a", 6), (7, "a", 7)])
    run_out(gauge)
    assert gauge.registry().query("big").version == 2
    assert sorted(gauge.rows("big")["v"].to_pylist()) == [2.0, 3.0, 4.5, 6.0]
    assert gauge.rows("per")["total"].to_pylist() == [1 + 2 + 3 + 4.5 + 6]
    changes = gauge.row_changes("big").to_pylist()
    assert {row["contract_met"] for row in changes if row["as_of"].second == 6} == {False}
    assert {row["missing"] for row in changes if row["as_of"].second == 6} == {1}
    assert {row["contract_met"] for row in changes if row["as_of"].second < 5} == {True}


def test_widening_is_a_record_that_a_restart_and_a_declaration_find(tmp_path: Path) -> None:
    write(tmp_path / "in" / "a.csv", [(t, "a", t) for t in range(4)])
    gauge = opened(tmp_path, [SUM])
    run_out(gauge)
    write(tmp_path / "in" / "b.csv", [(t, "a", t + 0.5) for t in range(4, 8)])
    run_out(gauge)
    journal = Journal(gauge.home)
    changes = [change for n in range(1, journal.last() + 1) for change in journal.page(n).changes]
    widened = [change for change in changes if change["do"] == "widen"]
    assert widened == [{"do": "widen", "stream": "s", "columns": ["v"]}]
    gauge.stop()
    again = opened(tmp_path)
    assert again.registry().stream("s").schema.type("v") == "float"
    write(tmp_path / "in" / "c.csv", [(t, "a", t) for t in range(8, 12)])
    assert run_out(again)[-1].value == 7.5 + 8 + 9 + 10


def test_pushed_rows_that_are_left_out_mark_answers(tmp_path: Path) -> None:
    gauge = sg.connect(tmp_path / "home", engine="local", shards=1)
    gauge.stream("s", sg.push(), time="ts", key="k", schema=DECLARED)
    gauge.register(COUNT)
    gauge.step()
    good = [json.dumps({"ts": at(t), "k": "a", "v": t}) for t in range(7)]
    bad = json.dumps({"ts": at(4), "k": "a", "v": "x"})
    with PushSpool(gauge.home, gauge.registry().stream("s")) as spool:
        spool.push(Body("\n".join([*good, bad]).encode())).result(30)
    answers = {answer.as_of: answer.coverage for answer in run_out(gauge)}
    assert (answers[START + 3 * SECOND], answers[START + 4 * SECOND]) == (1.0, 0.8)
    assert gauge.step() is False


def test_show_and_describe_tell_it(tmp_path: Path) -> None:
    write(tmp_path / "in" / "a.csv", [(t, "a", t) for t in range(4)])
    gauge = opened(tmp_path, [COUNT])
    run_out(gauge)
    write(tmp_path / "in" / "b.csv", [(4, "a", 4.5), (5, "a", "?"), (6, "a", 6)])
    run_out(gauge)
    assert gauge.sql("SHOW STREAMS")["dead_letters"].to_pylist() == ["1"]
    assert gauge.sql("DESCRIBE s")["role"].to_pylist() == ["time", "key", "widened from int"]
    assert gauge.sql("SHOW ANSWERS")["coverage"].to_pylist() == [0.75]


def test_latest_marks_the_answers_of_all_groups_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of queries that answer at each check, and of those that stand until they change."""
    kept = sg.Query("kept", "s", sg.count(), window=sg.Range("4 s"), group_by="k")
    asked = [
        sg.Query("n", "s", COUNT.select, window=COUNT.window, answer=COUNT.answer, group_by="k")
    ]
    rows: list[Row] = [(1 + n / 100, f"k{n}", n) for n in range(50)]
    write(tmp_path / "in" / "a.csv", [*rows, (1.6, "x", "?"), (2, "k1", 1), (3, "k1", 1)])
    gauge = opened(tmp_path, [*asked, kept], shards=2, schema=DECLARED)
    run_out(gauge)
    calls: list[int] = []
    plain = Losses.coverage
    monkeypatch.setattr(Losses, "coverage", lambda *a: calls.append(len(a[2])) or plain(*a))
    found = gauge.latest()
    assert len(found) == 100
    assert {(answer.contract_met, answer.coverage < 1.0) for answer in found} == {(False, True)}
    # On each shard: at the instants of the answers, and at the instant reached.
    assert len(calls) <= 4


def test_a_folder_of_letters_is_listed_when_it_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, looks = tmp_path / "dead", Buried()
    assert looks.new(folder, set()) == []
    folder.mkdir()
    first, second = (str(folder / f"push-{n}.parquet") for n in (1, 2))
    Path(first).touch()
    (folder / "000000000007-000001.parquet").touch()
    (folder / ".push-3.parquet.tmp").touch()
    # A file that comes within the stamp of the last change is seen; one that is not taken, again.
    assert looks.new(folder, {first}) == []
    Path(second).touch()
    assert [looks.new(folder, {first}) for _ in range(2)] == [[second]] * 2
    os.utime(folder, ns=(0, 0))
    assert [looks.new(folder, {first}) for _ in range(2)] == [[second]] * 2
    assert looks.new(folder, {first, second}) == []
    with monkeypatch.context() as patched:
        patched.setattr("os.scandir", lambda _: pytest.fail("listed without a change"))
        assert looks.new(folder, {first, second}) == []
    (folder / "push-4.parquet").touch()
    assert looks.new(folder, {first, second}) == [str(folder / "push-4.parquet")]


def test_losses_are_read_without_the_rows(tmp_path: Path) -> None:
    letters = {"origin": ["a", "b"], "reason": ["?", "?"], "row": ["1", "2"]}
    pq.write_table(pa.table(letters), tmp_path / "old.parquet")
    more = {**letters, "at": pa.array([5, None], pa.int64()), "rows": pa.array([1, 3], pa.int64())}
    pq.write_table(pa.table(more), tmp_path / "new.parquet")
    old, new = (read_losses(str(tmp_path / f"{name}.parquet")) for name in ("old", "new"))
    assert (old.num_rows, unusable_rows(old, 1, 0)) == (2, {})
    assert (new.num_rows, unusable_rows(new, 1, 0)) == (2, {0: 3, 5: 1})
    assert new.column_names == ["at", "rows"]
