"""The bench without a JVM: rows, queries, the check, the harness, the report, the comparison."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

import bench
import streamgauge as sg
from bench import check, compare, harness, spine
from bench.data import Card, Sizes, choose_members, generate, load, parts, prepare, tick_for
from bench.harness import Group, Outcome, Spread, Steps, Task, in_turns, ratios
from bench.peers.plain import membership
from bench.peers.scan import from_progress
from bench.peers.stream import by_tick
from bench.queries import calibrate, declare, portfolio, windowed
from bench.report import Bar, Line, Report
from streamgauge.kernel.errors import BindError, QueryNotFound, SourceFailure

pytestmark = pytest.mark.slow

SIZES = Sizes(rows=6_000, batch=600, queries=40, ticks=5, slices=3, n_series=20)


@pytest.fixture(scope="module")
def card(tmp_path_factory: pytest.TempPathFactory) -> Card:
    directory = tmp_path_factory.mktemp("bench") / "prepared"
    made = prepare(generate(SIZES.rows, SIZES.n_series), directory, SIZES, origin="generated")
    return calibrate(made)


def write(path: Path, **columns: object) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path / "part.parquet")
    return path


def seconds(*values: float) -> pa.Array:
    return pa.array([round(value * 1e6) for value in values], pa.timestamp("us"))


def test_generated_rows_tick_together_and_walk() -> None:
    columns = generate(2_500, 10)
    assert len(columns) == 2_500
    assert (np.diff(columns.ts) >= 0).all()
    assert np.bincount(columns.sid).tolist() == [250] * 10
    assert len(set(columns.zone)) == 10
    assert (generate(2_500, 10).value == columns.value).all()


def test_prepared_files_hold_every_row_in_order(card: Card) -> None:
    assert (card.rows, card.batch, card.files) == (6_000, 600, 10)
    found = list(parts(card))
    ts = np.concatenate([part.ts for part in found])
    assert len(ts) == 6_000
    assert (np.diff(ts) >= 0).all()
    files = sorted(card.path("rows").iterdir())
    ages = [path.stat().st_mtime for path in files]
    assert ages == sorted(set(ages))
    assert pq.ParquetFile(files[0]).metadata.num_row_groups > 1


def test_a_tick_file_holds_one_tick(card: Card) -> None:
    found = list(parts(card, "ticks"))
    assert len(found) == SIZES.ticks
    assert all(len(np.unique(part.ts)) == 1 and len(part.ts) == 20 for part in found)
    assert sum(len(part.ts) for part in parts(card, "slices")) == 180


def test_the_card_can_be_read_again(card: Card) -> None:
    assert Card.read(card.directory) == card
    assert card.epsilon > 0


def test_members_are_distinct_and_as_many_as_there_are() -> None:
    members = choose_members(100, 50)
    assert members.shape == (50, 9)
    assert all(len(set(row)) == 9 for row in members.tolist())
    assert choose_members(4, 3).shape == (3, 4)


def test_own_rows_are_sorted_and_get_zones(tmp_path: Path) -> None:
    directory = write(
        tmp_path / "own", series=["b", "a", "a", None], ts=seconds(3, 1, 2, 4), value=[3, 1, 2, 4]
    )
    columns = load(directory)
    assert columns.ts.tolist() == [1_000_000, 2_000_000, 3_000_000]
    assert [columns.series[number] for number in columns.sid] == ["a", "a", "b"]
    assert columns.value.tolist() == [1.0, 2.0, 3.0]
    assert all(zone.startswith("zone-") for zone in columns.zone)


def test_own_zones_are_kept(tmp_path: Path) -> None:
    directory = write(
        tmp_path, series=["a", "b"], ts=seconds(1, 2), value=[1.0, 2.0], zone=["north", None]
    )
    north, derived = load(directory).zone
    assert north == "north"
    assert derived.startswith("zone-")


def test_few_slow_rows_of_few_series_can_be_prepared(tmp_path: Path) -> None:
    times = [3600.0 * hour for hour in range(30)]
    directory = write(
        tmp_path / "own", series=["a", "b", "c"] * 10, ts=seconds(*times), value=list(range(30))
    )
    made = prepare(load(directory), tmp_path / "prepared", SIZES, origin="own")
    assert made.tick == 3600 * 1_000_000
    assert made.batch == 5
    assert made.members().shape == (40, 3)
    assert len(windowed(made)) == 1_000
    assert calibrate(made).epsilon >= 0


@pytest.mark.parametrize(
    ("times", "tick"), [((0, 1, 2), 1), ((0, 0.1, 0.2), 1), ((0, 60, 120, 180), 60), ((5,), 1)]
)
def test_the_tick_follows_the_data(times: tuple[float, ...], tick: int) -> None:
    assert tick_for(np.array([round(t * 1e6) for t in times])) == tick * 1_000_000


def test_missing_columns_and_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(SourceFailure, match="no parquet files"):
        load(tmp_path)
    with pytest.raises(BindError, match="no column 'ts'"):
        load(write(tmp_path / "own", series=["a"], value=[1.0]))
    with pytest.raises(SourceFailure, match="no usable rows"):
        load(write(tmp_path / "null", series=["a"], ts=seconds(1), value=[float("nan")]))


def test_about_one_check_in_a_hundred_answers(card: Card) -> None:
    rows = check.whole(card)
    members = card.members()
    given = sum(len(check.average_answers(card, rows, row)[0]) - 1 for row in members)
    assert 0.005 < given / (len(members) * 299) < 0.02


@pytest.fixture(scope="module")
def home(card: Card, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("gauge")
    gauge = sg.connect(directory, engine="local", max_rows=card.batch)
    declare(gauge, card)
    gauge.register(*portfolio(card, SIZES.queries), *windowed(card))
    while gauge.step():
        pass
    return directory


def test_the_check_agrees_with_the_local_engine(card: Card, home: Path) -> None:
    found = check.check(card, home, n_queries=SIZES.queries)
    assert found.wrong == ()
    assert found.queries == 20
    assert found.answers > 100
    assert 0.005 < found.share < 0.02


def test_the_check_sees_a_wrong_answer(card: Card, home: Path) -> None:
    found = check.check(replace(card, epsilon=card.epsilon * 2), home, n_queries=SIZES.queries)
    assert found.wrong
    assert all(name.startswith("avg-") for name in found.wrong)


def test_memberships_and_rows_reach_the_peers(card: Card) -> None:
    table = membership(card, 10)
    assert table.num_rows == 90
    assert set(table["series"].to_pylist()) <= set(card.series)
    ticks = by_tick(card, 60)
    assert [len(tick.sid) for tick in ticks] == [20, 20, 20]
    assert ticks[0].delta == ticks[0].value
    moved = np.array(ticks[0].value) + np.array(ticks[1].delta)
    np.testing.assert_allclose(moved, ticks[1].value)


def test_the_limit_runs_in_its_own_process(card: Card) -> None:
    limit = Task("limit", card.directory, queries=40, seconds=100.0)
    (outcome,) = harness.run_tasks([limit])
    assert outcome.missing == ""
    assert outcome.rows == 4 * card.batch
    assert outcome.rate is not None


def test_a_crash_is_an_outcome(tmp_path: Path) -> None:
    first, second = harness.run_tasks([Task("limit", str(tmp_path)), Task("limit", "")])
    assert first.missing.startswith("failed: FileNotFoundError")
    assert second.missing
    assert first.rate is None


def test_an_overrun_is_an_outcome(card: Card, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harness, "GRACE_SECONDS", 0.0)
    (outcome,) = harness.run_tasks([Task("limit", card.directory, seconds=0.01)])
    assert outcome.missing.startswith("not done within")


def test_turns_are_interleaved() -> None:
    order: list[str] = []

    def run(group: Group) -> list[Outcome]:
        order.extend(group)
        return [Outcome(rows=len(order), seconds=1.0) for _ in group]

    found = in_turns([{"a": Task("a", ""), "b": Task("b", "")}, {"c": Task("c", "")}], 2, run)
    assert order == ["a", "b", "c", "a", "b", "c"]
    assert [outcome.rows for outcome in found["c"]] == [3, 6]


def test_spreads_and_ratios_pass_over_what_is_missing() -> None:
    assert Spread.of([3.0, None, 1.0, 2.0]) == Spread(2.0, 1.0, 3.0, 3)
    assert Spread.of([None]) is None
    ours = [Outcome(rows=10, seconds=1.0), Outcome(missing="crash")]
    theirs = [Outcome(rows=20, seconds=1.0), Outcome(rows=20, seconds=1.0)]
    assert ratios(ours, theirs) == Spread(0.5, 0.5, 0.5, 1)


def test_batches_after_the_warm_up_count() -> None:
    records = [
        {
            "batchId": number,
            "numInputRows": 100,
            "timestamp": f"2026-01-01T00:00:{10 + number:02d}.000Z",
            "durationMs": {"triggerExecution": 500},
        }
        for number in range(5)
    ]
    outcome = from_progress(records, 2, (1, 10.0), 13.0)
    assert (outcome.rows, outcome.seconds, outcome.first_seconds) == (300, 3.0, 0.5)
    assert outcome.cpu_seconds == 3.0
    assert from_progress(records[:2], 2, None, None).missing == "only 2 batches"


def test_steps_are_lines_without_a_terminal() -> None:
    out = io.StringIO()
    steps = Steps(Console(file=out, width=100), 1)
    with steps.shown(), steps.step("ours") as said:
        said.append("1M rows/s")
    assert out.getvalue() == "[1/1] ours: 1M rows/s (0 s)\n"


def example() -> Report:
    ours = Line("ours", "ours", [Outcome(100, 1.0, 2.0, 0.5), Outcome(120, 1.0, 2.0, 0.5)])
    peer = Line("bytewax", "Bytewax", [Outcome(missing="not installed")])
    report = Report("spine", quick=True, origin="generated", lines=[ours, peer])
    report.figures["state_bytes"] = Spread(10.0, 9.0, 11.0, 2), "bytes"
    report.bars["scan_share"] = Bar(0.6, 0.5)
    report.bars["registration_epochs"] = Bar(3.0, 2.0, at_least=False)
    report.bars["versus_plain_spark"] = Bar(None, 20.0)
    return report


def test_the_json_has_its_shape(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    example().write(path)
    found = json.loads(path.read_text())
    assert found["figures"]["ours"]["value"] == 110.0
    assert found["figures"]["ours"]["repetitions"] == [100.0, 120.0]
    assert found["figures"]["bytewax"]["value"] is None
    assert found["figures"]["state_bytes"]["unit"] == "bytes"
    assert found["bars"] == {
        "scan_share": {"value": 0.6, "target": 0.5, "met": True},
        "registration_epochs": {"value": 3.0, "target": 2.0, "met": False},
        "versus_plain_spark": {"value": None, "target": 20.0, "met": False},
    }
    assert {"cores", "memory_gib", "load"} <= found["machine"].keys()
    assert {"python", "streamgauge", "pyspark"} <= found["versions"].keys()


def test_the_tables_print_what_is_missing() -> None:
    out = io.StringIO()
    example().show(Console(file=out, width=120))
    text = out.getvalue()
    assert "N/A" in text
    assert "Bytewax: not installed" in text
    assert "missed" in text
    assert "1.00" in text


def test_two_runs_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    report = example()
    report.write(old)
    assert compare.main([str(old), str(old)]) == 0
    report.lines[0] = Line("ours", "ours", [Outcome(10, 1.0), Outcome(12, 1.0)])
    report.write(new)
    assert compare.main([str(old), str(new)]) == 1
    assert "worse" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "unit", "expected"),
    [
        ((10, 9, 11), (10.5, 10, 11), "rows/s", "same"),
        ((10, 9, 11), (20, 19, 21), "s", "worse"),
        ((10, 5, 21), (20, 19, 21), "rows/s", "noise"),
        ((10, 9, 11), None, "rows/s", "gone"),
        (None, (10, 9, 11), "rows/s", "new"),
        ((10, 9, 11), (5, 4, 6), "bytes", "better"),
    ],
)
def test_verdicts(
    old: tuple[float, ...] | None, new: tuple[float, ...] | None, unit: str, expected: str
) -> None:
    before, after = (
        dict(zip(("value", "low", "high"), given or (None,) * 3, strict=True)) | {"unit": unit}
        for given in (old, new)
    )
    assert compare.verdict(before, after) == expected


def test_an_unknown_workload_is_refused() -> None:
    with pytest.raises(QueryNotFound, match="no workload named 'nothing'"):
        bench.run("nothing")


@pytest.mark.parametrize(
    ("right", "value", "quick", "code"),
    [(True, 0.6, False, 0), (True, 0.4, False, 1), (True, 0.4, True, 0), (False, 0.6, True, 1)],
)
def test_the_exit_code_says_whether_all_is_well(
    monkeypatch: pytest.MonkeyPatch, right: bool, value: float, quick: bool, code: int
) -> None:
    report = example()
    report.right, report.bars = right, {"scan_share": Bar(value, 0.5)}
    monkeypatch.setattr(spine, "run", lambda **_: report)
    console = Console(file=io.StringIO())
    assert bench.run("spine", quick=quick, console=console) == code


def test_a_quick_run_needs_two_java_processes(card: Card, tmp_path: Path) -> None:
    run = spine._Spine(spine.QUICK_EXTENT, tmp_path, Console(file=io.StringIO()))
    assert len(run._turns(card)) == 2
    assert [list(group) for group in run._once(card)] == [["limit"]]
    full = spine._Spine(spine.FULL_EXTENT, tmp_path, Console(file=io.StringIO()))
    assert all(len(group) == 1 for group in full._turns(card))
    assert {"pathway", "bytewax", "flink"} <= {name for group in full._once(card) for name in group}
