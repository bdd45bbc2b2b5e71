"""The workload `deferral` without a JVM: rules on paths, panels, load, silences, the report."""

from __future__ import annotations

import io
import math
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from scipy.optimize import brentq
from scipy.stats import norm

import streamgauge as sg
from bench.deferral_data import (
    MEMBERS,
    Panel,
    level_bounds,
    made,
    measured,
    most_common,
    silenced,
    usual_gap,
)
from bench.deferral_fidelity import CONFIDENCES, Cell, cells_of, report_fidelity
from bench.deferral_load import (
    Load,
    distinct_members,
    edf_missed,
    naive_missed,
    ours_missed,
    printed_waits,
)
from bench.deferral_ours import NOTHING, STREAM, Told, taken, told
from bench.deferral_report import Sections
from bench.deferral_rules import (
    ITEMS,
    Items,
    Score,
    above_wait,
    end_wait,
    first_exit,
    optimum,
    printed,
    printed_peak,
    scored,
    sliding_peak,
)
from bench.deferral_silence import LENGTHS, judged
from streamgauge.kernel.errors import SourceFailure
from streamgauge.kernel.time import SECOND
from streamgauge.plan.members import Members

pytestmark = pytest.mark.slow

SECONDS = 1_000_000


def panel_of(values: np.ndarray, present: np.ndarray | None = None) -> Panel:
    there = np.ones(values.shape, np.bool_) if present is None else present
    return Panel("made", SECOND, 100 + np.arange(len(values)), values, there)


def fewest(path: np.ndarray, epsilon: float) -> int:
    """Every choice of places, the smaller first."""
    for size in range(1, len(path) + 1):
        for rest in combinations(range(1, len(path)), size - 1):
            places = np.array([0, *rest])
            if scored(path, places, path[places], epsilon).fidelity == 1.0:
                return size
    raise AssertionError("evaluating everywhere is always right")


@given(
    st.lists(st.integers(-4, 4), min_size=1, max_size=9),
    st.sampled_from([0.0, 1.0, 1.5, 2.0, 3.0, 10.0]),
)
def test_the_optimum_is_that_of_every_choice(steps: list[int], epsilon: float) -> None:
    path = np.cumsum(steps).astype(np.float64)
    assert optimum(path, epsilon) == fewest(path, epsilon)


def test_the_optimum_passes_over_whole_blocks() -> None:
    rng = np.random.default_rng(3)
    path = np.cumsum(rng.standard_normal(3_000))
    for epsilon in (0.5, 5.0, 40.0, 1_000.0):
        reach = []
        for i in range(len(path)):
            outside = np.abs(path[i + 1 :] - path[i]) > epsilon
            reach.append(i + 1 + int(np.argmax(outside)) if outside.any() else len(path))
        count, start, end = 0, 0, 0
        while end < len(path):
            start, end = end + 1, max(reach[start : end + 1])
            count += 1
        assert optimum(path, epsilon) == count


def test_a_step_up_and_down_by_hand() -> None:
    path = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 1.0, 0.0])
    assert first_exit(path, 1.0).tolist() == [0, 3, 6]
    # The middle value is within one of everything up to the end.
    assert optimum(path, 1.0) == 2
    assert optimum(path, 2.0) == 1
    assert first_exit(path, 0.0).tolist() == list(range(7))
    assert scored(path, np.array([1, 5]), path[[1, 5]], 0.5) == Score(2, 3 / 6)
    assert math.isnan(scored(path, np.empty(0, np.int64), np.empty(0), 1.0).fidelity)


@pytest.mark.parametrize(("mu", "var", "epsilon", "p"), [
    (0.0, 1.0, 10.0, 0.95), (0.3, 2.0, 4.0, 0.85), (-0.05, 0.1, 7.0, 0.9), (2.0, 0.01, 5.0, 0.95),
])  # fmt: skip
def test_the_printed_wait_is_the_root(mu: float, var: float, epsilon: float, p: float) -> None:
    def spare(dt: float) -> float:
        law = norm(mu * dt, math.sqrt(var * dt))
        return float(law.cdf(epsilon) - law.cdf(-epsilon)) - p

    root = brentq(spare, 1e-9, 1e6)
    assert end_wait(mu, var, epsilon, p) == pytest.approx(root, rel=1e-6)


