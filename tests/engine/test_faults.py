"""Bad input and faults: a clear error or a dead letter, nothing lost, other queries go on."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streamgauge as sg
from streamgauge.kernel.errors import (
    BindError,
    ContractUnsatisfiable,
    EngineFailure,
    QueryNotFound,
    SourceFailure,
    StreamgaugeError,
    UnsupportedWindow,
)
from streamgauge.kernel.time import DAY, SECOND, instant
from streamgauge.log.commits import state_files
from streamgauge.results.change_log import as_answers

pytestmark = pytest.mark.slow

START = instant("2026-01-01T00:00:00Z")


def write(path: Path, rows: list[tuple[str, float, float | None]], **more: Any) -> None:
    """A parquet file of (series, seconds, value)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    columns: dict[str, Any] = {
        "series": [name for name, _, _ in rows],
        "ts": pa.array(
            [START + int(at * SECOND) for _, at, _ in rows], pa.timestamp("us", tz="UTC")
        ),
        "value": pa.array([value for _, _, value in rows], pa.float64()),
    }
    pq.write_table(pa.table({**columns, **more}), path)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    write(tmp_path / "files" / "a.parquet", [("s1", 0, 1.0), ("s2", 1, 2.0), ("s1", 2, 3.0)])
    return tmp_path / "files"


@pytest.fixture
def gauge(tmp_path: Path, files: Path) -> sg.Gauge:
    gauge = sg.connect(tmp_path / "home", engine="local", shards=2)
    gauge.stream("plant", source=sg.files(files), time="ts", key="series")
    return gauge


def ask(name: str = "q", select: Any = None, **more: Any) -> sg.Query:
    if "series" not in more:
        more = {"window": sg.Latest(), **more}
    return sg.Query(name, more.pop("stream", "plant"), select or sg.avg("value"), **more)


def run_out(gauge: sg.Gauge) -> list[sg.Answer]:
    while gauge.step():
        pass
    return list(as_answers(gauge.answers()))


REFUSED: list[tuple[str, type[StreamgaugeError], Callable[[], sg.Query], str]] = [
    ("unknown column", BindError, lambda: ask(select=sg.avg("valu")), "unknown column 'valu'"),
    ("text column", BindError, lambda: ask(select=sg.avg("series")), "is not a number"),
    ("unknown stream", QueryNotFound, lambda: ask(stream="plan"), "no stream named 'plan'"),
    ("no window, no series", BindError, lambda: ask(window=None), "which rows it reads"),
    ("unknown window", BindError, lambda: ask(window="hour"), "unknown window 'hour'"),
    (
        "window off the tick",
        UnsupportedWindow,
        lambda: ask(window=sg.Range("1500 ms")),
        "not a whole number of ticks",
    ),
    (
        "negative slide",
        UnsupportedWindow,
        lambda: ask(window=sg.Range("1 minute", -1)),
        "positive slide",
    ),
    ("no rows", UnsupportedWindow, lambda: ask(window=sg.Rows(0)), "positive number"),
    ("filter, no window", BindError, lambda: ask(where=sg.col("value") > 1), "no window"),
    (
        "text against number",
        BindError,
        lambda: ask(window=sg.Now(), where=sg.col("value") > "x"),
        "compared with 'x'",
    ),
    ("weights", BindError, lambda: ask(series=("s1",), weights=(1.0, 2.0)), "weights must match"),
    ("series twice", BindError, lambda: ask(series=("s1", "s1")), "twice"),
    ("no series", BindError, lambda: ask(series=()), "names no series"),
    ("unknown group", BindError, lambda: ask(window=sg.Now(), group_by="zone"), "'zone'"),
    (
        "approximate",
        ContractUnsatisfiable,
        lambda: ask(contract=sg.Contract.rank(0.5, confidence=0.9)),
        "no rank to be wrong in",
    ),
    ("cadence", BindError, lambda: ask(answer=sg.every("1500 ms")), "whole number of ticks"),
    ("negative change", BindError, lambda: ask(answer=sg.on_change(-1)), "0 or more"),
]


@pytest.mark.parametrize(
    ("error", "make", "text"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED]
)
def test_a_bad_query_is_refused_and_others_go_on(
    gauge: sg.Gauge, error: type[StreamgaugeError], make: Callable[[], sg.Query], text: str
) -> None:
    gauge.register(ask("good"))
    with pytest.raises(error, match=text) as caught:
        gauge.register(ask("also good"), make())
    assert caught.value.detail
    assert caught.value.hint
    assert {answer.query for answer in run_out(gauge)} == {"good"}


def test_a_name_that_is_taken_is_refused(gauge: sg.Gauge) -> None:
    gauge.register(ask())
    with pytest.raises(BindError, match="query 'q' exists already"):
        gauge.register(ask())


