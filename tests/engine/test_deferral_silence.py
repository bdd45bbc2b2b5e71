"""Waits that no model can vouch for, what a silence leaves behind, and gaps that are learned."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import streamgauge as sg
from streamgauge.contracts.answer import Answer
from streamgauge.drift.cells import fresh
from streamgauge.drift.paths import PATH, estimate, learned_gap, take_in
from streamgauge.kernel.time import SECOND
from streamgauge.plan.over import Over
from streamgauge.results.change_log import as_answers
from streamgauge.work.deferral.operator import DeferralOperator
from streamgauge.work.deferral.state import pack_deferral, unpack_deferral
from streamgauge.work.deferral.technique import DeferralKey
from tests.kit.strategies import START

pytestmark = pytest.mark.slow

Rows = list[tuple[int, str, float]]


def told(root: Path, rows: Rows, *queries: sg.Query, **declared: object) -> sg.Gauge:
    """A gauge that has taken rows of (second, series, value)."""
    (root / "in").mkdir()
    lines = [f"{START + second * SECOND},{name},{x!r}" for second, name, x in rows]
    (root / "in" / "rows.csv").write_text("\n".join(["ts,series,x", *lines, ""]))
    gauge = sg.connect(root / "home", engine="local", shards=1)
    schema = sg.Schema.of(ts="time", series="string", x="float")
    source = sg.files(root / "in", format="csv")
    gauge.stream("plant", source, time="ts", key="series", schema=schema, future=None, **declared)
    gauge.register(*queries)
    while gauge.step():
        pass
    return gauge


def peak(width: float, p: float, over: sg.Window, regime: str) -> sg.Query:
    contract = sg.Contract.absolute(width, confidence=p)
    return sg.Query("peak", "plant", sg.avg("x"), contract=contract, regime=regime,
                    over=Over("max", over))  # fmt: skip


def stands(found: list[Answer], second: int) -> Answer:
    """The answer that stands at a second."""
    return [answer for answer in found if answer.as_of <= START + second * SECOND][-1]


@pytest.mark.parametrize("capacity", [None, 1000])
def test_a_landmark_by_timer_goes_on_answering(tmp_path: Path, capacity: int | None) -> None:
    """The value falls for a thousand ticks, by day it rises above what it was."""
    rng = np.random.default_rng(4)
    level = 20.0 - 8.0 * np.sin(2 * np.pi * np.arange(3_000) / 2_400)
    values = level + 0.01 * rng.standard_normal(3_000)
    rows = [(second, "a", float(x)) for second, x in enumerate(values)]
    query = peak(0.04, 0.99, sg.Landmark(0), "timer")
    gauge = told(tmp_path, rows, query, capacity=capacity)
    found = list(as_answers(gauge.answers("peak")))
    truth = np.maximum.accumulate(values)
    right = [abs((stands(found, s).value or 0.0) - truth[s]) <= 0.04 for s in range(2, 2_999)]
    assert np.mean(right) >= 0.99
    (due,) = gauge.deferrals("peak")["due"].to_pylist()
    last = found[-1].as_of
    assert due.timestamp() * SECOND - last <= 124 * SECOND, "longer than its model rests on"
    assert "next deadline" in str(gauge.sql("EXPLAIN ANALYZE peak"))


@pytest.mark.parametrize("regime", ["timer", "watch"])
@pytest.mark.parametrize("over", [sg.Landmark(0), sg.Range("5 minutes")], ids=["since", "range"])
def test_a_silence_leaves_nothing_in_an_extreme(
    tmp_path: Path, over: sg.Window, regime: str
) -> None:
    """A series climbs, is silent for a while, and is back lower than it was."""
    climb = [(s, "a", 2_000.0 + 2.0 * s) for s in range(300)]
    back = [(s, "a", 2_400.0) for s in range(360, 480)]
    beside = [(s, "b", 0.0) for s in range(480)]
    rows = sorted(climb + back + beside)
    query = peak(8.0, 0.9, over, regime)
    found = list(as_answers(told(tmp_path, rows, query, expected_gap="5 s").answers("peak")))
    inside = stands(found, 350)
    assert inside.basis == "interrupted"
    assert inside.value == pytest.approx((2_000.0 + 2.0 * 350) / 2, abs=15.0)
    after = stands(found, 361)
    assert after.basis != "interrupted", "the first tick after it says so"
    assert after.value == pytest.approx((2_000.0 + 2.0 * 299) / 2)
    assert found[-1].contract_met
    assert found[-1].value == pytest.approx((2_000.0 + 2.0 * 299) / 2)


@pytest.mark.parametrize("regime", ["timer", "watch"])
def test_learned_silences_are_told_by_name_again_and_again(tmp_path: Path, regime: str) -> None:
    """Of two series one is silent for 40 ticks in 200; every time it is said, and who."""
    rng = np.random.default_rng(8)
    a, b = (np.cumsum(rng.standard_normal(1_230)) for _ in range(2))
    rows = [(s, "a", float(x)) for s, x in enumerate(a)]
    rows += [(s, "b", float(x)) for s, x in enumerate(b) if s < 200 or s % 200 >= 40]
    contract = sg.Contract.absolute(5.0, confidence=0.9)
    query = sg.Query("mean", "plant", sg.avg("x"), contract=contract, regime=regime)
    gauge = told(tmp_path, sorted(rows), query)
    found = list(as_answers(gauge.answers("mean")))
    silent = [s for s in range(200, 1_229) if s % 200 < 40]
    marked = [stands(found, s).basis == "interrupted" for s in silent]
    others = [stands(found, s).basis == "interrupted" for s in range(100, 1_229) if s not in silent]
    assert np.mean(marked) > 0.7
    assert not any(others)
    assert gauge.deferrals("mean").select(["silent", "silent_series"]).to_pylist() == [
        {"silent": 1, "silent_series": ["b"]}
    ]
    assert "silent series" in str(gauge.sql("EXPLAIN ANALYZE mean"))


def gap_after(gaps: list[int]) -> float:
    """What is learned of a series with such gaps."""
    paths = np.zeros(1, PATH)
    now = 1
    paths["tick"], paths["value"] = now, 1.0
    for gap in gaps:
        now += gap
        take_in(paths, 0, now, float(now))
        paths["tick"], paths["value"] = now, float(now)
    estimate(paths, 0, now, 0.0)
    return float(paths["gap"][0])


@pytest.mark.parametrize(("gaps", "expected"), [
    ([1] * 150, 2.0),
    ([*[1] * 150, 60, *[1] * 50], 2.0),
    ([500, *[1] * 150], 2.0),
    ([*[1] * 150, *[10] * 60], 20.0),
    ([*[50, *[1] * 24] * 5], 100.0),
    ([1] * 10, 8.0),
    ([1, 1, 30], 256.0 / 3),
])  # fmt: skip
def test_a_gap_is_a_quantile_that_forgets(gaps: list[int], expected: float) -> None:
    assert gap_after(gaps) == pytest.approx(expected)


def test_gaps_that_a_state_did_not_keep_are_learned_again() -> None:
    assert learned_gap(np.zeros(5), 120.0, 100.0) == pytest.approx(8 * 1.2)


def test_a_deadline_without_a_bound_is_looked_at_again() -> None:
    piece = DeferralOperator(DeferralKey("x"), memory=fresh(2), recent=np.array([90, 95, 100]))
    piece.memory.due[:] = 120, 10**15
    arrays: dict[str, np.ndarray] = {}
    values = pack_deferral("p", piece, arrays)
    assert unpack_deferral("p", values, arrays, 0, 1)["memory"].due.tolist() == [120, 100]