def test_waits_of_constant_and_unknown_series() -> None:
    assert end_wait(0.0, 0.0, 1.0, 0.9) == math.inf
    assert end_wait(-0.5, 0.0, 1.0, 0.9) == 2.0
    assert end_wait(math.nan, math.nan, 1.0, 0.9) == 0.0
    assert end_wait(0.0, 1.0, 0.0, 0.9) == 0.0


@pytest.mark.parametrize("mu", [0.0, 0.4, -0.01])
def test_the_printed_wait_of_a_maximum_is_the_first_root(mu: float) -> None:
    gap, var, p = 5.0, 2.0, 0.9
    z = float(norm.ppf(p))
    found = above_wait(mu, var, gap, z)
    chance = norm.cdf((gap - mu * found) / math.sqrt(var * found))
    assert chance == pytest.approx(p, abs=1e-9)
    earlier = np.linspace(1e-6, found * (1 - 1e-6), 1_000)
    assert (norm.cdf((gap - mu * earlier) / np.sqrt(var * earlier)) > p).all()
    assert above_wait(-3.0, 0.1, gap, z) == math.inf


def test_printed_evaluations_follow_the_printed_estimates() -> None:
    rng = np.random.default_rng(5)
    values = np.cumsum(rng.standard_normal((3_000, MEMBERS)), axis=0)
    panel = panel_of(values)
    items = Items.of(panel.ticks, values, panel.present)
    places = printed(panel.ticks, panel.average, items, 3.0, 0.9)
    at = int(places[len(places) // 2])
    last = values[at - ITEMS + 1 : at + 1]
    mu = (last[-1] - last[0]) / (ITEMS - 1)
    var = ((np.diff(last, axis=0) - mu) ** 2).sum(axis=0) / (ITEMS - 2)
    dt = end_wait(float(mu.mean()), float(var.sum()) / MEMBERS**2, 3.0, 0.9)
    assert places[len(places) // 2 + 1] == at + math.ceil(dt)


def test_printed_evaluations_wait_for_rows() -> None:
    ticks = np.array([0, 1, 2, 3, 50, 51, 200])
    values = np.array([[0.0], [0.1], [0.0], [0.1], [0.0], [0.1], [0.0]])
    present = np.ones(values.shape, np.bool_)
    items = Items.of(ticks, values, present)
    places = printed(ticks, values[:, 0], items, 10.0, 0.9)
    # Three items are needed; then the wait is long, and the next tick with rows late.
    assert places.tolist()[:3] == [0, 1, 2]
    assert len(places) < len(ticks)


@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(-3, 3)), min_size=1, max_size=30),
    st.integers(1, 12),
)
def test_a_sliding_peak_is_the_maximum_of_the_window(
    rows: list[tuple[int, int]], window: int
) -> None:
    ticks = np.cumsum([gap for gap, _ in rows])
    path = np.array([value for _, value in rows], np.float64)
    expected = [path[(ticks > now - window) & (ticks <= now)].max() for now in ticks]
    assert sliding_peak(ticks, path, window).tolist() == expected


def test_a_printed_peak_is_looked_at_again_when_its_maximum_leaves() -> None:
    values = np.concatenate([np.full(5, 50.0), np.zeros(60)])[:, None]
    rng = np.random.default_rng(7)
    values = values + 0.001 * rng.standard_normal(values.shape)
    panel = panel_of(values)
    items = Items.of(panel.ticks, values, panel.present)
    places = printed_peak(panel.ticks, values[:, 0], items, 1.0, 0.9, 20)
    peak = sliding_peak(panel.ticks, values[:, 0], 20)
    assert scored(peak, places, peak[places], 1.0).fidelity == 1.0
    # The last value near the maximum is at 4 and leaves twenty ticks on.
    assert 24 in places.tolist()


def test_panels_that_are_made_up() -> None:
    panels = list(made(2_000))
    assert len({panel.name for panel in panels}) == len(panels) == 9
    assert all(panel.values.shape == (2_000, MEMBERS) for panel in panels)
    assert all(np.isfinite(panel.values).all() for panel in panels)
    again = list(made(2_000))
    assert all((a.values == b.values).all() for a, b in zip(panels, again, strict=True))
    brownian = panels[0]
    assert dict(brownian.bounds)["10 sigma"] == pytest.approx(10 / 3, rel=0.1)
    gaps = np.diff(panels[-1].ticks)
    assert set(gaps.tolist()) == {1, 1_051}
    assert brownian.window == 1_800


