"""Advice to agents: both extremes of the published analysis, turns, a running coordinator."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import streamgauge as sg
from streamgauge.coordinator import advice
from streamgauge.coordinator.advice import Advice, Adviser
from streamgauge.coordinator.cache import Bound
from streamgauge.coordinator.coordinator import Coordinator, edge_directory
from streamgauge.filters.allocation import optimal_widths
from streamgauge.filters.constraints import Constraints
from streamgauge.kernel.time import SECOND
from tests.coordinator.world import START, Source

pytestmark = pytest.mark.slow

NOW = START
# Queries V0 + V1 and V0 + V2 over three values of one source.
OVERLAP = ([0, 1], [0, 2])


def bound(key: str, agent: str, rate: float, at: int = NOW) -> Bound:
    return Bound((key,), agent, at=at, value=0.0, rate=rate, power=2.0)


def judged(
    bounds: list[Bound], demands: list[Any], widths: Any = None, adviser: Adviser | None = None
) -> Adviser:
    constraints = Constraints.of(len(bounds), demands)
    if widths is None:
        widths = optimal_widths(constraints, [one.rate for one in bounds], 2.0).widths
    found = adviser or Adviser()
    found.judge(constraints, bounds, np.asarray(widths, np.float64), NOW)
    return found


def overlapping(rates: tuple[float, ...], deltas: tuple[float, float], agent: str) -> Any:
    bounds = [bound(str(number), agent, rate) for number, rate in enumerate(rates)]
    demands = [(list(members), None, d) for members, d in zip(OVERLAP, deltas, strict=True)]
    return bounds, demands


@pytest.mark.parametrize("rates", [(0.01, 0.01, 0.01), (0.4, 0.01, 0.1), (0.01, 0.4, 0.2)])
def test_far_apart_budgets_are_better_served_by_aggregation(rates: tuple[float, ...]) -> None:
    found = judged(*overlapping(rates, (1e6, 1.0), "pump")).of("pump")
    assert found.advice == "aggregate"
    assert found.separate is not None
    assert found.aggregated is not None
    # The wide query costs nothing either way; the narrow one is a bound of its own, or two.
    assert found.aggregated == pytest.approx(rates[0] + rates[2], rel=0.01)
    assert found.separate == pytest.approx(sum(rates[k] ** (1 / 3) for k in (0, 2)) ** 3, rel=0.01)


@pytest.mark.parametrize("deltas", [(1.0, 1.0), (1.0, 3.0), (5.0, 4.0)])
def test_a_common_mover_is_better_sent_once(deltas: tuple[float, float]) -> None:
    found = judged(*overlapping((0.25, 0.0, 0.0), deltas, "pump")).of("pump")
    assert found.advice == ""
    assert found.separate == pytest.approx(0.25 / min(deltas) ** 2, rel=0.02)
    # The quiet ones get next to nothing, so each query's own sum has about the same width.
    assert found.aggregated is not None
    assert found.separate is not None
    assert found.aggregated >= found.separate


def test_sets_that_gain_nothing_stay_as_they_are() -> None:
    bounds, demands = overlapping((0.25, 0.0, 0.0), (1.0, 1.0), "pump")
    alone = judged(bounds, demands).of("pump")
    bounds += [bound("3", "pump", 0.01), bound("4", "pump", 0.01)]
    both = judged(bounds, [*demands, ([3, 4], None, 1.0)]).of("pump")
    assert both.advice == "aggregate"
    assert alone.separate is not None
    # Two walks, each of half the width: 2 * 0.01 / 0.5 ** 2, or 0.02 as one.
    assert both.separate == pytest.approx(alone.separate + 0.08, rel=1e-3)
    assert both.aggregated == pytest.approx(alone.separate + 0.02, rel=1e-3)


@pytest.mark.parametrize(
    ("demands", "widths"),
    [
        ([], [np.inf, np.inf]),
        ([([0], None, 1.0), ([1], None, 1.0)], [1.0, 1.0]),
        ([([0, 1], None, 1.0, "each")], [1.0, 1.0]),
        # Every value is sent of both, or of all but one.
        ([([0, 1], None, 0.0)], [0.0, 0.0]),
        ([([0, 1], None, 1.0)], [0.0, 1.0]),
        # A query that was registered just now, before widths are confirmed.
        ([([0, 1], None, 1.0)], [np.inf, np.inf]),
    ],
)
def test_nothing_to_aggregate(demands: list[Any], widths: list[float]) -> None:
    bounds = [bound("a", "pump", 0.01), bound("b", "pump", 0.01)]
    assert judged(bounds, demands, widths).of("pump") == Advice(None, None, "")


def test_agents_with_one_object_each_have_nothing_to_aggregate() -> None:
    bounds = [bound("a", "north", 0.01), bound("b", "south", 0.01), bound("c", "", 0.01)]
    found = judged(bounds, [([0, 1, 2], None, 1.0)])
    assert [found.of(name) for name in ("north", "south", "", "nobody")] == [Advice()] * 4


def test_an_object_that_never_told_is_believed_by_its_silence() -> None:
    bounds = [bound("a", "pump", 0.04), bound("b", "pump", math.nan, NOW - 3000 * SECOND)]
    found = judged(bounds, [([0, 1], None, 4.0)], [2.0, 2.0]).of("pump")
    # Once in 3000 s at a width of 2: a rate of 4 / 3000.
    assert found.aggregated == pytest.approx((0.04 + 4.0 / 3000.0) / 16.0)


def test_an_object_that_fell_silent_is_believed_quieter_than_it_told() -> None:
    bounds = [bound("a", "pump", 0.04), bound("b", "pump", 9.0, NOW - 3000 * SECOND)]
    found = judged(bounds, [([0, 1], None, 4.0)], [2.0, 2.0]).of("pump")
    assert found.aggregated == pytest.approx((0.04 + 3.0 * 4.0 / 3000.0) / 16.0)


def test_what_sends_often_is_believed() -> None:
    bounds = [bound("a", "pump", 40.0), bound("b", "pump", 40.0)]
    found = judged(bounds, [([0, 1], None, 4.0)]).of("pump")
    assert found.separate == pytest.approx(20.0)
    assert found.aggregated == pytest.approx(5.0)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.floats(), st.floats(), st.floats(0.0)), min_size=3, max_size=3))
def test_absurd_curves_and_widths_break_nothing(told: list[tuple[float, float, float]]) -> None:
    bounds = [Bound((str(rate),), "pump", rate=rate, power=power) for rate, power, _ in told]
    demands = [(list(members), None, 1.0) for members in OVERLAP]
    found = judged(bounds, demands, [width for _, _, width in told]).of("pump")
    assert found.separate is None or math.isfinite(found.separate)
    assert found.aggregated is None or math.isfinite(found.aggregated)


def test_agents_have_their_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(advice, "PAIRS_MOST", 2 * advice._PAIRS_LEAST)
    names = [name for name in "abcde" for _ in range(2)]
    bounds = [bound(str(number), name, 0.01) for number, name in enumerate(names)]
    demands = [([k, k + 1], None, 1.0) for k in range(0, 10, 2)]
    adviser = Adviser()
    seen = []
    for _ in range(3):
        judged(bounds, demands, None, adviser)
        seen.append({name for name in "abcde" if adviser.of(name).advice})
    assert seen == [set("ab"), set("abcd"), set("abcde")]
    # Whoever has left is forgotten.
    judged(bounds[:2], demands[:1], None, adviser)
    assert [bool(adviser.of(name).advice) for name in "ab"] == [True, False]


def test_agents_with_too_many_objects_are_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(advice, "PAIRS_MOST", advice._PAIRS_LEAST)
    monkeypatch.setattr(advice, "_PAIRS_LEAST", 3)
    size = advice.PAIRS_MOST + 1
    bounds = [bound(str(number), "big", 0.01) for number in range(size)]
    bounds += [bound("a", "small", 0.01), bound("b", "small", 0.01)]
    found = judged(bounds, [(list(range(size + 2)), None, 1e4)])
    assert found.of("big") == Advice()
    assert found.of("small").advice == "aggregate"


@pytest.fixture
def gauge(tmp_path: Path) -> Iterator[sg.Gauge]:
    made = sg.connect(tmp_path, engine="local", shards=1)
    made.stream("hosts", sg.agents("http://127.0.0.1:0", latency="1 s"))
    # Of the agent of a, b, c only what both queries read moves; d and e both move.
    for name, members in (("ab", ("a", "b")), ("ac", ("a", "c")), ("de", ("d", "e"))):
        owed = sg.Contract.absolute(3.0)
        made.register(sg.Query(name, "hosts", sg.total("value"), contract=owed, series=members))
    while made.step():
        pass
    yield made
    made.stop()


def test_the_coordinator_advises_its_agents(gauge: sg.Gauge) -> None:
    now = START + SECOND // 2
    stream = gauge.trial().registry.stream("hosts")
    coordinator = Coordinator(gauge.home, stream, now=lambda: now)
    sources = [
        Source("shared", ("a", "b", "c")),
        Source("apart", ("d", "e")),
        Source("one", ("f",)),
    ]
    for a, d, e in np.random.default_rng(3).choice([-1.0, 1.0], size=(400, 3)).cumsum(axis=0):
        values = {"a": float(a), "b": 0.0, "c": 0.0, "d": float(d), "e": float(e), "f": 0.0}
        for source in sources:
            source.read(now, {key: values[key] for key in source.keys})
            for _ in range(2 + len(source.unacked)):
                source.take(coordinator.take(source.next().encode()), now)
        now += SECOND
        coordinator.turn()
    coordinator.stop()
    shown = json.loads((edge_directory(gauge.home, "hosts") / "status.json").read_text())
    found = {agent["agent"]: agent for agent in shown["agents"]}
    assert {name: agent["advice"] for name, agent in found.items()} == {
        "shared": "",
        "apart": "aggregate",
        "one": "",
    }
    assert found["shared"]["aggregated"] > found["shared"]["separate"] > 0.0
    assert 0.0 < found["apart"]["aggregated"] < 0.5 * found["apart"]["separate"]
    assert (found["one"]["separate"], found["one"]["aggregated"]) == (None, None)
    table = gauge.agents("hosts")
    assert table["advice"].to_pylist() == ["aggregate", "", ""]
    assert table["separate"].to_pylist() == [
        found[k]["separate"] for k in ("apart", "one", "shared")
    ]
