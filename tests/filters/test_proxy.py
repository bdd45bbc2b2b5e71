"""The sensor proxy: what it makes a sensor do, what queries get, and what they are told."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.filters.energy import MOTE, Battery
from streamgauge.filters.mote import Mote, Packet, Sample, Setting, Vehicle
from streamgauge.filters.proxy import SensorProxy, attend
from streamgauge.filters.regions import ALL, Region
from streamgauge.filters.routing import DETAILS, Delivery, Figure
from streamgauge.filters.vehicles import cover, traffic
from streamgauge.kernel.errors import BindError, QueryNotFound
from streamgauge.kernel.time import SECOND
from streamgauge.operators.predicate import col

pytestmark = pytest.mark.slow

MINUTE = 60 * SECOND


def wave(at: int) -> float:
    """A reading that anyone can work out again."""
    return float(np.sin(at / 3e6) * 20.0 + (at // 1000) % 7)


def told(deliveries: list[Delivery]) -> dict[str, list[object]]:
    """What each query got."""
    found = defaultdict(list)
    for what, to in deliveries:
        for query in to:
            found[query].append(what)
    return found


def run(proxy: SensorProxy, mote: Mote, until: int, **faults: object) -> dict[str, list[object]]:
    return told(list(attend(proxy, mote, until, **faults)))  # type: ignore[arg-type]


def test_the_rate_is_the_largest_asked_and_slower_queries_get_every_nth() -> None:
    proxy, mote = SensorProxy("u"), Mote("u", wave)
    proxy.install("fast", now=0, rate=10)
    proxy.install("slow", now=0, rate=2)
    got = run(proxy, mote, 4 * SECOND)
    assert proxy.running is not None
    assert (proxy.running.program, proxy.running.rate) == ("raw", 10)
    assert [sample.at for sample in got["fast"]] == list(range(SECOND, 4 * SECOND, SECOND // 10))
    assert [sample.at for sample in got["slow"]] == list(range(SECOND, 4 * SECOND, SECOND // 2))


def test_one_sample_is_one_object_for_all() -> None:
    proxy, mote = SensorProxy("u"), Mote("u", wave)
    for number in range(200):
        proxy.install(f"q{number}", now=0, rate=1 + number % 2)
    got = list(attend(proxy, mote, 3 * SECOND))
    assert all(isinstance(delivery.what, Sample) for delivery in got)
    shared = [delivery for delivery in got if delivery.what.at % SECOND == 0]  # type: ignore[union-attr]
    assert [len(delivery.to) for delivery in shared] == [200, 200]
    assert len(got) == 4


def test_the_threshold_is_the_union_and_is_worked_out_again_when_a_query_goes() -> None:
    proxy = SensorProxy("u")
    proxy.install("hot", now=0, rate=1, where=col("value") >= 30)
    proxy.install("cold", now=0, rate=1, where=col("value") <= 5)
    assert proxy.wanted.region == Region.below(5.0) | Region.above(30.0)
    proxy.install("all", now=0, rate=1)
    assert proxy.wanted.region == ALL
    proxy.remove("all", now=0)
    proxy.remove("cold", now=0)
    assert proxy.wanted.region == Region.above(30.0)


def test_readings_that_nobody_wants_are_not_sent() -> None:
    limited, mote = SensorProxy("u"), Mote("u", wave)
    limited.install("hot", now=0, rate=10, where=Region.above(15.0))
    got = run(limited, mote, MINUTE)
    expected = [
        wave(at) for at in range(SECOND, MINUTE, SECOND // 10) if wave(at) in Region.above(15.0)
    ]
    assert [sample.value for sample in got["hot"]] == expected
    free, other = SensorProxy("u"), Mote("u", wave)
    free.install("hot", now=0, rate=10)
    run(free, other, MINUTE)
    assert limited.account.bits < 0.6 * free.account.bits


@pytest.mark.parametrize(
    ("asked", "program"),
    [
        ((), "sleep"),
        (("vehicle count",), "counts"),
        (("vehicle count", "vehicles"), "events"),
        (("vehicle count", "vehicles", "samples"), "raw"),
        (("avg", "max"), "panes"),
        (("avg", "samples"), "raw"),
        (("avg", "vehicle count"), "raw"),
    ],
)
def test_the_program_is_the_cheapest_that_serves_all(asked: tuple[str, ...], program: str) -> None:
    proxy = SensorProxy("u")
    for detail in asked:
        proxy.install(detail, now=0, rate=180, aggregate=detail, period=10 * SECOND)
    assert proxy.wanted.program == program


def test_panes_are_not_used_where_they_would_cost_more_than_readings() -> None:
    proxy = SensorProxy("u")
    proxy.install("avg", now=0, rate=1, aggregate="avg", period=SECOND)
    assert proxy.wanted.program == "raw"


def test_commands_wait_for_a_window_and_only_the_newest_is_sent() -> None:
    proxy = SensorProxy("u")
    for number in range(50):
        proxy.install(f"q{number}", now=0, rate=1 + number)
        if number:
            proxy.remove(f"q{number}", now=0)
    proxy.on_sample(Packet("u", 1, 0, 0, listen=30_000), now=0)
    (command,) = proxy.listen_window(30_000, now=0)
    assert command == proxy.wanted
    assert command.rate == 1
    assert proxy.account.commands == 1


def test_a_command_that_does_not_fit_waits_and_a_lost_one_is_sent_again() -> None:
    proxy = SensorProxy("u")
    proxy.install("q", now=0, rate=5)
    proxy.on_sample(Packet("u", 1, 0, 0, listen=1_000), now=0)
    assert proxy.listen_window(1_000, now=0) == []
    first = proxy.listen_window(30_000, now=SECOND)
    assert proxy.listen_window(30_000, now=2 * SECOND) == first
    proxy.on_sample(Packet("u", 2, 2 * SECOND, first[0].version), now=2 * SECOND)
    assert proxy.listen_window(30_000, now=2 * SECOND) == []


def test_a_query_is_told_when_it_waits_is_served_and_cannot_be_answered() -> None:
    proxy, mote = SensorProxy("u"), Mote("u", wave)
    proxy.install("speed", now=0, rate=180, aggregate="vehicles")
    run(proxy, mote, 3 * SECOND)
    assert [notice.state for notice in proxy.notices()] == ["waiting", "served"]
    proxy.limit(("counts",), now=3 * SECOND)
    run(proxy, mote, 6 * SECOND)
    (refused,) = proxy.notices()
    assert (refused.query, refused.state) == ("speed", "refused")
    assert "raw or events" in refused.why
    assert "limited to counts" in refused.why
    proxy.limit(("raw", "events", "counts"), now=6 * SECOND)
    run(proxy, mote, 15 * SECOND)
    assert [notice.state for notice in proxy.notices()] == ["waiting", "served"]


def test_the_battery_is_kept_for_as_long_as_was_asked() -> None:
    proxy = SensorProxy("u", battery=MOTE)
    proxy.install("samples", now=0, rate=180)
    proxy.install("flow", now=0, rate=180, aggregate="vehicle count")
    week = 7 * 86_400 * SECOND
    proxy.keep_alive(week, now=0)
    assert proxy.wanted.program == "counts"
    assert proxy.states == {"samples": "refused", "flow": "waiting"}
    proxy.keep_alive(week // 7, now=0)
    assert proxy.wanted.program == "raw"


def test_with_no_query_the_sensor_sleeps_and_is_still_watched() -> None:
    proxy, mote = SensorProxy("u"), Mote("u", wave)
    proxy.install("q", now=0, rate=50)
    run(proxy, mote, 5 * SECOND)
    proxy.remove("q", now=5 * SECOND)
    run(proxy, mote, 10 * SECOND)
    before = proxy.account.packets
    assert mote.setting.program == "sleep"
    run(proxy, mote, 110 * SECOND)
    assert proxy.account.packets - before == 20
    assert not proxy.silent
    proxy.install("again", now=110 * SECOND, rate=1)
    assert run(proxy, mote, 120 * SECOND)["again"]


def test_silence_and_death_are_told_apart_and_return_is_told() -> None:
    proxy, mote = SensorProxy("u"), Mote("u", wave)
    proxy.install("q", now=0, rate=5)
    run(proxy, mote, 5 * SECOND)
    proxy.notices()
    run(proxy, mote, 15 * SECOND, radio=lambda packet: None)
    assert [notice.state for notice in proxy.notices()] == ["silent"]
    run(proxy, mote, 16 * SECOND)
    assert [notice.state for notice in proxy.notices()] == ["back"]
    assert proxy.account.lost == 50
    weak = Battery(ampere_hours=2e-6)
    proxy, mote = SensorProxy("u", battery=weak), Mote("u", wave, battery=weak)
    proxy.install("q", now=0, rate=180)
    run(proxy, mote, MINUTE)
    assert mote.dead
    assert proxy.notices()[-1].state == "dead"


def test_damage_is_counted_told_once_and_harms_nobody() -> None:
    proxy, mote = SensorProxy("u", values=Region.between(-100.0, 100.0)), Mote("u", wave)
    proxy.install("q", now=0, rate=10)
    proxy.install("sum", now=0, rate=10, aggregate="sum", period=10 * SECOND)
    run(proxy, mote, 5 * SECOND)
    proxy.notices()
    good = proxy._seq + 1
    at = 5 * SECOND
    bad = [
        Packet("u", good, at, proxy.wanted.version, Sample(at, np.nan)),
        Packet("u", good, at, proxy.wanted.version, Sample(at, 1e9)),
        Packet("v", good, at, proxy.wanted.version, Sample(at, 1.0)),
        Packet("u", good, at + MINUTE, proxy.wanted.version, Sample(at + MINUTE, 1.0)),
        Packet("u", good, 0, proxy.wanted.version, Sample(0, 1.0)),
        Packet("u", good, at, proxy.wanted.version, Vehicle(at, at - 1)),
        Packet("u", good, at, proxy.wanted.version, Sample(at, 1.0), intact=False),
    ]
    assert [proxy.on_sample(packet, now=at) for packet in bad] == [[]] * len(bad)
    assert (proxy.account.bad, proxy.account.garbled) == (6, 1)
    assert [notice.state for notice in proxy.notices()] == ["damaged"]
    got = run(proxy, mote, 25 * SECOND)
    assert [figure.partial for figure in got["sum"]] == [False]


def test_repeated_packets_are_dropped() -> None:
    proxy, mote = SensorProxy("u"), Mote("u", wave)
    proxy.install("q", now=0, rate=10)
    got = []
    for packet in mote.run(3 * SECOND):
        for _ in range(3):
            got += proxy.on_sample(packet, now=packet.at)
        for setting in proxy.listen_window(packet.listen, now=packet.at):
            mote.hear(setting, packet.at)
    assert len(told(got)["q"]) == 20
    assert proxy.account.repeated == 2 * proxy.account.packets


def test_a_sensor_that_starts_again_is_told_its_setting_again() -> None:
    proxy, mote = SensorProxy("u"), Mote("u", wave)
    proxy.install("q", now=0, rate=10)
    run(proxy, mote, 5 * SECOND)
    fresh = Mote("u", wave, begin=6 * SECOND)
    got = run(proxy, fresh, 9 * SECOND)
    assert [sample.at for sample in got["q"]] == list(range(7 * SECOND, 9 * SECOND, SECOND // 10))
    assert "restarted" in [notice.state for notice in proxy.notices()]


def test_a_new_proxy_takes_over_a_sensor_that_an_old_one_had_set() -> None:
    old, mote = SensorProxy("u"), Mote("u", wave)
    for number in range(5):
        old.install(f"q{number}", now=0, rate=number + 1)
        run(old, mote, (number + 1) * 3 * SECOND)
    new = SensorProxy("u")
    new.install("q", now=15 * SECOND, rate=20)
    got = run(new, mote, 18 * SECOND)
    assert mote.setting.rate == 20
    assert [sample.at for sample in got["q"]] == list(range(16 * SECOND, 18 * SECOND, SECOND // 20))


def test_the_account_of_energy_agrees_with_the_sensor() -> None:
    hardware = Battery(receiver=13.5e-3)
    road = cover(traffic(200, seed=3))
    proxy, mote = SensorProxy("u", battery=hardware), Mote("u", road, battery=hardware)
    for step, detail in enumerate(("vehicle count", "vehicles", "samples")):
        proxy.install(detail, now=step * 20 * SECOND, rate=180, aggregate=detail)
        run(proxy, mote, (step + 1) * 20 * SECOND)
    for mine, theirs in zip(proxy.energy, mote.energy, strict=True):
        assert mine == pytest.approx(theirs, rel=0.05)


@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        ({"rate": 0}, "rate=180"),
        ({"rate": 2_000}, "rate=1000 or less"),
        ({"rate": 1, "aggregate": "median"}, "samples, vehicles"),
        ({"rate": 1, "aggregate": "avg", "period": 1}, "period=60"),
        ({"rate": 1, "aggregate": "vehicles", "where": Region.above(1.0)}, "leave where out"),
    ],
)
def test_what_cannot_be_asked_is_said(asked: dict[str, object], hint: str) -> None:
    proxy = SensorProxy("u")
    with pytest.raises(BindError) as error:
        proxy.install("q", now=0, **asked)  # type: ignore[arg-type]
    assert hint in error.value.hint
    assert not proxy.states


def test_names_are_given_once_and_must_be_known() -> None:
    proxy = SensorProxy("u")
    proxy.install("q", now=0, rate=1)
    with pytest.raises(BindError, match="installed already"):
        proxy.install("q", now=0, rate=1)
    with pytest.raises(QueryNotFound, match="no query 'p'"):
        proxy.remove("p", now=0)


# What else goes on at the sensor while a query is watched: (second, name, what it asks or None).
OTHERS = st.lists(
    st.tuples(
        st.integers(0, 30),
        st.sampled_from("abc"),
        st.none() | st.tuples(st.sampled_from(DETAILS), st.sampled_from([2, 4, 20])),
    ),
    max_size=8,
)


def with_others(
    watched: str, others: list[tuple[int, str, tuple[str, int] | None]], drop: frozenset[int]
) -> tuple[list[object], SensorProxy]:
    """What a query gets that is there from the start, while others come and go."""
    road = cover(traffic(40, seed=5, per_second=1.0, free=0.3))
    proxy, mote = SensorProxy("u"), Mote("u", road)
    proxy.install("watched", now=0, rate=4, aggregate=watched, period=4 * SECOND)
    lossy = {"radio": lambda packet: None if packet.seq in drop else packet}
    got: list[object] = []
    for second, name, asked in sorted(others, key=lambda other: other[0]):
        got += run(proxy, mote, second * SECOND, **lossy)["watched"]
        if name in proxy.states:
            proxy.remove(name, now=second * SECOND)
        if asked is not None:
            # Vehicles are seen more finely by a faster sensor, so that it stays at one rate then.
            detail, rate = asked if watched != "vehicle count" else (asked[0], 4)
            period = 6 * SECOND
            proxy.install(name, now=second * SECOND, rate=rate, aggregate=detail, period=period)
    return got + run(proxy, mote, 40 * SECOND, **lossy)["watched"], proxy


@pytest.mark.parametrize("watched", ["samples", "vehicle count", "avg", "sum", "max"])
@settings(max_examples=25, deadline=None, derandomize=True)
@given(others=OTHERS)
def test_a_query_gets_what_it_would_get_alone(
    watched: str, others: list[tuple[int, str, tuple[str, int] | None]]
) -> None:
    alone, _ = with_others(watched, [], frozenset())
    among, proxy = with_others(watched, others, frozenset())
    assert proxy.states["watched"] == "served"
    assert len(alone) >= 8
    assert among == alone


@pytest.mark.parametrize("watched", ["sum", "vehicle count", "min"])
@settings(max_examples=25, deadline=None, derandomize=True)
@given(others=OTHERS, drop=st.frozensets(st.integers(2, 400), max_size=12))
def test_a_figure_that_lacks_packets_says_so(
    watched: str, others: list[tuple[int, str, tuple[str, int] | None]], drop: frozenset[int]
) -> None:
    whole, _ = with_others(watched, [], frozenset())
    right = {figure.start: figure.value for figure in whole if isinstance(figure, Figure)}
    got, _ = with_others(watched, others, drop)
    for figure in got:
        assert isinstance(figure, Figure)
        assert figure.partial or figure.value == right.get(figure.start, figure.value)


def test_vehicles_are_neither_lost_nor_doubled_when_programs_change() -> None:
    passages = traffic(60, seed=9, per_second=1.0)
    proxy, mote = SensorProxy("u"), Mote("u", cover(passages))
    proxy.install("flow", now=0, rate=100, aggregate="vehicle count", period=SECOND)
    proxy.install("base", now=0, rate=100, aggregate="vehicles")
    got: list[object] = []
    cars: list[object] = []
    for second in range(2, 90):
        if second % 3 == 0:
            proxy.install("raw", now=second * SECOND, rate=100)
        elif "raw" in proxy.states:
            proxy.remove("raw", now=second * SECOND)
        found = run(proxy, mote, second * SECOND)
        got += found["flow"]
        cars += found["base"]
    seen = [figure for figure in got if isinstance(figure, Figure)]
    # The sensor is told to wake at the first second, and a vehicle may have passed before.
    there = sum(car.at + car.length / car.speed * SECOND > SECOND for car in passages)
    assert sum(figure.value or 0 for figure in seen) == len(cars) == there
    assert not any(figure.partial for figure in seen)
    straight, other = SensorProxy("u"), Mote("u", cover(passages))
    straight.install("base", now=0, rate=100, aggregate="vehicles")
    assert run(straight, other, 89 * SECOND)["base"] == cars


def test_a_setting_says_what_it_is() -> None:
    assert str(Setting()) == "sleep, waking every 5 s"