def rows_of(path: Path, **columns: object) -> None:
    path.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path / "part.parquet")


def minutes(*values: float) -> pa.Array:
    return pa.array([round(60 * value * SECONDS) for value in values], pa.timestamp("us"))


def test_measured_series_are_aligned_on_the_union_of_ticks(tmp_path: Path) -> None:
    n = 300
    times = [float(minute) for minute in range(1, n + 1)]
    odd = times[::2]
    rows_of(
        tmp_path / "own",
        series=["a"] * n + ["b"] * len(odd),
        ts=minutes(*times, *odd),
        value=[*times, *(10 * value for value in odd)],
    )
    (panel,) = measured(tmp_path, 1_000)
    assert (panel.name, panel.tick, panel.real) == ("own", 60 * SECONDS, True)
    assert panel.values.shape == (299, 2)
    assert panel.values[1].tolist() == [2.0, 10.0]
    assert panel.present[1].tolist() == [True, False]
    assert panel.window == 30
    assert [width for _, width in panel.bounds] == sorted(width for _, width in panel.bounds)


def test_folders_are_panels_of_their_own(tmp_path: Path) -> None:
    times = [float(minute) for minute in range(1, 301)]
    for name in ("one", "two"):
        rows_of(tmp_path / name, series=["a"] * 300, ts=minutes(*times), value=times)
    assert [panel.name for panel in measured(tmp_path, 250)] == ["one", "two"]
    (tmp_path / "none").mkdir()
    with pytest.raises(SourceFailure, match="no parquet files"):
        list(measured(tmp_path / "none", 250))


def test_series_that_do_not_overlap_are_refused_or_left_out(tmp_path: Path) -> None:
    sid = np.repeat(np.arange(3, dtype=np.int32), 100)
    when = np.concatenate([np.arange(100), np.arange(20, 120), np.arange(900, 1_000)])
    assert most_common(when, sid, 3).tolist() == [0, 1]
    times = [float(minute) for minute in range(1, 101)]
    rows_of(tmp_path, series=["a"] * 100, ts=minutes(*times), value=times)
    with pytest.raises(SourceFailure, match="too few common readings"):
        list(measured(tmp_path, 250))


def test_a_tick_is_the_commonest_gap() -> None:
    assert usual_gap(np.array([0, 60, 120, 180, 1_000]) * SECONDS) == 60 * SECONDS
    assert usual_gap(np.array([0, 1, 2]) * 1_000) == SECONDS
    assert usual_gap(np.array([5])) == SECONDS


def test_bounds_of_a_measured_path_are_in_order() -> None:
    bounds = level_bounds(np.cumsum(np.random.default_rng(1).standard_normal(5_000)))
    assert bounds[0][0] == "0.75 step"
    assert len(bounds) == 5


def test_members_of_a_query_differ() -> None:
    members = distinct_members(np.random.default_rng(2), 500, 12)
    assert members.shape == (500, MEMBERS)
    assert all(len(set(row)) == MEMBERS for row in members.tolist())


def test_deadlines_are_missed_when_there_is_no_room() -> None:
    load = Load.of(20, 10, 600, 5.0)
    waits = printed_waits(load)
    assert naive_missed(100, 900) == 0.0
    assert naive_missed(300, 900) == pytest.approx(2 / 3)
    assert edf_missed(load, waits, 100, 900) == 0.0
    assert edf_missed(load, waits, 100_000, 900) > 0.9
    assert np.isfinite(waits[0][:, ITEMS:]).all()
    # Before the estimates there is nothing to wait for.
    assert (waits[0][:, : ITEMS - 1] == 0.0).all()


def test_silences_withhold_rows_and_keep_the_truth() -> None:
    values = np.arange(2_000.0)[:, None] * np.array([3.0, 4.0, *([1.0] * 7)])
    silences = silenced(panel_of(values), 2, LENGTHS, 200)
    assert silences.length.tolist() == [5, 15, 30, 45, 60, 5, 15, 30, 45]
    hidden = ~silences.panel.present
    assert hidden[:, :2].sum() == 2 * silences.length.sum()
    assert not hidden[:, 2:].any()
    assert (silences.panel.values == values).all()


