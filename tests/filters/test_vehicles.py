"""Vehicles over a pair of sensors: speed and length within bars that always hold."""

from __future__ import annotations

import numpy as np
import pytest

from streamgauge.filters.mote import Mote, Vehicle
from streamgauge.filters.proxy import SensorProxy, attend
from streamgauge.filters.vehicles import Measured, Pairing, Passage, cover, measure, traffic
from streamgauge.kernel.time import SECOND

pytestmark = pytest.mark.slow

SPACING = 10.0


def records(road: list[Passage], rate: float, until: int, *, offset: float = 0.0) -> list[Vehicle]:
    """What a sensor tells of a road, through its proxy."""
    proxy, mote = SensorProxy("s"), Mote("s", cover(road, offset=offset))
    proxy.install("q", now=0, rate=rate, aggregate="vehicles")
    found = [delivery.what for delivery in attend(proxy, mote, until)]
    return [vehicle for vehicle in found if isinstance(vehicle, Vehicle)]


def period(rate: float) -> int:
    # One more for the rounding of readings and of the road to whole microseconds.
    return -(-SECOND // int(rate)) + 1


def test_speed_and_length_of_the_worked_example() -> None:
    seen = measure(Vehicle(0, 170_450), Vehicle(113_640, 284_090), spacing=SPACING)
    assert seen.speed == pytest.approx(88.0, abs=0.01)
    assert seen.length == pytest.approx(15.0, abs=0.01)
    assert seen.speed == seen.speed_low == seen.speed_high
    assert seen.length == pytest.approx(seen.length_low) == pytest.approx(seen.length_high)


@pytest.mark.parametrize(("up_rate", "down_rate"), [(180, 180), (60, 180), (400, 90), (1000, 50)])
def test_the_bars_hold_for_every_vehicle(up_rate: float, down_rate: float) -> None:
    road = traffic(150, seed=11, per_second=2.0)
    until = road[-1].at + 5 * SECOND
    pairing = Pairing(SPACING, up_period=period(up_rate), down_period=period(down_rate))
    for record in records(road, up_rate, until):
        assert pairing.upstream("a", record) is None
    found = [
        pairing.downstream("a", record)
        for record in records(road, down_rate, until, offset=SPACING)
    ]
    truths = [car for car in road if car.at > SECOND]
    assert len(found) in (len(truths), len(truths) + 1)
    for seen, car in zip(found[-len(truths) :], truths, strict=True):
        assert seen is not None
        assert seen.speed_low <= car.speed <= seen.speed_high
        assert seen.length_low <= car.length <= seen.length_high
        assert seen.speed_low <= seen.speed <= seen.speed_high
        assert seen.length_low <= seen.length <= seen.length_high


def test_bars_are_the_extremes_over_all_instants_of_the_edges() -> None:
    dice = np.random.default_rng(4)
    for _ in range(200):
        up_period, down_period = dice.integers(1, 20_000, 2).tolist()
        apart, covered = dice.integers(25_000, 200_000, 2).tolist()
        up, down = Vehicle(0, covered), Vehicle(apart, apart + covered)
        seen = measure(up, down, spacing=SPACING, up_period=up_period, down_period=down_period)
        early = dice.uniform(0.0, 1.0, (3, 4_000)) * [[up_period], [down_period], [up_period]]
        speeds = SPACING * SECOND / (apart - early[1] + early[0])
        lengths = speeds * (covered - early[2] + early[0]) / SECOND
        assert seen.speed_low <= speeds.min()
        assert speeds.max() <= seen.speed_high
        assert seen.length_low <= lengths.min()
        assert lengths.max() <= seen.length_high


def test_a_rate_of_180_hertz_gives_a_foot_at_60_miles_an_hour_if_the_speed_is_known() -> None:
    """With the speed estimated by the same pair it takes a faster rate, as the paper says."""
    rate = 180
    assert 88.0 * 2 * (1 / rate) < 1.0
    seen = measure(
        Vehicle(0, 170_450),
        Vehicle(113_640, 284_090),
        spacing=SPACING,
        up_period=period(rate),
        down_period=period(rate),
    )
    assert seen.length_high - seen.length_low > 1.0


def test_a_vehicle_that_one_sensor_missed_is_counted_and_disturbs_no_other() -> None:
    road = traffic(100, seed=12, per_second=1.0)
    until = road[-1].at + 5 * SECOND
    up = [record for n, record in enumerate(records(road, 180, until)) if n % 10 != 3]
    down = [
        record for n, record in enumerate(records(road, 180, until, offset=SPACING)) if n % 10 != 7
    ]
    pairing = Pairing(SPACING, up_period=period(180), down_period=period(180))
    found = [pairing.upstream("a", record) for record in up]
    found += [pairing.downstream("a", record) for record in down]
    seen = [vehicle for vehicle in found if vehicle is not None]
    pairing.advance(until + 61 * SECOND)
    n = len(road)
    assert (pairing.missed_upstream, pairing.missed_downstream) == (10, 10)
    assert len(seen) in (n - 20, n - 21)
    assert pairing.waiting == 0
    truths = {round(car.speed, 6): car for car in road}
    speeds = np.array(sorted(truths))
    for vehicle in seen:
        assert ((vehicle.speed_low <= speeds) & (speeds <= vehicle.speed_high)).any()


def test_records_may_come_in_any_order_and_lanes_are_apart() -> None:
    dice = np.random.default_rng(6)
    lanes = {lane: traffic(30, seed=seed, per_second=1.0) for seed, lane in enumerate("ab")}
    told: list[tuple[str, str, Vehicle]] = []
    for lane, road in lanes.items():
        until = road[-1].at + 5 * SECOND
        told += [("up", lane, record) for record in records(road, 180, until)]
        told += [("down", lane, r) for r in records(road, 180, until, offset=SPACING)]

    def paired(order: list[tuple[str, str, Vehicle]]) -> set[Measured | None]:
        pairing = Pairing(SPACING, up_period=period(180), down_period=period(180))
        add = {"up": pairing.upstream, "down": pairing.downstream}
        return {add[side](lane, record) for side, lane, record in order} - {None}

    first = paired(told)
    # Sensors wake at the first second; what is over them then is not measured.
    assert len(first) == sum(car.at > SECOND for road in lanes.values() for car in road)
    assert {vehicle.lane for vehicle in first if vehicle} == {"a", "b"}
    for _ in range(5):
        assert paired([told[n] for n in dice.permutation(len(told))]) == first


def test_a_vehicle_that_was_there_before_is_not_measured() -> None:
    pairing = Pairing(SPACING)
    pairing.upstream("a", Vehicle(0, 170_450, cut=True))
    assert pairing.downstream("a", Vehicle(113_640, 284_090)) is None
    assert pairing.waiting == 0


def test_no_two_vehicles_are_over_one_sensor() -> None:
    road = traffic(500, seed=8, per_second=20.0)
    for offset in (0.0, SPACING):
        fronts = np.array([car.at + offset / car.speed * SECOND for car in road])
        rears = fronts + [car.length / car.speed * SECOND for car in road]
        assert (fronts[1:] - rears[:-1] > 29_000).all()
