"""The workloads `synopses` and `windows` without a JVM: rows, exact answers, errors, the check."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streamgauge as sg
from bench import hops, sketches, synopses, windows
from bench.harness import Outcome, Task
from bench.peers import hop_ours, sketch_local
from bench.report import Report
from streamgauge.kernel.errors import BindError

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> sketches.Prepared:
    return sketches.generate(tmp_path_factory.mktemp("sketches") / "prepared", 60_000)


def test_the_truth_is_exact(prepared: sketches.Prepared) -> None:
    truth = prepared.truth()
    table = pq.read_table(prepared.parquet)
    group, key = (table[name].to_numpy() for name in ("g", "key"))
    assert prepared.rows == 60_000
    for place in (0, 7, 500):
        inside = key[group == truth["groups"][place]]
        assert truth["distinct"][place] == len(set(inside.tolist()))
        items, counts = np.unique(inside, return_counts=True)
        least = np.sort(counts)[::-1][: sketches.TOP].min()
        named = np.isin(items, truth["tops"][place])
        assert named.sum() == sketches.TOP
        assert counts[named].min() == least


def test_errors_are_distances_from_the_truth(prepared: sketches.Prepared) -> None:
    truth = prepared.truth()
    groups = truth["groups"].tolist()
    right = dict(zip(groups, truth["distinct"].tolist(), strict=True))
    assert sketches.distinct_error(truth, right)["worst"] == 0.0
    tenth = {group: 1.1 * count for group, count in right.items()}
    assert sketches.distinct_error(truth, tenth)["error"] == pytest.approx(0.1)
    tops = dict(zip(groups, truth["tops"].tolist(), strict=True))
    assert sketches.missed(truth, tops)["error"] == 0.0
    half = {group: items[:5] for group, items in tops.items()}
    assert sketches.missed(truth, half)["error"] == pytest.approx(0.5)
    ends = [[-1.0] * 3] * len(groups)
    lowest = sketches.rank_error(truth, dict(zip(groups, ends, strict=True)))
    assert lowest["worst"] == pytest.approx(0.99)


@pytest.mark.parametrize(
    "form", ["ours/distinct", "ours/quantiles", "ours/top", "duckdb/distinct", "duckdb/quantiles"]
)
def test_local_forms_answer_near_the_truth(prepared: sketches.Prepared, form: str) -> None:
    """Top lists of sixty rows are full of ties: a third of a list may differ in those."""
    outcome = sketch_local.run(Task("sketch_local", prepared.directory, form=form))
    assert outcome.rows == 60_000
    assert outcome.facts["error"] < (0.35 if form == "ours/top" else 0.1)


def test_a_ratio_counts_at_an_error_no_worse() -> None:
    names = [f"{a}_{b}" for a in ("ours", "spark") for b in (*synopses.FORMS, "all", "scan")]
    names += [f"{w}_local_{f}" for w in ("ours", "duckdb", "chdb") for f in synopses.FORMS]
    found = {name: [Outcome(1000, 1.0, 1.0, facts={"error": 0.01})] for name in names}
    found["ours_distinct"] = [Outcome(3000, 1.0, 1.0, facts={"error": 0.02})]
    report = Report("synopses", quick=False, origin="made up")
    synopses._judge(report, found)
    assert report.bars["distinct_vs_spark"].met
    assert not report.bars["distinct_error_vs_spark"].met
    assert not report.bars["top_vs_spark"].met
    assert report.bars["all_three_share_of_scan"].value == 1.0


def test_rows_of_others_need_their_columns(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    pq.write_table(pa.table({"g": [1], "x": [2.0]}), tmp_path / "data" / "a.parquet")
    with pytest.raises(BindError, match="lack key, v"):
        sketches.adopt(tmp_path / "one", tmp_path / "data")
    with pytest.raises(BindError, match="lack key, ts, value"):
        hops.adopt(tmp_path / "two", tmp_path / "data", 100, 10)


def test_sampled_answers_are_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hops, "KEYS", 20)
    made = hops.generate(tmp_path / "hops", 20_000, 5_000)
    gauge = sg.connect(tmp_path / "home", engine="local", shards=2)
    gauge.stream("rows", source=sg.files(made.path("rows")), key="key", time="ts")
    gauge.register(*hop_ours.queries("p95"))
    gauge.start()
    gauge.drain(timeout=120)
    gauge.stop()
    assert windows.check(gauge.home, made) == (0, windows.SAMPLED)
    wrong = hops.generate(tmp_path / "others", 20_000, 5_000)
    table = pq.read_table(wrong.path("rows"))
    table = table.set_column(2, "value", pa.array(np.asarray(table["value"]) + 1.0))
    for old in wrong.path("rows").glob("*.parquet"):
        old.unlink()
    pq.write_table(table, wrong.path("rows") / "00000.parquet")
    assert windows.check(gauge.home, wrong)[0] > 0
