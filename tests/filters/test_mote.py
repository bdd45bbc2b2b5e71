"""Motes: programs, listening windows, sleep and death of a simulated sensor."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.filters.energy import AT_180_HERTZ, MOTE, Battery
from streamgauge.filters.mote import (
    Count,
    Edges,
    Mote,
    Packet,
    Pane,
    Sample,
    Setting,
    Vehicle,
    hertz,
    instant_of,
    slot_of,
)
from streamgauge.filters.regions import Region
from streamgauge.filters.vehicles import Passage, cover, traffic
from streamgauge.kernel.errors import BindError
from streamgauge.kernel.time import SECOND

pytestmark = pytest.mark.slow

LISTEN = 1_000_000


def told(mote: Mote, setting: Setting, until: int) -> list[Packet]:
    """Tell a mote something in its first window and run it."""
    packets = []
    for packet in mote.run(until):
        packets.append(packet)
        if packet.listen and mote.setting.version < setting.version:
            assert mote.hear(setting, packet.at)
    return packets


def said(packets: list[Packet]) -> list[object]:
    return [packet.said for packet in packets if packet.said is not None]


@given(slot=st.integers(0, 10**12), rate=st.fractions("0.001", 10**6, max_denominator=1_000))
def test_the_grid_of_readings_is_exact(slot: int, rate: Fraction) -> None:
    at = instant_of(slot, rate)
    assert slot_of(at, rate) == slot
    assert at == 0 or slot_of(at - 1, rate) < slot


def test_a_rate_must_make_sense() -> None:
    assert hertz(0.1) == Fraction(1, 10)
    for wrong in (0.0, -1.0, 2e6, float("nan")):
        with pytest.raises(BindError, match="a rate must be positive"):
            hertz(wrong)


def test_edges_tell_vehicles_and_what_they_did_not_see() -> None:
    edges = Edges()
    assert [edges.see(at, value) for at, value in enumerate((1.0, 0.0, 1.0, 0.0))] == [
        None,
        Vehicle(0, 1, cut=True),
        None,
        Vehicle(2, 3),
    ]
    edges.resume(Vehicle(2, 9))
    assert edges.see(12, 0.0) == Vehicle(2, 12)
    assert edges.over(12) is None


def test_raw_sends_every_reading_that_is_wanted() -> None:
    setting = Setting(1, "raw", hertz(4), Region.above(3.5))
    packets = told(Mote("u", lambda at: at / SECOND), setting, 5 * SECOND)
    samples = [Sample(at, at / SECOND) for at in range(3_500_000, 5 * SECOND, 250_000)]
    assert said(packets) == samples
    assert [packet.seq for packet in packets] == list(range(1, len(packets) + 1))


def test_events_are_one_record_for_each_vehicle() -> None:
    road = [Passage(2 * SECOND, 88.0, 15.0), Passage(3 * SECOND, 44.0, 15.0)]
    packets = told(Mote("u", cover(road)), Setting(1, "events", hertz(1_000)), 5 * SECOND)
    assert said(packets) == [
        Vehicle(2_000_000, 2_171_000),
        Vehicle(3_000_000, 3_341_000),
    ]


def test_counts_are_of_whole_seconds() -> None:
    road = traffic(50, seed=2, per_second=3.0)
    mote = Mote("u", cover(road))
    packets = told(mote, Setting(1, "counts", hertz(200)), 30 * SECOND)
    counts = said(packets)
    assert [count.start for count in counts] == list(range(SECOND, 29 * SECOND, SECOND))
    assert all(isinstance(count, Count) and count.end - count.start == SECOND for count in counts)
    gone = [car.at + car.length / car.speed * SECOND for car in road]
    assert sum(count.n for count in counts) == sum(SECOND < off < 29 * SECOND for off in gone)


def test_panes_sum_readings_up_and_end_when_the_setting_does() -> None:
    mote = Mote("u", lambda at: at / SECOND)
    panes = Setting(1, "panes", hertz(2), Region.above(1.0), pane=4 * SECOND, listen_every=LISTEN)
    told(mote, panes, 5 * SECOND)
    packets = []
    for packet in mote.run(12 * SECOND):
        packets.append(packet)
        if packet.listen and packet.at >= 9 * SECOND:
            mote.hear(Setting(2, "raw", hertz(1)), packet.at)
    whole, cut = (packet.said for packet in packets if isinstance(packet.said, Pane))
    assert whole == Pane(4 * SECOND, 8 * SECOND, 8, 46.0, 4.0, 7.5)
    assert cut == Pane(8 * SECOND, 10 * SECOND, 4, 35.0, 8.0, 9.5)
    assert [sample.at for sample in said(packets) if isinstance(sample, Sample)] == [
        10 * SECOND,
        11 * SECOND,
    ]


def test_a_mote_hears_only_in_its_windows() -> None:
    mote = Mote("u", lambda at: 0.0, listen=30_000)
    beacon = next(mote.run(SECOND))
    assert beacon.listen == 30_000
    assert not mote.hear(Setting(1, "raw"), beacon.at + 30_001)
    assert mote.hear(Setting(1, "raw"), beacon.at + 30_000)
    assert mote.hear(Setting(1, "counts"), beacon.at), "heard, and not newer"
    list(mote.run(3 * SECOND))
    assert mote.setting.program == "raw"


def test_windows_come_even_when_there_is_nothing_to_say() -> None:
    setting = Setting(1, "raw", hertz(100), Region(), listen_every=LISTEN)
    packets = told(Mote("u", lambda at: 0.0), setting, 11 * SECOND)
    windows = [packet for packet in packets if packet.listen]
    assert len(windows) == len(packets) == 11


def test_asleep_it_wakes_every_few_seconds_however_time_is_cut() -> None:
    whole = [packet.at for packet in Mote("u", lambda at: 0.0).run(60 * SECOND)]
    assert whole == list(range(0, 60 * SECOND, 5 * SECOND))
    mote, parts = Mote("u", lambda at: 0.0), []
    for second in range(1, 61):
        parts += [packet.at for packet in mote.run(second * SECOND)]
    assert parts == whole


@pytest.mark.parametrize("program", ["raw", "events", "counts"])
def test_the_simulation_draws_what_the_table_says(program: str) -> None:
    road = [Passage(number * SECOND // 5, 88.0, 12.0) for number in range(2_000)]
    mote = Mote("u", cover(road))
    setting = Setting(1, program, hertz(180), listen_every=LISTEN)
    told(mote, setting, SECOND)
    before = mote.energy.total
    list(mote.run(61 * SECOND))
    watts = (mote.energy.total - before) / 60
    assert watts == pytest.approx(MOTE.energy(AT_180_HERTZ[program]).total, rel=0.01)


def test_a_battery_comes_to_its_end() -> None:
    weak = Battery(ampere_hours=1e-5)
    mote = Mote("u", lambda at: 0.0, battery=weak)
    setting = Setting(1, "raw", hertz(180), listen_every=LISTEN)
    packets = told(mote, setting, 10**4 * SECOND)
    assert mote.dead
    assert packets[-1].at / SECOND == pytest.approx(weak.lifetime(setting.work()), abs=3.0)
    assert not list(mote.run(10**5 * SECOND))
    assert not mote.hear(Setting(9), mote.now)
