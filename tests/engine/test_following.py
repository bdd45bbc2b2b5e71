"""A part of the registry, followed page by page, is what the whole registry says of it."""

from __future__ import annotations

from pathlib import Path

import pytest

import streamgauge as sg
from streamgauge.engine.catalog import registry_at
from streamgauge.engine.feeds import CHANGES
from streamgauge.engine.following import Following
from streamgauge.engine.lander import Lander
from streamgauge.log import inbox
from streamgauge.log.clearing import promise_no_longer, remove_cleared
from streamgauge.log.journal import Journal

pytestmark = pytest.mark.slow


@pytest.fixture
def gauge(tmp_path: Path) -> sg.Gauge:
    return sg.connect(tmp_path / "home", engine="local", shards=1)


def declare(gauge: sg.Gauge, name: str, sensors: int = 3) -> None:
    gauge.stream(name, sg.plant(n_sensors=sensors), time="ts", key="series")


def agree(following: Following) -> bool:
    whole = registry_at(following.home, Journal(following.home).last())
    return following.kept == whole.streams


def test_declared_and_dropped_streams_are_followed(gauge: sg.Gauge) -> None:
    declare(gauge, "first")
    gauge.step()
    following = Following(gauge.home, "streams", CHANGES)
    following.begin(gauge.registry().streams)
    assert following.look() is None, "there is nothing new"
    declare(gauge, "second")
    gauge.step()
    (change,) = following.look() or ()
    assert change["stream"]["name"] == "second"
    assert agree(following)
    gauge.drop_stream("first")
    gauge.step()
    assert following.look()
    assert list(following.kept) == ["second"]


def test_pages_that_touch_no_stream_are_passed_over(gauge: sg.Gauge) -> None:
    declare(gauge, "s")
    gauge.step()
    following = Following(gauge.home, "streams", CHANGES)
    following.begin(gauge.registry().streams)
    gauge.sql("CREATE QUERY q AS SELECT AVG(value) FROM s [RANGE 1 MINUTE]")
    gauge.step()
    assert following.look() == []
    assert following.look() is None


def test_a_refused_change_changes_nothing(gauge: sg.Gauge) -> None:
    declare(gauge, "s")
    gauge.step()
    following = Following(gauge.home, "streams", CHANGES)
    following.begin(gauge.registry().streams)
    other = sg.connect(gauge.home.root, engine="local")
    other.drop_stream("s")
    gauge.sql("CREATE QUERY q AS SELECT AVG(value) FROM s [RANGE 1 MINUTE]")
    gauge.step()
    assert following.look() is not None
    assert agree(following)


def test_a_stream_whose_drop_was_refused_stays(gauge: sg.Gauge) -> None:
    declare(gauge, "s")
    gauge.step()
    following = Following(gauge.home, "streams", CHANGES)
    following.begin(gauge.registry().streams)
    gauge.sql("CREATE QUERY q AS SELECT AVG(value) FROM s [RANGE 1 MINUTE]")
    # As another process leaves it that has not heard of the query.
    inbox.submit(gauge.home, {"do": "drop stream", "name": "s"})
    gauge.step()
    assert following.look() is not None
    assert list(following.kept) == ["s"]
    assert agree(following)


def test_pages_that_are_cleared_away_are_not_missed(gauge: sg.Gauge) -> None:
    following = Following(gauge.home, "streams", CHANGES)
    for number in range(4):
        declare(gauge, f"s{number}")
        gauge.step()
    last = Journal(gauge.home).last()
    Lander(gauge.home, max_rows=1).snapshot_at(last - 1)
    promise_no_longer(gauge.home, last - 1)
    assert remove_cleared(gauge.home, lambda _page: False) == last - 1
    while following.look() is not None:
        pass
    assert following.page == last
    assert agree(following)
    assert len(following.kept) == 4
