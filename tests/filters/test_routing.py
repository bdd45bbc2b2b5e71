"""Routing: which packet makes which answer, at the edges where it could go wrong."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from streamgauge.filters.mote import Count, Packet, Pane, Sample, Setting, Vehicle
from streamgauge.filters.regions import ALL, NONE, Region
from streamgauge.filters.routing import DETAILS, Delivery, Figure, Interest, Router, covers
from streamgauge.kernel.time import SECOND

pytestmark = pytest.mark.slow

HERTZ = Fraction(10)


def packet(seq: int, at: int, said: object = None, version: int = 1) -> Packet:
    return Packet("u", seq, at, version, said)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("program", "served"),
    [
        ("raw", set(DETAILS)),
        ("events", {"vehicles", "vehicle count"}),
        ("counts", {"vehicle count"}),
        ("panes", {"avg", "sum", "min", "max", "count"}),
        ("sleep", set()),
    ],
)
def test_what_a_program_is_enough_for(program: str, served: set[str]) -> None:
    setting = Setting(1, program, HERTZ)
    assert {detail for detail in DETAILS if covers(setting, Interest(detail, HERTZ))} == served


def test_a_setting_must_be_fast_enough_and_say_enough() -> None:
    hot = Region.above(30.0)
    assert not covers(Setting(1, "raw", HERTZ), Interest("samples", Fraction(11)))
    assert not covers(Setting(1, "raw", HERTZ, hot), Interest("samples", HERTZ))
    assert not covers(Setting(1, "raw", HERTZ, hot), Interest("vehicles", HERTZ))
    assert covers(Setting(1, "raw", HERTZ, hot), Interest("samples", HERTZ, Region.above(31.0)))
    assert not covers(Setting(1, "panes", HERTZ), Interest("avg", Fraction(5)))
    assert covers(Setting(), Interest("samples", HERTZ, NONE)), "nothing can pass"


def test_panes_are_for_periods_of_whole_panes() -> None:
    setting = Setting(1, "panes", HERTZ, pane=4 * SECOND)
    assert covers(setting, Interest("avg", HERTZ, ALL, 8 * SECOND))
    assert not covers(setting, Interest("avg", HERTZ, ALL, 6 * SECOND))


def test_a_pane_goes_to_its_own_period_when_the_change_of_setting_was_lost() -> None:
    router = Router()
    router.add("sum", Interest("sum", HERTZ, ALL, 4 * SECOND), 0)
    panes = Setting(1, "panes", HERTZ, pane=4 * SECOND)
    late = packet(3, 8 * SECOND, Pane(5 * SECOND, 8 * SECOND, 30, 30.0, 1.0, 1.0))
    assert router.take(late, panes, gap=True) == [], "the period had begun before"
    more = packet(4, 12 * SECOND, Pane(8 * SECOND, 12 * SECOND, 40, 40.0, 1.0, 1.0))
    assert router.take(more, panes) == [Delivery(Figure(8 * SECOND, 12 * SECOND, 40.0), ("sum",))]


def test_what_was_on_its_way_when_a_query_came_is_not_of_its_first_period() -> None:
    router = Router()
    counts = Setting(1, "counts", HERTZ)
    router.take(packet(1, 5 * SECOND), counts)
    router.add("n", Interest("vehicle count", HERTZ), 6 * SECOND)
    assert router.take(packet(2, 6 * SECOND, Count(5 * SECOND, 6 * SECOND, 9)), counts) == []
    done = router.take(packet(3, 7 * SECOND, Count(6 * SECOND, 7 * SECOND, 2)), counts)
    assert done == [Delivery(Figure(6 * SECOND, 7 * SECOND, 2.0), ("n",))]


def test_a_query_begins_with_a_whole_period() -> None:
    router = Router()
    raw = Setting(1, "raw", Fraction(1))
    router.take(packet(1, 0), raw)
    interest = Interest("count", Fraction(1), ALL, 4 * SECOND)
    router.add("old", interest, 0)
    done = []
    for second in range(12):
        if second == 2:
            router.add("new", interest, 2 * SECOND)
        done += router.take(packet(second + 2, second * SECOND, Sample(second * SECOND, 1.0)), raw)
    assert [(delivery.what.start // SECOND, delivery.to) for delivery in done] == [  # type: ignore[union-attr]
        (0, ("old",)),
        (4, ("old", "new")),
    ]


def test_figures_of_no_reading_are_none_or_nought() -> None:
    router = Router()
    raw = Setting(1, "raw", HERTZ)
    for detail in ("avg", "sum", "min", "max", "count"):
        router.add(detail, Interest(detail, HERTZ), 0)
    router.take(packet(1, 0), raw)
    values = {to[0]: what.value for what, to in router.take(packet(2, SECOND), raw)}  # type: ignore[union-attr]
    assert values == {"avg": None, "sum": 0.0, "min": None, "max": None, "count": 0.0}


def test_a_long_silence_does_not_make_a_figure_for_each_period_of_it() -> None:
    router = Router()
    raw = Setting(1, "raw", HERTZ)
    router.add("n", Interest("count", HERTZ), 0)
    router.take(packet(1, 0), raw)
    back = 10**6 * SECOND
    (done,) = router.take(packet(99, back + SECOND // 2), raw, gap=True)
    assert done.what == Figure(0, SECOND, 0.0, partial=True)
    (first,) = router.take(packet(100, back + SECOND), raw)
    assert isinstance(first.what, Figure)
    assert first.what.partial
    (second,) = router.take(packet(101, back + 2 * SECOND), raw)
    assert isinstance(second.what, Figure)
    assert not second.what.partial


def test_a_vehicle_that_began_in_a_gap_is_counted_and_not_delivered() -> None:
    router = Router()
    raw = Setting(1, "raw", HERTZ)
    router.add("cars", Interest("vehicles", HERTZ), 0)
    router.add("n", Interest("vehicle count", HERTZ), 0)
    router.take(packet(1, 0), raw)
    done = []
    for seq, (at, value, gap) in enumerate(
        [(1, 0.0, False), (2, 1.0, True), (3, 0.0, False), (4, 1.0, False), (5, 0.0, False)]
    ):
        tenth = at * SECOND // 10
        done += router.take(packet(seq + 2, tenth, Sample(tenth, value)), raw, gap=gap)
    assert [what for what, _ in done] == [Vehicle(4 * SECOND // 10, 5 * SECOND // 10)]
    (figure,) = router.take(packet(9, SECOND), raw)
    assert figure.what == Figure(0, SECOND, 2.0, partial=True)


def test_the_fan_sends_readings_where_trying_every_query_would() -> None:
    dice = np.random.default_rng(2)
    rates = [Fraction(rate) for rate in (10, 5, 2)]
    ends = np.round(dice.normal(size=(60, 2)), 1)
    interests = {
        f"q{n}": Interest("samples", rates[n % 3], Region.between(*sorted(pair)))
        for n, pair in enumerate(ends.tolist())
    }
    router = Router()
    setting = Setting(1, "raw", HERTZ)
    router.take(packet(1, 0), setting)
    for query, interest in interests.items():
        router.add(query, interest, 0)
    for slot, value in enumerate(np.round(dice.normal(size=500), 1).tolist()):
        at = slot * SECOND // 10
        expected = {
            query
            for query, interest in interests.items()
            if value in interest.region and slot % (HERTZ / interest.rate) == 0
        }
        got = router.take(packet(slot + 2, at, Sample(at, value)), setting)
        assert {query for delivery in got for query in delivery.to} == expected
