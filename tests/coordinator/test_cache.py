"""The bound cache: order, widths, interruptions, moving bounds."""

from __future__ import annotations

import json
import math

import pytest

from streamgauge.coordinator.cache import UNASKED, BoundCache, Row
from streamgauge.filters.bound import EVERY_READING, NOTHING, Update
from streamgauge.kernel.time import SECOND

pytestmark = pytest.mark.slow


def cache_of(*keys: str) -> BoundCache:
    cache = BoundCache()
    for key in keys:
        cache.add((key,), "agent")
    return cache


def close(cache: BoundCache, after: int, upto: int, unheard: tuple[str, ...] = ()) -> list[Row]:
    return cache.close(after * SECOND, upto * SECOND, tick=SECOND, unheard=unheard)


def at(seconds: float) -> int:
    return round(seconds * SECOND)


def test_values_come_out_in_order_of_their_labels() -> None:
    cache = cache_of("a", "b")
    cache.told(0, Update(0, at(1.7), 3.0, 0))
    cache.told(1, Update(1, at(1.2), 5.0, 0))
    cache.told(0, Update(0, at(1.1), 2.0, 0))
    cache.told(0, Update(0, at(2.5), 9.0, 0))
    assert close(cache, 1, 2) == [
        Row(0, at(1.1), 2.0, 0.0),
        Row(1, at(1.2), 5.0, 0.0),
        Row(0, at(1.7), 3.0, 0.0),
    ]
    assert close(cache, 2, 3) == [Row(0, at(2.5), 9.0, 0.0)]


def test_growth_counts_from_its_instant_and_shrinking_from_its_confirmation() -> None:
    cache = cache_of("a")
    cache.told(0, Update(0, at(0.5), 1.0, 0))
    cache.granted(0, 1, 4.0, at(1.5))
    assert close(cache, 0, 1) == [Row(0, at(0.5), 1.0, 0.0)]
    assert close(cache, 1, 2) == [Row(0, at(1.5), 1.0, 4.0)]
    cache.granted(0, 2, 2.0, at(2.5))
    assert close(cache, 2, 3) == []
    cache.applied(0, 2, at(3.4))
    assert close(cache, 3, 4) == [Row(0, at(3.4), 1.0, 2.0)]


def test_a_width_is_the_widest_that_the_source_may_apply() -> None:
    cache = cache_of("a")
    cache.told(0, Update(0, at(0.1), 1.0, 0))
    for version, width in ((1, 8.0), (2, 1.0), (3, 3.0)):
        cache.granted(0, version, width, at(0.2))
    assert close(cache, 0, 1)[-1].width == 8.0
    cache.told(0, Update(0, at(1.5), 2.0, 2))
    assert close(cache, 1, 2) == [Row(0, at(1.5), 2.0, 3.0)]


def test_one_label_is_one_transaction() -> None:
    cache = cache_of("a")
    cache.granted(0, 1, 4.0, at(0.5))
    cache.told(0, Update(0, at(0.5), 1.0, 0))
    cache.told(0, Update(0, at(0.5), 2.0, 1))
    assert close(cache, 0, 1) == [Row(0, at(0.5), 2.0, 4.0)]


def test_an_interruption_is_one_row_and_the_return_another() -> None:
    cache = cache_of("a")
    cache.told(0, Update(0, at(0.5), 1.0, 0))
    close(cache, 0, 1)
    assert close(cache, 1, 2, ("agent",)) == [Row(0, at(2), 1.0, math.inf)]
    cache.told(0, Update(0, at(2.5), 7.0, 0))
    assert close(cache, 2, 3, ("agent",)) == []
    assert close(cache, 3, 4) == [Row(0, at(3) + 1, 7.0, 0.0)]


def test_an_object_that_appears_during_an_interruption_is_not_known_yet() -> None:
    cache = cache_of("a")
    cache.told(0, Update(0, at(0.5), 1.0, 0))
    assert close(cache, 0, 1, ("agent",)) == [Row(0, at(0.5), 1.0, math.inf)]
    assert close(cache, 1, 2, ("agent",)) == []
    assert close(cache, 2, 3) == [Row(0, at(2) + 1, 1.0, 0.0)]


def test_late_values_take_effect_at_the_first_open_tick() -> None:
    cache = cache_of("a")
    close(cache, 0, 5)
    cache.told(0, Update(0, at(3.5), 1.0, 0))
    assert close(cache, 5, 6) == [Row(0, at(5) + 1, 1.0, 0.0)]