def test_the_last_answer_of_a_silence_is_judged() -> None:
    values = np.arange(2_000.0)[:, None] + np.zeros((1, MEMBERS))
    silences = silenced(panel_of(values), 2, LENGTHS, 200)
    at = np.array([203, 402, 410])
    truth = at.astype(np.float64)
    low, high = truth - 1.0, truth + np.array([1.0, 1.0, -0.5])
    told = Told(at + 100, truth - 0.5, low, high, np.zeros(3, np.bool_))
    found = {held.length: held for held in judged(silences, told, 0.25)}
    assert found[5].held.tolist() == [True]
    assert found[5].error.tolist() == [0.5]
    assert found[5].doubt.tolist() == [0.75]
    assert found[5].doubted == 1.0
    # Of two answers in the silence the last counts, and its interval did not hold.
    assert found[15].held.tolist() == [False]
    assert not len(found[60].held)


def test_a_panel_goes_through_the_engine() -> None:
    panel = next(made(600))
    panel = replace(panel, bounds=panel.bounds[1:3])
    cells = cells_of(panel)
    assert len(cells) == 2 * 2 * len(CONFIDENCES)
    for cell in cells:
        # A watch holds its promise by construction, from its first answer on.
        assert cell.spare("watch") >= 0.0
        assert cell.best <= cell.exit
        assert 0 < cell.scores["timer"].evaluations <= 600
    assert "learned" not in cells[0].scores


def test_cells_of_a_family_are_told_by_number_and_are_averages(tmp_path: Path) -> None:
    rng = np.random.default_rng(9)
    values = np.cumsum(rng.standard_normal((300, 4)), axis=0)
    panel = panel_of(values)
    table = pa.table({"cell": [0, 0, 7, 7], "series": ["s0000", "s0001", "s0002", "s0003"]})
    query = sg.Query(
        "family",
        STREAM,
        sg.avg("value"),
        members=Members("held", "series", ("cell",)),
        contract=sg.Contract.absolute(3.0, confidence=0.9),
    )
    gauge = taken(panel, [query], tmp_path, {"held": table})
    found = told(gauge.home, panel.tick)
    assert sorted(found) == ["family [0]", "family [7]"]
    for name, members in (("family [0]", [0, 1]), ("family [7]", [2, 3])):
        places = np.searchsorted(panel.ticks, found[name].tick)
        assert found[name].value == pytest.approx(values[places][:, members].mean(axis=1))
    among = pa.array(["[7]"])
    assert list(told(gauge.home, panel.tick, among)) == ["family [7]"]


def test_ours_misses_nothing_while_there_is_room() -> None:
    load = Load.of(12, 4, 500, 10.0)
    assert ours_missed(load, 40, 9 * 40) == (0.0, 0.0)
    share, _ = ours_missed(load, 400, 9)
    assert share > 0.0


def test_the_report_shows_bars_and_keeps_the_cells() -> None:
    def cell(kind: str, p: float, watch: int, printed_share: float) -> Cell:
        scores = {
            "ours": Score(60, p + 0.01), "timer": Score(90, p), "watch": Score(watch, p),
            "printed": Score(200, printed_share),
        }  # fmt: skip
        return Cell("made", kind, p, "1 sigma", 1_000, 70, 50, scores)

    report = Sections("deferral", quick=True, origin="made up")
    cells = [
        cell(kind, p, 55, share)
        for kind in ("avg", "max")
        for p in CONFIDENCES
        for share in (0.8, 0.96)
    ]
    report_fidelity(report, cells)
    assert report.bars["fidelity_every_cell"].value == pytest.approx(0.01)
    assert report.bars["watch_over_optimum"].value == pytest.approx(1.1)
    assert report.bars["watch_over_optimum"].met
    assert report.figures["printed_broken_cells"][0] == 0.5
    assert report.figures["ours_over_printed_worst"][0] == pytest.approx(0.3)
    shown = Console(file=io.StringIO(), width=200)
    report.show(shown)
    text = shown.file.getvalue()  # type: ignore[attr-defined]
    assert "broke" in text
    assert "94.00" in text
    assert len(report.as_dict()["cells"]) == 12


def test_answers_that_never_came_are_no_fidelity() -> None:
    panel = panel_of(np.zeros((10, MEMBERS)))
    score = NOTHING.score(panel, panel.average, 1.0)
    assert math.isnan(score.fidelity)
    assert Cell("made", "avg", 0.9, "", 10, 1, 1, {"ours": score}).spare("ours") == -0.9
