"""Many filters at once do what one filter does, update by update."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.lab.fleet import Fleet, Sent, bounds_at
from streamgauge.filters.bound import EVERY_READING, NOTHING, Grant, Update
from streamgauge.filters.source import SourceFilter

pytestmark = pytest.mark.slow

SECOND = 1_000_000


def values_of(kind: str, ticks: int, rng: np.random.Generator) -> np.ndarray:
    """Four objects of a kind."""
    noise = rng.normal(size=(ticks, 4))
    if kind == "walk":
        return np.cumsum(noise * [0.1, 1.0, 3.0, 10.0], axis=0)
    if kind == "ramp":
        return np.arange(ticks)[:, None] * [0.01, 0.5, -2.0, 0.0] + 0.3 * noise
    if kind == "saw":
        return (np.arange(ticks)[:, None] * [0.1, 0.7, 2.0, 5.0]) % 40.0 + 0.01 * noise
    bursts = np.where(rng.random((ticks, 4)) < 0.02, rng.exponential(50.0, (ticks, 4)), 0.0)
    return np.round(bursts)


def plain(sent: Sent) -> list[tuple[float, ...]]:
    """Updates as tuples, NaN made comparable."""
    rows = zip(*(column.tolist() for column in sent), strict=True)
    return [tuple(-1.0 if part != part else part for part in row) for row in rows]


def told(updates: list[Update]) -> list[tuple[float, ...]]:
    return [tuple(-1.0 if part != part else float(part) for part in one) for one in updates]


@given(
    st.sampled_from(["walk", "ramp", "saw", "bursts"]),
    st.integers(0, 2**32 - 1),
    st.booleans(),
)
@settings(max_examples=16, deadline=None)
def test_a_fleet_sends_what_single_filters_send(kind: str, seed: int, models: bool) -> None:
    rng = np.random.default_rng(seed)
    values = values_of(kind, 200, rng)
    fleet = Fleet(4, models=models)
    singles = [SourceFilter(models=models) for _ in range(4)]
    for number, single in enumerate(singles):
        single.add(number)
    for tick, row in enumerate(values):
        _, sent = fleet.run(values[tick : tick + 1], tick)
        ours: list[Update] = []
        for number, single in enumerate(singles):
            first = single.offer(number, tick * SECOND, float(row[number]))
            ours += [first] if first is not None else []
            ours += single.check(tick * SECOND)
        assert np.array(plain(sent)) == pytest.approx(np.array(told(ours)), rel=1e-12)
        if rng.random() < 0.15:
            number = int(rng.integers(4))
            width = float(rng.choice([0.0, 0.5, 3.0, 8.0, 30.0, NOTHING, EVERY_READING]))
            grant = Grant(number, tick + 1, width, 0)
            again = fleet.grant(
                np.array([number]), np.array([tick + 1]), np.array([width]), tick * SECOND
            )
            update = singles[number].grant(grant, tick * SECOND)
            same = told([update] if update else [])
            assert np.array(plain(again)) == pytest.approx(np.array(same), rel=1e-12)
        for number, single in enumerate(singles):
            centre, width, version = single.bound(number, tick * SECOND)
            assert fleet.widths[number] == width
            assert fleet.versions[number] == version
            assert bounds_at(fleet, tick * SECOND)[number] == pytest.approx(centre, nan_ok=True)


def test_a_run_stops_at_the_first_tick_that_sends() -> None:
    fleet = Fleet(2)
    values = np.zeros((50, 2))
    values[20:, 1] = 9.0
    assert fleet.run(values, 100)[0] == 100
    fleet.grant(np.array([0, 1]), np.array([1, 1]), np.array([4.0, 4.0]), 100.0 * SECOND)
    tick, sent = fleet.run(values[1:], 101)
    assert tick == 120
    assert sent.objects.tolist() == [1]
    assert sent.values.tolist() == [9.0]
    tick, sent = fleet.run(values[21:], 121)
    assert tick == 149
    assert sent.objects.size == 0


def test_no_number_is_passed_over() -> None:
    fleet = Fleet(1)
    fleet.run(np.array([[1.0]]), 0)
    tick, sent = fleet.run(np.array([[math.nan], [math.inf], [1.0]]), 1)
    assert tick == 3
    assert sent.objects.size == 0
