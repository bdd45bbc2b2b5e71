"""Closed ticks as files that a job takes as they are."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from streamgauge.coordinator.cache import Bound, Row
from streamgauge.coordinator.landing import Landing
from streamgauge.kernel.time import SECOND
from streamgauge.log import inbox
from streamgauge.log.home import Home
from streamgauge.sources.parse import inspect_parquet
from streamgauge.streams.schema import Schema
from streamgauge.streams.stream import Stream
from tests.coordinator.world import STREAM

pytestmark = pytest.mark.slow

BOUNDS = [Bound(("a",)), Bound(("b",))]
ROWS = [
    Row(0, SECOND // 2, 1.5, 4.0),
    Row(1, SECOND, 2.5, math.inf),
    Row(1, 2 * SECOND, math.nan, 0.0),
]


@pytest.fixture
def landing(tmp_path: Path) -> Landing:
    return Landing(Home.open(tmp_path, shards=1), STREAM)


def test_a_file_is_taken_as_it_is(landing: Landing) -> None:
    landing.land(2 * SECOND, ROWS, BOUNDS)
    path = landing.path(2 * SECOND)
    assert path.name == "0000000000000002.parquet"
    footer = inspect_parquet(str(path), STREAM)
    assert footer is not None
    assert footer.clean
    assert (footer.low, footer.high) == (SECOND // 2, 2 * SECOND)


def test_what_is_not_known_is_null(landing: Landing) -> None:
    table = landing.table(ROWS, BOUNDS)
    assert table.schema == STREAM.schema.to_arrow()
    assert table["object"].to_pylist() == ["a", "b", "b"]
    assert table["value"].to_pylist() == [1.5, 2.5, None]
    assert table["width"].to_pylist() == [4.0, None, 0.0]


def test_the_clock_moves_on_with_and_without_rows(landing: Landing) -> None:
    landing.land(2 * SECOND, ROWS, BOUNDS)
    landing.land(3 * SECOND, [], BOUNDS)
    records = [record for _, record in inbox.waiting(landing.home, set())]
    assert [record["instant"] for record in records] == [2 * SECOND + 1, 3 * SECOND + 1]
    assert len(list(landing.directory.iterdir())) == 1
    assert landing.behind
    inbox.remove(landing.home, [name for name, _ in inbox.waiting(landing.home, set())])
    assert not landing.behind


def test_landing_again_changes_nothing(landing: Landing) -> None:
    landing.land(2 * SECOND, ROWS, BOUNDS)
    data = landing.path(2 * SECOND).read_bytes()
    landing.land(2 * SECOND, ROWS, BOUNDS)
    assert landing.path(2 * SECOND).read_bytes() == data


def test_other_columns_are_null_and_whole_keys_are_numbers(tmp_path: Path) -> None:
    schema = Schema.of(line="int", note="string", ts="int", value="float", width="float")
    stream = Stream("lines", schema, "ts", ("line",), (("kind", "edge"),), width="width")
    table = Landing(Home.open(tmp_path, shards=1), stream).table(
        [Row(0, 5, 1.0, 2.0)], [Bound(("-7",))]
    )
    assert table.to_pylist() == [{"line": -7, "note": None, "ts": 5, "value": 1.0, "width": 2.0}]
