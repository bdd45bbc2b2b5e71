"""The filter beside a source: what it sends, and that nothing it keeps silent is outside."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.filters.bound import EVERY_READING, NOTHING, Grant, Update
from streamgauge.filters.curve import VALUE
from streamgauge.filters.source import SourceFilter

pytestmark = pytest.mark.slow

SECOND = 1_000_000


def granted(width: float, value: float = 0.0, *, models: bool = True) -> SourceFilter:
    """One object that was sent once and got a width."""
    source = SourceFilter(models=models)
    source.add(0)
    assert source.offer(0, 0, value) is not None
    assert source.grant(Grant(0, 1, width, 0), 0) is None
    return source


def test_a_new_object_sends_every_change_until_a_grant_comes() -> None:
    source = SourceFilter()
    source.add(7)
    first = source.offer(7, 5, 1.0)
    assert first is not None
    assert (first.number, first.at, first.value, first.version) == (7, 5, 1.0, 0)
    assert source.offer(7, 6, 1.0) is None
    assert source.offer(7, 7, 1.5) is not None


def test_only_values_outside_of_the_bound_are_sent_and_it_moves_there() -> None:
    source = granted(4.0)
    assert source.offer(0, 1, 1.9) is None
    assert source.offer(0, 2, -1.9) is None
    sent = source.offer(0, 3, 2.5)
    assert sent is not None
    assert sent.value == 2.5
    assert sent.version == 1
    assert source.offer(0, 4, 4.4) is None
    assert source.offer(0, 5, 0.4) is not None


def test_growth_waits_for_its_instant() -> None:
    source = granted(2.0)
    assert source.grant(Grant(0, 2, 10.0, 50), 20) is None
    assert source.bound(0, 20)[1:] == (2.0, 1)
    assert source.offer(0, 30, 4.0) is not None
    assert source.offer(0, 50, 8.5) is None
    assert source.bound(0, 50)[1:] == (10.0, 2)
    assert source.applied() == []


def test_growth_comes_into_force_without_readings() -> None:
    source = granted(2.0)
    source.grant(Grant(0, 2, 10.0, 50), 20)
    assert source.check(49) == []
    assert source.bound(0, 49)[2] == 1
    source.check(50)
    assert source.bound(0, 50)[2] == 2


def test_a_shrink_is_applied_at_once_and_said() -> None:
    source = granted(4.0)
    assert source.offer(0, 1, 1.5) is None
    assert source.grant(Grant(0, 2, 3.5, 99), 2) is None
    assert source.applied() == [(0, 2)]
    assert source.applied() == []
    sent = source.grant(Grant(0, 3, 2.0, 99), 3)
    assert sent is not None
    assert (sent.at, sent.value, sent.version) == (3, 1.5, 3)
    assert source.applied() == []


def test_older_grants_are_ignored_and_repeated_ones_said_again() -> None:
    source = granted(4.0)
    source.grant(Grant(0, 5, 2.0, 0), 1)
    assert source.applied() == [(0, 5)]
    source.grant(Grant(0, 4, 100.0, 0), 2)
    assert source.bound(0, 2)[1:] == (2.0, 5)
    assert source.applied() == []
    source.grant(Grant(0, 5, 2.0, 0), 3)
    assert source.applied() == [(0, 5)]


def test_a_shrink_overtakes_growth_that_waits() -> None:
    source = granted(2.0)
    source.grant(Grant(0, 2, 10.0, 100), 1)
    source.grant(Grant(0, 3, 1.0, 100), 2)
    source.check(200)
    assert source.bound(0, 200)[1:] == (1.0, 3)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("width", [0.0, 2.0, NOTHING, EVERY_READING])
def test_no_number_is_refused_and_counted(width: float, value: float) -> None:
    source = granted(width) if width else granted(1.0)
    assert source.offer(0, 5, value) is None
    assert source.refused == 1
    assert source.check(10) == []


def test_every_reading_or_nothing() -> None:
    every = granted(EVERY_READING)
    assert [every.offer(0, at, 0.0) is not None for at in range(1, 4)] == [True] * 3
    nothing = granted(NOTHING)
    assert nothing.offer(0, 1, 1e300) is None
    woken = nothing.grant(Grant(0, 2, 5.0, 0), 2)
    assert woken is not None
    assert woken.value == 1e300


def test_times_of_an_object_never_go_back() -> None:
    source = granted(2.0)
    assert source.offer(0, 100, 0.5) is None
    sent = source.offer(0, 50, 3.0)
    assert sent is not None
    assert sent.at == 100


def test_outside_of_wanted_regions_a_value_is_silent_but_crossings_are_told() -> None:
    source = granted(2.0)
    source.regions(0, [(10.0, 20.0)])
    assert source.offer(0, 1, 5.0) is None
    assert source.offer(0, 2, 9.9) is None
    assert source.offer(0, 3, 10.0) is not None
    assert source.offer(0, 4, 10.9) is None
    assert source.offer(0, 5, 9.95) is not None
    assert source.offer(0, 6, -50.0) is None
    source.regions(0, None)
    assert source.offer(0, 7, -50.0) is not None


def test_a_removed_object_is_gone() -> None:
    source = granted(2.0)
    source.remove(0)
    assert 0 not in source
    assert len(source) == 0
    assert source.grant(Grant(0, 9, 1.0, 0), 5) is None
    assert source.check(99) == []


def test_an_object_that_became_quiet_says_so_once() -> None:
    source = granted(8.0)
    draw = np.random.default_rng(4)
    value, at = 0.0, 0
    for at in range(1, 3000):
        value += float(draw.normal())
        source.offer(0, at * SECOND, value)
        source.check(at * SECOND)
    told = []
    for later in range(at + 1, at + 4001):
        source.offer(0, later * SECOND, value)
        told += source.check(later * SECOND)
    assert len(told) == 1
    assert told[0].at - at * SECOND < 600 * SECOND
    assert told[0].value == value
    assert told[0].rate * 8.0 ** -told[0].power < 0.02


def test_the_curve_of_a_random_walk() -> None:
    # The told rate at 16 steps of width is within a factor of 1.6 of one exit every 64 seconds
    # for each of 20 walks: the mean of 64 exits is off by a fifth at most six times in a million.
    draw = np.random.default_rng(11)
    rates = []
    for _ in range(20):
        source = granted(16.0)
        value, last = 0.0, None
        for at in range(1, 8000):
            value += float(draw.normal())
            last = source.offer(0, at * SECOND, value) or last
        assert last is not None
        assert 1.2 < last.power < 2.8
        rates.append(last.rate * 16.0**-last.power)
    assert 0.6 / 64 < sum(rates) / len(rates) < 1.3 / 64


def run(source: SourceFilter, values: list[float]) -> int:
    """Messages for a reading a second."""
    sent = 0
    for second, value in enumerate(values, 1):
        sent += source.offer(0, second * SECOND, value) is not None
        sent += len(source.check(second * SECOND))
    return sent


def test_a_slope_pays_on_a_ramp_and_not_on_a_walk() -> None:
    draw = np.random.default_rng(5)
    ramp = [0.3 * second + float(draw.normal(0.0, 0.3)) for second in range(6000)]
    still, moving = (run(granted(10.0, models=models), ramp) for models in (False, True))
    assert moving < still / 5
    walk, value = [], 0.0
    for _ in range(6000):
        value += float(draw.normal())
        walk.append(value)
    still, moving = (run(granted(10.0, models=models), walk) for models in (False, True))
    assert moving < 1.15 * still


def test_a_moving_bound_does_not_run_away_from_a_reading_that_stands_still() -> None:
    source = granted(10.0)
    run(source, [0.3 * second for second in range(2000)])
    value = 0.3 * 1999
    told = [u for second in range(2001, 4000) for u in source.check(second * SECOND)]
    assert 1 <= len(told) <= 8
    assert all(update.value == value for update in told)


@pytest.mark.parametrize("seed", range(4))
def test_a_moving_bound_is_right_between_readings_that_come_when_they_like(seed: int) -> None:
    draw = np.random.default_rng(seed)
    source = granted(10.0)
    belief = [Update(0, 0, 0.0, 1)]
    at, version, moving = 0, 1, 0
    for _ in range(1500):
        before, old = at, source._rows[0][VALUE]
        width = source.bound(0, before)[1]
        at += int(draw.integers(1, 4 * SECOND)) if draw.random() < 0.98 else 90 * SECOND
        if draw.random() < 0.05:
            version += 1
            width_next = float(draw.choice([4.0, 10.0, 15.0]))
            told = source.grant(Grant(0, version, width_next, 0), at)
        else:
            # Stands still for a while every now and then.
            told = source.offer(0, at, 0.4 * (at - at % (600 * SECOND) // 8) / SECOND)
        belief += [told] if told is not None else []
        belief += source.check(at)
        moving += belief[-1].slope != 0.0
        for share in range(20):
            instant = before + (at - before) * share // 20
            _holds(belief[-8:], instant, old, width)
        _holds(belief[-8:], at, source._rows[0][VALUE], source.bound(0, at)[1])
    assert moving > 500


def ramps_that_jump(*objects: int) -> list[Update]:
    """All updates of objects that rise together, are read no more for a while, and jump."""
    source, told = SourceFilter(), list[Update]()
    for number in objects:
        source.add(number)
        source.offer(number, 0, 0.0)
        source.grant(Grant(number, 1, 10.0, 0), 0)
    for second in (*range(1, 600), 690):
        value = 0.3 * second if second < 600 else 500.0
        found = [source.offer(number, second * SECOND, value) for number in objects]
        told += [update for update in found if update is not None]
        told += source.check(second * SECOND)
    return sorted(told, key=lambda update: (update.number, update.at))


def test_updates_that_wait_are_those_of_all_objects() -> None:
    """One filter for two objects tells what a filter for each would."""
    alone = [ramps_that_jump(number) for number in (0, 1)]
    assert all(updates[-1].value == 500.0 for updates in alone)
    assert ramps_that_jump(0, 1) == alone[0] + alone[1]


numbers = st.floats(-1e6, 1e6, allow_nan=False)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("read"), st.integers(1, 3 * SECOND), numbers),
        st.tuples(st.just("grant"), st.integers(0, SECOND), st.floats(0.0, 1e5)),
        st.tuples(st.just("check"), st.integers(1, 3 * SECOND), st.just(0.0)),
    ),
    max_size=60,
)


@given(steps, st.booleans())
@settings(max_examples=300, deadline=None)
def test_a_value_is_silent_only_inside_of_its_bound(
    history: list[tuple[str, int, float]], ramp: bool
) -> None:
    """What the coordinator believes holds the reading at the ends of every stretch of time."""
    source = SourceFilter()
    source.add(0)
    at, value, version = 0, 0.0, 0
    belief: list[Update] = []
    first = source.offer(0, at, value)
    assert first is not None
    belief.append(first)
    width = 0.0
    for what, wait, number in history:
        before, held = at, value
        at += wait
        if what == "read":
            value = value + 10.0 * wait / SECOND + number * 1e-7 if ramp else number
            told = source.offer(0, at, value)
            belief += [told] if told is not None else []
        elif what == "grant":
            version += 1
            told = source.grant(Grant(0, version, number, 0), at)
            belief += [told] if told is not None else []
        belief += source.check(at)
        # Up to now the old reading and the old width stood, from now on the new ones.
        _holds(belief, at, value, source.bound(0, at)[1])
        for instant in (before, (before + at) // 2, at - 1):
            if before <= instant < at:
                _holds(belief, instant, held, width)
        width = source.bound(0, at)[1]


def _holds(belief: list[Update], at: int, value: float, width: float) -> None:
    said = max((update for update in belief if update.at <= at), key=lambda update: update.at)
    centre = said.value + said.slope * ((at - said.at) / SECOND)
    assert abs(value - centre) <= width / 2


@given(st.lists(numbers, min_size=2, max_size=60), st.integers(1, 59))
@settings(max_examples=100, deadline=None)
def test_a_filter_that_was_kept_goes_on_as_if_nothing_had_been(
    values: list[float], cut: int
) -> None:
    whole, first = granted(1000.0), granted(1000.0)
    for source in (whole, first):
        source.add(1)
        source.regions(1, [(-math.inf, 0.0)])
        source.grant(Grant(0, 2, 5000.0, 30 * SECOND), 0)
    kept: SourceFilter = first
    for second, value in enumerate(values, 1):
        if second == cut:
            kept = SourceFilter.restore(json.loads(json.dumps(kept.snapshot(), allow_nan=False)))
        for number in (0, 1):
            same = kept.offer(number, second * SECOND, value)
            assert _told(same) == _told(whole.offer(number, second * SECOND, value))
        assert list(map(_told, kept.check(second * SECOND))) == list(
            map(_told, whole.check(second * SECOND))
        )


def _told(update: Update | None) -> tuple[float, ...] | None:
    """An update with NaN made comparable."""
    return None if update is None else tuple(-1.0 if part != part else part for part in update)
