"""Energy: the printed totals come out of the table, and parts add up."""

from __future__ import annotations

import pytest

from streamgauge.filters.energy import AT_180_HERTZ, DAY, MOTE, Battery, Work
from streamgauge.filters.mote import Setting, hertz

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("program", "milliwatts", "milliamperes"),
    [("raw", 13.0, 2.6), ("events", 1.1, 0.22), ("counts", 0.38, 0.076)],
)
def test_the_printed_power_at_180_hertz(
    program: str, milliwatts: float, milliamperes: float
) -> None:
    watts = MOTE.energy(AT_180_HERTZ[program]).total
    assert 1_000 * watts == pytest.approx(milliwatts, rel=0.01)
    assert 1_000 * watts / MOTE.volts == pytest.approx(milliamperes, rel=0.01)


def test_the_printed_lifetimes() -> None:
    """About a day and a half; about two and a half weeks; a third of the draw of that."""
    days = {program: MOTE.lifetime(work) / DAY for program, work in AT_180_HERTZ.items()}
    assert days["raw"] == pytest.approx(1.5, rel=0.1)
    assert days["events"] == pytest.approx(2.5 * 7, rel=0.1)
    assert days["counts"] / days["events"] == pytest.approx(3.0, rel=0.05)
    assert days["counts"] / days["raw"] == pytest.approx(34.0, rel=0.02)


def test_raw_readings_cost_radio_and_events_cost_processor_at_high_rates() -> None:
    for rate in (60, 180, 500):
        raw = MOTE.energy(Setting(1, "raw", hertz(rate)).work())
        assert raw.radio > 0.94 * raw.total
    events = MOTE.energy(Setting(1, "events", hertz(1_000), listen_every=1_000_000).work())
    assert events.processor + events.converter > events.radio
    slow, fast = (
        MOTE.energy(Setting(1, "events", hertz(rate)).work()).radio for rate in (10, 1_000)
    )
    assert slow == fast


@pytest.mark.parametrize("program", ["raw", "events", "counts"])
def test_a_setting_works_as_the_table_says(program: str) -> None:
    setting = Setting(1, program, hertz(180), listen_every=1_000_000)
    assert setting.work() == AT_180_HERTZ[program]


def test_sleep_is_cheaper_than_anything() -> None:
    asleep = MOTE.lifetime(Setting().work())
    assert all(asleep > 5 * MOTE.lifetime(work) for work in AT_180_HERTZ.values())


def test_energy_is_linear_in_the_work() -> None:
    hardware = Battery(receiver=13.5e-3)
    one, two = Work(10, 500, 160, 0.03, 1.0), Work(3, 100, 23, 0.0, 4.0)
    apart = hardware.energy(one).total + hardware.energy(two).total
    assert hardware.energy(one.and_then(two)).total == pytest.approx(apart)


def test_listening_costs_what_the_totals_leave_out() -> None:
    """30 ms a second of a receiver of 13.5 mW doubles what the counting program draws."""
    hardware = Battery(receiver=13.5e-3)
    work = AT_180_HERTZ["counts"]._replace(listening=0.03)
    assert hardware.energy(work).receiver > MOTE.energy(work).total