def test_a_clash_between_processes_is_refused_by_the_job_and_told(gauge: sg.Gauge) -> None:
    other = sg.connect(gauge.home.path, engine="local")
    gauge.register(ask("q"), ask("mine"))
    other.register(ask("q"), ask("yours"))
    run_out(gauge)
    assert set(gauge.registry().queries) == {"q", "mine", "yours"}
    assert [r["message"] for r in gauge.refusals()] == ["query 'q' exists already"]


def test_a_refusal_is_told_as_soon_as_its_page_is_committed(gauge: sg.Gauge) -> None:
    other = sg.connect(gauge.home.path, engine="local")
    gauge.register(ask("q"))
    other.register(ask("q"))
    assert gauge.step()
    assert [r["message"] for r in gauge.refusals()] == ["query 'q' exists already"]


def test_streams_that_cannot_be(tmp_path: Path, files: Path) -> None:
    gauge = sg.connect(tmp_path / "home", engine="local")
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceFailure):
        gauge.stream("e", source=sg.files(tmp_path / "empty"), time="ts")
    with pytest.raises(SourceFailure):
        gauge.stream("m", source=sg.files(tmp_path / "missing"), time="ts")
    with pytest.raises(BindError, match="no event time"):
        gauge.stream("t", source=sg.files(files))
    with pytest.raises(BindError, match="cannot be event time"):
        gauge.stream("t", source=sg.files(files), time="series")
    with pytest.raises(BindError, match="unknown column 'when'"):
        gauge.stream("t", source=sg.files(files), time="when")


def test_an_empty_directory_with_a_schema_waits_for_its_first_file(tmp_path: Path) -> None:
    gauge = sg.connect(tmp_path / "home", engine="local")
    schema = sg.Schema.of(series="string", ts="time", value="float")
    (tmp_path / "files").mkdir()
    source = sg.files(tmp_path / "files")
    gauge.stream("plant", source=source, time="ts", key="series", schema=schema)
    gauge.register(ask())
    assert run_out(gauge) == []
    write(tmp_path / "files" / "a.parquet", [("s1", 0, 1.0), ("s1", 1, 2.0)])
    assert [answer.value for answer in run_out(gauge)] == [1.0]


