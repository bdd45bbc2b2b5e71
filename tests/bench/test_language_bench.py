"""The workload `language` without a JVM: rows, selections, and results that must agree."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench import language, selections
from bench.harness import ROOT, WARM_UP, Outcome, Task
from bench.peers import select_local, select_ours
from bench.report import Report
from streamgauge.kernel.errors import BindError

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> selections.Prepared:
    return selections.generate(tmp_path_factory.mktemp("selections") / "prepared", 2_000)


def test_all_forms_find_the_same_pairs(prepared: selections.Prepared) -> None:
    def told(form: str) -> dict[str, float]:
        task = Task("select_local", prepared.directory, queries=300, form=form)
        facts = select_local.run(task).facts
        facts.pop("build_seconds", None)
        return facts

    ours = told("ours/pairs")
    assert ours == told("numpy/pairs") == told("duckdb/pairs")
    assert 0.001 < ours["pairs"] / (2_000 * 300) < 0.01
    assert told("ours/bits") == told("numpy/masks")


def test_intervals_and_text_say_what_the_selections_say(prepared: selections.Prepared) -> None:
    asked = [(("a", ">", 3.0), ("a", "<=", 9.0)), (("b", "=", 1.5),)]
    ranges = selections.as_ranges(asked).to_pylist()
    assert ranges[0]["a0"] == np.nextafter(3.0, 4.0)
    assert ranges[0]["a1"] == 9.0
    assert (ranges[1]["b0"], ranges[1]["b1"], ranges[1]["a1"]) == (1.5, 1.5, np.inf)
    assert selections.as_sql(asked) == "(a > 3.0 AND a <= 9.0) OR (b = 1.5)"


def test_half_of_the_rows_pass_an_inequality(prepared: selections.Prepared) -> None:
    rows = prepared.table()
    asked = selections.inequalities(rows, 400, 2)
    assert {len(selection) for selection in asked} == {2}
    task = Task("select_local", prepared.directory, queries=400, form="numpy/masks")
    share = select_local.run(task).facts["pairs"] / (400 * rows.num_rows)
    assert 0.15 < share < 0.35


def test_rows_of_others_need_their_columns(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    table = pa.table({"ts": [1, 2], "a": [1, 2], "b": [0.5, float("nan")]})
    pq.write_table(table.drop_columns(["b"]), tmp_path / "data" / "x.parquet")
    with pytest.raises(BindError, match="the rows lack b"):
        selections.adopt(tmp_path / "one", tmp_path / "data", 10)
    pq.write_table(table, tmp_path / "data" / "x.parquet")
    assert selections.adopt(tmp_path / "two", tmp_path / "data", 10).rows == 1


def test_a_result_that_differs_is_told() -> None:
    extent = language.Extent(10, 5, 5, (128,), 1, 1.0)
    names = [*language.LINES, "shared_128", "single_128"]
    found = {name: [Outcome(10, 1.0, facts={"pairs": 7.0})] for name in names}
    report = Report("language", quick=False, origin="made up")
    language._compare(report, found, extent)
    assert report.right
    found["spark join"] = [Outcome(10, 1.0, facts={"pairs": 8.0})]
    language._compare(report, found, extent)
    assert not report.right
    assert "spark join" in report.checked
    found["ours"] = [Outcome(250, 1.0, facts={"pairs": 7.0, "build_seconds": 0.5})]
    language._judge(report, found, extent)
    assert report.bars["shared_index_over_per_query"].met
    assert report.bars["build_seconds"].met
    assert not report.bars["bitmap_over_masks"].met
    found["engine local"] = [Outcome(10, 1.0, facts={"pairs": 7.0, "plan_seconds": 0.02})]
    language._judge(report, found, extent)
    assert report.bars["plan_10000_seconds"].value == pytest.approx(40.0)
    assert not report.bars["plan_10000_seconds"].met


def test_the_local_engine_gives_as_many_pairs(
    prepared: selections.Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    task = Task("select_ours", prepared.directory, queries=60, form="local", seconds=60.0)
    outcome = select_ours.run(task)
    index = Task("select_local", prepared.directory, queries=60, form="ours/pairs")
    assert outcome.facts["pairs"] == select_local.run(index).facts["pairs"] > 0
    assert outcome.rows == 2_000 * (selections.FILES - WARM_UP) // selections.FILES
    assert 0 < outcome.facts["plan_seconds"] < outcome.facts["first_answer_seconds"]


def test_a_peer_ends_when_its_parent_is_gone() -> None:
    """The child has a session of its own, as peers do, and holds the pipe until it ends."""
    child = "import sys; from bench.peers.__main__ import end_with; end_with(int(sys.argv[1]))"
    parent = (
        "import os, subprocess, sys; "
        f"subprocess.Popen([sys.executable, '-c', {child!r}, str(os.getpid())], "
        "start_new_session=True)"
    )
    done = subprocess.run(
        [sys.executable, "-c", parent], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
