"""The workload `promise`: its rows, its measures by hand, and a tiny run of it."""

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

from bench import promise
from bench.promise_aggregates import AGGREGATES, aggregate, dropped_series, exact_series
from bench.promise_data import RECORDED, SHARED, Store, Stores, given, made_up, zipf
from bench.promise_fed import Fed, ranges
from bench.promise_measures import (
    Clock,
    Line,
    at_equal_work,
    hist_mse,
    in_all,
    in_window,
    line_of,
    omniscient,
    rare_rows,
)
from bench.promise_plain import alike
from bench.promise_selections import shared, simple
from streamgauge.kernel.errors import SourceFailure

pytestmark = pytest.mark.slow

SECOND = 1_000_000


def stores(left: list[tuple[int, int]], right: list[tuple[int, int]]) -> Stores:
    """Stores from pairs of a second and an item."""
    sides = []
    for rows in (left, right):
        ts, item = np.array(rows, np.int64).T
        sides.append(Store(ts * SECOND, item, item.astype(np.float64)))
    return Stores("by hand", (sides[0], sides[1]))


def line(two: Stores, tick: int = 1, window: int = 3) -> Line:
    return line_of(two, Clock(tick * SECOND, window * SECOND))


def test_matches_by_hand() -> None:
    two = stores([(1, 7), (2, 7), (3, 8), (6, 7)], [(2, 7), (3, 7), (4, 8), (5, 9)])
    found = line(two)
    # By tick, then store: (1, a7) (2, a7) (2, b7) (3, a8) (3, b7) (4, b8) (5, b9) (6, a7).
    assert found.side.tolist() == [0, 0, 1, 0, 1, 1, 1, 0]
    # The row of second 6 comes when the one of second 3 has just left.
    assert found.matches.tolist() == [0, 0, 2, 0, 2, 1, 0, 0]


def test_matches_are_those_of_two_loops() -> None:
    two = zipf(120, items=6)
    clock = Clock(2 * SECOND, 5 * SECOND)
    found = line_of(two, clock)
    expected = []
    for x in range(len(found.item)):
        before = [
            y
            for y in range(x)
            if found.side[y] != found.side[x]
            and found.item[y] == found.item[x]
            and found.leave[y] > found.enter[x]
        ]
        expected.append(len(before))
    assert found.matches.tolist() == expected
    # With probes for all, whoever knows everything finds everything.
    assert omniscient(found, "desc", 1000).tolist() == expected
    assert line_of(two, Clock(SECOND, 0)).matches.sum() > sum(expected)


def test_who_knows_counts_takes_the_most_or_the_rarest() -> None:
    two = stores([(1, 1), (1, 1), (1, 2)], [(2, 2), (2, 1), (2, 9)])
    found = line(two)
    # Work is done at ticks at which rows come; the other row waits in vain.
    assert omniscient(found, "desc", 1).tolist() == [0, 0, 0, 0, 2, 0]
    assert omniscient(found, "asc", 1).tolist() == [0, 0, 0, 1, 0, 0]
    waited = line(stores([(1, 1), (1, 1), (1, 2)], [(2, 2), (2, 1), (3, 9)]))
    assert omniscient(waited, "desc", 1).tolist() == [0, 0, 0, 1, 2, 0]


def test_rare_is_a_twentieth_of_the_output() -> None:
    common = [(1, 5)] * 10
    found = line(stores([*common, (1, 6)], [(2, 5), (2, 6)]))
    assert found.matches.sum() == 11
    rare = rare_rows(found, in_all(found))
    assert set(found.item[rare].tolist()) == {1}
    assert in_window(found, np.array([11, 12]), found.enter[[11, 12]]).tolist() == [10, 1]
    # Four seconds later they have left.
    assert in_window(found, np.array([11]), found.enter[[11]] + 4 * SECOND).tolist() == [0]


def test_histograms_are_of_shares_in_bins_of_item_numbers() -> None:
    number = np.arange(200)
    even = np.ones(200)
    # Neighbours share a bin: which of the two was found makes no difference.
    assert hist_mse(even, np.tile([2.0, 0.0], 100), number) == 0.0
    one = np.zeros(200)
    one[0] = 1.0
    assert hist_mse(even, one, number) == pytest.approx(0.99**2 + 99 * 0.01**2)


def test_output_at_equal_work_lies_between_budgets() -> None:
    works, outputs = np.array([30.0, 10.0]), np.array([20.0, 8.0])
    assert at_equal_work(20.0, works, outputs) == pytest.approx(14.0)
    assert at_equal_work(5.0, works, outputs) == pytest.approx(4.0)
    assert at_equal_work(99.0, works, outputs) == 20.0


def test_skew_says_how_much_more_often_rows_meet() -> None:
    even, skewed = zipf(4000, items=50, power=0.0), zipf(4000, items=50, power=1.2)
    assert even.skew == pytest.approx(1.0, abs=0.1)
    assert not even.skewed
    assert skewed.skewed
    assert [one.name for one in made_up(50)] == ["zipf 1", "zipf 1.3", "uniform"]
    ends = [int(side.ts[-1]) for side in skewed.sides]
    assert abs(ends[0] - ends[1]) < 5 * SECOND