def test_corrupt_changed_and_strange_files_are_buried_and_the_rest_goes_on(
    gauge: sg.Gauge, files: Path
) -> None:
    gauge.register(ask("n", sg.count(), window=sg.Landmark(0), answer=sg.on_close()))
    good = (files / "a.parquet").read_bytes()
    (files / "b.parquet").write_bytes(good[: len(good) // 2])
    (files / "c.parquet").write_text("not parquet at all")
    pq.write_table(pa.table({"series": ["s1"], "value": [1.0]}), files / "d.parquet")
    write(files / "e.parquet", [("s1", 3, 1.0)], extra=["more"])
    text = pa.table({"series": ["s1"], "ts": ["yesterday"], "value": ["much"]})
    pq.write_table(text, files / "f.parquet")
    write(files / "g.parquet", [("s2", 5, 1.0)])
    answers = run_out(gauge)
    assert answers[-1].value == 4.0
    letters = gauge.dead_letters("plant").to_pylist()
    assert {Path(letter["origin"].split(":")[0]).name for letter in letters} == {
        "b.parquet", "c.parquet", "d.parquet", "f.parquet",
    }  # fmt: skip
    assert all(letter["reason"] for letter in letters)


def test_nan_and_infinity_are_no_values_and_are_told(gauge: sg.Gauge, files: Path) -> None:
    gauge.register(ask("sum", sg.total("value"), window=sg.Landmark(0), answer=sg.on_close()))
    write(files / "b.parquet", [("s1", 3, float("nan")), ("s2", 5, 4.0)])
    write(files / "c.parquet", [("s2", 6, float("inf")), ("s1", 7, 0.0)])
    write(files / "d.parquet", [("s1", 8, 0.0)])
    assert run_out(gauge)[-1].value == 10.0
    letters = gauge.dead_letters("plant").to_pylist()
    told = {Path(letter["origin"].split(":")[0]).name: letter["reason"] for letter in letters}
    assert "nan" in told["b.parquet"].lower()
    assert "inf" in told["c.parquet"].lower()
    assert len(letters) == 2


def test_rows_from_the_future_do_not_push_the_watermark(gauge: sg.Gauge, files: Path) -> None:
    gauge.register(ask("n", sg.count(), window=sg.Landmark(0), answer=sg.on_close()))
    write(
        files / "b.parquet", [("s1", 3, 1.0), ("s1", 100 * 365 * DAY / SECOND, 1.0), ("s1", 4, 1)]
    )
    write(files / "c.parquet", [("s1", 5, 1.0)])
    assert [answer.value for answer in run_out(gauge)][-1] == 5.0
    (letter,) = gauge.dead_letters("plant").to_pylist()
    assert "ahead of its arrival" in letter["reason"]


def test_a_full_disk_stops_the_job_and_nothing_is_lost(
    gauge: sg.Gauge, monkeypatch: pytest.MonkeyPatch
) -> None:
    gauge.register(ask())

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    gauge.start()
    with pytest.raises(EngineFailure, match="disk is full"):
        gauge.drain(timeout=30)
    gauge.stop()
    monkeypatch.undo()
    assert [answer.value for answer in run_out(gauge)] == [1.0, 1.5]


def test_state_that_is_damaged_is_refused(gauge: sg.Gauge, files: Path) -> None:
    gauge.register(ask())
    gauge.step()
    gauge.stop()
    (path,) = state_files(gauge.home, 1, 0)
    path.write_bytes(path.read_bytes()[:-10])
    write(files / "b.parquet", [("s1", 9, 1.0)])
    gauge.start()
    with pytest.raises(EngineFailure, match="damaged"):
        gauge.drain(timeout=30)
    gauge.stop()


def test_late_rows_are_charged_and_counted(tmp_path: Path, files: Path) -> None:
    gauge = sg.connect(tmp_path / "home", engine="local")
    gauge.stream("plant", source=sg.files(files), time="ts", key="series")
    gauge.register(ask("n", sg.count(), window=sg.Range("1 minute"), answer=sg.every("1 s")))
    write(files / "b.parquet", [("s1", 9, 1.0), ("s2", 3, 7.0), ("s1", 12, 1.0)])
    answers = run_out(gauge)
    assert (answers[-1].value, answers[-1].high) == (4.0, 5.0)
    assert [charge.by for charge in answers[-1].charges] == ["late rows"]
    assert not answers[-1].contract_met
    assert gauge.progress().late == 1


def test_a_newer_row_ends_the_doubt_that_a_late_one_left(tmp_path: Path, files: Path) -> None:
    gauge = sg.connect(tmp_path / "home", engine="local")
    gauge.stream("plant", source=sg.files(files), time="ts", key="series")
    gauge.register(ask("sum", sg.total("value")))
    write(files / "b.parquet", [("s1", 9, 1.0), ("s2", 3, 7.0)])
    write(files / "c.parquet", [("s1", 10, 1.5), ("s2", 12, 4.0), ("s1", 20, 1.5)])
    found = {(a.as_of - START) // SECOND: a for a in run_out(gauge)}
    assert (found[9].low, found[9].high) == (3.0, 8.0)
    assert (found[12].value, found[12].low, found[12].high) == (5.5, 5.5, 5.5)
    assert found[12].contract_met


def test_a_late_row_widens_no_window_that_it_has_left(tmp_path: Path, files: Path) -> None:
    gauge = sg.connect(tmp_path / "home", engine="local")
    gauge.stream("plant", source=sg.files(files), time="ts", key="series")
    gauge.register(ask("n", sg.count(), window=sg.Range("10 s"), answer=sg.every("1 s")))
    rows = [("s1", at, 1.0) for at in range(3, 90)]
    write(files / "b.parquet", [*rows[:7], ("s2", 3, 7.0), *rows[7:]])
    found = {(a.as_of - START) // SECOND: a for a in run_out(gauge)}
    widened = [second for second, answer in found.items() if answer.low != answer.high]
    assert widened == list(range(9, 13))


def test_a_late_row_takes_no_place_in_a_window_of_rows(tmp_path: Path, files: Path) -> None:
    gauge = sg.connect(tmp_path / "home", engine="local")
    gauge.stream("plant", source=sg.files(files), time="ts", key="series")
    gauge.register(ask("sum", sg.total("value"), window=sg.Rows(2), answer=sg.every("1 s")))
    write(files / "b.parquet", [("s1", 9, 1.0), ("s2", 3, 7.0), ("s1", 12, 1.5), ("s1", 13, 0.0)])
    found = {(a.as_of - START) // SECOND: a.value for a in run_out(gauge)}
    assert (found[2], found[9], found[12]) == (5.0, 4.0, 2.5)


def test_files_past_their_keep_are_let_go(tmp_path: Path) -> None:
    source = tmp_path / "csv"
    source.mkdir()
    gauge = sg.connect(tmp_path / "home", engine="local")
    schema = sg.Schema.of(series="string", ts="time", value="float")
    gauge.stream(
        "plant",
        source=sg.files(source, "csv"),
        time="ts",
        key="series",
        schema=schema,
        keep="1 minute",
    )
    gauge.register(ask("m", window=sg.Range("1 minute"), answer=sg.every("1 minute")))
    for minute in range(12):
        lines = [f"s1,2026-01-01T00:{minute:02d}:{second:02d}Z,{second}" for second in range(60)]
        (source / f"{minute:02d}.csv").write_text("\n".join(["series,ts,value", *lines]) + "\n")
        gauge.step()
    kept = sorted(path.name for path in gauge.home.segments("plant").iterdir())
    assert len(kept) < 6
    late = ask("late", window=sg.Range("10 minutes"), answer=sg.every("1 minute"))
    gauge.register(late)
    (source / "99.csv").write_text("series,ts,value\ns1,2026-01-01T00:12:01Z,1\n")
    answers = [answer for answer in run_out(gauge) if answer.query == "late"]
    assert 0.0 < answers[-1].coverage < 1.0