def test_a_moving_bound_has_a_row_at_each_tick() -> None:
    cache = cache_of("a")
    cache.granted(0, 1, 4.0, at(0.1))
    cache.told(0, Update(0, at(0.5), 10.0, 1, 2.0))
    rows = close(cache, 0, 3)
    assert [(row.at, row.value) for row in rows] == [
        (at(0.5), 10.0),
        (at(1), 11.0),
        (at(2), 13.0),
        (at(3), 15.0),
    ]
    assert all(4.0 < row.width < 4.0 + 1e-12 for row in rows)
    cache.told(0, Update(0, at(3.5), 20.0, 1))
    assert [row.value for row in close(cache, 3, 5)] == [20.0]


def test_a_moving_bound_that_is_sent_at_a_tick_has_one_row_there() -> None:
    cache = cache_of("a")
    cache.told(0, Update(0, at(1), 10.0, 0, 2.0))
    assert [(row.at, row.value) for row in close(cache, 0, 2)] == [(at(1), 10.0), (at(2), 12.0)]


def test_an_object_that_left_has_no_value() -> None:
    cache = cache_of("a")
    cache.told(0, Update(0, at(0.5), 1.0, 0))
    cache.left(0, at(0.7))
    rows = close(cache, 0, 1)
    assert [row.at for row in rows] == [at(0.5), at(0.7)]
    assert math.isnan(rows[1].value)
    assert close(cache, 1, 2, ("agent",)) == []
    cache.told(0, Update(0, at(2.5), 4.0, 0))
    assert close(cache, 2, 3) == [Row(0, at(2.5), 4.0, 0.0)]


@pytest.mark.parametrize(("width", "landed"), [(NOTHING, UNASKED), (EVERY_READING, 0.0)])
def test_widths_that_are_no_widths(width: float, landed: float) -> None:
    cache = cache_of("a")
    cache.granted(0, 1, width, at(0.1))
    cache.told(0, Update(0, at(0.5), 1.0, 1))
    assert close(cache, 0, 1) == [Row(0, at(0.5), 1.0, landed)]


@pytest.mark.parametrize("version", [1, 7])
def test_a_version_that_was_not_granted_is_not_believed(version: int) -> None:
    cache = cache_of("a")
    cache.granted(0, 3, 4.0, at(0.1))
    cache.told(0, Update(0, at(0.5), 1.0, version))
    assert close(cache, 0, 1) == [Row(0, at(0.5), 1.0, math.inf)]
    assert cache.unknown_versions == 1
    cache.told(0, Update(0, at(1.5), 1.0, 3))
    assert close(cache, 1, 2) == [Row(0, at(1.5), 1.0, 4.0)]


def test_a_source_without_memory_is_not_believed_until_it_speaks() -> None:
    cache = cache_of("a")
    cache.granted(0, 1, 4.0, at(0.1))
    cache.told(0, Update(0, at(0.5), 1.0, 1))
    close(cache, 0, 1)
    cache.restart([0], "agent")
    assert close(cache, 1, 2) == [Row(0, at(1) + 1, 1.0, math.inf)]
    cache.told(0, Update(0, at(2.5), 6.0, 0))
    assert close(cache, 2, 3) == [Row(0, at(2.5), 6.0, 0.0)]


def test_a_pad_widens_every_row() -> None:
    cache = BoundCache()
    cache.add(("a",), "agent", pad=1.5)
    cache.told(0, Update(0, at(0.5), 1.0, 0))
    assert close(cache, 0, 1) == [Row(0, at(0.5), 1.0, 1.5)]


def test_json_keeps_all_of_it() -> None:
    cache = cache_of("a", "b", "c")
    cache.granted(0, 1, 4.0, at(0.1))
    cache.granted(0, 2, NOTHING, at(2.1))
    cache.told(0, Update(0, at(0.5), 1.0, 1, 0.5))
    cache.told(1, Update(1, at(0.6), 2.0, 0))
    close(cache, 0, 1, ("other",))
    cache.told(0, Update(0, at(1.5), 3.0, 1))
    cache.left(1, at(1.7))
    cache.restart([2], "agent")
    again = BoundCache.from_dict(json.loads(json.dumps(cache.as_dict())))
    assert json.dumps(again.as_dict()) == json.dumps(cache.as_dict())
    assert repr(close(again, 1, 4)) == repr(close(cache, 1, 4))