@pytest.mark.parametrize("name", list(RECORDED))
def test_recorded_stores_come_in_order(name: str) -> None:
    if not (SHARED / name.partition("/")[0]).is_dir():
        pytest.skip("not beside the source tree")
    two = RECORDED[name](500)
    assert all(len(side.ts) > 300 and (np.diff(side.ts) > 0).all() for side in two.sides)
    assert all(np.isfinite(side.value).all() for side in two.sides)


def written(directory: Path, two: Stores) -> Path:
    for name, side in zip(("a", "b"), two.sides, strict=True):
        names = pa.array([f"item {number}" for number in side.item.tolist()])
        ts = pa.array(side.ts, pa.timestamp("us"))
        table = pa.table({"ts": ts, "item": names, "value": side.value})
        pq.write_table(table, directory / f"{name}.parquet")
    return directory


def test_stores_of_ones_own(tmp_path: Path) -> None:
    with pytest.raises(SourceFailure, match="there are 0"):
        given(tmp_path, 10)
    two = zipf(300, items=5)
    read = given(written(tmp_path, two), 200)
    assert max(len(side.ts) for side in read.sides) == 200
    kept = len(read.sides[0].ts)
    assert read.sides[0].item.tolist() == two.sides[0].item[:kept].tolist()
    pq.write_table(pa.table({"ts": [0], "item": [1]}), tmp_path / "b.parquet")
    with pytest.raises(SourceFailure, match="no column 'value'"):
        given(tmp_path, 10)


def test_selections_pass_what_they_should() -> None:
    fed = Fed.of(zipf(1500, items=60, power=0.5), queries=7, ticks=20)
    shares = np.array([fed.passing(query).mean() for query in range(7)])
    assert ((shares >= 0.05) & (shares <= 0.10)).all()
    whole, index = simple(fed, None), shared(fed)
    assert whole.shares.tolist() == index.shares.tolist() == [1.0] * 7
    assert whole.wrong == index.wrong == 0
    part = simple(fed, 10)
    assert part.tests == 10 * fed.ticks * 7
    assert 0.0 < part.share < 0.5
    assert len(ranges(np.zeros(50), 3, 1)) == 0


def test_regular_expressions_pass_the_same_rows() -> None:
    two = zipf(1500, items=60, power=0.5)
    plain = Fed.of(two, queries=4, ticks=20)
    dear = Fed.of(two, queries=4, ticks=20, dear=True)
    for query in range(4):
        serial = np.arange(5, 400, 3)
        expected = plain.passing(query)[serial].tolist()
        assert plain.test(query)(serial).tolist() == expected
        assert dear.test(query)(serial).tolist() == expected
    assert simple(dear, None).shares.tolist() == [1.0] * 4


def test_dropping_nothing_is_exact() -> None:
    fed = Fed.of(zipf(2500, items=60, power=0.5), queries=3, ticks=24)
    for name in AGGREGATES:
        exact = exact_series(fed, name)
        assert exact.shape == (3, 2)
        assert dropped_series(fed, name, 10**6).error(exact) == pytest.approx(0.0, abs=1e-12)
        assert dropped_series(fed, name, 5).error(exact) > 0.0
    assert aggregate("median", np.array([4.0, 1.0, 2.0, 3.0])) == 2.0


def test_answers_are_alike_up_to_the_order_of_adding() -> None:
    one = pa.table({"as_of": [1, 2], "value": [0.3, 1.0]})
    assert alike(one, pa.table({"as_of": [1, 2], "value": [0.1 + 0.2, 1.0]}))
    assert not alike(one, pa.table({"as_of": [1, 3], "value": [0.3, 1.0]}))
    assert not alike(one, one.slice(0, 1))


def test_a_tiny_run_on_stores_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    extent = replace(
        promise.QUICK, rows=1500, whole_rows=600, selections=3, ticks=12, sweep=(2,),
        sweep_ticks=2, crowd_rows=2000, fast_rows=1500,
    )  # fmt: skip
    monkeypatch.setattr(promise, "QUICK", extent)
    monkeypatch.setattr("bench.promise_joins.BUDGETS", (5, 50))
    monkeypatch.setattr("bench.promise_joins.BETWEEN", (20,))
    monkeypatch.setattr("bench.promise_joins.PARTS", 2)
    monkeypatch.setattr("bench.promise_structures.GAPS", (1.0, 50.0))
    monkeypatch.setattr("bench.promise_structures.WINDOWS", (2, 12))
    written(tmp_path, zipf(1500, items=40))
    console = Console(file=io.StringIO(), width=140)
    report = promise.run(quick=True, data=tmp_path, console=console)
    report.show(console)
    assert report.right
    report.write(tmp_path / "out.json")
    found = json.loads((tmp_path / "out.json").read_text())
    assert found["workload"] == "promise"
    assert all(set(bar) == {"value", "target", "met"} for bar in found["bars"].values())
    # What needs the whole engine is left out, and so is what needs more than one tick's budget.
    assert {
        "join_output_ratio", "fresher_with_fade", "weighted_hist_mse", "outlier_recall",
        "outlier_precision", "selection_output_ratio", "aggregate_mse_worst",
        "aggregate_coverage",
    } <= set(found["bars"])  # fmt: skip
    sections = {cell["section"] for cell in found["cells"]}
    assert sections >= {"desc", "work", "weighted", "asc", "selection", "aggregate", "structure"}
    # Exact counts are nearly the most that anybody could find.
    for cell in found["cells"]:
        if cell["section"] == "desc":
            assert cell["share"][0] <= cell["reachable"] * 1.02
